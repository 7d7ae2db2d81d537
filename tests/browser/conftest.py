# SPDX-License-Identifier: MIT
"""
Fixtures: pictures drawn by the program under test (FLAMERUN, default build/flamerun), and the
browser that shows them (BROWSER: chromium or firefox).
"""

import os
import pathlib
import subprocess

import pytest

from firefox import Firefox
from webdriver import Browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAMERUN = os.environ.get("FLAMERUN", str(ROOT / "build" / "flamerun"))
OPEN = {"chromium": Browser, "firefox": Firefox}[os.environ.get("BROWSER", "chromium")]

# The stacks of 1,000 samples, so that all shares in the picture are known.
KNOWN = """\
main;parse;read_token;strcmp 100
main;parse;read_token 100
main;parse;std::map<Key, Value>::find 100
main;Compile;emit;strcmp 300
main;Compile;emit;write_out 200
main;Compile 100
start;[unsampled] 100
"""


def render(folded, output, *options):
    """Let the program draw stacks (bytes). Returns the output's path."""
    source = output.with_suffix(output.suffix + ".in.folded")
    source.write_bytes(folded)
    subprocess.run([FLAMERUN, "render", "-q", "--no-config", *options, str(source),
                    "-o", str(output)], check=True, timeout=60)
    return output


@pytest.fixture(scope="session")
def known(tmp_path_factory):
    return render(KNOWN.encode(), tmp_path_factory.mktemp("known") / "known.svg")


@pytest.fixture(scope="session")
def browser():
    with OPEN() as one:
        yield one


@pytest.fixture
def viewer(browser, known):
    """The known picture, newly opened and interactive, in a window of 1280 by 900 pixels."""
    browser.resize(1280, 900)
    browser.media(prefers_color_scheme="light", prefers_reduced_motion="no-preference")
    browser.open(known.as_uri())
    # The browser may take a moment to change the size of its window.
    browser.wait("window.flamerun && flamerun.boxes.some("
                 "b => b.row === 0 && b.right - b.left === 1280 - 48)")
    return browser
