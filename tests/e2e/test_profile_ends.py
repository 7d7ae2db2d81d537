# SPDX-License-Identifier: MIT
#
# CPU time that the kernel uses for a program before its first instruction and after its last. It is
# compared with the time charged to flamerun's parent and with the programs' own measurements.
import os
import pathlib
import re
import subprocess
import threading
import time

import pytest

import folded
from profiled import BUILD, compile_target

# Credits are whole samples, so each kind of credit may be off by half a sample.
ROUNDING = 3
BOOKS = re.compile(r"(\d+) due .* = (\d+) sampled .* \+ (\d+) credited \+ (\d+) exec \+ "
                   r"(\d+) exit \+ (\d+) dropped \+ (\d+) torn \+ (\d+) paused")


class Tracer(threading.Thread):
    """
    Measures the CPU time of flamerun's tracer process, which is also charged to flamerun's parent.
    """

    def __init__(self, flamerun):
        super().__init__(daemon=True)
        self.flamerun, self.cpu_s = flamerun, 0
        self.start()

    def find(self):
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                words = stat.read_text(errors="replace").split()
            except OSError:  # the process has ended
                continue
            if words[1] == "(flamerun)" and int(words[3]) == self.flamerun:
                return int(words[0])
        return None

    def run(self):
        tracer = None
        while os.path.exists(f"/proc/{self.flamerun}"):
            tracer = tracer or self.find()
            try:
                self.cpu_s = time.clock_gettime(~tracer << 3 | 2) if tracer else 0
            except OSError:
                break
            time.sleep(0.002)


