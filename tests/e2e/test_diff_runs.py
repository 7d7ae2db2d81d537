# SPDX-License-Identifier: MIT
#
# flamerun diff -n runs two programs alternately. These tests check the order of the runs, their
# environment, and how they end.
import re
import signal

import pytest


def test_in_turns(run, tmp_path, logged, left):
    """Each program has a warm-up run, which is in no result."""
    result = run("-q", "diff", "-n", "3", "--warmup", "1", "--", logged("old"), "1", "--", "2", "---", logged("new"), "-x")
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "log").read_text().splitlines() == [
        "old 1 -- 2", "new -x",
        "old 1 -- 2", "new -x", "new -x", "old 1 -- 2", "old 1 -- 2", "new -x"]
    assert result.stdout.startswith("3 old runs and 3 new, ")
    assert left() == []
    assert not (tmp_path / "flame.svg").exists()


def test_a_change_of_real_runs(run, tmp_path, versions, left):
    """In the new version a tenth of the program is ten times as slow."""
    result = run("-q", "diff", "-n", "4", "-o", "d.svg", "-o", "d.pdf", "--", versions, "12",
                 "---", versions, "12", "900")
    assert result.returncode == 0
    assert re.search(r"\+\d+\.\d .* tenth(, with what it calls)?$", result.stdout, re.M), result.stdout
    assert left() == [] and (tmp_path / "d.pdf").read_bytes().startswith(b"%PDF")


def test_what_programs_write_is_dropped(run, tmp_path, logged):
    (tmp_path / "typed").write_text("typed\n")
    with (tmp_path / "typed").open() as typed:
        result = run("-q", "diff", "-n", "1", "--", logged("old", "echo loud; echo err >&2; cat >&2"), "---",
                     logged("new"), stdin=typed)
    assert "loud" not in result.stdout
    assert result.stderr == "err\n"


@pytest.mark.parametrize("then, status, message", [
    ("exit 3", 125, "'./old' ended with status 3 in its run 1"),
    ("exit 127", 125, "'./old' ended with status 127 in its run 1"),
    ("kill -SEGV $$", 125, "'./old' was ended by signal 11 (Segmentation fault) in its run 1"),
])
def test_a_program_that_fails(run, logged, left, then, status, message):
    result = run("diff", "-n", "2", "--", logged("old", then), "---", logged("new"))
    assert result.returncode == status
    assert result.stderr.count(f"flamerun: {message}\n") == 1
    assert left() == []
    ignored = run("diff", "-n", "2", "--ignore-failure", "--", "./old", "---", "./new")
    assert ignored.returncode == 0 and ignored.stdout.startswith("2 old runs and 2 new, ")
    assert ignored.stderr.count(f"flamerun: {message}\n") == 1


@pytest.mark.parametrize("options, new, status, message", [
    ([], "./none", 127, "cannot run './none': No such file or directory"),
    (["--start-paused"], "true", 125, "a run of './old' has no samples to compare"),
])
def test_a_program_that_cannot_be_compared(run, logged, left, options, new, status, message):
    result = run("diff", "-n", "2", *options, "--", logged("old"), "---", new)
    assert (result.returncode, result.stdout) == (status, "")
    assert result.stderr.splitlines()[0] == f"flamerun: {message}"
    assert left() == []


def test_where_no_files_can_be(run, logged, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/nonesuch")
    result = run("diff", "-n", "2", "--", logged("old"), "---", logged("new"))
    assert (result.returncode, result.stderr) == (
        125, "flamerun: cannot make a folder in '/nonesuch': No such file or directory\n")


def test_an_interrupt_leaves_what_is_known(flamerun, interrupt, logged, left):
    status, out, err = interrupt(
        [flamerun, "diff", "-n", "20", "--", logged("old"), "---", logged("new")], signal.SIGINT, 4)
    assert status == -signal.SIGINT
    assert re.search(r"^flamerun: ended after \d+ of 40 runs, which are compared$", err, re.M)
    assert re.match(r"\d old runs? and \d new, ", out)
    assert left() == []


def test_an_early_end_is_said(flamerun, interrupt, logged, left):
    status, out, err = interrupt(
        [flamerun, "diff", "-n", "20", "--", logged("old", "sleep 60"), "---", logged("new")],
        signal.SIGTERM, 1)
    assert (status, out) == (-signal.SIGTERM, "")
    assert err.splitlines()[-1] == "flamerun: ended before each program had run"
    assert left() == []
