# SPDX-License-Identifier: MIT
#
# What threads wait for: seen from inside and from outside, compared with what they measured of
# themselves by the clock on the wall and with the kernel's books; and that they notice nothing.
import json
import os
import pathlib
import re
import subprocess
import tempfile

import pytest

import outside
from profiled import PLAIN, compile_target, profile

WAYS = [[], pytest.param(["--outside"], marks=pytest.mark.skipif(
    outside.IS_CONFINED, reason="nobody may trace here"))]

# function of tests/targets/waits.c -> what its stacks end in
LEAVES = {"nap": "[clock_nanosleep]", "sleeps": "[clock_nanosleep]", "wants": "[futex]",
          "reads": "[read: pipe]", "receives": "[recv: socket]", "polls": "[poll]",
          "waits": "[futex]", "takes": "[futex]", "reaps": "[wait4]", "joins": "[futex]"}
SECONDS = 6
# A wait that was not seen to begin stands where the next look finds it, which comes 25 to 75 ms
# later: of waits that all are of one function little is in doubt, of those that alternate each has
# a look's worth for every turn.
LOOK_S = 0.05
FLAGS, FLAGS_IDS = [PLAIN, ("-O0",), ("-O2", "-fno-omit-frame-pointer")], ["O2", "O0", "fp"]


def books(stderr):
    """The -v table: (thread, span, cpu, ready, waiting, unseen) in seconds."""
    pattern = (r"  (.+): ([\d.]+) s = ([\d.]+) on a CPU \+ ([\d.]+) ready \+ ([\d.]+) waiting \+ "
               r"([\d.]+) \[waiting\], off by")
    return [(match[1], *map(float, match.groups()[1:])) for match in re.finditer(pattern, stderr)]


def assert_books(stderr, rate_hz):
    """Each thread's life adds up, but for whole periods."""
    rows = books(stderr)
    assert rows, stderr
    for name, span, *parts in rows:
        assert abs(sum(parts) - span) <= 0.01 * span + 3 / rate_hz, (name, span, parts)
    return rows


def assert_each_wait(run):
    """Of tests/targets/waits.c for SECONDS, all of its threads."""
    truth = run.truth
    assert truth["interrupted"] == 0, "a call was broken off"
    period_s = 1 / run.rate_hz
    for name, leaf in LEAVES.items():
        # Of a lock it may be known who had it.
        at = run.folded.where(lambda stack: name in stack and
                              re.sub(": held by .*]$", "]", stack[-1]) == leaf)
        seen_s, true_s = at * period_s, truth[name] / 1e9
        turns = SECONDS / 0.15 if name in ("nap", "sleeps") else SECONDS / 0.1
        # Each turn's wait may have a look's worth too much or too little, by chance.
        allowed = 5 * LOOK_S * turns ** 0.5 * 0.6 + 0.05 * true_s
        assert abs(seen_s - true_s) <= allowed, (name, seen_s, true_s, run.folded.describe(30))
    # All of what waits is a wait; what is not known is said to be so and is little.
    unseen = run.folded.where(lambda stack: stack[-1] == "[waiting]")
    assert unseen <= 0.05 * run.folded.total, run.folded.describe(30)


@pytest.mark.sanitized
@pytest.mark.parametrize("options", WAYS, ids=["inside", "outside"])
@pytest.mark.parametrize("flags", FLAGS, ids=FLAGS_IDS)
def test_each_wait_has_its_name_and_its_time(tmp_path, options, flags):
    program = compile_target("waits.c", tmp_path, flags)
    run = profile(tmp_path, program, str(1000 * SECONDS), rate_hz=197,
                  options=["-v", "--wall", "--no-fold-idle", *options])
    assert run.status == 0, run.stderr
    assert_books(run.stderr, 197 if not options else 49)
    assert_each_wait(run)


