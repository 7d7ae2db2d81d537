/* SPDX-License-Identifier: MIT */
/*
 * * Trees with unnamed frames of several modules.
 * Which command is named where, by os-release files as distributions have them.
 */
#include "cli/run/unnamed_code.h"
#include "tests/unit/own-folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct line {
	const char *name, *module;
	enum calltree_frame_kind kind;
	uint64_t weight;
};

static const struct names empty;

/* Each line is a stack of one frame. */
static struct unnamed_code find(const struct line *lines, const struct names *names)
{
	struct calltree *tree = calltree_new();
	struct unnamed_code found;

	assert_non_null(tree);
	for (; lines->name; lines++)
		calltree_add(tree,
			calltree_child(tree, CALLTREE_ROOT,
				calltree_frame(tree, lines->name, lines->module, lines->kind)),
			lines->weight);
	assert_int_equal(calltree_finish(tree), 0);
	unnamed_code_find(&found, tree, names);
	calltree_free(tree);
	return found;
}

static void the_module_with_most_of_them(void **state)
{
	const struct line lines[] = {{"[a+1]", "a", CALLTREE_UNNAMED, 3},
		{"[b+1]", "b", CALLTREE_UNNAMED, 4}, {"[a+2]", "a", CALLTREE_UNNAMED, 2},
		{"named", "c", CALLTREE_NATIVE, 90}, {NULL, NULL, 0, 0}};
	struct unnamed_code found = find(lines, &empty);

	(void)state;
	assert_string_equal(found.where, "a");
	assert_string_equal(found.remedy, "a build of a that keeps its symbols would name them");
}

/* A file that every system has, one that is no longer there. */
static void what_would_name_it(void **state)
{
	static const struct {
		const char *path, *name, *remedy;
	} cases[] = {{"/bin/sh", "sh", "for their names: "},
		{"/usr/bin/none", "none", "none is not there any more"},
		{"bin/sh", "sh", "a build of sh"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct line lines[] = {
			{"[x+1]", cases[i].name, CALLTREE_UNNAMED, 3}, {NULL, NULL, 0, 0}};
		const struct names_module module = {.number = 1, .start = 1, .end = 2};
		struct pages_account account = {.limit_bytes = SIZE_MAX};
		struct names names = {0};
		struct unnamed_code found;

		assert_int_equal(names_add_module(&names, &account, &module, cases[i].path), 0);
		found = find(lines, &names);
		assert_memory_equal(found.remedy, cases[i].remedy, strlen(cases[i].remedy));
		names_release(&names, &account);
	}
}

static void code_of_no_file(void **state)
{
	static const struct {
		const char *module, *word;
	} cases[] = {{"node", "--perf-basic-prof"}, {"libnode.so.108", "--perf-basic-prof"},
		{"libjvm.so", "DumpPerfMapAtExit"}, {"nodejs-helper", "perf-PID.map"},
		{"libjvm.sow", "perf-PID.map"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct line lines[] = {{"[unknown code]", "", CALLTREE_UNNAMED, 3},
			{"main", cases[i].module, CALLTREE_NATIVE, 1},
			{"[x+1]", "x", CALLTREE_UNNAMED, 2}, {NULL, NULL, 0, 0}};
		struct unnamed_code found = find(lines, &empty);

		assert_string_equal(found.where, "code made while the program ran");
		assert_non_null(strstr(found.remedy, cases[i].word));
	}
}

static void none(void **state)
{
	const struct line lines[] = {{"named", "c", CALLTREE_NATIVE, 90},
		{"[a+1]", "a", CALLTREE_UNNAMED, 0}, {NULL, NULL, 0, 0}};
	struct unnamed_code found = find(lines, &empty);

	(void)state;
	assert_string_equal(found.where, "");
	assert_string_equal(found.remedy, "");
}

/* ---- distribution ---------------------------------------------------------------------------- */

#define DEBIAN	"NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian\n"
#define MINT	"ID_LIKE=\"ubuntu debian\"\nNAME=\"Linux Mint\"\nID=linuxmint\n"
#define ROCKY	"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"
#define ARCH	"NAME=\"Arch Linux\"\nID=arch\nBUILD_ID=rolling\n"
#define LEAP	"ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n"
#define OTHER	"ID=debianlike\nHOME_URL=debian\n"
#define LIBC	"/usr/lib/x86_64-linux-gnu/libc.so.6"
#define PYTHON	"/usr/bin/python3.11"
#define LIBZ	"/usr/lib64/libz.so.1.2.13"

static void commands(void **state)
{
	static const struct {
		const char *release, *path;
		bool has_servers;
		const char *command;
	} cases[] = {
		{DEBIAN, LIBC, false, "apt install libc6-dbg"},
		{DEBIAN, "/lib64/ld-linux-x86-64.so.2", true, "apt install libc6-dbg"},
		{MINT, PYTHON, false, "apt install python3.11-dbg"},
		{DEBIAN, "/usr/lib/x86_64-linux-gnu/libpython3.13.so.1.0", false,
			"apt install python3.13-dbg"},
		{DEBIAN, "/usr/bin/python3", true, "debuginfod-find debuginfo /usr/bin/python3"},
		{DEBIAN, LIBZ, false,
			"DEBUGINFOD_URLS=https://debuginfod.debian.net "
			"debuginfod-find debuginfo " LIBZ},
		{MINT, LIBZ, false,
			"DEBUGINFOD_URLS=https://debuginfod.ubuntu.com "
			"debuginfod-find debuginfo " LIBZ},
		{ROCKY, LIBC, false, "dnf debuginfo-install " LIBC},
		{ROCKY, LIBZ, true, "dnf debuginfo-install " LIBZ},
		{ARCH, LIBC, true, "debuginfod-find debuginfo " LIBC},
		{LEAP, "/usr/lib/a b", false,
			"DEBUGINFOD_URLS=https://debuginfod.opensuse.org/ "
			"debuginfod-find debuginfo '/usr/lib/a b'"},
		{LEAP, "/usr/lib/it's", true, "debuginfod-find debuginfo '/usr/lib/it'\\''s'"},
		{OTHER, PYTHON, false,
			"DEBUGINFOD_URLS=https://debuginfod.elfutils.org/ "
			"debuginfod-find debuginfo " PYTHON},
	};
	char command[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		FILE *out = fopen("os-release", "w");

		assert_non_null(out);
		fputs(cases[i].release, out);
		fclose(out);
		distribution_symbols_command(command, sizeof(command), "os-release", cases[i].path,
			cases[i].has_servers);
		assert_string_equal(command, cases[i].command);
	}
	distribution_symbols_command(command, sizeof(command), "/nowhere", LIBC, false);
	assert_non_null(strstr(command, "elfutils.org"));
}

static void folders(void **state)
{
	(void)state;
	assert_true(distribution_has(LIBC));
	assert_true(distribution_has("/lib/ld-linux-aarch64.so.1"));
	assert_false(distribution_has("/usr/local/bin/server"));
	assert_false(distribution_has("/srv/usr/lib/x"));
	assert_false(distribution_has("/opt/lib/x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_module_with_most_of_them),
		cmocka_unit_test(what_would_name_it),
		cmocka_unit_test(code_of_no_file),
		cmocka_unit_test(none),
		cmocka_unit_test(commands),
		cmocka_unit_test(folders),
	};

	return cmocka_run_group_tests(tests, own_folder_enter, own_folder_leave);
}
