# SPDX-License-Identifier: MIT
#
# Sampling from outside does not interrupt the program's system calls if its threads have timers. If
# they cannot have timers, flamerun says so.
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

import folded
import outside
from profiled import BUILD, compile_target, profile

pytestmark = pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")

STATIC = ("-O2", "-static")
STOPPED = r"had no timers and was stopped for samples, which may cut system calls short: (.*)"
# Almost all time is in these calls. On a busy machine they end less often than at each tick.
KERNEL_SHARE = 0.5


# Uses all of its CPU time in system calls.
READS = """
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
static char buffer[4 << 20];
int main(void)
{
	int file = open("/dev/urandom", O_RDONLY);
	while (clock() < CLOCKS_PER_SEC && read(file, buffer, sizeof(buffer)) > 0)
		;
	return 0;
}
"""


def short_of(said):
    return tuple(map(int, re.search(r"short (\d+) of (\d+)", said).groups()))


def assert_whole(run):
    assert run.status == 0, run.stderr
    short, calls = short_of(run.stdout)
    assert short == 0 and calls > 10, run.stdout
    assert "had no timers" not in run.stderr


@pytest.mark.parametrize("rate_hz", [197, 4000])
@pytest.mark.parametrize("flags", [STATIC, ("-O2",)])
def test_no_call_is_cut_short(tmp_path, flags, rate_hz):
    program = compile_target("whole_calls.c", tmp_path, flags)
    run = profile(tmp_path, program, "1000", rate_hz=rate_hz, options=["-v", "--outside"])
    assert_whole(run)
    # The samples have the full time in the kernel.
    due = float(re.search(r"(\d+) due ", run.stderr).group(1))
    assert run.folded.total == pytest.approx(due, rel=0.05, abs=3), run.stderr
    assert run.folded.below("reads") > KERNEL_SHARE * run.folded.total, run.folded.describe()
    assert run.folded.below("[unsampled]") < 0.1 * run.folded.total, run.folded.describe()


def test_nor_of_a_static_child(tmp_path):
    """flamerun finds the static child while it runs, and stops it once it is in user mode."""
    program = compile_target("whole_calls.c", tmp_path, STATIC)
    run = profile(tmp_path, "/bin/sh", "-c", f"{program} 1500; :", options=["-v"])
    assert run.status == 0, run.stderr
    short, calls = short_of(run.stdout)
    assert short <= 1 and calls > 10
    assert run.folded.below("reads") > KERNEL_SHARE * run.folded.total, run.folded.describe()


def test_coming_cuts_one_at_most_and_leaving_none(tmp_path):
    program = compile_target("whole_calls.c", tmp_path, STATIC)
    for _ in range(3):
        with outside.running(program, "2500") as process:
            outside.work(process.pid, 0.05)
            flamerun = outside.background(tmp_path, process.pid, "-r", "997")
            outside.work(process.pid, 1.5)
            status, stderr = outside.end(flamerun)
            left = pathlib.Path(f"/proc/{process.pid}/timers")
            timers = left.read_text() if left.exists() else ""
            said = process.stdout.read()
        assert status == 0 and "had no timers" not in stderr, stderr
        assert timers == ""
        assert short_of(said)[0] <= 1
        stacks = folded.Folded((tmp_path / "b.folded").read_text())
        assert stacks.below("reads") > KERNEL_SHARE * stacks.total, stacks.describe()


@pytest.mark.parametrize("how,why", [
    ("trap", "it ignores SIGTRAP"), ("filter", "it has a seccomp filter of its own"),
    ("pending", "it may have no more timers (ulimit -i)"), ("blocked", "it blocks signal 33")])
def test_without_timers_it_is_stopped_and_that_is_said(tmp_path, how, why):
    """
    Threads that cannot have timers are stopped for samples, and flamerun says why. The test runs as
    user nobody, because root is exempt from the limit of pending signals.
    """
    program = compile_target("whole_calls.c", tmp_path, STATIC)
    command = [program, "1500", how]
    if how == "pending" and outside.IS_ROOT:
        tmp_path.chmod(0o777)
        command = outside.as_nobody(*command)
    with outside.running(*command) as process:
        outside.work(process.pid, 0.05)
        flamerun = outside.background(tmp_path, process.pid, "-r", "197")
        status, stderr = outside.end_of(flamerun)
        said = process.stdout.read()
    assert status == 0, stderr
    assert re.search(STOPPED, stderr)[1] == why
    assert short_of(said)[1] > 10
    stacks = folded.Folded((tmp_path / "b.folded").read_text())
    assert stacks.below("main") > 0.5 * stacks.total, stacks.describe()


@pytest.mark.parametrize("options", [[], ["--outside"]])
def test_without_timers_calls_are_not_sampled_and_that_is_said(tmp_path, options):
    (tmp_path / "reads.c").write_text(READS)
    program = compile_target(tmp_path / "reads.c", tmp_path, STATIC)
    run = profile(tmp_path, "sh", "-c", f"trap '' TRAP; exec {program}", options=options)
    assert run.status == 0 and re.search(STOPPED, run.stderr)[1] == "it ignores SIGTRAP"
    assert run.folded.below("[unsampled]") > 0.5 * run.folded.total, run.folded.describe()
    assert re.search(r" is \[unsampled\]: .*in system calls of threads without timers, or ",
                     run.stderr), run.stderr


