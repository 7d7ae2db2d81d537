/* SPDX-License-Identifier: MIT */
/*
 * The stubs of code objects: made when one runs for the first time, freed when it goes away.
 * Included behind CPython's own headers, with Py_BUILD_CORE.
 *
 * Context: the caller holds the GIL.
 */
#ifndef LIBPROF_PYTHON_STUBS_H
#define LIBPROF_PYTHON_STUBS_H

#include <Python.h>
#include <internal/pycore_frame.h>

/* What evaluates a frame: CPython's own function, a stub before it, or ours. */
typedef PyObject *stubs_evaluate(PyThreadState *thread, _PyInterpreterFrame *frame, int throwing);

/* What a code object keeps for others, by index. CPython's Objects/codeobject.c; in no header. */
struct stubs_extra {
	Py_ssize_t count;
	void *item[];
};

/* Ours among the indices. */
extern Py_ssize_t stubs_index __attribute__((visibility("hidden")));

/*
 * Get ready, in the first interpreter of the process: may be called again when there is a new first
 * one. Returns 0, -EACCES where executable memory is refused, -ENOMEM; no Python exception is set.
 */
int stubs_begin(void);

/*
 * Get ready in another interpreter, the caller's. Returns whether its code objects can be used:
 * what they keep is found by an index that each interpreter gives out on its own, and some code
 * objects belong to all of them.
 */
int stubs_begin_in_other_copy(void);

/*
 * Make the stub of the code object that @frame runs. Leaves an exception that is set alone.
 * Returns the stub, or the plain evaluation where there is no memory.
 */
stubs_evaluate *stubs_make(const _PyInterpreterFrame *frame);

/* The stub of @code, NULL: none yet. */
static inline stubs_evaluate *stubs_find(const PyCodeObject *code)
{
	const struct stubs_extra *extra = code->co_extra;

	if (!extra || extra->count <= stubs_index)
		return NULL;
	return (stubs_evaluate *)(uintptr_t)extra->item[stubs_index];
}

#endif
