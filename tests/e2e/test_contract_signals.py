# SPDX-License-Identifier: MIT
#
# Signals that are sent to flamerun reach the program exactly once, and the program inherits
# flamerun's signal mask and ignored signals.
import ctypes
import os
import platform
import re
import signal
import subprocess
import sys
import time

import pytest

import outside
from profiled import compile_target

pytestmark = pytest.mark.confined

SENT = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGALRM, signal.SIGCONT, signal.SIGWINCH, signal.SIGIO, signal.SIGTSTP,
        signal.SIGRTMIN + 3]


@pytest.fixture(scope="session")
def listener(tmp_path_factory):
    return compile_target("listener.c", tmp_path_factory.mktemp("listener"))


class Session:
    """flamerun with the listener as its program, connected by pipes."""

    def __init__(self, flamerun, folder, listener, *signals, options=("-q",), **more):
        numbers = [str(int(number)) for number in signals]
        self.process = subprocess.Popen([flamerun, *options, "--", listener, *numbers], cwd=folder,
                                        text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        **more)
        word, self.child = self.process.stdout.readline().split()
        assert word == "ready"
        self.child = int(self.child)

    def finish(self):
        """End the listener. Returns the unread part of its output."""
        if self.process.poll() is None:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        # communicate() would lose output that was read into the buffer together with a line.
        out = self.process.stdout.read().splitlines()
        self.process.communicate(timeout=60)
        return out


def settle():
    """Wait until a second copy of a signal would have arrived."""
    time.sleep(0.15)


@pytest.mark.parametrize("number", SENT)
def test_a_signal_from_a_process_is_passed_on_once(flamerun, tmp_path, listener, number):
    session = Session(flamerun, tmp_path, listener, number)
    os.kill(session.process.pid, number)
    assert session.process.stdout.readline() == f"got {int(number)}\n"
    settle()
    assert session.finish() == []
    assert session.process.returncode == 7


@pytest.mark.sanitized
def test_a_signal_the_program_does_not_catch_ends_both_alike(flamerun, tmp_path, listener):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGRTMIN + 1):
        session = Session(flamerun, tmp_path, listener)
        os.kill(session.process.pid, number)
        assert session.process.wait(60) == -number
        assert session.finish() == []
        assert (tmp_path / "flame.svg").exists()


