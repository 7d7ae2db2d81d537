# SPDX-License-Identifier: MIT
#
# Shares of CPU time when sampled from outside: threads that sleep after a few microseconds of work,
# many threads, and real programs. They are compared with the program's own measurements, with
# sampling from inside, and with the kernel's accounting.
import contextlib
import math
import os
import pathlib
import re
import subprocess
import tempfile

import pytest

import folded
import outside
import redises
from profiled import compile_target, looks, profile

pytestmark = pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")

# On a busy machine, only a process of higher priority gets the CPU at the moment when it needs it.
needs_priority = pytest.mark.skipif(not outside.IS_ROOT, reason="needs a higher priority")


# The fraction of independent samples. A sample is recorded only when its thread is found running;
# it then has the weight of all CPU time since the previous sample.
DISTINCT = 0.6


def part_of(stacks, names):
    """The stacks with one of @names in them."""
    part = folded.Folded("")
    part.stacks = [entry for entry in stacks.stacks if any(name in entry[0] for name in names)]
    return part


def assert_same(one, other, looks, what, drift=0):
    """
    Assert that two shares, of @looks[0] and @looks[1] samples, differ by at most 5 sigma plus
    @drift.
    """
    middle = (one * looks[0] + other * looks[1]) / sum(looks)
    sigma = math.sqrt(middle * (1 - middle) * (1 / looks[0] + 1 / looks[1]))
    assert abs(one - other) <= folded.SIGMAS * sigma + drift, (
        f"{what}: {one:.3f} and {other:.3f} differ by {abs(one - other) / sigma:.1f} sigma")


@needs_priority
@pytest.mark.parametrize("threads", [1, 8])
def test_bursts(tmp_path, threads):
    """
    A late observation misses the beginning or the end of 50 us of work. Each function must get its
    share all the same. rest uses its time between its system calls, when it is not found running,
    so it may have less than its share but not more.
    """
    program = compile_target("bursts.c", tmp_path)
    run = profile(tmp_path, program, str(threads), "2000", rate_hz=997, options=["-v", "--outside"])
    truth = run.truth
    assert truth.pop("eintr") == 0, "a call was broken off"
    all_ns = sum(truth.values())
    rest = truth.pop("rest") / all_ns
    part = part_of(run.folded, truth)
    looks = part.total * DISTINCT
    for name, time_ns in truth.items():
        folded.assert_share(part, part.below(name), time_ns / sum(truth.values()), looks, name)
    assert run.folded.below("rest") <= 1.25 * rest * run.folded.total


@needs_priority
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_turns(tmp_path):
    """
    If flamerun moved to the CPU of a thread after it saw the thread run, it would miss the
    beginning of the thread's turn, and first would have a share of 0.12. If other programs want
    both CPUs, first may have up to 0.4.
    """
    run = profile(tmp_path, compile_target("turns.c", tmp_path), "2400", rate_hz=250,
                  options=["--outside"])
    part = part_of(run.folded, run.truth)
    assert part.total > 0.9 * 600
    for name, time_ns in run.truth.items():
        assert 0.32 < time_ns / sum(run.truth.values()) < 0.35
        assert 0.2 < part.below(name) / part.total < 0.5, run.folded.describe()


