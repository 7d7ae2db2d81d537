# SPDX-License-Identifier: MIT
#
# Output files are checked before the program starts and replaced at the end. No temporary files are
# left.
import os
import resource
import signal
import stat
import subprocess
import time

import pytest

from terminal import wait_until_it_reads

pytestmark = [pytest.mark.sanitized, pytest.mark.confined]

STACKS = "main;work 3\nmain;idle 1\n"


@pytest.fixture
def as_user(tmp_path):
    """
    Options for a subprocess that respects file modes: if the tests run as root, it becomes another
    user, who owns tmp_path.
    """
    if os.geteuid():
        return {}
    os.chown(tmp_path, 65534, 65534)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and folder.stat().st_mode & 0o077 == 0:
            folder.chmod(0o711)
    return {"user": 65534, "group": 65534, "extra_groups": [],
            "env": dict(os.environ, HOME=str(tmp_path))}


def test_a_refused_output_is_refused_before_the_program_starts(run, tmp_path):
    (tmp_path / "folder.svg").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "fifo.svg")
    for path, why in (("none/x.svg", "No such file or directory"), ("folder.svg", "Is a directory"),
                      ("file/x.svg", "Not a directory"), ("fifo.svg", "nobody reads from it")):
        result = run("-o", "good.svg", "-o", path, "--", "touch", "started")
        assert result.returncode == 125
        assert result.stderr.splitlines()[0] == f"flamerun: cannot write '{path}': {why}"
    result = run("-o", "x.svg", "-o", "x.svg", "--", "touch", "started")
    assert result.returncode == 125
    assert not (tmp_path / "started").exists()
    assert not (tmp_path / "good.svg").exists()


def test_a_folder_without_permission(run, tmp_path, as_user, flamerun):
    if as_user and not os.access(flamerun, os.X_OK, effective_ids=True):
        pytest.skip("the other user cannot reach flamerun")
    (tmp_path / "closed").mkdir(mode=0o555)
    try:
        result = run("-o", "closed/x.svg", "--", "touch", "started", **as_user)
    except PermissionError:
        pytest.skip("the other user cannot reach flamerun")
    assert result.returncode == 125
    assert result.stderr == ("flamerun: cannot write 'closed/x.svg': Permission denied\n"
                             "flamerun: hint: -o names another place: -o /tmp/x.svg\n")
    assert not (tmp_path / "started").exists()


def test_the_program_sees_no_file_of_ours(run):
    result = run("-o", "x.svg", "-o", "y.png", "--", "ls", "-A")
    assert result.stdout == ""


def test_an_existing_file_is_replaced_whole(run, tmp_path):
    old = tmp_path / "x.svg"
    old.write_text("old")
    old.chmod(0o604)
    with open(old, encoding="ascii") as held:
        assert run("-q", "-o", "x.svg", "--", "cat", "x.svg").stdout == "old"
        assert held.read() == "old"
    assert old.read_text().startswith("<?xml") or old.read_text().startswith("<svg")
    assert stat.S_IMODE(old.stat().st_mode) == 0o604


