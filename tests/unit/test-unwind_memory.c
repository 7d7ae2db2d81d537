/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/* Read words of this process's memory that may be unmapped, through a system call. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/unwind/memory.h"

#define PAGE 4096u

static uintptr_t *pages; /* a readable and an unreadable page */
static struct unwind_window window;

static int setup(void **state)
{
	(void)state;
	pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || mprotect((char *)pages + PAGE, PAGE, PROT_NONE))
		return -1;
	for (unsigned i = 0; i < PAGE / 8; i++)
		pages[i] = 0x1000 + i;
	unwind_window_init(&window, getpid());
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return munmap(pages, 2 * PAGE);
}

static void check_word(unsigned index)
{
	uintptr_t value = 0;

	assert_int_equal(unwind_window_read(&window, (uintptr_t)&pages[index], &value), 0);
	assert_int_equal(value, 0x1000 + index);
}

static void test_every_word_up_to_the_end_of_the_page(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PAGE / 8; i++)
		check_word(i);
	for (unsigned i = PAGE / 8; i-- > 0;)
		check_word(i);
	for (unsigned i = 0; i < 1000; i++)
		check_word(i * 7919 % (PAGE / 8));
}

static void test_what_cannot_be_read(void **state)
{
	const uintptr_t wrong[] = {0, 8, (uintptr_t)pages + PAGE, (uintptr_t)pages + PAGE - 4,
		UINTPTR_MAX - 7, UINTPTR_MAX, 0x8000000000000000};

	(void)state;
	check_word(PAGE / 8 - 1);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		uintptr_t value = 77;

		errno = 0;
		assert_int_equal(unwind_window_read(&window, wrong[i], &value), -EFAULT);
		assert_int_equal(value, 77);
		assert_int_equal(errno, 0);
	}
	/* A failed read must not change the window. */
	check_word(PAGE / 8 - 1);
}

static void test_words_at_any_alignment(void **state)
{
	uintptr_t value;

	(void)state;
	assert_int_equal(unwind_window_read(&window, (uintptr_t)pages + 4, &value), 0);
	assert_int_equal(value, 0x100100000000);
}

static void test_a_word_across_two_pages(void **state)
{
	uintptr_t value;

	(void)state;
	assert_int_equal(mprotect((char *)pages + PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(
		unwind_window_read(&window, (uintptr_t)pages + PAGE - 4, &value), 0);
	assert_int_equal(value, 0);
}

/* One system call reads a frame and its neighbours. Later changes of these words are not seen. */
static void test_neighbours_are_kept(void **state)
{
	(void)state;
	check_word(10);
	if (!window.bytes) /* qemu-user has no such system call */
		skip();
	pages[10 + UNWIND_WINDOW_WORDS - 1] = 1;
	check_word(10 + UNWIND_WINDOW_WORDS - 1);
}

/*
 * No process has the pid -1, so the system call fails, as it does in a container that refuses it.
 */
static void test_where_the_system_call_is_refused(void **state)
{
	unwind_window_init(&window, -1);
	test_every_word_up_to_the_end_of_the_page(state);
	test_what_cannot_be_read(state);
	test_words_at_any_alignment(state);
	test_a_word_across_two_pages(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_every_word_up_to_the_end_of_the_page, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_words_at_any_alignment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_word_across_two_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_neighbours_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_where_the_system_call_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