def test_bursts_without_privileges(flamerun_of_all):
    """Even if flamerun has no higher priority, the shares of short bursts are about right."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        command = [flamerun_of_all, "-q", "-o", folder / "x.folded", "-r", "250", "--outside",
                   "--", compile_target("bursts.c", folder), "1", "1600"]
        result = subprocess.run(outside.as_nobody(*command) if outside.IS_ROOT else command,
                                stdout=subprocess.PIPE, text=True, check=True, timeout=120)
        stacks = folded.Folded((folder / "x.folded").read_text())
    assert "eintr 0\n" in result.stdout
    part = part_of(stacks, ("first", "middle", "last"))
    assert part.total > 270
    # Each function has a third of the time. On a busy machine, first() is found too rarely
    # (cli/outside/sample.h).
    for function in ("first", "middle", "last"):
        assert 0.2 < part.below(function) / part.total < 0.5, stacks.describe()


def assert_alike(inside, without, drift, least=0.02):
    """
    Assert that two runs have the same self shares, for functions that have at least the share
    @least. @drift allows for real differences between the runs, because other programs used the CPU
    and its caches during one of them.
    """
    names = {name for run in (inside, without) for stack, weight in run.stacks
             for name in stack[-1:] if run.self(name) >= least * run.total}
    assert names, inside.describe()
    looks = (inside.total * 0.8, without.total * DISTINCT)
    for name in names:
        assert_same(inside.self(name) / inside.total, without.self(name) / without.total, looks,
                    name, drift)


PYTHON = """
import json, re, resource, zlib
rows = [{"name": f"n{i}", "value": i * 1.5, "list": list(range(20))} for i in range(300)]
pattern = re.compile(r"(n\\d+).*?(\\d+\\.\\d)")
def spent():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
while spent() < 1.5:
    text = json.dumps(rows)
    json.loads(text)
    pattern.findall(text)
    sorted(range(5000), key=lambda x: -x)
    zlib.crc32(text.encode())
