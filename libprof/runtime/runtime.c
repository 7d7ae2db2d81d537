/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * The runtimes there are. Each is one file, which knows none of the others.
 */
#include "libprof/runtime/runtime.h"

#include <errno.h>

static const struct runtime_kind *const kinds[] = {
	&runtime_cpython, &runtime_php, &runtime_ruby, &runtime_v8, &runtime_hotspot};

int runtime_find(
	struct runtime *out, struct runtime_reader *reader, uintptr_t dynamic, uintptr_t bias)
{
	struct runtime_symbols symbols;

	if (!dynamic || runtime_symbols_read(&symbols, reader, dynamic, bias))
		return 0;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct runtime found = {.kind = kinds[i]};
		int error = kinds[i]->find(&found, reader, &symbols);

		if (error == -EAGAIN)
			return error;
		if (!error) {
			*out = found;
			return 1;
		}
	}
	return 0;
}
