# SPDX-License-Identifier: MIT
#
# flamerun -p: the samples of a running process, and that the process is not affected.
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

import folded
import outside
from profiled import OUTSIDE_LOOKS, compile_target, looks, profile

pytestmark = pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")


IDLE = """
#include <unistd.h>
__attribute__((noinline)) static void rest(void) { pause(); __asm__ volatile("" ::: "memory"); }
int main(void) { rest(); return 0; }
"""


# A program that uses the CPU for some 2 ms, mostly in the kernel, between sleeps of 50 ms.
SELDOM = """
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int is_over;
static char buffer[1 << 20];
static void on_signal(int number) { (void)number; is_over = 1; }
__attribute__((noinline)) static void work(int file) { read(file, buffer, sizeof(buffer)); __asm__ volatile("" ::: "memory"); }
int main(void)
{
	int file = open("/dev/urandom", O_RDONLY), eintr = 0;
	signal(SIGTERM, on_signal);
	while (!is_over) {
		eintr += poll(NULL, 0, 50) < 0 && errno == EINTR && !is_over;
		work(file);
	}
	printf("eintr %d\\n", eintr);
	return 7;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")

    class Programs:
        split = compile_target("split.c", folder)
        threads = compile_target("threads.c", folder)
        outside = compile_target("outside.c", folder)
        (folder / "idle.c").write_text(IDLE)
        idle = compile_target(folder / "idle.c", folder)
        (folder / "seldom.c").write_text(SELDOM)
        seldom = compile_target(folder / "seldom.c", folder)

    return Programs


@contextlib.contextmanager
def resting(programs):
    """Run a program that waits forever. The block begins when the program waits."""
    with outside.running(programs.idle) as process:
        outside.wait_until(lambda: outside.state_of(process.pid) == "S")
        yield process


def test_shares_and_totals(tmp_path, programs):
    with outside.running(programs.split, "600000") as process:
        outside.work(process.pid, 0.05)
        before = outside.cpu_s(process.pid)
        flamerun = outside.background(tmp_path, process.pid, "-v", "-r", "997")
        attached = outside.cpu_s(process.pid)
        outside.work(process.pid, 0.6)
        ending = outside.cpu_s(process.pid)
        status, stderr = outside.end(flamerun)
        after = outside.cpu_s(process.pid)
        assert process.poll() is None and outside.tracer_of(process.pid) == 0
    assert status == 0, stderr
    stacks = folded.Folded((tmp_path / "b.folded").read_text())
    # The number of samples fits the CPU time between the start and the end of sampling.
    assert 997 * (ending - attached - 0.012) <= stacks.total <= 997 * (after - before + 0.012)
    folded.assert_share(stacks, stacks.below("heavy"), 2 / 3, stacks.total * OUTSIDE_LOOKS, "heavy")
    assert stacks.where(lambda s: s[0] == "_start" and "main" in s) >= 0.99 * stacks.total
    books = re.search(r"(\d+) due .* = (\d+) sampled .* (\d+) credited", stderr)
    due, sampled, credited = map(int, books.groups())
    assert abs(due - sampled - credited) <= 2, stderr


def test_no_rate_is_advised_that_would_not_help(tmp_path, programs):
    """
    In less than 20 ms there are no 20 samples at 997 Hz either, so the hint is to sample for
    longer.
    """
    with outside.running(programs.split, "600000") as process:
        outside.work(process.pid, 0.05)
        result = subprocess.run([outside.FLAMERUN, "-d", "0.01", "-o", tmp_path / "x.folded", "-p",
                                 str(process.pid)], stderr=subprocess.PIPE, text=True, check=True)
    said = re.search(r"used the CPU for (\d+) ms, too little for 197 .*: (.*)", result.stderr)
    # On a busy machine flamerun may sample for longer, or the target may get no CPU.
    if said and int(said[1]) < 20:
        assert said[2] == "sample it for longer"


@pytest.mark.sanitized
def test_a_process_named_twice_is_sampled_once(tmp_path, programs):
    with outside.running(programs.split, "600000") as process:
        result = subprocess.run(
            [outside.FLAMERUN, "-p", f"{process.pid},{process.pid}", "-d", "0.2"], cwd=tmp_path,
            text=True, stderr=subprocess.PIPE, timeout=60, check=False)
        status, stderr = result.returncode, result.stderr
    assert status == 0 and "1 process" in stderr, stderr


def test_the_same_as_from_inside(tmp_path, programs):
    rate_hz, ms = looks(400)
    inside = profile(tmp_path, programs.split, ms, rate_hz=rate_hz)
    without = profile(tmp_path, programs.split, ms, rate_hz=rate_hz, options=["--outside"])
    assert without.status == 0
    for run in (inside, without):
        run.assert_truth()
        # Compare each run with its own CPU time, because the target ends only after whole turns of
        # work.
        due = run.truth_s * run.rate_hz
        assert abs(run.folded.total - due) <= 0.05 * due + run.begin
    names = [{stack[-1] for stack, weight in run.folded.stacks if weight > 0.02 * rate_hz}
             for run in (inside, without)]
    assert names[0] == names[1]


def test_threads_that_come_later(tmp_path, programs):
    rate_hz, ms = looks(1400, is_outside=True)
    run = profile(tmp_path, programs.threads, ms, rate_hz=rate_hz, options=["--outside"])
    assert len(run.truth) == 4
    run.assert_truth()


def test_a_sleeper_is_left_alone(tmp_path, programs):
    with resting(programs) as process:
        run = outside.attach(tmp_path, process.pid, seconds=0.5)
        assert process.poll() is None
    assert run.status == 0 and run.folded.total == 0
    assert "were stopped for" not in run.stderr


def test_one_that_works_seldom_is_stopped_while_it_sleeps(tmp_path, programs):
    """
    The program is stopped during its sleep to make its timers, because waiting until it runs in
    user mode would take long. No system call is interrupted.
    """
    with outside.running(programs.seldom) as process:
        outside.work(process.pid, 0.01)
        flamerun = outside.background(tmp_path, process.pid, "-r", "997")
        outside.work(process.pid, 0.08)
        status, stderr = outside.end(flamerun)
        said = ended(process)
    assert status == 0 and said["eintr"] == "0", stderr
    stacks = folded.Folded((tmp_path / "b.folded").read_text())
    assert stacks.total > 50
    assert stacks.below("work") > 0.6 * stacks.total, stacks.describe()


def ended(process):
    """End a program of outside.c. Returns its output."""
    process.terminate()
    # If the program waits for a signal that never comes, only the timeout ends the test.
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 7
    return dict(line.split(" ", 1) for line in text.splitlines())


def test_nothing_is_noticed_over_many_rounds(tmp_path, programs):
    """flamerun attaches 20 times. No call may be interrupted, no signal lost or delivered twice."""
    with outside.running(programs.outside) as process:
        outside.work(process.pid, 0.05)
        for _ in range(20):
            run = subprocess.run(
                [outside.FLAMERUN, "-q", "-r", "997", "-d", "0.03", "-p", str(process.pid), "-o",
                 tmp_path / "r.folded"], stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            assert run.returncode == 0, run.stderr
        said = ended(process)
    assert said["eintr"] == "0"
    handled, sent = said["signals"].split(" of ")
    assert handled == sent and int(sent) > 20
    turns, checksum = map(int, said["checksum"].split())
    x = 1
    for turn in range(turns):
        x = (x * 6364136223846793005 + turn) % 2**64
    assert x == checksum


@pytest.mark.parametrize("rate", ["49", "4000"])
def test_killed_flamerun_lets_go(tmp_path, programs, rate):
    """At 4000 Hz flamerun is often killed while the target is stopped."""
    with outside.running(programs.outside) as process:
        outside.work(process.pid, 0.02)
        for _ in range(12):
            flamerun = outside.background(tmp_path, process.pid, "-r", rate)
            time.sleep(0.05)
            outside.end(flamerun, signal.SIGKILL)
            outside.wait_until(lambda: outside.tracer_of(process.pid) == 0)
            outside.work(process.pid, 0.02)
        said = ended(process)
    assert said["eintr"] == "0"
    assert len(set(said["signals"].split(" of "))) == 1


@pytest.mark.sanitized
def test_interrupt_ends_it_and_draws(tmp_path, programs):
    with outside.running(programs.split, "600000") as process:
        flamerun = outside.background(tmp_path, process.pid, "-r", "197")
        outside.work(process.pid, 0.3)
        status, stderr = outside.end(flamerun)
        assert process.poll() is None
    assert status == 0, stderr
    assert "main;heavy" in (tmp_path / "b.folded").read_text()


def test_ends_with_the_process(tmp_path, programs):
    with outside.running(programs.split, "800") as process:
        flamerun = outside.background(tmp_path, process.pid, "-r", "197")
        attached = outside.cpu_s(process.pid)
        status, stderr = outside.end_of(flamerun)
        told, _ = process.communicate(timeout=60)
        assert process.returncode == 0
    assert status == 0, stderr
    total = folded.Folded((tmp_path / "b.folded").read_text()).total
    used = sum(int(line.split()[1]) for line in told.splitlines()) / 1e9
    assert 197 * (used - attached) - 3 <= total <= 197 * (used + 0.02) + 3


def test_a_stopped_process_stays_stopped(tmp_path, programs):
    with outside.running(programs.split, "600000") as process:
        outside.work(process.pid, 0.05)
        process.send_signal(signal.SIGSTOP)
        outside.wait_until(lambda: outside.state_of(process.pid) == "T")
        flamerun = outside.background(tmp_path, process.pid)
        time.sleep(0.3)
        assert outside.state_of(process.pid) in "Tt"
        status, stderr = outside.end(flamerun)
        assert status == 0, stderr
        # After flamerun detaches, the process takes a moment to stop.
        outside.wait_until(lambda: outside.state_of(process.pid) == "T")
        before = outside.cpu_s(process.pid)
        time.sleep(0.1)
        assert outside.cpu_s(process.pid) == before
        process.send_signal(signal.SIGCONT)
        outside.work(process.pid, 0.05)


def test_stopped_and_continued_while_sampled(tmp_path, programs):
    with outside.running(programs.split, "600000") as process:
        flamerun = outside.background(tmp_path, process.pid, "-r", "997")
        for _ in range(20):
            outside.work(process.pid, 0.02)
            process.send_signal(signal.SIGSTOP)
            outside.wait_until(lambda: outside.state_of(process.pid) in "Tt")
            before = outside.cpu_s(process.pid)
            time.sleep(0.02)
            # The kernel uses a little of the process's CPU time while it stops.
            assert outside.cpu_s(process.pid) - before < 0.005, "it ran on while it was stopped"
            process.send_signal(signal.SIGCONT)
        outside.work(process.pid, 0.1)
        status, stderr = outside.end(flamerun)
    assert status == 0, stderr


def test_a_continue_signal_breaks_nothing_off(tmp_path, programs):
    """
    The kernel stops traced threads for SIGCONT, which timeout(1) also sends to running programs.
    """
    with outside.running(programs.outside) as process:
        flamerun = outside.background(tmp_path, process.pid, "-r", "997")
        for _ in range(5):
            outside.work(process.pid, 0.02)
            process.send_signal(signal.SIGCONT)
        outside.work(process.pid, 0.05)
        status, stderr = outside.end(flamerun)
        said = ended(process)
    assert status == 0, stderr
    assert said["eintr"] == "0"


def test_children_with_follow(tmp_path):
    forks = compile_target("forkexec.c", tmp_path)
    with outside.running("sh", "-c", f"read x; {forks} 1000", stdin=outside.subprocess.PIPE) as process:
        flamerun = outside.background(tmp_path, process.pid, "--follow", "-r", "997")
        process.stdin.write("\n")
        process.stdin.flush()
        status, stderr = outside.end_of(flamerun)
        assert status == 0, stderr
    text = (tmp_path / "b.folded").read_text()
    assert "forkexec" in text, text


def _below(pid):
    """All descendants of a process."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children] + [one for child in children for one in _below(child)]


