/* SPDX-License-Identifier: MIT */
/*
 * Two arenas: the stubs of nearly all code objects call CPython's evaluation, those of __getitem__
 * come here first.
 *
 * The memory that keeps a code object's stub is allocated here and not by _PyCode_SetExtra(): that
 * makes room for all users of such memory, and their functions are then called with NULL.
 * `__getitem__` gets function versions beyond 16 bits, because 3.11 would otherwise run it by an
 * instruction that asks for no evaluation function.
 */
#include "libprof/python/stubs.h"

#include <Python.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "libprof/flameprof_stub.h"

/* ---- names ----------------------------------------------------------------------------------- */
/*
 * What a code object is called in a picture.
 */

/*
 * Names are written by hand, character by character: PyUnicode_AsUTF8() would keep a copy in the
 * object, which sys.getsizeof() shows, and may raise.
 */

struct PyCodeObject;
struct _object; /* PyObject */

/* Longer parts are cut, paths at their beginning. */
#define QUALIFIED_BYTES 1024
#define PATH_BYTES      2048
#define MODULE_BYTES    512

struct text {
	char *bytes;
	size_t used, room; /* room for the terminating zero is kept */
};

static void append_bytes(struct text *text, const char *bytes, size_t n)
{
	if (n >= text->room - text->used)
		return;
	memcpy(text->bytes + text->used, bytes, n);
	text->used += n;
	text->bytes[text->used] = '\0';
}

/*
 * As UTF-8. Half a surrogate pair is how Python keeps bytes that were not UTF-8 (PEP 383): those
 * are given back as they were.
 */
static void append_character(struct text *text, Py_UCS4 character)
{
	char bytes[4];
	size_t n = 0;

	if (!character || (character >= 0xd800 && character < 0xdc80) ||
		(character > 0xdcff && character < 0xe000)) {
		bytes[n++] = '?';
	} else if (character < 0x80 || (character >= 0xdc80 && character <= 0xdcff)) {
		bytes[n++] = (char)(character & 0xff);
	} else if (character < 0x800) {
		bytes[n++] = (char)(0xc0 | character >> 6);
		bytes[n++] = (char)(0x80 | (character & 0x3f));
	} else if (character < 0x10000) {
		bytes[n++] = (char)(0xe0 | character >> 12);
		bytes[n++] = (char)(0x80 | (character >> 6 & 0x3f));
		bytes[n++] = (char)(0x80 | (character & 0x3f));
	} else {
		bytes[n++] = (char)(0xf0 | character >> 18);
		bytes[n++] = (char)(0x80 | (character >> 12 & 0x3f));
		bytes[n++] = (char)(0x80 | (character >> 6 & 0x3f));
		bytes[n++] = (char)(0x80 | (character & 0x3f));
	}
	append_bytes(text, bytes, n);
}

/* @string, or what of its end fits into @room bytes of UTF-8 when @keep_end. */
static void copy_string(char *out, size_t room, PyObject *string, int keep_end)
{
	struct text text = {.bytes = out, .room = room};
	Py_ssize_t length, at = 0;

	out[0] = '\0';
	if (!string || !PyUnicode_Check(string) || !PyUnicode_IS_READY(string))
		return;
	length = PyUnicode_GET_LENGTH(string);
	/* A character takes up to four bytes; only what may not fit is cut. */
	if (keep_end && length > (Py_ssize_t)(room / 4))
		at = length - (Py_ssize_t)(room / 4);
	for (; at < length && text.used + 4 < room; at++)
		append_character(&text, PyUnicode_READ_CHAR(string, at));
}

static void copy_module_name(char out[MODULE_BYTES], PyObject *globals)
{
	static PyObject *key; /* made once and kept */

	out[0] = '\0';
	if (!globals || !PyDict_CheckExact(globals))
		return;
	if (!key) {
		PyObject *type, *value, *traceback;

		PyErr_Fetch(&type, &value, &traceback);
		key = PyUnicode_FromString("__name__");
		PyErr_Restore(type, value, traceback);
	}
	/* Keeps an exception that is set, and drops those of the look-up. */
	if (key)
		copy_string(out, MODULE_BYTES, PyDict_GetItem(globals, key), 0);
}

/* Where the last component of the path that ends at @end begins, not before @path. */
static const char *component_before(const char *path, const char *end)
{
	while (end > path && end[-1] != '/')
		end--;
	return end;
}

/*
 * The part of @path that @module, as "package.inner.module", accounts for. Folders are compared
 * from the last one on; the first that has another name ends it.
 */
static const char *shorten_path(const char *path, const char *module)
{
	const char *begin = component_before(path, path + strlen(path));
	const char *end = module + strlen(module);

	if (path[0] == '<' || begin == path)
		return path;
	/* "__main__.py" alone tells nothing. */
	if (!strncmp(begin, "__main__.", strlen("__main__.")))
		return component_before(path, begin - 1);
	/* A package's own code stands in a file the module's name does not have. */
	if (strncmp(begin, "__init__.", strlen("__init__.")))
		while (end > module && *--end != '.')
			;
	while (end > module && begin > path) {
		const char *word = end;
		const char *folder = component_before(path, begin - 1);

		while (word > module && word[-1] != '.')
			word--;
		if (end - word != begin - 1 - folder || memcmp(word, folder, (size_t)(end - word)))
			break;
		begin = folder;
		end = word > module ? word - 1 : word;
	}
	return begin;
}

/*
 * "Class.method (package/file.py:12)": qualified name, file, first line. The file is shortened to
 * what an import statement would say: as many folders as its module has packages around it. Without
 * a package it is the file alone; what is no path, as <string>, is left as it is.
 *
 * @globals  of a frame that runs @code; borrowed; NULL: unknown
 *
 * Returns a text that stays as it is until the next call; never NULL. Raises nothing, leaves an
 * exception that is set alone, runs no Python code and leaves no trace in objects.
 * Context: holds the GIL.
 */
static const char *name_of_code(PyCodeObject *code, PyObject *globals)
{
	static char name[FLAMEPROF_NAME_BYTES + 1];
	static char path[PATH_BYTES];
	char qualified[QUALIFIED_BYTES], module[MODULE_BYTES];

	copy_module_name(module, globals);
	copy_string(qualified, sizeof(qualified), code->co_qualname, 0);
	copy_string(path, sizeof(path), code->co_filename, 1);
	snprintf(name, sizeof(name), "%s (%s:%d)", qualified, shorten_path(path, module),
		code->co_firstlineno);
	return name;
}

/* ---- stubs ----------------------------------------------------------------------------------- */

#define Py_BUILD_CORE 1



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

int stubs_begin_in_other_copy(void)
{
	return _PyEval_RequestCodeExtraIndex(free_stub) == stubs_index;
}

/*
 * Keep @stub with @code. _PyCode_SetExtra() would make room for everybody who ever asked for an
 * index, and everybody's function would then be called at the object's end, with NULL: functions
 * that never kept anything here. So there is room for ours alone.
 */
static int attach_stub(PyCodeObject *code, void *stub)
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
	if (attach_stub(code, (void *)(uintptr_t)stub)) {
		flameprof_stub_free(from, stub);
		stub = (flameprof_function *)_PyEval_EvalFrameDefault;
	}
	/* Drops what was raised for want of memory. */
	PyErr_Restore(type, value, traceback);
	return (stubs_evaluate *)stub;
}
