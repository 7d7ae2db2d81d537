# SPDX-License-Identifier: MIT
#
# Messages about CPU time without samples: the reason that they state is the real one, and no reason
# is guessed.
import re
import subprocess

import pytest

import outside
from profiled import PLAIN, compile_target, has_events, profile

RATE_HZ = 250


@pytest.fixture(scope="module")
def unseen(tmp_path_factory):
    return compile_target("unseen.c", tmp_path_factory.mktemp("unseen"))


def assert_outside(unseen, folder, name):
    """Assert that the advice of the hint, --outside, helps."""
    if outside.IS_CONFINED:
        return
    run = profile(folder, unseen, name, rate_hz=RATE_HZ, options=["--outside"])
    due = run.truth["burn"] * RATE_HZ / 1e9
    assert run.status == 0 and run.folded.below("burn") > 0.8 * due, run.stderr


@pytest.mark.confined
def test_without_pending_signals(unseen, tmp_path):
    """
    Each timer counts as a pending signal. A program that may have no pending signals is sampled
    from outside.
    """
    run = profile(tmp_path, "prlimit", "--sigpending=0", unseen, rate_hz=RATE_HZ)
    assert run.status == 0
    assert ("1 process could not be sampled from inside: a timer takes one of the user's pending "
            "signals, limited to 0 (ulimit -i)") in run.stderr
    assert "hint: 'ulimit -i unlimited'" in run.stderr and "-r 997" not in run.stderr
    if not outside.IS_CONFINED:
        assert run.folded.below("burn") > 0.7 * run.truth["burn"] * RATE_HZ / 1e9, run.stderr


def test_children_without_pending_signals(unseen, tmp_path):
    """The process asks for its own timer after each exec and fork, and each refusal is counted."""
    run = profile(tmp_path, "prlimit", "--sigpending=0", "sh", "-c", f"{unseen} & {unseen}; wait",
                  rate_hz=RATE_HZ)
    assert "seccomp" not in run.stderr
    assert "3 processes could not be sampled from inside: a timer takes" in run.stderr


def test_signal_calls_by_number(unseen, tmp_path):
    """
    syscall(2) returns the same for every signal as without flamerun, and the program is sampled.
    """
    alone = subprocess.run([unseen, "calls", "1"], text=True, stdout=subprocess.PIPE, check=True)
    assert alone.stdout.startswith("bad 0\n")
    run = profile(tmp_path, unseen, "calls", rate_hz=RATE_HZ)
    assert run.status == 0 and run.stdout.startswith("bad 0\n"), run.stdout
    due = run.truth["burn"] * RATE_HZ / 1e9
    assert run.folded.below("burn") > 0.9 * due, run.stderr


GUESSES = ("a higher rate", "less to do", "let it do more", "before flamerun saw")


def seconds(run, said):
    """
    The seconds that the message explains. Asserts that there is one reason with one hint, and no
    guess.
    """
    found = re.search(rf": ([\d.]+) s {said}$", run.stderr, re.M)
    assert found, run.stderr
    assert not [guess for guess in GUESSES if guess in run.stderr], run.stderr
    assert run.stderr.count("hint: ") == 1
    return float(found.group(1))


SIGNAL = r"while signal \d+ {}, by a system call of the program's own"
REASONS = {
    "blocks": (r"is \[unsampled\]", SIGNAL.format("was blocked")),
    # This program also ends by a direct system call, so it cannot report its CPU time.
    "ignores": (r"s of CPU time are in no sample", SIGNAL.format("was ignored")),
    "handles": (r"is \[unsampled\]", SIGNAL.format("had another handler")),
    "clone": (r"is \[unsampled\]", r"by threads that pthread_create\(\) did not make"),
}


@pytest.mark.parametrize("name", REASONS)
def test_the_reason_is_the_real_one(unseen, tmp_path, name):
    """The program uses 0.6 s. For the time after the last observation the reason is unknown."""
    what, why = REASONS[name]
    run = profile(tmp_path, unseen, name, rate_hz=RATE_HZ)
    assert run.status == 0 and run.folded.below("burn") == 0
    assert re.search(rf"flamerun: [\d.]+ (% )?{what}: ", run.stderr), run.stderr
    assert 0.3 < seconds(run, why) < 0.7
    assert "hint: --outside samples such programs\n" in run.stderr
    assert_outside(unseen, tmp_path, name)


