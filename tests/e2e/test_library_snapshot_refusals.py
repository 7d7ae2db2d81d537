# SPDX-License-Identifier: MIT
#
# Snapshots that are refused: the messages, and that the programs are not affected.
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

import library
import outside
import pprof
from snapshots import BUSY, LINKED, PYTHON, Program, ask_until, threads_of, timers_of, wait_for

pytestmark = pytest.mark.confined

LINE = re.compile(r"^flameprof: [^\n]*\n$")


def test_a_second_one_is_refused(tmp_path):
    settings = "duration=2:output=a.folded"
    with Program(tmp_path, PYTHON, "-c", BUSY, settings=settings) as program:
        program.reads()
        program.ask()
        wait_for(lambda: timers_of(program))
        program.ask()
        wait_for(program.said)
        assert not (tmp_path / "a.folded").exists()
        assert program.said() == "flameprof: SIGUSR2 refused: a snapshot is being taken\n"
        wait_for((tmp_path / "a.folded").exists)
        time.sleep(0.3)
        assert program.said().count("\n") == 1
        # Nothing is left of the refused snapshot, so the next one works.
        os.remove(tmp_path / "a.folded")
        ask_until(program, (tmp_path / "a.folded").exists)


@pytest.mark.parametrize("settings, about", [
    ("sginal=USR2", "'sginal' is none of signal, duration, rate, clock, output"),
    ("rate=0", "rate: '0' is not 1 to 10000"),
    ("signal=KILL", "signal: cannot use 'KILL'"),
    ("output=%q", "output: '%q' is none of"),
    ("output=%{NOT_SET}", "output: 'NOT_SET' is not set"),
    ("yes please", "'yes please' is not key=value"),
    ("rate=\033[2J", "rate: '?[2J'"),
])
def test_what_is_wrong_is_one_line(settings, about, tmp_path):
    code = "import signal; print(int(signal.getsignal(signal.SIGUSR2)))"
    with Program(tmp_path, PYTHON, "-c", code, settings=settings) as program:
        assert program.reads() == "0"
        assert program.process.wait(20) == 0
        assert LINE.match(program.said())
        assert program.said().startswith("flameprof: FLAMERUN_SNAPSHOT: ")
        assert about in program.said()


@pytest.mark.parametrize("settings", [None, "", "off"])
def test_without_it_nothing_is_changed(settings, tmp_path):
    with Program(tmp_path, PYTHON, "-c", BUSY, settings=settings) as program:
        program.reads()
        assert threads_of(program.process.pid) == 1
        program.ask()
        assert program.process.wait(20) == -signal.SIGUSR2
        assert program.said() == ""


def test_a_wrong_one_changes_nothing(tmp_path):
    with Program(tmp_path, PYTHON, "-c", BUSY, settings="bad") as program:
        program.reads()
        assert threads_of(program.process.pid) == 1
        program.ask()
        assert program.process.wait(20) == -signal.SIGUSR2


def test_a_program_without_the_library_ignores_it(tmp_path):
    with Program(tmp_path, PYTHON, "-c", BUSY, settings="bad", preload=False) as program:
        program.reads()
        program.ask()
        assert program.process.wait(20) == -signal.SIGUSR2
        assert program.said() == ""


def test_the_program_s_own_handler_wins(tmp_path):
    # Do not use print(), which Python forbids in a handler that interrupts print().
    code = ("import os, signal\n"
            "signal.signal(signal.SIGUSR2, lambda *_: os.write(1, b'mine\\n'))\n"
            "print('ready', flush=True)\nwhile True: pass")
    with Program(tmp_path, PYTHON, "-c", code, settings="duration=0.1:output=a.folded") as program:
        program.reads()
        program.ask()
        assert program.reads() == "mine"
        time.sleep(0.5)
        assert not (tmp_path / "a.folded").exists()
        assert program.said() == ""


def test_what_cannot_be_written_is_said(tmp_path):
    settings = "duration=0.1:output=/nowhere/a.folded"
    with Program(tmp_path, PYTHON, "-c", BUSY, settings=settings) as program:
        program.reads()
        program.ask()
        wait_for(program.said)
        assert program.said() == \
            "flameprof: cannot write '/nowhere/a.folded': No such file or directory\n"
        assert program.process.poll() is None


