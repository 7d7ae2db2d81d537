#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Check which file calls which, as read from the symbols of the objects. Calls must form no cycle
# between folders, and none between files unless a file of the cycle explains it in its head comment
# by a line "Calls back into X: why", where X is the other file's path without its suffix. The files
# at the top of cli/ do not count as one folder: main.c is above all others and diag.c below. A name
# that libc also has counts as libc's, because interposers define libc's functions for the program
# and for the library.
import glob
import os
import re
import subprocess

import tree

BUILD = os.path.join(tree.ROOT, os.environ.get("BUILD", "build"))
# Folders that are linked together. A name in one group has no meaning in another group.
LINKED = (("libprof", "arch"), ("cli",), ("render",))
DEFENCE = re.compile(r"^[ /*]*Calls back into ([\w/]+)(?:\.[chS])?: \S", re.M)


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def libc_names():
    path = re.search(r"libc\.so\.6 => (\S+)", output("ldd", "/bin/sh")).group(1)
    lines = [line.split() for line in output("nm", "-PD", path).splitlines()]
    return {name.split("@")[0] for name, kind, *_ in lines if kind not in "Uwv"}


def source_of(path):
    """Return the source's path from the root without suffix, or None if the source is gone."""
    stem = os.path.relpath(path, os.path.join(BUILD, "obj"))[:-2]
    there = any(os.path.exists(os.path.join(tree.ROOT, stem + end)) for end in (".c", ".S"))
    return stem if there else None


def calls(folders, libc):
    """Return {file: {file that it calls: a name that it calls}}."""
    owners, wanted = {}, {}
    paths = [path for folder in folders for path in
             glob.glob(os.path.join(BUILD, "obj", folder, "**", "*.o"), recursive=True)]
    for line in output("nm", "-PAg", *filter(source_of, paths)).splitlines():
        path, name, kind = line.split()[:3]
        stem = source_of(path.rstrip(":"))
        if kind in "Uwv":
            wanted.setdefault(stem, set()).add(name)
        else:
            owners[name] = stem
    return {stem: {owners[name]: name for name in sorted(names - libc)
                   if owners.get(name, stem) != stem} for stem, names in wanted.items()}


def reached_from(edges, start):
    reached, ahead = set(), list(edges.get(start, ()))
    while ahead:
        node = ahead.pop()
        if node not in reached:
            reached.add(node)
            ahead += edges.get(node, ())
    return reached


def in_circles(edges):
    """Return (node, its neighbour on a cycle, why) for each edge that is part of a cycle."""
    for node in sorted(edges):
        for other in sorted(edges[node]):
            if node in reached_from(edges, other):
                yield node, other, edges[node][other]


def is_defended(stem, other):
    path = stem + (".c" if os.path.exists(os.path.join(tree.ROOT, stem + ".c")) else ".S")
    return other in DEFENCE.findall("\n".join(tree.lines(path)).split("#include")[0])


def main():
    report, libc = tree.Report(), libc_names()
    for folders in LINKED:
        files, between = {}, {}
        for stem, others in calls(folders, libc).items():
            files[stem] = {o: name for o, name in others.items() if not is_defended(stem, o)}
            for other, name in others.items():
                pair = os.path.dirname(stem), os.path.dirname(other)
                if pair[0] != pair[1] and "cli" not in pair:
                    between.setdefault(pair[0], {})[pair[1]] = f"{name} of {other}, by {stem}"
        if not files:
            report.error(folders[0], 0, "has no objects: make lint builds them")
        for edges in (between, files):
            for node, other, why in in_circles(edges):
                report.error(node, 0, f"calls {other} in a circle ({why})")
    report.done()


if __name__ == "__main__":
    main()
