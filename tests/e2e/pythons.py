# SPDX-License-Identifier: MIT
#
# The Python versions under test, and folded stacks by Python function.
import os
import pathlib
import pwd
import re
import subprocess

import pytest

import profiled

# The distribution's Python, by its real path, which contains the version.
PYTHON = os.path.realpath("/usr/bin/python3")


def version_of(python):
    """The version of @python, as (3, 12)."""
    said = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    return tuple(map(int, said.split()))


# All CPython versions that are installed, oldest first: the distribution's, and those of pyenv in
# the user's home. $HOME is not used, because it is a folder of the tests.
HOME = pathlib.Path(pwd.getpwuid(os.getuid()).pw_dir)
ALL = sorted((str(path) for path in (*pathlib.Path("/usr/bin").glob("python3.*"),
                                     *HOME.glob(".pyenv/versions/3.*/bin/python3"))
              if re.search(r"/python3(\.\d+)?$", str(path))), key=version_of)


def known():
    """The paths of the Pythons whose functions flamerun can name."""
    return [path for path in ALL if (3, 8) <= version_of(path) <= (3, 15)]


needs_names = pytest.mark.skipif(PYTHON not in known(), reason="no CPython whose functions have names")

# "qualified name (file:line)"
FUNCTION = re.compile(r"^(.+) \(([^()]*):(\d+)\)$")


def functions(stack):
    """(name, file) of the Python functions in a stack, outermost first."""
    return [match.group(1, 2) for match in map(FUNCTION.match, stack) if match]


def is_part(wanted, stack):
    """
    Returns whether the names @wanted are in @stack in this order, possibly with others between
    them.
    """
    names = iter(name for name, _ in functions(stack))
    return all(name in names for name in wanted)


def weight_of(folded, *wanted):
    """The weight of all stacks that have the names @wanted in this order."""
    return folded.where(lambda stack: is_part(wanted, stack))


def script(folder, text, name="script.py"):
    path = pathlib.Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def profile(folder, *words, options=(), clock_hz=300, python=PYTHON, env=None):
    """Run Python with @words under flamerun, at a rate at which a busy machine drops no samples."""
    return profiled.profile(folder, python, *words, clock_hz=clock_hz,
                            options=list(options), env=env)
