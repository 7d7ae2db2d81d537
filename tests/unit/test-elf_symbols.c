/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Compare the names of PLT entries with objdump's names, in libraries that are linked with many
 * options.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/symbols/symbols.h"
#include "tests/unit/elf_fixture.h"

/*
 * Parse a line of objdump such as "0000000000001030 <puts@plt>:", without a version. Returns 0 if
 * @line is no PLT entry.
 */
static int read_entry(const char *line, uint64_t *address, char name[256])
{
	unsigned long long start;
	char label[256];

	if (sscanf(line, "%llx <%255[^>]>:", &start, label) != 2)
		return 0;

	char *plt = strstr(label, "@plt");

	/* "name@plt-0x10" is the PLT's header. An entry "*ABS*+..." has no symbol name. */
	if (!plt || plt[4] || label[0] == '*')
		return 0;
	label[strcspn(label, "@")] = '\0';
	*address = start;
	snprintf(name, 256, "%.250s@plt", label);
	return 1;
}

/* Check the names of all PLT entries of @file. Returns the number of entries. */
static unsigned compare(const char *file)
{
	struct symbols *symbols = symbols_new();
	struct symbols_module module = {.path = fixture_path(file)};
	int handle = symbols_add_module(symbols, &module);
	char command[512], line[512], want[256];
	unsigned count = 0;
	uint64_t address;

	snprintf(command, sizeof(command),
		"objdump -d -j .plt -j .plt.sec -j .plt.got %s 2>/dev/null", fixture_path(file));

	FILE *pipe = popen(command, "r");

	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		struct symbols_name name;

		if (!read_entry(line, &address, want))
			continue;
		assert_int_equal(symbols_lookup(symbols, handle, address, &name), 0);
		assert_string_equal(name.name, want);
		assert_int_equal(name.start, address);
		assert_int_equal(symbols_lookup(symbols, handle, address + 7, &name), 0);
		assert_string_equal(name.name, want);
		count++;
	}
	pclose(pipe);
	symbols_free(symbols);
	return count;
}

/* Count the PLT entries of @file that have the name @wanted. */
static unsigned count_entries(const char *file, const char *wanted)
{
	struct symbols *symbols = symbols_new();
	struct symbols_module module = {.path = fixture_path(file)};
	int handle = symbols_add_module(symbols, &module);
	unsigned count = 0;

	for (uint64_t address = 0; address < 0x4000; address += 4) {
		struct symbols_name name;

		if (!symbols_lookup(symbols, handle, address, &name))
			count += !strcmp(name.name, wanted) && name.start == address;
	}
	symbols_free(symbols);
	return count;
}

static void test_link_styles(void **state)
{
	static const char *const styles[] = {"-Wl,-z,lazy", "-Wl,-z,now",
		"-fcf-protection=full -Wl,-z,ibtplt", "-mbranch-protection=standard -Wl,-z,lazy"};
	unsigned linked = 0;

	(void)state;
	fixture_write("calls.c", "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
				 "int f(char *a);\n"
				 "int f(char *a)\n{\n"
				 "	int (*volatile p)(const char *) = puts;\n"
				 "	p(a);\n"
				 "	return puts(a) + (int)strlen(getenv(a)) + atoi(a);\n}\n");
	for (size_t i = 0; i < sizeof(styles) / sizeof(*styles); i++) {
		/*
		 * The compiler of each CPU knows only some of these options, so a library that
		 * cannot be built is left out.
		 */
		fixture_run("cc -fPIC -shared %s -o calls.so calls.c 2>/dev/null || rm -f calls.so",
			styles[i]);

		FILE *file = fopen(fixture_path("calls.so"), "r");

		if (!file)
			continue;
		fclose(file);
		linked++;
		assert_in_range(compare("calls.so"), 4, 5);
		/* With IBT each entry has a second, lazy half, for which objdump prints no name. */
		assert_int_equal(
			count_entries("calls.so", "getenv@plt"), strstr(styles[i], "ibt") ? 2 : 1);
		fixture_run("strip calls.so");
		assert_in_range(compare("calls.so"), 4, 5);
	}
	assert_true(linked >= 3);
}

/* Name PLT entries with a bnd prefix, as older linkers wrote them. */
static void test_bnd_prefix(void **state)
{
	FILE *file;

	(void)state;
	fixture_write("bnd.c",
		"__asm__(\".section .plt.sec, \\\"ax\\\"\\n.balign 16\\n\"\n"
		"	\".byte 0xf3, 0x0f, 0x1e, 0xfa, 0xf2\\n\"\n"
		"	\"jmp *getenv@GOTPCREL(%rip)\\n.balign 16\\n.text\\n\");\n");
	fixture_run("cc -fPIC -shared -o bnd.so bnd.c 2>/dev/null || rm -f bnd.so");
	file = fopen(fixture_path("bnd.so"), "r");
	if (!file)
		skip(); /* not this CPU's assembler */
	fclose(file);
	assert_int_equal(count_entries("bnd.so", "getenv@plt"), 1);
}

static void test_ifunc_entries_are_named_by_their_resolver(void **state)
{
	(void)state;
	fixture_write("ifunc.c",
		"static int one(void) { return 1; }\n"
		"static void *pick(void) { return (void *)one; }\n"
		"__attribute__((visibility(\"hidden\"), ifunc(\"pick\"))) int chosen(void);\n"
		"int f(void);\nint f(void) { return chosen() + 1; }\n");
	fixture_run("cc -fPIC -shared -O1 -o ifunc.so ifunc.c");
	assert_true(count_entries("ifunc.so", "chosen@plt") >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link_styles),
		cmocka_unit_test(test_bnd_prefix),
		cmocka_unit_test(test_ifunc_entries_are_named_by_their_resolver),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
