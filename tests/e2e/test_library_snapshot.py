# SPDX-License-Identifier: MIT
#
# FLAMERUN_SNAPSHOT with programs that do not know it: a signal draws the right process at the right
# time.
import pathlib
import re
import signal
import subprocess
import time

import pytest

import library
import outside
import redises
from snapshots import (BUSY, LINKED, PYTHON, Program, ask_until, connected, picture, threads_of,
                       timers_of, wait_for)

def test_python(tmp_path):
    settings = "duration=1:rate=997:output=%p-%t.folded"
    with Program(tmp_path, PYTHON, "-c", BUSY, settings=settings) as program:
        program.reads()
        before = time.time()
        program.ask()
        stacks = picture(program)
        name = next(tmp_path.glob("*.folded")).name
        match = re.fullmatch(r"(\d+)-(\d{8}-\d{6})\.folded", name)
        assert match and int(match.group(1)) == program.process.pid
        asked = time.mktime(time.strptime(match.group(2), "%Y%m%d-%H%M%S"))
        assert abs(asked - before) < 30
        assert stacks.total > 10  # It may have had the CPU for only a few ms.
        assert stacks.where(lambda stack: any("Py" in name for name in stack)) > 0.9 * stacks.total
        # The thread that takes the snapshot must not be sampled.
        assert stacks.where(lambda stack: any("flameprof" in name for name in stack)) == 0
        assert program.said() == ""
        # Ask again a second later, so that the file name differs.
        time.sleep(max(0, asked + 1.1 - time.time()))
        ask_until(program, lambda: len(list(tmp_path.glob("*.folded"))) > 1)
        assert program.process.poll() is None


