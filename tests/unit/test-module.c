/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test from which file, and from which of its tables, the names of a module are read: stripped
 * files with a debug link, build-id folders, compressed symbols, files that are not the ones that
 * ran, and invalid paths.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <sched.h>
#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/symbols/elf_file.h"
#include "cli/symbols/module.h"
#include "tests/unit/elf_fixture.h"

/*
 * Read @module and check the source of its names and the names of two functions. NULL means that
 * the function has no name.
 */
static void expect_module(const struct symbols_module *module, enum symbols_source source,
	const char *exported, const char *hidden)
{
	struct symbols_origin got = {SYMBOLS_VDSO, NULL};
	struct symtab *table = NULL;
	const char *names[] = {exported, hidden};
	uint64_t addresses[] = {
		fixture_address("lib.so", "exported"), fixture_address("lib.so", "hidden")};

	assert_int_equal(module_read(module, &table, &got), 0);
	assert_int_equal(got.source, source);
	assert_int_equal(!!got.path,
		source == SYMBOLS_DEBUG_FILE || source == SYMBOLS_DEBUG_LINK ||
			source == SYMBOLS_DEBUGINFOD);
	free((char *)got.path);
	for (int i = 0; i < 2; i++) {
		struct symtab_symbol *found = symtab_find(table, addresses[i]);

		assert_int_not_equal(addresses[i], 0);
		if (names[i]) {
			assert_non_null(found);
			assert_string_equal(found->name, names[i]);
		} else {
			assert_null(found);
		}
	}
	symtab_free(table);
}

static void expect_file(
	const char *name, enum symbols_source source, const char *exported, const char *hidden)
{
	struct symbols_module module = {.path = fixture_path(name)};

	expect_module(&module, source, exported, hidden);
}

static size_t read_build_id(const char *name, uint8_t id[64])
{
	struct elf_file image;
	const uint8_t *found;
	size_t bytes;

	assert_int_equal(elf_file_open(&image, fixture_path(name), 0), 0);
	bytes = elf_file_build_id(&image, &found);
	assert_true(bytes <= 64);
	memcpy(id, found, bytes);
	elf_file_close(&image);
	return bytes;
}

static void test_own_table(void **state)
{
	struct symtab *table = NULL;
	struct symbols_origin origin;
	struct symbols_module module = {.path = fixture_path("lib.so")};
	uint64_t sized = fixture_address("lib.so", "sized");

	(void)state;
	expect_file("lib.so", SYMBOLS_SYMTAB, "exported", "hidden");
	assert_int_equal(module_read(&module, &table, &origin), 0);
	assert_string_equal(symtab_find(table, sized + 20)->name, "sized");
	assert_null(symtab_find(table, sized + 32));
	assert_string_equal(symtab_find(table, sized + 64)->name, "unsized");
	assert_string_equal(symtab_find(table, sized + 87)->name, "unsized");
	assert_string_equal(symtab_find(table, sized + 88)->name, "after");
	assert_null(symtab_find(table, sized + 96));
	assert_int_not_equal(fixture_address("lib.so", "datum"), 0);
	assert_null(symtab_find(table, fixture_address("lib.so", "datum")));
	symtab_free(table);
}

static void test_stripped(void **state)
{
	(void)state;
	fixture_run("strip -o stripped.so lib.so");
	expect_file("stripped.so", SYMBOLS_DYNSYM, "exported", NULL);
}

static void test_debug_link(void **state)
{
	(void)state;
	fixture_run("objcopy --only-keep-debug lib.so linked.debug && strip -o linked.so lib.so && "
		    "objcopy --add-gnu-debuglink=linked.debug linked.so");
	expect_file("linked.so", SYMBOLS_DEBUG_LINK, "exported", "hidden");
	fixture_run("mkdir -p .debug && mv linked.debug .debug");
	expect_file("linked.so", SYMBOLS_DEBUG_LINK, "exported", "hidden");

	/* Now the file to which the debug link refers belongs to another build. */
	fixture_run("cc -O2 -fPIC -shared -Wl,--build-id=sha1 -DOTHER -g -o other.so lib.c && "
		    "objcopy --only-keep-debug other.so .debug/linked.debug");
	expect_file("linked.so", SYMBOLS_DYNSYM, "exported", NULL);
}

