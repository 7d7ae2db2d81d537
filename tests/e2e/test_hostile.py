# SPDX-License-Identifier: MIT
#
# Hostile inputs and environments: each gives a picture, or one clear message and its exit status.
import os
import pathlib
import re
import resource
import signal
import subprocess
import time

import pytest

import outside
from folded import Folded
from pprof import Profile
from profiled import compile_target

pytestmark = [pytest.mark.sanitized, pytest.mark.confined]

BURN = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3"
STACKS = "main;work 3\nmain;idle 1\n"


UNDER_LIMITS = pytest.mark.skipif("TEST_SANITIZED" in os.environ,
                                  reason="a sanitizer needs memory, descriptors, a process")


def limit(kind, amount):
    """For preexec_fn: set the soft and the hard limit of @kind to @amount."""
    return lambda: resource.setrlimit(kind, (amount, amount))


@UNDER_LIMITS
@pytest.mark.parametrize("words", [
    [],
    pytest.param(["--outside"], marks=pytest.mark.skipif(outside.IS_CONFINED,
                                                         reason="nobody may trace here")),
])
def test_a_little_stack(run, tmp_path, words):
    """Drawing and unwinding work although the program has a small stack limit."""
    result = run("-r", "997", "-o", "x.svg", "-o", "x.png", "-o", "x.pdf", "-o", "x.folded", *words,
                 "--", "sh", "-c", f"ulimit -s; {BURN}",
                 preexec_fn=limit(resource.RLIMIT_STACK, 64 << 10))
    assert (result.returncode, result.stdout) == (3, "64\n"), result.stderr
    assert (tmp_path / "x.svg").read_text().rstrip().endswith("</svg>")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF-")
    assert Folded((tmp_path / "x.folded").read_text()).total > 0


@UNDER_LIMITS
def test_a_little_stack_and_signals(flamerun, tmp_path):
    """
    Under a small stack limit flamerun draws in a thread that has a larger stack. Signals must still
    work.
    """
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
    (["-o", "x.svg", "-o", "x.png", "-o", "x.pdf", "-o", "x.folded", "-o", "x.pb.gz", "--",
      "sh", "-c", BURN], 3),
    (["-o", "/dev/full", "-o", "x.folded", "--", "sh", "-c", BURN], 3),
    (["--", "sh", "-c", "kill -9 $$"], -9),
    (["-d", "0.1", "--", "sleep", "0.2"], 0),
    (["--", "./none"], 127),
    (["render", "in.folded", "-o", "/dev/full"], 125),
    (["render", "in.folded", "-o", "y.png"], 0),
    (["render", "none.folded"], 125),
    pytest.param(["--outside", "--", "sh", "-c", BURN], 3, marks=pytest.mark.skipif(
        outside.IS_CONFINED, reason="nobody may trace here")),
    (["--wall", "--", "sleep", "0.2"], 0),
])
def test_nothing_is_left_among_temporary_files(run, tmp_path, words, status):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "in.folded").write_text(STACKS)
    result = run(*words, env=dict(os.environ, TMPDIR=str(tmp_path / "tmp")))
    assert result.returncode == status, result.stderr
    assert os.listdir(tmp_path / "tmp") == [], result.stderr


def test_a_run_without_samples_has_nothing_to_save(run, tmp_path):
    result = run("--start-paused", "-o", "/dev/full", "--", "true",
                 env=dict(os.environ, TMPDIR=str(tmp_path)))
    assert result.returncode == 0
    assert "No space left on device" in result.stderr
    assert "the stacks are in" not in result.stderr
    assert os.listdir(tmp_path) == []


@UNDER_LIMITS
@pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")
def test_few_open_files_from_outside(run, tmp_path):
    """The tracer needs few descriptors: with a limit of 14, stacks are complete and have names."""
    program = compile_target("split.c", tmp_path)
    result = run("-r", "200", "--outside", "-o", "x.folded", "--", program, "200",
                 preexec_fn=limit(resource.RLIMIT_NOFILE, 14))
    assert result.returncode == 0
    stacks = Folded((tmp_path / "x.folded").read_text())
    assert stacks.below("main") > 0.5 * stacks.total > 0, result.stderr


