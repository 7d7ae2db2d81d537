/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Make the text for the system call in which a thread waits, and find the kind of the wait. */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/waits/wait_leaf.h"

/* Return the leaf frame for this thread as if it waited in @call with the first argument @first. */
static uint64_t leaf_of(long call, uint64_t first, char details[PATH_MAX])
{
	const struct procfs_syscall at = {.number = call, .arguments = {first}};

	return wait_leaf(getpid(), getpid(), &at, details);
}

static void assert_is(uint64_t frame, const char *name, const char *kind)
{
	char text[WAIT_LEAF_BYTES];

	assert_true(wire_frame_waits(frame));
	wait_leaf_name(frame, text);
	assert_string_equal(text, name);
	assert_string_equal(wait_leaf_kind(frame), kind);
}

static void calls_have_names_and_kinds(void **state)
{
	(void)state;
	assert_is(leaf_of(SYS_futex, 64, NULL), "[futex]", "lock");
	assert_is(leaf_of(SYS_clock_nanosleep, 0, NULL), "[clock_nanosleep]", "sleep");
	assert_is(leaf_of(SYS_ppoll, 0, NULL), "[poll]", "io");
	assert_is(leaf_of(SYS_wait4, 0, NULL), "[wait4]", "child");
	assert_is(leaf_of(SYS_sync, 0, NULL), "[sync]", "disk");
	assert_is(leaf_of(SYS_getpid, 0, NULL),
		sizeof(void *) == 8 && SYS_getpid == 39 ? "[syscall 39]" : "[syscall 172]", "");
	assert_is(WIRE_FRAME_WAIT(WIRE_WAIT_NO_CPU, 0), "[no CPU]", "cpu");
	assert_is(WIRE_FRAME_WAIT(WIRE_WAIT_UNKNOWN, 0), "[waiting]", "");
	assert_is(WIRE_FRAME_WAIT(WIRE_WAIT_FAULT, 0), "[disk or page fault]", "disk");
}

/* Wait until the kernel reports @state for @child. */
static void await_state(pid_t child, char state)
{
	while (procfs_state(child, child) != state)
		usleep(1000);
}

/*
 * If a thread is in no system call, its state shows whether it is stopped, faulting or about to
 * run.
 */
static void in_no_call_the_state_tells(void **state)
{
	const struct procfs_syscall none = {.number = -1};
	pid_t child = fork();

	(void)state;
	if (!child) {
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	await_state(child, 'S');
	assert_is(wait_leaf(child, child, &none, NULL), "[disk or page fault]", "disk");
	assert_int_equal(kill(child, SIGSTOP), 0);
	await_state(child, 'T');
	assert_is(wait_leaf(child, child, &none, NULL), "[stopped]", "");
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_is(wait_leaf(child, child, &none, NULL), "[waiting]", "");
	assert_is(leaf_of(-1, 0, NULL), "[waiting]", "");
}

static void files_tell_their_sort(void **state)
{
	int pipes[2], sockets[2], event = eventfd(0, EFD_CLOEXEC);
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int folder = open("/", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	int device = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	assert_is(leaf_of(SYS_read, (uint64_t)pipes[0], NULL), "[read: pipe]", "io");
	assert_is(leaf_of(SYS_recvfrom, (uint64_t)sockets[0], NULL), "[recv: socket]", "io");
	assert_is(leaf_of(SYS_read, (uint64_t)event, NULL), "[read: eventfd]", "io");
	assert_is(leaf_of(SYS_pread64, (uint64_t)file, NULL), "[pread: file]", "disk");
	assert_is(leaf_of(SYS_getdents64, (uint64_t)folder, NULL), "[getdents: directory]", "disk");
	assert_is(leaf_of(SYS_write, (uint64_t)device, NULL), "[write: device]", "io");
	/* The descriptor was closed in the meantime. */
	assert_is(leaf_of(SYS_read, 9999, NULL), "[read]", "io");
	close(pipes[0]);
	close(pipes[1]);
	close(sockets[0]);
	close(sockets[1]);
	close(event);
	close(file);
	close(folder);
	close(device);
}

static void details_are_paths_and_addresses(void **state)
{
	int device = open("/dev/null", O_RDWR | O_CLOEXEC);
	char details[PATH_MAX];

	(void)state;
	leaf_of(SYS_read, (uint64_t)device, details);
	assert_string_equal(details, "/dev/null");
	leaf_of(SYS_futex, 0x1234, details);
	assert_string_equal(details, "0x1234");
	leaf_of(SYS_clock_nanosleep, 1, details);
	assert_string_equal(details, "");
	close(device);
}

/* System calls and kinds with unknown numbers also have names. */
static void any_number_has_a_name(void **state)
{
	char text[WAIT_LEAF_BYTES];

	(void)state;
	for (uint64_t sort = 0; sort < 256; sort += 15)
		for (unsigned call = 0; call < 0x10000; call += 257) {
			wait_leaf_name(WIRE_FRAME_WAIT(call, sort), text);
			assert_int_equal(text[0], '[');
			assert_non_null(wait_leaf_kind(WIRE_FRAME_WAIT(call, sort)));
		}
	assert_true(wire_frame_waits(leaf_of(LONG_MAX, 0, NULL)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_have_names_and_kinds),
		cmocka_unit_test(in_no_call_the_state_tells),
		cmocka_unit_test(files_tell_their_sort),
		cmocka_unit_test(details_are_paths_and_addresses),
		cmocka_unit_test(any_number_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