class Held:
    """
    One run as a child of the test: flamerun's accounting, and the number of samples that are due
    for the CPU time that the kernel charged to the test.
    """

    def __init__(self, folder, *command, rate_hz=997):
        out = folder / "held.folded"
        process = subprocess.Popen(
            [BUILD / "flamerun", "-v", "-r", str(rate_hz), "-o", out, "--", *command],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        tracer = Tracer(process.pid)
        self.stdout, self.stderr = process.stdout.read(), process.stderr.read()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        # Read flamerun's own CPU clock while flamerun is a zombie. All other time was used by the
        # program.
        own_s = time.clock_gettime(~process.pid << 3 | 2)
        _, self.status, usage = os.wait4(process.pid, 0)
        process.returncode = self.status
        tracer.join()
        self.outside = (usage.ru_utime + usage.ru_stime - own_s - tracer.cpu_s) * rate_hz
        (self.due, self.sampled, self.credited, self.exec, self.exit, *lost) = map(
            int, BOOKS.search(self.stderr).groups())
        self.total = self.sampled + self.credited + self.exec + self.exit + sum(lost)
        self.folded = folded.Folded(out.read_text())

    def assert_held(self):
        """
        Assert that the accounting is right within 2 %, or within three standard deviations of
        samples taken at random times.
        """
        off = abs(self.total - self.outside)
        by_chance = 3 * (self.sampled + self.credited) ** 0.5
        assert off <= max(0.02 * self.outside, by_chance) + ROUNDING, self.stderr

    @property
    def truth(self):
        return {name: int(ns) for name, ns in re.findall(r"^(\w+) (\d+)$", self.stdout, re.M)}


def test_memory_that_is_freed_at_the_end(tmp_path):
    program = compile_target("ends.c", tmp_path)
    told = subprocess.run([program, "free", "1000"], capture_output=True, text=True, check=True)
    freeing = int(told.stdout.split()[1]) * 997 / 1e9
    assert freeing > 4 * ROUNDING, "memory is freed too fast here to be measured"
    kept = Held(tmp_path, program, "keep", "1000")
    assert 0.5 * freeing <= kept.exit <= 2 * freeing
    assert kept.folded.self("[exit]") == kept.exit
    # A single thread is sampled as exactly as its timer counts.
    assert abs(kept.total - kept.outside) <= 0.002 * kept.outside + ROUNDING, kept.stderr
    # If memory is freed while the program can be sampled, the time for this is sampled.
    freed = Held(tmp_path, program, "free", "1000")
    assert freed.exit <= 0.1 * freeing + 1
    assert freed.folded.where(lambda s: "munmap" in s[-1]) >= 0.5 * freeing


@pytest.mark.confined
@pytest.mark.parametrize("mode", ("fork", "vfork", "spawn"))
def test_a_storm_of_processes(tmp_path, mode):
    program = compile_target("ends.c", tmp_path)
    # If a shell starts the process, the process itself must report the CPU time of the children
    # that it has waited for.
    run = Held(tmp_path, "sh", "-c", f"{program} {mode} 400; :")
    run.assert_held()
    samples = {name: ns * 997 / 1e9 for name, ns in run.truth.items()}
    # The time from exec to main. Part of it is sampled, in the library's constructor.
    assert 0.75 * samples["before"] <= run.exec + run.folded.below("[unsampled]")
    assert run.exec <= 1.02 * samples["before"] + ROUNDING
    assert 0.5 * samples["after"] - ROUNDING <= run.exit <= 1.5 * samples["after"] + ROUNDING
    assert run.folded.below("[exit of children]") == 0


@pytest.mark.sanitized
@pytest.mark.confined
def test_threads_begin_and_end(tmp_path):
    """The CPU time of threads before and after their function is accounted for."""
    run = Held(tmp_path, compile_target("ends.c", tmp_path), "threads", "4000")
    run.assert_held()
    outside = run.truth["outside"] * 997 / 1e9
    assert outside > 4 * ROUNDING
    # CPU time without a sample that threads used in their function is below the function. Only the
    # time before and after the function is counted here.
    unsampled = run.folded.where(lambda s: s[-1] == "[unsampled]" and "measure" not in s)
    assert 0.4 * outside - ROUNDING <= unsampled <= 1.2 * outside + ROUNDING


@pytest.mark.confined
def test_work_after_the_last_destructor(tmp_path):
    """
    Work after the last destructor is sampled and is not counted as the kernel's time for the exit.
    """
    run = Held(tmp_path, compile_target("ends.c", tmp_path), "flush", "400")
    assert run.folded.below("late_work") >= 0.8 * 0.4 * 997
    assert run.exit <= 0.05 * run.outside
    run.assert_held()


def test_ends_of_several_names(tmp_path):
    """
    The exit time of several programs that their parent was charged for is not divided among them.
    """
    program = compile_target("ends.c", tmp_path)
    other = compile_target("idle.c", tmp_path)
    script = f"{program} keep 500; {other}; {program} keep 500; :"
    run = Held(tmp_path, "sh", "-c", script)
    assert run.exit >= ROUNDING
    assert run.folded.where(lambda s: s[-2:] == ("sh", "[exit of children]")) >= 0.5 * run.exit
    assert run.folded.where(lambda s: s[-2:] == ("ends", "[exit]")) == 0
    assert abs(run.total - run.outside) <= 0.01 * run.outside + ROUNDING, run.stderr


def test_who_is_killed_ends_in_its_box(tmp_path):
    program = compile_target("ends.c", tmp_path)
    # The samples of the last two ticks before the kill may be lost, so make the kernel free much
    # memory. How much memory takes that long depends on the machine.
    for mib in (1000, 2000, 4000):
        told = subprocess.run([program, "free", str(mib)], capture_output=True, text=True,
                              check=True)
        freeing = int(told.stdout.split()[1]) * 997 / 1e9
        if freeing > 2 * 20:
            break
    assert freeing > 2 * 10
    run = Held(tmp_path, "sh", "-c", f"{program} kill {mib}; :")
    exit_ = run.folded.where(lambda s: s[-2:] == ("ends", "[exit]"))
    assert 0.5 * freeing <= exit_ <= 2 * freeing, run.stderr
    assert run.folded.below("[exit of children]") == 0
