/* SPDX-License-Identifier: MIT */
/*
 * Write lines of perf's map: names with special characters, the host's code, and memory that perf
 * ignores.
 */
#include <errno.h>

#include "libprof/trampoline/publish.h"
#include "tests/unit/stub-chain.h"

static int setup(void **state)
{
	(void)state;
	chain_make();
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_PERF_MAP), 0);
	return 0;
}

static int cleanup(void **state)
{
	(void)state;
	map_remove(getpid());
	return 0;
}

static void assert_line(const void *start, const char *name)
{
	char *text = map_text(getpid());

	assert_non_null(text);
	assert_int_equal(map_count(text, start, name), 1);
	free(text);
}

static void test_names(void **state)
{
	(void)state;
	assert_line((void *)chain_new_stub("with blank; and more", 0), "with blank; and more");
	assert_line((void *)chain_new_stub("two\nlines\033", 0), "two\\x0alines\\x1b");
	/* perf ignores names of less than three bytes, so blanks are appended. */
	assert_line((void *)chain_new_stub("f", 0), "f  ");
	assert_line((void *)chain_new_stub("fg", 0), "fg ");
	assert_line((void *)chain_new_stub("grüße", 0), "grüße");
}

/*
 * Report a long name through the internal function, because names of regions and stubs are limited.
 * @shift bytes in front of it move the limit to another byte of @character.
 */
static void check_long_name(const char *character, unsigned shift)
{
	static char name[5000], cut[5000];
	struct region_slot slot = {.space = 1, .name = name};
	struct region region = {.start = 0x1000, .bytes = 64, .kind = FLAMEPROF_CODE_HOST,
		.slots = 1, .stride = 64, .code_bytes = 64, .slot = &slot};
	size_t bytes = strlen(character);
	char *text;

	memset(name, 0, sizeof(name));
	memset(name, 'x', shift);
	for (size_t i = shift; i + bytes < sizeof(name); i += bytes)
		memcpy(name + i, character, bytes);
	publish_add_region(&region);
	text = map_text(getpid());
	assert_non_null(text);
	text[strlen(text) - 1] = '\0';
	assert_int_equal(sscanf(strrchr(text, '\n'), "\n1000 40 %4999s", cut), 1);
	assert_in_range(strlen(cut), 2000, 2048);
	assert_int_equal(strlen(cut) % bytes, shift % bytes);
	assert_memory_equal(cut, name, strlen(cut));
	free(text);
	publish_remove_region(&region);
	assert_null(region.published);
}

static void test_long_name(void **state)
{
	static const char *const characters[] = {"ü", "€", "𝄞"};

	(void)state;
	for (unsigned i = 0; i < sizeof(characters) / sizeof(*characters); i++)
		for (unsigned shift = 0; shift < strlen(characters[i]); shift++)
			check_long_name(characters[i], shift);
}

static void test_code_of_the_host(void **state)
{
	static char code[1024];
	char *text;
	char line[64];

	(void)state;
	assert_int_equal(flameprof_code_add(code, 1000, "host's own", NULL), 0);
	snprintf(line, sizeof(line), "%lx 3e8 host's own\n", (unsigned long)(uintptr_t)code);
	text = map_text(getpid());
	assert_non_null(strstr(text, line));
	free(text);
	assert_int_equal(flameprof_code_remove(code), 0);
}

static void test_pages_of_a_file(void **state)
{
	struct region_slot slot = {.space = 1, .name = "in a memfd"};
	struct region region = {.start = 0x2000, .bytes = 64, .kind = FLAMEPROF_CODE_CALL_STUB,
		.slots = 1, .stride = 64, .code_bytes = 20, .slot = &slot, .of_file = 1};

	(void)state;
	publish_add_region(&region);
	/* perf ignores this line, but it is written because other tools read the map too. */
	assert_line((void *)0x2000, "in a memfd");
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_PERF_MAP), -ENOTSUP);
	assert_int_equal(flameprof_published(), FLAMEPROF_PUBLISH_PERF_MAP);
	publish_remove_region(&region);
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_PERF_MAP), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_code_of_the_host),
		cmocka_unit_test(test_pages_of_a_file),
	};

	return cmocka_run_group_tests_name("publish_perf_map", tests, setup, cleanup);
}
