# SPDX-License-Identifier: MIT
"""The functions of the viewer that need no browser. node runs their tests, *.test.mjs."""

import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
NODE = shutil.which("node")


@pytest.mark.skipif(not NODE, reason="no node")
@pytest.mark.parametrize("path", sorted(HERE.glob("*.test.mjs")), ids=lambda path: path.name)
def test_functions(path):
    ran = subprocess.run([NODE, "--test", str(path)], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "# pass 0" not in ran.stdout
