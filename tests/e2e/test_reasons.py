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


@pytest.mark.confined
def test_without_pending_signals(unseen, tmp_path):
    """A timer takes one. Who gets none is sampled from outside, after some 50 ms."""
    run = profile(tmp_path, "prlimit", "--sigpending=0", unseen, rate_hz=RATE_HZ)
    assert run.status == 0
    assert ("1 process could not be sampled from inside: a timer takes one of the user's pending "
            "signals, limited to 0 (ulimit -i)\n") in run.stderr
    assert "hint: 'ulimit -i unlimited'" in run.stderr and "-r 997" not in run.stderr
    if not outside.IS_CONFINED:
        assert run.folded.below("burn") > 0.7 * run.truth["burn"] * RATE_HZ / 1e9, run.stderr


def test_children_without_pending_signals(unseen, tmp_path):
    """Each image asks for itself, whatever became of the one before."""
    run = profile(tmp_path, "prlimit", "--sigpending=0", "sh", "-c", f"{unseen} & {unseen}; wait",
                  rate_hz=RATE_HZ)
    assert "seccomp" not in run.stderr
    assert "3 processes could not be sampled from inside: a timer takes" in run.stderr


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


def test_the_action_is_reset_past_libc(unseen, tmp_path):
    run = profile(tmp_path, unseen, "resets", rate_hz=RATE_HZ)
    assert run.status < 0
    assert f"signal {-run.status} (" in run.stderr
    assert "reset the signal's action by a system call of its own\n" in run.stderr
    assert "hint: --outside samples without signals\n" in run.stderr
    assert "let it do more" not in run.stderr
    assert_outside(unseen, tmp_path, "resets")


def test_killed_by_somebody_else(tmp_path):
    """The same signal, but not ours: nothing is said."""
    for number in ("PROF", "VTALRM"):
        run = profile(tmp_path, "bash", "-c",
                      f"for i in {{1..50000}}; do :; done; kill -{number} $$", rate_hz=RATE_HZ)
        assert run.status < 0
        assert "system call of its own" not in run.stderr
