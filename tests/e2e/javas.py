# SPDX-License-Identifier: MIT
#
# The HotSpot under test: the java in the PATH, or of TEST_JAVA, if it is 17, with its javac.
import os
import re
import shutil
import subprocess

import pytest

JAVA = os.environ.get("TEST_JAVA") or next((path for path in (
    "/usr/lib/jvm/java-17-openjdk-amd64/bin/java", shutil.which("java")) if path and
    os.path.exists(path)), None)
KNOWN = 17

# "class.method (file:line)"; without lines "class.method (file)"
FUNCTION = re.compile(r"^(\S+) \(([^():]*)(?::(\d+))?\)$")


def version():
    if not JAVA:
        return 0
    said = subprocess.run([JAVA, "-version"], stderr=subprocess.PIPE, text=True, check=True).stderr
    found = re.search(r'version "(\d+)', said)
    return int(found[1]) if found else 0


def compile_into(folder, source):
    """Returns the folder, or skips and says why there is nothing to be compiled."""
    if version() != KNOWN:
        pytest.skip(f"no java {KNOWN}")
    javac = os.path.join(os.path.dirname(os.path.realpath(JAVA)), "javac")
    if not os.path.exists(javac):
        pytest.skip("no javac beside java")
    subprocess.run([javac, "-d", folder, source], check=True)
    return folder
