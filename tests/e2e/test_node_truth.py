# SPDX-License-Identifier: MIT
#
# Compare samples with V8's own stack trace. In tests/targets/node_truth.js every function that uses
# the CPU is called in one way only and prints its stack. All samples in the function must show this
# stack completely.
import collections
import json
import os
import re
import subprocess

import pytest

import firefox
import nodes
import outside
import profiled

MS = 24
RATE = 4000
DEEPEST = 4096
# Options of node that give each function a frame of its own.
NOTHING_INLINED = ["--no-turbo-inlining", "--no-maglev-inlining"]
# Maglev's table of positions omits an inlined function at a few addresses: of 2,000 samples of node
# 24 with --always-sparkplug, 1 or 2 show a callee without the inlined function that calls it.
TIERS = {
    "interpreted": ["--no-opt", "--no-sparkplug", "--no-maglev"],
    "baseline": ["--no-opt", "--always-sparkplug", "--no-maglev"],
    "optimised": NOTHING_INLINED,
    "moving": NOTHING_INLINED + ["--gc-interval=2000", "--stress-compaction"],
}


def is_true(shown, told):
    """
    Returns whether @shown equals the stack @told that the program printed, down to the function
    that spins. Lines are compared if known, except the spinning function's own, which has changed
    since it was printed.
    """
    told = [(name, file if file.startswith("node:") else os.path.basename(file), first, line)
            for name, file, first, line in told]
    if len(told) > DEEPEST - 200:
        told = told[-len(shown):]
    return len(shown) == len(told) and all(
        left[:3] == right[:3] and (left[3] in (right[3], None) or n == len(told) - 1)
        for n, (left, right) in enumerate(zip(shown, told)))


def sort_stacks(picture, told):
    """
    (expected stacks, {function that spins: weight of its stacks}). Asserts that no stack is wrong.
    """
    expected = json.loads(told.read_text(encoding="utf-8"))
    true, false, with_lines = collections.Counter(), {}, collections.Counter()
    for _, stack, weight in firefox.stacks_of(picture):
        shown = [(match[1], match[2], int(match[3]), line) for match, line in (
            (nodes.FUNCTION.match(name), line) for name, line in stack) if match]
        spinning = [i for i, (name, *_) in enumerate(shown) if name.startswith("spin_")]
        if not spinning:
            continue
        name = shown[spinning[-1]][0]
        if is_true(shown[:spinning[-1] + 1], expected[name]):
            true[name] += weight
            for frame in shown[:spinning[-1] + 1]:
                with_lines[frame[3] is not None] += 1
        else:
            false[name] = shown[:spinning[-1] + 1]
    assert not false, {name: (shown, expected[name]) for name, shown in false.items()}
    assert with_lines[False] < 0.05 * with_lines[True], with_lines
    return expected, true


