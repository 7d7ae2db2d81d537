# SPDX-License-Identifier: MIT
#
# The option --clock: sample by perf events, faster than the kernel's timer tick. These tests check
# the number of samples, the time in the kernel, that the program is not affected, and the messages
# if perf events are refused.
import pathlib
import re
import shutil
import subprocess

import pytest

import profiled

PARANOID = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")


@pytest.fixture(scope="session")
def events():
    """Skip the test if the kernel or a sandbox allows no perf events."""
    result = subprocess.run([profiled.BUILD / "flamerun", "-q", "--clock=perf", "-r", "10000", "-o",
                             "/dev/null", "--format", "folded", "--", "true"], text=True,
                            capture_output=True, check=False)
    if result.returncode == 125:
        pytest.skip(result.stderr.splitlines()[0])
    assert result.returncode == 0, result.stderr


def books(stderr):
    """How many samples were due, how many were taken, and how many of these are overruns."""
    return [int(number) for number in re.search(
        r"(\d+) due \(.*\) = (\d+) sampled \((\d+) by overrun\)", stderr).groups()]


def test_more_stacks_than_ticks(tmp_path, events):
    """
    Perf events take all requested samples; the timer tick allows at most 1,000 per second. The true
    shares are 2/3 and 1/3.
    """
    program = profiled.compile_target("split.c", tmp_path)
    taken = {}
    for clock in ("perf", "tick"):
        run = profiled.profile(tmp_path, program, "1000", rate_hz=8000,
                               options=["-v", f"--clock={clock}"])
        due, sampled, overruns = books(run.stderr)
        taken[clock] = sampled - overruns
        assert abs(sampled - due) < 0.05 * due, run.stderr
        if clock == "perf":
            # 5 sigma of 8,000 samples are 2.6 percentage points. Interrupts at the tick add some
            # error.
            assert abs(run.folded.below("heavy") / run.folded.total - 2 / 3) < 0.05, run.folded.describe()
    assert taken["perf"] > 3 * taken["tick"], taken


def test_time_in_the_kernel(tmp_path, events):
    """
    The true time in the kernel is measured by ticks, 160 for each of two functions: 5 sigma are 40
    %.
    """
    program = profiled.compile_target("in_kernel.c", tmp_path)
    run = profiled.profile(tmp_path, program, "2000", rate_hz=4000, options=["-v", "--clock=perf"])
    total = sum(run.truth.values())
    for name, true_ns in run.truth.items():
        share = run.folded.below(name) / run.folded.total
        assert abs(share - true_ns / total) < 0.4 * true_ns / total, (name, run.folded.describe())
    # A stack in a system call ends with the call's name. A page fault has no frame of its own.
    reads = run.folded.where(lambda stack: stack[-1] == "[kernel: read]")
    assert reads > 0.8 * run.folded.below("reads"), run.folded.describe()


@pytest.mark.parametrize("rate_hz", [1000, 10000])
def test_execs_and_their_signals(tmp_path, events, rate_hz):
    program = profiled.compile_target("exec_masked.c", tmp_path)
    run = profiled.profile(tmp_path, program, "40", rate_hz=rate_hz, options=["--clock=perf"])
    assert (run.status, run.stdout) == (0, "bad 0\n"), run.stderr


def test_the_program_has_half_of_its_time(tmp_path, events):
    """
    Sampling takes at most half of the CPU time, even if a walk takes longer than the sampling
    period.
    """
    program = profiled.compile_target("recursion.c", tmp_path)
    run = profiled.profile(tmp_path, program, "1500", "1000", rate_hz=10000,
                           options=["-v", "--clock=perf"])
    taken = float(re.search(r"(\S+) % of the CPU time was spent taking samples\n", run.stderr)[1])
    assert taken < 60, run.stderr
    assert "deferred to later ones" in run.stderr


@pytest.mark.skipif(not shutil.which("lua5.4"), reason="no lua5.4 here")
def test_it_has_half_by_its_own_account(tmp_path, events):
    """
    The program's own clock also shows that sampling is limited, with walks that take milliseconds.
    """
    script = tmp_path / "deep.lua"
    script.write_text("local function spins() local x = 0 for i = 1, 2e7 do x = x + i % 7 end return x end\n"
                      "local function deep(n) return 1 + (n > 0 and deep(n - 1) or spins()) end\n"
                      "deep(10000) print(os.clock())\n")
    alone = float(subprocess.run(["lua5.4", script], text=True, capture_output=True, check=True).stdout)
    run = profiled.profile(tmp_path, "sh", "-c", 'ulimit -t 20 && exec lua5.4 "$0"', script, rate_hz=4000,
                           options=["-v", "--clock=perf", "--no-waits"])
    assert run.status == 0 and float(run.stdout) < 4 * alone, run.stderr
    assert "deferred to later ones" in run.stderr


def test_no_descriptor_of_ours(tmp_path, events):
    script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; ls /proc/$$/fd"
    alone = subprocess.run(["sh", "-c", script], text=True, capture_output=True, check=True)
    run = profiled.profile(tmp_path, "sh", "-c", script, rate_hz=10000, options=["--clock=perf"])
    assert run.stdout == alone.stdout


def test_the_limit_of_files_is_the_programs(tmp_path, events):
    """flamerun raises its own limit on descriptors, but the program gets the original limit."""
    work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    script = f"{work}; ulimit -Sn >> limits; sh -c 'ulimit -Sn' >> limits"
    subprocess.run(["sh", "-c", 'ulimit -Sn 500 && exec "$@"', "sh", profiled.BUILD / "flamerun",
                    "-q", "-r", "10000", "--clock=perf", "--repeat=2", "-o", "out.folded", "--",
                    "sh", "-c", script], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "limits").read_text().split() == ["500"] * 4


def test_what_a_refusal_says(tmp_path):
    """
    If perf events are refused, --clock=perf is an error; without the option the timer tick is used
    instead.
    """
    confine = tmp_path / "confine"
    subprocess.run(["gcc", "-D_GNU_SOURCE", profiled.ROOT / "tests" / "e2e" / "confine.c", "-o",
                    confine], check=True)
    tmp_path.chmod(0o777)

    def call(*options):
        return subprocess.run([confine, "65534", profiled.BUILD / "flamerun", *options, "-r", "4000",
                               "-o", "out.folded", "--", "true"], text=True, capture_output=True,
                              check=False, cwd=tmp_path, timeout=60)
    if call("--clock=tick").returncode:
        pytest.skip("no other user may run this build")
    why = "kernel.perf_event_paranoid is \\d+" if int(PARANOID.read_text()) > 2 else \
        "a sandbox forbids perf_event_open\\(2\\)"
    result = call("--clock=perf")
    assert result.returncode == 125
    first, hint = result.stderr.splitlines()
    assert re.fullmatch(f"flamerun: cannot sample by perf events: {why}", first)
    assert hint.startswith("flamerun: hint: --clock=auto samples at the kernel's tick then, ")
    result = call()
    assert result.returncode == 0
    assert len(re.findall(f"at the kernel's tick, \\d+ times a second: no perf events, {why}\n",
                          result.stderr)) == 1
    assert "perf events" not in call("--clock=tick").stderr


def test_below_the_tick_nothing_changes(run):
    result = run("-v", "-r", "100", "--clock=perf", "-o", "out.folded", "--", "true")
    assert result.returncode == 0 and "perf events" not in result.stderr
