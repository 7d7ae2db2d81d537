# SPDX-License-Identifier: MIT
#
# Small stacks: alternate signal stacks, threads and coroutines. Below the stack pointer, sampling
# may use only the kernel's signal frame and little more. All of these stacks are sampled.
import shutil
import subprocess

import pytest

from profiled import compile_target, profile

OWN_BYTES = 512
# Sizes in bytes of alternate stacks in OCaml, Rust, Erlang and SWI-Prolog, and a large one.
ALTERNATE = (6144, 8192, 9536, 12288, 65536)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_target("small_stacks.c", tmp_path_factory.mktemp("small_stacks"))


@pytest.fixture(scope="module")
def frame_bytes():
    """The size of the largest signal frame of this kernel and CPU, with the red zone."""
    text = subprocess.run(["/bin/true"], env={"LD_SHOW_AUXV": "1"}, stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return int(next(line.split()[1] for line in text.splitlines() if "MINSIGSTKSZ" in line)) + 128


def bytes_of(program, tmp_path, *case):
    """
    The bytes that are written below the stack pointer, as the program reports them, alone and
    profiled.
    """
    alone = int(subprocess.run([program, *case], stdout=subprocess.PIPE, check=True).stdout.split()[0])
    run = profile(tmp_path, program, *case, rate_hz=997)
    assert run.status == 0 and run.folded.total > 50, run.stderr
    return alone, int(run.stdout.split()[0])


@pytest.mark.parametrize("size", ALTERNATE)
def test_an_alternate_stack_takes_no_time_away(program, tmp_path, size):
    """No time is attributed to the function that ran before the alternate stack was set."""
    profile(tmp_path, program, "alternate", str(size), rate_hz=997).assert_truth()


def test_a_stack_too_small_for_a_signal_ends_sampling(program, tmp_path, frame_bytes):
    """
    If a signal does not fit onto the stack, sampling ends, because the kernel would kill the
    program.
    """
    if frame_bytes < 2048:
        pytest.skip("a signal's frame fits the smallest stack here")
    run = profile(tmp_path, program, "alternate", "2048", rate_hz=997)
    assert run.status == 0, run.stderr
    assert run.folded.below("behind") == 0, run.folded.describe()
    assert 0.6 < run.folded.self("[unsampled]") / run.folded.total < 0.9, run.folded.describe()
    assert "alternate signal stack is too small for a signal" in run.stderr


def test_bytes_below_the_stack_pointer(program, tmp_path, frame_bytes):
    alone, profiled = bytes_of(program, tmp_path, "below")
    assert profiled <= max(alone, frame_bytes + OWN_BYTES)


def test_memory_beside_a_coroutine_is_its_owners(program, tmp_path, frame_bytes):
    assert bytes_of(program, tmp_path, "neighbour", str(frame_bytes + OWN_BYTES)) == (0, 0)


def test_a_freed_alternate_stack_is_written_by_the_kernel_alone(program, tmp_path, frame_bytes):
    assert bytes_of(program, tmp_path, "freed")[1] <= frame_bytes + OWN_BYTES


def test_threads_with_small_stacks_live(program, tmp_path, frame_bytes):
    run = profile(tmp_path, program, "thread", str(frame_bytes + OWN_BYTES), rate_hz=997)
    assert run.status == 0 and run.folded.total > 50, run.stderr


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace here")
def test_no_signal_is_unblocked_in_a_walk(tmp_path):
    """
    No signal may be unblocked during a walk, because its handler could start a second walk on the
    same stack.
    """
    log = tmp_path / "log"
    code = "import time\nwhile time.process_time() < 1: sum(range(1000))"
    run = profile(tmp_path, "strace", "-o", log, "-e", "trace=rt_sigprocmask,rt_sigreturn",
                  "/usr/bin/python3", "-c", code)
    assert run.status == 0, run.stderr
    lines = log.read_text().splitlines()
    walks = [i for i, line in enumerate(lines) if line.startswith("--- SIGVTALRM")]
    assert len(walks) > 50
    assert all(lines[i + 1].startswith("rt_sigreturn") for i in walks if i + 1 < len(lines))
