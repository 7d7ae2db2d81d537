#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Check how much stack the sampling handler uses, added up along the deepest chain of calls in gcc's
# call graphs (-fcallgraph-info=su, beside the objects). There are two stacks: the stack on which
# the kernel delivers the signal, of which the handler may use little, and the stack on which the
# walk runs. A call through a pointer may reach every function that is stored in a field of that
# name, or that is listed here.
import collections
import os
import re

import tree

BUILD = os.environ.get("BUILD", "build")
SOURCE = "libprof/sampler/handler.c"
# The function with which each stack begins, and the macro (and its file) that gives the least size
# of the stack in bytes.
ROOTS = [("sampler_handler", "HANDLER_BYTES", "libprof/preload/signals.c"),
         ("libprof/sampler/handler.c:take_sample", "STACK_BYTES", "libprof/sampler/walk_stack.c")]
ASSEMBLY = {"arch_call_on_stack": 16}  # bytes it uses of the caller's stack
FOREIGN_BYTES = 256  # assumed for each function of libc; all of them are simple
CALL_BYTES = 8       # the return address
# {parameter that is called: functions that are passed for it}. The program's own handlers count as
# 0 bytes here.
PASSED = {"word": ["word_of"], "read_word": ["code_read_word", "read_code"], "read": [],
          "handler": [], "first": [], "sa_handler": [],
          "fn": ["take_nearer", "add_state", "enter_found", "add_thread"]}
NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "[^"]*?(\d+) bytes \(', re.M)
EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)" label: "(?:\./)?([^":]+):(\d+)', re.M)


def are_written():
    """Return whether the objects have call graphs. Neither clang nor gcc with -flto writes them."""
    with open(os.path.join(tree.ROOT, BUILD, "flags"), encoding="utf-8") as flags:
        return "-fcallgraph-info" in flags.read()


def is_safe(path):
    return path.endswith(".h") or "ASYNC-SIGNAL-SAFE" in "\n".join(tree.lines(path)[:3])


class Calls:
    """
    The call graph of everything that the handler may reach. gcc names static functions "path:name".
    """

    def __init__(self):
        self.frames, self.calls = {}, collections.defaultdict(set)
        self.named, self.put, self.deepest, self.unknown = (
            collections.defaultdict(set), collections.defaultdict(set), {}, {})
        self.lacking = []
        sources = [path for path in tree.files("libprof", "arch", suffixes=(".c", ".h")) if is_safe(path)]
        for path in sources:
            built = os.path.join(tree.ROOT, BUILD, "obj", path[:-2])
            if path.endswith(".c") and os.path.exists(built + ".ci"):
                self.read(built + ".ci")
            elif path.endswith(".c") and os.path.exists(built + ".o"):
                self.lacking.append(path)
        for path in sources:
            for field, name in re.findall(r"[.>](\w+) = &?(\w+)\b(?!\()", "\n".join(tree.lines(path))):
                self.put[field] |= self.named.get(name, set())

    def read(self, graph):
        with open(graph, encoding="utf-8") as file:
            text = file.read()
        for name, size in NODE.findall(text):
            self.frames[name] = int(size)
            self.named[re.split(r"[:.]", name.rpartition(":")[2])[0]].add(name)
        for caller, callee, path, line in EDGE.findall(text):
            self.calls[caller].add((path, int(line)) if callee == "__indirect_call" else callee)

    def targets(self, callee):
        """
        Return the functions that a call may reach. @callee is a name, or (path, line) of a call
        through a pointer.
        """
        if isinstance(callee, str):
            return {callee}
        names = re.findall(r"(\w+)\)?\(", tree.lines(callee[0])[callee[1] - 1])
        found = {target for name in names for target in self.put[name]}
        for name in names:
            for passed in PASSED.get(name, ()):
                found |= self.named[passed]
        if not found and not PASSED.keys() & set(names):
            self.unknown[callee] = names
        return found

    def depth(self, name, above=()):
        """
        Return (bytes, functions) of the deepest chain of calls from @name on, with no function
        twice.
        """
        if name in above:
            return 0, ()
        if name not in self.deepest:
            below = max((self.depth(target, (*above, name)) for callee in self.calls[name]
                         for target in self.targets(callee)), default=(0, ()))
            self.deepest[name] = (self.frames.get(name, ASSEMBLY.get(name, FOREIGN_BYTES)) + CALL_BYTES + below[0],
                                  (f"{name.rpartition(':')[2]} {self.frames.get(name, '')}", *below[1]))
        return self.deepest[name]


def main():
    report, calls = tree.Report(), Calls()
    if not are_written():
        print("  (no call graphs here: gcc writes them)")
        report.done()
    for path in calls.lacking:
        report.error(path, 1, "its object has no call graph beside it")
    for root, macro, path in ROOTS:
        room = int(re.search(rf"#define {macro}\s+(\d+)", "\n".join(tree.lines(path)))[1])
        depth, way = calls.depth(root)
        if depth > room or len(way) < 2:
            report.error(SOURCE, 1, f"{root} takes {depth} bytes of {room}: {', '.join(way)}")
        if os.environ.get("V"):
            print(depth, *way, sep="\n  ")
    for (path, line), names in sorted(calls.unknown.items()):
        report.error(path, line, f"who is called by {' or '.join(names) or 'this pointer'}?")
    report.done()


if __name__ == "__main__":
    main()
