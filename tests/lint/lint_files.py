#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Files are rooms: the SPDX line first, at most 800 lines (a warning from 500), 100 columns of C,
# functions of at most 50 lines (a warning), no blank at a line's end, no name that says nothing.
import os
import re

import tree

SOURCES = (".c", ".h", ".S", ".cc", ".py", ".sh", ".js", ".css", ".def")
SAYS_NOTHING = {"util", "utils", "common", "misc", "helpers"}
# A function's head begins in column 0 and is followed, some lines later, by a lone brace.
HEAD = re.compile(r"^[A-Za-z_][\w\s\*]*\(|^[A-Za-z_].*\b\w+\(")


def is_script(path):
    executable = os.access(os.path.join(tree.ROOT, path), os.X_OK)
    return executable and tree.lines(path)[0].startswith("#!")


def check_spdx(report, path, text):
    first = text[1] if text[0].startswith("#!") and len(text) > 1 else text[0]
    if "SPDX-License-Identifier: MIT" not in first:
        report.error(path, 1, "does not begin with the SPDX line")


def check_lines(report, path, text):
    for number, line in enumerate(text, 1):
        if line.rstrip() != line:
            report.error(path, number, "blank at the end of the line")
        if path.endswith((".c", ".h")) and len(line.expandtabs(8)) > 100 and "://" not in line:
            report.error(path, number, f"{len(line.expandtabs(8))} columns, at most 100")
    length = len(text) - 1
    if length > 800:
        report.error(path, 1, f"{length} lines, at most 800")
    elif length > 500:
        report.warning(path, 1, f"{length} lines, the target is 500")


def check_functions(report, path, text):
    head = begin = None
    for number, line in enumerate(text, 1):
        if line == "{" and head:
            begin = number
        elif line == "}" and begin:
            if number - begin - 1 > 50:
                report.warning(path, head, f"a function of {number - begin - 1} lines, at most 50")
            head = begin = None
        elif begin is None and HEAD.match(line) and not line.rstrip().endswith(";"):
            head = number


def main():
    report = tree.Report()
    for path in tree.files():
        if not path.endswith(SOURCES) and not is_script(path):
            continue
        text = tree.lines(path)
        check_spdx(report, path, text)
        check_lines(report, path, text)
        if path.endswith((".c", ".cc")):
            check_functions(report, path, text)
        if os.path.splitext(os.path.basename(path))[0] in SAYS_NOTHING:
            report.error(path, 1, "a file is named for what it holds")
    report.done()


if __name__ == "__main__":
    main()
