# SPDX-License-Identifier: MIT
#
# A program observes the same about itself with and without flamerun.
import subprocess

import pytest

from profiled import compile_target, profile

pytestmark = pytest.mark.confined


def test_nothing_is_seen_of_the_guest(tmp_path):
    program = compile_target("signals_seen.c", tmp_path)
    alone = subprocess.run([program], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run = profile(tmp_path, program, rate_hz=997)
    assert run.folded.total > 100, "it was not sampled: nothing was tested"
    assert run.stdout == alone.stdout
    assert run.status == alone.returncode == 3


def test_stderr_is_the_programs_when_quiet(tmp_path):
    run = profile(tmp_path, "sh", "-c", "echo to stderr >&2; exit 9", options=("-q",))
    assert run.stderr == "to stderr\n"
    assert run.status == 9
