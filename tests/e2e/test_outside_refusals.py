# SPDX-License-Identifier: MIT
#
# flamerun -p for processes that it may not or cannot sample: the message names the rule and a way
# to allow it, and the exit status is 125.
import os
import pathlib
import platform
import struct
import subprocess

import pytest

import outside

pytestmark = [pytest.mark.sanitized, pytest.mark.confined]


def refuse(tmp_path, pids, *command, flamerun=outside.FLAMERUN):
    result = subprocess.run([*command, str(flamerun), "-p", str(pids), "-d", "1", "-o",
                             "/dev/null", "--format", "folded"], capture_output=True, text=True,
                            check=False, timeout=60, cwd=tmp_path)
    assert result.returncode == 125, result.stderr
    first, hint = result.stderr.splitlines()
    assert hint.startswith("flamerun: hint: ")
    return first, hint


@pytest.fixture
def sleeper():
    with outside.running("sleep", "600") as process:
        outside.wait_until(lambda: "sleep" in pathlib.Path(
            f"/proc/{process.pid}/comm").read_text())
        yield process


def test_no_such_process(tmp_path):
    first, _ = refuse(tmp_path, 4000000)
    assert first == "flamerun: there is no process 4000000"


@pytest.mark.parametrize("word", ["x", "0", "-1", "12,", "1 2", "99999999999999", ""])
def test_no_list_of_processes(tmp_path, word):
    result = subprocess.run([outside.FLAMERUN, f"--pid={word}", "-o", tmp_path / "x.svg"],
                            capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 125
    assert "is no list of process numbers" in result.stderr
    assert not (tmp_path / "x.svg").exists()


def test_a_program_besides(tmp_path, sleeper):
    result = subprocess.run([outside.FLAMERUN, "-p", str(sleeper.pid), "-o", tmp_path / "x.svg",
                             "--", "true"], capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 125
    assert "'true' would be started" in result.stderr


def test_a_thread(tmp_path):
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()"
    with outside.running("python3", "-c", code) as process:
        tasks = pathlib.Path(f"/proc/{process.pid}/task")
        outside.wait_until(lambda: len(list(tasks.iterdir())) == 2)
        tid = next(int(task.name) for task in tasks.iterdir() if int(task.name) != process.pid)
        first, hint = refuse(tmp_path, tid)
    assert f"is a thread of process {process.pid}" in first
    assert f"-p {process.pid} " in hint


def test_a_zombie(tmp_path):
    with outside.running("sh", "-c", "sleep 0.01 & exec sleep 600") as process:
        def child():
            return pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        outside.wait_until(lambda: child() and outside.state_of(int(child())) == "Z")
        first, hint = refuse(tmp_path, int(child()))
    assert "has ended" in first and f"process {process.pid}" in hint


@pytest.mark.skipif(not outside.IS_ROOT or not pathlib.Path("/proc/2/comm").exists() or
                    pathlib.Path("/proc/2/comm").read_text() != "kthreadd\n",
                    reason="no thread of the kernel to be seen")
def test_a_thread_of_the_kernel(tmp_path):
    first, _ = refuse(tmp_path, 2)
    assert "is a thread of the kernel" in first


@pytest.mark.skipif(not outside.IS_CONFINED, reason="for a container that forbids it")
def test_a_container_that_forbids_it(tmp_path, sleeper):
    first, hint = refuse(tmp_path, sleeper.pid)
    assert "does not let us trace" in first and "--cap-add=SYS_PTRACE" in hint


@pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")
def test_traced_already(tmp_path, sleeper):
    flamerun = outside.background(tmp_path, sleeper.pid)
    first, _ = refuse(tmp_path, sleeper.pid)
    tracer = outside.tracer_of(sleeper.pid)
    assert f"is traced already, by process {tracer} (flamerun)" in first
    outside.end(flamerun)
    assert outside.attach(tmp_path, sleeper.pid, seconds=0.1).status == 0


@pytest.mark.skipif(not outside.IS_ROOT, reason="needs two users")
def test_another_users_process(flamerun_of_all, sleeper):
    first, hint = refuse("/", sleeper.pid, *outside.as_nobody(), flamerun=flamerun_of_all)
    assert "belongs to root" in first and "as root" in hint


@pytest.mark.skipif(not outside.IS_ROOT, reason="needs another user")
def test_a_process_that_keeps_to_itself(flamerun_of_all):
    code = ("import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print(flush=True);"
            "time.sleep(60)")
    with outside.running(*outside.as_nobody("/usr/bin/python3", "-c", code)) as process:
        process.stdout.readline()
        first, hint = refuse("/", process.pid, *outside.as_nobody(), flamerun=flamerun_of_all)
    assert "keeps its memory to itself" in first and "root" in hint


@pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")
def test_a_debugger_is_named(tmp_path, sleeper):
    if not outside.FLAMERUN.exists() or subprocess.run(
            ["which", "gdb"], stdout=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("no gdb here")
    gdb = subprocess.Popen(["gdb", "-q", "-nx", "-batch", "-p", str(sleeper.pid), "-ex",
                            "shell sleep 60"], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        outside.wait_until(lambda: outside.tracer_of(sleeper.pid) > 0)
        first, _ = refuse(tmp_path, sleeper.pid)
    finally:
        gdb.kill()
        gdb.wait()
    assert "(gdb)" in first
    assert os.path.exists(f"/proc/{sleeper.pid}")


def namespaces(*options):
    """The words of unshare with @options. Skips the test if such namespaces are forbidden."""
    command = ["unshare", *options]
    if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("no such namespaces here")
    return command


@pytest.mark.skipif(not outside.IS_ROOT, reason="needs another user")
def test_from_inside_a_user_namespace(flamerun_of_all):
    """
    Root of a user namespace may not trace a process of the same user that is outside the namespace.
    """
    inside = outside.as_nobody(*namespaces("-U", "-r"))
    with outside.running(*outside.as_nobody("sleep", "600")) as process:
        outside.wait_until(lambda: "sleep" in pathlib.Path(
            f"/proc/{process.pid}/comm").read_text())
        first, hint = refuse("/", process.pid, *inside, flamerun=flamerun_of_all)
    assert "is in another user namespace" in first and "as root of the machine" in hint


@pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")
def test_a_container_from_the_outside(tmp_path):
    """A container's process has another pid inside the container. -p needs the outer pid."""
    program = outside.profiled.compile_target("split.c", tmp_path)
    with outside.running(*namespaces("-p", "-f", "--mount-proc"), program, "600000") as container:
        def child():
            return pathlib.Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text()
        outside.wait_until(child)
        pid = int(child())
        outside.work(pid, 0.05)
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        assert status.split("NSpid:")[1].split()[1] == "1"
        run = outside.attach(tmp_path, pid, "-r", "250", seconds=1)
        assert run.status == 0 and run.folded.below("heavy") > 0
        os.kill(pid, 9)


def test_a_number_of_the_outside_in_a_container(tmp_path, sleeper):
    first, hint = refuse(tmp_path, sleeper.pid, *namespaces("-p", "-f", "--mount-proc"))
    assert first == f"flamerun: there is no process {sleeper.pid}"
    assert "inside a container" in hint


# 32-bit x86: pause() for ever.
PAUSE = bytes([0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a program of this CPU's 32 bits")
def test_a_32_bit_program(tmp_path):
    program = tmp_path / "pause32"
    base, start = 0x08048000, 52 + 32
    program.write_bytes(
        struct.pack("<4s5B7xHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, 0, 0, 2, 3, 1, base + start, 52, 0,
                    0, 52, 32, 1, 0, 0, 0) +
        struct.pack("<8I", 1, 0, base, base, start + len(PAUSE), start + len(PAUSE), 5, 4096) +
        PAUSE)
    program.chmod(0o755)
    try:
        process = subprocess.Popen([program])
    except OSError:
        pytest.skip("the kernel runs no 32-bit programs")
    try:
        first, hint = refuse(tmp_path, process.pid)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    assert "is a 32-bit program" in first and "perf record" in hint


@pytest.mark.skipif(not outside.IS_ROOT or outside.IS_CONFINED, reason="mounts a /proc")
def test_what_proc_hides_is_somebody_elses(flamerun_of_all):
    """With hidepid=2, see proc(5), only a process's own user can see that the process exists."""
    attach = " ".join(outside.as_nobody(flamerun_of_all, "-d", "0.1", "-o", "/dev/null", "-p", "$!"))
    result = subprocess.run(
        ["unshare", "-m", "-p", "-f", "sh", "-c", "mount -t proc -o hidepid=2 proc /proc || exit 99\n"
         f"sleep 9 & {attach}; status=$?; kill $!; exit $status"],
        stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    if result.returncode == 99:
        pytest.skip("no /proc can be mounted here")
    assert "belongs to somebody else, and /proc hides it" in result.stderr, result.stderr
