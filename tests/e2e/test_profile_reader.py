# SPDX-License-Identifier: MIT
#
# flamerun's reader of the rings: samples that are taken while it cannot read, programs that die
# while they write, and tools that allow no second process in the program's memory.
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import folded
import outside
from profiled import BUILD, IS_ALL, compile_target, profile


@pytest.fixture(scope="module")
def stalled(tmp_path_factory):
    return compile_target("stalled.c", tmp_path_factory.mktemp("stalled"))


def test_each_program_has_its_own_samples(stalled, tmp_path):
    """
    flamerun is stopped while a program fills the pool, a thread ends and another program starts.
    """
    for _ in range(3 if IS_ALL else 1):
        run = profile(tmp_path, stalled, "two", "1500", rate_hz=200)
        assert run.status == 0, run.stderr
        other = run.folded.where(lambda s: s[0] == "other" or "other_work" in s)
        assert other == run.folded.below("other_work")
        due = run.truth["other_work"] / 1e9 * 200
        assert abs(other - due) <= folded.SIGMAS * due ** 0.5
        assert not run.folded.where(lambda s: "other_work" in s and "deep_work" in s)


@pytest.mark.parametrize("threads, frames, rate_hz", [(2, 60, 997), (1, 500, 197), (64, 60, 197)])
def test_half_a_second_without_a_reader_loses_nothing(stalled, tmp_path, threads, frames, rate_hz):
    run = profile(tmp_path, stalled, "one", "500", str(threads), str(frames), rate_hz=rate_hz,
                  options=["-v"])
    assert run.status == 0
    assert " 0 dropped " in run.stderr and "samples lost" not in run.stderr
    due = run.truth_s * rate_hz
    assert abs(run.folded.total - due) <= folded.SIGMAS * due ** 0.5 + 0.01 * due


@pytest.mark.sanitized
@pytest.mark.confined
def test_what_does_not_fit_is_counted(stalled, tmp_path):
    """
    At 10,000 Hz with thousands of frames every pool gets full, so samples must be reported as lost.
    """
    run = profile(tmp_path, stalled, "one", "1000", "2", "4000", clock_hz=5000)
    assert run.status == 0
    lost = re.search(r"(\d+) samples lost: the program's rings were full", run.stderr)
    assert lost and int(lost[1]) > 100, run.stderr
    # One thread can use half of the pool, each of two threads a third, so at least this much was
    # kept.
    assert run.folded.total > 300


@pytest.mark.sanitized
@pytest.mark.confined
def test_a_record_that_was_never_finished(stalled, tmp_path):
    """
    A process died before it finished a record. Samples written later in the same slot of the arena
    must have their names.
    """
    script = (f"{stalled} hole; for i in 1 2 3 4; do sleep 0.2; "
              "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'; done")
    run = profile(tmp_path, "sh", "-c", script, rate_hz=997)
    assert run.folded.total > 100
    unnamed = run.folded.where(lambda s: any("[unknown module]" in name for name in s))
    assert unnamed == 0, run.folded.describe()
    assert "1 invalid record left out" in run.stderr, run.stderr


@pytest.mark.parametrize("tool", ["none", "memcheck"])
def test_under_valgrind(tmp_path, tool):
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind here")
    program = compile_target("threads.c", tmp_path)
    command = ["valgrind", "-q", f"--tool={tool}", program, "400"]
    expected = subprocess.run(command, capture_output=True, text=True, timeout=300)
    run = profile(tmp_path, *command, rate_hz=997)
    assert run.status == expected.returncode == 0, run.stderr
    assert "nsupported" not in run.stderr
    assert run.folded.total > 100


@pytest.mark.sanitized
@pytest.mark.confined
def test_a_killed_program_leaves_all_it_sampled(tmp_path):
    """At whatever moment flamerun is killed, the picture has the samples that flamerun reports."""
    program = compile_target("threads.c", tmp_path)
    for moment in range(0, 7, 1 if IS_ALL else 3):
        with subprocess.Popen([BUILD / "flamerun", "-v", "-r", "997", "-o", "k.folded", "--",
                               program, "4000"], cwd=tmp_path, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
            time.sleep(0.15 + 0.061 * moment)
            subprocess.run(["pkill", "-KILL", "-P", str(run.pid)], check=False)
            _, said = run.communicate(timeout=60)
        assert run.returncode in (-signal.SIGKILL, 0)
        if "no samples" in said:
            continue
        due, *drawn_as = map(int, re.search(
            r"(\d+) due .* = (\d+) sampled .* \+ (\d+) credited \+ (\d+) exec \+ (\d+) exit ",
            said).groups())
        drawn = folded.Folded((tmp_path / "k.folded").read_text()).total
        assert drawn == sum(drawn_as), said
        assert abs(drawn - due) <= folded.SIGMAS * max(due, 4) ** 0.5 + 0.02 * due, said


@pytest.mark.sanitized
@pytest.mark.confined
def test_a_killed_flamerun_leaves_nothing_behind(stalled, tmp_path):
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    with subprocess.Popen([BUILD / "flamerun", "-r", "997", "-o", "k.svg", "--", "sh", "-c",
                           "echo $$; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; echo end"],
                          cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as run:
        program = int(run.stdout.readline())
        run.kill()
        assert run.stdout.read() == "end\n", "the program goes on to its end"
    outside.wait_until(lambda: outside.state_of(program) in (None, "Z", "X"))
    assert os.listdir(tmp_path) == []
    assert (set(os.listdir("/dev/shm")) if before else set()) <= before
