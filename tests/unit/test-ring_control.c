/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized, emulated. */
/* Several writers send control records to one reader, over many turns of the ring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libprof/sampler/ring.h"
#include "libprof/wire_control.h"

#define MODULES 6001u

struct fixture {
	void *arena;
	char *paths[MODULES]; /* as announced, by module number */
	unsigned damaged, holes, marks;
	char mark[64]; /* the last mark's */
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->arena = calloc(1, wire_arena_bytes(1));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < MODULES; i++)
		free(fixture->paths[i]);
	free(fixture->arena);
	free(fixture);
	return 0;
}

/* Read all committed records, as the collector does. */
static void read_all(struct fixture *fixture, int is_over)
{
	struct wire_slot *slot = wire_slot(fixture->arena, 3);
	char *ring = wire_control_data(fixture->arena, 3);
	static struct wire_control_record record;

	for (;;) {
		enum wire_control_step step = wire_control_read(slot, ring, &record);

		if (step == WIRE_CONTROL_EMPTY && is_over)
			step = wire_control_skip_hole(slot, ring, &record);
		fixture->holes += step == WIRE_CONTROL_HOLE;
		fixture->damaged += step == WIRE_CONTROL_DAMAGED;
		if (step == WIRE_CONTROL_EMPTY || step == WIRE_CONTROL_DAMAGED)
			break;
		if (step != WIRE_CONTROL_TAKEN)
			continue;
		if (record.type == WIRE_CONTROL_MODULE && record.module.number < MODULES) {
			free(fixture->paths[record.module.number]);
			fixture->paths[record.module.number] = strdup(record.module.path);
		} else if (record.type == WIRE_CONTROL_MARK) {
			fixture->marks++;
			snprintf(fixture->mark, sizeof(fixture->mark), "%s", record.mark.name);
		}
	}
}

static int announce(struct fixture *fixture, uint32_t number, const char *path)
{
	uint32_t bytes = (uint32_t)(sizeof(struct wire_module) + strlen(path) + 8) & ~7u;
	struct wire_module *module =
		(struct wire_module *)control_reserve(wire_slot(fixture->arena, 3),
			wire_control_data(fixture->arena, 3), bytes);

	if (!module)
		return -1;
	memset((char *)module + sizeof(module->control), 0, bytes - sizeof(module->control));
	module->number = number;
	module->path_bytes = (uint32_t)strlen(path) + 1;
	memcpy(module->path, path, module->path_bytes);
	control_commit(&module->control, bytes, WIRE_CONTROL_MODULE);
	return 0;
}

static const char *path_of(struct fixture *fixture, uint32_t number)
{
	return fixture->paths[number];
}

static void records_arrive_across_the_wrap(void **state)
{
	struct fixture *fixture = *state;
	char path[300];

	for (uint32_t i = 1; i <= 1000; i++) {
		memset(path, 'x', sizeof(path));
		path[i % 290] = '\0';
		assert_int_equal(announce(fixture, i, path), 0);
		read_all(fixture, 0);
		assert_non_null(path_of(fixture, i));
		assert_int_equal(strlen(path_of(fixture, i)), i % 290);
	}
	assert_true(wire_slot(fixture->arena, 3)->control_head > 4 * WIRE_CONTROL_BYTES);
}

static void a_full_ring_drops_and_counts(void **state)
{
	struct fixture *fixture = *state;
	uint32_t taken = 0;

	while (!announce(fixture, taken + 1, "/lib/libc.so.6"))
		taken++;
	assert_true(taken > 100);
	assert_int_equal(wire_slot(fixture->arena, 3)->control_dropped, 1);
	read_all(fixture, 0);
	assert_non_null(path_of(fixture, taken));
	assert_int_equal(announce(fixture, taken + 1, "/lib/libm.so.6"), 0);
}

static void an_unfinished_record_holds_the_reader(void **state)
{
	struct fixture *fixture = *state;
	struct wire_control *slow = control_reserve(wire_slot(fixture->arena, 3),
		wire_control_data(fixture->arena, 3), sizeof(struct wire_module));

	assert_int_equal(announce(fixture, 1, "/lib/a.so"), 0);
	read_all(fixture, 0);
	assert_null(path_of(fixture, 1));
	memset((char *)slow + sizeof(*slow), 0, sizeof(struct wire_module) - sizeof(*slow));
	control_commit(slow, sizeof(struct wire_module), WIRE_CONTROL_MODULE);
	read_all(fixture, 0);
	assert_non_null(path_of(fixture, 1));
}

/*
 * The writer of a record was killed before it committed the record. The records behind it are still
 * read, and the ring can be reused.
 */
