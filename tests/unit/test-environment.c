/* SPDX-License-Identifier: MIT */
/*
 * Make the environment of an exec'd image: LD_PRELOAD with unusual values, with and without the
 * variables of this flamerun, and files into which the library must not be loaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/preload/preload.h"
#include "tests/unit/own-folder.h"

#define LIBRARY "/l/ours.so"
#define CHANNEL WIRE_ENV "=1:2:3:f"
#define OTHERS	WIRE_ENV "=7:8:9:e"
#define MANY	2000

static struct preload_handover handover;

/* Returns the environment made from @variables, one variable per line; "=" if it is unchanged. */
static const char *made(const char *const *variables, const char *run, int found)
{
	static char text[400000];
	char *const *environment = (char *const *)(uintptr_t)variables, *const *given;
	char *at = text;
	void *room;

	preload_plan_handover(&handover, environment, LIBRARY, run, found);
	room = handover.bytes ? malloc(handover.bytes) : NULL;
	given = preload_environment(&handover, room);
	*at = '\0';
	if (given == environment)
		strcpy(text, "=");
	else
		for (; *given; given++)
			at += sprintf(at, "%s\n", *given);
	free(room);
	return text;
}

#define MADE(...) made((const char *[]){__VA_ARGS__, NULL}, CHANNEL, 0)

static void it_comes_back_behind_the_others(void **state)
{
	(void)state;
	assert_string_equal(MADE("A=1", "LD_PRELOAD=x.so", CHANNEL, "B=2"),
		"A=1\nLD_PRELOAD=x.so:" LIBRARY "\n" CHANNEL "\nB=2\n");
	assert_string_equal(MADE("LD_PRELOAD=x.so"), "LD_PRELOAD=x.so:" LIBRARY "\n" CHANNEL "\n");
	assert_string_equal(MADE(CHANNEL, "A=1"), CHANNEL "\nA=1\nLD_PRELOAD=" LIBRARY "\n");
	assert_string_equal(MADE("LD_PRELOAD=", CHANNEL), "LD_PRELOAD=" LIBRARY "\n" CHANNEL "\n");
	assert_string_equal(MADE("LD_PRELOAD= a:b ", CHANNEL),
		"LD_PRELOAD= a:b :" LIBRARY "\n" CHANNEL "\n");
	/* Other libraries whose paths only begin or end like the library's path. */
	assert_string_equal(MADE("LD_PRELOAD=/l/ours.so.1:/m" LIBRARY ":ours.so", CHANNEL),
		"LD_PRELOAD=/l/ours.so.1:/m" LIBRARY ":ours.so:" LIBRARY "\n" CHANNEL "\n");
	assert_string_equal(MADE("XLD_PRELOAD=" LIBRARY, CHANNEL),
		"XLD_PRELOAD=" LIBRARY "\n" CHANNEL "\nLD_PRELOAD=" LIBRARY "\n");
	/* If there are two, ld.so uses the last. */
	assert_string_equal(MADE("LD_PRELOAD=" LIBRARY, "LD_PRELOAD=b", CHANNEL),
		"LD_PRELOAD=" LIBRARY "\nLD_PRELOAD=b:" LIBRARY "\n" CHANNEL "\n");
	assert_int_equal(handover.cause, WIRE_UNPROFILED_NONE);
}

static void what_has_it_stays(void **state)
{
	(void)state;
	assert_string_equal(MADE("LD_PRELOAD=" LIBRARY, CHANNEL), "=");
	assert_string_equal(MADE("LD_PRELOAD= :x.so:" LIBRARY " " LIBRARY, CHANNEL), "=");
	assert_string_equal(
		MADE("LD_PRELOAD=a " LIBRARY), "LD_PRELOAD=a " LIBRARY "\n" CHANNEL "\n");
	/*
	 * The file was not examined. The environment already has the library, so it stays
	 * unchanged.
	 */
	assert_string_equal(
		made((const char *[]){"LD_PRELOAD=" LIBRARY, CHANNEL, NULL}, CHANNEL, -1), "=");
	assert_int_equal(handover.cause, WIRE_UNPROFILED_NONE);
}

/*
 * The library must follow the libraries that were added, because AddressSanitizer's runtime ends a
 * program in which it is not the first library.
 */
static void it_moves_behind_what_was_added(void **state)
{
	const char *mixed[] = {"LD_PRELOAD=" LIBRARY " a: b:", CHANNEL, NULL};
	const char *others[] = {"LD_PRELOAD=" LIBRARY ":a", OTHERS, NULL};

	(void)state;
	assert_string_equal(made(mixed, CHANNEL, 0), "LD_PRELOAD=a:b:" LIBRARY "\n" CHANNEL "\n");
	assert_string_equal(made(mixed, CHANNEL, -1), "LD_PRELOAD=a:b:" LIBRARY "\n" CHANNEL "\n");
	assert_string_equal(made(mixed, NULL, 0), "LD_PRELOAD=a:b:" LIBRARY "\n" CHANNEL "\n");
	assert_string_equal(made(others, CHANNEL, 0), "LD_PRELOAD=a:" LIBRARY "\n" OTHERS "\n");
	assert_string_equal(MADE("LD_PRELOAD=" LIBRARY ":a:" LIBRARY ":b"),
		"LD_PRELOAD=a:b:" LIBRARY "\n" CHANNEL "\n");
	assert_int_equal(handover.cause, WIRE_UNPROFILED_NONE);
}

