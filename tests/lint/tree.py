# SPDX-License-Identifier: MIT
#
# Functions that the lints share: the list of the tree's files, and the form of complaints.
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = {".git", "build", "node_modules", "__pycache__", ".pytest_cache"}


def files(*folders, suffixes=None):
    """
    Return the sorted paths, from the root, of the files in @folders; without folders, of all files.
    """
    found = []
    for folder in folders or (".",):
        for where, names, leaves in os.walk(os.path.join(ROOT, folder)):
            names[:] = [n for n in names if n not in SKIPPED]
            for leaf in leaves:
                if suffixes is None or leaf.endswith(tuple(suffixes)):
                    found.append(os.path.relpath(os.path.join(where, leaf), ROOT))
    return sorted(found)


def lines(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="surrogateescape") as file:
        return file.read().split("\n")


class Report:
    """Collects complaints. done() prints their number and exits with the lint's status."""

    def __init__(self):
        self.errors = 0

    def error(self, path, line, text):
        print(f"{path}:{line}: {text}")
        self.errors += 1

    def warning(self, path, line, text):
        print(f"{path}:{line}: warning: {text}")

    def done(self):
        sys.exit(1 if self.errors else 0)