"""


def test_python(tmp_path):
    """Sampling from inside and from outside shows the same functions and all of the CPU time."""
    runs = [profile(tmp_path, "/usr/bin/python3", "-c", PYTHON, rate_hz=997, options=options)
            for options in ([], ["--outside"])]
    for run in runs:
        assert run.status == 0
        assert run.folded.total == pytest.approx(1.5 * 997, rel=0.1)
    assert_alike(runs[0].folded, runs[1].folded, 0.03)


def test_a_running_python_and_the_kernels_books(tmp_path):
    script = PYTHON.replace("spent() < 1.5", "True")
    with outside.running("/usr/bin/python3", "-c", script) as process:
        outside.work(process.pid, 0.2)
        before = outside.cpu_s(process.pid)
        flamerun = outside.background(tmp_path, process.pid, "-r", "250")
        attached = outside.cpu_s(process.pid)
        outside.work(process.pid, 1.5)
        ending = outside.cpu_s(process.pid)
        status, stderr = outside.end(flamerun)
        after = outside.cpu_s(process.pid)
    assert status == 0, stderr
    total = folded.Folded((tmp_path / "b.folded").read_text()).total
    assert 250 * (ending - attached) - 3 <= total <= 250 * (after - before) + 3


@needs_priority
def test_two_hundred_threads(tmp_path):
    """
    Shares are equal from inside and from outside, and the samples add up to the threads' CPU time.
    """
    program = compile_target("bursts.c", tmp_path)
    parts = []
    rate_hz, ms = looks(1000)
    for options in ([], ["--outside"]):
        run = profile(tmp_path, program, "200", ms, rate_hz=rate_hz, options=options)
        all_s = sum(time_ns for name, time_ns in run.truth.items() if name != "eintr") / 1e9
        # For each thread it is random whether its last part of a period becomes a sample.
        due = rate_hz * all_s
        assert abs(run.folded.total - due) <= 5 * math.sqrt(200 / 6) + 0.02 * due
        parts.append(part_of(run.folded, ("first", "middle", "last")))
    distinct = (parts[0].total * 0.8, parts[1].total * DISTINCT)
    for name in ("first", "middle", "last"):
        assert_same(parts[0].below(name) / parts[0].total, parts[1].below(name) / parts[1].total,
                    distinct, name)


@contextlib.contextmanager
def redis_under_load(tmp_path, *command):
    """
    Run redis-server (by @command, if given) with clients. Returns (started process, server's pid).
    """
    path = tmp_path / "redis.sock"
    server = [*command, redises.server(tmp_path), "--port", "0", "--unixsocket", path, "--save", "",
              "--daemonize", "no"]
    clients = f"redis-benchmark -s {path} -q -n 100000 -c 20 -t set,get,lpush"
    load = f"while {clients}; do :; done"
    with outside.running(*server, stdout=subprocess.DEVNULL) as process:
        outside.wait_until(path.exists)
        pid = process.pid
        if command:
            children = outside.pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            pid = next(int(child) for child in children if "redis" in outside.pathlib.Path(
                f"/proc/{child}/comm").read_text())
        with outside.running("sh", "-c", load, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True) as shell:
            try:
                outside.work(pid, 0.1)
                yield process, pid
            finally:
                outside.os.killpg(shell.pid, outside.signal.SIGKILL)
                with contextlib.suppress(ProcessLookupError):
                    outside.os.kill(pid, outside.signal.SIGKILL)


@needs_priority
@redises.needs_redis
def test_redis_under_load(tmp_path):
    """Inside and outside give similar profiles of a server that sleeps 10,000 times a second."""
    seconds, profiles = 1.4, []
    with redis_under_load(tmp_path, outside.FLAMERUN, "-q", "-r", "250", "-o",
                          tmp_path / "inside.folded", "--") as (process, pid):
        outside.work(pid, seconds)
        outside.os.kill(pid, outside.signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    profiles.append(folded.Folded((tmp_path / "inside.folded").read_text()))
    (tmp_path / "redis.sock").unlink(missing_ok=True)
    with redis_under_load(tmp_path) as (process, pid):
        flamerun = outside.background(tmp_path, pid, "-r", "250")
        outside.work(pid, seconds)
        status, stderr = outside.end(flamerun)
        assert status == 0, stderr
        assert process.poll() is None
    profiles.append(folded.Folded((tmp_path / "b.folded").read_text()))
    # The longer a server waits for a CPU, the more requests it finds, and the less it sleeps.
    assert_alike(*profiles, 0.1)


@pytest.mark.sanitized
def test_threads_that_live_for_five_milliseconds(tmp_path):
    """
    At 49 Hz, three of four threads end before a sample is due. Their CPU time is counted, on a
    stack of the thread if the thread was found running.
    """
    program = compile_target("short_threads.c", tmp_path)
    run = profile(tmp_path, program, "450", rate_hz=49, options=["-v", "--outside"])
    assert run.status == 0
    due = float(re.search(r"(\d+) due ", run.stderr).group(1))
    assert due >= 100
    assert abs(run.folded.total - due) <= 6, run.stderr
    # Usually two thirds. On a busy machine observations are late and find fewer threads.
    assert run.folded.below("short_life") >= 0.2 * run.folded.total, run.folded.describe()
    share = 100 * run.folded.below("[unsampled]") / run.folded.total
    said = re.search(r"([\d.]+) % is \[unsampled\]: used by threads", run.stderr)
    # On a busy machine the threads live longer, so more of them are found.
    assert bool(said) == (share >= 10), run.stderr
    assert bool(said) == ("hint: a higher rate leaves less of it" in run.stderr)
    assert not said or float(said.group(1)) == pytest.approx(share, abs=0.1)


def test_sleeps_follow_each_other(tmp_path):
    """
    If an observation is late, its time goes to the next sleep, which has another stack. A sleep of
    30 ms then gets 0 or some 50 ms by chance, which is off by 27 ms on average. Sixteen programs
    out of step, with eight rounds each, reduce the error to 0.7 % of all time; 5 sigma are allowed.
    """
    program = compile_target("sleeps.c", tmp_path)
    script = f"for i in $(seq 16); do {program} 2600 & sleep 0.021; done; wait"
    run = profile(tmp_path, "sh", "-c", script, rate_hz=997, options=["--wall"])
    told = [line.split() for line in run.stdout.splitlines()]
    truth = {name: sum(int(ns) for other, ns in told if other == name)
             for name in ("short_sleep", "long_sleep")}
    asleep = {name: run.folded.below(name) for name in truth}
    share = truth["short_sleep"] / sum(truth.values())
    seen = asleep["short_sleep"] / sum(asleep.values())
    assert len(told) == 32 and abs(seen - share) <= 0.035, run.folded.describe()
