/* SPDX-License-Identifier: MIT */
/*
 * Names for the functions of CPython 3.11: a library of its own beside libflameprof, loaded into
 * processes that are such a CPython and nowhere else. It knows that interpreter's structures; the
 * preloaded library knows this one function.
 *
 * Every code object that runs gets a call stub (libprof/flameprof_stub.h), through which its frames
 * are evaluated:
 *
 *	caller                        what calls a Python function
 *	_PyEval_Vector                CPython's
 *	"Class.method (file.py:12)"   the stub
 *	_PyEval_EvalFrameDefault      CPython's: runs the bytecode
 *
 * Context of all functions here: the caller holds the GIL.
 */
#ifndef LIBPROF_PYTHON_PYTHON_H
#define LIBPROF_PYTHON_PYTHON_H

/* Final releases of 3.11 alone, whose structures do not change any more. */
#define PYTHON_VERSION_FIRST 0x030b00f0UL
#define PYTHON_VERSION_END   0x030c0000UL

/* What the preloaded library looks for. */
#define PYTHON_INSTALL      "flamerun_python_install"
#define PYTHON_LIBRARY_NAME "libflameprof-python3.11.so"

/*
 * Have the calling thread's interpreter run its functions through stubs from now on. May be called
 * again at any time; does nothing where that is so already.
 *
 * Returns 0, -EAGAIN where no interpreter exists yet or the thread does not hold its GIL, -EBUSY
 * where something else evaluates frames, -EACCES where executable memory is refused, -ENOMEM.
 * Context: any thread, with or without the GIL; takes no lock when it returns -EAGAIN or has done
 * its work before.
 */
typedef int python_install_function(void);

#endif