@pytest.mark.sanitized
def test_terminated_by_timeout(flamerun, tmp_path):
    """
    timeout(1) sends a signal to flamerun and then to its group. The program still has time to tidy
    up.
    """
    # The program may begin to tidy up between the two signals, so it ignores the second one.
    script = ("""trap 'trap "" TERM; echo tidying; sleep 0.2; exit 9' TERM; echo up; """
              "while :; do sleep 0.05; done")
    with subprocess.Popen(["timeout", "--preserve-status", "600", flamerun, "-q", "--", "sh", "-c",
                           script], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "up\n"
        # On this signal, timeout(1) acts as if the time was over.
        process.terminate()
        assert process.stdout.read() == "tidying\n"
    assert process.returncode == 9
    assert (tmp_path / "flame.svg").exists()


@pytest.mark.sanitized
def test_what_the_program_sends_its_parent_does_not_come_back(flamerun, tmp_path, listener):
    result = subprocess.run([flamerun, "-q", "--", "sh", "-c",
                             'trap "echo back" USR1; kill -USR1 $PPID; '
                             "sleep 0.2; echo end"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, timeout=60)
    assert result.stdout == "end\n"
    assert result.returncode == 0


STATE = ["grep", "-E", "^(Sig(Blk|Ign|Cgt)|ShdPnd):", "/proc/self/status"]


def ignore_libc_signals():
    """Ignore signals 32 and 33 by a system call, because libc's sigaction() refuses them."""
    ignored = (ctypes.c_ulong * 4)(1)
    for number in (32, 33):
        assert not ctypes.CDLL(None).syscall(
            {"x86_64": 13, "aarch64": 134}[platform.machine()], number, ignored, None, 8)


@pytest.mark.sanitized
@pytest.mark.parametrize("shell", [
    "exec",
    "trap '' HUP INT PIPE XFSZ CHLD TERM TSTP USR1; exec",
])
@pytest.mark.parametrize("prepare", [None, ignore_libc_signals])
def test_dispositions_are_inherited(flamerun, tmp_path, shell, prepare):
    def states(*command):
        text = subprocess.run(["sh", "-c", f'{shell} "$@"', "sh", *command], cwd=tmp_path,
                              text=True, check=True, preexec_fn=prepare,
                              stdout=subprocess.PIPE, restore_signals=False).stdout
        pairs = [line.split(":") for line in text.splitlines()]
        return {name: int(mask, 16) for name, mask in pairs}

    alone = states(*STATE)
    profiled = states(flamerun, "-q", "--", *STATE)
    # The library catches SIGVTALRM (26). No other signal may differ.
    profiled["SigCgt"] &= ~(1 << 25)
    assert profiled == alone


@pytest.mark.sanitized
def test_the_mask_is_inherited(flamerun, tmp_path):
    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR2})

    command = ["grep", "^SigBlk:", "/proc/self/status"]
    alone = subprocess.run(command, preexec_fn=block, stdout=subprocess.PIPE).stdout
    profiled = subprocess.run([flamerun, "-q", "--", *command], cwd=tmp_path, preexec_fn=block,
                              stdout=subprocess.PIPE, timeout=60).stdout
    assert profiled == alone
    assert int(alone.split()[1], 16) != 0


@pytest.mark.sanitized
def test_a_parent_that_ignores_sigchld(flamerun, tmp_path):
    result = subprocess.run([flamerun, "-q", "--", "sh", "-c", "exit 3"], cwd=tmp_path, timeout=60,
                            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert result.returncode == 3


@pytest.mark.sanitized
def test_blocked_signals_are_passed_on_all_the_same(flamerun, tmp_path, listener):
    """
    flamerun passes on SIGTERM even if it inherited a mask that blocks it. The program inherits the
    mask.
    """
    session = Session(flamerun, tmp_path, listener, signal.SIGTERM,
                      preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}))
    os.kill(session.process.pid, signal.SIGTERM)
    outside.wait_until(lambda: int(outside.status_of(session.child, "ShdPnd"), 16) &
                       1 << signal.SIGTERM - 1)
    session.finish()
    assert session.process.returncode == 7


def wait_for_state(pid, letter):
    outside.wait_until(lambda: outside.state_of(pid) == letter)


@pytest.mark.sanitized
def test_a_program_stopped_from_outside_does_not_stop_flamerun(flamerun, tmp_path, listener):
    session = Session(flamerun, tmp_path, listener)
    os.kill(session.child, signal.SIGSTOP)
    wait_for_state(session.child, "T")
    settle()
    assert outside.state_of(session.process.pid) != "T"
    os.kill(session.process.pid, signal.SIGCONT)
    wait_for_state(session.child, "S")
    assert session.finish() == []
    assert session.process.returncode == 7


@pytest.mark.sanitized
@pytest.mark.skipif(os.environ.get("TEST_CONFINED") is not None, reason="nobody may trace here")
def test_a_program_that_has_itself_traced_goes_on(run):
    """
    After PTRACE_TRACEME the parent is the tracer, so each sampling signal would stop the program.
    """
    code = ("import ctypes, os, time\n"
            "assert ctypes.CDLL(None).ptrace(0, 0, None, None) == 0\n"
            "while time.process_time() < 0.5: sum(range(2000000))\n"
            "os._exit(7)\n")
    result = run("-o", "x.folded", "--", sys.executable, "-c", code)
    assert result.returncode == 7, result.stderr
    assert int(re.search(r"(\d+) samples", result.stderr)[1]) > 50
