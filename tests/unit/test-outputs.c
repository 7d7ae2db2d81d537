/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test output files in a temporary folder: checks before the run, replacement, links, modes, and
 * files that are left over.
 */
#include <dirent.h>
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

#include "cli/run/outputs.h"

static char folder[64];
static struct diag_message message;

static int enter(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/test-outputs.XXXXXX");
	memset(&message, 0, sizeof(message));
	umask(022);
	return !mkdtemp(folder) || chdir(folder);
}

static int leave(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return chdir("/") || system(command);
}

static void put(const char *path, const char *text, mode_t mode)
{
	int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(descriptor >= 0);
	assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
	fchmod(descriptor, mode);
	close(descriptor);
}

static void expect_file(const char *path, const char *text)
{
	char have[256] = "";
	int descriptor = open(path, O_RDONLY);

	assert_true(descriptor >= 0);
	assert_true(read(descriptor, have, sizeof(have) - 1) >= 0);
	close(descriptor);
	assert_string_equal(have, text);
}

static int entries(void)
{
	DIR *all = opendir(".");
	int count = 0;

	while (readdir(all))
		count++;
	closedir(all);
	return count - 2;
}

static int write_text(void *context, FILE *file)
{
	return fputs(context, file) < 0 ? -errno : 0;
}

/*
 * The path of the root folder, relative to the test's folder in /tmp. Under qemu-user absolute
 * paths have another root.
 */
#define FROM_ROOT "../.."

static struct outputs *open_one(const char *path)
{
	struct outputs *outputs = NULL;

	assert_int_equal(outputs_open(&outputs, &path, 1, &message), 0);
	return outputs;
}

static void refuse(const char *path, int error)
{
	struct outputs *outputs = NULL;

	assert_int_equal(outputs_open(&outputs, &path, 1, &message), error);
	assert_null(outputs);
	assert_non_null(strstr(message.text, path));
}

static void write_one(const char *path, const char *text)
{
	struct outputs *outputs = open_one(path);

	assert_int_equal(outputs_write(outputs, 0, write_text, (void *)text, &message), 0);
	outputs_free(outputs);
}

static void nothing_lies_there_before_the_end(void **state)
{
	struct outputs *outputs = open_one("new.svg");

	(void)state;
	assert_int_equal(entries(), 0);
	assert_int_equal(outputs_write(outputs, 0, write_text, (void *)"picture", &message), 0);
	assert_int_equal(entries(), 1);
	expect_file("new.svg", "picture");
	outputs_free(outputs);
}

static void modes(void **state)
{
	struct stat status;

	(void)state;
	umask(027);
	write_one("new.svg", "x");
	stat("new.svg", &status);
	assert_int_equal(status.st_mode & 07777, 0640);
	put("old.svg", "old", 0604);
	write_one("old.svg", "y");
	stat("old.svg", &status);
	assert_int_equal(status.st_mode & 07777, 0604);
	expect_file("old.svg", "y");
}

static void owner_and_group(void **state)
{
	struct stat status;

	(void)state;
	if (geteuid())
		skip(); /* only root gives files away */
	put("old.svg", "old", 0644);
	assert_int_equal(chown("old.svg", geteuid(), 65534), 0);
	write_one("old.svg", "y");
	stat("old.svg", &status);
	assert_int_equal(status.st_uid, geteuid());
	assert_int_equal(status.st_gid, 65534);
}

static void replaced_by_rename(void **state)
{
	struct stat before, after;
	int reader;
	char have[8] = "";

	(void)state;
	put("old.svg", "old", 0644);
	stat("old.svg", &before);
	reader = open("old.svg", O_RDONLY);
	write_one("old.svg", "new");
	stat("old.svg", &after);
	assert_int_not_equal(before.st_ino, after.st_ino);
	assert_int_equal(read(reader, have, sizeof(have)), 3);
	assert_string_equal(have, "old");
	close(reader);
}