@pytest.mark.parametrize("options", WAYS, ids=["inside", "outside"])
def test_sleepers_are_not_woken(tmp_path, options):
    """As often as alone: some 80 sleeps; a look that woke the thread would add one each, 120."""
    program = compile_target("waits.c", tmp_path)
    bare = dict(line.split() for line in subprocess.run(
        [program, "6000"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines())
    run = profile(tmp_path, program, "6000", options=options)
    assert run.truth["interrupted"] == int(bare["interrupted"]) == 0
    assert abs(run.truth["switches"] - int(bare["switches"])) <= 8


def test_without_looks_nothing_is_known(tmp_path):
    run = profile(tmp_path, compile_target("waits.c", tmp_path), "1000",
                  options=["-v", "--no-waits", "--wall"])
    assert not run.folded.where(lambda stack: stack[-1] in (*LEAVES.values(), "[waiting]"))
    assert not books(run.stderr)
    assert "nobody looked at what it waited for" in run.stderr


def test_waits_are_beside_the_cpu_time(tmp_path):
    """Without --wall nothing that is counted has them, and the last lines tell of them."""
    run = profile(tmp_path, compile_target("sleeps.c", tmp_path), "2600")
    assert not run.folded.below("[clock_nanosleep]")
    said = re.search(r"([\d.]+) s: ([\d.]+) s on a CPU.*, ([\d.]+) s waiting, most in "
                     r"clock_nanosleep below sleep_ms$", run.stderr, re.M)
    assert said, run.stderr
    assert float(said[3]) == pytest.approx(sum(run.truth.values()) / 1e9, rel=0.05)


@pytest.mark.parametrize("options", WAYS, ids=["inside", "outside"])
def test_a_long_sleep_is_exact_behind_a_short_one(tmp_path, options):
    run = profile(tmp_path, compile_target("sleeps.c", tmp_path), "9900", rate_hz=997,
                  options=["--wall", *options])
    total = sum(run.truth.values())
    for name in ("short_sleep", "long_sleep"):
        # 30 turns, each 27 ms too much or too little on average: 1.5 % of all, and five times that.
        assert abs(run.folded.below(name) / run.folded.total - run.truth[name] / total) < 0.075


CONTENDERS = r"""
#include <pthread.h>
#include <sched.h>
#include "tests/targets/spin.h"

static BOX void *work(void *argument)
{
	while (cpu_ns() < 1000000000)
		spin(100);
	return argument;
}

static void tell_ready(void)
{
	unsigned long long cpu, ready;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");

	if (file && fscanf(file, "%llu %llu", &cpu, &ready) == 2)
		tell("ready", ready);
}

static void *run(void *argument)
{
	work(NULL);
	tell_ready();
	return argument;
}

int main(void)
{
	cpu_set_t one;
	pthread_t threads[3];

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""


def test_who_has_no_cpu_is_ready(tmp_path):
    """Three on one CPU: two are ready at any time, as the kernel counts it."""
    source, program = tmp_path / "contenders.c", tmp_path / "contenders"
    source.write_text(CONTENDERS)
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", f"-I{outside.pathlib.Path(__file__).parents[2]}",
                    "-o", program, source, "-lpthread"], check=True)
    run = profile(tmp_path, program, options=["--wall", "-v"])
    ready_s = sum(int(line.split()[1]) for line in run.stdout.splitlines()) / 1e9
    assert ready_s > 1.5
    assert run.folded.self("[no CPU]") / 197 == pytest.approx(ready_s, rel=0.05)
    assert_books(run.stderr, 197)


def test_many_threads_cost_little_and_add_up(tmp_path):
    """More than can be looked at: it is said, and what was carried on arrives all the same."""
    script = ("import threading, time\n"
              "threading.stack_size(65536)\n"
              "def work():\n"
              "    end = time.monotonic() + 4\n"
              "    while time.monotonic() < end: time.sleep(0.05)\n"
              "threads = [threading.Thread(target=work) for _ in range(400)]\n"
              "[t.start() for t in threads]; [t.join() for t in threads]\n")
    run = profile(tmp_path, "/usr/bin/python3", "-c", script, options=["--wall", "-v"])
    assert re.search(r"waits: looked at each thread [\d.]+ times a second instead of 20", run.stderr)
    rows = assert_books(run.stderr, 197)
    assert sum(row[1] for row in rows) > 0.9 * 400 * 4
    assert run.folded.below("[clock_nanosleep]") > 0.7 * run.folded.total


def test_details_name_files(tmp_path):
    fifo = tmp_path / "a fifo"
    os.mkfifo(fifo)
    run = profile(tmp_path, "/usr/bin/python3", "-c",
                  "import os, sys, threading, time\n"
                  "fd = os.open(sys.argv[1], os.O_RDWR)\n"
                  "threading.Thread(target=os.read, args=(fd, 1), daemon=True).start()\n"
                  "time.sleep(1)\n", fifo, options=["--wall", "--wait-details"])
    assert run.folded.self(f"[read: {fifo}]") > 0.8 * 197, run.folded.describe()
    run = profile(tmp_path, "/bin/sleep", "0.5", options=["--wall"])
    assert str(tmp_path) not in json.dumps(run.folded.stacks)


@pytest.mark.skipif(not outside.IS_ROOT, reason="needs another user")
def test_who_may_not_look_says_so(flamerun_of_all):
    """A process that keeps its memory to itself, and a user who is nobody."""
    script = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); time.sleep(1.2)"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        result = subprocess.run(
            outside.as_nobody(flamerun_of_all, "-v", "--wall", "-o", folder / "x.folded", "--",
                              "/usr/bin/python3", "-c", script),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        text = (folder / "x.folded").read_text()
    assert re.search(r"what threads wait for could not be seen: process \d+ \(python3\) keeps its "
                     "memory to itself", result.stderr), result.stderr
    unseen = re.search(r"\[waiting\] (\d+)", text)
    assert unseen and int(unseen[1]) > 0.9 * 197, text