def test_a_program_that_lies_to_the_others(run, tmp_path):
    """
    Any program under flamerun can write to the shared arena. Random values there must not harm
    other programs.
    """
    liar = compile_target("liar.c", tmp_path)
    work = subprocess.run([liar, "work"], text=True, check=True, stdout=subprocess.PIPE).stdout
    result = run("-v", "-r", "997", "-o", "x.folded", "--", "sh", "-c", """
        "$0" lie > said & liar=$!
        until grep -q lying said; do kill -0 $liar || exit 98; sleep 0.01; done
        "$0" work && "$0" work && "$0" work; status=$?
        kill $liar; exit $status""", liar)
    assert (result.returncode, result.stdout) == (0, 3 * work), result.stderr
    # Even with made-up values no share may exceed 100 %. "off by" may, because it reports
    # inconsistent counters.
    for line in result.stderr.splitlines():
        assert all(float(part) <= 100 for part in re.findall(r"([\d.e+]+) %", line.split(", off by")[0])), line


def in_other_mounts(run, script, words, **options):
    """Run flamerun with @words after @script, which may mount file systems."""
    if not outside.IS_ROOT or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("no mounts here")
    flamerun = run("--version").args[0]
    return subprocess.run(["unshare", "-m", "sh", "-ec", f"{script}; exec \"$@\"", "sh", flamerun,
                           *words], text=True, timeout=60, stderr=subprocess.PIPE, check=False,
                          **options)


def test_where_stacks_are_saved_when_tmp_is_full(run, tmp_path, flamerun):
    if flamerun.startswith("/tmp/"):
        pytest.skip("it would be hidden")
    result = in_other_mounts(run, "mount -t tmpfs -o ro none /tmp",
                             ["-q", "-r", "997", "-o", "/dev/full", "--", "sh", "-c", BURN],
                             cwd=tmp_path,
                             env=dict(os.environ, TMPDIR="/none"))
    assert result.returncode == 3
    saved = pathlib.Path(re.search(r"the stacks are in '(/var/tmp/.*)'", result.stderr)[1])
    assert Profile(saved).folded()
    saved.unlink()


def test_without_dev_null(run, tmp_path):
    """If stdin is closed and there is no /dev/null to replace it, flamerun refuses to run."""
    result = in_other_mounts(run, "mount -t tmpfs none /dev; exec 0<&-", ["--", "true"],
                             cwd=tmp_path)
    assert result.returncode == 125
    assert result.stderr == "flamerun: cannot open '/dev/null': No such file or directory\n"


def test_a_reader_that_goes_away_gets_no_file(flamerun, tmp_path):
    """
    If stacks read from a pipe cannot be written, they are saved, except if the output's reader has
    ended.
    """
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
    (b"\x7fELF\2\1\1\0", "a program, library or core dump"),
    (b"2026-11-28 04:00:01 INFO served in 17\n", "a log"),
])
def test_render_knows_what_holds_no_stacks(run, tmp_path, beginning, what):
    (tmp_path / "x.folded").write_bytes(beginning)
    result = run("render", "x.folded", "-o", "y.svg")
    assert result.returncode == 125
    assert result.stderr.splitlines()[0] == (
        f"flamerun: 'x.folded' is {what}, which flamerun does not read")
    assert os.listdir(tmp_path) == ["x.folded"]


def test_render_takes_no_picture_for_stacks(run, tmp_path):
    """Only flamerun's own SVGs are read as stacks, whatever the names of the files are."""
    (tmp_path / "in.folded").write_text(STACKS)
    assert run("render", "in.folded", "-o", "other.svg").returncode == 0
    (tmp_path / "other.svg").rename(tmp_path / "other.folded")
    assert run("render", "other.folded", "-o", "again.folded").returncode == 0
    again = (tmp_path / "again.folded").read_text()
    assert sorted(again.splitlines()) == sorted(STACKS.splitlines())
    for kind in ("png", "pdf"):
        assert run("render", "in.folded", "-o", f"x.{kind}").returncode == 0
        (tmp_path / f"x.{kind}").rename(tmp_path / "other.folded")
        assert run("render", "other.folded").returncode == 125
    assert not (tmp_path / "flame.svg").exists()


@UNDER_LIMITS
def test_without_memory_to_share_it_is_sampled_from_outside(run, tmp_path):
    """
    The arena does not fit into the program's limit on address space. Sampling from outside needs no
    arena.
    """
    if outside.IS_CONFINED:
        pytest.skip("nobody may trace here")
    result = run("-r", "997", "-o", "x.folded", "--", "sh", "-c", f"ulimit -v; {BURN}",
                 preexec_fn=limit(resource.RLIMIT_AS, 300 << 20))
    assert (result.returncode, result.stdout) == (3, f"{300 << 10}\n")
    assert result.stderr.splitlines()[0] == (
        f"flamerun: 'sh' has no memory to share, {300 << 10} KiB by ulimit -v: it is sampled from "
        "outside")
    assert Folded((tmp_path / "x.folded").read_text()).total > 0


