/* SPDX-License-Identifier: MIT */
/* Which file a mapped module comes from, as its linker numbered it. */
#ifndef LIBPROF_SAMPLER_BUILD_ID_H
#define LIBPROF_SAMPLER_BUILD_ID_H

#include <stdint.h>

#include "libprof/unwind/unwind.h"

/*
 * The build-id in the notes of mapped @module, of at least 8 bytes; how many goes to @bytes.
 * Returns where it lies, while the module is loaded, or NULL for none.
 * Context: signal-safe.
 */
const uint8_t *build_id_find(const struct unwind_module *module, uint32_t *bytes);

#endif
