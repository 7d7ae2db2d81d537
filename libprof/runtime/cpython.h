/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/* Offsets of fields in CPython's structures, for cpython.c and cpython_code.c. */
#ifndef LIBPROF_RUNTIME_CPYTHON_H
#define LIBPROF_RUNTIME_CPYTHON_H

#include "libprof/runtime/runtime.h"

/*
 * Offsets of fields in CPython's structures, in bytes. The rows of cpython.layout for 3.13 and
 * later hold positions in _Py_DebugOffsets instead; the process publishes the offsets there.
 */
struct cpython_offsets {
	uint32_t version;				    /* 313 for 3.13 */
	uint32_t finalizing, interpreters, current;	    /* of _PyRuntime */
	uint32_t interpreter_next, interpreter_id, threads; /* of PyInterpreterState */
	/* Fields of the lock in PyInterpreterState, from 3.12 on. */
	uint32_t locked, holder;
	uint32_t thread_next, thread_id, native_id, status; /* of PyThreadState */
	uint32_t innermost, cframe, root;
	uint32_t cframe_frame, cframe_previous;
	uint32_t previous, code, instruction, owner;	  /* of interpreter frames */
	uint32_t first_line, file, name, lines, bytecode; /* of PyCodeObject */
	/* Offset of PyASCIIObject.state; bytes of PyASCIIObject and PyCompactUnicodeObject. */
	uint32_t text_state, ascii, wide;
	/* The process also publishes these three, which must equal the constants below. */
	uint32_t type, bytes_size, bytes_start;
};
_Static_assert(sizeof(struct cpython_offsets) <= sizeof(((struct runtime *)0)->offsets), "fits");

#define TYPE_OFFSET  8u	 /* of PyObject.ob_type */
#define SIZE_OFFSET  16u /* of PyVarObject.ob_size */
#define BYTES_OFFSET 32u /* of PyBytesObject.ob_sval */

static inline const struct cpython_offsets *cpython_offsets_of(const struct runtime *runtime)
{
	return (const struct cpython_offsets *)runtime->offsets;
}

/* Implement runtime_kind.line and runtime_kind.text. */
uint32_t cpython_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame);
uint32_t cpython_text(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t address, char *out, uint32_t room, int keep_end);

#endif
