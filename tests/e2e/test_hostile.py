# SPDX-License-Identifier: MIT
#
# Places and inputs that nobody wished for: each gets its picture, or one clear line and its status.
import os
import resource
import signal
import subprocess
import time

import pytest

import outside
from folded import Folded

BURN = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3"
STACKS = "main;work 3\nmain;idle 1\n"


def limit(kind, amount):
    """For preexec_fn: no more than @amount of @kind, and no way back."""
    return lambda: resource.setrlimit(kind, (amount, amount))


@pytest.mark.parametrize("words", [
    [],
    pytest.param(["--outside"], marks=pytest.mark.skipif(outside.IS_CONFINED,
                                                         reason="nobody may trace here")),
])
def test_a_little_stack(run, tmp_path, words):
    """Drawing and unwinding take what they need; the limit is the program's."""
    result = run("-o", "x.svg", "-o", "x.png", "-o", "x.pdf", "-o", "x.folded", *words, "--", "sh",
                 "-c", f"ulimit -s; {BURN}",
                 preexec_fn=limit(resource.RLIMIT_STACK, 64 << 10))
    assert (result.returncode, result.stdout) == (3, "64\n"), result.stderr
    assert (tmp_path / "x.svg").read_text().rstrip().endswith("</svg>")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF-")
    assert Folded((tmp_path / "x.folded").read_text()).total > 0


def test_a_little_stack_and_signals(flamerun, tmp_path):
    """What the thread with the stack is asked while it draws, it answers as ever."""
    os.mkfifo(tmp_path / "slow.folded")
    reader = os.open(tmp_path / "slow.folded", os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen([flamerun, "-q", "-o", "slow.folded", "-o", "x.svg", "--", "sh", "-c",
                           "trap 'exit 4' TERM; echo ready; while :; do sleep 0.05; done"],
                          cwd=tmp_path, stdout=subprocess.PIPE, text=True,
                          preexec_fn=limit(resource.RLIMIT_STACK, 64 << 10)) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 4
    os.close(reader)
    assert (tmp_path / "x.svg").exists()
    with subprocess.Popen([flamerun, "render", "-", "-o", "y.svg"], cwd=tmp_path,
                          stdin=subprocess.PIPE,
                          preexec_fn=limit(resource.RLIMIT_STACK, 64 << 10)) as process:
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT
    assert not (tmp_path / "y.svg").exists()


@pytest.mark.parametrize("words, status", [
    (["--", "true"], 0),
    (["-o", "x.svg", "-o", "x.png", "-o", "x.pdf", "-o", "x.folded", "-o", "x.pb.gz", "--", "sh", "-c",
      BURN], 3),
    (["-o", "/dev/full", "-o", "x.folded", "--", "sh", "-c", BURN], 3),
    (["--", "sh", "-c", "kill -9 $$"], -9),
    (["-d", "0.1", "--", "sleep", "0.2"], 0),
    (["--", "./none"], 127),
    (["render", "in.folded", "-o", "/dev/full"], 125),
    (["render", "in.folded", "-o", "y.png"], 0),
    (["render", "none.folded"], 125),
    pytest.param(["--outside", "--", "sh", "-c", BURN], 3, marks=pytest.mark.skipif(
        outside.IS_CONFINED, reason="nobody may trace here")),
    pytest.param(["--wall", "--", "sleep", "0.2"], 0, marks=pytest.mark.skipif(
        outside.IS_CONFINED, reason="nobody may trace here")),
])
def test_nothing_is_left_among_temporary_files(run, tmp_path, words, status):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "in.folded").write_text(STACKS)
    result = run(*words, env=dict(os.environ, TMPDIR=str(tmp_path / "tmp")))
    assert result.returncode == status, result.stderr
    assert os.listdir(tmp_path / "tmp") == [], result.stderr


def test_a_run_without_samples_has_nothing_to_save(run, tmp_path):
    """At one sample per second of CPU none is taken of a program that ends at once."""
    result = run("-r", "1", "-d", "0.1", "-o", "/dev/full", "--", "sleep", "0.3",
                 env=dict(os.environ, TMPDIR=str(tmp_path)))
    assert result.returncode == 0
    assert "No space left on device" in result.stderr
    assert "the stacks are in" not in result.stderr
    assert os.listdir(tmp_path) == []


def test_a_reader_that_goes_away_gets_no_file(flamerun, tmp_path):
    """What comes through a pipe and cannot be written is saved, but not for who has seen enough."""
    stacks = "".join(f"main;f{i} 1\n" for i in range(100000))
    command = [flamerun, "render", "-", "--format", "folded", "-o", "-"]
    environment = dict(os.environ, TMPDIR=str(tmp_path))
    with subprocess.Popen(command, cwd=tmp_path, env=environment, text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        process.stdin.write(stacks)
        process.stdin.close()
        said = process.stderr.read()
        assert process.wait(60) == 125
    assert said == "flamerun: cannot write '/dev/stdout': Broken pipe\n"
    assert os.listdir(tmp_path) == []
    result = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *command], cwd=tmp_path, text=True,
                            env=environment, input=stacks, stderr=subprocess.PIPE, timeout=60)
    assert result.returncode == 125
    assert result.stderr.startswith("flamerun: cannot write '/dev/stdout': Bad file descriptor\n")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("beginning, what", [
    (b"<?xml version='1.0'?>\n<svg>\n<text y='1' 2\n", "an SVG picture or other XML"),
    (b"%PDF-1.5\n1 0 obj 3\n", "a PDF document"),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"PERFILE2h\0\0\0", "a recording of perf"),
    (b"\x7fELF\2\1\1\0", "a program or library"),
    (b"a 1\0\n", "a NUL byte"),
])
def test_render_knows_what_holds_no_stacks(run, tmp_path, beginning, what):
    (tmp_path / "x.folded").write_bytes(beginning)
    result = run("render", "x.folded", "-o", "y.svg")
    assert result.returncode == 125
    assert result.stderr.splitlines()[0] == (
        f"flamerun: x.folded:1: {what}, where \"outer;inner weight\" was expected")
    assert os.listdir(tmp_path) == ["x.folded"]


def test_render_draws_none_of_its_own_pictures(run, tmp_path):
    (tmp_path / "in.folded").write_text(STACKS)
    for kind in ("svg", "png", "pdf"):
        assert run("render", "in.folded", "-o", f"x.{kind}").returncode == 0
        (tmp_path / f"x.{kind}").rename(tmp_path / "other.folded")
        assert run("render", "other.folded").returncode == 125
    assert not (tmp_path / "flame.svg").exists()


def test_a_limit_on_memory_is_named(run, tmp_path):
    mib = 100
    result = run("-o", "x.svg", "--", "touch", "started",
                 preexec_fn=limit(resource.RLIMIT_AS, mib << 20))
    assert result.returncode == 125
    assert result.stderr.splitlines() == [
        "flamerun: cannot set up the channel to the program: Cannot allocate memory",
        f"flamerun: hint: ulimit -v allows no more than {mib << 10} KiB of memory"]
    assert os.listdir(tmp_path) == []
