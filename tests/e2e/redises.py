# SPDX-License-Identifier: MIT
#
# redis from Debian's package redis-tools, because the package redis-server would start a daemon.
# Server and benchmark are one binary, which acts according to the name by which it is called.
import pathlib
import shutil

import pytest

BENCHMARK = shutil.which("redis-benchmark")
PROGRAM = shutil.which("redis-check-rdb")

needs_redis = pytest.mark.skipif(not (BENCHMARK and PROGRAM), reason="no redis-tools")


def server(folder):
    """The server's path: a link in @folder."""
    link = pathlib.Path(folder) / "redis-server"
    if not link.exists():
        link.symlink_to(PROGRAM)
    return link
