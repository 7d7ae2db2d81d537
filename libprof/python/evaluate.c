/* SPDX-License-Identifier: MIT */
/*
 * The frame evaluation function (PEP 523): looks up the code object's stub and jumps to it.
 *
 * While an interpreter has such a function, a Python function calls another one by recursion in C,
 * which it does not do otherwise. A program that raised its recursion limit would run out of stack
 * where it does not run out by itself. So named functions get a share of each thread's stack: beyond
 * it the interpreter is left to itself until the recursion is back, and names are missing.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_frame.h>

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "libprof/flameprof_stub.h"
#include "libprof/python/name.h"
#include "libprof/python/python.h"
#include "libprof/python/stack.h"

/* Kept out of evaluate(), which then saves no registers and needs hardly any stack. */
#define RARE __attribute__((noinline, cold))

/* Shares of threads that ran lately. */
#define SHARES 64
/* What a thread state is rather apart from the next. */
#define THREAD_STATE_SHIFT 8

/* All of it: guarded by the GIL, which all interpreters of 3.11 share. */
static struct {
	PyInterpreterState *interpreter; /* the one that was there first; NULL: none is running */
	PyInterpreterState *newest;
	Py_ssize_t index; /* of ours among what code objects keep for others */
	struct flameprof_arena *arena;
} python;

static struct stack_share shares[SHARES];

static PyObject *evaluate(PyThreadState *thread, _PyInterpreterFrame *frame, int throwing);

/* What a code object keeps for others, by index. CPython's Objects/codeobject.c; in no header. */
struct code_extra {
	Py_ssize_t count;
	void *item[];
};

typedef PyObject *evaluate_function(PyThreadState *, _PyInterpreterFrame *, int);

static void free_stub(void *stub)
{
	flameprof_stub_free(python.arena, (flameprof_function *)(uintptr_t)stub);
}

static int is_ours(PyInterpreterState *interpreter)
{
	return _PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate;
}

/* Below the share: without us Python functions call each other without recursion in C. */
static PyObject *evaluate_unnamed(PyThreadState *thread, _PyInterpreterFrame *frame, int throwing)
{
	PyInterpreterState *interpreter = thread->interp;
	int was_ours = is_ours(interpreter);
	PyObject *result;

	if (was_ours)
		_PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
	result = _PyEval_EvalFrameDefault(thread, frame, throwing);
	/* Nobody but us and those who take our place for good change it. */
	if (was_ours && _PyInterpreterState_GetEvalFrameFunc(interpreter) ==
		_PyEval_EvalFrameDefault)
		_PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
	return result;
}

/*
 * What code objects keep is found by an index that each interpreter gives out on its own, and some
 * code objects belong to all of them: another index than in the first interpreter is of no use.
 */
static PyObject *evaluate_adopted(PyThreadState *thread, _PyInterpreterFrame *frame, int throwing)
{
	int is_same = _PyEval_RequestCodeExtraIndex(free_stub) == python.index;

	_PyInterpreterState_SetEvalFrameFunc(
		thread->interp, is_same ? evaluate : _PyEval_EvalFrameDefault);
	return (is_same ? evaluate : _PyEval_EvalFrameDefault)(thread, frame, throwing);
}

/* Interpreters that were made since we looked last. */
static RARE void adopt_interpreters(void)
{
	PyInterpreterState *interpreter = PyInterpreterState_Head();
	PyInterpreterState *known = python.newest;

	python.newest = interpreter;
	for (; interpreter && interpreter != known; interpreter = PyInterpreterState_Next(interpreter))
		if (interpreter != python.interpreter &&
			_PyInterpreterState_GetEvalFrameFunc(interpreter) == _PyEval_EvalFrameDefault)
			_PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate_adopted);
}

/*
 * Keep @stub with @code. _PyCode_SetExtra() would make room for everybody who ever asked for an
 * index, and everybody's function would then be called at the object's end, with NULL: functions
 * that never kept anything here. So there is room for ours alone.
 */
