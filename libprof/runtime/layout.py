#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Print one row of a runtime's table of offsets, from the headers of one release. Runtimes that do not
# publish their offsets need such a table: libprof/runtime/RUNTIME_layouts.inc.
#
#     libprof/runtime/layout.py RUNTIME VERSION COMPILER_FLAG... >> libprof/runtime/RUNTIME_layouts.inc
#     libprof/runtime/layout.py php 8.4 $(php-config8.4 --includes) -DZEND_ENABLE_STATIC_TSRMLS_CACHE=0
#
# RUNTIME.layout lists the fields of the row. It begins with C code (the includes), up to a line "%%".
# Each line after "%%" has a field of the table, the C expression of its value and, if not all releases
# have the field, the releases that have it:
#
#     function        offsetof(zend_execute_data, func)
#     call_stack      offsetof(zend_executor_globals, call_stack)         from 8.3
#     cframe          offsetof(PyThreadState, cframe)                     from 3.10 until 3.12
#
# A field may have several lines, for releases that do not overlap. If no line is for the release, the
# row does not set the field.
import pathlib
import re
import subprocess
import sys
import tempfile

FIELD = re.compile(r"(?P<name>[\w.\[\]]+)\s+(?P<value>.*?)(\s+from (?P<first>[\d.]+))?(\s+until (?P<last>[\d.]+))?")
COLUMNS = 100
TAB = 8


def numbers(version):
    return tuple(map(int, version.split(".")))


def fields_of(lines, version):
    """Yield the pairs (name, C expression) of the fields that the release has, in the order of the file."""
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        field = FIELD.fullmatch(line.strip())
        if not field:
            sys.exit(f"layout.py: not a field: {line}")
        first, last = field["first"] or "0", field["last"] or "999"
        # "until 3.12" includes 3.12.4.
        if numbers(first) <= version and version[:len(numbers(last))] <= numbers(last):
            yield field["name"], field["value"]


def values_of(prelude, fields, flags):
    """Return the values of the fields, which a compiled program prints."""
    lines = [f'\tprintf("%llu\\n", (unsigned long long)({value}));' for _, value in fields]
    program = "\n".join([prelude, "#include <stddef.h>", "#include <stdio.h>", "int main(void)", "{", *lines, "}", ""])
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "layout.c"
        source.write_text(program)
        subprocess.run(["gcc", "-w", "-o", f"{folder}/layout", source, *flags], check=True)
        printed = subprocess.run([f"{folder}/layout"], stdout=subprocess.PIPE, text=True, check=True)
    return printed.stdout.split()


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: layout.py RUNTIME VERSION COMPILER_FLAG...")
    runtime, version, flags = sys.argv[1], numbers(sys.argv[2]), sys.argv[3:]
    text = (pathlib.Path(__file__).parent / f"{runtime}.layout").read_text()
    prelude, _, table = text.partition("\n%%\n")
    fields = list(fields_of(table.splitlines(), version))
    words = [f".version = {version[0] * 100 + version[1]},"]
    words += [f".{name} = {value}," for (name, _), value in zip(fields, values_of(prelude, fields, flags))]
    print(f"/* {sys.argv[2]} */\n{{")
    line = "\t" + words[0]
    for word in words[1:]:
        if len(line.expandtabs(TAB)) + 1 + len(word) > COLUMNS:
            print(line)
            line = "\t" + word
        else:
            line += " " + word
    print(line + "\n},")


main()
