# SPDX-License-Identifier: MIT
#
# Interrupt ticks for virtual machines, with all ways to link the library: the program reads the
# right counter, and the timer thread is in no profile and does not disturb the program.
import errno

import pytest

import library
import profiled

WAYS = [(link, way) for link in library.LINKS for way in ("alone", "preloaded", "flamerun")
        if way == "alone" or not link.startswith("static")]


@pytest.fixture(scope="module")
def linked(tmp_path_factory):
    return {link: library.build("interrupts.c", tmp_path_factory.mktemp(link), link=link)
            for link in library.LINKS}


def run(program, what, way, folder):
    if way == "flamerun":
        result = profiled.profile(folder, program, what)
        assert result.status == 0, result.stderr
        return library.said(result)
    env = library.environment()
    if way == "preloaded":
        env["LD_PRELOAD"] = str(library.SHARED)
    return library.said(library.run(program, what, cwd=folder, env=env))


def check_counts(said):
    """The interrupt function is called once for each builtin, and no tick is reported twice."""
    assert said["calls"] == 1 and said["stub_calls"] == 1
    assert 10 <= said["ticks"] <= said["periods"] + 1


@pytest.mark.parametrize("link,way", WAYS)
def test_a_long_builtin_is_one_call(linked, tmp_path, link, way):
    """Two copies of the library share one timer, and the program reads its own counter."""
    said = run(linked[link], "count", way, tmp_path)
    assert said["flag"] == 1 and said["left"] == 0
    check_counts(said)


def test_a_program_that_exports_its_copy(tmp_path):
    """The shared library's references are bound to the program's copy of the functions."""
    program = library.build("interrupts.c", tmp_path, flags=(*profiled.PLAIN, "-rdynamic"),
                            link="archive")
    for way in ("alone", "preloaded"):
        said = run(program, "count", way, tmp_path)
        check_counts(said)


@pytest.mark.parametrize("link", ["shared", "archive"])
def test_the_timer_is_not_in_flameruns_profile(linked, tmp_path, link):
    result = profiled.profile(tmp_path, linked[link], "busy", clock_hz=1000)
    assert result.status == 0, result.stderr
    # The timer thread ran for 30 ms, which would give at least 30 samples if it was sampled.
    assert library.said(result)["timer_ns"] >= 30e6
    stacks = [stack for stack, _ in result.folded.stacks]
    assert stacks
    for stack in stacks:
        assert not any(name in frame for frame in stack
                       for name in ("timer_main", "registry_tick", "own_thread_main")), stack
        assert "flameprof" not in stack, stack


@pytest.mark.parametrize("link", list(library.LINKS))
def test_the_timer_is_not_in_a_sessions_profile(linked, tmp_path, link):
    said = run(linked[link], "session", "alone", tmp_path)
    assert said["found"] == 1 and said["seen"] == 0
    assert said["timer_ns"] >= 30e6 and said["weight"] >= 50


@pytest.mark.parametrize("way", ["alone", "flamerun"])
@pytest.mark.parametrize("link", ["shared", "archive"])
def test_signals_are_the_programs(linked, tmp_path, link, way):
    said = run(linked[link], "signals", way, tmp_path)
    assert (said["stolen"], said["interrupted"], said["elsewhere"]) == (0, 0, 0)
    assert said["ticks"] > 0


@pytest.mark.parametrize("link,way", WAYS)
def test_ticks_end_and_begin_anew(linked, tmp_path, link, way):
    """Ticks end and leave no timer thread behind. They start again for other functions."""
    said = run(linked[link], "again", way, tmp_path)
    assert said == {"timers": 0, "twice": errno.ESRCH, "calls": 0, "others": 0}


