# SPDX-License-Identifier: MIT
#
# Holders of the locks that threads wait for: their shares equal the program's own measurements, and
# no holder is reported if there is none.
import re
import time

import pytest

import outside
from profiled import PLAIN, compile_target, crowd, folder, profile, side_by_side
from test_waits import DEVIATIONS, FLAGS, TRACED, WAYS

SECONDS = 6
RATE_HZ = 197
LOOKS_PER_S = 20
HELD = re.compile(r"\[futex: (?:0x[0-9a-f]+, )?held by (.*)\]$")


def holders(stacks):
    """
    {holder: seconds} of the locks that the threads of holders.c wait for; "" means that the holder
    is unknown.
    """
    seconds = {}
    for stack, weight in stacks.stacks:
        if "run" in stack and stack[-1].startswith("[futex"):
            match = HELD.match(stack[-1])
            name = match[1] if match else ""
            seconds[name] = seconds.get(name, 0) + weight / RATE_HZ
    return seconds


def assert_holders(run, truth):
    """
    Assert that the holders have their shares of the time. A working holder is known only from its
    samples; on a busy machine these are few, and the holder is often unknown. So each share may be
    as small as its known part, or as large as this part plus all unknown time.
    """
    names = ["cache_get", "cache_fill", "log_write"]
    seconds = holders(run.folded)
    known_s, unknown_s = sum(seconds.get(name, 0) for name in names), seconds.get("", 0)
    # Other holders are only possible in samples next to an observation.
    assert sum(seconds.values()) - known_s - unknown_s <= 0.05 * known_s, seconds
    if run.folded.self("[no CPU]") / RATE_HZ <= 0.05 * sum(seconds.values()):
        assert known_s >= 0.5 * sum(seconds.values()), seconds
        all_s, unknown_s = known_s, 0
    else:
        all_s = known_s + unknown_s
    # The number of observations that found waiting threads, of which three wait at a time.
    looks = min(LOOKS_PER_S * SECONDS,
                int(re.search(r"waits: (\d+) threads' states read", run.stderr)[1]) / 3)
    for name in names:
        least, most = seconds.get(name, 0) / all_s, (seconds.get(name, 0) + unknown_s) / all_s
        expected = truth[name] / sum(truth[name] for name in names)
        sigma = (expected * (1 - expected) / looks) ** 0.5
        assert least - DEVIATIONS * sigma <= expected <= most + DEVIATIONS * sigma, (
            name, least, most, expected, sigma, seconds)


def assert_told(run):
    """
    Assert that the summary and the tables agree, and that they contain all of the waiting time.
    """
    seconds, truth = holders(run.folded), run.truth
    assert_holders(run, truth)
    # A thread that was woken and had no CPU yet waited for the CPU, but counts this time as waiting
    # for the lock.
    told_s, waited_s = sum(seconds.values()), truth["waited"] / 1e9
    ready_s = run.folded.self("[no CPU]") / RATE_HZ
    # The time between two observations is attributed to the state that the later one finds, a lock
    # or something else.
    doubt_s = (0.02 * waited_s + 0.2) * crowd()
    assert waited_s - ready_s - doubt_s <= told_s <= waited_s + doubt_s, (seconds, truth)
    said = re.search(r"for locks ([\d.]+) s: cache_fill held them for ([\d.]+) s, "
                     r"(?:cache_get|log_write) held them for ([\d.]+) s$", run.stderr, re.M)
    assert said, run.stderr
    assert float(said[1]) == pytest.approx(told_s, abs=0.01)
    assert float(said[2]) == pytest.approx(seconds["cache_fill"], abs=0.01)
    rows = re.findall(r"  futex below (\w+): ([\d.]+) s: (.*)$", run.stderr, re.M)
    assert {row[0] for row in rows} == {"asks", "cache_get", "cache_fill", "log_write"}
    assert sum(float(row[1]) for row in rows) == pytest.approx(told_s, abs=0.01)
    for _, _, shares in rows:
        assert sum(int(share) for share in re.findall(r"(\d+) %", shares)) in range(98, 103)