def test_a_thread_that_is_asleep_at_each_tick(unseen, tmp_path):
    """
    On a busy machine the program is not asleep at each tick, and then there is nothing to explain.
    """
    run = profile(tmp_path, unseen, "ticks", rate_hz=RATE_HZ)
    assert not [guess for guess in GUESSES if guess in run.stderr], run.stderr
    if run.folded.self("[unsampled]") > 0.8 * run.folded.total:
        assert 0.3 < seconds(run, "by threads that ran for less than half of the kernel's tick of "
                                  r"\d+ ms at a time: the kernel checks timers at its ticks") < 0.7
        assert "hint: perf events do not wait for the tick: --clock=perf -r 997\n" in run.stderr
    if has_events():
        run = profile(tmp_path, unseen, "ticks", rate_hz=997, options=["--clock=perf"])
        assert run.folded.below("spin_to") > 0.8 * run.folded.total, run.folded.describe()


def test_short_programs_that_no_library_is_in(tmp_path):
    """
    Short static programs end before the tracer attaches. No higher rate must be advised for them.
    """
    program = compile_target("unseen.c", tmp_path, (*PLAIN, "-static"))
    run = profile(tmp_path, "sh", "-c", f"for i in $(seq 16); do {program} '' 30; done", rate_hz=RATE_HZ)
    assert "16 programs started without flamerun's library: statically linked" in run.stderr
    assert re.search(r"(is \[unsampled\]|are in no sample): [\d.]+ s by programs without flamerun's library, "
                     "before they were sampled from outside\n", run.stderr), run.stderr
    assert "-r 997" not in run.stderr


@pytest.mark.parametrize("name", ["timer", "queue"])
def test_threads_that_libc_makes_to_notify(unseen, tmp_path, name):
    """Threads that libc creates for notifications have the same stacks as without flamerun."""
    run = profile(tmp_path, unseen, name, rate_hz=RATE_HZ)
    if "no such thing here" in run.stdout:
        pytest.skip("no message queues here")
    due = run.truth["burn"] * RATE_HZ / 1e9
    assert run.folded.where(lambda stack: "notify" in stack and stack[-1] != "notify" and
                            stack.count("notify") == 1) > 0.9 * due, run.folded.describe()


def test_many_that_libc_makes_to_notify(unseen, tmp_path):
    """Each timer has its own value, even if there are more timers than the library keeps."""
    run = profile(tmp_path, unseen, "timers", rate_hz=RATE_HZ)
    assert run.status == 0 and run.stdout == "sum 1\n"


def test_work_of_the_kernels_own_threads(unseen, tmp_path):
    """
    The work of io_uring's kernel threads is in a frame of that name, except after the last
    observation.
    """
    run = profile(tmp_path, unseen, "uring", rate_hz=RATE_HZ)
    if "no such thing here" in run.stdout:
        pytest.skip("no io_uring here")
    assert run.folded.self("[kernel: io_uring worker]") > 0.5 * run.folded.total, \
        run.folded.describe()
    assert not [guess for guess in GUESSES if guess in run.stderr], run.stderr


def test_a_share_without_a_known_reason(unseen, tmp_path):
    """
    No reason is given: observations are too late for a short run, and a few short threads are
    chance.
    """
    run = profile(tmp_path, unseen, "", "100", rate_hz=RATE_HZ)
    assert "system call of the program's own" not in run.stderr
    assert "did not make" not in run.stderr


def test_the_action_is_reset_past_libc(unseen, tmp_path):
    run = profile(tmp_path, unseen, "resets", rate_hz=RATE_HZ)
    assert run.status < 0
    assert f"signal {-run.status} (" in run.stderr
    assert "reset the signal's action by a system call of its own\n" in run.stderr
    assert "hint: --outside samples without signals\n" in run.stderr
    assert "let it do more" not in run.stderr
    assert_outside(unseen, tmp_path, "resets")


def test_killed_by_somebody_else(tmp_path):
    """
    A program that kills itself with SIGPROF or SIGVTALRM did not reset the signal's action, so no
    message must say that it did.
    """
    for number in ("PROF", "VTALRM"):
        run = profile(tmp_path, "bash", "-c",
                      f"for i in {{1..50000}}; do :; done; kill -{number} $$", rate_hz=RATE_HZ)
        assert run.status < 0
        assert "system call of its own" not in run.stderr
