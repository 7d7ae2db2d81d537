# SPDX-License-Identifier: MIT
#
# Programs that fork, exec, load libraries and throw exceptions: no time is lost or gets a wrong
# name.
import re
import subprocess
import sys

import pytest

import folded
from profiled import PLAIN, compile_target, looks, profile


def test_children_of_every_kind(tmp_path):
    rate_hz, ms = looks(1800)
    run = profile(tmp_path, compile_target("forkexec.c", tmp_path), ms, rate_hz=rate_hz)
    assert run.status == 0
    names = {f"{kind}_work" for kind in ("parent", "fork", "exec", "vfork", "spawn")}
    assert set(run.truth) == names
    run.assert_truth()
    due = run.truth_s * run.rate_hz
    assert abs(run.folded.total - due) <= folded.SIGMAS * due ** 0.5 + 0.02 * due


@pytest.mark.confined
@pytest.mark.parametrize("how", ["", "by-number"])
def test_images_too_short_to_be_met(tmp_path, how):
    """
    A process execs 50 times, and runs for a few milliseconds each time. It is one process, and its
    time is counted once, at whatever moment flamerun searches for programs without the library.
    """
    (tmp_path / "again.c").write_text("""
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        extern char **environ;
        int main(int argc, char **argv)
        {
            char left[16], *words[] = {argv[0], left, argv[2], NULL};
            for (volatile int i = 0; i < 1000000; i++);
            snprintf(left, sizeof(left), "%d", atoi(argv[1]) - 1);
            if (argc != 3 || !atoi(argv[1]))
                return 0;
            return argv[2][0] ? (int)syscall(SYS_execve, argv[0], words, environ)
                              : execve(argv[0], words, environ);
        }""")
    program = tmp_path / "again"
    subprocess.run(["gcc", "-O1", "-o", program, tmp_path / "again.c"], check=True)
    for _ in range(8):
        run = profile(tmp_path, program, "50", how)
        assert run.status == 0
        assert "; 1 thread, 1 process\n" in run.stderr, run.stderr
        elapsed, cpu = map(float, re.search(r" in ([0-9.]+) s, ([0-9.]+) s of CPU",
                                            run.stderr).groups())
        assert cpu <= elapsed + 0.02, run.stderr


@pytest.mark.confined
@pytest.mark.sanitized
def test_an_exec_makes_no_process(tmp_path):
    program = compile_target("split.c", tmp_path)
    run = profile(tmp_path, "sh", "-c", f"exec sh -c 'exec {program} 200'")
    assert "; 1 thread, 1 process\n" in run.stderr
    run = profile(tmp_path, "sh", "-c", f"{program} 200; exec {program} 200")
    assert "; 2 threads, 2 processes\n" in run.stderr


@pytest.mark.confined
def test_a_child_that_nobody_waits_for(tmp_path):
    """
    The kernel charges the child's CPU time to no parent, but as much time is due as is sampled.
    """
    # The parent reads until the child, which has the other end of the pipe, has ended. Otherwise
    # the run might end before the child.
    code = ("import os, time\n"
            "gone, held = os.pipe()\n"
            "child = os.fork()\n"
            "if child:\n"
            "    os.close(held)\n"
            "    os.read(gone, 1)\n"
            "while time.process_time() < (0.9 if child else 0.5): pass\n"
            "os._exit(0)\n")
    run = profile(tmp_path, sys.executable, "-c", code, options=["-v"])
    due = int(re.search(r"(\d+) due ", run.stderr)[1])
    assert due >= 0.95 * 1.4 * run.rate_hz
    assert abs(run.folded.total - due) <= folded.SIGMAS * due ** 0.5


def test_two_libraries_at_one_address(tmp_path):
    libraries = []
    for name in ("turn_a", "turn_b"):
        flags = (*PLAIN, "-shared", "-fPIC", f"-DFUNCTION={name}")
        path = compile_target("dlturns_library.c", tmp_path, flags, output=f"lib{name}.so")
        libraries += [path, name]
    rate_hz, ms = looks(550)
    run = profile(tmp_path, compile_target("dlturns.c", tmp_path), *libraries, ms, rate_hz=rate_hz)
    assert run.status == 0
    same, turns = map(int, re.search(r"^same (\d+) of (\d+)$", run.stdout, re.M).groups())
    assert same >= 0.9 * turns, "the libraries did not share an address: nothing was tested"
    run.assert_truth()


def test_children_of_a_destructor_are_sampled_from_inside(tmp_path):
    """
    A destructor that runs after flamerun's forks a child. The child is sampled like any other.
    """
    (tmp_path / "late.c").write_text("""
        #include <sys/wait.h>
        #include <time.h>
        #include <unistd.h>
        __attribute__((noinline)) void late_work(void)
        {
            while (clock() < CLOCKS_PER_SEC) {
            }
        }
        __attribute__((destructor)) static void end(void)
        {
            pid_t child = fork();
            if (!child) {
                late_work();
                _exit(0);
            }
            waitpid(child, NULL, 0);
        }
        int late;
    """)
    (tmp_path / "main.c").write_text("extern int late; int main(void) { return late; }")
    library = compile_target(tmp_path / "late.c", tmp_path, (*PLAIN, "-shared", "-fPIC"), "liblate.so")
    flags = (*PLAIN, "-Wl,--no-as-needed", f"-Wl,-rpath,{tmp_path}", library)
    program = compile_target(tmp_path / "main.c", tmp_path, flags)
    run = profile(tmp_path, program, options=["-v"])
    assert run.status == 0
    assert run.folded.below("late_work") >= 0.9 * run.folded.total > 0.5 * run.rate_hz
    assert "were stopped for" not in run.stderr, "the child was stopped, and sampled by ptrace"


def test_exceptions_thrown_while_sampled(tmp_path):
    run = profile(tmp_path, compile_target("exceptions.cc", tmp_path), "1400", clock_hz=5000)
    assert run.status == 0
    assert run.stdout == "every throw was caught\n"
    total = run.folded.total
    assert total > 5000
    # A stack may be incomplete before main and in the unwinder's hand-written returns.
    assert run.folded.where(lambda s: "main" in s) >= 0.98 * total
    assert run.folded.below("_Unwind_RaiseException") >= 0.3 * total
    assert run.folded.where(lambda s: any(n.startswith("catcher") for n in s)) >= 0.9 * total
