# SPDX-License-Identifier: MIT
#
# Time in a program's own signal handlers: with and without an alternate stack, with and without
# room for flamerun's handler on this stack, and when several signals arrive together.
import os
import subprocess

import pytest

import folded
import profiled
from outside import need
from profiled import compile_target, looks, profile

HANDLER = "[signal handler]"

# Go's scheduler interrupts goroutines by a signal whose handler changes where they continue. C code
# runs on another stack.
GO = """
package main

// __attribute__((noinline)) static long in_c(long n) {
//	volatile long sum = 0;
//	for (long i = 0; i < n; i++) sum += i ^ sum;
//	return sum + 1;
// }
import "C"
import "sync"

//go:noinline
func in_go(n int) uint64 {
	x := uint64(n)
	for i := 0; i < n; i++ { x = x*6364136223846793005 + 1442695040888963407 }
	return x
}

//go:noinline
func both() (sum uint64) {
	for i := 0; i < 10; i++ {
		sum += in_go(40000000)
		sum += uint64(C.in_c(20000000))
	}
	return sum
}

func main() {
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() { both(); group.Done() }()
	}
	group.Wait()
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_target("handlers.c", tmp_path_factory.mktemp("handlers"))


@pytest.mark.parametrize("bytes_", [0, 65536], ids=["no-alternate-stack", "with-room"])
def test_handlers_are_sampled(program, tmp_path, bytes_):
    rate_hz, ms = looks(300)
    run = profile(tmp_path, program, "shares", str(bytes_), ms, rate_hz=rate_hz)
    assert run.status == 0
    run.assert_truth()
    assert not run.folded.below(HANDLER)
    # The handler's callers are those of raise(): main, and no frames of flamerun.
    assert run.folded.where(lambda s: "in_handler" in s and "main" in s and "work" in s
                            ) == run.folded.below("in_handler")


def test_without_room_they_have_a_box(program, tmp_path):
    rate_hz, ms = looks(300)
    run = profile(tmp_path, program, "shares", "12288", ms, rate_hz=rate_hz)
    assert run.status == 0
    assert not run.folded.below("in_handler")
    truth = {HANDLER: run.truth["in_handler"], "normal": run.truth["normal"]}
    run.assert_truth(truth)
    assert not run.folded.where(lambda s: HANDLER in s and len(s) > 1)
    # Samples that were due when the handler began are not attributed to raise().
    assert run.folded.below("raise") < 0.05 * run.folded.total, run.folded.describe()


# If a timer signal arrives together with the program's signal, it is delivered inside the guard of
# the program's handler, or after the handler.
@pytest.mark.parametrize("bytes_", [0, 65536, 12288])
def test_one_that_only_begins_has_no_time(program, tmp_path, bytes_):
    run = profile(tmp_path, program, "together", str(bytes_), "600", rate_hz=997)
    assert run.status == 0
    assert int(run.stdout.split()[1]) > 50 and run.folded.total > 240
    handled = run.folded.where(lambda s: "count" in s or "__restore_rt" in s)
    assert handled < 0.05 * run.folded.total, run.folded.describe()


def test_go_with_c(tmp_path):
    need("go")
    (tmp_path / "both.go").write_text(GO)
    subprocess.run(["go", "build", "-o", tmp_path / "both", tmp_path / "both.go"], check=True,
                   env={**profiled.GO_ENVIRONMENT, "CGO_ENABLED": "1"})
    run = profile(tmp_path, tmp_path / "both")
    total = run.folded.total
    assert run.status == 0 and total > 200
    # Without special treatment of samples that arrive together with Go's signal, a fifth of all
    # samples was here.
    preempted = run.folded.where(lambda s: s[-1].startswith("runtime.asyncPreempt"))
    assert preempted < 0.03 * total, run.folded.describe()
    in_c = run.folded.where(lambda s: any(name.endswith("in_c") for name in s))
    below = run.folded.where(lambda s: "main.both" in s and any(n.endswith("in_c") for n in s))
    assert below >= 0.95 * in_c > 0.1 * total, run.folded.describe()
    assert run.folded.below("[incomplete stack]") < 0.05 * total, run.folded.describe()