@pytest.mark.parametrize("flags", ((), ("--follow",)), ids=("without", "follow"))
def test_children_that_run_already(tmp_path, programs, flags):
    """The first process of a server waits for its children, which do the work."""
    server = f"({programs.split} 600000; true) & {programs.split} 600000 & wait"
    with outside.running("sh", "-c", server) as process:
        outside.wait_until(lambda: len(_below(process.pid)) == 3)
        children = _below(process.pid)
        try:
            run = outside.attach(tmp_path, process.pid, *flags, seconds=1)
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
    heavy = [stack for stack, _ in run.folded.stacks if "heavy" in stack]
    assert bool(heavy) == bool(flags), run.folded.stacks
    assert ("--follow would sample 2 children" in run.stderr) == (not flags), run.stderr


@pytest.mark.sanitized
def test_a_process_that_is_killed(tmp_path, programs):
    with outside.running(programs.split, "600000") as process:
        flamerun = outside.background(tmp_path, process.pid, "-r", "997")
        outside.work(process.pid, 0.3)
        process.kill()
        assert process.wait(timeout=60) == -signal.SIGKILL
        status, stderr = outside.end_of(flamerun)
        assert status == 0, stderr
    assert "main;heavy" in (tmp_path / "b.folded").read_text()


@pytest.mark.sanitized
def test_several_processes(tmp_path, programs):
    with outside.running(programs.split, "600000") as one:
        with outside.running(programs.threads, "600000") as two:
            outside.work(one.pid, 0.05)
            run = outside.attach(tmp_path, f"{one.pid},{two.pid}", "-r", "197", seconds=1)
    assert {stack[0] for stack, _ in run.folded.stacks} == {"split", "threads"}


@pytest.mark.sanitized
def test_wall_counts_sleepers_where_they_sleep(tmp_path, programs):
    with resting(programs) as process:
        before = time.monotonic()
        flamerun = outside.background(tmp_path, process.pid, "--wall", "-r", "97")
        attached = time.monotonic()
        time.sleep(2)
        ending = time.monotonic()
        status, stderr = outside.end(flamerun)
        after = time.monotonic()
    assert status == 0, stderr
    stacks = folded.Folded((tmp_path / "b.folded").read_text())
    assert 97 * (ending - attached) - 3 <= stacks.total <= 97 * (after - before) + 3
    assert stacks.below("rest") >= 0.9 * stacks.total
    assert " stops" not in stderr, "a sleeper is not stopped"
