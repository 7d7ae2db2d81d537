# SPDX-License-Identifier: MIT
#
# Why CPU time is in no sample: the reason that is given is the real one, and none is guessed.
import os
import subprocess

import pytest

import outside
from profiled import PLAIN, ROOT, compile_target, profile

RATE_HZ = 250


@pytest.fixture(scope="module")
def unseen(tmp_path_factory):
    flags = (*PLAIN, f"-I{ROOT}/arch/{os.uname().machine}")
    return compile_target("unseen.c", tmp_path_factory.mktemp("unseen"), flags)


def assert_outside(unseen, folder, name):
    """What is advised helps."""
    if outside.IS_CONFINED:
        return
    run = profile(folder, unseen, name, rate_hz=RATE_HZ, options=["--outside"])
    due = run.truth["burn"] * RATE_HZ / 1e9
    assert run.status == 0 and run.folded.below("burn") > 0.8 * due, run.stderr


def test_signal_calls_by_number(unseen, tmp_path):
    """What syscall(2) does to every signal is answered as if nobody sampled, and somebody does."""
    alone = subprocess.run([unseen, "calls", "1"], text=True, stdout=subprocess.PIPE, check=True)
    assert alone.stdout.startswith("bad 0\n")
    run = profile(tmp_path, unseen, "calls", rate_hz=RATE_HZ)
    assert run.status == 0 and run.stdout.startswith("bad 0\n"), run.stdout
    due = run.truth["burn"] * RATE_HZ / 1e9
    assert run.folded.below("burn") > 0.9 * due, run.stderr


def test_signals_are_ignored_past_libc(unseen, tmp_path):
    """Nothing is sampled, which is said, and what helps."""
    run = profile(tmp_path, unseen, "ignores", rate_hz=RATE_HZ)
    assert run.status == 0 and run.folded.below("burn") == 0
    assert "s of CPU time were used unseen" in run.stderr and "hint: --outside" in run.stderr
    assert_outside(unseen, tmp_path, "ignores")
