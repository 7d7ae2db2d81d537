# SPDX-License-Identifier: MIT
#
# Start programs with FLAMERUN_SNAPSHOT set, which makes them draw a picture of themselves at a
# signal, and send them the signal.
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import library

PYTHON = "/usr/bin/python3"
class Program:
    """A program with the library preloaded. It is killed at the end of the block."""

    def __init__(self, folder, *command, settings, preload=True, **env):
        self.folder = pathlib.Path(folder)
        self.errors = self.folder / "stderr"
        if settings is not None:
            env["FLAMERUN_SNAPSHOT"] = settings
        if preload:
            env["LD_PRELOAD"] = str(library.SHARED)
        self.process = subprocess.Popen([str(word) for word in command], cwd=folder,
                                        env=library.environment(**env), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=open(self.errors, "w"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def reads(self):
        """Read a line of the program's output. Once a line was read, the library has started."""
        return self.process.stdout.readline().decode().strip()

    def ask(self, number=signal.SIGUSR2, pid=None):
        os.kill(pid or self.process.pid, number)

    def said(self):
        return self.errors.read_text()


def wait_for(condition, timeout_s=30):
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("timed out")


def connected(path):
    """
    Connect to a server's Unix socket. The socket's file exists a moment before the server listens.
    """
    def client():
        new = socket.socket(socket.AF_UNIX)
        try:
            new.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            new.close()
            return None
        return new
    return wait_for(client)


def timers_of(program):
    """
    The threads that the program's timers signal. There are some only while a snapshot is taken.
    """
    text = pathlib.Path(f"/proc/{program.process.pid}/timers").read_text()
    return re.findall(r"notify: signal/tid\.(\d+)", text)


def ask_until(program, condition):
    """
    Ask for snapshots until @condition() is true. A request that arrives during a snapshot is
    refused with a line on stderr.
    """
    def is_taken():
        said = program.said()
        program.ask()
        wait_for(lambda: condition() or program.said() != said)
        return condition()
    wait_for(is_taken)


def picture(program, pattern="*.folded"):
    """
    The stacks of the only picture. The picture is complete as soon as it exists, because it appears
    by rename.
    """
    path = wait_for(lambda: list(program.folder.glob(pattern)))
    assert len(path) == 1
    return library.stacks(path[0])


BUSY = "print('ready', flush=True)\nwhile True: sorted(range(1000))"


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


LINKED = """
    #include <stdio.h>
    #include "flameprof.h"
    int main(void)
    {
        puts(flameprof_version());
        fflush(stdout);
        for (volatile unsigned long i = 0;; i++);
    }"""
