/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: raw system calls, errno untouched. */
/*
 * The reader inside the process for memory outside the known stack bounds: other stacks, generated
 * code's. The kernel does the load, so that a wrong address is an answer and not a SIGSEGV. What
 * was read around an address is kept for the rest of the walk: the owner of a stack is the one
 * being walked, so its frames do not change meanwhile.
 *
 * Where process_vm_readv(2) is missing, or a sandbox refuses it, as container runtimes do,
 * rt_sigprocmask(2) is asked: it copies its set before it refuses an unknown `how`, and so tells
 * whether a word can be read.
 */
#ifndef LIBPROF_UNWIND_MEMORY_H
#define LIBPROF_UNWIND_MEMORY_H

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "arch/syscall.h"
#include "libprof/unwind/cfi.h"
#include "libprof/unwind/unwind.h"

/* ---- the reader ------------------------------------------------------------------------------ */

#define UNWIND_WINDOW_WORDS 32u
#define UNWIND_WINDOW_PAGE  4096u

/* The reader context of one walk; lives on the handler's stack. */
struct unwind_window {
	/* As this process sees itself, set by the owner; 0: process_vm_readv(2) is not called. */
	int pid;
	unsigned bytes; /* valid ones in words; 0: none yet */
	uintptr_t base;
	uintptr_t words[UNWIND_WINDOW_WORDS];
};

/* Only pid and bytes need a value before the first read. */
static inline void unwind_window_init(struct unwind_window *window, int pid)
{
	window->pid = pid;
	window->bytes = 0;
	window->base = 0;
}

/* Without process_vm_readv(2), as described above. */
CFI_READS_ANYTHING static inline int unwind_read_where_probed(uintptr_t address, uintptr_t *value)
{
	if (arch_syscall4(SYS_rt_sigprocmask, ~0, address, NULL, 8) != -EINVAL)
		return -EFAULT;
	*value = ((const union cfi_number *)address)->u64;
	return 0;
}

/*
 * Read one word that may not be there.
 *
 * Returns 0, or -EFAULT when it cannot be read.
 * Context: signal-safe.
 */
static inline int unwind_window_read(
	struct unwind_window *window, uintptr_t address, uintptr_t *value)
{
	/* An address before the window wraps around and is far behind it. */
	if (address - window->base > window->bytes ||
		window->bytes - (address - window->base) < sizeof(*value)) {
		/* Not into the next page, which may be missing, unless the word itself is. */
		uintptr_t bytes = UNWIND_WINDOW_PAGE - (address & (UNWIND_WINDOW_PAGE - 1));

		if (bytes > sizeof(window->words))
			bytes = sizeof(window->words);
		if (bytes < sizeof(*value))
			bytes = sizeof(*value);

		struct iovec local = {.iov_base = window->words, .iov_len = bytes};
		struct iovec remote = {.iov_base = (void *)address, .iov_len = bytes};
		long got = !window->pid ? 0
					: arch_syscall6(SYS_process_vm_readv, window->pid,
						  (long)&local, 1, (long)&remote, 1, 0);

		window->base = address;
		window->bytes = got > 0 ? (unsigned)got : 0;
		if (window->bytes < sizeof(*value))
			return unwind_read_where_probed(address, value);
	}
	*value = ((const union cfi_number *)((const char *)window->words +
					     (address - window->base)))
			 ->u64;
	return 0;
}

/* ---- the module finder ----------------------------------------------------------------------- */
/*
 * The module finder inside the process: glibc's _dl_find_object(), which knows every loaded object
 * and the vDSO. The reference is weak: on a C library before glibc 2.35 it is missing and said so.
 */

extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

/*
 * As unwind_find_object() but for the bias, which is the entry's: whoever cannot know that the
 * module stays loaded has to read that by other means than loads.
 */
static inline int unwind_find_mapped(
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
		.eh_frame_hdr = (uintptr_t)found.dlfo_eh_frame,
	};
	*link_map = found.dlfo_link_map;
	return 0;
}

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
	const struct link_map *map;
	int error = unwind_find_mapped(pc, out, &map);

	if (error)
		return error;
	out->bias = map ? map->l_addr : 0;
	if (link_map)
		*link_map = map;
	return 0;
}

#endif
