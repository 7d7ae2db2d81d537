#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# ARCHITECTURE.md says where things are: each file of the sources by its stem, and no path that does
# not exist.
import os
import re

import tree

DOCUMENT = "ARCHITECTURE.md"
FOLDERS = ("cli/", "libprof/", "render/", "share/viewer/", "arch/")
SOURCES = (".c", ".h", ".js")


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
        if path.startswith("arch/"):
            stem = stem.removeprefix("arch_")
        if stem not in stems and not stem.startswith(heads):
            report.error(path, 1, f"{DOCUMENT} does not name '{stem}'")
    report.done()


if __name__ == "__main__":
    main()