@pytest.mark.parametrize("link,way", WAYS)
def test_forks_have_a_timer_once_they_check(linked, tmp_path, link, way):
    said = run(linked[link], "fork", way, tmp_path)
    assert (said["child_status"], said["exec_status"]) == (0, 0)
    # After fork(), a copy of the library that follows another copy's ticks has its timer before its
    # first check.
    follows = link == "archive" and way != "alone"
    assert (said["child_before"], said["child_after"]) == (int(follows), 1)


OPENED = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "libprof/flameprof_vm.h"

static pthread_barrier_t opened;
static __typeof__(flameprof_interrupt_register) *do_register;
static __typeof__(flameprof_interrupt_enable) *enable;
static __typeof__(flameprof_interrupt_take) *take;
static void *library;
static __thread unsigned ticks;

static void on_ticks(void *context, uint32_t count)
{
	(void)context;
	ticks += count;
}

/* The calling thread's counter: storage that came after the thread did. */
static void *machine(void *argument)
{
	volatile uint32_t *counter;
	struct timespec rest = {0, 1000000};

	pthread_barrier_wait(&opened);
	counter = dlsym(library, "flameprof_interrupt_ticks");
	if (!counter || *counter || do_register(NULL))
		exit(1);
	while (ticks < 5) {
		nanosleep(&rest, NULL);
		if (*counter)
			take();
	}
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t threads[8];

	(void)argc;
	pthread_barrier_init(&opened, NULL, 9);
	for (int i = 0; i < 8; i++)
		if (pthread_create(&threads[i], NULL, machine, NULL))
			return 1;
	library = dlopen(argv[1], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	do_register = dlsym(library, "flameprof_interrupt_register");
	enable = dlsym(library, "flameprof_interrupt_enable");
	take = dlsym(library, "flameprof_interrupt_take");
	if (enable(1000000, on_ticks, NULL))
		return 1;
	pthread_barrier_wait(&opened);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	puts("well 1");
	return 0;
}
"""

PLUGIN = r"""
#include "libprof/flameprof_vm.h"

static void on_ticks(void *context, uint32_t count)
{
	*(uint32_t *)context += count;
}

__attribute__((visibility("default"))) int begin(uint32_t *ticks)
{
	int error = flameprof_interrupt_enable(1000000, on_ticks, ticks);

	return error ? error : flameprof_interrupt_register(0);
}

__attribute__((visibility("default"))) int end(uint32_t *ticks)
{
	while (!*ticks)
		flameprof_interrupt_check();
	return flameprof_interrupt_unregister();
}
"""

UNLOADING = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static void *use_plugin(void *path)
{
	struct timespec rest = {0, 50000000};
	uint32_t ticks = 0;
	void *plugin = dlopen(path, RTLD_NOW);
	int (*begin)(uint32_t *) = plugin ? (int (*)(uint32_t *))dlsym(plugin, "begin") : NULL;
	int (*end)(uint32_t *) = plugin ? (int (*)(uint32_t *))dlsym(plugin, "end") : NULL;

	if (!end || begin(&ticks) || end(&ticks) || dlclose(plugin))
		return path;
	/* With the timer and this thread's end still to come. */
	nanosleep(&rest, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *result = NULL;

	(void)argc;
	pthread_create(&thread, NULL, use_plugin, argv[1]);
	pthread_join(thread, &result);
	if (dlerror())
		return 2;
	puts(result ? "well 0" : "well 1");
	return result != NULL;
}
"""


def test_a_library_opened_late(tmp_path):
    source = library.write(tmp_path, "opened.c", OPENED)
    program = profiled.compile_target(source, tmp_path)
    assert library.said(library.run(program, library.SHARED, cwd=tmp_path)) == {"well": 1}


def test_a_plugin_that_is_closed(tmp_path):
    """The timer thread runs the plugin's code, and so do destructors of threads."""
    plugin = library.plugin(tmp_path, PLUGIN)
    program = profiled.compile_target(library.write(tmp_path, "unloading.c", UNLOADING), tmp_path)
    assert library.said(library.run(program, plugin, cwd=tmp_path)) == {"well": 1}
