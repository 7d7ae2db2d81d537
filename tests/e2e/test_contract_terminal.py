# SPDX-License-Identifier: MIT
#
# On a terminal, the signals of keys reach the program once, job control works, and after the
# program's end Ctrl-C goes to flamerun.
import os
import select
import signal
import subprocess
import time

import pytest

import folded
import outside
from profiled import compile_target
from terminal import INTERRUPT, QUIT, SUSPEND, Job, wait_until_it_reads

pytestmark = pytest.mark.sanitized


@pytest.fixture(scope="session")
def listener(tmp_path_factory):
    return compile_target("listener.c", tmp_path_factory.mktemp("listener"))


@pytest.fixture
def job(flamerun, tmp_path):
    jobs = []

    def start(*command):
        jobs.append(Job(tmp_path, flamerun, "-q", "-o", "out.folded", "--", *command))
        return jobs[-1]

    yield start
    for one in jobs:
        one.close()


def ready(started):
    word, pid = started.said().split()
    assert word == "ready"
    return int(pid)


@pytest.mark.parametrize("key, number", [(INTERRUPT, signal.SIGINT), (QUIT, signal.SIGQUIT)])
def test_a_key_is_delivered_once_and_the_program_goes_on(job, listener, key, number):
    started = job(listener, int(number))
    ready(started)
    for _ in range(3):
        started.press(key)
        assert started.said() == f"got {int(number)}"
        assert started.silent()
    started.press(b"\n")
    assert started.reported() == "exit 7"


def test_profiling_goes_on_after_ctrl_c(job, listener, tmp_path):
    started = job("/usr/bin/env", "BUSY=1", listener, 2)
    child = ready(started)
    started.press(INTERRUPT)
    assert started.said() == "got 2"
    outside.work(child, 0.3)  # about 60 samples; without profiling there would be none
    started.press(b"\n")
    assert started.reported() == "exit 7"
    assert folded.Folded((tmp_path / "out.folded").read_text()).total > 20


@pytest.mark.confined
def test_ctrl_c_that_ends_the_program_leaves_a_picture(job, listener, tmp_path):
    started = job("/usr/bin/env", "BUSY=1", listener)
    outside.work(ready(started), 0.1)
    started.press(INTERRUPT)
    assert started.reported() == "signal 2"
    assert folded.Folded((tmp_path / "out.folded").read_text()).total > 0


@pytest.mark.confined
def test_ctrl_z_and_fg(job, listener):
    started = job(listener, int(signal.SIGCONT))
    child = ready(started)
    for _ in range(3):
        started.press(SUSPEND)
        assert started.reported() == f"stopped {int(signal.SIGTSTP)}"
        assert outside.state_of(child) == "T"
        started.order("fg")
        assert started.said() == f"got {int(signal.SIGCONT)}"
        assert started.silent(), "the shell's SIGCONT was doubled"
    started.press(b"\n")
    assert started.reported() == "exit 7"


def test_continuing_flamerun_continues_the_program(job, listener):
    started = job(listener, int(signal.SIGCONT))
    child = ready(started)
    started.press(SUSPEND)
    assert started.reported() == f"stopped {int(signal.SIGTSTP)}"
    started.order("one")
    assert started.said() == f"got {int(signal.SIGCONT)}"
    assert started.silent()
    assert outside.state_of(child) != "T"
    started.press(b"\n")
    assert started.reported() == "exit 7"


TIDY = """
import os, signal, time
def tidy(*_):
    time.sleep(0.3)
    open("log", "w").write("tidied")
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTSTP)
signal.signal(signal.SIGTSTP, tidy)
print("ready", os.getpid(), flush=True)
while not os.path.exists("done"):
    time.sleep(0.02)
os._exit(7)
"""


def test_the_shell_waits_until_the_program_has_tidied_up(job, tmp_path):
    """A full-screen program catches SIGTSTP, restores the screen, and then stops itself."""
    started = job("/usr/bin/python3", "-S", "-c", TIDY)
    ready(started)
    started.press(SUSPEND)
    assert started.reported() == f"stopped {int(signal.SIGTSTP)}"
    assert (tmp_path / "log").read_text() == "tidied"
    (tmp_path / "done").touch()
    started.order("fg")
    assert started.reported() == "exit 7"


def test_a_program_that_ignores_ctrl_z_is_not_stopped(job, listener):
    started = job(listener, int(signal.SIGTSTP))
    ready(started)
    started.press(SUSPEND)
    assert started.said() == f"got {int(signal.SIGTSTP)}"
    assert started.silent()
    started.press(INTERRUPT)
    assert started.reported() == "signal 2"


def test_the_terminal_goes_away(job, listener, tmp_path):
    started = job(listener, int(signal.SIGHUP))
    ready(started)
    os.close(started.master)
    started.master = -1
    text = b""
    while select.select([started.out], [], [], 60)[0]:
        data = os.read(started.out, 4096)
        if not data:
            break
        text += data
    # The terminal is the listener's stdin and may end before the listener gets SIGHUP.
    assert text.decode() in ("", f"got {int(signal.SIGHUP)}\n")
    limit = time.monotonic() + 60
    while not (tmp_path / "out.folded").exists():
        assert time.monotonic() < limit
        time.sleep(0.01)


class Writing:
    """
    flamerun after the program's end. It is blocked, because nothing reads its picture from a pipe.
    """

    def __init__(self, flamerun, folder):
        fifo = folder / "slow.svg"
        os.mkfifo(fifo)
        self.fifo = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.process = subprocess.Popen([flamerun, "-q", "-o", fifo, "-o", "after.svg", "--", "sh",
                                         "-c", "exit 3"],
                                        cwd=folder)
        assert select.select([self.fifo], [], [], 60)[0]

    def interrupt(self):
        outside.send(self.process.pid, signal.SIGINT)

    def drain(self):
        text = b""
        while select.select([self.fifo], [], [], 60)[0]:
            data = os.read(self.fifo, 65536)
            if not data:
                break
            text += data
        return text


def test_after_the_end_one_interrupt_still_writes(flamerun, tmp_path):
    writing = Writing(flamerun, tmp_path)
    writing.interrupt()
    assert writing.process.poll() is None
    assert writing.drain().rstrip().endswith(b"</svg>")
    assert writing.process.wait(60) == 3
    assert (tmp_path / "after.svg").exists()


def test_after_the_end_a_second_interrupt_ends_flamerun(flamerun, tmp_path):
    writing = Writing(flamerun, tmp_path)
    writing.interrupt()
    writing.interrupt()
    assert writing.process.wait(60) == -signal.SIGINT
    assert os.listdir(tmp_path) == ["slow.svg"]


def test_ctrl_z_while_rendering(flamerun, tmp_path):
    """render runs no program, so the keys are for flamerun itself."""
    started = Job(tmp_path, flamerun, "render", "-")
    try:
        outside.wait_until(lambda: os.tcgetpgrp(started.master) not in (0, started.shell))
        wait_until_it_reads(os.tcgetpgrp(started.master), flamerun)
        started.press(SUSPEND)
        assert started.reported() == f"stopped {int(signal.SIGTSTP)}"
        started.order("fg")
        started.press(INTERRUPT)
        assert started.reported() == "signal 2"
    finally:
        started.close()