static void test_debug_link_checksum(void **state)
{
	(void)state;
	fixture_run("objcopy --remove-section=.note.gnu.build-id lib.so plain.so && "
		    "objcopy --only-keep-debug plain.so plain.debug && strip plain.so && "
		    "objcopy --add-gnu-debuglink=plain.debug plain.so");
	expect_file("plain.so", SYMBOLS_DEBUG_LINK, "exported", "hidden");
	fixture_run("printf x >> plain.debug");
	expect_file("plain.so", SYMBOLS_DYNSYM, "exported", NULL);
}

static void test_compressed_symbols(void **state)
{
	(void)state;
	fixture_run(
		"objcopy --only-keep-debug lib.so mini && "
		"nm -D lib.so --format=posix --defined-only | awk '{ print $1 }' > names && "
		"objcopy --strip-symbols=names mini && xz -f mini && "
		"strip -o mini.so lib.so && objcopy --add-section .gnu_debugdata=mini.xz mini.so");
	expect_file("mini.so", SYMBOLS_MINI, "exported", "hidden");
	fixture_run("head -c 200 mini.xz > short.xz && "
		    "strip -o short.so lib.so && objcopy --add-section .gnu_debugdata=short.xz "
		    "short.so");
	expect_file("short.so", SYMBOLS_DYNSYM, "exported", NULL);
}

static void test_compressed_bomb(void **state)
{
	struct elf_file image, mini;

	(void)state;
	fixture_run("(cat lib.so; head -c %u /dev/zero) | xz -0 > bomb.xz && strip -o bomb.so "
		    "lib.so && "
		    "objcopy --add-section .gnu_debugdata=bomb.xz bomb.so",
		MINIDEBUG_MAX_BYTES);
	assert_int_equal(elf_file_open(&image, fixture_path("bomb.so"), 0), 0);
	assert_int_equal(minidebug_open(&mini, &image), -EBADMSG);
	elf_file_close(&image);
}

static void test_build_id_decides(void **state)
{
	uint8_t id[64];
	size_t bytes = read_build_id("lib.so", id);
	char deleted[300];
	struct symbols_module module = {
		.path = fixture_path("lib.so"), .build_id = id, .build_id_bytes = bytes};

	(void)state;
	assert_int_equal(bytes, 20);
	expect_module(&module, SYMBOLS_SYMTAB, "exported", "hidden");
	snprintf(deleted, sizeof(deleted), "%s (deleted)", fixture_path("lib.so"));
	module.path = deleted;
	expect_module(&module, SYMBOLS_SYMTAB, "exported", "hidden");
	module.path = fixture_path("lib.so");
	module.build_id_bytes = 16;
	expect_module(&module, SYMBOLS_MISMATCH, NULL, NULL);
	module.build_id_bytes = bytes;
	id[19] ^= 1;
	expect_module(&module, SYMBOLS_MISMATCH, NULL, NULL);
	module.path = deleted;
	expect_module(&module, SYMBOLS_REPLACED, NULL, NULL);
}

static int64_t changed_ns(const char *name)
{
	struct stat status;

	assert_int_equal(stat(fixture_path(name), &status), 0);
	return status.st_ctim.tv_sec * 1000000000LL + status.st_ctim.tv_nsec;
}

/*
 * A file that is older than the sampled module belongs to another root folder; a newer file has
 * replaced the module's file.
 */
