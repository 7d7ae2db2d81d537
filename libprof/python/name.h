/* SPDX-License-Identifier: MIT */
/*
 * What a code object is called in a picture.
 */
#ifndef LIBPROF_PYTHON_NAME_H
#define LIBPROF_PYTHON_NAME_H

struct PyCodeObject;
struct _object; /* PyObject */

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
const char *name_of_code(struct PyCodeObject *code, struct _object *globals);

#endif
