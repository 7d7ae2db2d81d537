/* SPDX-License-Identifier: MIT */
/* Nothing is published where no publish.c is linked: it has the strong definitions. */
#include "libprof/trampoline/publish.h"

#define WEAK __attribute__((weak))

WEAK int publish_is_on(void)
{
	return 0;
}

WEAK void publish_add_region(struct region *region)
{
	(void)region;
}

WEAK void publish_remove_region(struct region *region)
{
	(void)region;
}

WEAK void publish_add_slot(struct region *region, uint32_t slot)
{
	(void)region;
	(void)slot;
}

WEAK void publish_remove_slot(struct region *region, uint32_t slot)
{
	(void)region;
	(void)slot;
}