def flags_of(node, flags):
    """Those of the flags that this version of node knows."""
    known = subprocess.run([node, "--v8-options"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout
    names = {line.split()[0].removeprefix("--").replace("_", "-")
             for line in known.splitlines() if line.strip().startswith("--")}
    return [flag for flag in flags if flag.split("=")[0].removeprefix("--").removeprefix(
        "no-") in names or flag.split("=")[0].removeprefix("--") in names]


def run_truth(folder, node, flags):
    picture, told = folder / "p.firefox.json", folder / "told.json"
    subprocess.run([profiled.BUILD / "flamerun", "-q", "-r", str(RATE), "-o", picture,
                    "--", node, *flags_of(node, flags), profiled.TARGETS / "node_truth.js", told,
                    str(MS)], check=True, timeout=600)
    expected, true = sort_stacks(picture, told)
    # Each function spins for MS, of which flamerun may use half. In nine of ten functions at least
    # a quarter of the other half is sampled. Samples are missing at the start, or were deferred.
    few = {name: true[name] for name in expected if true[name] < MS / 8}
    assert len(few) < len(expected) / 10, few


@nodes.each_known()
@pytest.mark.parametrize("tier", TIERS)
def test_every_stack_is_the_programs_own(tmp_path, node, tier):
    run_truth(tmp_path, node, TIERS[tier])


@nodes.each_known()
def test_what_is_inlined_is_told(tmp_path, node):
    run_truth(tmp_path, node, [])


@nodes.each_known()
def test_every_stack_from_outside_is_the_programs_own(tmp_path, node):
    picture, told = tmp_path / "p.firefox.json", tmp_path / "told.json"
    with outside.running(node, *flags_of(node, NOTHING_INLINED), profiled.TARGETS / "node_truth.js", told,
                         str(MS), "+", stdin=subprocess.PIPE) as process:
        flamerun = outside.background(tmp_path, process.pid, "-r", "499", "--no-waits", "-o", picture)
        process.stdin.write("\n")
        process.stdin.flush()
        status, stderr = outside.end_of(flamerun)
        assert status == 0 and process.wait() == 0, stderr
    expected, true = sort_stacks(picture, told)
    assert sum(true.values()) > MS * len(expected) / 4, true


BUSY = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function sorts(n) { return Array.from({ length: n }, (_, i) => i * 7919 % 10007).sort((a, b) => a - b)[0]; }
function hashes(text) { let h = 0; for (let i = 0; i < text.length; i++) h = h * 31 + text.charCodeAt(i) | 0; return h; }
function busy() { return fib(20) + sorts(500) + hashes("x".repeat(5000)); }
(function main() { const end = process.cpuUsage().user + 6e5; while (process.cpuUsage().user < end) busy(); })();
"""
# The callees of each function. Inlined functions between a function and its callee may be missing.
CALLS = {
    "fib (busy.js:2)": ["fib (busy.js:2)"],
    "sorts (busy.js:3)": ["(anonymous) (busy.js:3)"],
    "(anonymous) (busy.js:3)": [],
    "hashes (busy.js:4)": [],
    "busy (busy.js:5)": [
        "fib (busy.js:2)", "sorts (busy.js:3)", "hashes (busy.js:4)", "(anonymous) (busy.js:3)"],
}


@nodes.each_known()
def test_a_busy_script_is_named(tmp_path, node):
    script = tmp_path / "busy.js"
    script.write_text(BUSY, encoding="utf-8")
    result = profiled.profile(tmp_path, node, script, clock_hz=1000)
    stacks = result.folded
    below = stacks.where(lambda stack: "main (busy.js:6)" in stack)
    assert below > 300
    for function in ("fib (busy.js:2)", "sorts (busy.js:3)", "hashes (busy.js:4)"):
        assert stacks.where(lambda stack, name=function: name in stack), function
    # This also holds at the first and the last instructions of functions.
    assert stacks.where(lambda stack: "[unknown code]" in stack) < below * 0.02
    assert not stacks.where(lambda stack: any(
        callee not in CALLS[caller] for caller, callee in zip(
            (name for name in stack if nodes.FUNCTION.match(name)),
            [name for name in stack if nodes.FUNCTION.match(name)][1:]) if caller in CALLS))
    assert stacks.where(lambda stack: "[incomplete stack]" in stack) < below * 0.02


CALLERS = {
    "leaf": {"inner"}, "inner": {"outer"}, "other": {"(anonymous)", "yields", "applies", "Base", "Derived", "asks"},
    "(anonymous)": {"mapper", "sorter", "replacer"}, "yields": {"delegates"}, "Base": {"Derived"},
    "Derived": {"news"}, "asks": {"news"},
    **{name: {"main"} for name in ("outer", "mapper", "sorter", "replacer", "delegates", "applies", "news")}}


@nodes.each_known()
@pytest.mark.parametrize("padding", ["// x\n", "// x\r\n", "// \u20ac\n", "/* \u20ac\u2028 */\r\n", "\r"],
                         ids=["narrow", "returns", "wide", "separators", "returns-alone"])
def test_lines_of_a_large_source(tmp_path, node, padding):
    """
    The lines of a source of several megabytes are counted in parts, so early samples may have no
    line. The program spins by CPU time, because node's start uses much of it and a busy machine
    leaves little.
    """
    script = tmp_path / "big.js"
    lines = 200_000
    script.write_text(padding * lines + "function spins(ms) { const begin = process.cpuUsage(); let used; do { "
                      "for (let i = 0; i < 1e5; i++); used = process.cpuUsage(begin); } "
                      "while (used.user + used.system < ms * 1000); }\n"
                      "spins(800);\n", encoding="utf-8", newline="")
    run = profiled.profile(tmp_path, node, script, rate_hz=997)
    line = 1 + lines * (2 if "\u2028" in padding else 1)
    assert run.folded.where(lambda stack: f"spins (big.js:{line})" in stack) > 0.7 * run.folded.total, \
        run.folded.describe()


@nodes.each_known()
@pytest.mark.parametrize("flags", [[], TIERS["baseline"]], ids=["optimised", "compiled"])
def test_callers_are_told_while_code_moves(tmp_path, node, flags):
    """
    Inlined functions must not be missing, because their callees would then have other callers.
    """
    run = profiled.profile(tmp_path, node, *flags_of(node, flags), "--stress-compaction", "--gc-interval=50000",
                           profiled.TARGETS / "node_calls.js", "1", rate_hz=1999)
    named, wrong = 0, collections.Counter()
    for stack, weight in run.folded.stacks:
        names = [match[1].split(".")[-1] for match in map(nodes.FUNCTION.match, stack)
                 if match and match[2].endswith("node_calls.js")]
        named += weight if "main" in names else 0
        wrong.update({(caller, callee): weight for caller, callee in zip(names, names[1:])
                      if callee in CALLERS and caller not in CALLERS[callee]})
    assert named > 500
    assert not wrong


# Code without a name in V8's heap: a WebAssembly function (module (func $spin (export "spin")
# (param i32) ...)) with a loop, and a regular expression that backtracks much.
WASM = """
const spin = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([
    0,97,115,109,1,0,0,0, 1,6,1,96,1,127,1,127, 3,2,1,0, 7,8,1,4,115,112,105,110,0,0,
    10,23,1,21,1,1,127, 3,64,32,1,65,1,106,34,1,32,0,72,13,0,11, 32,1,11]))).exports.spin;
