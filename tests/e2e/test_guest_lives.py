# SPDX-License-Identifier: MIT
#
# Processes in unusual states continue unharmed: confined processes, processes forked without libc,
# in other root folders and namespaces, and without timers.
import functools
import os
import re
import resource
import shutil
import subprocess

import pytest

import outside
from profiled import LOADER, compile_target, profile

pytestmark = pytest.mark.confined

CASES = ["confined-by-prctl", "confined-by-syscall", "new-pid-namespace", "raw-fork", "no-timers",
         "fork-refused", "dumped"]
TABLES_BYTES = 6 << 20
CLOCKS = {"cpu": {"rate_hz": 997}, "monotonic": {"clock_hz": 5000}}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_target("odd_lives.c", tmp_path_factory.mktemp("odd_lives"))


def alone(*command, env=None):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=env)


@functools.cache
def life_alone(program, case):
    return alone(program, case)


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("case", CASES)
def test_lives_go_on(program, tmp_path, case, clock):
    expected = life_alone(program, case)
    if expected.stdout.startswith("no namespaces here"):
        pytest.skip("unshare is refused")
    run = profile(tmp_path, program, case, **CLOCKS[clock])
    assert run.folded.total > 30, "it was not sampled: nothing was tested"
    assert run.stdout == expected.stdout
    assert run.status == expected.returncode


@pytest.mark.parametrize("others", ["", "/no/such/other.so"])
def test_an_image_in_another_root_is_not_told_of_the_library(tmp_path, others):
    # The child is static, because the new root folder has no libraries. A dynamic child would also
    # make ld.so print an error.
    program = compile_target("odd_lives.c", tmp_path, output="dynamic")
    root = tmp_path / "root"
    root.mkdir()
    compile_target("odd_lives.c", root, flags=("-O2", "-static"), output="child")
    env = {"LD_PRELOAD": others} if others else {}
    expected = alone(program, "other-root", root, env=env).stdout
    run = profile(tmp_path, program, "other-root", root, rate_hz=997, env=env)
    assert run.folded.total > 30, "it was not sampled: nothing was tested"
    assert run.stdout == expected


@pytest.mark.parametrize("way, limit_kib", [("function", None), ("function", 8192), ("syscall", 8192),
                                            ("threads", None), ("threads", 24576)])
def test_memory_is_locked_as_without_the_library(tmp_path, way, limit_kib):
    """mlockall() must not lock the arena of 32 MiB or more, because the limit usually is 8 MiB."""
    program = compile_target("locks_memory.c", tmp_path)
    words = [program, way, *([str(limit_kib)] if limit_kib else [])]
    expected = alone(*words)
    # With threads, the library's tables stay mapped and count against the limit.
    is_too_little = way == "threads" and outside.IS_CONFINED and \
        0 <= resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] < TABLES_BYTES + (8 << 20)
    if expected.returncode or is_too_little:
        pytest.skip("so much may not be locked here")
    run = profile(tmp_path, *words)
    assert run.status == 0, run.stderr
    locked_kib = [int(re.search(r"mlockall: done; (\d+) KiB", text)[1])
                  for text in (expected.stderr, run.stderr)]
    assert locked_kib[1] - locked_kib[0] < (16384 if way == "threads" else 4096)
    is_given_up = way == "threads" and limit_kib
    assert ("would exceed the limit of locked memory" in run.stderr) == bool(is_given_up)
    for name in ("before", "after")[:1 if is_given_up else 2]:
        due = run.truth[name] * run.rate_hz / 1e9
        assert run.folded.below(name) == pytest.approx(due, rel=.5, abs=5), run.folded.describe()


def test_a_replaced_preload_keeps_the_library(tmp_path):
    """Children that fork, vfork and posix_spawn make with another LD_PRELOAD are sampled."""
    program = compile_target("forkexec.c", tmp_path)
    run = profile(tmp_path, program, "1000", "LD_PRELOAD=libm.so.6", rate_hz=997,
                  options=["-v"])
    assert run.status == 0 and len(run.truth) == 5
    for name, time_ns in run.truth.items():
        due = time_ns * run.rate_hz / 1e9
        assert due > 100, "too short to tell"
        assert abs(run.folded.below(name) - due) < 0.5 * due, run.folded.describe() + run.stderr
    assert "without flamerun's library" not in run.stderr


@pytest.mark.parametrize("command, said", [
    (["env", "-i", "env"], "their environment was cleared"),
    (["env", "LD_PRELOAD=libm.so.6", "/bin/sh", "-c", "echo ${LD_PRELOAD%:*}"], None)])