def test_a_signal_that_is_blocked_for_a_while(tmp_path):
    """
    While the signal is blocked, samples are taken by stops, afterwards by timers. No call may be
    cut short, and no time may be counted twice.
    """
    program = compile_target("whole_calls.c", tmp_path, STATIC)
    run = profile(tmp_path, program, "1300", "moment", rate_hz=197, options=["-v", "--outside"])
    assert run.status == 0, run.stderr
    assert re.search(STOPPED, run.stderr)[1] == "it blocks signal 33"
    short, calls = short_of(run.stdout)
    assert short == 0 and calls > 10, run.stdout
    # No time is counted twice, once by a stop and once by the timer.
    due = float(re.search(r"(\d+) due ", run.stderr).group(1))
    assert run.folded.total == pytest.approx(due, rel=0.02, abs=3), run.stderr
    assert run.folded.below("block_for_a_moment") > 0.1 * run.folded.total, run.folded.describe()
    assert run.folded.below("reads") > 0.3 * run.folded.total, run.folded.describe()


@pytest.mark.skipif(not outside.IS_ROOT, reason="needs another user")
def test_one_that_hides_its_memory_has_stacks(tmp_path):
    """flamerun has opened the files in /proc before the program makes itself undumpable."""
    program = compile_target("whole_calls.c", tmp_path, STATIC)
    tmp_path.chmod(0o777)
    run = subprocess.run(outside.as_nobody(BUILD / "flamerun", "--outside", "-o", "n.folded", "--",
                                           program, "1000", "dump"),
                         cwd=tmp_path, text=True, capture_output=True, timeout=60, check=True)
    assert short_of(run.stdout)[0] == 0
    stacks = folded.Folded((tmp_path / "n.folded").read_text())
    assert stacks.where(lambda stack: "main" in stack and "reads" in stack) > \
        KERNEL_SHARE * stacks.total, stacks.describe()


def test_one_that_is_killed_leaves_nobody_behind(tmp_path):
    """If flamerun is killed, its tracer process deletes the timers and ends."""
    program = compile_target("split.c", tmp_path, STATIC)
    with outside.running(program, "600000") as process:
        outside.work(process.pid, 0.05)
        for delay in range(8):
            flamerun = outside.background(tmp_path, process.pid, "-r", "997")
            time.sleep(0.01 * delay)
            flamerun.kill()
            flamerun.wait()
            outside.wait_until(lambda: outside.tracer_of(process.pid) == 0)
            outside.work(process.pid, 0.02)


def test_timers_without_a_tracer_harm_nobody(tmp_path):
    """If the tracer is killed, the timers continue, but the program ignores their signals."""
    program = compile_target("split.c", tmp_path, STATIC)
    with outside.running(program, "600000") as process:
        outside.work(process.pid, 0.05)
        flamerun = outside.background(tmp_path, process.pid, "-r", "997")
        outside.work(process.pid, 0.3)
        os.kill(outside.tracer_of(process.pid), signal.SIGKILL)
        outside.end_of(flamerun)
        assert outside.tracer_of(process.pid) == 0
        outside.work(process.pid, 0.3)
        assert process.poll() is None


def timers_of(pid):
    """The number of timers of a process; 0 if the kernel does not show them."""
    path = pathlib.Path(f"/proc/{pid}/timers")
    lines = path.read_text().splitlines() if path.exists() else []
    return sum(line.startswith("ID:") for line in lines)


def test_timers_that_were_left_are_not_counted(tmp_path):
    """
    If the tracer process is killed, the timers continue: in programs with threads, glibc handles
    their signal. The next flamerun deletes these timers.
    """
    program = compile_target("threads.c", tmp_path, STATIC)
    with outside.running(program, "600000") as process:
        outside.work(process.pid, 0.05)
        for _ in range(4):
            flamerun = outside.background(tmp_path, process.pid, "-r", "997")
            outside.work(process.pid, 0.8)
            os.kill(outside.tracer_of(process.pid), signal.SIGKILL)
            outside.end_of(flamerun)
        left = timers_of(process.pid)
        before = outside.cpu_s(process.pid)
        flamerun = outside.background(tmp_path, process.pid, "-r", "997")
        attached = outside.cpu_s(process.pid)
        outside.work(process.pid, 1.6)
        ending = outside.cpu_s(process.pid)
        status, stderr = outside.end(flamerun)
        after = outside.cpu_s(process.pid)
        assert status == 0, stderr
        assert timers_of(process.pid) < max(left, 1), left
    total = folded.Folded((tmp_path / "b.folded").read_text()).total
    # Each thread may have a period more or less.
    assert 997 * (ending - attached) - 10 <= total <= 997 * (after - before) + 10