function spins() { for (let i = 0; i < 150; i++) spin(20000000); }
function matches() { for (let i = 0; i < 30; i++) /(?:x+x+)+y/.test('x'.repeat(22)); }
spins();
matches();
console.log(process.pid, process.env.NODE_OPTIONS);
"""


@nodes.each_known()
def test_what_node_is_asked_for_has_names(tmp_path, node):
    script = tmp_path / "wasm.js"
    script.write_text(WASM, encoding="utf-8")
    # Run in the test's folder, because V8 writes a log to the working folder.
    run = profiled.profile(tmp_path, "/bin/sh", "-c", 'cd "$0" && exec "$1" wasm.js', tmp_path, node,
                           rate_hz=997, options=["--jit=node"],
                           env={**os.environ, "NODE_OPTIONS": "--no-warnings"})
    pid, asked = run.stdout.split(maxsplit=1)
    os.unlink(f"/tmp/perf-{pid}.map")
    assert asked == "--no-warnings --perf-basic-prof\n"
    assert run.stderr.count("flamerun: --jit=node: node is asked to write /tmp/perf-PID.map") == 1
    spins = run.folded.where(lambda stack: "spins (wasm.js:5)" in stack and any(
        "wasm-function[0]" in name for name in stack[stack.index("spins (wasm.js:5)"):]))
    assert spins > 0.3 * run.folded.total > 0, run.folded.describe()
    matches = run.folded.where(lambda stack: "matches (wasm.js:6)" in stack and any(
        "(?:x+x+)+y" in name for name in stack[stack.index("matches (wasm.js:6)"):]))
    assert matches > 0.1 * run.folded.total > 0, run.folded.describe()


# Frames that may run a function: a builtin of the interpreter, compiled code, or Debian's libnode,
# which has no names for builtins.
RUNS_IT = re.compile(r"Builtins_\w+|\[unknown code\]|\[libnode\.so.*\]")


@nodes.each_known()
def test_native_shows_what_runs_them(tmp_path, node):
    script = tmp_path / "busy.js"
    script.write_text(BUSY, encoding="utf-8")
    below_main = []
    for options in ([], ["--native"]):
        below_main.append(collections.Counter())
        folded = profiled.profile(tmp_path, node, script, clock_hz=1000, options=options).folded
        for stack, weight in folded.stacks:
            if "main (busy.js:6)" in stack:
                below_main[-1][stack[stack.index("main (busy.js:6)") - 1]] += weight
    by_name, native = below_main
    assert set(by_name) == {"(anonymous) (busy.js:1)"}, by_name
    assert native.total() > 300 and all(map(RUNS_IT.fullmatch, native)), native