static void links_stay(void **state)
{
	struct stat status;

	(void)state;
	mkdir("there", 0755);
	put("there/target.svg", "old", 0644);
	assert_int_equal(symlink("there/target.svg", "link.svg"), 0);
	assert_int_equal(symlink("../link.svg", "there/again.svg"), 0);
	write_one("there/again.svg", "new");
	lstat("link.svg", &status);
	assert_true(S_ISLNK(status.st_mode));
	expect_file("there/target.svg", "new");
	assert_int_equal(symlink("there/none.svg", "dangling.svg"), 0);
	write_one("dangling.svg", "made");
	expect_file("there/none.svg", "made");
	assert_int_equal(symlink("loop.svg", "loop.svg"), 0);
	refuse("loop.svg", -ELOOP);
}

static void what_cannot_be_written_is_refused(void **state)
{
	char name[400];

	(void)state;
	mkdir("folder.svg", 0755);
	refuse("folder.svg", -EISDIR);
	refuse("none/x.svg", -ENOENT);
	put("file", "", 0644);
	refuse("file/x.svg", -ENOTDIR);
	memset(name, 'n', sizeof(name));
	strcpy(name + 300, ".svg");
	refuse(name, -ENAMETOOLONG);
	mkfifo("fifo.svg", 0600);
	refuse("fifo.svg", -ENXIO);
	assert_int_equal(entries(), 3);
}

static void long_names_have_room(void **state)
{
	char name[256];

	(void)state;
	memset(name, 'n', 255);
	strcpy(name + 251, ".svg");
	write_one(name, "x");
	expect_file(name, "x");
	assert_int_equal(entries(), 1);
}

static void one_file_twice_is_refused(void **state)
{
	const char *const paths[] = {"a.svg", "b.svg"};
	struct outputs *outputs = NULL;

	(void)state;
	assert_int_equal(symlink("b.svg", "a.svg"), 0);
	assert_int_equal(outputs_open(&outputs, paths, 2, &message), -EINVAL);
	assert_non_null(strstr(message.text, "b.svg"));
}

/* One file given under two paths is refused. */
static void one_file_by_two_ways_is_refused(void **state)
{
	const char *const paths[] = {"a.svg", "there/../a.svg"};
	struct outputs *outputs = NULL;

	(void)state;
	mkdir("there", 0755);
	assert_int_equal(outputs_open(&outputs, paths, 2, &message), -EINVAL);
}

/*
 * A link or file of another user in a sticky folder is refused, both before the program runs and
 * when the output is written.
 */
static void traps_are_refused(void **state)
{
	struct outputs *outputs;

	(void)state;
	if (geteuid())
		/* only root can give a link to another user */
		skip();
	mkdir("shared", 0777);
	chmod("shared", 01777);
	put("victim", "old", 0600);
	assert_int_equal(symlink("../victim", "shared/x.svg"), 0);
	assert_int_equal(lchown("shared/x.svg", 65534, 65534), 0);
	refuse("shared/x.svg", -EACCES);
	assert_non_null(strstr(message.text, "another user"));
	outputs = open_one("shared/y.svg");
	assert_int_equal(rename("shared/x.svg", "shared/y.svg"), 0);
	assert_int_equal(outputs_write(outputs, 0, write_text, (void *)"new", &message), -EACCES);
	outputs_free(outputs);
	expect_file("victim", "old");
	put("shared/z.svg", "laid", 0666);
	assert_int_equal(chown("shared/z.svg", 65534, 65534), 0);
	refuse("shared/z.svg", -EACCES);
	expect_file("shared/z.svg", "laid");
}

/* If the program replaces the folder while it runs, the output is written to the new folder. */
static void a_folder_made_anew(void **state)
{
	struct outputs *outputs;

	(void)state;
	mkdir("there", 0755);
	outputs = open_one("there/x.svg");
	assert_int_equal(rename("there", "gone"), 0);
	mkdir("there", 0755);
	assert_int_equal(outputs_write(outputs, 0, write_text, (void *)"new", &message), 0);
	outputs_free(outputs);
	expect_file("there/x.svg", "new");
}

static int fail_midway(void *context, FILE *file)
{
	(void)context;
	fputs("half", file);
	fflush(file);
	return -ENOSPC;
}

static void a_failure_leaves_the_old_file(void **state)
{
	struct outputs *outputs;

	(void)state;
	put("old.svg", "old", 0644);
	outputs = open_one("old.svg");
	assert_int_equal(outputs_write(outputs, 0, fail_midway, NULL, &message), -ENOSPC);
	outputs_free(outputs);
	assert_string_equal(message.text, "cannot write 'old.svg': No space left on device");
	expect_file("old.svg", "old");
	assert_int_equal(entries(), 1);
}

