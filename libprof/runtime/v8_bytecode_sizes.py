#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Print the number of bytes of each of V8's bytecodes, for versions that have this table but do not
# export it. The table is read from a node with symbols.
#
#     v8_bytecode_sizes.py NODE > v8_bytecode_sizes.inc
import subprocess
import sys

NAME = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"


def find_symbol(path):
    """Return the address and the number of bytes of the table."""
    for line in subprocess.run(["nm", "-S", path], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.splitlines():
        words = line.split()
        if words[-1] == NAME:
            return int(words[0], 16), int(words[1], 16)
    sys.exit(f"{path} has no {NAME}")


def read_bytes(path, address, count):
    for line in subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.splitlines():
        words = line.split()
        if not words or words[0] != "LOAD":
            continue
        offset, start, size = (int(words[i], 16) for i in (1, 2, 4))
        if start <= address < start + size:
            with open(path, "rb") as file:
                file.seek(offset + address - start)
                return file.read(count)
    return sys.exit(f"{path} does not load {address:#x}")


def main():
    table = read_bytes(sys.argv[1], *find_symbol(sys.argv[1]))
    print("/* SPDX-License-Identifier: MIT */")
    print("/* Made by v8_bytecode_sizes.py: operands of one, two, four bytes. */")
    for i in range(0, len(table), 32):
        print(", ".join(map(str, table[i:i + 32])) + ",")


main()