@UNDER_LIMITS
def test_a_small_limit_makes_a_small_pool(run, tmp_path):
    result = run("-v", "-r", "997", "-o", "x.folded", "--", "sh", "-c", f"ulimit -v; {BURN}",
                 preexec_fn=limit(resource.RLIMIT_AS, 600 << 20))
    assert (result.returncode, result.stdout) == (3, f"{600 << 10}\n")
    assert "from outside" not in result.stderr and " 0 dropped " in result.stderr
    assert Folded((tmp_path / "x.folded").read_text()).total > 0


def test_a_program_that_limits_its_own_memory(run):
    result = run("--", "sh", "-c", 'ulimit -v 300000; exec sh -c "$1"', "sh", BURN)
    assert result.returncode == 3
    assert re.search(r"^flamerun: 1 process had no room for flamerun's library: .*\(ulimit -v\)(;.*)?$",
                     result.stderr, re.M), result.stderr


@UNDER_LIMITS
def test_a_limit_on_processes_is_named(flamerun_of_all):
    user = {"user": 65534, "group": 65534, "extra_groups": []} if outside.IS_ROOT else {}
    result = subprocess.run([flamerun_of_all, "-o", "/dev/null", "--", "true"], text=True,
                            stderr=subprocess.PIPE, timeout=60, **user,
                            preexec_fn=limit(resource.RLIMIT_NPROC, 0))
    assert result.returncode == 125
    assert result.stderr == (
        "flamerun: cannot start a thread: Resource temporarily unavailable\n"
        "flamerun: hint: ulimit -u allows no more than 0 processes\n")


@UNDER_LIMITS
def test_a_limit_on_open_files_is_named(run, tmp_path):
    result = run("--", "touch", "started", preexec_fn=limit(resource.RLIMIT_NOFILE, 11))
    assert result.returncode == 125
    assert result.stderr == ("flamerun: cannot start a process: Too many open files\n"
                             "flamerun: hint: ulimit -n allows no more than 11 open files\n")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_gone(flamerun, tmp_path):
    """
    If the output's folder is missing before the run, flamerun refuses to run. If it disappears
    during the run, the stacks are saved in another folder.
    """
    (tmp_path / "tmp").mkdir()
    environment = dict(os.environ, TMPDIR=str(tmp_path / "tmp"))
    before, after = "rmdir ../gone; exec \"$@\" true", "exec \"$@\" sh -c \"rmdir ../gone; $0\""
    results = []
    for script in (before, after):
        (tmp_path / "gone").mkdir()
        results.append(subprocess.run(["sh", "-c", script, BURN, flamerun, "-q", "-r", "997"],
                                      text=True, cwd=tmp_path / "gone", env=environment, timeout=60,
                                      stderr=subprocess.PIPE))
    assert [result.returncode for result in results] == [125, 3]
    for result in results:
        assert result.stderr.startswith(
            "flamerun: cannot write 'flame.svg': No such file or directory\n")
    assert results[0].stderr.endswith("hint: -o names another place: -o /tmp/flame.svg\n")
    saved, = os.listdir(tmp_path / "tmp")
    assert f"the stacks are in '{tmp_path}/tmp/{saved}'\n" in results[1].stderr


@pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")
def test_attached_to_what_does_little(run):
    def said(pid, *words):
        result = run("-p", pid, "-d", "0.3", "-o", "/dev/null", *words)
        assert result.returncode == 0
        return re.findall(r"^flamerun: hint: (.*)$", result.stderr, re.M)

    with outside.running("sleep", "60") as process:
        outside.wait_until(lambda: outside.state_of(process.pid) == "S")
        assert not said(process.pid) and not said(process.pid, "--wall")
        hint, = said(process.pid, "--no-waits")
        assert hint.endswith("what it waited for was not read")
        process.send_signal(signal.SIGSTOP)
        outside.wait_until(lambda: outside.state_of(process.pid) == "T")
        hint, = said(process.pid)
        assert hint == "it is stopped, as by Ctrl-Z: kill -CONT resumes it"
        assert outside.state_of(process.pid) == "T"
    with outside.running("sh", "-c", "while :; do :; done") as process:
        for _ in range(20):  # On a busy machine the process may get almost no CPU time.
            hints = said(process.pid, "-r", "5")
            if any("sample it for longer" in hint for hint in hints):
                break
        assert "sample it for longer, or more often: -r 997" in hints[-1]
