#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Check the supported versions of language runtimes. They are written in each runtime's struct
# runtime_kind; README.md's tables must have the same words, and unnamed_code.c must have a row for
# each runtime, for the message if another version runs.
import re

import tree

KIND = re.compile(r'\.name = "(\w+)",\n\t\.known = "([^"]+)"')
# {name of a runtime: its name for people}, from the first two fields of each row of `readers`.
LABEL = re.compile(r'^\t\{"(\w+)", "(\w+)"', re.M)
SAID = "cli/run/unnamed_code.c"
PAGE = "README.md"


def main():
    report = tree.Report()
    labels = dict(LABEL.findall("\n".join(tree.lines(SAID))))
    kinds = {}
    for path in tree.files("libprof/runtime", suffixes=[".c"]):
        text = "\n".join(tree.lines(path))
        kinds.update(KIND.findall(text))
        if text.count("const struct runtime_kind runtime_") != len(KIND.findall(text)):
            report.error(path, 1, "a struct runtime_kind without .name and .known at its beginning")
    rows = [line.split("|") for line in tree.lines(PAGE) if line.startswith("|")]
    compared = [cells[2] for cells in rows if cells[1].strip() == "interpreted code"]
    for name, known in kinds.items():
        words = rf"{labels.get(name)} {re.escape(known)}(?![\w.])"
        if name not in labels:
            report.error(SAID, 1, f"no row for {name}, which libprof/runtime reads")
        elif not any(re.search(words, cells[1]) for cells in rows):
            report.error(PAGE, 1, f"no row of a table begins with '{labels[name]} {known}'")
        elif not any(re.search(words, cell) for cell in compared):
            report.error(PAGE, 1, f"the row of interpreted code lacks '{labels[name]} {known}'")
    if not kinds or not compared:
        report.error("tests/lint/lint_runtimes.py", 1, "finds no runtimes, or no row to compare")
    return report.done()


if __name__ == "__main__":
    raise SystemExit(main())
