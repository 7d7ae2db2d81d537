# SPDX-License-Identifier: MIT
#
# Start programs and sample them from outside, by ptrace.
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import folded
import profiled
from profiled import PLAIN

FLAMERUN = profiled.BUILD / "flamerun"


# tests/targets/split.c in Go.
GO = """
package main

import ("fmt"; "os"; "strconv"; "syscall"; "time")

//go:noinline
func spin(units int) uint64 {
	x := uint64(units)
	for i := 0; i < 20000*units; i++ { x = x*6364136223846793005 + 1442695040888963407 }
	return x
}

//go:noinline
func heavy(units int) uint64 { return spin(2*units) + 1 }

//go:noinline
func light(units int) uint64 { return spin(units) + 1 }

func cpu() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func main() {
	ms, _ := strconv.Atoi(os.Args[1])
	var sum uint64
	var heavy_ns, light_ns time.Duration
	for heavy_ns+light_ns < time.Duration(ms)*time.Millisecond {
		start := cpu()
		sum += heavy(400)
		middle := cpu()
		sum += light(400)
		light_ns += cpu() - middle
		heavy_ns += middle - start
	}
	fmt.Println("done", sum != 0)
	fmt.Println("main.heavy", int64(heavy_ns))
	fmt.Println("main.light", int64(light_ns))
}
"""


def need(tool):
    if not shutil.which(tool):
        pytest.skip(f"no {tool} here")


# Go's runtime walks the stack for main.callers, and does so on another stack (the system stack).
GO_SYSTEM_STACK = """package main

import "runtime"

//go:noinline
func callers(count int) {
	pcs := make([]uintptr, 32)
	for i := 0; i < count; i++ {
		runtime.Callers(0, pcs)
	}
}

func main() {
	callers(400000)
}
"""


# As GO_SYSTEM_STACK, but in goroutines whose stacks have much higher addresses than the stacks of
# threads.
GO_STACKS = """package main

import "runtime"

var kept [][]byte

//go:noinline
func deep(n int, pcs []uintptr) int {
	var room [1024]byte
	room[n] = byte(n)
	if n == 0 {
		return runtime.Callers(0, pcs)
	}
	return deep(n-1, pcs) + int(room[n])
}

func work() {
	pcs := make([]uintptr, 32)
	for i := 0; ; i++ {
		deep(i%20, pcs)
	}
}

func main() {
	for i := 0; i < 2048; i++ {
		kept = append(kept, make([]byte, 1024))
	}
	for i := 0; i < 3; i++ {
		go work()
	}
	work()
}
"""


def build_go(folder, flags=(), source=GO, with_c=False):
    need("go")
    (folder / "split.go").write_text(source.replace("import", 'import "C"\nimport', 1) if with_c else source)
    subprocess.run(["go", "build", *flags, "-o", folder / "split", folder / "split.go"], check=True,
                   env={**profiled.GO_ENVIRONMENT, "CGO_ENABLED": str(int(with_c))})
    return folder / "split"


# Kinds of programs into which no library can be loaded: compiler flags and compiler.
BUILDS = {
    "static": (PLAIN + ("-static",), None),
    "static-pie": (PLAIN + ("-static-pie",), None),
    "musl": (PLAIN, "musl-gcc"),
    "musl-static": (PLAIN + ("-static",), "musl-gcc"),
}


class Attached:
    """The results of one run of flamerun -p: status, stderr, and the folded profile."""

    def __init__(self, result, path):
        self.status = result.returncode
        self.stderr = result.stderr
        self.folded = folded.Folded(path.read_text(errors="surrogateescape"))


@contextlib.contextmanager
def running(*command, **options):
    """Run the program in the background. At the end of the block kill it if it still runs."""
    options.setdefault("stdout", subprocess.PIPE)
    process = subprocess.Popen([str(word) for word in command], text=True, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def attach(folder, pid, *options, seconds=2):
    """Run flamerun -p @pid for @seconds. It writes its profile to @folder."""
    out = pathlib.Path(folder) / "attached.folded"
    result = subprocess.run([FLAMERUN, "-v", "-p", str(pid), "-d", str(seconds), "-o", out,
                             *options], text=True, stderr=subprocess.PIPE, timeout=120, check=False)
    assert out.exists(), result.stderr
    return Attached(result, out)


def background(folder, pid, *options):
    """Start flamerun -p @pid. Returns once flamerun samples."""
    process = subprocess.Popen([FLAMERUN, "-p", str(pid), "-o", pathlib.Path(folder) / "b.folded",
                                *options], text=True, stderr=subprocess.PIPE)
    line = process.stderr.readline()
    assert "Ctrl-C" in line, line
    wait_until(lambda: tracer_of(pid) > 0)
    return process


def end_of(flamerun):
    """Wait for a flamerun whose targets end by themselves. Returns its status and stderr."""
    _, stderr = flamerun.communicate(timeout=60)
    return flamerun.returncode, stderr


def status_of(pid, name):
    """
    The first word of the line @name in /proc/PID/status, e.g. a number; None if there is no such
    line.
    """
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.split()[1]
    return None


def tracer_of(pid):
    return int(status_of(pid, "TracerPid"))


def state_of(pid):
    """The letter of the process's state; None if the process does not exist."""
    try:
        return status_of(pid, "State")
    except (FileNotFoundError, ProcessLookupError):
        return None


def cpu_s(pid):
    """The CPU time of all threads of @pid in seconds, from schedstat."""
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def wait_until(condition, seconds=60):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it never came true"
        time.sleep(0.005)


def send(pid, number):
    """
    Send a signal to @pid and wait until the signal is no longer pending, because a second signal
    would be merged with a pending one.
    """
    os.kill(pid, number)
    wait_until(lambda: not int(status_of(pid, "ShdPnd"), 16) & 1 << number - 1)


def work(pid, seconds):
    """Wait until @pid has used @seconds more of CPU time."""
    start = cpu_s(pid)
    wait_until(lambda: cpu_s(pid) - start >= seconds, 120)


def end(process, number=signal.SIGINT):
    process.send_signal(number)
    return end_of(process)


def attach_while_it_works(folder, pid, *options, seconds=1.5):
    """
    Run flamerun -p @pid until the process has used another @seconds of CPU time; return the profile.
    The first sample stands for the time since flamerun attached and is walked before the language's
    runtime is known, so its weight must be a small part of the whole on a busy machine, too.
    """
    flamerun = background(folder, pid, *options)
    work(pid, seconds)
    status, stderr = end(flamerun)
    assert status == 0, stderr
    return folded.Folded((pathlib.Path(folder) / "b.folded").read_text(errors="surrogateescape"))


def as_nobody(*command):
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *map(str, command)]


IS_ROOT = os.geteuid() == 0
# The container forbids ptrace(2).
IS_CONFINED = bool(os.environ.get("TEST_CONFINED"))
