# SPDX-License-Identifier: MIT
#
# Programs of known shape: the profile has the shares that the programs measure themselves.
import pathlib
import re

import pytest

import folded
import outside
from profiled import PLAIN, ROOT, compile_target, looks, profile


def test_weights_follow_the_rate_above_the_tick(tmp_path):
    """
    At 997 Hz the kernel delivers fewer signals than requested. The weights must compensate for
    this.
    """
    run = profile(tmp_path, compile_target("split.c", tmp_path), "2200", rate_hz=997,
                  options=["--clock=tick"])
    due = run.truth_s * 997
    assert run.folded.total == pytest.approx(due, rel=0.05)
    run.assert_truth()


BUILDS = {
    "no-frame-pointers": PLAIN,
    "frame-pointers": ("-O2", "-fno-omit-frame-pointer"),
    "unoptimised": ("-O0",),
    "no-pie": ("-O2", "-no-pie"),
    "sections": ("-O3", "-ffunction-sections", "-Wl,--gc-sections"),
    "lto": ("-O2", "-flto=auto"),
    "lazy": ("-O2", "-Wl,-z,lazy"),
}


@pytest.mark.parametrize("flags", BUILDS.values(), ids=BUILDS.keys())
def test_split_however_it_was_built(tmp_path, flags):
    rate_hz, ms = looks(300)
    run = profile(tmp_path, compile_target("split.c", tmp_path, flags), ms, rate_hz=rate_hz)
    assert run.status == 0
    run.assert_truth()
    known = run.folded.below("heavy") + run.folded.below("light")
    assert known >= 0.98 * run.folded.total - run.begin, run.folded.describe()
    assert run.folded.where(lambda s: {"heavy", "light"} & set(s) and {"main", "_start"} <= set(s)) >= 0.99 * known


def test_recursion_has_every_call(tmp_path):
    depth = 20
    run = profile(tmp_path, compile_target("recursion.c", tmp_path), "1000", str(depth),
                  clock_hz=2000)
    pairs = ["ping" if i % 2 == 0 else "pong" for i in range(2 * depth - 1)]
    expected = ["main"] + ["descend"] * depth + pairs + ["bottom"]

    def is_whole(stack):
        return "main" in stack and list(stack[stack.index("main"):])[:len(expected)] == expected

    below = run.folded.below("bottom")
    assert below > 1000
    assert run.folded.where(is_whole) == below
    # All other time is in the calls on the way down. Before main, this clock also counts time of
    # other code.
    assert below >= 0.97 * run.folded.below("main")
    assert below >= 0.8 * run.folded.total


def test_recursion_deeper_than_a_stack_may_be(tmp_path):
    text = (ROOT / "libprof" / "wire.h").read_text()
    limit = int(re.search(r"WIRE_MAX_DEPTH\s+(\d+)", text).group(1))
    run = profile(tmp_path, compile_target("recursion.c", tmp_path), "500", str(limit),
                  clock_hz=1000)
    assert run.status == 0
    deepest = max(len(stack) for stack, _ in run.folded.stacks)
    # One frame may be added that says that frames are missing.
    assert limit <= deepest <= limit + 2
    # The innermost frames are kept.
    deep = run.folded.where(lambda s: len(s) >= limit)
    assert run.folded.where(lambda s: len(s) >= limit and "bottom" in s) >= 0.9 * deep
    assert deep >= 0.5 * run.folded.total


def test_threads_share_equally(tmp_path):
    rate_hz, ms = looks(1400)
    run = profile(tmp_path, compile_target("threads.c", tmp_path), ms, rate_hz=rate_hz)
    assert len(run.truth) == 4
    run.assert_truth()


def test_short_threads_are_credited(tmp_path):
    """
    The kernel delivers 58 % of the samples that are due to 5 ms threads. Credit adds the missing
    ones.
    """
    run = profile(tmp_path, compile_target("short_threads.c", tmp_path), "600")
    due = run.truth_s * run.rate_hz
    sigma = due ** 0.5
    assert 0.42 * due > 10 * sigma
    assert abs(run.folded.total - due) <= folded.SIGMAS * sigma + 0.02 * due


