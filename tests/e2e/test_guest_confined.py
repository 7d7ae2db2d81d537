# SPDX-License-Identifier: MIT
#
# Programs that forbid system calls which sampling needs continue unharmed. Later samples are in the
# picture, or a message says why they are not.
import os
import pathlib
import subprocess

import pytest

import outside
from profiled import compile_target, profile

RATE_HZ = 250


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_target("confined.c", tmp_path_factory.mktemp("confined"))


def shape(text):
    """The first word of each line, so the output without times."""
    return [line.split()[0] for line in text.splitlines()]


def run_both(program, folder, *words, **options):
    """
    Run a program alone (with BRIEF set) and under flamerun. Exit status and output, except for
    times, must be equal.
    """
    alone = subprocess.run([program, *words], text=True, stdout=subprocess.PIPE,
                           env={**os.environ, "BRIEF": "1"})
    if "no such thing here" in alone.stdout:
        pytest.skip("the kernel has none")
    run = profile(folder, program, *words, rate_hz=RATE_HZ, options=["-v"], **options)
    assert run.status == alone.returncode, run.stderr
    assert shape(run.stdout) == shape(alone.stdout)
    return run


def assert_sampled(run, function, least=0.5):
    """
    Assert that at least the share @least of the CPU time that the function used is below it in the
    picture.
    """
    due = run.truth[function] * RATE_HZ / 1e9
    assert due > 20, "too short to tell"
    assert run.folded.below(function) > least * due, run.folded.describe() + run.stderr


# Under this restriction the program cannot exec another one, because the dynamic linker reads the
# time stamp counter.
@pytest.mark.parametrize("how", ["prctl", "syscall", "thread", "fork"])
def test_without_the_time_stamp_counter(program, tmp_path, how):
    run = run_both(program, tmp_path, "tsc", how)
    assert_sampled(run, "before")
    assert_sampled(run, "after")


def assert_books(run, *functions):
    """Assert that 90 % of the CPU time of @functions is in the picture, under any names."""
    due = sum(run.truth[function] for function in functions) * RATE_HZ / 1e9
    assert run.folded.total > 0.9 * due - 4, run.folded.describe() + run.stderr


WENT_ON = "1 process continued without flamerun's library: "
OUTSIDE = "hint: --outside samples such programs from their start\n"


@pytest.mark.confined
def test_system_calls_of_its_own(program, tmp_path):
    run = run_both(program, tmp_path, "dispatch")
    assert f"{WENT_ON}it handles system calls itself" in run.stderr and OUTSIDE in run.stderr
    assert_sampled(run, "before")
    assert_books(run, "before", "dispatch")
    if not outside.IS_CONFINED:
        assert run.folded.below("dispatch") > 0


# Sampling continues if a filter forbids one of these calls.
@pytest.mark.parametrize("how, call", [
    ("syscall", "none"), ("syscall", "timer_create"),
    *(("prctl", call) for call in ["none", "futex", "getrusage", "prctl", "process_vm_readv",
                                   "readlinkat", "timer_create", "timer_delete", "timer_settime"])])
def test_filters_that_leave_what_it_takes(program, tmp_path, how, call):
    run = run_both(program, tmp_path, "filter", how, call)
    assert "flamerun's library" not in run.stderr
    assert_sampled(run, "before", 0.9)
    assert_sampled(run, "after", 0.9)


@pytest.mark.confined
@pytest.mark.parametrize("call, said", [
    ("clock_gettime", "a seccomp filter forbids getpid, gettid, rt_sigprocmask or clock_gettime"),
    ("getpid", "a seccomp filter forbids getpid"), ("gettid", "a seccomp filter forbids getpid"),
    ("rt_sigprocmask", "a seccomp filter forbids getpid"),
    ("rt_sigreturn", "a seccomp filter forbids rt_sigreturn")])
def test_filters_that_do_not(program, tmp_path, call, said):
    run = run_both(program, tmp_path, "filter", "prctl", call)
    assert f"{WENT_ON}{said}" in run.stderr and OUTSIDE in run.stderr
    assert_sampled(run, "before")
    if "after" in run.truth:
        assert_books(run, "before", "after")


@pytest.mark.parametrize("call", ["none", "clock_gettime", "rt_sigprocmask"])
def test_its_own_signal_under_a_filter(program, tmp_path, call):
    run = run_both(program, tmp_path, "filter", "prctl", call, "signal")
    assert "caught: 1\n" in run.stdout


def test_a_filter_that_is_nowhere(program, tmp_path):
    """If the kernel refuses a filter or code at an invalid address, sampling continues."""
    run = run_both(program, tmp_path, "filter", "nowhere", "none", "threads")
    assert "-1 1 -1 1\n" in run.stdout
    assert "flamerun's library" not in run.stderr
    assert_sampled(run, "after", 0.9)


@pytest.mark.confined
@pytest.mark.parametrize("then, said", [
    ("threads", "4 threads could not be sampled: a seccomp filter forbids timers"),
    ("fork", "1 fork began without flamerun's library: a seccomp filter forbids timers")])
def test_beginnings_under_a_filter(program, tmp_path, then, said):
    run = run_both(program, tmp_path, "filter", "prctl", "none", then)
    assert "seccomp" not in run.stderr
    assert_sampled(run, "after", 0.9)
    run = run_both(program, tmp_path, "filter", "prctl", "timer_create", then)
    assert said in run.stderr and OUTSIDE in run.stderr


def clock_is_the_kernels():
    """Returns whether the vDSO reads the time by a system call here."""
    source = pathlib.Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return not source.exists() or source.read_text().strip() not in (
        "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")


@pytest.mark.parametrize("call", ["none", "clock_gettime", "getpid", "getrusage", "openat", "prctl",
                                  "rt_sigprocmask", "timer_delete"])
def test_filters_that_nobody_sees(program, tmp_path, call):
    if call == "clock_gettime" and clock_is_the_kernels():
        pytest.skip("a sample takes a call here")
    run = run_both(program, tmp_path, "filter", "instruction", call)
    assert f"{WENT_ON}a seccomp filter was installed without libc" in run.stderr and OUTSIDE in run.stderr
    assert_sampled(run, "before")
    if "after" in run.truth:
        assert_books(run, "before", "after")


@pytest.mark.parametrize("how", ["prctl", "instruction"])
@pytest.mark.parametrize("call", ["none", "getpid", "prctl", "readlinkat"])
def test_images_that_inherit_a_filter(program, tmp_path, how, call):
    run = run_both(program, tmp_path, "filter", how, call, "exec")
    assert "1 program started without flamerun's library: their parent had a seccomp filter" in run.stderr
    assert_books(run, "before", "after")


@pytest.mark.confined
@pytest.mark.parametrize("how", ["prctl", "instruction"])
def test_images_of_one_that_was_never_sampled(program, tmp_path, how):
    run = run_both(program, tmp_path, "at-once", how, "prctl")
    assert "1 program started without flamerun's library: their parent had a seccomp filter" in run.stderr
    assert_books(run, "after")
