/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Find the module that has most frames without names; the command that installs its names, for the
 * os-release files of several distributions; and the version of a runtime, from names and contents
 * of its files.
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

/*
 * Say what would give names to the code of a file that exists, of a file that is gone, and of a
 * file with a relative path.
 */
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
		{"libjvm.sow", "perf-PID.map"}, {"deno", "--v8-flags=--perf-basic-prof"},
		{"libpypy3.11-c.so", "PyPy has no switch"},
		{"libguile-3.0.so.1", "Guile has no switch"}};

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

#define DEBIAN "NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian\n"
#define MINT   "ID_LIKE=\"ubuntu debian\"\nNAME=\"Linux Mint\"\nID=linuxmint\n"
#define ROCKY  "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"
#define ARCH   "NAME=\"Arch Linux\"\nID=arch\nBUILD_ID=rolling\n"
#define LEAP   "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n"
#define OTHER  "ID=debianlike\nHOME_URL=debian\n"
#define LIBC   "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define PYTHON "/usr/bin/python3.11"
#define LIBZ   "/usr/lib64/libz.so.1.2.13"

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
		{LEAP, LIBZ, false,
			"DEBUGINFOD_URLS=https://debuginfod.opensuse.org/ "
			"debuginfod-find debuginfo " LIBZ},
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

/* ---- runtimes of versions that are not read -------------------------------------------------- */

/* Write a file in the current folder, with @before bytes in front of @text. */
static void write_file(const char *path, long before, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fseek(out, before, SEEK_SET), 0);
	fputs(text, out);
	fclose(out);
}

static void the_version_of_a_runtime(void **state)
{
	static const struct {
		const char *kind, *paths[2], *line;
	} cases[] = {
		{"python", {"/usr/bin/env", "/opt/bin/python3.99"}, "Python 3.99 is not "},
		{"python", {"/opt/bin/python3.99t", "/opt/lib/libpython3.99t.so.1.0"},
			"Python 3.99t (free-threaded) is not "},
		{"python", {"/opt/bin/python3.99test"}, "Python 3.99 is not "},
		{"python", {"/opt/bin/python3.99", "/opt/lib/libpython3.99.so.1.0"},
			"Python 3.99 is not "},
		{"python", {"/opt/bin/python3.99", "/opt/bin/python3.98"}, "Python, as it runs "},
		{"python", {"/opt/bin/pythonista3.99"}, "Python, as it runs "},
		{"php", {"php-fpm"}, "PHP 9.7 is not "},
		{"php", {"/opt/lib/libphp9.6.so"}, "PHP 9.6 is not "},
		{"ruby", {"/opt/bin/ruby", "/opt/lib/libruby-9.5.so.9.5.1"}, "Ruby 9.5 is not "},
		{"perl", {"/opt/lib/libperl.so.5.98.1"}, "Perl 5.98 is not "},
		{"lua", {"/opt/lib/liblua5.9.so.0.0.0"}, "Lua 5.9 is not "},
		{"lua", {"/opt/lib/libluajit-5.1.so.2.2.0"}, "Lua, as it runs "},
		{"luajit", {"/opt/lib/libluajit-5.1.so.2.2.0"}, "LuaJIT 2.2 is not "},
		{"node", {"/opt/lib/libnode.so.115"}, "node, as it runs "},
		{"node", {"node"}, "node 98.7 is not "},
		{"java", {"jdk/lib/server/libjvm.so"}, "Java 97.0 is not "},
	};
	struct pages_account account = {.limit_bytes = SIZE_MAX};

	(void)state;
	/*
	 * The version follows a similar text, or it crosses the end of a block in which the file is
	 * read.
	 */
	write_file("php-fpm", 100, "PHP/%s PHP/9.7.3");
	write_file("node", 65536 - 9, "release/node-v98.7.6/node-v98.7.6.tar.gz");
	assert_int_equal(system("mkdir -p jdk/lib/server"), 0);
	write_file("jdk/release", 0, "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"97.0.1\"\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct runtime_kind kind = {.name = cases[i].kind, .known = "1 to 2"};
		struct names names = {0};
		char line[512];

		for (uint32_t k = 0; k < 2 && cases[i].paths[k]; k++) {
			const struct names_module module = {
				.number = k + 1, .start = k + 1, .end = k + 2};

			assert_int_equal(
				names_add_module(&names, &account, &module, cases[i].paths[k]), 0);
		}
		unnamed_code_runtime(line, sizeof(line), &kind, &names);
		assert_memory_equal(line, cases[i].line, strlen(cases[i].line));
		assert_non_null(strstr(line, "(known: 1 to 2)"));
		names_release(&names, &account);
	}
}

static void every_runtime_has_a_line(void **state)
{
	unsigned count = 0;
	char line[512];

	(void)state;
	for (; runtime_kind_at(count); count++) {
		assert_int_equal(runtime_bit(runtime_kind_at(count)), 1u << count);
		unnamed_code_runtime(line, sizeof(line), runtime_kind_at(count), &empty);
		assert_non_null(strstr(line, runtime_kind_at(count)->known));
	}
	assert_true(count > 1);
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
		cmocka_unit_test(the_version_of_a_runtime),
		cmocka_unit_test(every_runtime_has_a_line),
	};

	return cmocka_run_group_tests(tests, own_folder_enter, own_folder_leave);
}