@pytest.mark.sanitized
def test_a_higher_rate_is_advised_where_it_would_help(tmp_path):
    """At 997 Hz, threads that live for less than a millisecond also have no sample."""
    run = profile(tmp_path, compile_target("short_threads.c", tmp_path), "4000", "150")
    found = re.search(r"is \[unsampled\]: [\d.]+ s by (\d+) threads or processes that ended before "
                      r"a sample was due, after ([\d.]+) ms each\n", run.stderr)
    assert found and int(found[1]) > 3000 and float(found[2]) < 1, run.stderr
    assert "higher rate" not in run.stderr


def test_idle_program_gives_a_picture(tmp_path):
    out = tmp_path / "idle.svg"
    # At one sample per CPU second, the program is too short for a sample.
    run = profile(tmp_path, compile_target("idle.c", tmp_path), rate_hz=1, options=("-o", out))
    assert run.status == 7
    assert run.folded.total <= 1
    assert out.read_text().lstrip().startswith(("<?xml", "<svg"))


@pytest.mark.sanitized
def test_code_that_the_program_mapped_itself(tmp_path):
    """
    Code mapped from a file, such as V8's builtins, has names. A copy of it in memory has none.
    """
    rate_hz, ms = looks(600)
    run = profile(tmp_path, compile_target("mapped.c", tmp_path), ms, rate_hz=rate_hz)
    assert run.status == 0
    mapped = run.truth["mapped_work"] / sum(run.truth.values())
    folded.assert_share(run.folded, run.folded.self("mapped_work"), mapped, run.folded.total,
                        "mapped_work")
    copied = run.folded.self("[unknown code]")
    folded.assert_share(run.folded, copied, 1 - mapped, run.folded.total, "[unknown code]")
    assert run.folded.self("copied_work") == 0


@pytest.mark.sanitized
def test_generated_code_in_a_file_in_memory(tmp_path):
    """A memfd has no symbols, but the perf map has."""
    rate_hz, ms = looks(250)
    run = profile(tmp_path, compile_target("mapped.c", tmp_path), ms, "map", rate_hz=rate_hz)
    pathlib.Path(re.search(r"^map: (\S+)$", run.stderr, re.M)[1]).unlink()
    assert run.status == 0
    told = run.truth["copied_work"] / 1e9 * rate_hz
    assert abs(run.folded.self("told_work") - told) <= 0.2 * told + 3, run.folded.describe()
    assert run.folded.self("[unknown code]") == 0


@pytest.mark.parametrize("options", [[], ["--outside"]], ids=["inside", "outside"])
def test_generated_code_without_frame_pointers(tmp_path, options):
    """
    The instructions show where the return address is. The frame pointer is not used, because it may
    be the caller's or data. If no return address is found, the stack has no callers.
    """
    if options and outside.IS_CONFINED:
        pytest.skip("nobody may trace here")
    rate_hz, ms = looks(250, is_outside=bool(options))
    run = profile(tmp_path, compile_target("generated.c", tmp_path), ms, rate_hz=rate_hz, options=options)
    pathlib.Path(re.search(r"^map: (\S+)$", run.stderr, re.M)[1]).unlink()
    assert run.status == 0
    for leaf in "leaf_code", "data_code", "jump_code":
        assert run.folded.self(leaf) >= 0.15 * run.folded.total, run.folded.describe()
    wrong = run.folded.where(lambda s: s[-1] in ("leaf_code", "data_code") and (
        s[-3:-1] != ("main", "caller") or "[incomplete stack]" in s))
    assert wrong == 0, run.folded.describe()
    called = run.folded.where(lambda s: s[-1] == "jump_code" and set(s) - {"[incomplete stack]", "jump_code"})
    assert called == 0, run.folded.describe()


@pytest.mark.parametrize("options", [[], ["--outside"]], ids=["inside", "outside"])
def test_the_first_function_of_a_stack(tmp_path, options):
    """
    The return address of a coroutine made by hand is the start of made_ended, not an address behind
    a call. The stack begins with made_ended, not with never_called, which lies right before it.
    """
    if options and outside.IS_CONFINED:
        pytest.skip("nobody may trace here")
    rate_hz, ms = looks(250, is_outside=bool(options))
    run = profile(tmp_path, compile_target("coroutines.c", tmp_path), ms, rate_hz=rate_hz, options=options)
    assert run.status == 0
    run.assert_truth()
    assert run.folded.below("never_called") == 0, run.folded.describe()
    made = run.folded.where(lambda s: s[:3] == ("made_ended", "made_body", "made_work"))
    assert made == run.folded.below("made_work"), run.folded.describe()
    by_context = run.folded.where(lambda s: s[1:3] == ("context_body", "context_work"))
    assert by_context == run.folded.below("context_work"), run.folded.describe()


