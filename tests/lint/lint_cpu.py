#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Check that code that differs by CPU is in arch/. No other file may ask the compiler which CPU it
# compiles for, except the public headers, which programs compile without arch/.
import re

import tree

CPU = re.compile(r"\b__(x86_64|amd64|i386|aarch64|arm|riscv|ILP32)(__)?\b")


def main():
    report = tree.Report()
    for path in tree.files("cli", "libprof", "render", suffixes=(".c", ".h", ".S")):
        if re.fullmatch(r"libprof/flameprof\w*\.h", path):
            continue
        for number, line in enumerate(tree.lines(path), 1):
            if re.match(r"\s*#\s*(el)?if", line) and CPU.search(line):
                report.error(path, number, "asks for the CPU outside arch/")
    report.done()


if __name__ == "__main__":
    main()
