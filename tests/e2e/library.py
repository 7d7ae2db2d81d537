# SPDX-License-Identifier: MIT
#
# Compile programs that link libflameprof, in every way in which it can be linked, and run them.
# TEST_BUILD is the build folder; the Makefile sets it.
import os
import pathlib
import subprocess

import folded
import profiled

HEADERS = profiled.ROOT / "libprof"
SHARED = profiled.BUILD / "libflameprof.so.1"
ARCHIVE = profiled.BUILD / "libflameprof.a"
COMPILERS = {".c": "gcc", ".cc": "g++"}

# Ways to link the library: those in which distributions link programs, and those that the archive
# must support.
LINKS = {
    "shared": [f"-Wl,-rpath,{profiled.BUILD}", SHARED],
    "archive": [ARCHIVE],
    "static": ["-static", "-Wl,--eh-frame-hdr", ARCHIVE],
    "static-pie": ["-static-pie", ARCHIVE],
}


def build(source, folder, flags=profiled.PLAIN, link="shared", compiler=None, output=None):
    """Build @source, a path or a target's name, into @folder. Returns the program's path."""
    source = pathlib.Path(source)
    if not source.is_absolute():
        source = profiled.TARGETS / source
    program = pathlib.Path(folder) / (output or source.stem)
    standard = ["-std=gnu11"] if source.suffix == ".c" and "-std=" not in " ".join(flags) else []
    command = (compiler or COMPILERS[source.suffix], *standard, "-D_GNU_SOURCE",
               f"-I{profiled.ROOT}", f"-I{HEADERS}", *flags, source, *LINKS[link], "-lpthread")
    # Programs whose sources are in a test's own folder must not be shared with other tests.
    profiled.compile_once(command, program, source.parent == profiled.TARGETS)
    return program


def plugin(folder, text):
    """
    Compile a plugin from @text. The plugin contains the archive and exports none of its symbols.
    """
    flags = (*profiled.PLAIN, "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,--exclude-libs,ALL")
    return build(write(folder, "plugin.c", text), folder, flags=flags, link="archive",
                 output="plugin.so")


def write(folder, name, text):
    """Write @text to the source file @name in @folder."""
    path = pathlib.Path(folder) / name
    path.write_text(text)
    return path


def environment(**more):
    """
    The environment of the tests, with the flamerun under test in PATH and without settings of
    flamerun.
    """
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("FLAMERUN_", "LD_PRELOAD"))}
    env["PATH"] = f"{profiled.BUILD}:{env['PATH']}"
    return {**env, **more}


def run(*command, cwd, env=None, status=0, timeout=120):
    """Run a program in @cwd. It must end with @status and print nothing to stderr."""
    result = subprocess.run([str(word) for word in command], cwd=cwd, env=env or environment(),
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, timeout=timeout, check=False)
    assert result.returncode == status, (result.returncode, result.stdout, result.stderr)
    assert result.stderr == ""
    return result


def said(result):
    """
    {name: value} of the lines "name value" of stdout. If a name occurs twice, the last line counts.
    """
    pairs = [line.split() for line in result.stdout.splitlines()]
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}


def stacks(path):
    return folded.Folded(pathlib.Path(path).read_text(errors="surrogateescape"))