static void a_full_disk_is_noticed_though_the_writer_did_not(void **state)
{
	struct outputs *outputs = open_one(FROM_ROOT "/dev/full");

	(void)state;
	assert_int_equal(outputs_write(outputs, 0, write_text, (void *)"x", &message), -ENOSPC);
	outputs_free(outputs);
}

static int abandon_midway(void *context, FILE *file)
{
	fputs("half", file);
	fflush(file);
	*(int *)context = entries();
	outputs_abandon();
	*((int *)context + 1) = entries();
	return -EINTR;
}

/*
 * If flamerun is killed while it writes, no file is left behind. A file without a name vanishes by
 * itself. If the file system has no O_TMPFILE, outputs_abandon() removes the file.
 */
static void what_is_half_written_goes(void **state)
{
	struct outputs *outputs = open_one("a.svg");
	int unnamed = open(".", O_TMPFILE | O_RDWR, 0666);
	int counts[2] = {-1, -1};

	(void)state;
	close(unnamed);
	assert_int_equal(outputs_write(outputs, 0, abandon_midway, counts, &message), -EINTR);
	assert_int_equal(counts[0], unnamed < 0);
	assert_int_equal(counts[1], 0);
	outputs_free(outputs);
	put("innocent", "", 0644);
	outputs_abandon();
	assert_int_equal(entries(), 1);
}

static void pipes_are_written_in_place(void **state)
{
	char path[32], have[16] = "";
	struct outputs *outputs;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	outputs = open_one(path);
	close(ends[1]);
	assert_int_equal(outputs_write(outputs, 0, write_text, (void *)"piped", &message), 0);
	outputs_free(outputs);
	assert_int_equal(read(ends[0], have, sizeof(have)), 5);
	assert_int_equal(read(ends[0], have, sizeof(have)), 0); /* the end: all copies are closed */
	assert_string_equal(have, "piped");
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	refuse(path, -EBADF);
	close(ends[0]);
}

static void a_shared_stdout_file_is_appended_to(void **state)
{
	int descriptor = open("log", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	char path[32];

	(void)state;
	assert_int_equal(write(descriptor, "before ", 7), 7);
	snprintf(path, sizeof(path), "/dev/fd/%d", descriptor);
	write_one(path, "picture");
	close(descriptor);
	expect_file("log", "before picture");
}

/* Root can write to every folder, so the test changes to another user if it runs as root. */
static void a_closed_folder_with_an_open_file(void **state)
{
	int is_root = !geteuid();

	(void)state;
	if (is_root) {
		assert_int_equal(chown(".", 65534, 65534), 0);
		assert_int_equal(setresuid(65534, 65534, 0), 0);
	}
	mkdir("closed", 0755);
	put("closed/x.svg", "longer than new", 0644);
	chmod("closed", 0555);
	write_one("closed/x.svg", "new");
	expect_file("closed/x.svg", "new");
	refuse("closed/y.svg", -EACCES);
	chmod("closed/x.svg", 0444);
	refuse("closed/x.svg", -EACCES);
	chmod("closed", 0755);
	if (is_root)
		assert_int_equal(setresuid(0, 0, 0), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(nothing_lies_there_before_the_end),
		IN_FOLDER(modes),
		IN_FOLDER(owner_and_group),
		IN_FOLDER(replaced_by_rename),
		IN_FOLDER(links_stay),
		IN_FOLDER(what_cannot_be_written_is_refused),
		IN_FOLDER(long_names_have_room),
		IN_FOLDER(one_file_twice_is_refused),
		IN_FOLDER(one_file_by_two_ways_is_refused),
		IN_FOLDER(traps_are_refused),
		IN_FOLDER(a_folder_made_anew),
		IN_FOLDER(a_failure_leaves_the_old_file),
		IN_FOLDER(a_full_disk_is_noticed_though_the_writer_did_not),
		IN_FOLDER(what_is_half_written_goes),
		IN_FOLDER(pipes_are_written_in_place),
		IN_FOLDER(a_shared_stdout_file_is_appended_to),
		IN_FOLDER(a_closed_folder_with_an_open_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
