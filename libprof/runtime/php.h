/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/* Interface between php.c, which reads PHP's stacks, and php_jit.c, which knows opcache's JIT. */
#ifndef LIBPROF_RUNTIME_PHP_H
#define LIBPROF_RUNTIME_PHP_H

#include "libprof/runtime/runtime.h"

/* Index in runtime.objects: address of zend_extensions; 0: JIT code is not searched. */
#define PHP_EXTENSIONS 0u

/* Implements runtime_kind.step for generated code. */
int php_leave_compiled(
	const struct runtime *runtime, struct runtime_reader *reader, struct unwind_activation *at);

#endif