def test_it_samples_as_long_as_asked(tmp_path):
    settings = "duration=1.5:rate=100:clock=elapsed:output=a.pdf"
    with Program(tmp_path, PYTHON, "-c", BUSY, settings=settings) as program:
        program.reads()
        program.ask()
        wait_for((tmp_path / "a.pdf").exists)
        text = subprocess.run(["pdftotext", "a.pdf", "-"], cwd=tmp_path, check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        cpu, waited_s, sampled_s = re.search(
            r"(\d+) samples of cpu, [\d.]+ s(?:, and ([\d.]+) s of waiting)? in ([\d.]+) s",
            text).groups()
        # The snapshot may end late, but never early. The waiting time lacks the time before the
        # first observation, which may be late too.
        assert 1.5 <= float(sampled_s) < 10
        assert int(cpu) / 100 + float(waited_s or 0) == pytest.approx(
            float(sampled_s), rel=0.2, abs=0.1)
        assert "started 20" in text


@redises.needs_redis
def test_redis(tmp_path):
    path = tmp_path / "redis"
    settings = f"duration=1:rate=500:output={tmp_path}/redis.folded"
    with Program(tmp_path, redises.server(tmp_path), "--port", "0", "--unixsocket", path, "--save",
                 "", "--daemonize", "no", settings=settings) as program:
        with connected(path) as client:
            program.ask()
            until = time.monotonic() + 1.2
            loop = b"for i=1,20000 do redis.call('set', 'k'..(i%100), i) end return 7"
            fill = b"EVAL \"" + loop + b"\" 0\r\n"
            while time.monotonic() < until:
                client.sendall(fill)
                assert client.recv(64) == b":7\r\n"
            stacks = picture(program)
            assert stacks.where(lambda stack: "main" in stack or "aeMain" in stack or any(
                "redis-server" in name or "redis-check" in name for name in stack)) \
                > 0.5 * stacks.total, stacks.describe()
            client.sendall(b"PING\r\n")
            assert client.recv(64) == b"+PONG\r\n"
        assert program.said() == ""


def test_fork_children_take_their_own(tmp_path):
    server = library.build("prefork.c", tmp_path)
    settings = "duration=1:rate=997:output=%p.folded"
    with Program(tmp_path, server, 2, settings=settings) as program:
        pids = [int(program.reads()) for _ in range(3)]
        for pid in pids[1:] + pids[:1]:
            program.ask(pid=pid)
        wait_for(lambda: len(list(tmp_path.glob("*.folded"))) == 3)
        for pid in pids:
            stacks = library.stacks(tmp_path / f"{pid}.folded")
            mine, other = ("in_parent", "in_child") if pid == pids[0] else ("in_child", "in_parent")
            assert stacks.below(mine) >= 0.9 * stacks.total > 0, stacks.describe()
            assert stacks.below(other) == 0
        program.process.stdin.close()
        assert program.process.wait(60) == 0
        assert program.said() == ""


@pytest.mark.parametrize("name, number", [("USR1", signal.SIGUSR1), ("SIGWINCH", signal.SIGWINCH),
                                          ("RTMIN+5", signal.SIGRTMIN + 5)])
def test_other_signals(name, number, tmp_path):
    settings = f"signal={name}:duration=0.4:output=a.folded"
    with Program(tmp_path, PYTHON, "-c", BUSY, settings=settings) as program:
        program.reads()
        program.ask(number)
        assert picture(program).total
        program.ask(signal.SIGUSR2)
        assert program.process.wait(20) == -signal.SIGUSR2


def test_no_thread_but_one_and_all_signals_blocked_in_it(tmp_path):
    with Program(tmp_path, PYTHON, "-c", BUSY, settings="on") as program:
        program.reads()
        tasks = pathlib.Path(f"/proc/{program.process.pid}/task")
        names = {path.name: (path / "status").read_text() for path in tasks.iterdir()}
        others = [text for tid, text in names.items() if int(tid) != program.process.pid]
        assert len(others) == 1
        assert "Name:\tflameprof" in others[0]
        blocked = int(re.search(r"SigBlk:\t([0-9a-f]+)", others[0]).group(1), 16)
        unblockable = 1 << (signal.SIGKILL - 1) | 1 << (signal.SIGSTOP - 1) | 0b11 << 31
        assert blocked | unblockable == 2 ** 64 - 1
        main = names[str(program.process.pid)]
        assert int(re.search(r"SigBlk:\t([0-9a-f]+)", main).group(1), 16) == 0


READS = """
    #include <errno.h>
    #include <stdio.h>
    #include <unistd.h>
    int main(void)
    {
        char text[8];

        puts("ready");
        fflush(stdout);
        return read(STDIN_FILENO, text, sizeof(text)) < 0 ? errno : 0;
    }"""


def test_reads_are_restarted(tmp_path):
    """The handler has SA_RESTART: a program that waits for input does not notice the signal."""
    program = library.build(library.write(tmp_path, "reads.c", READS), tmp_path)
    with Program(tmp_path, program, settings="duration=0.2:output=a.folded") as reads:
        reads.reads()
        for _ in range(20):
            reads.ask()
            time.sleep(0.01)
        assert reads.process.poll() is None
        reads.process.stdin.write(b"input")
        reads.process.stdin.flush()
        assert reads.process.wait(20) == 0


def test_its_thread_is_not_sampled(tmp_path):
    settings = "duration=600:clock=elapsed:output=a.folded"
    with Program(tmp_path, PYTHON, "-c", BUSY, settings=settings) as program:
        program.reads()
        program.ask()
        wait_for(lambda: timers_of(program))
        time.sleep(0.2)
        assert timers_of(program) == [str(program.process.pid)]


def test_the_end_of_the_program_ends_the_snapshot(tmp_path):
    code = BUSY.replace("True:", "not os.path.exists('stop'):")
    with Program(tmp_path, PYTHON, "-c", "import os\n" + code,
                 settings="duration=600:rate=200:output=a.folded") as program:
        program.reads()
        program.ask()
        wait_for(lambda: timers_of(program))
        outside.work(program.process.pid, 0.3)
        (tmp_path / "stop").touch()
        assert program.process.wait(30) == 0
        assert library.stacks(tmp_path / "a.folded").total > 40
        assert program.said() == ""


def test_a_program_that_leaves_its_folder(tmp_path):
    code = "import os\nos.chdir('/')\nprint('ready', flush=True)\nwhile True: sorted(range(1000))"
    settings = "duration=0.4:output=a.folded"
    with Program(tmp_path, PYTHON, "-c", code, settings=settings) as program:
        program.reads()
        program.ask()
        assert picture(program).total


@pytest.mark.parametrize("link, preload", [("shared", False), ("archive", False), ("static", False),
                                           ("static-pie", False), ("archive", True),
                                           ("shared", True)])
def test_programs_that_link_it(link, preload, tmp_path):
    source = library.write(tmp_path, "linked.c", LINKED)
    program = library.build(source, tmp_path, link=link)
    with Program(tmp_path, program, settings="duration=0.4:rate=997:output=a.folded",
                 preload=preload) as linked:
        linked.reads()
        # Only one copy of the library takes snapshots, even if there are two.
        assert threads_of(linked.process.pid) == 2
        linked.ask()
        stacks = picture(linked)
        assert stacks.below("main") > 0.9 * stacks.total, stacks.describe()
        assert linked.said() == ""
