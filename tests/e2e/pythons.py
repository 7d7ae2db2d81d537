# SPDX-License-Identifier: MIT
#
# What the tests of --jit=python share: the Python under test, and its folded stacks by function.
import os
import pathlib
import re

import pytest

import profiled

PYTHON = "/usr/bin/python3.11"
EXTENSION = profiled.BUILD / "libflameprof-python3.11.so"

needs_names = pytest.mark.skipif(
    not (os.path.exists(PYTHON) and EXTENSION.exists()),
    reason="no CPython 3.11, or its headers (python3-dev) were not there when this was built")

# "qualified name (file:line)"
FUNCTION = re.compile(r"^(.+) \(([^()]*):(\d+)\)$")


def functions(stack):
    """The Python functions of a stack, outermost first: (name, file)."""
    return [match.group(1, 2) for match in map(FUNCTION.match, stack) if match]


def is_part(wanted, stack):
    """Are @wanted names in @stack in that order, perhaps with others between?"""
    names = iter(name for name, _ in functions(stack))
    return all(name in names for name in wanted)


def weight_of(folded, *wanted):
    """The weight of all stacks with the names @wanted in that order."""
    return folded.where(lambda stack: is_part(wanted, stack))


def script(folder, text, name="script.py"):
    path = pathlib.Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def profile(folder, *words, options=(), clock_hz=300, python=PYTHON, env=None):
    """
    Run @words by Python under flamerun --jit=python. The rate is one at which a full ring lasts for
    seconds: on a machine with much else to do nothing is dropped.
    """
    return profiled.profile(folder, python, *words, clock_hz=clock_hz,
                            options=["--jit=python", *options], env=env)
