/* SPDX-License-Identifier: MIT */
/*
 * Names are written by hand, character by character: PyUnicode_AsUTF8() would keep a copy in the
 * object, which sys.getsizeof() shows, and may raise.
 */
#include <Python.h>

#include "libprof/python/name.h"

#include <stdio.h>
#include <string.h>

#include "libprof/flameprof_stub.h"

/* Longer parts are cut, paths at their beginning. */
#define QUALIFIED_BYTES 1024
#define PATH_BYTES      2048
#define MODULE_BYTES    512

struct text {
	char *bytes;
	size_t used, room; /* room for the terminating zero is kept */
};

static void append(struct text *text, const char *bytes, size_t n)
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
	append(text, bytes, n);
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
static const char *shorten(const char *path, const char *module)
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

const char *name_of_code(PyCodeObject *code, PyObject *globals)
{
	static char name[FLAMEPROF_NAME_BYTES + 1];
	static char path[PATH_BYTES];
	char qualified[QUALIFIED_BYTES], module[MODULE_BYTES];

	copy_module_name(module, globals);
	copy_string(qualified, sizeof(qualified), code->co_qualname, 0);
	copy_string(path, sizeof(path), code->co_filename, 1);
	snprintf(name, sizeof(name), "%s (%s:%d)", qualified, shorten(path, module),
		code->co_firstlineno);
	return name;
}
