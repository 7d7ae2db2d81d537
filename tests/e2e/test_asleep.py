# SPDX-License-Identifier: MIT
#
# Compare walks of sleeping threads that know only pc and sp with walks that know all registers: in
# tests/targets/asleep.c, built in many ways, and in installed programs.
import collections
import os
import shutil
import signal
import subprocess
import sys

import pytest

import outside
import profiled
import redises

FRAMED = ("-O2", "-fno-omit-frame-pointer")
BUILDS = {
    "O0": ("-O0",),
    "O2": ("-O2", "-fomit-frame-pointer"),
    "framed": FRAMED,
    "probed": FRAMED + ("-fstack-clash-protection", "-fcf-protection", "-fstack-protector-all"),
    "small": ("-Os", "-fno-omit-frame-pointer"),
}
PYTHON = """
import queue, sys, threading, time
def down(n, wait): return wait() if not n else down(n - 1, wait)
for wait in (lambda: time.sleep(1e6), queue.Queue().get, lambda: sorted([1], key=lambda x: time.sleep(1e6))):
    threading.Thread(target=down, args=(20, wait), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def looker(tmp_path_factory):
    """Compile tests/e2e/asleep.c, which compares the two walks of each thread."""
    program = tmp_path_factory.mktemp("looker") / "asleep"
    arch = profiled.ROOT / "arch" / os.uname().machine
    packages = ["cairo", "libelf", "liblzma", "inih", "libpcre2-8"]
    words = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split()
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Werror", "-D_GNU_SOURCE",
                    f"-I{profiled.ROOT}", f"-I{arch}", "-o", program, profiled.ROOT / "tests/e2e/asleep.c",
                    profiled.BUILD / "libcli.a", profiled.BUILD / "librender.a", *words,
                    "-lunwind-generic", "-liberty", "-lz", "-lm", "-lpthread"], check=True)
    return program


def look(looker, pid, *options):
    """{word: number of threads} of the results that asleep.c prints, one line for each thread."""
    result = subprocess.run([looker, *options, str(pid)], text=True, check=True,
                            stdout=subprocess.PIPE, timeout=60)
    return collections.Counter(line.split()[1] for line in result.stdout.splitlines())


def settle(pid):
    """Wait until every thread of @pid sleeps."""
    def sleeps(task):
        with open(f"/proc/{pid}/task/{task}/stat", encoding="latin-1") as file:
            return file.read().rpartition(")")[2].split()[0] == "S"
    outside.wait_until(lambda: all(map(sleeps, os.listdir(f"/proc/{pid}/task"))))


def assert_shapes(looker, program, compiler, *words):
    """Assert that the two walks agree for all threads of @program, run with @words."""
    with outside.running(program, *words, stdin=subprocess.PIPE, start_new_session=True) as process:
        threads = int(process.stdout.readline().split()[1])
        settle(process.pid)
        words = look(looker, process.pid)
        oracle = look(looker, process.pid, "-u")
        os.killpg(process.pid, signal.SIGKILL)
    assert words["equal"] + words["incomplete"] == threads + 1, words
    # No walk from pc and sp may have a frame that libunwind's stack lacks.
    assert oracle["different"] == 0, oracle
    # In these shapes, calls that save the frame pointer may be lost: two shapes with frames of
    # variable size, one in which words on the stack look like return addresses, and exception
    # handlers that gcc places apart from their functions.
    lost = 27 + (9 if compiler == "g++" else 0)
    assert words["incomplete"] <= lost, words


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
def test_shapes_of_frames(tmp_path, looker, compiler, build):
    """Walks are correct even if the stacks have words that look like return addresses."""
    language = ("-x", "c++") if compiler.endswith("+") else ("-std=gnu11",)
    program = tmp_path / "asleep"
    outside.need(compiler)
    subprocess.run([compiler, "-D_GNU_SOURCE", f"-I{profiled.ROOT}", *language, *BUILDS[build],
                    "-o", program, profiled.TARGETS / "asleep.c", "-lpthread"], check=True)
    assert_shapes(looker, program, compiler)
    assert_shapes(looker, program, compiler, "plant")


@pytest.mark.parametrize("name", ["redis", "python", "perl", "bash", "node"])
def test_programs(tmp_path, looker, name):
    commands = {
        "redis": [redises.server(tmp_path), "--port", "0", "--save", "",
                  "--unixsocket", tmp_path / "socket"],
        "python": [sys.executable, "-c", PYTHON],
        "perl": ["perl", "-e", "$| = 1; print qq(ready\n); my @a = sort { sleep 1000 } 1, 2"],
        "bash": ["bash", "-c", "f() { if [ $1 = 0 ]; then read x; else f $(($1 - 1)); fi; };"
                 "echo ready; f 5"],
        "node": ["node", "-e", "console.log('ready'); setInterval(() => 0, 1e6)"],
    }
    if not shutil.which(commands[name][0]):
        pytest.skip(f"no {name}")
    with outside.running(*commands[name], stdin=subprocess.PIPE) as process:
        process.stdout.readline()
        settle(process.pid)
        words = look(looker, process.pid)
    assert words["equal"] >= 1 and set(words) == {"equal"}, words
