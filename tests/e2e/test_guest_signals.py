# SPDX-License-Identifier: MIT
#
# flamerun does not change the program's own use of SIGVTALRM, signal masks and alternate stacks,
# with both clocks. Sleeping calls are interrupted only on kernels for which flamerun says so.
import functools
import math
import os
import subprocess

import pytest

import folded
from profiled import compile_target, of_all, profile

CASES = ["reset-signal", "reset-bsd_signal", "reset-ssignal", "reset-sysv_signal", "reset-sigset",
         "reset-sigaction", "small-stack", "on-small-stack", "blocked", "waited-for", "leaps-out",
         "interval-timer", "caught-once", "ignored-by-child", "blocked-in-child",
         "blocked-in-all", "masks-of-children", "masks-of-shells", "masks-of-threads", "old-masks",
         "let-in", "faults",
         "told", *(f"room-{kib * 1024}" for kib in (4, 6, 8, 12, 32))]
# Sampling rates. Programs that use no CPU time in their own signal handlers need no high rate.
CLOCKS = {"cpu": {"rate_hz": 997}, "monotonic": {"clock_hz": 5000}}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_target("own_signals.c", tmp_path_factory.mktemp("own_signals"))


# The kernel queues at most one SIGVTALRM, so a signal that the program sends itself is lost while a
# timer's signal is pending. At the rate of the CPU clock one in thousands is lost; at 5 kHz on a
# busy machine, one in ten.
SEND_THEMSELVES = {"blocked", "let-in", "blocked-in-all", "waited-for", "leaps-out", "caught-once"}
# The same code checks the room on a stack for both clocks, so one is enough for `make check`.
RUNS = [pytest.param(case, clock, marks=of_all if clock != "cpu" and case.startswith("room") else ())
        for case in CASES for clock in CLOCKS if clock == "cpu" or case not in SEND_THEMSELVES]


@functools.cache
def run_alone(program, case):
    return subprocess.run([program, case], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "BRIEF": "1"})


@pytest.mark.parametrize("case,clock", RUNS)
def test_signals_are_the_programs_own(program, tmp_path, case, clock):
    alone = run_alone(program, case)
    run = profile(tmp_path, program, case, **CLOCKS[clock])
    assert run.folded.total > 50, "it was not sampled: nothing was tested"
    assert run.stdout == alone.stdout
    assert run.status == alone.returncode


def test_a_thread_that_blocks_the_signal_is_sampled(program, tmp_path):
    """In whichever way the signal is blocked, samples are not deferred until it is unblocked."""
    run = profile(tmp_path, program, "old-masks", rate_hz=folded.TICK_HZ)
    worked = run.folded.below("work_blocked") + run.folded.below("work_unblocked")
    sigma = math.sqrt(4 / 9 * 5 / 9 / worked)
    assert 4 / 9 - 1 / 9 > 10 * sigma, "too few to tell that three of four times are missing"
    assert abs(run.folded.below("work_blocked") / worked - 4 / 9) < 5 * sigma, run.folded.describe()


@pytest.mark.parametrize("blocked", [False, True])
def test_a_shells_commands_inherit_its_mask(program, tmp_path, blocked):
    """dash blocks all signals around vfork() and unblocks them in the child by sigsetmask()."""
    words = ["sh", "-c", f"{program} masked first; {program} masked second; exit 3"]
    if blocked:
        words = [program, "blocked-in-child", *words]
    alone = subprocess.run(words, text=True, stdout=subprocess.PIPE)
    run = profile(tmp_path, *words, rate_hz=997)
    assert "first: 0" in alone.stdout, "its commands begin with an empty mask"
    assert run.stdout == alone.stdout
    assert run.status == alone.returncode == 3


@pytest.mark.sanitized
@pytest.mark.parametrize("words, went_on", [(("2000",), 0), (("100", "restart"), 100)], ids=["interrupts", "restarts"])
@pytest.mark.parametrize("options", [(), ("--clock=tick",)], ids=["any-clock", "tick"])
def test_a_call_that_an_alarm_breaks_off(tmp_path, words, went_on, options):
    """
    The flags of the alarm's handler decide whether a call restarts, although the sampling signal
    (with SA_RESTART) often arrives before the alarm.
    """
    program = compile_target("broken_off.c", tmp_path)
    run = profile(tmp_path, program, *words, rate_hz=4000, options=options)
    assert run.folded.total > 20, "it was not sampled: nothing was tested"
    assert run.stdout == f"{went_on} of {words[0]} went on\n"


@pytest.mark.skipif(not os.path.exists("/proc/config.gz"), reason="this kernel does not tell")
@pytest.mark.parametrize("configuration, is_said", [
    ("CONFIG_HZ=250\n", True),
    ("CONFIG_HZ=250\nCONFIG_POSIX_CPU_TIMERS_TASK_WORK=y\n", False)])
def test_a_kernel_that_breaks_off_calls_is_told(flamerun, tmp_path, configuration, is_said):
    """
    If /proc/config.gz shows that the kernel delivers signals of CPU timers during system calls,
    flamerun says that calls may have failed with EINTR.
    """
    told = tmp_path / "config"
    told.write_text(configuration)
    inside = f"mount --bind {told} /proc/config.gz || exit 99; exec {flamerun} -- true"
    result = subprocess.run(["unshare", "-m", "sh", "-c", inside], cwd=tmp_path, text=True,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if result.returncode in (1, 99):
        pytest.skip("no mounts here")
    assert result.returncode == 0
    assert ("may have returned EINTR" in result.stderr.splitlines()[-1]) == is_said
