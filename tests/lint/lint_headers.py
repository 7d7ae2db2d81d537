#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Check that every header compiles alone, and the public headers also as C++. The Makefile sets CC
# and LINT_FLAGS.
import os
import shlex
import subprocess

import tree

CC = shlex.split(os.environ.get("CC", "gcc"))
FLAGS = shlex.split(os.environ.get("LINT_FLAGS", "-std=gnu11 -D_GNU_SOURCE -I. -Iarch/x86_64"))
PUBLIC = "libprof/flameprof"


def compiles(path, command):
    text = f'#include "{path}"\n'
    result = subprocess.run(command, cwd=tree.ROOT, input=text, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return result.returncode == 0, result.stdout


def main():
    report = tree.Report()
    cpu = next((f[len("-Iarch/"):] for f in FLAGS if f.startswith("-Iarch/")), "x86_64")
    for path in tree.files("cli", "libprof", "render", "arch", suffixes=(".h",)):
        if path.startswith("arch/") and path.count("/") > 1 and not path.startswith(f"arch/{cpu}/"):
            continue
        # Warnings are off, because a parametrised header uses names that its includer defines.
        languages = [CC + FLAGS + ["-w", "-fsyntax-only", "-x", "c", "-"]]
        if path.startswith(PUBLIC):
            strict = ["-Wall", "-Wextra", "-Wshadow", "-pedantic", "-Werror", "-fsyntax-only"]
            # C89 with two extensions that all compilers have: long long and variadic macros.
            old = ["-Wno-long-long", "-Wno-variadic-macros"]
            for standard, more in (("c89", old), ("c99", []), ("c2x", [])):
                languages.append(
                    CC + ["-I.", f"-std={standard}", *strict, *more, "-x", "c", "-"])
            for standard in ("c++11", "c++20"):
                languages.append(
                    ["g++", "-I.", f"-std={standard}", *strict, "-x", "c++", "-"])
        for command in languages:
            fine, output = compiles(path, command)
            if not fine:
                report.error(path, 1, "does not compile alone:\n" + output)
    report.done()


if __name__ == "__main__":
    main()
