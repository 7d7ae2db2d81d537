/* SPDX-License-Identifier: MIT */
/*
 * When the kernel would set AT_SECURE. The first test asks the kernel itself, where it can.
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
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/run/privilege.h"

#define NOBODY   65534
#define EMULATED 2 /* the kernel cannot run us: we are in an emulator */

static const struct privilege_self user = {.uid = 1000, .euid = 1000, .gid = 1000, .egid = 1000};
static const struct privilege_self root = {0};

static enum privilege_change decide(struct privilege_file file, struct privilege_self self)
{
	return privilege_decide(&file, &self);
}

static void set_id_bits(void **state)
{
	const struct privilege_file su = {.mode = 04755};
	const struct privilege_file own = {.mode = 04755, .owner = 1000};
	const struct privilege_file games = {.mode = 02755, .owner = 0, .group = 60};
	const struct privilege_file locking = {.mode = 02745, .group = 60};

	(void)state;
	assert_int_equal(decide(su, user), PRIVILEGE_USER);
	assert_int_equal(decide(su, root), PRIVILEGE_SAME);
	assert_int_equal(decide(own, user), PRIVILEGE_SAME);
	assert_int_equal(decide(own, root), PRIVILEGE_USER);
	assert_int_equal(decide(games, user), PRIVILEGE_GROUP);
	assert_int_equal(decide(games, root), PRIVILEGE_GROUP);
	assert_int_equal(decide(locking, user), PRIVILEGE_SAME);
	assert_int_equal(decide((struct privilege_file){.mode = 0755}, user), PRIVILEGE_SAME);
}

static void capabilities(void **state)
{
	const struct privilege_file ping = {.cap_permitted = true, .cap_effective = true};
	const struct privilege_file permitted = {.cap_permitted = true};
	struct privilege_self confined = user;

	(void)state;
	confined.no_new_privs = true;
	assert_int_equal(decide(ping, user), PRIVILEGE_CAPABILITIES);
	assert_int_equal(decide(permitted, user), PRIVILEGE_CAPABILITIES);
	assert_int_equal(decide(ping, root), PRIVILEGE_SAME);
	assert_int_equal(decide(ping, confined), PRIVILEGE_CAPABILITIES);
	assert_int_equal(decide(permitted, confined), PRIVILEGE_SAME);
}

static void mounts_and_sandboxes_that_ignore_them(void **state)
{
	const struct privilege_file on_nosuid = {
		.mode = 06755, .nosuid = true, .cap_permitted = true, .cap_effective = true};
	struct privilege_self confined = user;

	(void)state;
	confined.no_new_privs = true;
	assert_int_equal(decide(on_nosuid, user), PRIVILEGE_SAME);
	assert_int_equal(decide((struct privilege_file){.mode = 06755}, confined), PRIVILEGE_SAME);
}

static void our_own_ids(void **state)
{
	struct privilege_self odd = user;

	(void)state;
	odd.euid = 0;
	assert_int_equal(decide((struct privilege_file){.mode = 0755}, odd), PRIVILEGE_OURSELVES);
}

/* Run ourselves from a copy with @mode and @owner: the AT_SECURE the copy sees. */
static int kernels_answer(const char *copy)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl(copy, copy, "--at-secure", (char *)NULL);
		_exit(errno == ENOEXEC ? EMULATED : 9);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) <= EMULATED);
	return WEXITSTATUS(status);
}

static void copy_self(int to)
{
	char bytes[65536];
	int from = open("/proc/self/exe", O_RDONLY);
	ssize_t have;

	while ((have = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(to, bytes, (size_t)have), have);
	close(from);
}

/* Only root can make files that change ids; elsewhere the plain modes are still compared. */
static void the_kernel_agrees(void **state)
{
	static const mode_t modes[] = {0755, 04755, 02755, 02745, 06755};
	char copy[] = "/tmp/test-privilege.XXXXXX";
	int descriptor = mkstemp(copy);
	uid_t owners[] = {getuid(), NOBODY};
	int answer = EMULATED;

	(void)state;
	copy_self(descriptor);
	close(descriptor);
	for (size_t i = 0; i < 2 * sizeof(modes) / sizeof(modes[0]); i++) {
		struct privilege_file file;
		struct privilege_self self;

		if (i % 2 && geteuid())
			continue;
		assert_int_equal(
			chown(copy, owners[i % 2], owners[i % 2] ? owners[i % 2] : getgid()), 0);
		assert_int_equal(chmod(copy, modes[i / 2]), 0);
		descriptor = open(copy, O_RDONLY | O_CLOEXEC);
		assert_int_equal(privilege_read_file(descriptor, &file), 0);
		close(descriptor);
		privilege_read_self(&self);
		answer = kernels_answer(copy);
		if (answer == EMULATED)
			break;
		assert_int_equal(privilege_decide(&file, &self) != PRIVILEGE_SAME, answer);
	}
	unlink(copy);
	if (answer == EMULATED)
		skip();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_id_bits),
		cmocka_unit_test(capabilities),
		cmocka_unit_test(mounts_and_sandboxes_that_ignore_them),
		cmocka_unit_test(our_own_ids),
		cmocka_unit_test(the_kernel_agrees),
	};

	if (argc == 2 && !strcmp(argv[1], "--at-secure"))
		_exit(getauxval(AT_SECURE) !=
			0); /* past the leak checker, which dislikes such processes */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
