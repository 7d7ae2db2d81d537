#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Comments say why, not what is planned or what once was; nothing names a place outside the tree.
import os
import re

import tree

# Written in halves, so that this file passes itself.
PLANS = ("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")
HISTORY = ("for n" + "ow", "not y" + "et implemented", "will be im" + "plemented", "former" + "ly",
           "was renam" + "ed", "has been re" + "named", "has been re" + "written",
           "instead of the o" + "ld", "work in pro" + "gress")
PLACES = (r"/(work|root|home/\w+)/[\w.]", r"\blocalhost:\d", "artifact-re" + "gistry")
# The changelog tells history; that is its job.
EXEMPT = {"CHANGELOG.md", "LICENSE"}
TEXT = (".c", ".h", ".S", ".cc", ".py", ".sh", ".js", ".css", ".def", ".md", ".ini", ".map", ".1")


def main():
    report = tree.Report()
    plans = re.compile(r"\b(" + "|".join(PLANS) + r")\b")
    rest = re.compile("|".join([rf"\b{w}\b" for w in HISTORY] + list(PLACES)), re.I)
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
