# SPDX-License-Identifier: MIT
#
# For a runtime of an unknown version, flamerun names the runtime, its version, the known versions,
# and a remedy. The test makes up the runtime, because a later flamerun may support any installed
# one.
import re
import subprocess

import pytest

import outside
from profiled import profile

NAME = "libpython3.99.so.1.0"
LIBRARY = """
char _PyRuntime[64] = "what no version has";

double spin(double value)
{
	for (int i = 0; i < 200000000; i++)
		value += i;
	return value;
}
"""
PROGRAM = """
double spin(double value);

int main(void)
{
	return spin(1) < 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unknown")
    (folder / "library.c").write_text(LIBRARY)
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-Wl,-soname," + NAME, "-o", NAME, "library.c"],
                   cwd=folder, check=True)
    subprocess.run(["gcc", "-O2", "-o", "program", "program.c", NAME, "-Wl,-rpath,$ORIGIN"],
                   cwd=folder, check=True)
    return folder / "program"


@pytest.mark.parametrize("way", ["inside", pytest.param(
    "outside", marks=pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here"))])
def test_an_unknown_version_is_named(tmp_path, program, way):
    run = profile(tmp_path, program, options=["--outside"] if way == "outside" else [])
    line, = (line for line in run.stderr.splitlines() if "Python" in line)
    assert re.fullmatch(r"flamerun: Python 3\.99 is not a version whose functions can be named "
                        r"\(known: 3\.8 to 3\.\d+\): python3 -X perf names them from 3\.12 on", line)
    assert run.status == 0 and run.folded.below("spin") > .9 * run.folded.total
