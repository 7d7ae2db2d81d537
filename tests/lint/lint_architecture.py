#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# ARCHITECTURE.md says where things are: each file of the sources by its stem, no path that does not
# exist, and with which word functions begin that do not begin with their file's.
import os
import re

import tree

DOCUMENT = "ARCHITECTURE.md"
FOLDERS = ("cli/", "libprof/", "render/", "share/viewer/", "arch/")
SOURCES = (".c", ".h", ".js")


def functions(path):
    """Names of what a header declares or defines at the beginning of a line."""
    text = re.sub(r"/\*.*?\*/", "", "\n".join(tree.lines(path)), flags=re.S)
    return re.findall(r"^(?:static inline )?[a-z][\w *]*?\b([a-z]\w*)\((?!\*)[^;{]*[;{]", text, re.M)


def check_prefixes(report, text, path):
    stem = os.path.splitext(os.path.basename(path))[0]
    row = re.search(rf"^\| `{re.escape(path[:-2])}` \| (.*) \|$", text, re.M)
    known = (stem, *(re.findall(r"`([^`]+)`", row.group(1)) if row else ()))
    for name in functions(path):
        if not name.startswith(known):
            report.error(path, 1, f"{DOCUMENT} does not say that '{name}' is here")


def main():
    report = tree.Report()
    text = "\n".join(tree.lines(DOCUMENT))
    words = set(re.findall(r"`([^`\s]+)`", text))
    stems = {re.sub(r"\.[ch]$", "", os.path.basename(word)) for word in words}
    # `publish_…`: all that begin so.
    heads = tuple(word[:-1] for word in words if word.endswith("…") and not word.startswith("cli"))
    for number, line in enumerate(tree.lines(DOCUMENT), 1):
        for path in re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.\w+)`", line):
            if not os.path.exists(path):
                report.error(DOCUMENT, number, f"'{path}' does not exist")
    for path in tree.files():
        stem = os.path.splitext(os.path.basename(path))[0]
        if not path.startswith(FOLDERS) or not path.endswith(SOURCES):
            continue
        if path.endswith(".h") and not path.startswith("arch/") and not stem.startswith("flameprof"):
            check_prefixes(report, text, path)
        if path.startswith("arch/"):
            stem = stem.removeprefix("arch_")
        if stem not in stems and not stem.startswith(heads):
            report.error(path, 1, f"{DOCUMENT} does not name '{stem}'")
    report.done()


if __name__ == "__main__":
    main()