static void what_was_cleared_stays_so(void **state)
{
	(void)state;
	assert_string_equal(MADE("A=1"), "=");
	assert_int_equal(handover.cause, WIRE_UNPROFILED_CLEARED);
	assert_string_equal(MADE(NULL), "=");
	assert_int_equal(handover.cause, WIRE_UNPROFILED_CLEARED);
	made(NULL, CHANNEL, 0);
	assert_null(preload_environment(&handover, NULL));
	assert_int_equal(handover.cause, WIRE_UNPROFILED_CLEARED);
}

static void what_is_no_part_of_this_run_stays(void **state)
{
	(void)state;
	assert_string_equal(made((const char *[]){"LD_PRELOAD=x.so", NULL}, NULL, 0), "=");
	assert_int_equal(handover.cause, WIRE_UNPROFILED_NONE);
	assert_string_equal(MADE("LD_PRELOAD=x.so", OTHERS), "=");
	assert_int_equal(handover.cause, WIRE_UNPROFILED_NONE);
}

static void it_is_taken_out_where_it_does_harm(void **state)
{
	static const int harmful[] = {WIRE_UNPROFILED_OTHER_LIBC, WIRE_UNPROFILED_OTHER_CPU,
		WIRE_UNPROFILED_SANITIZED, WIRE_UNPROFILED_UNREACHABLE, WIRE_UNPROFILED_CONFINED};
	static const int harmless[] = {
		WIRE_UNPROFILED_STATIC, WIRE_UNPROFILED_NO_LIBC, WIRE_UNPROFILED_PRIVILEGED};
	const char *mixed[] = {"LD_PRELOAD=" LIBRARY " a::" LIBRARY ":b", CHANNEL, NULL};
	const char *behind[] = {"LD_PRELOAD=a:" LIBRARY, CHANNEL, NULL};
	const char *alone[] = {"A=1", "LD_PRELOAD=:" LIBRARY, NULL};
	const char *without[] = {"LD_PRELOAD=x.so", CHANNEL, NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(harmful) / sizeof(*harmful); i++) {
		assert_string_equal(
			made(mixed, CHANNEL, harmful[i]), "LD_PRELOAD=a:b\n" CHANNEL "\n");
		assert_string_equal(made(alone, NULL, harmful[i]), "A=1\n");
		assert_string_equal(made(without, CHANNEL, harmful[i]), "=");
		assert_int_equal(handover.cause, harmful[i]);
	}
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++) {
		assert_string_equal(made(behind, CHANNEL, harmless[i]), "=");
		assert_string_equal(made(without, CHANNEL, harmless[i]), "=");
		assert_int_equal(handover.cause, harmless[i]);
	}
	/*
	 * The file was not examined: the environment stays unchanged, and "replaced" is recorded as
	 * the cause.
	 */
	assert_string_equal(made(without, CHANNEL, -1), "=");
	assert_int_equal(handover.cause, WIRE_UNPROFILED_REPLACED);
}

static void a_small_stack_is_enough(void **state)
{
	static const char *environment[MANY + 1];
	static char value[100001] = "LD_PRELOAD=";

	(void)state;
	memset(value + strlen(value), 'x', sizeof(value) - 1 - strlen(value));
	assert_string_equal(MADE(value, CHANNEL), "=");
	assert_int_equal(handover.cause, WIRE_UNPROFILED_REPLACED);
	value[4000] = '\0';
	assert_non_null(strstr(MADE(value, CHANNEL), "xx:" LIBRARY "\n"));
	for (int i = 0; i < MANY; i++)
		environment[i] = i ? "A=1" : CHANNEL;
	assert_string_equal(made(environment, CHANNEL, 0), "=");
	assert_int_equal(handover.cause, WIRE_UNPROFILED_REPLACED);
	environment[800] = NULL;
	assert_non_null(strstr(made(environment, CHANNEL, 0), "A=1\nLD_PRELOAD=" LIBRARY "\n"));
}

/* ---- the file that will run ------------------------------------------------------------------ */

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	chmod(name, 0755);
}

static int obstacle(int directory, const char *file)
{
	return preload_find_obstacle((char *[]){NULL}, directory, file);
}

/* Skip the test under an emulator, where the system's programs are for another CPU. */
static void skip_if_emulated(void)
{
	if (getenv("TEST_EMULATED"))
		skip();
}

