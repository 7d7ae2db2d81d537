#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Check that every source file begins with the SPDX line, that C has at most 100 columns, and that
# no line ends with a blank.
import os

import tree

SOURCES = (".c", ".h", ".S", ".cc", ".py", ".sh", ".js", ".css", ".def")


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


def main():
    report = tree.Report()
    for path in tree.files():
        if not path.endswith(SOURCES) and not is_script(path):
            continue
        text = tree.lines(path)
        check_spdx(report, path, text)
        check_lines(report, path, text)
    report.done()


if __name__ == "__main__":
    main()
