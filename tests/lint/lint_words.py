#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Comments say why, not what is planned or what once was; nothing names a place outside the tree.
# Identifiers and files are named in ARCHITECTURE.md's words, not in those that were given up for them.
import os
import re

import tree

# Written in halves, so that this file passes itself.
PLANS = ("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")
HISTORY = ("for n" + "ow", "not y" + "et implemented", "will be im" + "plemented", "former" + "ly",
           "was renam" + "ed", "has been re" + "named", "has been re" + "written",
           "instead of the o" + "ld", "work in pro" + "gress")
PLACES = (r"/(work|root|home/\w+)/[\w.]", r"\blocalhost:\d", "artifact-re" + "gistry")
# Words in identifiers and names of files, and what is said for them.
GIVEN_UP = {
    "harvest": "drain", "intake": "pipe_reader", "outbox": "pipe_writer", "stranger": "uninjected",
    "strangers": "uninjected", "outsider": "detached", "nameless": "unnamed", "lasting": "permanent",
    "elsewhere": "other_copy, outside", "owed": "due", "settle": "credit, account, end",
    "settled": "credit, account, end", "retire": "end", "retired": "ended, deferred",
    "bury": "reap", "unclaim": "release", "elfimage": "elf_file", "elfsyms": "elf_symbols",
    "gaps": "placeholder", "kin": "kind, family", "heir": "successor",
}
# Names of functions that say nothing of what they do, or to what.
BARE = {"look", "meet", "tell", "turn", "take", "settle", "say", "obey", "conclude", "rest"}
NAMED = ("cli/", "libprof/", "arch/", "render/")
# The changelog tells history; that is its job.
EXEMPT = {"CHANGELOG.md", "LICENSE"}
TEXT = (".c", ".h", ".S", ".cc", ".py", ".sh", ".js", ".css", ".def", ".md", ".ini", ".map", ".1")


def code_only(text):
    """C without comments and strings, its lines kept."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def check_names(report, path):
    for part in re.split(r"[/_.-]", path):
        if part in GIVEN_UP:
            report.error(path, 1, f"'{part}' was given up for {GIVEN_UP[part]}")
    for number, line in enumerate(code_only("\n".join(tree.lines(path))).split("\n"), 1):
        for name in re.findall(r"\b[A-Za-z_]\w*", line):
            for part in name.lower().split("_"):
                if part in GIVEN_UP:
                    report.error(path, number, f"'{name}': '{part}' was given up for {GIVEN_UP[part]}")
        match = re.match(r"(?:static |inline )+[\w *]*?\b(\w+)\(", line)
        if match and match.group(1) in BARE:
            report.error(path, number, f"'{match.group(1)}()' says nothing of what it does to what")


def main():
    report = tree.Report()
    plans = re.compile(r"\b(" + "|".join(PLANS) + r")\b")
    rest = re.compile("|".join([rf"\b{w}\b" for w in HISTORY] + list(PLACES)), re.I)
    for path in tree.files(*NAMED, suffixes=(".c", ".h")):
        check_names(report, path)
    for path in tree.files():
        named = path.endswith(TEXT) or os.path.basename(path) in ("Makefile", "run")
        if path in EXEMPT or not named:
            continue
        for number, line in enumerate(tree.lines(path), 1):
            match = plans.search(line) or rest.search(line)
            if match:
                report.error(path, number, f"says '{match.group(0)}'")
    report.done()


if __name__ == "__main__":
    main()
