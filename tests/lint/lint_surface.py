#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Check the interface that programs rely on: the symbols of libflameprof.so and libflameprof.a, and
# every declaration and macro of the installed headers, as the compiler reads them. They must equal
# api-surface.txt; --rewrite (make api-surface REWRITE=1) writes this file anew. Both libraries must
# export every function that is declared and not inline, and the manual must list every function.
import difflib
import glob
import os
import re
import shlex
import subprocess
import sys

import tree

BUILD = os.path.join(tree.ROOT, os.environ.get("BUILD", "build"))
CC = shlex.split(os.environ.get("CC", "gcc"))
LIST = "tests/lint/api-surface.txt"
MANUAL = "man/libflameprof.3"
HEADERS = sorted(os.path.relpath(path, tree.ROOT)
                 for path in glob.glob(os.path.join(tree.ROOT, "libprof", "flameprof*.h")))
INLINE = "static __inline__"


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=tree.ROOT,
                          **options).stdout


def exported(path, *options):
    """Return names and versions of the symbols that @path exports, without version symbols."""
    names = [line.split()[0] for line in run("nm", "-P", "--defined-only", *options, path).splitlines()
             if len(line.split()) > 2 and line.split()[1] not in "A"]
    return sorted(set(names))


def squeeze(text):
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)", " ", text)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r"\s*([(){};,*\[\]]|##)\s*", r"\1", text).strip()


def declarations(header):
    """Return the declarations of @header itself, one line each, without blanks and attributes."""
    text, ours = [], False
    for line in run(*CC, "-std=c11", "-E", "-Ilibprof", header).splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = marker.group(1) == header
        elif ours:
            text.append(line)
    found, depth, start = [], 0, 0
    text = "\n".join(text)
    for at, char in enumerate(text):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth or char not in ";}":
            continue
        declaration = squeeze(text[start:at])
        if char == "}" and not declaration.startswith(INLINE):
            continue
        # The body of an inline function is compiled into programs, so it is part of the interface.
        found.append(declaration + "}" * (char == "}"))
        start = at + 1
    return found


def macros(header):
    """
    Return the macros of @header. A macro whose value depends on CPU or language has the value
    "...".
    """
    source = "\n".join(tree.lines(header))
    defined = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(FLAMEPROF_\w+)", source, re.M)
    found = []
    for line in run(*CC, "-std=c11", "-E", "-dM", "-Ilibprof", header).splitlines():
        name = re.match(r"#define (\w+)", line).group(1)
        if defined.count(name) == 1 and not name.endswith("_H"):
            found.append(squeeze(line))
        elif name in defined and not name.endswith("_H"):
            found.append(f"#define {name} ...")
    return sorted(found)


def surface():
    lines = ["# Made by `make api-surface REWRITE=1`. What goes from here breaks somebody's program."]
    lines.append("\n[libflameprof.so.1]")
    lines += exported(os.path.join(BUILD, "libflameprof.so.1"), "-D")
    lines.append("\n[libflameprof.a]")
    lines += exported(os.path.join(BUILD, "libflameprof.a"), "-g")
    for header in HEADERS:
        lines.append(f"\n[{os.path.basename(header)}]")
        lines += declarations(header) + macros(header)
    return "\n".join(lines) + "\n"


def check_promises():
    """Print the functions of headers that a library or the manual lacks. Return their number."""
    synopsis = "\n".join(tree.lines(MANUAL)).partition(".Sh DESCRIPTION")[0]
    places = {
        "libflameprof.so.1": exported(os.path.join(BUILD, "libflameprof.so.1"), "-D"),
        "libflameprof.a": exported(os.path.join(BUILD, "libflameprof.a"), "-g"),
        MANUAL: re.findall(r"^\.F[no] (\w+)", synopsis, re.M),
    }
    broken = 0
    for header in HEADERS:
        for text in declarations(header):
            name = re.match(r"(?!typedef )[\w *]*?\b(flameprof_\w+)\(", text)
            for place, names in places.items():
                if not name or (text.startswith(INLINE) and place != MANUAL):
                    continue
                if name.group(1) not in [n.split("@")[0] for n in names]:
                    print(f"{header}:1: {name.group(1)} is not in {place}")
                    broken += 1
    return broken


def main():
    now = surface()
    path = os.path.join(tree.ROOT, LIST)
    if "--rewrite" in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(now)
        return
    broken = check_promises()
    listed = "\n".join(tree.lines(LIST)) if os.path.exists(path) else ""
    if now == listed:
        sys.exit(broken != 0)
    sys.stdout.writelines(difflib.unified_diff(listed.splitlines(True), now.splitlines(True), LIST,
                                               "what is built", n=1))
    print(f"{LIST}:1: is not what is built; if that is meant: make api-surface REWRITE=1")
    sys.exit(1)


if __name__ == "__main__":
    main()
