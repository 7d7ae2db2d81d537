#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# ARCHITECTURE.md says where things are: each file of the sources below its folder, no path that does
# not exist, where the main types are defined, which files make a call, and with which word functions
# begin that do not begin with their file's.
import os
import re

import tree

DOCUMENT = "ARCHITECTURE.md"
CALLS = "### Calls and words of few files"
FOLDERS = ("cli/", "libprof/", "render/", "share/viewer/", "arch/")
SOURCES = (".c", ".h", ".js")


def section(text, title):
    """What stands below a heading, up to the next of its rank."""
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def stems_by_folder(text):
    """What is named below a heading, by each folder that the heading has."""
    stems = {}
    for part in section(text, "Folders").split("\n### ")[1:]:
        heading, body = part.split("\n", 1)
        named = {re.sub(r"\.[ch]$", "", word) for word in re.findall(r"`([^`\s]+)`", body)}
        for folder in re.findall(r"`([\w/]+)/`", heading):
            stems[folder] = named
    return stems


def functions(path):
    """Names of what a header declares or defines at the beginning of a line."""
    text = re.sub(r"/\*.*?\*/", "", "\n".join(tree.lines(path)), flags=re.S)
    return re.findall(r"^(?:static inline )?[a-z][\w *]*?\b([a-z]\w*)\((?!\*)[^;{]*[;{]", text, re.M)


def read_prefixes(text):
    """Rows "folder | `stem`, `stem`: `prefix`, `prefix`; ..." as prefixes by path of the header."""
    prefixes = {}
    for folder, cell in re.findall(r"^\| `(\S+/)` \| (.*) \|$", section(text, "Prefixes"), re.M):
        for group in cell.split("; "):
            stems, words = (re.findall(r"`([^`]+)`", part) for part in group.split(": "))
            for stem in stems:
                prefixes.setdefault(f"{folder}{stem}.h", []).extend(words)
    return prefixes


def check_prefixes(report, path, prefixes):
    stem = os.path.splitext(os.path.basename(path))[0]
    names = functions(path)
    for name in names:
        if not name.startswith((stem, *prefixes)):
            report.error(path, 1, f"{DOCUMENT} does not say that '{name}' is here")
    for prefix in prefixes:
        if not any(name.startswith(prefix) for name in names):
            report.error(path, 1, f"{DOCUMENT} says that '{prefix}' is here")


def check_types(report, text):
    for row in re.findall(r"^\| `struct .*\|$", section(text, "Main types"), re.M):
        types, _, paths, _ = row.strip("| ").split(" | ")
        defined = "\n".join("\n".join(tree.lines(path)) for path in re.findall(r"`([^`]+)`", paths))
        for name in re.findall(r"`struct (\w+)`", types):
            if not re.search(rf"^struct {name} {{", defined, re.M):
                report.error(DOCUMENT, 1, f"'struct {name}' is not defined in {paths}")


def check_calls(report, text):
    rows = section(text, "Folders").split(CALLS, 1)[1]
    for calls, paths in re.findall(r"^\| (`.*?) \| (`.*) \|$", rows, re.M):
        names = re.findall(r"`(\w+)`", calls)
        for path in re.findall(r"`([^`]+/[^`]+)`", paths):
            if not any(name in "\n".join(tree.lines(path)) for name in names):
                report.error(DOCUMENT, 1, f"'{path}' has no '{names[0]}'")


def check_paths(report):
    for number, line in enumerate(tree.lines(DOCUMENT), 1):
        for path in re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.\w+)`", line):
            if not os.path.exists(path):
                report.error(DOCUMENT, number, f"'{path}' does not exist")


def main():
    report = tree.Report()
    text = "\n".join(tree.lines(DOCUMENT))
    prefixes = read_prefixes(text)
    stems = stems_by_folder(text)
    check_paths(report)
    check_types(report, text)
    check_calls(report, text)
    for path in tree.files():
        stem = os.path.splitext(os.path.basename(path))[0]
        if not path.startswith(FOLDERS) or not path.endswith(SOURCES):
            continue
        if path.endswith(".h") and not path.startswith("arch/") and not stem.startswith("flameprof"):
            check_prefixes(report, path, prefixes.pop(path, ()))
        folder = os.path.dirname(path)
        if path.startswith("arch/"):
            folder, stem = "arch", stem.removeprefix("arch_")
        if stem not in stems.get(folder, ()):
            report.error(path, 1, f"{DOCUMENT} does not name '{stem}' below '{folder}/'")
    for path in prefixes:
        report.error(DOCUMENT, 1, f"'{path}' does not exist")
    report.done()


if __name__ == "__main__":
    main()
