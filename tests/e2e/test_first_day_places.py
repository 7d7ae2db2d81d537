# SPDX-License-Identifier: MIT
#
# Unusual environments of a first run: sanitizers, resource limits, and being the first process of a
# container.
import os
import re
import shutil
import subprocess
import tempfile

import pytest

pytestmark = [pytest.mark.sanitized, pytest.mark.confined]


def compiles(tmp_path, *flags):
    source = tmp_path / "hello.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("hello"); }\n')
    return not subprocess.run(["gcc", *flags, "-o", tmp_path / "hello", source],
                              stderr=subprocess.DEVNULL).returncode


def test_address_sanitizer(run, tmp_path):
    if not compiles(tmp_path, "-fsanitize=address"):
        pytest.skip("no AddressSanitizer")
    clean = {key: value for key, value in os.environ.items() if key != "ASAN_OPTIONS"}
    result = run("./hello", env=clean)
    assert (result.returncode, result.stdout) == (125, "")
    assert "ASAN_OPTIONS=verify_asan_link_order=0" in result.stderr.splitlines()[1]
    result = run("./hello", env=dict(clean, ASAN_OPTIONS="verify_asan_link_order=1"))
    assert result.returncode == 125
    result = run("./hello", env=dict(
        clean, ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0"))
    assert (result.returncode, result.stdout) == (0, "hello\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files that change ids")
def test_sudo_belongs_before_flamerun(flamerun_of_all, confined):
    # Unlike pytest's folders, this one can be made accessible to other users.
    with tempfile.TemporaryDirectory() as folder:
        if confined or os.statvfs(folder).f_flag & os.ST_NOSUID:
            pytest.skip("nothing changes ids here")
        os.chmod(folder, 0o755)
        for name, hint in (("sudo", "put it first: sudo flamerun ..."),
                           ("passwd", "run flamerun as ")):
            shutil.copy("/bin/true", f"{folder}/{name}")
            os.chown(f"{folder}/{name}", 65534, 65534)
            os.chmod(f"{folder}/{name}", 0o4755)
            result = subprocess.run([flamerun_of_all, "-o", "/dev/null", f"./{name}"],
                                    cwd=folder, user=65533, stderr=subprocess.PIPE, text=True,
                                    timeout=60)
            assert result.returncode == 125
            assert result.stderr.splitlines()[1].startswith(f"flamerun: hint: {hint}")


@pytest.mark.parametrize("sanitizer", ["thread", "undefined"])
def test_other_sanitizers_run(run, tmp_path, sanitizer):
    if not compiles(tmp_path, f"-fsanitize={sanitizer}"):
        pytest.skip("not installed")
    result = run("-q", "./hello")
    assert (result.returncode, result.stdout) == (0, "hello\n")


def test_a_limit_on_the_size_of_files(flamerun, tmp_path):
    result = subprocess.run(["bash", "-c", 'ulimit -f 1000; exec "$1" touch started', "-",
                             flamerun],
                            cwd=tmp_path, stderr=subprocess.PIPE, text=True, timeout=60)
    assert result.returncode == 125
    lines = result.stderr.splitlines()
    assert "File too large" in lines[0] and "ulimit -f unlimited" in lines[1]
    assert not (tmp_path / "started").exists()


CONTAINER = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc",
             "--kill-child"]
needs_container = pytest.mark.skipif(
    shutil.which("unshare") is None or
    subprocess.run([*CONTAINER, "true"], stderr=subprocess.DEVNULL).returncode != 0,
    reason="namespaces are refused")


@needs_container
def test_the_first_process_of_a_container_reaps_orphans(flamerun, tmp_path):
    # cat ends when all children have ended. They are reaped soon after that, but not immediately.
    script = ("{ for i in 1 2 3 4; do (sleep 0.1 &); done; } | cat\n"
              "for i in $(seq 100); do\n"
              "    states=$(cat /proc/[0-9]*/stat 2>/dev/null)\n"
              "    case $states in *') Z '*) sleep 0.1;; *) break;; esac\n"
              "done\n"
              "echo \"$states\"; exit 7")
    result = subprocess.run([*CONTAINER, flamerun, "-q", "-o", "c.svg", "--", "sh", "-c", script],
                            cwd=tmp_path, stdout=subprocess.PIPE, text=True, timeout=60)
    assert result.returncode == 7
    states = dict(re.findall(r"^(\d+) \(.*\) (\w)", result.stdout, re.M))
    assert states["1"] in "SRD", "flamerun"
    assert "Z" not in states.values()
    assert (tmp_path / "c.svg").exists()


@needs_container
def test_the_first_process_of_a_container_passes_term_on(flamerun, tmp_path):
    """`docker stop` sends a signal to process 1, which a signal without a handler does not end."""
    script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"
    for words, status in ((["sh", "-c", script], 9),
                          (["sh", "-c", "echo ready; exec sleep 60"], 128 + 15)):
        process = subprocess.Popen([*CONTAINER, flamerun, "-q", "-o", "t.svg", "--", *words],
                                   cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as children:
            first = int(children.read().split()[0])
        os.kill(first, 15)
        assert process.wait(60) == status
        process.stdout.close()
        assert (tmp_path / "t.svg").exists()
        (tmp_path / "t.svg").unlink()
