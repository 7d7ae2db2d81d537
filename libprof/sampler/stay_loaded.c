/* SPDX-License-Identifier: MIT */
/* A plugin with a copy of the library may be closed while threads, timers and handlers are in it. */
#include "libprof/sampler/stay_loaded.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* Statically linked programs have neither, and the linker warns of dlopen() in them by its name. */
extern __typeof__(dladdr1) dladdr1 __attribute__((weak));
extern __typeof__(dlsym) dlsym __attribute__((weak));

void stay_loaded(void)
{
	static uint32_t stays; /* atomic */
	struct link_map *map = NULL;
	__typeof__(&dlopen) open;
	Dl_info info;

	if (__atomic_exchange_n(&stays, 1, __ATOMIC_RELAXED))
		return;
	/* The shared library is never unloaded, and the program has no name. */
	if (!dlsym || !dladdr1 || !dladdr1(&stays, &info, (void **)&map, RTLD_DL_LINKMAP) || !map ||
		!map->l_name || !map->l_name[0])
		return;
	open = (__typeof__(&dlopen))dlsym(RTLD_DEFAULT, "dlopen");
	if (open)
		open(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