def test_without_flamerun_the_profile_stays(tmp_path):
    """The library alone, in a folder of its own, with nothing in PATH."""
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(library.SHARED, alone)
    if pathlib.Path("/usr/local/bin/flamerun").exists():
        pytest.skip("flamerun is installed")
    with Program(tmp_path, PYTHON, "-c", BUSY, settings="duration=0.2:output=a.svg", preload=False,
                 LD_PRELOAD=str(alone / library.SHARED.name), PATH="/usr/bin") as program:
        program.reads()
        program.ask()
        wait_for(program.said)
        assert program.said() == (
            f"flameprof: cannot draw '{tmp_path}/a.svg': there is no flamerun program; "
            f"the profile is '{tmp_path}/a.svg.pb'\n")
        assert pprof.Profile(tmp_path / "a.svg.pb").default_type == "cpu"


def test_standard_error_that_became_something_else_is_left_alone(tmp_path):
    code = ("import os\nfd = os.open('database', os.O_CREAT | os.O_RDWR)\nos.dup2(fd, 2)\n"
            "print('ready', flush=True)\nwhile True: sorted(range(1000))")
    settings = "duration=0.1:output=/nowhere/a.folded"
    with Program(tmp_path, PYTHON, "-c", code, settings=settings) as program:
        program.reads()
        program.ask()
        time.sleep(0.5)
        assert (tmp_path / "database").read_text() == ""
        assert program.said() == ""


VFORKS = """
    #include <signal.h>
    #include <stdio.h>
    #include <unistd.h>
    int main(void)
    {
        if (!vfork()) {
            kill(getpid(), SIGUSR2);
            _exit(0);
        }
        puts("back");
        fflush(stdout);
        for (volatile unsigned long i = 0;; i++);
    }"""


def test_a_signal_to_a_vfork_child_is_not_the_parent_s(tmp_path):
    program = library.build(library.write(tmp_path, "vforks.c", VFORKS), tmp_path)
    with Program(tmp_path, program, settings="duration=0.1:output=a.folded") as vforks:
        vforks.reads()
        time.sleep(0.5)
        assert not (tmp_path / "a.folded").exists()
        vforks.ask()
        wait_for((tmp_path / "a.folded").exists)


PROFILES_ITSELF = """
    #include <stdio.h>
    #include <unistd.h>
    #include "flameprof.h"
    int main(void)
    {
        struct flameprof_options options = {.rate = 97};

        printf("start %d\\n", flameprof_start(&options));
        fflush(stdout);
        for (volatile unsigned long i = 0;; i++);
    }"""


@pytest.mark.parametrize("link", ["shared", "archive", "static"])
def test_the_profiler_is_the_program_s(link, tmp_path):
    program = library.build(library.write(tmp_path, "self.c", PROFILES_ITSELF), tmp_path, link=link)
    with Program(tmp_path, program, settings="duration=0.1:output=a.folded", preload=False) as self:
        assert self.reads() == "start 0"
        self.ask()
        wait_for(self.said)
        assert self.said() == "flameprof: SIGUSR2 refused: the profiler is running\n"
        assert self.process.poll() is None


def test_under_flamerun_it_is_refused(flamerun, tmp_path):
    env = library.environment(FLAMERUN_SNAPSHOT="duration=0.1:output=a.folded")
    code = "import os\nprint(os.getpid(), flush=True)\n" + BUSY.split("\n")[1].replace(
        "True", "not os.path.exists('stop')")
    with subprocess.Popen([flamerun, "-q", "-o", "all.folded", "--", PYTHON, "-c", code], env=env,
                          cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        pid = int(process.stdout.readline())
        os.kill(pid, signal.SIGUSR2)
        outside.work(pid, 0.3)
        (tmp_path / "stop").touch()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said == "flameprof: SIGUSR2 refused: flamerun is sampling this process\n"
    assert library.stacks(tmp_path / "all.folded").total > 10
    assert not (tmp_path / "a.folded").exists()


def test_programs_with_other_rights_ignore_it(tmp_path):
    """A set-user-ID program (AT_SECURE) that has the library ignores the setting."""
    if os.getuid() or os.environ.get("TEST_CONFINED"):
        pytest.skip("needs to be root")
    source = library.write(tmp_path, "linked.c", LINKED)
    program = library.build(source, tmp_path, link="archive")
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o6755)
    os.chmod(tmp_path, 0o777)
    probe = subprocess.run(["findmnt", "-no", "OPTIONS", "-T", tmp_path], text=True, check=False,
                           stdout=subprocess.PIPE).stdout
    if "nosuid" in probe or "NoNewPrivs:\t1" in pathlib.Path("/proc/self/status").read_text():
        pytest.skip("nothing changes rights here")
    with Program(tmp_path, program, settings="bad", preload=False) as other:
        other.reads()
        assert threads_of(other.process.pid) == 1
        other.ask()
        assert other.process.wait(20) == -signal.SIGUSR2
        assert other.said() == ""
