#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Check what libflameprof requires of the program that loads it, as read from the built objects. The
# library may need only libc, have no thread-local storage except a counter for generated code, have
# no stack protector, and export interposers unversioned and flameprof_* under FLAMEPROF_1. Files
# marked ASYNC-SIGNAL-SAFE may not call functions that could lock, or that the dynamic linker would
# look up during the call.
import functools
import glob
import os
import re
import subprocess
import sys

import tree

BUILD = os.path.join(tree.ROOT, os.environ.get("BUILD", "build"))
LIBRARY = os.path.join(BUILD, "libflameprof.so.1")

NEEDED = re.compile(r"^(libc\.so\.6|ld-linux[-\w]*\.so\.\d)$")
# Functions of libc that take no lock, are async-signal-safe and do not set errno. _dl_find_object:
# safe according to the glibc manual. clock_gettime: in the vDSO, on POSIX's list, and does not fail
# for the clocks used. getauxval: a loop over memory; sets errno only for entries that every kernel
# provides. pthread_self: on POSIX's list; reads the thread pointer. The other names are the
# linker's. Functions that the compiler calls by itself, such as memcpy(), are the library's own.
SAFE = {
    "_dl_find_object", "clock_gettime", "getauxval", "pthread_self",
    "_GLOBAL_OFFSET_TABLE_", "_DYNAMIC", "__ehdr_start",
}
# Functions that a marked file calls only before sampling begins.
BEFORE_START = {
    "libprof/sampler/process.c": {"sigaction", "sigfillset", "__errno_location"},
}
# Symbols that gdb finds by name. They are versioned, so that a host's own JIT compiler does not
# bind to them.
GDB = {"__jit_debug_descriptor", "__jit_debug_register_code"}
# The only file with thread-local storage. The storage is static, because generated code reads it.
# DTPOFF32 occurs in debug information.
THREAD_LOCAL = "libprof/interrupt/interrupt.c"
THREAD_LOCAL_BYTES = 8
STATIC_TLS = re.compile(r"R_X86_64_(GOTTPOFF|TPOFF\w*|DTPOFF32)|"
                        r"R_AARCH64_TLS((IE|LE)_\w+|_DTPREL\w*)")
TLS = re.compile(r"R_(X86_64|AARCH64)_\w*(TLS|TPOFF|DTPMOD|DTPOFF|GOTTPOFF)\w*")


@functools.lru_cache(maxsize=None)
def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def symbols(path, *options):
    """Return (name, type letter) of each symbol that nm lists."""
    found = []
    for line in run("nm", "-P", *options, path).splitlines():
        fields = line.split()
        found.append((fields[0], fields[1]))
    return found


def sources():
    """Return {source: its object} for all sources from which the library is built."""
    pairs = {}
    for path in glob.glob(os.path.join(BUILD, "obj", "libprof", "**", "*.o"), recursive=True) + \
            glob.glob(os.path.join(BUILD, "obj", "arch", "**", "*.o"), recursive=True):
        stem = os.path.relpath(path, os.path.join(BUILD, "obj"))[:-2]
        for suffix in (".c", ".S"):
            if os.path.exists(os.path.join(tree.ROOT, stem + suffix)):
                pairs[stem + suffix] = path
    return pairs


def is_signal_safe(path):
    return any(line.startswith("/* ASYNC-SIGNAL-SAFE") for line in tree.lines(path)[:3])


def check_signal_safe(report, pairs):
    safe = {path: obj for path, obj in pairs.items() if is_signal_safe(path)}
    if not safe:
        report.error("libprof", 0, "no object of an ASYNC-SIGNAL-SAFE file was found")
    defined = set(SAFE)
    for obj in safe.values():
        defined |= {name for name, kind in symbols(obj, "-g") if kind not in "Uw"}
    # Reading and writing data takes no lock, so marked files may use data of unmarked files.
    for obj in pairs.values():
        defined |= {name for name, kind in symbols(obj, "-g") if kind in "DBRdbrC"}
    for path, obj in sorted(safe.items()):
        for name, kind in symbols(obj, "-u"):
            if name not in defined | BEFORE_START.get(path, set()):
                report.error(path, 1, f"is signal-safe and needs {name}")


