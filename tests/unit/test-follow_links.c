/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test which symbolic links are followed to a file that is to be written: no link of another user
 * in a sticky folder, at any position in the path, whatever fs.protected_symlinks is.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "libprof/follow_links.h"
#include "tests/unit/own-folder.h"

#define NOBODY 65534
/* the root, relative to a test's folder: under an emulator, absolute paths have another root */
#define FROM_ROOT "../.."

/* Check that following @path leads to @name in @folder. */
static void expect(const char *path, const char *folder, const char *name)
{
	struct followed place;
	struct stat there, expected;

	assert_int_equal(follow_links(path, &place), 0);
	assert_string_equal(place.name, name);
	assert_int_equal(fstat(place.folder, &there), 0);
	assert_int_equal(stat(folder, &expected), 0);
	assert_int_equal(there.st_dev, expected.st_dev);
	assert_int_equal(there.st_ino, expected.st_ino);
	assert_int_equal(place.open_flags, O_NOFOLLOW);
	followed_release(&place);
}

static void refuse(const char *path, int error)
{
	struct followed place = {.folder = -77};

	assert_int_equal(follow_links(path, &place), error);
	assert_int_equal(place.folder, -77);
}

static void make_link(const char *text, const char *path, uid_t owner)
{
	assert_int_equal(symlink(text, path), 0);
	assert_int_equal(lchown(path, owner, (gid_t)-1), 0);
}

static void put(const char *path, uid_t owner)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);

	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, owner, (gid_t)-1), 0);
	close(fd);
}

static void make_folder(const char *path, mode_t mode)
{
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void need_another_user(void)
{
	if (geteuid())
		/* only root can make links owned by another user */
		skip();
}

static void paths_are_walked(void **state)
{
	char absolute[200];

	(void)state;
	make_folder("a", 0755);
	make_folder("a/b", 0755);
	put("a/b/file", getuid());
	snprintf(absolute, sizeof(absolute), "%s//a/./b/none", (char *)*state);
	expect("x", ".", "x");
	expect("./x", ".", "x");
	expect("a//b/file", "a/b", "file");
	expect("a/b/../../a/x", "a", "x");
	if (getenv("TEST_EMULATED"))
		/* Under an emulator an absolute path may belong to the emulator's root folder. */
		return;
	expect(absolute, "a/b", "none");
	expect("/x", "/", "x");
}

static void what_is_no_place_for_a_file(void **state)
{
	char name[NAME_MAX + 2], path[PATH_MAX + 2];

	(void)state;
	make_folder("a", 0755);
	put("file", getuid());
	refuse("", -ENOENT);
	refuse("/", -EISDIR);
	refuse(".", -EISDIR);
	refuse("..", -EISDIR);
	refuse("a", -EISDIR);
	refuse("a/", -EISDIR);
	refuse("none/", -ENOENT);
	refuse("none/x", -ENOENT);
	refuse("file/", -ENOTDIR);
	refuse("file/x", -ENOTDIR);
	memset(name, 'n', sizeof(name));
	name[NAME_MAX + 1] = '\0';
	refuse(name, -ENAMETOOLONG);
	expect(name + 1, ".", name + 1);
	memset(path, '/', sizeof(path));
	path[PATH_MAX + 1] = '\0';
	refuse(path, -ENAMETOOLONG);
}

static void links_lead_on(void **state)
{
	char text[200];

	(void)state;
	make_folder("a", 0755);
	make_folder("a/b", 0755);
	put("a/b/file", getuid());
	make_link("a/b", "folder", getuid());
	make_link("../../folder/file", "a/b/round", getuid());
	make_link("a/b/none", "dangling", getuid());
	snprintf(text, sizeof(text), "%s/a", (char *)*state);
	make_link(text, "absolute", getuid());
	expect("folder/file", "a/b", "file");
	expect("folder/../x", "a", "x");
	expect("a/b/round", "a/b", "file");
	expect("dangling", "a/b", "none");
	refuse("folder", -EISDIR);
	refuse("dangling/", -ENOENT);
	refuse("dangling/x", -ENOENT);
	if (!getenv("TEST_EMULATED"))
		expect("absolute/x", "a", "x");
}

static void as_many_as_the_kernel_follows(void **state)
{
	char name[8] = "end", next[8];

	(void)state;
	for (int i = 1; i <= 41; i++) {
		snprintf(next, sizeof(next), "l%d", i);
		make_link(name, next, getuid());
		strcpy(name, next);
	}
	expect("l40", ".", "end");
	refuse("l41", -ELOOP);
	make_link("round", "round", getuid());
	refuse("round", -ELOOP);
}

static void anothers_link_in_a_sticky_folder(void **state)
{
	(void)state;
	need_another_user();
	make_folder("shared", 01777);
	make_folder("mine", 0755);
	put("mine/file", 0);
	make_link("../mine/file", "shared/own", 0);
	make_link("../mine/file", "shared/trap", NOBODY);
	make_link("../mine", "shared/folder", NOBODY);
	make_link("shared/trap", "first", 0);
	make_link("../shared/folder/x", "mine/first", 0);
	expect("shared/own", "mine", "file");
	refuse("shared/trap", -FOLLOW_ANOTHERS);
	refuse("shared/folder/x", -FOLLOW_ANOTHERS);
	refuse("shared/folder/../x", -FOLLOW_ANOTHERS);
	refuse("first", -FOLLOW_ANOTHERS);
	refuse("mine/first", -FOLLOW_ANOTHERS);
}

static void it_is_the_folder_that_makes_it_a_trap(void **state)
{
	static const mode_t harmless[] = {0777, 01775, 01755, 0755};

	(void)state;
	need_another_user();
	make_folder("shared", 01777);
	make_link("../file", "shared/link", NOBODY);
	refuse("shared/link", -FOLLOW_ANOTHERS);
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		assert_int_equal(chmod("shared", harmless[i]), 0);
		expect("shared/link", ".", "file");
	}
	/*
	 * A link of the folder's owner is followed, because the owner could replace any file in the
	 * folder anyway.
	 */
	assert_int_equal(chmod("shared", 01777), 0);
	assert_int_equal(chown("shared", NOBODY, (gid_t)-1), 0);
	expect("shared/link", ".", "file");
	assert_int_equal(lchown("shared/link", NOBODY - 1, (gid_t)-1), 0);
	refuse("shared/link", -FOLLOW_ANOTHERS);
}

