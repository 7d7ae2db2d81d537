# SPDX-License-Identifier: MIT
#
# Files that are replaced or deleted while they run: the names must be those of the code that ran.
import re
import shutil
import subprocess

import pytest

import outside
from profiled import PLAIN, compile_target, profile

BUILD_IDS = ["sha1", "none"]


def library(folder, name, function, build_id):
    return compile_target("dlturns_library.c", folder, (
        *PLAIN, "-shared", "-fPIC", f"-Wl,--build-id={build_id}", f"-DFUNCTION={function}"), name)


@pytest.fixture(params=BUILD_IDS)
def files(request, tmp_path):
    """(program, library, kind of build-id), in a folder of the test's own."""
    program = compile_target("replaces.c", tmp_path, (*PLAIN, f"-Wl,--build-id={request.param}"))
    return program, library(tmp_path, "plugin.so", "turn", request.param), request.param


def frames(run):
    return {frame for stack, _ in run.folded.stacks for frame in stack}


def test_a_plugin(tmp_path, files):
    """
    flamerun opens a library's file at its first sample, so the names are right even if the file is
    replaced later.
    """
    program, plugin, build_id = files
    new = library(tmp_path, "new.so", "newcomer", build_id)
    run = profile(tmp_path, program, plugin, plugin, new)
    assert run.status == 0
    assert "newcomer" not in frames(run)
    assert run.folded.below("turn") > 0.9 * run.folded.total, run.folded.describe()
    assert run.folded.below("main") > 0.9 * run.folded.total
    assert "replaced" not in run.stderr


def test_the_program(tmp_path, files):
    program, plugin, build_id = files
    new = compile_target("recursion.c", tmp_path, (*PLAIN, f"-Wl,--build-id={build_id}"))
    run = profile(tmp_path, program, plugin, program, new)
    assert run.status == 0
    assert run.folded.below("main") > 0.9 * run.folded.total, run.folded.describe()
    assert run.folded.below("turn") > 0.9 * run.folded.total, run.folded.describe()
    assert "replaced" not in run.stderr


def test_a_library_deleted(tmp_path, files):
    program, plugin, _ = files
    run = profile(tmp_path, program, plugin, plugin)
    assert run.status == 0
    assert run.folded.below("turn") > 0.9 * run.folded.total, run.folded.describe()


def test_a_file_that_is_written_over(tmp_path, files):
    """The open file no longer contains the code that ran, so its functions must have no names."""
    program, plugin, build_id = files
    new = library(tmp_path, "new.so", "newcomer", build_id)
    run = profile(tmp_path, "sh", "-c", f"'{program}' '{plugin}' '{tmp_path}/x'; cp '{new}' '{plugin}'")
    assert "newcomer" not in frames(run) and "turn" not in frames(run)
    replaced = run.folded.below("[replaced: plugin.so]")
    assert replaced > 0.8 * run.folded.total, run.folded.describe()
    told = re.search(r"(\d+) samples are in 'plugin.so', which was replaced during the run", run.stderr)
    assert told and int(told.group(1)) == replaced, run.stderr
    assert "hint" not in run.stderr


def assert_split(run):
    below = run.folded.below("light") + run.folded.below("heavy")
    due = run.truth_s * run.rate_hz
    assert below >= .7 * due, run.folded.describe() + run.stderr
    assert "not there any more" not in run.stderr


def test_a_program_that_is_deleted_when_it_has_run(tmp_path, files):
    program = compile_target("split.c", tmp_path, (*PLAIN, f"-Wl,--build-id={files[2]}"))
    run = profile(tmp_path, "sh", "-c", f"'{program}' 500; rm '{program}'")
    assert_split(run)


def test_a_program_without_a_name(tmp_path):
    program = compile_target("split.c", tmp_path)
    script = ("import os, sys\n"
              "fd = os.memfd_create('code', 0)\n"
              "os.write(fd, open(sys.argv[1], 'rb').read())\n"
              "os.execve(f'/proc/self/fd/{fd}', ['split', '500'], os.environ)\n")
    run = profile(tmp_path, "/usr/bin/python3", "-c", script, program)
    assert_split(run)


@pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")
@pytest.mark.skipif(not shutil.which("bwrap"), reason="no bubblewrap")
def test_a_program_in_a_mount_namespace(tmp_path):
    """The program's path exists only in the mount namespace in which it runs."""
    compile_target("split.c", tmp_path)
    inside = ["bwrap", "--ro-bind", "/", "/", "--tmpfs", "/run", "--ro-bind", tmp_path, "/run/in",
              "--unshare-user-try", "--unshare-pid", "--proc", "/proc"]
    if subprocess.run([*inside, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no namespaces here")
    assert_split(profile(tmp_path, *inside, "/run/in/split", "1000"))


@pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")
@pytest.mark.parametrize("name, words, function", [
    ("mapped.c", "900 map", "told_work"), ("jitdump.c", "/tmp 600", "early")])
def test_code_of_a_process_in_a_container(tmp_path, name, words, function):
    """The container has another /tmp, and the file's name contains the pid inside the container."""
    inside = ["unshare", "--pid", "--mount", "--fork", "--mount-proc", "sh", "-c"]
    if subprocess.run([*inside, "mount -t tmpfs none /tmp"], check=False,
                      stderr=subprocess.DEVNULL).returncode:
        pytest.skip("nothing can be mounted here")
    program = compile_target(name, tmp_path)
    run = profile(tmp_path, *inside,
                  "mount -t tmpfs none /mnt && cp $0 /mnt/own && mount -t tmpfs none /tmp && "
                  f"/mnt/own {words} && umount /tmp", program)
    assert run.status == 0, run.stderr
    share = run.folded.below(function) / run.folded.where(lambda stack: stack[0] == "own")
    assert share == pytest.approx(1 / 3 if name == "mapped.c" else 1 / 2, abs=.15), (
        run.folded.describe() + run.stderr)


@pytest.mark.parametrize("before", [[], ["unshare", "-m"]], ids=["ours", "another"])
def test_a_mount_can_be_unmounted(tmp_path, before):
    """flamerun must not keep a file open that would make the mount busy."""
    (tmp_path / "mnt").mkdir()
    mounts = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none '{tmp_path}/mnt'"]
    if subprocess.run(mounts, check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("nothing can be mounted here")
    program = compile_target("split.c", tmp_path)
    script = ("mount -t tmpfs none mnt && cp $0 mnt/own && mnt/own 500; "
              "umount mnt; status=$?; umount -l mnt 2>/dev/null; exit $status")
    run = profile(tmp_path, *before, "sh", "-c", f"cd '{tmp_path}'; {script}", program)
    assert run.status == 0, run.stderr
    if before:
        assert_split(run)


def test_a_file_made_during_the_run_is_believed(tmp_path, files):
    """A file that is newer than the run but older than its first sample is used."""
    program, plugin, _ = files
    other = tmp_path / "other"
    plugin.rename(other)
    run = profile(tmp_path, "sh", "-c",
                  f"cp '{other}' '{plugin}'; : > '{tmp_path}/x'; '{program}' '{plugin}' '{tmp_path}/x'")
    assert run.status == 0
    assert run.folded.below("turn") > 0.8 * run.folded.total, run.folded.describe()
    assert "replaced" not in run.stderr
