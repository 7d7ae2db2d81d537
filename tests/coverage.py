#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Line coverage of programs built with --coverage. `coverage.py BUILD...` prints for each folder of
# sources how many of its lines with code were run in any of the build folders. `-o FILE` also
# writes to FILE which lines were run, for comparing two runs by diff. See `make coverage`.
import collections
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("arch", "cli", "libprof", "render")


def lines_of(build):
    """Yields pairs: (file, line), and how often that line was run."""
    # Those of the tests as well: code in headers is compiled into them.
    paths = [str(path) for path in pathlib.Path(build).rglob("*.gcno")]
    text = subprocess.run(["gcov", "-j", "-t", *paths], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for entry in text.splitlines():
        for file in json.loads(entry)["files"]:
            if file["file"].startswith(FOLDERS):
                for line in file["lines"]:
                    yield (file["file"], line["line_number"]), line["count"]


def main():
    words = sys.argv[1:]
    out = words.pop(words.index("-o") + 1) if "-o" in words else None
    counts = collections.Counter()
    for build in words:
        if build != "-o":
            for where, count in lines_of(os.path.abspath(build)):
                counts[where] += count
    known, run = collections.Counter(), collections.Counter()
    for (path, _), count in counts.items():
        for folder in (os.path.dirname(path), path.split("/")[0] + " in all"):
            known[folder] += 1
            run[folder] += count > 0
    for folder in sorted(known):
        print(f"{folder:24} {run[folder]:6} of {known[folder]:6} lines  "
              f"{100 * run[folder] / known[folder]:5.1f} %")
    if out:
        with open(out, "w", encoding="ascii") as file:
            file.writelines(f"{path}:{line}\n" for (path, line) in sorted(counts)
                            if counts[path, line])


main()
