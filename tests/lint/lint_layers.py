#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Check that layers point down only: which folder may include which files. Include lines give the
# path from the root.
import os
import re

import tree

# Files below every layer of the library: the wire formats and the public headers.
GUEST = ("arch/", "libprof/wire", "libprof/at_start.h", "libprof/sanitizers.h", "libprof/fnv.h",
         "libprof/flameprof")
# folder: beginnings of the paths that its include lines may name. libprof/ and arch/ make the
# library. flamerun also contains some parts of it, which may include nothing else of the library.
ALLOWED = {
    "cli": ("cli/", "render/", "libprof/wire.h", "libprof/wire_control.h", "libprof/wire_drain.h",
            "libprof/wire_counters.def",
            "libprof/fnv.h", "libprof/follow_links.h", "libprof/placeholder.h", "libprof/pprof/",
            "libprof/procfs.h", "libprof/runtime/", "libprof/waits/", "libprof/profile/", "libprof/preload/elf_program.h", "libprof/unwind/", "arch/"),
    "render": ("render/", "libprof/profile/lookup.h", "libprof/fnv.h"),
    "libprof/pprof": ("libprof/pprof/", "libprof/profile/lookup.h", "libprof/fnv.h"),
    "libprof/waits": ("libprof/waits/", "libprof/procfs.h", "libprof/profile/lookup.h",
                      "libprof/unwind/unwind.h", "libprof/wire.h", "libprof/fnv.h", "arch/"),
    "libprof/profile": ("libprof/profile/", "libprof/flameprof_profile.h", "libprof/wire.h",
                        "libprof/fnv.h"),
    # The library's layers, each above those before it. The sampler and preload/ do not include
    # stubs, ticks and stacks of virtual machines, which register with the sampler instead.
    "libprof/unwind": ("libprof/unwind/", "libprof/wire.h", "arch/"),
    "libprof/runtime": ("libprof/runtime/", "libprof/unwind/unwind.h", "libprof/wire.h", "arch/"),
    "libprof/sampler": ("libprof/sampler/", "libprof/runtime/", "libprof/unwind/", *GUEST),
    "libprof/trampoline": ("libprof/trampoline/", "libprof/sampler/", "libprof/unwind/", *GUEST),
    "libprof/interrupt": ("libprof/interrupt/", "libprof/trampoline/", "libprof/sampler/", *GUEST),
    "libprof/vmstack": ("libprof/vmstack/", "libprof/interrupt/", "libprof/trampoline/",
                        "libprof/sampler/", *GUEST),
    "libprof/aggregator": ("libprof/aggregator/", "libprof/sampler/", "libprof/profile/",
                           "libprof/pprof/", "libprof/waits/wait_leaf.h", "libprof/follow_links.h",
                           *GUEST),
    "libprof/preload": ("libprof/preload/", "libprof/sampler/", "libprof/unwind/", *GUEST),
    "libprof": ("libprof/", "arch/"),
    "arch": ("arch/",),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Headers that are found by the include path, or made by the build.
CHOSEN = re.compile(r"^arch_\w+\.h$")
# Public headers are installed into one folder, so they include each other by bare name.
PUBLIC = re.compile(r"^libprof/flameprof\w*\.h$")


def owner_of(path):
    """Return the innermost folder that has a rule for @path."""
    return max((folder for folder in ALLOWED if path.startswith(f"{folder}/")), key=len)


def check(report, path, number, quote, name):
    # The Makefile makes this file in the build folder.
    if name.endswith(".inc"):
        return
    if quote == "<":
        if name.startswith(tuple(f"{f}/" for f in ALLOWED)) or CHOSEN.match(name):
            if not (CHOSEN.match(name) and owner_of(path) in ("arch", "libprof")):
                report.error(path, number, f"our own header {name} is included with <>")
        return
    if PUBLIC.match(path):
        if not PUBLIC.match(f"libprof/{name}"):
            report.error(path, number, f"is installed and includes {name}, which is not")
    elif not os.path.exists(os.path.join(tree.ROOT, name)):
        report.error(path, number, f"{name} is not a path from the root")
    elif not name.startswith(ALLOWED[owner_of(path)]):
        report.error(path, number, f"{owner_of(path)}/ may not include {name}")


def main():
    report = tree.Report()
    roots = {folder.split("/")[0] for folder in ALLOWED}
    for path in tree.files(*roots, suffixes=(".c", ".h", ".S", ".def")):
        for number, line in enumerate(tree.lines(path), 1):
            match = INCLUDE.match(line)
            if match:
                check(report, path, number, *match.groups())
    report.done()


if __name__ == "__main__":
    main()
