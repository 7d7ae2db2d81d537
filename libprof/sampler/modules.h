/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Modules as the handler meets them. Each gets a number and one control record before the first
 * sample that names it; a module that takes another's place in memory gets a new number.
 */
#ifndef LIBPROF_SAMPLER_MODULES_H
#define LIBPROF_SAMPLER_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/unwind/unwind.h"

/* ---- build-ids ------------------------------------------------------------------------------- */
/* Which file a mapped module comes from, as its linker numbered it. */

/*
 * Reads memory of this process that another thread may unmap at any moment. Returns 1, or 0 when it
 * is not all there.
 */
typedef int modules_read_fn(uint64_t address, void *to, size_t bytes);

/*
 * The build-id in the notes of mapped @module, of at least 8 bytes; how many goes to @bytes.
 * @read: NULL, and plain loads, where the caller knows that the module stays mapped.
 * Returns where it lies, while the module is loaded, or NULL for none.
 * Context: signal-safe where @read is.
 */
const uint8_t *build_id_find(
	const struct unwind_module *module, modules_read_fn *read, uint32_t *bytes);

/* ---- the table ------------------------------------------------------------------------------- */

/* Learn where the program lies. Context: the constructor, before the first modules_find(). */
void modules_find_program(void);

/* Does the program itself need any library (DT_NEEDED)? Where nobody knows: 1. Context: any. */
int modules_program_needs_any(void);

/*
 * Ask for the program's path while there is a /proc to ask. The program's first frame does: short
 * processes have none, and the question costs as much as a few page faults. Context: signal-safe.
 */
void modules_read_program_path(void);

/* Both, for a program that samples itself. Context: once, before the first modules_find(). */
void modules_init(void);

/*
 * The module @pc lies in, its number published in this image's control ring. number is
 * WIRE_MODULE_OVER when there were too many.
 * Returns 0, -ENOENT when no module covers @pc, or -ENOSYS without _dl_find_object.
 * Context: signal-safe, any thread.
 */
int modules_find(uintptr_t pc, struct unwind_module *out);

/*
 * Whether @pc may be code: it is in no module, or in an executable segment of one.
 * Returns 1 or 0. Context: as modules_find().
 */
int modules_may_be_code(uintptr_t pc);

/*
 * modules_find() for another thread's @pc: the module may be unloaded meanwhile. Context: the
 * worker.
 */
int modules_find_unheld(uintptr_t pc, modules_read_fn *read, struct unwind_module *out);

/* ---- code of no module ----------------------------------------------------------------------- */

/*
 * The stub or generated code at @pc as the unwinder wants it: number WIRE_MODULE_CODE, bias such
 * that pc - bias is its address in the code space. With @announce its name is in this image's
 * control ring when the call returns.
 * Returns 0, or -ENOENT. Context: signal-safe.
 */
typedef int modules_code_fn(uintptr_t pc, int announce, struct unwind_module *out);

/*
 * Who knows such code, if anybody does: trampoline/ puts itself here with its first piece. That is
 * all the sampler sees of stubs and generated code. Atomic, NULL until then.
 */
extern modules_code_fn *modules_code __attribute__((visibility("hidden")));

#endif
