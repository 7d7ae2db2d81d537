/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/* The list of all readers. Each reader is independent of the others. */
#include "libprof/runtime/runtime.h"

#include <errno.h>

static const struct runtime_kind *const kinds[] = {&runtime_cpython, &runtime_php, &runtime_ruby,
	&runtime_perl, &runtime_lua, &runtime_luajit, &runtime_v8, &runtime_hotspot};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

int runtime_find(
	struct runtime *out, struct runtime_reader *reader, const struct runtime_module *module)
{
	struct runtime_symbols symbols;

	if (!module->dynamic ||
		runtime_symbols_read(&symbols, reader, module->dynamic, module->bias))
		return 0;
	symbols.eh_frame_hdr = module->eh_frame_hdr;
	for (unsigned i = 0; i < KINDS; i++) {
		struct runtime found = {.kind = kinds[i]};
		int error = kinds[i]->find(&found, reader, &symbols);

		if (error && error != -EAGAIN && error != -ENOTSUP)
			continue;
		*out = found;
		if (!found.setup_end)
			out->setup_end = found.entry + RUNTIME_SETUP_MAX;
		return error ? error : 1;
	}
	return 0;
}

uint32_t runtime_bit(const struct runtime_kind *kind)
{
	unsigned number = 0;

	while (number < KINDS && kinds[number] != kind)
		number++;
	return 1u << number;
}

const struct runtime_kind *runtime_kind_at(unsigned number)
{
	return number < KINDS ? kinds[number] : NULL;
}
