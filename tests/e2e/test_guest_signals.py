# SPDX-License-Identifier: MIT
#
# SIGPROF, masks and alternate stacks of a program stay its own, sampled by either clock.
import subprocess

import pytest

from profiled import compile_target, profile

pytestmark = pytest.mark.same_if("sanitized")

CASES = ["reset-signal", "reset-bsd_signal", "reset-ssignal", "reset-sysv_signal", "reset-sigset",
         "reset-sigaction", "small-stack", "on-small-stack", "blocked", "waited-for", "leaps-out",
         "interval-timer", "caught-once", "ignored-by-child", "blocked-in-child"]
# What burns nothing under its own signals need not be sampled often.
CLOCKS = {"cpu": {"rate_hz": 997}, "monotonic": {"clock_hz": 5000}}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_target("own_signals.c", tmp_path_factory.mktemp("own_signals"))


# The kernel keeps one SIGPROF at most: one the program sends itself while one of ours waits is lost.
# At the CPU clock's rate that is one in thousands, at 5 kHz on a busy machine one in ten.
SEND_THEMSELVES = {"blocked", "waited-for", "leaps-out", "caught-once"}
RUNS = [(case, clock) for case in CASES for clock in CLOCKS
        if clock == "cpu" or case not in SEND_THEMSELVES]


@pytest.mark.parametrize("case,clock", RUNS)
def test_signals_are_the_programs_own(program, tmp_path, case, clock):
    alone = subprocess.run([program, case], text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    run = profile(tmp_path, program, case, **CLOCKS[clock])
    assert run.folded.total > 100, "it was not sampled: nothing was tested"
    assert run.stdout == alone.stdout
    assert run.status == alone.returncode
