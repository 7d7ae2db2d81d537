# SPDX-License-Identifier: MIT
#
# Waits of a program that profiles itself, compared with its own measurements by elapsed time.
# Programs of other tests are run with itself.c preloaded; they must notice nothing.
import pytest

import library
import profiled
from test_waits import FLAGS, SECONDS, assert_each_wait

RATE_HZ = 197


def threads_of(path):
    """(name, weight, waits) of each line that itself.c wrote."""
    return [(line.rsplit(" ", 2)[0], *map(int, line.rsplit(" ", 2)[1:]))
            for line in path.read_text().splitlines()]


def profile_itself(folder, program, *arguments):
    """Run @program with itself.c preloaded. Returns (its profile, the lines by threads_of())."""
    plugin = library.build("itself.c", folder, flags=("-O2", "-shared", "-fPIC"), output="itself.so")
    env = library.environment(LD_PRELOAD=f"{library.SHARED} {plugin}", ITSELF_RATE=str(RATE_HZ),
                              ITSELF_FILE="a.pb", ITSELF_THREADS="threads")
    result = library.run(program, *arguments, cwd=folder, env=env)
    library.run(profiled.BUILD / "flamerun", "render", "--quiet", "--wall", "--no-fold-idle", "a.pb",
                "-o", "a.folded", cwd=folder)
    run = profiled.Profiled(result, (folder / "a.folded").read_text(), RATE_HZ)
    return run, threads_of(folder / "threads")


@pytest.mark.sleeps
def test_each_wait_has_its_name_and_its_time(tmp_path):
    def run_with(flags):
        here = profiled.folder(tmp_path, flags)
        program = profiled.compile_target("waits.c", here, FLAGS[flags])
        return profile_itself(here, program, 1000 * SECONDS)

    for run, threads in profiled.side_by_side(run_with, FLAGS):
        assert_each_wait(run)
        weights = {name: weight for name, weight, _ in threads}
        assert weights["all"] == run.folded.total


def test_each_thread_lives_as_long_as_it_did(tmp_path):
    """CPU time and waits add up to each thread's life, whether it sleeps, computes or does both."""
    source = tmp_path / "lives.c"
    source.write_text(r"""
#include <pthread.h>
#include "tests/targets/spin.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *live(void *argument)
{
	uint64_t begin = now_ns();

	while (now_ns() - begin < 1500000000u) {
		spin((uint64_t)(uintptr_t)argument);
		nanosleep(&(struct timespec){0, 7000000}, NULL);
	}
	tell("span", now_ns() - begin);
	return argument;
}

int main(void)
{
	pthread_t threads[3];

	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, live, (void *)(1 + 10000 * i));
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
""")
    program = library.build(source, tmp_path)
    run, threads = profile_itself(tmp_path, program)
    spans_s = sorted(int(line.split()[1]) / 1e9 for line in run.stdout.splitlines())
    lives_s = sorted(weight / RATE_HZ for name, weight, _ in threads if name == "lives")
    # main() lives as long as the last of the other threads. The end of a thread is seen at the next
    # observation, which is 75 ms later if the sampler gets a CPU.
    assert lives_s == pytest.approx([*spans_s, spans_s[-1]], rel=0.015, abs=0.15), threads


@pytest.mark.sleeps
def test_its_picture_has_both_times(tmp_path):
    run, _ = profile_itself(tmp_path, profiled.compile_target("sleeps.c", tmp_path), 3300)
    total = sum(run.truth.values())
    for name in ("short_sleep", "long_sleep"):
        # Each of 10 turns is off by 27 ms on average. Allow five times the resulting deviation.
        assert abs(run.folded.below(name) / run.folded.total - run.truth[name] / total) < 0.13
