# SPDX-License-Identifier: MIT
#
# The JVM's own traceback is the truth: in tests/targets/JavaTruth.java every method that uses the CPU
# is called by one way alone and has written down its stack. All samples that have it on theirs have
# to show that stack, whole and in order, down to it, with each caller's line.
import collections
import json
import os
import re
import subprocess

import pytest

import firefox
import folded
import javas
import outside
import profiled

MS = 10
ROUNDS = 2
RATE = 4000
WHOLE = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames", "-XX:MaxJavaStackTraceDepth=10000",
         "-Dsun.reflect.inflationThreshold=1000000"]
TIERS = {
    "tiered": [],
    "interpreted": ["-Xint"],
    "C1": ["-XX:TieredStopAtLevel=1"],
    "C2": ["-XX:-TieredCompilation"],
    "compiled first": ["-Xcomp"],
    "serial": ["-XX:+UseSerialGC", "-XX:-UseCompressedOops", "-XX:-SegmentedCodeCache"],
    "parallel": ["-XX:+UseParallelGC", "-XX:-UseCompressedClassPointers"],
    "Z": ["-XX:+UseZGC"],
}


@pytest.fixture(scope="module", name="classes")
def compile_truth(tmp_path_factory):
    return javas.compile_into(
        tmp_path_factory.mktemp("classes"), profiled.TARGETS / "JavaTruth.java")


def methods(stack, known):
    """[(class.method, file, line)] of the methods in a stack; without a file those that are known."""
    found = []
    for name, line in stack:
        match = javas.FUNCTION.match(name)
        if match and "." in match[1]:
            found.append((match[1], match[2], line or 0))
        elif name in known or "$$Lambda" in name:
            found.append((name, "", line or 0))
    return found


def spinning(shown):
    """How many of the methods are down to the last one that spins, and by which name it is known."""
    for i in reversed(range(len(shown))):
        holder, _, method = shown[i][0].rpartition(".")
        if method.startswith("spin_"):
            return i + 1, shown[i][0] if method == "spin_gone" else method
    return 0, ""


def sort_stacks(picture, told):
    """
    Returns what was expected, and by method that spins the weight of stacks: none is false, and few
    are cut, as those of threads whose frames are being remade.
    """
    # Names of hidden classes are told without their address.
    said = re.sub(r"/0x[0-9a-f]+", "", told.read_text(encoding="utf-8"))
    expected = {name: [tuple(method) for method in stack]
                for name, stack in json.loads(said).items()}
    known = {name for stack in expected.values() for name, file, _ in stack if not file}
    true, false, cut = collections.Counter(), {}, 0
    for _, stack, weight in firefox.stacks_of(picture):
        if stack[0][0] == "[incomplete stack]":
            cut += weight
            continue
        shown = methods(stack, known)
        count, name = spinning(shown)
        if not count:
            continue
        callers, last = shown[:count - 1], shown[count - 1]
        if (callers, last[:2]) == (expected[name][:-1], expected[name][-1][:2]):
            true[name] += weight
        else:
            false[name] = shown[:count]
    assert not false, {name: (shown, expected[name]) for name, shown in false.items()}
    assert cut < 0.01 * sum(true.values()) + 2, cut
    return expected, true


def run_truth(folder, classes, flags, ms=MS, rounds=ROUNDS):
    picture, told = folder / "p.firefox.json", folder / "told.json"
    subprocess.run([profiled.BUILD / "flamerun", "-q", "-r", str(RATE), "-o", picture, "--",
                    javas.JAVA, *WHOLE, *flags, "-cp", classes, "JavaTruth", told, str(ms),
                    str(rounds)], check=True, timeout=300)
    return sort_stacks(picture, told)


def assert_all_seen(expected, true, ms, rounds):
    """Each uses the CPU for so long, of which flamerun may have half."""
    few = {name: true[name] for name in expected
           if true[name] < ms / 4 * (1 if name == "spin_clinit" or "spin_gone" in name else rounds)}
    assert not few, few


# The compiler alone works for half a minute where each method is compiled at once.
@pytest.mark.parametrize("tier", [
    pytest.param(tier, marks=profiled.of_all if tier == "compiled first" else ()) for tier in TIERS])
def test_every_stack_is_the_programs_own(tmp_path, classes, tier):
    expected, true = run_truth(tmp_path, classes, TIERS[tier])
    assert_all_seen(expected, true, MS, ROUNDS)


def test_every_stack_from_outside_is_the_programs_own(tmp_path, classes):
    picture, told = tmp_path / "p.firefox.json", tmp_path / "told.json"
    with outside.running(javas.JAVA, *WHOLE, "-cp", classes, "JavaTruth", told, "15", "2", "+",
                         stdin=subprocess.PIPE) as process:
        flamerun = outside.background(
            tmp_path, process.pid, "-r", "499", "--no-waits", "-o", picture)
        process.stdin.write("\n")
        process.stdin.flush()
        status, stderr = outside.end_of(flamerun)
        assert status == 0 and process.wait() == 0, stderr
    expected, true = sort_stacks(picture, told)
    assert sum(true.values()) > 2 * 15 * len(expected) / 4, true


SLEEPS = """
public class Sleeps {
    static void nap() throws Exception { Thread.sleep(1500); }
    static void rest() throws Exception { nap(); }
    static void parks() { java.util.concurrent.locks.LockSupport.parkNanos(1500000000L); }
    public static void main(String[] words) throws Exception {
        Thread thread = new Thread(Sleeps::parks);
        thread.start();
        rest();
        thread.join();
    }
}
"""


def test_threads_that_wait_have_their_methods(tmp_path):
    source = tmp_path / "Sleeps.java"
    source.write_text(SLEEPS, encoding="utf-8")
    javas.compile_into(tmp_path, source)
    out = tmp_path / "p.folded"
    subprocess.run([profiled.BUILD / "flamerun", "-q", "--wall", "-o", out, "--", javas.JAVA, "-cp",
                    tmp_path, "Sleeps"], check=True, timeout=60)
    stacks = folded.Folded(out.read_text())
    for wanted in (["Sleeps.main", "Sleeps.rest", "Sleeps.nap", "java.lang.Thread.sleep"],
                   ["java.lang.Thread.run", "Sleeps.parks",
                    "java.util.concurrent.locks.LockSupport.parkNanos"]):
        asleep = stacks.where(lambda stack, wanted=wanted: any(
            name.startswith(wanted[1]) for name in stack) and stack[-1] == "[futex]")
        whole = stacks.where(lambda stack, wanted=wanted: [
            name.split(" ")[0] for name in stack if name.split(" ")[0] in wanted] == wanted
                             and stack[-1] == "[futex]")
        assert whole == asleep > 100, wanted
