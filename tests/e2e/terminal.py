# SPDX-License-Identifier: MIT
#
# Run a command as a job of a small shell on a pseudo-terminal, with real process groups and keys.
import os
import pty
import select
import signal
import termios
import time
import tty

import outside

INTERRUPT, QUIT, SUSPEND = b"\x03", b"\x1c", b"\x1a"


def wait_until_it_reads(pid, program, seconds=60):
    """Wait until @pid has exec'd @program and sleeps. The program prints nothing when it starts."""
    limit = time.monotonic() + seconds
    while os.readlink(f"/proc/{pid}/exe") != program or outside.state_of(pid) != "S":
        assert time.monotonic() < limit, f"{pid} does not wait in {program}"
        time.sleep(0.005)


class Job:
    """
    The master side of the terminal, and the shell's reports on its job: "stopped N", "exit N",
    "signal N". The job's stdout is a pipe; stdin and stderr are the terminal.
    """

    def __init__(self, folder, *command):
        self.out, job_out = os.pipe()
        self.news, shell_news = os.pipe()
        shell_orders, self.orders = os.pipe()
        self.shell, self.master = pty.fork()
        if not self.shell:
            try:
                os.chdir(folder)
                shell(command, job_out, shell_news, shell_orders)
            finally:
                os._exit(99)
        for end in (job_out, shell_news, shell_orders):
            os.close(end)
        self.text = {self.out: "", self.news: ""}

    def line(self, source, seconds=60):
        """The next line from @source, which is self.out or self.news."""
        limit = time.monotonic() + seconds
        while "\n" not in self.text[source]:
            left = limit - time.monotonic()
            ready = select.select([source, self.master], [], [], max(left, 0))[0]
            assert ready, f"nothing said, only {self.text}"
            if self.master in ready:
                self.drop_terminal_output()
            if source in ready:
                data = os.read(source, 4096)
                assert data, f"it ended, after {self.text}"
                self.text[source] += data.decode()
        line, self.text[source] = self.text[source].split("\n", 1)
        return line

    def drop_terminal_output(self):
        try:
            os.read(self.master, 4096)
        except OSError:
            pass

    def said(self):
        return self.line(self.out)

    def reported(self):
        return self.line(self.news)

    def silent(self, seconds=0.2):
        """Has stdout no output for @seconds?"""
        return not self.text[self.out] and not select.select([self.out], [], [], seconds)[0]

    def press(self, key):
        os.write(self.master, key)

    def order(self, word):
        """Order the shell to continue its job. Returns when the job has the terminal again."""
        os.write(self.orders, word.encode() + b"\n")
        assert self.reported() == "continued"

    def close(self):
        for end in (self.master, self.out, self.news, self.orders):
            try:
                os.close(end)
            except OSError:
                pass
        try:
            os.kill(self.shell, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.shell, 0)


def shell(command, job_out, news, orders):
    """
    Run one job as session leader, in the foreground whenever the job runs. The order "fg" continues
    the whole process group of the job, any other order only its first process.
    """
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    attributes = termios.tcgetattr(0)
    attributes[tty.LFLAG] &= ~termios.TOSTOP
    termios.tcsetattr(0, termios.TCSANOW, attributes)
    job = os.fork()
    if not job:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpgrp())
        for number in (signal.SIGTTOU, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(job_out, 1)
        os.closerange(3, 64)
        os.execv(command[0], [str(word) for word in command])
    os.close(job_out)
    while True:
        status = os.waitpid(job, os.WUNTRACED)[1]
        if os.WIFSTOPPED(status):
            os.tcsetpgrp(0, os.getpgrp())
            os.write(news, f"stopped {os.WSTOPSIG(status)}\n".encode())
            word = os.read(orders, 16)
            os.tcsetpgrp(0, job)
            if word == b"fg\n":
                os.killpg(job, signal.SIGCONT)
            else:  # "one": continue only the process that the shell started
                os.kill(job, signal.SIGCONT)
            os.write(news, b"continued\n")
            continue
        how, number = ("signal", os.WTERMSIG(status)) if os.WIFSIGNALED(status) else \
            ("exit", os.WEXITSTATUS(status))
        os.write(news, f"{how} {number}\n".encode())
        os._exit(0)