def test_generated_code_that_makes_room(tmp_path):
    """
    Two functions have the same address one after the other. The times in the jitdump separate them.
    """
    rate_hz, ms = looks(400)
    run = profile(tmp_path, compile_target("jitdump.c", tmp_path), tmp_path, ms, rate_hz=rate_hz,
                  options=("-v",))
    assert run.status == 0
    run.assert_truth()
    assert run.folded.self("[unknown code]") == 0, run.folded.describe()
    assert re.search(rf"process \d+ made: \d+ samples, 100.0 % named: {tmp_path}/jit-\d+.dump",
                     run.stderr), run.stderr


@pytest.mark.parametrize("options", [[], ["--outside"]], ids=["inside", "outside"])
def test_time_in_system_calls(tmp_path, options):
    """The kernel's own accounting is also by ticks, so both numbers vary by chance."""
    if options and outside.IS_CONFINED:
        pytest.skip("nobody may trace here")
    run = profile(tmp_path, compile_target("system.c", tmp_path), "1500", rate_hz=250, options=options)
    truth = run.truth["system"] / 1e9 / run.truth_s
    independent = run.folded.total / 2
    share = run.folded.where(lambda s: s[-1] == "[kernel: read]") / run.folded.total
    assert 0.2 < truth < 0.8
    assert abs(share - truth) <= folded.SIGMAS * (truth * (1 - truth) / independent) ** 0.5, (
        f"{truth:.3f} by the kernel\n{run.folded.describe()}")
    # Samples must not stay on the wrapper, whose own instructions take 1 to 3 %, and the wrapper
    # must not hide its caller.
    assert run.folded.where(lambda s: s[-1] == "read") <= 0.06 * run.folded.total
    assert all("main" in s for s, _ in run.folded.stacks if s[-1] == "[kernel: read]")
    told = float(re.search(r"([0-9.]+) s in system calls\)", run.stderr)[1])
    assert told >= 0.9 * share * run.truth_s


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("options", [[], ["--outside"]], ids=["inside", "outside"])
def test_cancellable_calls_have_names(tmp_path, options, threads):
    """
    glibc 2.41 makes all these calls by one instruction. Of libc's functions, only the one that was
    called is shown.
    """
    if options and outside.IS_CONFINED:
        pytest.skip("nobody may trace here")
    run = profile(tmp_path, compile_target("cancellable.c", tmp_path, (*PLAIN, "-pthread")), "1500", str(threads),
                  rate_hz=250, options=[*options, "--wall"])
    assert run.status == 0
    seen = {}
    for stack, weight in run.folded.stacks:
        at = next((i for i, name in enumerate(stack) if name.startswith("does_")), None)
        if at is None or not stack[-1].startswith("[kernel"):
            continue
        call = stack[at].removeprefix("does_")
        # Only libc's own function is between the two, whatever its name.
        assert (len(stack), stack[-1]) == (at + 3, f"[kernel: {call}]"), run.folded.describe()
        seen[call] = seen.get(call, 0) + weight
    assert len(seen) > 3, run.folded.describe()
    on_cpu = run.folded.where(lambda s: "main" in s and s[-1] != "[no CPU]")
    assert sum(seen.values()) > 0.5 * on_cpu, run.folded.describe()
    # In user mode only the libc functions in which the calls end are shown.
    in_libc = run.folded.where(lambda s: any(name.startswith("does_") for name in s) and "[libc.so" in s[-1])
    assert in_libc <= 0.02 * on_cpu, run.folded.describe()
    waits = {stack[stack.index("waits_in_poll"):] for stack, _ in run.folded.stacks if stack[-1] == "[poll]"}
    waits = {(len(stack), stack[0]) for stack in waits}
    assert waits == ({(3, "waits_in_poll")} if threads > 1 else set()), run.folded.describe()
