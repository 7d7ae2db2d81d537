# SPDX-License-Identifier: MIT
#
# flamerun's exit status is the program's. Each case is compared with timeout(1).
import os
import signal
import subprocess

import pytest

pytestmark = pytest.mark.confined

ENDS = {
    "success": ["true"],
    "failure": ["false"],
    "exit 3": ["sh", "-c", "exit 3"],
    "exit 124": ["sh", "-c", "exit 124"],
    "exit 255": ["sh", "-c", "exit 255"],
    "arguments": ["sh", "-c", "exit $#", "sh", "-a", "--", "b c", ""],
    **{f"killed by {name}": ["sh", "-c", f"kill -{name} $$"]
       for name in ("HUP", "INT", "QUIT", "KILL", "TERM", "SEGV", "ABRT", "USR1", "PIPE", "ALRM",
                    "XFSZ", "40")},
    "not found": ["no-such-program-anywhere"],
    "not found by path": ["./no-such-program"],
    "empty name": [""],
    "below a file": ["./plain/x"],
    "not executable": ["./plain"],
    "folder": ["./folder"],
    "loop of links": ["./loop"],
    "script": ["./script"],
    "script whose interpreter is missing": ["./orphan"],
    "script in PATH": ["script"],
    "text without #!": ["./text", "4"],
    "empty file": ["./empty"],
    "interpreters too deep": ["./s1"],
}


@pytest.fixture
def programs(tmp_path):
    def put(name, text, mode=0o755):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)

    put("plain", "x\n", 0o644)
    put("script", "#!/bin/sh\nexit 6\n")
    put("orphan", "#!/no/such/interpreter\n")
    put("text", "exit $1\n")
    put("empty", "")
    for i in range(1, 8):
        put(f"s{i}", f"#!./s{i + 1}\n")
    put("s8", "#!/bin/sh\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    return dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.parametrize("end", ENDS)
def test_status_is_as_timeout_has_it(run, programs, tmp_path, end):
    model = subprocess.run(["timeout", "1000", *ENDS[end]], cwd=tmp_path, env=programs,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    mine = run("-q", "--", *ENDS[end], env=programs)
    assert mine.returncode == model.returncode
    started = model.returncode not in (126, 127)
    assert (tmp_path / "flame.svg").exists() == started, "a picture if and only if something ran"
    assert mine.stderr.startswith("flamerun: cannot run '") != started


@pytest.mark.sanitized
def test_no_core_file_of_flamerun(flamerun, tmp_path):
    subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", flamerun, "-q", "--", "sh",
                    "-c",
                    "ulimit -c 0; kill -SEGV $$"], cwd=tmp_path)
    assert os.listdir(tmp_path) == ["flame.svg"]


@pytest.mark.sanitized
def test_failing_to_draw_does_not_change_the_status(run):
    result = run("-o", "/dev/full", "--", "sh", "-c", "exit 3")
    assert result.returncode == 3
    assert "cannot write '/dev/full': No space left on device" in result.stderr
    result = run("-o", "/dev/full", "--", "sh", "-c", "kill -TERM $$")
    assert result.returncode == -signal.SIGTERM