static void test_replaced(void **state)
{
	uint8_t id[64];
	char path[256];
	struct symbols_module module = {.path = path, .build_id = id};

	(void)state;
	strcpy(path, fixture_path("here.so"));
	module.build_id_bytes = read_build_id("lib.so", id);
	fixture_run("cc -O2 -fPIC -shared -Wl,--build-id=sha1 -DOTHER -g -o here.so lib.c");
	module.seen_ns = changed_ns("here.so");
	expect_module(&module, SYMBOLS_MISMATCH, NULL, NULL);
	module.seen_ns--;
	expect_module(&module, SYMBOLS_REPLACED, NULL, NULL);
	/* A copy of the original file is used. */
	fixture_run("cp lib.so here.so");
	expect_module(&module, SYMBOLS_SYMTAB, "exported", "hidden");
	fixture_run("rm here.so");
	expect_module(&module, SYMBOLS_NONE, NULL, NULL);
}

static void test_replaced_without_build_id(void **state)
{
	struct symbols_module module = {.path = fixture_path("bare.so")};
	char deleted[300];

	(void)state;
	fixture_run("objcopy --remove-section=.note.gnu.build-id lib.so bare.so");
	assert_false(module_is_changed(&module));
	module.seen_ns = changed_ns("bare.so");
	assert_false(module_is_changed(&module));
	expect_module(&module, SYMBOLS_SYMTAB, "exported", "hidden");
	module.seen_ns--;
	assert_true(module_is_changed(&module));
	expect_module(&module, SYMBOLS_REPLACED, NULL, NULL);
	/*
	 * The kernel marks the file as deleted, so the file that is now at this path is another
	 * one.
	 */
	snprintf(deleted, sizeof(deleted), "%s (deleted)", fixture_path("bare.so"));
	module.path = deleted;
	module.seen_ns = changed_ns("bare.so");
	expect_module(&module, SYMBOLS_REPLACED, NULL, NULL);
}

/* A descriptor that flamerun opened earlier leads to the file. */
static void test_held(void **state)
{
	uint8_t id[64];
	char held[64];
	struct symbols_module module = {
		.path = fixture_path("held.so"), .build_id = id, .seen_ns = 1};
	int fd;

	(void)state;
	module.build_id_bytes = read_build_id("lib.so", id);
	fixture_run("cp lib.so held.so");
	fd = open(fixture_path("held.so"), O_RDONLY);
	assert_true(fd >= 0);
	snprintf(held, sizeof(held), "/proc/self/fd/%d", fd);
	module.program = held;
	fixture_run("cc -O2 -fPIC -shared -Wl,--build-id=sha1 -DOTHER -g -o new.so lib.c && "
		    "mv new.so held.so");
	expect_module(&module, SYMBOLS_SYMTAB, "exported", "hidden");
	/* A file held open is not used if its build-id differs. */
	id[0] ^= 1;
	expect_module(&module, SYMBOLS_REPLACED, NULL, NULL);
	close(fd);
}

/*
 * A file that was replaced but is still mapped is read through /proc/PID/map_files if this is
 * permitted. Root is permitted, but not in every container.
 */
static void test_still_mapped(void **state)
{
	uint8_t id[64];
	char link[128];
	struct stat status;
	struct symbols_module module = {
		.path = fixture_path("mapped.so"), .build_id = id, .seen_ns = 1};
	void *mapped;
	int fd, probe;

	(void)state;
	module.build_id_bytes = read_build_id("lib.so", id);
	module.pid = (uint32_t)getpid();
	fixture_run("cp lib.so mapped.so");
	fd = open(fixture_path("mapped.so"), O_RDONLY);
	assert_int_equal(fstat(fd, &status), 0);
	mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(mapped != MAP_FAILED);
	module.start = (uintptr_t)mapped;
	close(fd);
	fixture_run("cp lib.so new.so && printf '\\1' | dd of=new.so conv=notrunc bs=1 seek=%d "
		    "2>/dev/null && mv new.so mapped.so",
		EI_CLASS);
	snprintf(link, sizeof(link), "/proc/self/map_files/%lx-%lx", (unsigned long)mapped,
		(unsigned long)mapped + 4096);
	probe = open(link, O_RDONLY);
	if (probe >= 0)
		expect_module(&module, SYMBOLS_SYMTAB, "exported", "hidden");
	munmap(mapped, 4096);
	expect_module(&module, SYMBOLS_NONE, NULL, NULL);
	if (probe < 0)
		skip();
	close(probe);
}