@pytest.mark.parametrize("flags", [pytest.param("O2", marks=pytest.mark.sanitized), "O0"])
def test_holders_have_their_shares(tmp_path, flags):
    """
    Holders that sleep and holders that work have their shares. No waiting time may be missing.
    """
    program = compile_target("holders.c", tmp_path, FLAGS[flags])

    def profile_by(way):
        return profile(folder(tmp_path, way), program, str(1000 * SECONDS), "mutex", rate_hz=RATE_HZ,
                       options=["-v", "--wall", "--no-fold-idle", *WAYS[way]])

    for run in side_by_side(profile_by, WAYS):
        assert run.status == 0, run.stderr
        assert_told(run)


@pytest.mark.sleeps
def test_who_has_a_lock_while_nobody_runs_has_it_all_the_time(tmp_path):
    """
    A holder sleeps for 0.3 s while no thread runs. An observation sees only the beginning, but the
    holder must get all of the time.
    """
    program = compile_target("holders.c", tmp_path)
    run = profile(tmp_path, program, str(1000 * SECONDS), "mutex", "5", rate_hz=RATE_HZ,
                  options=["-v", "--wall", "--no-fold-idle"])
    assert_holders(run, run.truth)


@pytest.mark.sleeps
@TRACED
def test_holders_of_what_runs_already(tmp_path):
    program = compile_target("holders.c", tmp_path)
    with outside.running(program, "600000", "mutex") as process:
        time.sleep(0.3)
        run = outside.attach(tmp_path, process.pid, "-r", str(RATE_HZ), "--wall",
                             "--no-fold-idle", seconds=SECONDS)
    truth = {"cache_get": 20, "cache_fill": 60, "log_write": 20}
    assert_holders(run, truth)


def test_every_lock_that_has_an_owner_tells_it(tmp_path):
    program = compile_target("holders.c", tmp_path)

    def profile_kind(kind):
        return profile(folder(tmp_path, kind), program, "3000", kind, rate_hz=RATE_HZ,
                       options=["--wall", "--wait-details"])

    for run in side_by_side(profile_kind, ["robust", "inherits", "rwlock"]):
        seconds = holders(run.folded)
        assert {"cache_get", "cache_fill", "log_write"} <= set(seconds)
        # On a busy machine, the holder is unknown for most of the time of the longest holder.
        others_s = max(seconds["cache_get"], seconds["log_write"])
        assert seconds["cache_fill"] + seconds.get("", 0) > others_s, seconds


@pytest.mark.sleeps
def test_nobody_has_what_is_no_lock(tmp_path):
    """
    Futexes that are no locks (conditions, semaphores, barriers and other values), and locks whose
    owner is dead, foreign or missing.
    """
    program = compile_target("not_locks.cc", tmp_path, PLAIN + ("-std=c++20",))

    def profile_by(way):
        return way, profile(folder(tmp_path, way), program, "2000",
                            options=["--wall", "--no-fold-idle", *WAYS[way]])

    for way, run in side_by_side(profile_by, WAYS):
        assert run.status == 0, run.stderr
        functions = {frame for stack, _ in run.folded.stacks if "held by main" in stack[-1]
                     for frame in stack}
        assert "wants()" in functions or "wants" in functions, run.folded.describe(30)
        for name in ("waits_for_value", "meets", "awaits", "takes", "wants_own", "wants_others",
                     "wants_never", "wants_left"):
            at = run.folded.where(lambda stack: any(name in frame for frame in stack)
                                  and stack[-1] == "[futex]")
            assert at >= 0.5 * 2 * run.rate_hz * (1 if way == "inside" else 49 / 197), (
                name, run.folded.describe(30))
        assert not run.folded.where(lambda stack: "held by" in stack[-1] and not
                                    {"wants", "wants()"} & set(stack)), run.folded.describe(30)
