# SPDX-License-Identifier: MIT
#
# Compare samples with the JVM's own stack trace. In tests/targets/JavaTruth.java every method that
# uses the CPU is called in one way only and prints its stack. All samples in the method must show
# this stack completely, with the line of each caller.
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
VIRTUAL = 21  # the first JDK that has virtual threads
RATE = 4000
WHOLE = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames", "-XX:MaxJavaStackTraceDepth=10000",
         "-Dsun.reflect.inflationThreshold=1000000"]
TIERS = {
    "tiered": [],
    "interpreted": ["-Xint"],
    "C1": ["-XX:TieredStopAtLevel=1"],
    "C2": ["-XX:-TieredCompilation"],
    "serial": ["-XX:+UseSerialGC", "-XX:-UseCompressedOops", "-XX:-SegmentedCodeCache"],
    "parallel": ["-XX:+UseParallelGC", "-XX:-UseCompressedClassPointers"],
    "Z": ["-XX:+UseZGC"],
}


# Tiers that run with every JDK. Only the newest JDK runs with all TIERS; in `make check-all` all
# JDKs do.
FEW = ("tiered", "interpreted")

# ENTERED separates the frames of a virtual thread from those of its carrier. FROZEN stands for
# frames that the JVM keeps in its heap.
ENTERED = ("jdk.internal.vm.Continuation.enterSpecial", "Continuation.java", 0)
FROZEN = ("[frozen frames]", "", 0)


def tiers(first, names):
    """Test parameters: the version of a JDK, and a tier."""
    found = javas.each(first)
    return [pytest.param(version, tier, marks=() if version == found[-1] or tier in FEW
                         else profiled.of_all) if isinstance(version, int)
            else pytest.param(0, tier, marks=version.marks)
            for version in found for tier in names]


@pytest.fixture(scope="module", name="compiled")
def compile_truth(tmp_path_factory):
    """compiled(version) -> a folder with the classes compiled by this JDK."""
    folders = {}

    def compiled(version):
        if version not in folders:
            sources = ["JavaTruth.java"] + ["JavaVirtual.java"] * (version >= VIRTUAL)
            folders[version] = javas.compile_into(
                version, tmp_path_factory.mktemp(f"classes{version}"),
                *(profiled.TARGETS / source for source in sources))
        return folders[version]
    return compiled


def methods(stack, known):
    """
    [(class.method, file, line)] of the methods in a stack. Methods without a file are included only
    if they are in @known or are lambdas.
    """
    found = []
    for name, line in stack:
        match = javas.FUNCTION.match(name)
        if match and "." in match[1]:
            found.append((match[1], match[2], line or 0))
        elif name in known or "$$Lambda" in name:
            found.append((name, "", line or 0))
    return found


def spinning(shown):
    """(number of methods down to the innermost method that spins, name of this method)"""
    for i in reversed(range(len(shown))):
        holder, _, method = shown[i][0].rpartition(".")
        if method.startswith("spin_"):
            return i + 1, shown[i][0] if method == "spin_gone" else method
    return 0, ""


def is_true(shown, expected, carriers):
    """
    Returns whether the stack is the one that the JVM printed. The JVM does not print the carrier's
    frames below a virtual thread's, so these must equal one of @carriers.
    """
    bottom = []
    if FROZEN in shown:
        at = shown.index(FROZEN)
        bottom, shown = shown[:at], shown[at + 1:]
        if not 0 < len(shown) < len(expected):
            return False
        expected = expected[-len(shown):]
        if bottom == []:
            bottom = None  # not found in JDK 21
    elif ENTERED in shown:
        at = shown.index(ENTERED) + 1
        bottom, shown = shown[:at], shown[at:]
    on_carrier = [carrier + [ENTERED] for carrier in carriers]
    return (bottom is None or (bottom in on_carrier if carriers else bottom == [])) and (
        shown[:-1], shown[-1][:2]) == (expected[:-1], expected[-1][:2])


