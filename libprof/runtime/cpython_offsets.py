#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Print libprof/runtime/cpython_offsets.inc from the headers of the CPythons whose include folders
# (".../include/python3.8") are given: where fields lie that versions before 3.13 publish nowhere.
#
#     libprof/runtime/cpython_offsets.py DIRECTORY... > libprof/runtime/cpython_offsets.inc
import pathlib
import subprocess
import sys
import tempfile

# What struct cpython_offsets has: field, then the C expression by the first version that has it;
# None: there is no such field.
FIELDS = {
    "finalizing": {8: "offsetof(_PyRuntimeState, finalizing)",
                   9: "offsetof(_PyRuntimeState, _finalizing)"},
    "interpreters": {8: "offsetof(_PyRuntimeState, interpreters.head)"},
    "current": {8: "offsetof(_PyRuntimeState, gilstate.tstate_current)", 12: None},
    "interpreter_next": {8: "offsetof(PyInterpreterState, next)"},
    "threads": {8: "offsetof(PyInterpreterState, tstate_head)",
                11: "offsetof(PyInterpreterState, threads.head)"},
    "locked": {8: None, 12: "offsetof(PyInterpreterState, _gil.locked)"},
    "holder": {8: None, 12: "offsetof(PyInterpreterState, _gil.last_holder)"},
    "thread_next": {8: "offsetof(PyThreadState, next)"},
    "thread_id": {8: "offsetof(PyThreadState, thread_id)"},
    "native_id": {8: None, 11: "offsetof(PyThreadState, native_thread_id)"},
    "status": {8: None, 12: "offsetof(PyThreadState, _status)"},
    "innermost": {8: "offsetof(PyThreadState, frame)", 11: "offsetof(PyThreadState, cframe)"},
    "cframe": {8: None, 10: "offsetof(PyThreadState, cframe)"},
    "cframe_frame": {8: None, 11: "offsetof(CFRAME, current_frame)"},
    "cframe_previous": {8: None, 10: "offsetof(CFRAME, previous)"},
    "previous": {8: "offsetof(FRAME, f_back)", 11: "offsetof(FRAME, previous)"},
    "code": {8: "offsetof(FRAME, f_code)"},
    "instruction": {8: "offsetof(FRAME, f_lasti)", 11: "offsetof(FRAME, prev_instr)"},
    "owner": {8: None, 11: "offsetof(FRAME, is_entry)", 12: "offsetof(FRAME, owner)"},
    "first_line": {8: "offsetof(PyCodeObject, co_firstlineno)"},
    "file": {8: "offsetof(PyCodeObject, co_filename)"},
    "name": {8: "offsetof(PyCodeObject, co_name)", 11: "offsetof(PyCodeObject, co_qualname)"},
    "lines": {8: "offsetof(PyCodeObject, co_lnotab)", 10: "offsetof(PyCodeObject, co_linetable)"},
    "bytecode": {8: None, 11: "offsetof(PyCodeObject, co_code_adaptive)"},
    "text_state": {8: "offsetof(PyASCIIObject, state)"},
    "ascii": {8: "sizeof(PyASCIIObject)"},
    "wide": {8: "sizeof(PyCompactUnicodeObject)"},
}
PROGRAM = """
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#include <internal/pycore_code.h>
#define FRAME _PyInterpreterFrame
#define CFRAME _PyCFrame
#else
#define FRAME PyFrameObject
#define CFRAME CFrame
#endif
#include <internal/pycore_pystate.h>
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#endif
#include <internal/pycore_runtime.h>
int main(void)
{
%s
}
"""


def minor_of(directory):
    return int(directory.name.split(".")[1])


def expression(versions, minor):
    return versions[max(first for first in versions if first <= minor)]


def offsets_of(directory):
    """Field by field, as (name, number)."""
    minor = minor_of(directory)
    wanted = [(name, expression(versions, minor)) for name, versions in FIELDS.items()]
    prints = [f'\tprintf("{name} %zu\\n", (size_t)({text}));' for name, text in wanted if text]
    program = PROGRAM % "\n".join(prints)
    if minor == 8:
        program = program.replace("#include <internal/pycore_runtime.h>", "")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "offsets.c"
        source.write_text(program)
        subprocess.run(["gcc", "-w", f"-I{directory}", f"-I{directory}/internal", "-o",
                        f"{folder}/offsets", source], check=True)
        printed = subprocess.run([f"{folder}/offsets"], stdout=subprocess.PIPE, text=True, check=True)
    return [line.split() for line in printed.stdout.splitlines()]


def main():
    print("/* Made by cpython_offsets.py from CPython's headers. */")
    for directory in sorted(map(pathlib.Path, sys.argv[1:]), key=minor_of):
        fields = [f".{name} = {number}" for name, number in offsets_of(directory)]
        print(f"[{minor_of(directory)}] = {{")
        for start in range(0, len(fields), 4):
            print("\t" + ", ".join(fields[start:start + 4]) + ",")
        print("},")


main()
