/* SPDX-License-Identifier: MIT */
/*
 * AddressSanitizer's rule, as its asan_linux.cpp has it: the first library of the list must be its
 * own, and verify_asan_link_order is the option that turns the check off.
 */
#include "cli/run/sanitizer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The last word of ASAN_OPTIONS on whether its runtime must be the first library. */
static bool asan_takes_any_order(void)
{
	static const char flag[] = "verify_asan_link_order=";
	const char *options = getenv("ASAN_OPTIONS");
	const char *at = options ? strstr(options, flag) : NULL;
	bool takes = false;

	while (at) {
		const char *value = at + strlen(flag);

		takes = *value == '0' || *value == 'n' || *value == 'f';
		at = strstr(value, flag);
	}
	return takes;
}

int sanitizer_check(const struct needed_file *file, const char *name, struct diag_message *message)
{
	static const char *const runtimes[] = {"libasan.so", "libclang_rt.asan", NULL};
	char runtime[NEEDED_BYTES];

	if (asan_takes_any_order() || !needed_find(file, runtimes, runtime))
		return 0;
	diag_fail(message, -ENOTSUP,
		"'%s' is built with AddressSanitizer, which wants no library before its own %s",
		name, runtime);
	diag_fail_hint(message, "it can do without: ASAN_OPTIONS=verify_asan_link_order=0 "
				"flamerun ...; or build it without for its true times");
	return -ENOTSUP;
}