def sort_stacks(picture, told):
    """
    Returns (expected stacks, {spinning method: weight of its stacks}, {spinning method: weight of
    its stacks with frames in the JVM's heap}). Asserts that no stack is wrong and that few are
    incomplete. Stacks are incomplete while a thread's frames are being changed, for virtual threads
    whenever they continue.
    """
    # The program prints the names of hidden classes without their addresses.
    said = re.sub(r"/0x[0-9a-f]+", "", told.read_text(encoding="utf-8"))
    expected = {name: [tuple(method) for method in stack]
                for name, stack in json.loads(said).items()}
    known = {FROZEN[0]} | {
        name for stack in expected.values() for name, file, _ in stack if not file}
    carriers = [expected.pop(name) for name in list(expected) if name.startswith("carrier ")]
    true, frozen, false, cut, total = collections.Counter(), collections.Counter(), {}, 0, 0
    for _, stack, weight in firefox.stacks_of(picture):
        shown = methods(stack, known)
        total += weight
        if stack[0][0] == "[incomplete stack]" and FROZEN not in shown[:1]:
            cut += weight
            continue
        count, name = spinning(shown)
        if not count:
            continue
        if is_true(shown[:count], expected[name], carriers):
            true[name] += weight
            frozen[name] += weight * (FROZEN in shown)
        else:
            false[name] = shown[:count]
    assert not false, {name: (shown, expected[name]) for name, shown in false.items()}
    assert cut < (0.02 if carriers else 0.01) * total, (cut, total)
    return expected, true, frozen


def run_truth(folder, version, classes, *flags, program="JavaTruth"):
    picture, told = folder / "p.firefox.json", folder / "told.json"
    subprocess.run([profiled.BUILD / "flamerun", "-q", "-r", str(RATE), "-o", picture, "--",
                    javas.JDKS[version], *WHOLE, *flags, "-cp", classes, program, told, str(MS),
                    str(ROUNDS)], check=True, timeout=300)
    return sort_stacks(picture, told)


def assert_all_seen(expected, true):
    """
    Assert that a quarter of the CPU time that each method uses, MS a round, is in the profile.
    flamerun itself may take half of the time.
    """
    few = {name: true[name] for name in expected
           if true[name] < MS / 4 * (1 if name in ("spin_clinit", "spin_pinned")
                                     or "spin_gone" in name else ROUNDS)}
    assert not few, few


# If each method is compiled at its first call, compiling alone takes half a minute.
@pytest.mark.parametrize("version, tier", [
    *tiers(javas.KNOWN_MIN, TIERS),
    *(pytest.param(version, "compiled first", marks=profiled.of_all)
      for version in javas.each() if isinstance(version, int))])
def test_every_stack_is_the_programs_own(tmp_path, compiled, version, tier):
    flags = ["-Xcomp"] if tier == "compiled first" else TIERS[tier]
    expected, true, _ = run_truth(tmp_path, version, compiled(version), *flags)
    assert_all_seen(expected, true)


@pytest.mark.parametrize("version, tier", tiers(VIRTUAL, ("tiered", "interpreted", "C1", "C2", "Z")))
def test_every_stack_of_virtual_threads_is_their_own(tmp_path, compiled, version, tier):
    expected, true, frozen = run_truth(
        tmp_path, version, compiled(version), "-Djdk.virtualThreadScheduler.parallelism=1",
        "-Djdk.virtualThreadScheduler.maxPoolSize=1", *TIERS[tier], program="JavaVirtual")
    assert_all_seen(expected, true)
    # If a virtual thread has not waited, all its frames are on the stack.
    assert not sum(frozen[name] for name in ("spin_started", "spin_deep", "spin_pool", "spin_pinned"))
    if tier == "interpreted":
        assert frozen["spin_waited"] == true["spin_waited"]


@pytest.mark.parametrize("version", javas.each())
def test_every_stack_from_outside_is_the_programs_own(tmp_path, compiled, version):
    picture, told = tmp_path / "p.firefox.json", tmp_path / "told.json"
    with outside.running(javas.JDKS[version], *WHOLE, "-cp", compiled(version), "JavaTruth", told,
                         "15", "2", "+", stdin=subprocess.PIPE) as process:
        flamerun = outside.background(
            tmp_path, process.pid, "-r", "499", "--no-waits", "-o", picture)
        process.stdin.write("\n")
        process.stdin.flush()
        status, stderr = outside.end_of(flamerun)
        assert status == 0 and process.wait() == 0, stderr
    expected, true, _ = sort_stacks(picture, told)
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


@pytest.mark.parametrize("version", javas.each())
def test_threads_that_wait_have_their_methods(tmp_path, version):
    source = tmp_path / "Sleeps.java"
    source.write_text(SLEEPS, encoding="utf-8")
    javas.compile_into(version, tmp_path, source)
    out = tmp_path / "p.folded"
    subprocess.run([profiled.BUILD / "flamerun", "-q", "--wall", "-o", out, "--",
                    javas.JDKS[version], "-cp", tmp_path, "Sleeps"], check=True, timeout=60)
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