static int keep_stub(PyCodeObject *code, void *stub)
{
	size_t bytes = offsetof(struct code_extra, item) + (size_t)(python.index + 1) * sizeof(void *);
	struct code_extra *extra;

	if (code->co_extra)
		return _PyCode_SetExtra((PyObject *)code, python.index, stub);
	extra = PyMem_Calloc(1, bytes);
	if (!extra)
		return -1;
	extra->count = python.index + 1;
	extra->item[python.index] = stub;
	code->co_extra = extra;
	return 0;
}

/* A stub for @code, kept with it; the plain evaluation where there is no memory. */
static RARE evaluate_function *make_stub(PyCodeObject *code, PyObject *globals)
{
	flameprof_function *stub =
		flameprof_stub_new(python.arena, name_of_code(code, globals), 0);
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	if (keep_stub(code, (void *)(uintptr_t)stub)) {
		flameprof_stub_free(python.arena, stub);
		stub = (flameprof_function *)_PyEval_EvalFrameDefault;
	}
	/* Drops what was raised for want of memory. */
	PyErr_Restore(type, value, traceback);
	return (evaluate_function *)stub;
}

static struct stack_share *share_of(const PyThreadState *thread)
{
	return &shares[(uintptr_t)thread >> THREAD_STATE_SHIFT & (SHARES - 1)];
}

static int is_within(const struct stack_share *share, const PyThreadState *thread, uintptr_t here)
{
	return share->thread == thread && here - share->low <= share->bytes;
}

/* The share is another thread's, or not known yet, or used up. */
static RARE PyObject *evaluate_shared(PyThreadState *thread, _PyInterpreterFrame *frame, int throwing)
{
	struct stack_share *share = share_of(thread);
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	*share = stack_share_of_caller(thread);
	if (!share->bytes || !is_within(share, thread, here))
		return evaluate_unnamed(thread, frame, throwing);
	return evaluate(thread, frame, throwing);
}

/* Gives no local's address away, so that it ends in a jump to the stub and is not on the stack. */
static PyObject *evaluate(PyThreadState *thread, _PyInterpreterFrame *frame, int throwing)
{
	const struct code_extra *extra = frame->f_code->co_extra;
	evaluate_function *stub = NULL;

	if (PyInterpreterState_Head() != python.newest)
		adopt_interpreters();
	if (!is_within(share_of(thread), thread, (uintptr_t)__builtin_frame_address(0)))
		return evaluate_shared(thread, frame, throwing);
	if (extra && extra->count > python.index)
		stub = (evaluate_function *)(uintptr_t)extra->item[python.index];
	if (!stub)
		stub = make_stub(frame->f_code, frame->f_globals);
	return stub(thread, frame, throwing);
}

/* The interpreters are gone; a program may make new ones. */
static void forget(void)
{
	python.interpreter = NULL;
}

static PyThreadState *running_thread(void)
{
	PyThreadState *thread = _PyThreadState_UncheckedGet();

	return thread && thread == PyGILState_GetThisThreadState() ? thread : NULL;
}

__attribute__((visibility("default"))) python_install_function flamerun_python_install;

int flamerun_python_install(void)
{
	PyThreadState *thread;
	Py_ssize_t index;

	if (python.interpreter)
		return 0;
	thread = running_thread();
	if (!thread)
		return -EAGAIN;
	if (_PyInterpreterState_GetEvalFrameFunc(thread->interp) != _PyEval_EvalFrameDefault)
		return -EBUSY;
	if (!python.arena && flameprof_arena_new(&python.arena, FLAMEPROF_STUB_CALL,
				     (flameprof_function *)_PyEval_EvalFrameDefault, NULL))
		return -ENOMEM;
	if (flameprof_arena_status(python.arena) == FLAMEPROF_STUBS_DENIED)
		return -EACCES;
	index = _PyEval_RequestCodeExtraIndex(free_stub);
	if (index < 0 || Py_AtExit(forget))
		return -ENOMEM;
	python.index = index;
	python.interpreter = thread->interp;
	python.newest = PyInterpreterState_Head();
	_PyInterpreterState_SetEvalFrameFunc(thread->interp, evaluate);
	return 0;
}
