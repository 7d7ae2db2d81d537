/* SPDX-License-Identifier: MIT */
/*
 * Finding what other libraries of the process offer, without linking them. Calls take the loader's
 * lock, which a library's constructor holds while it makes stubs: so never under publish.c's lock.
 */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_LOADED_H
#define LIBPROF_TRAMPOLINE_PUBLISH_LOADED_H

#include <dlfcn.h>
#include <stddef.h>

/*
 * dlopen(); NULL in statically linked programs, which can load nothing. Linkers warn there of a
 * dlopen() that is not asked for by name.
 */
static inline void *publish_load(const char *soname, int flags)
{
	void *(*load)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_DEFAULT, "dlopen");

	return load ? load(soname, flags) : NULL;
}

/*
 * A handle of the library @soname if it is loaded, else NULL. The library stays loaded from now on:
 * what is registered with it would be lost, and taking it back would call into nothing.
 */
static inline void *publish_loaded(const char *soname)
{
	return publish_load(soname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

#endif
