# SPDX-License-Identifier: MIT
#
# The JVMs under test: every JDK in /usr/lib/jvm, by version, or only the java that TEST_JAVA names.
import glob
import os
import pathlib
import re
import subprocess

import pytest

KNOWN_MIN = 17

# "class.method (file:line)", or "class.method (file)" if the line is unknown.
FUNCTION = re.compile(r"^(\S+) \(([^():]*)(?::(\d+))?\)$")


def find_jdks():
    """{version: path of java} of the JDKs that also have a javac."""
    found = {}
    for java in [os.environ["TEST_JAVA"]] if "TEST_JAVA" in os.environ else sorted(
            glob.glob("/usr/lib/jvm/*/bin/java")):
        java = pathlib.Path(java).resolve()
        release = java.parents[1] / "release"
        if release.exists() and java.with_name("javac").exists():
            version = int(re.search(r'JAVA_VERSION="(\d+)', release.read_text())[1])
            if version >= KNOWN_MIN:
                found.setdefault(version, java)
    return found


JDKS = find_jdks()


def each(first=KNOWN_MIN):
    """Test parameters: the versions of the installed JDKs, from @first on."""
    return [version for version in sorted(JDKS) if version >= first] or [
        pytest.param(0, marks=pytest.mark.skip(f"no JDK {first} or later"))]


def compile_into(version, folder, *sources):
    subprocess.run([JDKS[version].with_name("javac"), "-nowarn", "-d", folder, *sources], check=True)
    return folder
