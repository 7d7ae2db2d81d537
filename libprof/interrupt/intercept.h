/* SPDX-License-Identifier: MIT */
/*
 * What the rest of the folder has to know of intercepts (libprof/flameprof_vm.h). Their stubs are
 * slots of ordinary arenas, one for each number of stack words, and have the original as payload.
 */
#ifndef LIBPROF_INTERRUPT_INTERCEPT_H
#define LIBPROF_INTERRUPT_INTERCEPT_H

#include <stddef.h>
#include <stdint.h>

#include "arch/stub.h"
#include "libprof/flameprof_vm.h"

/* Is @function an intercept stub? Its original in *@original then. Context: signal-safe. */
int intercept_find(flameprof_function *function, flameprof_function **original);

/*
 * flameprof_intercept(), with errors: *@out is the stub, or @original if that is one.
 * Returns 0; -EINVAL; -EACCES; -EBUSY between suspend and resume; -ENOMEM.
 */
int intercept_make(flameprof_function **out, flameprof_function *original, const char *name,
	const struct flameprof_signature *signature);

/*
 * What intercept stubs of @shape have to know of this process and its CPU. Before an arena is made,
 * and again where an image of the process goes on.
 */
void intercept_prepare(struct arch_stub_shape *shape);

#endif