def test_what_a_changed_environment_is_like(tmp_path, command, said):
    run = profile(tmp_path, *command)
    expected = alone(*command)
    assert (run.stdout, run.status) == (expected.stdout, expected.returncode)
    if said:
        assert f"1 program started without flamerun's library: {said}\n" in run.stderr
    else:
        assert "without flamerun's library" not in run.stderr


@pytest.mark.parametrize("kind", ["another C library", "AddressSanitizer"])
@pytest.mark.parametrize("before", ["", "LD_PRELOAD= "])
def test_programs_that_the_library_would_end(tmp_path, kind, before):
    """
    Run the program from a shell, with flamerun's LD_PRELOAD in the environment or removed from it.
    """
    flags = ["-O2", "-fsanitize=address"]
    if kind == "another C library":
        # Use glibc's loader under musl's name. It would load the library if the library was still
        # preloaded.
        loader = tmp_path / "ld-musl.so.1"
        loader.symlink_to(LOADER)
        flags = ["-O2", f"-Wl,--dynamic-linker={loader}"]
    try:
        program = compile_target("odd_lives.c", tmp_path, flags)
    except subprocess.CalledProcessError:
        pytest.skip("no runtime of this kind here")
    command = ["sh", "-c", f"{before}{program} child; exit $?"]
    expected = alone(*command)
    if "LD_PRELOAD" not in expected.stdout:
        pytest.skip("it does not run here alone, either")
    run = profile(tmp_path, *command)
    assert run.stdout == expected.stdout
    assert run.status == 0
    assert "1 program started without flamerun's library: " in run.stderr and kind in run.stderr


def test_an_emulator_whose_guest_loads_the_library_again(tmp_path):
    """
    Two copies of the library in one process would take each other's signals, and qemu 7.2 ends a
    guest program that handles such a signal.
    """
    emulator = f"qemu-{os.uname().machine}"
    if not shutil.which(emulator):
        pytest.skip("not installed")
    program = compile_target("split.c", tmp_path)
    if alone(emulator, program, "1").returncode:
        pytest.skip("it does not run here alone, either")
    run = profile(tmp_path, emulator, program, "500")
    assert run.status == 0 and len(run.truth) == 2, run.stderr
    due = run.truth_s * run.rate_hz
    assert due / 2 < run.folded.total < 2 * due + run.begin, run.folded.describe() + run.stderr


@pytest.mark.sanitized
@pytest.mark.parametrize("way", ["by-function", "by-syscall"])
def test_names_of_a_program_that_leaves_proc_behind(program, tmp_path, way):
    root = tmp_path / "root"
    root.mkdir()
    run = profile(tmp_path, program, "root-left", root, way, rate_hz=997)
    if run.stdout.startswith("no chroot here"):
        pytest.skip("chroot is refused")
    assert run.stdout == "end\n"
    assert run.folded.below("root_left") > 0.8 * run.folded.total


def test_names_of_a_program_whose_main_thread_ended(program, tmp_path):
    run = profile(tmp_path, program, "main-gone", rate_hz=997)
    assert run.stdout == "end\n"
    assert run.folded.below("goes_on") > 0.8 * run.folded.total


def test_a_tracer_finds_no_child_of_ours(program, tmp_path):
    expected = alone(program, "any-child", "0")
    run = profile(tmp_path, program, "any-child", "3", clock_hz=1500)
    assert run.stdout == expected.stdout
    assert run.status == expected.returncode
    # These are more samples than the pool holds, so flamerun must have drained it while the program
    # ran.
    assert run.folded.total > 1500
    assert "rings were full" not in run.stderr


def test_refused_forks_are_not_waited_for(program, tmp_path):
    run = profile(tmp_path, program, "fork-refused", rate_hz=997)
    assert "still run" not in run.stderr


def test_a_limited_address_space_is_the_programs(program, tmp_path):
    # The limit allows the memory that the program needs and allocates, but not the arena in
    # addition.
    limited = ["sh", "-c", "ulimit -v 102400; exec \"$@\"", "sh", program, "allocate"]
    expected = alone(*limited)
    assert expected.stdout == "allocated\nend\n"
    run = profile(tmp_path, *limited, rate_hz=997)
    assert run.stdout == expected.stdout
    wide = ["sh", "-c", "ulimit -v 409600; exec \"$@\"", "sh", program, "allocate-more"]
    run = profile(tmp_path, *wide, rate_hz=997)
    assert run.stdout == alone(*wide).stdout == "allocated\nend\n"


def test_a_clock_and_copies_of_the_programs_own_are_not_called(tmp_path):
    program = compile_target("own_calls.c", tmp_path, flags=("-O2", "-rdynamic", "-fno-builtin"))
    run = profile(tmp_path, program, rate_hz=997)
    assert run.folded.total > 30, "it was not sampled: nothing was tested"
    assert run.stdout == "called 0 times\n"
