#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# tests/REQUIREMENTS.md names the test behind each requirement: every test, case, lint and benchmark
# it names exists. "`test-x: case`" is a case of tests/unit/test-x.c; a case alone is of the file before.
import os
import re

import tree

PAGE = "tests/REQUIREMENTS.md"
NAME = re.compile(r"^(test[-_]\w+(?:\.py)?|lint_\w+\.(?:py|sh)|bench-\w+|tests/[\w./-]+)"
                  r"(?:: (\w+))?$")
CASE = re.compile(r"^[a-z]\w+_\w+$")


def path_of(name):
    if name.startswith("tests/"):
        return name
    if name.startswith("lint_"):
        return f"tests/lint/{name}"
    if name.startswith("bench-"):
        return f"tests/bench/{name}.c"
    return f"tests/e2e/{name}" if name.endswith(".py") else f"tests/unit/{name}.c"


def has_case(path, case):
    text = "\n".join(tree.lines(path))
    return re.search(rf"\b(?:static void|def) {case}\(", text) is not None


def check_row(report, number, line):
    path = None
    for quoted in re.findall(r"`([^`]+)`", line):
        match = NAME.match(quoted)
        if match and not match.group(1).startswith("test_") or match and ".py" in quoted:
            path, case = path_of(match.group(1)), match.group(2)
            if not os.path.exists(os.path.join(tree.ROOT, path)):
                report.error(PAGE, number, f"names {path}, which is not there")
                path = None
                continue
        elif path and CASE.match(quoted):
            case = quoted
        else:
            continue
        if case and not has_case(path, case):
            report.error(PAGE, number, f"names {case}, which is not in {path}")


def main():
    report = tree.Report()
    rows = 0
    for number, line in enumerate(tree.lines(PAGE), 1):
        if line.startswith("| "):
            rows += "`" in line
            check_row(report, number, line.replace(r"\|", ""))
    if not rows:
        report.error(PAGE, 0, "has no row of requirements")
    report.done()


if __name__ == "__main__":
    main()
