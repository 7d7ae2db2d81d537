# SPDX-License-Identifier: MIT
#
# Names of outputs: placeholders, standard output, names without a known format, and the folder for
# outputs that could not be written.
import os
import pathlib
import re
import socket
import stat
import subprocess
import time

import pytest

from folded import Folded
from pprof import Profile

pytestmark = [pytest.mark.sanitized, pytest.mark.confined]

STACKS = "main;work 3\nmain;idle 1\n"
MAGIC = {"svg": b"<?xml", "png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-", "folded": b"main;"}


@pytest.fixture
def stacks(tmp_path):
    (tmp_path / "in").write_text(STACKS)
    return "in"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_childs_pid(run, tmp_path):
    result = run("-o", "a-%p.folded", "-o", "b.svg", "--", "sh", "-c", "echo $$; ls -A")
    assert result.returncode == 0
    pid = result.stdout.strip()
    assert pid.isdigit(), "the program saw no file of ours"
    assert names(tmp_path) == [f"a-{pid}.folded", "b.svg"]
    assert f"flamerun: wrote 'a-{pid}.folded'\n" in result.stderr


def test_host_time_and_variables(run, tmp_path, stacks):
    before = time.time()
    result = run("-q", "render", stacks, "-o", "%h_%t_%{X}%%.svg",
                 env=dict(os.environ, TZ="ZONE-5", X="../a/b"))
    assert (result.returncode, result.stderr) == (0, "")
    name = [name for name in names(tmp_path) if name != "in"][0]
    host, when, rest = re.fullmatch(r"(.*)_(\d{8}-\d{6})_(.*)", name).groups()
    assert host == socket.gethostname()
    assert rest == ".._a_b%.svg"
    there = time.gmtime(before + 5 * 3600)
    assert abs(time.mktime(time.strptime(when, "%Y%m%d-%H%M%S")) - time.mktime(there)) < 60


@pytest.mark.parametrize("name, message", [
    ("a-%q.svg", "'%q' means nothing in the name of an output"),
    ("a-%{NONE_SUCH}.svg", "'NONE_SUCH' is not set in the environment"),
    ("%p/a.svg", "'%p/a.svg': %p can stand in the file's name only"),
    ("none/%p.svg", "cannot write 'none/%p.svg': No such file or directory"),
])
def test_what_a_name_cannot_be_is_refused_before_the_program_starts(run, tmp_path, name, message):
    result = run("-o", name, "--", "touch", "started")
    assert result.returncode == 125
    assert result.stderr.splitlines()[0] == f"flamerun: {message}"
    assert names(tmp_path) == []


def test_render_has_no_pid(run, tmp_path, stacks):
    result = run("render", stacks, "-o", "a-%p.svg")
    assert result.returncode == 125
    assert result.stderr == "flamerun: there is no program, and no pid for %p\n"


def test_a_name_the_program_made_a_folder_of(run, tmp_path):
    """
    A name with %p is known only after the program has started, so its errors are reported at the
    end.
    """
    result = run("-o", "a-%p.svg", "--", "sh", "-c", 'mkdir "a-$$.svg"; ' + BUSY,
                 env=dict(os.environ, TMPDIR=str(tmp_path)))
    assert result.returncode == 3
    assert re.search(r"cannot write 'a-\d+\.svg': Is a directory\n", result.stderr)
    assert len(list(tmp_path.glob("flamerun-*.pb.gz"))) == 1