def check_objects(report, pairs):
    for path, obj in sorted(pairs.items()):
        for match in set(m.group(0) for m in TLS.finditer(run("readelf", "-rW", obj))):
            if path == THREAD_LOCAL and STATIC_TLS.fullmatch(match):
                continue
            report.error(path, 1, f"uses thread-local storage ({match})")
        for name, _ in symbols(obj, "-u"):
            if name.startswith("__stack_chk"):
                report.error(path, 1, "is built with the stack protector")


def check_binding(report, pairs):
    """
    Check that no signal-safe code calls through a lazily bound symbol. At the first call the
    dynamic linker binds the symbol and saves all vector registers on the stack; handlers, and
    interposers that handlers call, have no room for this. The library's own names must be bound at
    link time.
    """
    found = re.findall(r"_(GLOB_DAT|JU?MP_SLOT?)\s+\w+\s+(\w+)", run("readelf", "-rW", LIBRARY))
    ours = {name.split("@")[0] for name, _ in symbols(LIBRARY, "-D", "--defined-only")}
    for name in ours & {name for _, name in found} - GDB:
        report.error(LIBRARY, 0, f"calls its own {name} by way of the host")
    late = {name for kind, name in found if kind != "GLOB_DAT"}
    if re.search(r"FLAGS.*\bNOW\b", run("readelf", "-dW", LIBRARY)):
        return
    for path, obj in sorted(pairs.items()):
        if path.startswith("libprof/preload/") or is_signal_safe(path):
            for name in late & {name for name, _ in symbols(obj, "-u")}:
                report.error(path, 1, f"calls {name}, which would be looked up in the call")


def check_dynamic(report):
    text = run("readelf", "-dW", LIBRARY)
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
        if not NEEDED.match(name):
            report.error(LIBRARY, 0, f"needs {name}")
    if "[libflameprof.so.1]" not in text:
        report.error(LIBRARY, 0, "its soname is not libflameprof.so.1")
    if not re.search(r"FLAGS.*NODELETE", text):
        report.error(LIBRARY, 0, "is not linked with -z nodelete")
    headers = run("readelf", "-lW", LIBRARY)
    segments = re.findall(r"^\s+TLS(?:\s+0x\w+){4}\s+(0x\w+)", headers, re.M)
    if [int(size, 16) for size in segments] != [THREAD_LOCAL_BYTES]:
        report.error(LIBRARY, 0, f"has thread-local segments of {segments} bytes")
    if re.search(r"GNU_STACK.*E", headers):
        report.error(LIBRARY, 0, "asks for an executable stack")


def check_exports(report):
    libc = {name.split("@")[0] for name, kind in symbols(libc_path(), "-D") if kind not in "Uwv"}
    for name, kind in symbols(LIBRARY, "-D", "--defined-only"):
        base, _, version = name.partition("@")
        if base.startswith("flameprof_") or base in GDB:
            if version.strip("@") != "FLAMEPROF_1":
                report.error(LIBRARY, 0, f"exports {base} without its version")
        elif kind == "A":
            continue
        elif version:
            # A program's reference to pthread_create@GLIBC_2.34 would not bind to this symbol.
            report.error(LIBRARY, 0, f"exports {base} with version {version}: never called")
        elif base not in libc:
            report.error(LIBRARY, 0, f"exports {base}, which is neither ours nor libc's")


def libc_path():
    for line in run("ldd", "/bin/sh").splitlines():
        if "libc.so.6" in line:
            return line.split("=>")[1].split()[0]
    raise FileNotFoundError("libc.so.6")


def main():
    report = tree.Report()
    if not os.path.exists(LIBRARY):
        print(f"{LIBRARY} is not built: make lint builds it")
        sys.exit(1)
    pairs = sources()
    check_signal_safe(report, pairs)
    check_objects(report, pairs)
    check_binding(report, pairs)
    check_dynamic(report)
    check_exports(report)
    report.done()


if __name__ == "__main__":
    main()
