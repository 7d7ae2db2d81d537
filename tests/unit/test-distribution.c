/* SPDX-License-Identifier: MIT */
/* Which command is named where, by os-release files as distributions have them. */
#include "cli/run/distribution.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/own-folder.h"

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
		cmocka_unit_test(commands),
		cmocka_unit_test(folders),
	};

	return cmocka_run_group_tests(tests, own_folder_enter, own_folder_leave);
}