static void it_is_the_caller_who_follows(void **state)
{
	(void)state;
	need_another_user();
	assert_int_equal(chmod(".", 0755), 0);
	make_folder("shared", 01777);
	make_link("../file", "shared/nobodys", NOBODY);
	make_link("../file", "shared/thirds", NOBODY - 1);
	assert_int_equal(seteuid(NOBODY), 0);
	expect("shared/nobodys", ".", "file");
	refuse("shared/thirds", -FOLLOW_ANOTHERS);
	assert_int_equal(seteuid(0), 0);
}

static void anothers_file_in_a_sticky_folder(void **state)
{
	struct followed place;

	(void)state;
	need_another_user();
	make_folder("shared", 01777);
	put("shared/own", 0);
	put("shared/trap", NOBODY);
	assert_int_equal(mkfifo("shared/fifo", 0666), 0);
	assert_int_equal(chown("shared/fifo", NOBODY, (gid_t)-1), 0);
	expect("shared/own", "shared", "own");
	refuse("shared/trap", -FOLLOW_ANOTHERS);
	refuse("shared/fifo", -FOLLOW_ANOTHERS);
	/* Refuse a file of another user that appears between follow_links() and followed_open(). */
	assert_int_equal(follow_links("shared/late", &place), 0);
	put("shared/late", NOBODY);
	assert_int_equal(followed_open(&place, O_WRONLY), -FOLLOW_ANOTHERS);
	assert_int_equal(unlink("shared/late"), 0);
	make_link("own", "shared/late", NOBODY);
	assert_int_equal(followed_open(&place, O_WRONLY), -ELOOP);
	followed_release(&place);
}

static void what_is_there_is_opened_without_waiting(void **state)
{
	struct followed place;
	int fd;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(follow_links("fifo", &place), 0);
	assert_int_equal(followed_open(&place, O_WRONLY), -ENXIO);
	followed_release(&place);
	assert_int_equal(follow_links(FROM_ROOT "/dev/null", &place), 0);
	fd = followed_open(&place, O_WRONLY);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	followed_release(&place);
}

static void links_of_proc(void **state)
{
	struct followed place;
	struct stat status;
	char path[100];
	int ends[2], fd;

	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), FROM_ROOT "/proc/self/fd/%d", ends[1]);
	make_link(path, "to-a-pipe", getuid());
	assert_int_equal(follow_links("to-a-pipe", &place), 0);
	assert_int_equal(place.open_flags, 0);
	fd = followed_open(&place, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_true(S_ISFIFO(status.st_mode));
	close(fd);
	followed_release(&place);
	close(ends[0]);
	close(ends[1]);
	if (getenv("TEST_EMULATED"))
		/* The links in /proc/self/fd contain absolute paths, which an emulator changes. */
		return;
	fd = open("file", O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	expect(path, ".", "file");
	assert_int_equal(unlink("file"), 0);
	refuse(path, -ENOENT);
	close(fd);
	expect("/proc/self/cwd/x", ".", "x");
	snprintf(path, sizeof(path), "/proc/thread-self/root%s/x", (char *)*state);
	expect(path, ".", "x");
	refuse("/proc/self/cwd", -EISDIR);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, own_folder_enter, own_folder_leave)
	const struct CMUnitTest tests[] = {
		TEST(paths_are_walked),
		TEST(what_is_no_place_for_a_file),
		TEST(links_lead_on),
		TEST(as_many_as_the_kernel_follows),
		TEST(anothers_link_in_a_sticky_folder),
		TEST(it_is_the_folder_that_makes_it_a_trap),
		TEST(it_is_the_caller_who_follows),
		TEST(anothers_file_in_a_sticky_folder),
		TEST(what_is_there_is_opened_without_waiting),
		TEST(links_of_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
