#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Print the values that the library of a JVM has for the entries of
# libprof/runtime/hotspot_tables.c, as rows of tests/unit/hotspot-fixture.h:
#
#     tests/setup/hotspot_fixture.py /usr/lib/jvm/java-25-openjdk-amd64/lib/server/libjvm.so
import ctypes
import pathlib
import re
import sys

TABLES = pathlib.Path(__file__).parents[2] / "libprof/runtime/hotspot_tables.c"


class Field(ctypes.Structure):
    _fields_ = [("type", ctypes.c_char_p), ("name", ctypes.c_char_p), ("declared", ctypes.c_char_p),
                ("is_static", ctypes.c_int32), ("offset", ctypes.c_uint64),
                ("address", ctypes.c_void_p)]


class Type(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("super", ctypes.c_char_p),
                ("flags", ctypes.c_int32 * 3), ("value", ctypes.c_uint64)]


class Constant(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_int32)]


def entries(library, symbol, kind):
    table = ctypes.POINTER(kind).in_dll(library, symbol)
    index = 0
    while ctypes.cast(ctypes.byref(table[index]), ctypes.POINTER(ctypes.c_void_p))[0]:
        yield table[index]
        index += 1


def main():
    library = ctypes.CDLL(sys.argv[1])
    wanted = set(re.findall(r'\{"([^"]+)", "([^"]*)", AT', TABLES.read_text(encoding="ascii")))
    for entry in entries(library, "gHotSpotVMStructs", Field):
        names = entry.type.decode(), (entry.name or b"").decode()
        if names in wanted:
            print(f'\t{{"{names[0]}", "{names[1]}", "{(entry.declared or b"").decode()}", '
                  f'{"STATIC" if entry.is_static else entry.offset}}},')
    for symbol, kind, declared in (("gHotSpotVMTypes", Type, "SIZE"),
                                   ("gHotSpotVMIntConstants", Constant, "CONSTANT")):
        for entry in entries(library, symbol, kind):
            if (entry.name.decode(), "") in wanted:
                print(f'\t{{"{entry.name.decode()}", "", {declared}, {entry.value}}},')


main()
