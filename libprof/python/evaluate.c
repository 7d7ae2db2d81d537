/* SPDX-License-Identifier: MIT */
/*
 * The frame evaluation function (PEP 523): looks up the code object's stub and jumps to it.
 *
 * While an interpreter has such a function, a Python function calls another one by recursion in C,
 * which it does not do otherwise. A program that raised its recursion limit would run out of stack
 * where it does not run out by itself. So named functions get the upper quarter of each thread's
 * stack. Beyond it the function is taken out, and names are missing, until the recursion is back:
 * no limit is met earlier than without us.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "libprof/python/python.h"
#include "libprof/python/stubs.h"

/* ---- how deep the recursion is --------------------------------------------------------------- */
/*
 * How much of a thread's C stack named functions may take.
 */

/*
 * Where the calling thread's stack lies. For the main thread pthread_getattr_np() would read
 * /proc/self/maps, and its descriptor would be seen; the kernel's own data at the upper end and the
 * limit tell as much.
 */

/* A thread may run named functions while its stack pointer is from @low to @low + @bytes. */
struct stack_share {
	const void *thread; /* whose: any address that stands for it; NULL: nobody's */
	uintptr_t low;
	uintptr_t bytes;
};

/* Named functions get this part of a stack, and no more of one that is very large. */
#define SHARE          4
#define STACK_MAX      (64UL << 20)
#define STACK_UNKNOWN  (8UL << 20) /* where there is no limit */

static struct stack_share share_of_main_thread(uintptr_t here)
{
	uintptr_t top = getauxval(AT_RANDOM);
	struct rlimit limit;
	uintptr_t bytes = STACK_UNKNOWN;

	if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur < STACK_MAX)
		bytes = limit.rlim_cur;
	if (here > top || top - here > bytes)
		return (struct stack_share){0};
	return (struct stack_share){.low = top - bytes / SHARE, .bytes = bytes / SHARE};
}

static struct stack_share share_of_thread(uintptr_t here)
{
	struct stack_share share = {0};
	pthread_attr_t attributes;
	void *low;
	size_t bytes;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return share;
	if (!pthread_attr_getstack(&attributes, &low, &bytes) && here >= (uintptr_t)low &&
		here - (uintptr_t)low < bytes) {
		size_t part = (bytes < STACK_MAX ? bytes : STACK_MAX) / SHARE;

		share.low = (uintptr_t)low + bytes - part;
		share.bytes = part;
	}
	pthread_attr_destroy(&attributes);
	return share;
}

/*
 * The share of the calling thread, known to its caller as @thread: the uppermost part of its stack.
 * Nothing (bytes 0) of a stack that is not the thread's own, as coroutines in C have it.
 *
 * Context: any thread.
 */
static struct stack_share stack_share_of_caller(const void *thread)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct stack_share share =
		getpid() == gettid() ? share_of_main_thread(here) : share_of_thread(here);

	share.thread = thread;
	return share;
}

/* ---- evaluating ------------------------------------------------------------------------------ */

#define Py_BUILD_CORE 1



/* Kept out of evaluate(), which then saves few registers and needs hardly any stack. */
#define RARE __attribute__((noinline, cold))

/* Shares of threads that ran lately. */
#define SHARES 64
/* What a thread state is rather apart from the next. */
#define THREAD_STATE_SHIFT 8

/* Guarded by the GIL, which all interpreters of 3.11 share, as is all that stands here. */
static PyInterpreterState *first_interpreter; /* NULL: none is running */
static int64_t newest_interpreter; /* its number */
static struct stack_share shares[SHARES];

static stubs_evaluate evaluate;

static int is_plain(PyInterpreterState *interpreter)
{
	return _PyInterpreterState_GetEvalFrameFunc(interpreter) == _PyEval_EvalFrameDefault;
}

/* Beyond the share: without us Python functions call each other without recursion in C. */
static PyObject *evaluate_unnamed(PyThreadState *thread, _PyInterpreterFrame *frame, int throwing)
{
	PyInterpreterState *interpreter = thread->interp;
	int was_ours = _PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate;
	PyObject *result;

	if (was_ours)
		_PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
	result = _PyEval_EvalFrameDefault(thread, frame, throwing);
	/* Somebody may have taken our place for good meanwhile. */
	if (was_ours && is_plain(interpreter))
		_PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
	return result;
}

/* The first frame of an interpreter that was made since. */
static PyObject *evaluate_first(PyThreadState *thread, _PyInterpreterFrame *frame, int throwing)
{
	stubs_evaluate *from_now =
		stubs_begin_in_other_copy() ? evaluate : _PyEval_EvalFrameDefault;

	_PyInterpreterState_SetEvalFrameFunc(thread->interp, from_now);
	return from_now(thread, frame, throwing);
}

/* The list begins with the newest; the first one is its end. Numbers only grow. */
static RARE void install_in_new_interpreters(void)
{
	PyInterpreterState *interpreter = PyInterpreterState_Head();
	int64_t known = newest_interpreter;

	newest_interpreter = PyInterpreterState_GetID(interpreter);
	while (interpreter && PyInterpreterState_GetID(interpreter) > known) {
		if (is_plain(interpreter))
			_PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate_first);
		interpreter = PyInterpreterState_Next(interpreter);
	}
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
static RARE PyObject *evaluate_shared(
	PyThreadState *thread, _PyInterpreterFrame *frame, int throwing)
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
	stubs_evaluate *stub;

	if (PyInterpreterState_Head() != first_interpreter)
		install_in_new_interpreters();
	if (!is_within(share_of(thread), thread, (uintptr_t)__builtin_frame_address(0)))
		return evaluate_shared(thread, frame, throwing);
	stub = stubs_find(frame->f_code);
	if (!stub)
		stub = stubs_make(frame);
	return stub(thread, frame, throwing);
}

/* The interpreters are gone; a program may make new ones. */
static void reset_at_exit(void)
{
	first_interpreter = NULL;
}

__attribute__((visibility("default"))) python_install_function flamerun_python_install;

int flamerun_python_install(void)
{
	PyThreadState *thread;
	int error;

	if (first_interpreter)
		return 0;
	thread = _PyThreadState_UncheckedGet();
	if (!thread || thread != PyGILState_GetThisThreadState())
		return -EAGAIN;
	if (!is_plain(thread->interp))
		return -EBUSY;
	error = stubs_begin();
	if (error)
		return error;
	if (Py_AtExit(reset_at_exit))
		return -ENOMEM;
	first_interpreter = thread->interp;
	newest_interpreter = PyInterpreterState_GetID(thread->interp);
	_PyInterpreterState_SetEvalFrameFunc(thread->interp, evaluate);
	return 0;
}
