/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: raw system calls, errno untouched. */
/*
 * Read memory of this process outside of the known stack bounds, such as other stacks and generated
 * code. The kernel does the load, so an invalid address gives an error and not a SIGSEGV. More
 * bytes than needed are copied, so that the next reads need no system call. These copies stay
 * valid, because the thread that owns the stack is the one that walks it.
 *
 * If process_vm_readv(2) is missing or forbidden, as in some container runtimes, rt_sigprocmask(2)
 * is used: it copies the signal set before it rejects an unknown `how`, so its error shows whether
 * a word can be read.
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

/* The reader's state for one walk. It lives on the handler's stack. */
struct unwind_window {
	/* The pid of this process in its own namespace; 0: do not call process_vm_readv(2). */
	int pid;
	unsigned bytes; /* valid bytes in words */
	uintptr_t base;
	uintptr_t words[UNWIND_WINDOW_WORDS];
};

/* Prepare @window. The words stay uninitialised, because only `bytes` of them are read. */
static inline void unwind_window_init(struct unwind_window *window, int pid)
{
	window->pid = pid;
	window->bytes = 0;
	window->base = 0;
}

/* Read a word without process_vm_readv(2): rt_sigprocmask(2) shows whether it is readable. */
CFI_READS_ANYTHING static inline int unwind_read_where_probed(uintptr_t address, uintptr_t *value)
{
	if (arch_syscall4(SYS_rt_sigprocmask, ~0, address, NULL, 8) != -EINVAL)
		return -EFAULT;
	*value = ((const union cfi_number *)address)->u64;
	return 0;
}

/* Read the word at @address, which may be invalid. Returns 0 or -EFAULT. Context: signal-safe. */
static inline int unwind_window_read(
	struct unwind_window *window, uintptr_t address, uintptr_t *value)
{
	/* For an address below the window, the difference is a large number. */
	if (address - window->base > window->bytes ||
		window->bytes - (address - window->base) < sizeof(*value)) {
		/*
		 * Read up to the end of the page, unless the word crosses it: the next may be
		 * unmapped.
		 */
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
 * Find modules by glibc's _dl_find_object(), which knows every loaded object and the vDSO. The
 * reference is weak: a C library before glibc 2.35 lacks the function, and the result is -ENOSYS.
 */

extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

/*
 * Fill in @out, except its bias and its number. @link_map gets the dynamic linker's entry, which
 * has the bias. A caller that does not know whether the module stays loaded must not read the bias
 * by a plain load. Returns the values that unwind_find_object() returns.
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
 * Find the module that contains @pc, and fill in @out. The number of the module stays 0.
 *
 * @link_map  if not NULL, gets the dynamic linker's entry, borrowed while the module is loaded
 *
 * Returns 0; -ENOENT if no module contains @pc; -ENOSYS if the C library cannot find modules.
 * Context: signal-safe, any thread. The result is valid while the module is loaded, for example
 * while a function of the module is on the caller's stack.
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
