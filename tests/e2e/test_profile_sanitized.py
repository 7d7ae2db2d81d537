# SPDX-License-Identifier: MIT
#
# Programs built for ThreadSanitizer, whose runtime keeps signals back until libc is called.
import os
import subprocess

import pytest

import folded
from profiled import compile_target, profile

FLAGS = ("-O1", "-g", "-fsanitize=thread")


@pytest.fixture(params=["gcc", "clang-14"])
def build(request, tmp_path):
    """Compile a target for a runtime: gcc's is a library, clang's part of the program."""
    def one(name):
        try:
            return compile_target(name, tmp_path, FLAGS, compiler=request.param)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("not installed")
    return one


def test_samples_come_when_they_are_due(build, tmp_path):
    run = profile(tmp_path, build("split.c"), "1000", rate_hz=250)
    assert run.status == 0 and "ThreadSanitizer" not in run.stderr
    heavy = run.truth["heavy"] / sum(run.truth.values())
    folded.assert_share(run.folded, run.folded.below("heavy"), heavy, run.folded.total, "heavy")
    assert run.folded.where(lambda s: "main" in s and "_start" in s) >= .95 * run.folded.total


def test_every_thread_is_sampled(build, tmp_path):
    run = profile(tmp_path, build("threads.c"), "700")
    assert run.status == 0 and "ThreadSanitizer" not in run.stderr
    for number in range(4):
        due = run.truth[f"worker_{number}"] * run.rate_hz / 1e9
        assert run.folded.below(f"worker_{number}") == pytest.approx(due, rel=.5, abs=5)


@pytest.mark.parametrize("case", ["blocked", "caught-once", "waited-for"])
def test_the_programs_own_signal(build, tmp_path, case):
    program = build("own_signals.c")
    alone = subprocess.run([program, case], stdout=subprocess.PIPE, text=True, timeout=60,
                           check=False, env={**os.environ, "BRIEF": "1"})
    run = profile(tmp_path, program, case)
    assert (run.status, run.stdout) == (alone.returncode, alone.stdout)