@pytest.mark.parametrize("name", MAGIC)
def test_standard_output(flamerun, tmp_path, stacks, name):
    result = subprocess.run([flamerun, "render", stacks, "-o", "-", "--format", name], cwd=tmp_path,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert result.returncode == 0
    assert result.stdout.startswith(MAGIC[name])
    assert b"wrote" not in result.stderr
    assert names(tmp_path) == ["in"]


def test_standard_output_needs_a_format(run, stacks):
    result = run("render", stacks, "-o", "-")
    assert (result.returncode, result.stdout) == (125, "")
    assert "cannot tell the format of '-' by its name\n" in result.stderr


def test_standard_output_is_the_programs(run, tmp_path):
    result = run("-o", "-", "--format", "svg", "--", "touch", "started")
    assert (result.returncode, result.stdout) == (125, "")
    assert "'-o -' would mix the picture with what the program writes" in result.stderr
    assert names(tmp_path) == []


def test_the_ways_out_that_the_hint_names(flamerun, tmp_path):
    """A shell runs each command that the hint names."""
    own = subprocess.run(["sh", "-c", '"$0" -q -o /dev/fd/3 -- echo printed 3>&1 1>&2', flamerun],
                         cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert own.stdout.rstrip().endswith("</svg>") and "printed" not in own.stdout.splitlines()
    assert own.stderr == "printed\n"
    silent = subprocess.run([flamerun, "-q", "-o", "/dev/stdout", "--", "true"], cwd=tmp_path,
                            capture_output=True, text=True, timeout=60)
    assert silent.stdout.rstrip().endswith("</svg>")


@pytest.mark.parametrize("name", MAGIC)
def test_a_format_for_names_that_tell_none(run, tmp_path, stacks, name):
    result = run("render", stacks, "-o", "plain", "-o", "x.folded", "--format", name)
    assert result.returncode == 0
    assert (tmp_path / "plain").read_bytes().startswith(MAGIC[name])
    assert (tmp_path / "x.folded").read_bytes().startswith(MAGIC["folded"])


@pytest.fixture
def full(tmp_path):
    """An output on a full disk."""
    (tmp_path / "full.svg").symlink_to("/dev/full")
    return "full.svg"


def saved_in(result):
    match = re.search(r"^flamerun: the stacks are in '(.*)'$", result.stderr, re.M)
    assert match, result.stderr
    return pathlib.Path(match[1])


BUSY = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3"


def test_what_cannot_be_written_is_saved(run, tmp_path, full):
    (tmp_path / "tmp").mkdir()
    result = run("-q", "-o", full, "--", "sh", "-c", BUSY,
                 env=dict(os.environ, TMPDIR=str(tmp_path / "tmp")))
    assert result.returncode == 3
    saved = saved_in(result)
    assert saved.parent == tmp_path / "tmp"
    assert re.fullmatch(r"flamerun-\w{6}\.pb\.gz", saved.name)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert f"flamerun: hint: to draw them: flamerun render '{saved}' -o FILE\n" in result.stderr
    assert names(tmp_path) == ["full.svg", "tmp"]
    assert run("-q", "render", saved, "-o", "again.folded").returncode == 0
    assert Folded((tmp_path / "again.folded").read_text()).total > 3


def test_what_is_saved_has_waits_apart(run, tmp_path, full):
    result = run("-q", "-o", full, "--", "sh", "-c", f"sleep .5; {BUSY}",
                 env=dict(os.environ, TMPDIR=str(tmp_path)))
    saved = saved_in(result)
    assert run("-q", "render", saved, "-o", "busy.folded").returncode == 0
    assert run("-q", "render", saved, "--wall", "-o", "both.folded").returncode == 0
    busy, both = (Folded((tmp_path / f"{name}.folded").read_text()) for name in ("busy", "both"))
    assert busy.total > 3 and busy.self("[clock_nanosleep]") == busy.self("[wait4]") == 0
    assert both.self("[clock_nanosleep]") > 50 and both.self("[wait4]") > 50, both.describe()


def test_saved_in_tmp_when_tmpdir_does_not_work(run, tmp_path, full):
    for broken in (str(tmp_path / "none"), ""):
        result = run("-q", "-o", full, "--", "sh", "-c", BUSY,
                     env=dict(os.environ, TMPDIR=broken))
        saved = saved_in(result)
        saved.unlink()
        assert saved.parent == pathlib.Path("/tmp")


def test_what_is_filtered_out_is_saved_too(run, tmp_path, full):
    result = run("-q", "-o", full, "--hide", ".", "--", "sh", "-c", BUSY,
                 env=dict(os.environ, TMPDIR=str(tmp_path)))
    assert Profile(saved_in(result)).folded()


def test_nothing_is_saved_that_is_written_already(run, tmp_path, full):
    result = run("-o", full, "-o", "y.folded", "--", "true",
                 env=dict(os.environ, TMPDIR=str(tmp_path)))
    assert "cannot write 'full.svg': No space left on device\n" in result.stderr
    assert names(tmp_path) == ["full.svg", "y.folded"]


def test_render_saves_what_came_through_a_pipe(run, tmp_path, stacks, full):
    environment = dict(os.environ, TMPDIR=str(tmp_path))
    result = run("render", stacks, "-o", full, env=environment)
    assert result.returncode == 125
    assert names(tmp_path) == ["full.svg", "in"], "the input is there"
    with open(tmp_path / stacks, encoding="ascii") as stdin:
        result = run("render", "-", "-o", full, env=environment, stdin=stdin)
    assert result.returncode == 125
    assert {f"{';'.join(stack)} {n}" for stack, n in Profile(saved_in(result)).folded().items()} == \
        set(STACKS.splitlines())


@pytest.mark.parametrize("kind", ["folded", "pb.gz"])
def test_render_reads_a_pipe_by_its_name(flamerun, run, tmp_path, stacks, kind):
    """Read stacks from a pipe, as in `flamerun render <(zcat stacks.gz)`."""
    assert run("-q", "render", stacks, "-o", f"x.{kind}").returncode == 0
    command = [flamerun, "-q", "render", "/dev/stdin", "-o", "y.folded"]
    result = subprocess.run(command, cwd=tmp_path, input=(tmp_path / f"x.{kind}").read_bytes(),
                            stderr=subprocess.PIPE)
    assert result.returncode == 0, result.stderr
    assert sorted((tmp_path / "y.folded").read_text().splitlines()) == sorted(STACKS.splitlines())


def test_a_disk_that_is_full_everywhere(run, tmp_path):
    """
    flamerun's limit on file sizes becomes 0, so neither the output nor saved stacks can be written
    anywhere.
    """
    result = run("-q", "-o", "x.folded", "--", "sh", "-c",
                 "prlimit --pid $PPID --fsize=0:; " + BUSY,
                 env=dict(os.environ, TMPDIR=str(tmp_path)))
    assert result.returncode == 3
    assert "flamerun: cannot write 'x.folded': File too large\n" in result.stderr
    assert ("flamerun: cannot save the stacks either, not even in '/dev/shm': File too large\n"
            in result.stderr)
    assert names(tmp_path) == []


def test_an_empty_file_is_an_empty_picture(run, tmp_path):
    (tmp_path / "empty").touch()
    result = run("render", "empty", "-o", "x.svg")
    assert result.returncode == 0
    assert "flamerun: 'empty' is empty: nothing is in the picture\n" in result.stderr
    assert (tmp_path / "x.svg").read_text().rstrip().endswith("</svg>")
    # The stacks that flamerun writes without any sample can also be drawn.
    run("-q", "-o", "none.folded", "--", "true")
    assert run("render", "none.folded", "-o", "y.png").returncode == 0


def test_the_title_is_one_line_of_whole_characters(run, tmp_path):
    result = run("-o", "a.svg", "--", "sh", "-c", ": one\n: tw", "ä" * 80)
    assert result.returncode == 0
    text = (tmp_path / "a.svg").read_text("utf-8")
    title = re.search(r'id="flamerun-title">([^<]+)<', text)[1]
    assert title == "sh -c : one : tw " + "ä" * 69 + "..."
