/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Number modules when the handler first unwinds through them. Each module gets one control record
 * before the first sample that names it. A module that is later loaded at the same addresses gets a
 * new number.
 */
#ifndef LIBPROF_SAMPLER_MODULES_H
#define LIBPROF_SAMPLER_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/unwind/unwind.h"

/* ---- build-ids ------------------------------------------------------------------------------- */
/* Build-ids identify the file from which a module is mapped. */

/*
 * Read memory of this process that another thread may unmap at any time. Returns 1, or 0 if any
 * part is not mapped.
 */
typedef int modules_read_fn(uint64_t address, void *to, size_t bytes);

/*
 * Find the build-id, at least 8 bytes, in the notes of the mapped @module, and set @bytes to its
 * size. @read may be NULL if the module cannot be unmapped during the call. Returns the build-id's
 * address, valid while the module is loaded, or NULL. Context: signal-safe if @read is.
 */
const uint8_t *build_id_find(
	const struct unwind_module *module, modules_read_fn *read, uint32_t *bytes);

/* ---- the table ------------------------------------------------------------------------------- */

/* Find where the program's executable is mapped. Context: constructor, before modules_find(). */
void modules_find_program(void);

/* Returns 1 if the program needs any library (DT_NEEDED), or if that is not known. Context: any. */
int modules_program_needs_any(void);

/*
 * Read the program's path while /proc is accessible. This costs as much as a few page faults, so it
 * is done when the handler first finds a frame in the program, which short processes never have.
 * Context: signal-safe.
 */
void modules_read_program_path(void);

/*
 * Call modules_find_program() and modules_read_program_path(). Context: once, before
 * modules_find().
 */
void modules_init(void);

/*
 * Find the module that contains @pc and write its record to this image's control ring if necessary.
 * out->number is WIRE_MODULE_OVER if the table is full. Returns 0, -ENOENT if no module contains
 * @pc, or -ENOSYS without _dl_find_object. Context: signal-safe, any thread.
 */
int modules_find(uintptr_t pc, struct unwind_module *out);

/*
 * Returns 1 if @pc may be code: it is in no module, or in an executable segment of a module.
 * Context: signal-safe, any thread.
 */
int modules_may_be_code(uintptr_t pc);

/*
 * Do what modules_find() does for another thread's @pc, whose module may be unloaded during the
 * call. Context: the worker.
 */
int modules_find_unheld(uintptr_t pc, modules_read_fn *read, struct unwind_module *out);

/* ---- code in no module ----------------------------------------------------------------------- */

/*
 * Describe the stub or generated code at @pc for the unwinder: its number is WIRE_MODULE_CODE, and
 * pc - bias is its address in the code space. If @announce is not 0, write its name to this image's
 * control ring. Returns 0 or -ENOENT. Context: signal-safe.
 */
typedef int modules_code_fn(uintptr_t pc, int announce, struct unwind_module *out);

/*
 * The function that finds stubs and generated code; trampoline/ sets it when the first piece of
 * code is made. Atomic, NULL until then.
 */
extern modules_code_fn *modules_code __attribute__((visibility("hidden")));

#endif
