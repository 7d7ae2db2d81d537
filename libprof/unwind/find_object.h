/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: _dl_find_object() is lock-free and documented async-signal-safe. */
/*
 * The module finder inside the process: glibc's _dl_find_object(), which knows every loaded object
 * and the vDSO. The reference is weak: on a C library before glibc 2.35 it is missing and said so.
 */
#ifndef LIBPROF_UNWIND_FIND_OBJECT_H
#define LIBPROF_UNWIND_FIND_OBJECT_H

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>

#include "libprof/unwind/unwind.h"

extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

/*
 * The module @pc lies in.
 *
 * @link_map  when not NULL, gets the dynamic linker's entry for it, borrowed while it is loaded
 *
 * Returns 0 with everything of @out but its number, which stays 0; -ENOENT when no module covers
 * @pc; -ENOSYS when the C library cannot tell.
 * Context: signal-safe, any thread; the answer holds while the module is loaded, as it is while
 * one of its functions is on the caller's stack.
 */
static inline int unwind_find_object(
	uintptr_t pc, struct unwind_module *out, const struct link_map **link_map)
{
	struct dl_find_object found;

	if (!_dl_find_object)
		return -ENOSYS;
	if (_dl_find_object((void *)pc, &found) != 0)
		return -ENOENT;
	*out = (struct unwind_module){
		.start = (uintptr_t)found.dlfo_map_start,
		.end = (uintptr_t)found.dlfo_map_end,
		.bias = found.dlfo_link_map ? found.dlfo_link_map->l_addr : 0,
		.eh_frame_hdr = (uintptr_t)found.dlfo_eh_frame,
	};
	if (link_map)
		*link_map = found.dlfo_link_map;
	return 0;
}

#endif