static void a_hole_is_passed_over_once_its_writer_is_dead(void **state)
{
	struct fixture *fixture = *state;
	struct wire_slot *slot = wire_slot(fixture->arena, 3);
	char *ring = wire_control_data(fixture->arena, 3);

	assert_int_equal(announce(fixture, 1, "/lib/a.so"), 0);
	assert_non_null(control_reserve(slot, ring, 256));
	assert_int_equal(announce(fixture, 2, "/lib/b.so"), 0);
	read_all(fixture, 0);
	assert_null(path_of(fixture, 2));
	assert_int_equal(fixture->holes, 0);
	read_all(fixture, 1);
	assert_int_equal(fixture->holes, 1);
	assert_string_equal(path_of(fixture, 2), "/lib/b.so");
	assert_int_equal(wire_control_reset(slot, ring), 0);
	/*
	 * The writer was killed before it wrote the record's length, so the records behind it
	 * cannot be found.
	 */
	slot->control_head += 256;
	assert_int_equal(announce(fixture, 3, "/lib/c.so"), 0);
	read_all(fixture, 1);
	assert_null(path_of(fixture, 3));
	assert_int_equal(wire_control_reset(slot, ring), 1);
	assert_int_equal(announce(fixture, 4, "/lib/d.so"), 0);
	read_all(fixture, 0);
	assert_string_equal(path_of(fixture, 4), "/lib/d.so");
}

static void say_mark(struct fixture *fixture, const char *name, uint32_t name_bytes)
{
	uint32_t bytes = (uint32_t)(sizeof(struct wire_mark) + strlen(name) + 8) & ~7u;
	struct wire_mark *mark = (struct wire_mark *)control_reserve(
		wire_slot(fixture->arena, 3), wire_control_data(fixture->arena, 3), bytes);

	memset(mark + 1, 0, bytes - sizeof(*mark));
	mark->name_bytes = name_bytes;
	memcpy(mark->name, name, strlen(name) + 1);
	control_commit(&mark->control, bytes, WIRE_CONTROL_MARK);
	read_all(fixture, 0);
}

static void lies_about_lengths_are_not_believed(void **state)
{
	struct fixture *fixture = *state;

	say_mark(fixture, "text", 0);
	say_mark(fixture, "text", 100);
	say_mark(fixture, "text", UINT32_MAX);
	assert_int_equal(fixture->marks, 0);
	say_mark(fixture, "text", 2); /* the name is cut to "t" */
	assert_int_equal(fixture->marks, 1);
	assert_string_equal(fixture->mark, "t");
}

struct writer {
	struct fixture *fixture;
	uint32_t first;
	uint32_t refused;
};

#define PER_WRITER 2000

static void *write_many(void *argument)
{
	struct writer *writer = argument;
	char path[64];

	for (uint32_t i = 0; i < PER_WRITER;) {
		snprintf(path, sizeof(path), "/m/%u", writer->first + i);
		if (announce(writer->fixture, writer->first + i, path))
			writer->refused++;
		else
			i++;
	}
	return NULL;
}

static void several_writers_lose_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct writer writers[3];
	pthread_t threads[3];
	char path[64];

	for (uint32_t i = 0; i < 3; i++) {
		writers[i] = (struct writer){fixture, 1 + i * PER_WRITER, 0};
		assert_int_equal(pthread_create(&threads[i], NULL, write_many, &writers[i]), 0);
	}
	for (uint32_t seen = 0; seen < 3 * PER_WRITER;) {
		read_all(fixture, 0);
		seen = 0;
		for (uint32_t i = 1; i <= 3 * PER_WRITER; i++)
			seen += path_of(fixture, i) != NULL;
	}
	for (uint32_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 1; i <= 3 * PER_WRITER; i++) {
		snprintf(path, sizeof(path), "/m/%u", i);
		assert_string_equal(path_of(fixture, i), path);
	}
	assert_int_equal(fixture->damaged, 0);
}

static void lies_are_counted_and_harmless(void **state)
{
	struct fixture *fixture = *state;
	uint32_t *words = (uint32_t *)wire_control_data(fixture->arena, 3);
	uint64_t random = 88172645463325252ULL;

	for (int round = 0; round < 2000; round++) {
		for (uint32_t i = 0; i < WIRE_CONTROL_BYTES / 4; i += 1 + random % 64) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			words[i] =
				random % 3 ? (uint32_t)random : (uint32_t)(random % 600) << 8 | 2;
		}
		read_all(fixture, 0);
	}
	assert_true(fixture->damaged > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_arrive_across_the_wrap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_ring_drops_and_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			an_unfinished_record_holds_the_reader, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_hole_is_passed_over_once_its_writer_is_dead, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			lies_about_lengths_are_not_believed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(several_writers_lose_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lies_are_counted_and_harmless, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
