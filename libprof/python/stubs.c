/* SPDX-License-Identifier: MIT */
/*
 * Two arenas: the stubs of nearly all code objects call CPython's evaluation, those of __getitem__
 * come here first.
 */
#define Py_BUILD_CORE 1
#include "libprof/python/stubs.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "libprof/flameprof_stub.h"
#include "libprof/python/name.h"

/* What BINARY_SUBSCR_GETITEM has room for in its cache. */
#define SUBSCRIPT_VERSION_MAX UINT16_MAX
/* CPython counts versions from 1 upwards, we from the other end down to here. */
#define VERSION_MIN (UINT32_MAX / 2)

Py_ssize_t stubs_index;

static struct flameprof_arena *arena, *subscript_arena;
static uint32_t next_version = UINT32_MAX;

static PyObject *evaluate_subscript(PyThreadState *thread, _PyInterpreterFrame *frame, int throwing)
{
	PyFunctionObject *function = frame->f_func;

	/*
	 * x[i] is given an instruction that runs __getitem__ without asking for an evaluation
	 * function, once the function has a version of 16 bits: it is given one that has more.
	 * Versions are unique; 0 is a function without one.
	 */
	if (function->func_version <= SUBSCRIPT_VERSION_MAX && next_version > VERSION_MIN &&
		function->vectorcall == _PyFunction_Vectorcall)
		function->func_version = next_version--;
	return _PyEval_EvalFrameDefault(thread, frame, throwing);
}

static void free_stub(void *stub)
{
	/* The arena it is not of leaves it alone. */
	flameprof_stub_free(arena, (flameprof_function *)(uintptr_t)stub);
	flameprof_stub_free(subscript_arena, (flameprof_function *)(uintptr_t)stub);
}

static int make_arenas(void)
{
	if (!arena && flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL,
			      (flameprof_function *)_PyEval_EvalFrameDefault, NULL))
		return -ENOMEM;
	if (!subscript_arena && flameprof_arena_new(&subscript_arena, FLAMEPROF_STUB_CALL,
					(flameprof_function *)evaluate_subscript, NULL))
		return -ENOMEM;
	return flameprof_arena_status(arena) == FLAMEPROF_STUBS_DENIED ? -EACCES : 0;
}

int stubs_begin(void)
{
	int error = make_arenas();
	Py_ssize_t index;

	if (error)
		return error;
	index = _PyEval_RequestCodeExtraIndex(free_stub);
	if (index < 0)
		return -ENOMEM;
	stubs_index = index;
	return 0;
}

int stubs_begin_elsewhere(void)
{
	return _PyEval_RequestCodeExtraIndex(free_stub) == stubs_index;
}

/*
 * Keep @stub with @code. _PyCode_SetExtra() would make room for everybody who ever asked for an
 * index, and everybody's function would then be called at the object's end, with NULL: functions
 * that never kept anything here. So there is room for ours alone.
 */
static int keep(PyCodeObject *code, void *stub)
{
	size_t items = (size_t)stubs_index + 1;
	struct stubs_extra *extra;

	if (code->co_extra)
		return _PyCode_SetExtra((PyObject *)code, stubs_index, stub);
	extra = PyMem_Calloc(1, offsetof(struct stubs_extra, item) + items * sizeof(void *));
	if (!extra)
		return -1;
	extra->count = (Py_ssize_t)items;
	extra->item[stubs_index] = stub;
	code->co_extra = extra;
	return 0;
}

static int is_subscript(const PyCodeObject *code)
{
	return code->co_argcount == 2 &&
	       PyUnicode_CompareWithASCIIString(code->co_name, "__getitem__") == 0;
}

stubs_evaluate *stubs_make(const _PyInterpreterFrame *frame)
{
	PyCodeObject *code = frame->f_code;
	struct flameprof_arena *from = is_subscript(code) ? subscript_arena : arena;
	flameprof_function *stub =
		flameprof_stub_new(from, name_of_code(code, frame->f_globals), 0);
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	if (keep(code, (void *)(uintptr_t)stub)) {
		flameprof_stub_free(from, stub);
		stub = (flameprof_function *)_PyEval_EvalFrameDefault;
	}
	/* Drops what was raised for want of memory. */
	PyErr_Restore(type, value, traceback);
	return (stubs_evaluate *)stub;
}