def test_links_and_the_umask(run, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link.svg").symlink_to("there/target.svg")
    run("-q", "-o", "link.svg", "--", "true", umask=0o027)
    assert (tmp_path / "link.svg").is_symlink()
    assert stat.S_IMODE((tmp_path / "there/target.svg").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes links of somebody else's")
def test_a_link_that_another_user_laid(run, tmp_path):
    """
    A link of another user in a sticky folder is refused, whatever fs.protected_symlinks is: before
    the program starts and when the picture is written.
    """
    shared, victim = tmp_path / "shared", tmp_path / "victim.svg"
    shared.mkdir()
    shared.chmod(0o1777)
    victim.write_text("old")
    os.symlink("../victim.svg", shared / "x.svg")
    os.symlink("..", shared / "folder")
    for link in ("x.svg", "folder"):
        os.chown(shared / link, 65534, 65534, follow_symlinks=False)
    for path in ("shared/x.svg", "shared/folder/victim.svg"):
        result = run("-o", path, "--", "touch", "started")
        assert result.returncode == 125
        assert result.stderr.splitlines()[0] == (
            f"flamerun: cannot write '{path}': another user laid the link or file into a folder "
            "that all may write to")
    assert not (tmp_path / "started").exists()
    lay = "import os; os.rename('shared/x.svg', 'shared/y.svg')"
    result = run("-o", "shared/y.svg", "--", "/usr/bin/python3", "-c", lay)
    assert result.returncode == 0
    assert "cannot write 'shared/y.svg': another user" in result.stderr
    assert victim.read_text() == "old"
    os.chown(shared / "y.svg", 0, 0, follow_symlinks=False)
    assert run("-q", "-o", "shared/y.svg", "--", "true").returncode == 0
    assert victim.read_text().rstrip().endswith("</svg>")


def test_a_failed_start_leaves_the_old_file(run, tmp_path):
    (tmp_path / "x.svg").write_text("old")
    assert run("-o", "x.svg", "--", "./none").returncode == 127
    assert (tmp_path / "x.svg").read_text() == "old"


def test_a_full_disk_leaves_the_old_file(run, tmp_path):
    """A limit on file sizes stands in for a full disk. SIGXFSZ must not kill flamerun."""
    (tmp_path / "in.folded").write_text("".join(f"main;f{i} 1\n" for i in range(500)))
    (tmp_path / "x.svg").write_text("old")
    result = run("render", "in.folded", "-o", "x.svg", "-o", "y.folded",
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
    assert result.returncode == 125
    assert "flamerun: cannot write 'x.svg': File too large\n" in result.stderr
    assert (tmp_path / "x.svg").read_text() == "old"
    assert (tmp_path / "y.folded").exists(), "the other output is written"
    assert sorted(os.listdir(tmp_path)) == ["in.folded", "x.svg", "y.folded"]


def test_devices_and_pipes_are_written_in_place(run, tmp_path):
    (tmp_path / "in.folded").write_text(STACKS)
    assert run("render", "in.folded", "-o", "/dev/null").returncode == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert run("-q", "render", "in.folded", "-o", "/dev/stdout").stdout.rstrip().endswith("</svg>")
    (tmp_path / "x.folded").symlink_to("/dev/full")
    assert "No space left on device" in run("render", "in.folded", "-o", "x.folded").stderr
    os.mkfifo(tmp_path / "fifo.folded")
    with subprocess.Popen(["cat", "fifo.folded"], cwd=tmp_path, stdout=subprocess.PIPE,
                          text=True) as reader:
        deadline = time.monotonic() + 60
        while run("-q", "render", "in.folded", "-o", "fifo.folded").returncode:
            assert time.monotonic() < deadline  # cat has not opened the file yet
            time.sleep(0.01)
        assert sorted(reader.stdout.read().splitlines()) == sorted(STACKS.splitlines())


def test_an_interrupted_render_leaves_nothing(flamerun, tmp_path):
    with subprocess.Popen([flamerun, "render", "-", "-o", "x.svg"], cwd=tmp_path,
                          stdin=subprocess.PIPE) as process:
        wait_until_it_reads(process.pid, flamerun)
        assert os.listdir(tmp_path) == []
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT
    assert os.listdir(tmp_path) == []


def test_a_closed_stdout_does_not_end_the_run(flamerun, tmp_path):
    """If the reader of stdout and stderr ends, the picture is still written."""
    with subprocess.Popen([flamerun, "--", "sh", "-c", "sleep 0.3; exit 3"], cwd=tmp_path,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        process.stderr.close()
        assert process.wait(60) == 3
    assert (tmp_path / "flame.svg").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts are root's")
def test_a_small_disk(run, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", small]).returncode:
        pytest.skip("no mounts here")
    try:
        (small / "x.svg").write_text("old")
        result = run("-o", "small/x.svg", "-o", "good.svg", "--", "sh", "-c", "exit 3")
        assert result.returncode == 3
        assert "flamerun: cannot write 'small/x.svg': No space left on device\n" in result.stderr
        assert (small / "x.svg").read_text() == "old"
        assert os.listdir(small) == ["x.svg"]
        assert (tmp_path / "good.svg").exists()
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts are root's")
def test_a_mounted_file_is_overwritten(run, tmp_path):
    """
    The output is a mount point, as in a container that shares one file: rename() cannot replace it.
    """
    shared = tmp_path / "shared.svg"
    shared.write_text("old")
    (tmp_path / "x.svg").touch()
    if subprocess.run(["mount", "--bind", shared, tmp_path / "x.svg"]).returncode:
        pytest.skip("no mounts here")
    try:
        assert run("-q", "-o", "x.svg", "--", "true").returncode == 0
    finally:
        subprocess.run(["umount", tmp_path / "x.svg"], check=True)
    assert shared.read_text().rstrip().endswith("</svg>")
    assert sorted(os.listdir(tmp_path)) == ["shared.svg", "x.svg"]