/*
 * The file of a running program without a build-id was replaced. /proc/PID/exe still leads to the
 * old file.
 */
static void test_living_program(void **state)
{
	char path[256];
	struct symbols_origin origin;
	struct symtab *table = NULL;
	struct symbols_module module = {.path = path, .seen_ns = 1};
	int ready[2];
	char byte;

	(void)state;
	if (getenv("TEST_EMULATED")) /* the link is the emulator's */
		skip();
	strcpy(path, fixture_path("program"));
	fixture_write("program.c", "#include <unistd.h>\nint main(void)\n"
				   "{ return write(1, \"x\", 1) == 1 ? pause() : 1; }\n");
	fixture_run("cc -Wl,--build-id=none -o program program.c");
	assert_int_equal(pipe(ready), 0);

	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ready[1], 1);
		execl(path, path, (char *)NULL);
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	module.pid = (uint32_t)pid;
	fixture_run("strip -o other program && mv other program");
	assert_int_equal(module_read(&module, &table, &origin), 0);
	assert_int_equal(origin.source, SYMBOLS_SYMTAB);
	symtab_free(table);
	/* /proc/PID/exe is not used for a module with another name than the program's. */
	strcpy(path, fixture_path("lib.so"));
	expect_module(&module, SYMBOLS_REPLACED, NULL, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The module's file is gone, so only its build-id leads to the debug file. */
static void test_debug_file_of_what_is_gone(void **state)
{
	uint8_t id[64];
	char hex[129];
	size_t bytes = read_build_id("lib.so", id);
	struct symbols_module module = {
		.path = fixture_path("gone.so"), .build_id = id, .build_id_bytes = bytes};

	(void)state;
	for (size_t i = 0; i < bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	fixture_run("mkdir -p fetched/%s && objcopy --only-keep-debug lib.so fetched/%s/debuginfo",
		hex, hex);
	setenv("DEBUGINFOD_CACHE_PATH", fixture_path("fetched"), 1);
	expect_module(&module, SYMBOLS_DEBUGINFOD, "exported", "hidden");
	module.is_hurried = true;
	expect_module(&module, SYMBOLS_NONE, NULL, NULL);
	unsetenv("DEBUGINFOD_CACHE_PATH");
}

static void test_paths_that_lead_nowhere(void **state)
{
	struct symbols_module module = {.path = "/dev/zero"};

	(void)state;
	alarm(20);
	expect_module(&module, SYMBOLS_NONE, NULL, NULL);
	assert_int_equal(mkfifo(fixture_path("fifo"), 0600), 0);
	expect_file("fifo", SYMBOLS_NONE, NULL, NULL);
	expect_file("", SYMBOLS_NONE, NULL, NULL);
	expect_file("missing", SYMBOLS_NONE, NULL, NULL);
	fixture_write("text", "#!/bin/sh\n");
	expect_file("text", SYMBOLS_NONE, NULL, NULL);
	fixture_write("empty", "");
	expect_file("empty", SYMBOLS_NONE, NULL, NULL);
	module.path = "";
	expect_module(&module, SYMBOLS_NONE, NULL, NULL);
	alarm(0);
}

static void write_line(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(77);
	close(fd);
}

/*
 * Fork a process that has the folder as its root and runs until it is killed. Returns 0 if this is
 * not allowed.
 */
static pid_t start_in_root(void)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);

	pid_t pid = fork();

	if (!pid) {
		char line[64];
		unsigned uid = getuid();

		/* The child ends when the test ends, also if an assertion fails. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);

		snprintf(line, sizeof(line), "0 %u 1", uid);
		if (uid) {
			if (unshare(CLONE_NEWUSER))
				_exit(77);
			write_line("/proc/self/uid_map", line);
		}
		if (chroot(fixture_folder) || chdir("/sub"))
			_exit(77);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);

	ssize_t got = read(ready[0], &byte, 1);

	close(ready[0]);
	if (got == 1)
		return pid;
	waitpid(pid, NULL, 0);
	return 0;
}

/*
 * In a container a path means another file, absolute links start at the container's root, and the
 * container's build-id folder is used.
 */
static void test_below_another_root(void **state)
{
	uint8_t id[64];
	char folder[200];
	size_t bytes = read_build_id("lib.so", id);
	int at = snprintf(folder, sizeof(folder), "usr/lib/debug/.build-id/%02x", id[0]);

	(void)state;
	if (getenv("TEST_EMULATED")) /* the other root has no emulator */
		skip();
	fixture_run("mkdir -p sub/real %s && strip -o sub/real/lib.so lib.so && "
		    "ln -sf /sub/real/lib.so sub/lib.so",
		folder);
	at += snprintf(folder + at, sizeof(folder) - (size_t)at, "/");
	for (size_t i = 1; i < bytes; i++)
		at += snprintf(folder + at, sizeof(folder) - (size_t)at, "%02x", id[i]);
	fixture_run("objcopy --only-keep-debug lib.so %s.debug", folder);

	pid_t pid = start_in_root();
	struct symbols_module module = {.path = "/sub/lib.so",
		.build_id = id,
		.build_id_bytes = bytes,
		.pid = (uint32_t)pid};

	if (!pid)
		skip();
	expect_module(&module, SYMBOLS_DEBUG_FILE, "exported", "hidden");
	module.path = "./real/lib.so";
	expect_module(&module, SYMBOLS_DEBUG_FILE, "exported", "hidden");
	module.pid = 0;
	expect_module(&module, SYMBOLS_NONE, NULL, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Use debug files in the folder in which debuginfod-find puts them. */
static void test_fetched(void **state)
{
	uint8_t id[64];
	char hex[129];
	size_t bytes = read_build_id("lib.so", id);

	(void)state;
	for (size_t i = 0; i < bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	fixture_run("strip -o fetched.so lib.so && mkdir -p cache/%s home/.cache && "
		    "objcopy --only-keep-debug lib.so cache/%s/debuginfo && "
		    "ln -sfn ../../cache home/.cache/debuginfod_client && "
		    "ln -sfn cache debuginfod_client",
		hex, hex);

	unsetenv("DEBUGINFOD_CACHE_PATH");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", "/nowhere", 1);
	expect_file("fetched.so", SYMBOLS_DYNSYM, "exported", NULL);
	setenv("HOME", fixture_path("home"), 1);
	expect_file("fetched.so", SYMBOLS_DEBUGINFOD, "exported", "hidden");
	setenv("HOME", "/nowhere", 1);
	setenv("XDG_CACHE_HOME", fixture_folder, 1);
	expect_file("fetched.so", SYMBOLS_DEBUGINFOD, "exported", "hidden");
	unsetenv("XDG_CACHE_HOME");
	setenv("DEBUGINFOD_CACHE_PATH", fixture_path("cache"), 1);
	expect_file("fetched.so", SYMBOLS_DEBUGINFOD, "exported", "hidden");
	/* The debug file of another build. */
	fixture_run("cp other.so cache/%s/debuginfo", hex);
	expect_file("fetched.so", SYMBOLS_DYNSYM, "exported", NULL);
	unsetenv("DEBUGINFOD_CACHE_PATH");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_table),
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_debug_link),
		cmocka_unit_test(test_fetched),
		cmocka_unit_test(test_debug_link_checksum),
		cmocka_unit_test(test_compressed_symbols),
		cmocka_unit_test(test_compressed_bomb),
		cmocka_unit_test(test_build_id_decides),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_replaced_without_build_id),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_still_mapped),
		cmocka_unit_test(test_living_program),
		cmocka_unit_test(test_debug_file_of_what_is_gone),
		cmocka_unit_test(test_paths_that_lead_nowhere),
		cmocka_unit_test(test_below_another_root),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
