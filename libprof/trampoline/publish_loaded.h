/* SPDX-License-Identifier: MIT */
/*
 * Finding what other libraries of the process offer, without linking them. Calls take the loader's
 * lock, which a library's constructor holds while it makes stubs: so never under publish.c's lock.
 */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_LOADED_H
#define LIBPROF_TRAMPOLINE_PUBLISH_LOADED_H

#include <dlfcn.h>

/*
 * A handle of the library @soname if it is loaded, else NULL. The library stays loaded from now on:
 * what is registered with it would be lost, and taking it back would call into nothing.
 */
static inline void *publish_loaded(const char *soname)
{
	return dlopen(soname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

#endif
