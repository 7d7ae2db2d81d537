#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Check that the errors that the comments of the public headers name for a function are those in the
# manual's ERRORS section, and that every error is explained there.
import glob
import os
import re

import tree

MANUAL = "man/libflameprof.3"
FUNCTION = re.compile(r"^FLAMEPROF_API [^;{]*?\b(flameprof_\w+)\(", re.M | re.S)
# The name of another function whose errors this function also returns.
AS = re.compile(r"(?:\bas(?: from)?|\band|Returns) (flameprof_\w+)\(\)")


def in_headers():
    """Return {function: its errors}, from the comment above the function or above its group."""
    found, same = {}, {}
    for path in sorted(glob.glob(os.path.join(tree.ROOT, "libprof", "flameprof*.h"))):
        text = "\n".join(tree.lines(os.path.relpath(path, tree.ROOT)))
        returns = ""
        for part in re.finditer(r"^/\*.*?\*/|" + FUNCTION.pattern, text, re.S | re.M):
            if not part.group(1):
                returns = re.sub(r"\s*\n \*\s*", " ", part.group()).partition("Returns ")
                returns = "".join(returns[1:])
                continue
            found[part.group(1)] = set(re.findall(r"-(E[A-Z0-9]+)\b", returns))
            same[part.group(1)] = AS.findall(returns)
    for _ in found:
        for name, others in same.items():
            found[name].update(*(found[other] for other in others))
    return {name: errors for name, errors in found.items() if errors}


def in_manual():
    """Return {function: its errors}, from the manual's list, and the set of explained errors."""
    section = "\n".join(tree.lines(MANUAL)).partition("\n.Sh ERRORS\n")[2].partition("\n.Sh ")[0]
    functions, errors = {}, set()
    for item in section.split("\n.It ")[1:]:
        head, _, rest = item.partition("\n")
        if head.startswith("Fl Ns Bq Er "):
            errors.add(head.split()[-1])
            continue
        for name in re.findall(r"flameprof_\w+", head):
            named = re.findall(r"^\.Er (.*)", rest.partition("\n.El")[0], re.M)
            functions[name] = set(re.findall(r"E[A-Z0-9]+", " ".join(named)))
    return functions, errors


def main():
    report = tree.Report()
    headers = in_headers()
    manual, explained = in_manual()
    for name in sorted(headers.keys() | manual.keys()):
        for error in sorted(headers.get(name, set()) ^ manual.get(name, set())):
            where = "the manual's ERRORS" if error in headers.get(name, set()) else "the header"
            report.error(MANUAL, 1, f"{name}: {error} is not in {where}")
    for error in sorted(set().union(*headers.values()) ^ explained):
        report.error(MANUAL, 1, f"{error} is not explained, or nobody returns it")
    report.done()


if __name__ == "__main__":
    main()
