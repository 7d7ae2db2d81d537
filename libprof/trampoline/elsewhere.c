/* SPDX-License-Identifier: MIT */
#include "libprof/trampoline/elsewhere.h"

#include <stddef.h>

struct elsewhere elsewhere;

#define FIND(name)                                                                                 \
	found.name = (__typeof__(&name))find(#name, (const void *)name);                           \
	missing |= !found.name;

void elsewhere_find(void *(*find)(const char *name, const void *own))
{
	struct elsewhere found;
	int missing = 0;

	ELSEWHERE_FUNCTIONS(FIND)
	/* One of another version, that lacks some, is not asked for any. */
	if (!missing)
		elsewhere = found;
}