static void a_file_is_found_as_exec_finds_it(void **state)
{
	int descriptor = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	char path[200];

	(void)state;
	skip_if_emulated();
	assert_int_equal(obstacle(AT_FDCWD, "/bin/sh"), 0);
	assert_int_equal(obstacle(descriptor, ""), 0);
	close(descriptor);
	write_file("other", "\177ELF\1\1\1 and what follows is of another word size");
	write_file("script", "#! ./other argument\n");
	write_file("twice", "#!./script");
	write_file("text", "x!./other\n");
	write_file("loop", "#!./loop\n");
	write_file("long", "#!/bin/sh");
	assert_int_equal(truncate("long", 4096), 0);
	assert_int_equal(obstacle(AT_FDCWD, "other"), WIRE_UNPROFILED_OTHER_CPU);
	assert_int_equal(obstacle(AT_FDCWD, "script"), WIRE_UNPROFILED_OTHER_CPU);
	assert_int_equal(obstacle(AT_FDCWD, "twice"), WIRE_UNPROFILED_OTHER_CPU);
	assert_int_equal(obstacle(AT_FDCWD, "text"), 0);
	assert_true(obstacle(AT_FDCWD, "loop") < 0);
	assert_true(obstacle(AT_FDCWD, "/") < 0);
	assert_true(obstacle(PRELOAD_ALONG_PATH, "none") < 0);
	assert_int_equal(obstacle(AT_FDCWD, "long"), 0);
	snprintf(path, sizeof(path), "/nowhere::/bin:%s", (char *)*state);
	setenv("PATH", path, 1);
	assert_int_equal(obstacle(PRELOAD_ALONG_PATH, "twice"), WIRE_UNPROFILED_OTHER_CPU);
	setenv("PATH", "/nowhere:/bin:", 1);
	assert_int_equal(obstacle(PRELOAD_ALONG_PATH, "twice"), WIRE_UNPROFILED_OTHER_CPU);
	assert_int_equal(obstacle(PRELOAD_ALONG_PATH, "sh"), 0);
}

/*
 * Only regular files may be opened: opening a FIFO may wait for its other end, opening a device may
 * wait or change the device's state.
 */
static void only_files_are_opened(void **state)
{
	int held;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0755), 0);
	held = open("pipe", O_RDWR | O_CLOEXEC);
	assert_true(held >= 0);
	assert_int_equal(obstacle(AT_FDCWD, "pipe"), -EACCES);
	close(held);
}

static void ids_that_change(void **state)
{
	(void)state;
	skip_if_emulated();
	if (getuid() || system("cp /bin/true own && cp /bin/true others && chown 12345 others && "
			       "chmod 4755 own others"))
		skip();
	assert_int_equal(obstacle(AT_FDCWD, "own"), 0);
	assert_int_equal(obstacle(AT_FDCWD, "others"), WIRE_UNPROFILED_PRIVILEGED);
}

/*
 * This test program is not in a place where the library can be found, so each exec counts as
 * "unreachable".
 */
static void an_exec_that_fails_counts_nothing(void **state)
{
	static struct wire_arena arena;

	(void)state;
	skip_if_emulated();
	sampler.arena = &arena;
	preload_hand_over(&handover, (char *[]){NULL}, AT_FDCWD, "/bin/sh");
	assert_int_equal(arena.unprofiled[WIRE_UNPROFILED_UNREACHABLE], 1);
	preload_restore(&handover);
	assert_int_equal(arena.unprofiled[WIRE_UNPROFILED_UNREACHABLE], 0);
	/* The arena is closing because flamerun ends, so the exec is not counted. */
	arena.closing = 1;
	preload_hand_over(&handover, (char *[]){NULL}, AT_FDCWD, "/bin/sh");
	assert_int_equal(arena.unprofiled[WIRE_UNPROFILED_UNREACHABLE], 0);
	preload_restore(&handover);
	assert_int_equal(arena.unprofiled[WIRE_UNPROFILED_UNREACHABLE], 0);
	sampler.arena = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_comes_back_behind_the_others),
		cmocka_unit_test(what_has_it_stays),
		cmocka_unit_test(it_moves_behind_what_was_added),
		cmocka_unit_test(what_was_cleared_stays_so),
		cmocka_unit_test(what_is_no_part_of_this_run_stays),
		cmocka_unit_test(it_is_taken_out_where_it_does_harm),
		cmocka_unit_test(a_small_stack_is_enough),
		cmocka_unit_test_setup_teardown(
			a_file_is_found_as_exec_finds_it, own_folder_enter, own_folder_leave),
		cmocka_unit_test_setup_teardown(
			only_files_are_opened, own_folder_enter, own_folder_leave),
		cmocka_unit_test_setup_teardown(
			ids_that_change, own_folder_enter, own_folder_leave),
		cmocka_unit_test(an_exec_that_fails_counts_nothing),
	};

	preload_store_channel(strchr(CHANNEL, '=') + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
