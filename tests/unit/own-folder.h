/* SPDX-License-Identifier: MIT */
/* Make an empty temporary folder for a test or a group of tests; remove it with its contents. */
#ifndef TESTS_UNIT_OWN_FOLDER_H
#define TESTS_UNIT_OWN_FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static inline int own_folder_enter(void **state)
{
	char *folder = strdup("/tmp/test-folder.XXXXXX");

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	*state = folder;
	return 0;
}

static inline int own_folder_leave(void **state)
{
	char command[100];

	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -r %s", (char *)*state);
	assert_int_equal(system(command), 0);
	free(*state);
	return 0;
}

#endif
