/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/* What the reader of PHP's stacks asks of what knows the code that opcache's JIT compiler makes. */
#ifndef LIBPROF_RUNTIME_PHP_H
#define LIBPROF_RUNTIME_PHP_H

#include "libprof/runtime/runtime.h"

#define PHP_EXTENSIONS 0u /* of runtime.objects: what extends PHP's engine; 0: no code is told */

/* As runtime_kind.step, of generated code. */
int php_leave_compiled(
	const struct runtime *runtime, struct runtime_reader *reader, struct unwind_activation *at);

#endif
