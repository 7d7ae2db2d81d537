/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * perf_events_new() enlarges the process's table of descriptors, so that opening events in later
 * threads does not.
 */
#include "tests/unit/aggregate-fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/gather/perf_events.h"

/* Return the size of the process's table of descriptors (FDSize in proc_pid_status(5)). */
static unsigned descriptors_room(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	unsigned room = 0;

	assert_non_null(status);
	while (!room && fgets(line, sizeof(line), status))
		sscanf(line, "FDSize: %u", &room);
	fclose(status);
	return room;
}

/*
 * The kernel may block a thread that enlarges its process's table of descriptors, so the table must
 * be large enough before the first event. The limit on descriptors must not change.
 */
static void test_descriptors_have_room(void **state)
{
	struct wire_arena *arena = aggregate_arena();
	int any = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct rlimit limit, after;
	struct perf_events *events;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < WIRE_EVENT_DESCRIPTOR + WIRE_RINGS)
		skip();
	limit.rlim_cur = 256;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(descriptors_room() <= WIRE_EVENT_DESCRIPTOR);
	events = perf_events_new(arena, any, WIRE_SIGNAL, false);
	assert_non_null(events);
	assert_true(descriptors_room() >= WIRE_EVENT_DESCRIPTOR + WIRE_RINGS);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
	assert_int_equal(after.rlim_cur, 256);
	assert_true(fcntl(WIRE_EVENT_DESCRIPTOR + WIRE_RINGS - 1, F_GETFD) < 0);
	perf_events_free(events);
	close(any);
	free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptors_have_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
