# SPDX-License-Identifier: MIT
#
# Programs that forbid themselves what sampling uses: none is hurt, and what they do afterwards is in
# the picture, or a line says why not.
import os
import subprocess

import pytest

from profiled import ROOT, PLAIN, compile_target, profile

RATE_HZ = 250


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    flags = (*PLAIN, f"-I{ROOT}/arch/{os.uname().machine}")
    return compile_target("confined.c", tmp_path_factory.mktemp("confined"), flags)


def shape(text):
    """Output without the times in it."""
    return [line.split()[0] for line in text.splitlines()]


def run_both(program, folder, *words, **options):
    """Run it alone and under flamerun: what is seen of it is the same."""
    alone = subprocess.run([program, *words], text=True, stdout=subprocess.PIPE)
    if "no such thing here" in alone.stdout:
        pytest.skip("the kernel has none")
    run = profile(folder, program, *words, rate_hz=RATE_HZ, options=["-v"], **options)
    assert run.status == alone.returncode, run.stderr
    assert shape(run.stdout) == shape(alone.stdout)
    return run


def assert_sampled(run, function, least=0.5):
    """What it used stands below it, but for what was due in between."""
    due = run.truth[function] * RATE_HZ / 1e9
    assert due > 20, "too short to tell"
    assert run.folded.below(function) > least * due, run.folded.describe() + run.stderr


# What it execs cannot start: the dynamic linker reads the counter.
@pytest.mark.parametrize("how", ["prctl", "syscall", "thread", "fork"])
def test_without_the_time_stamp_counter(program, tmp_path, how):
    run = run_both(program, tmp_path, "tsc", how)
    assert_sampled(run, "before")
    assert_sampled(run, "after")
