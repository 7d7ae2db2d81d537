/* SPDX-License-Identifier: MIT */
/*
 * Instantiate the unwinding core as the sampling signal's handler does, but with absolute addresses
 * as frames.
 */
#ifndef TESTS_UNIT_OWN_CORE_H
#define TESTS_UNIT_OWN_CORE_H

#include "libprof/trampoline/region.h"
#include "libprof/unwind/memory.h"

static int find_module(uintptr_t pc, struct unwind_module *out)
{
	int error = unwind_find_object(pc, out, NULL);

	if (error)
		error = region_resolve(pc, 0, out);
	/*
	 * With bias 0 a frame is an absolute address. The cache of unwind rows works with any bias.
	 */
	out->bias = 0;
	return error;
}

#define UNWIND_READ(context, address, value) unwind_window_read(context, address, value)
#define UNWIND_FIND_MODULE(context, pc, out) ((void)(context), find_module(pc, out))
#include "libprof/unwind/unwind_core.h"

#endif
