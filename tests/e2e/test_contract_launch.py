# SPDX-License-Identifier: MIT
#
# The program inherits everything from flamerun unchanged, wherever flamerun is installed. Programs
# that cannot load the library are refused before they start.
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess

import pytest

import folded
import outside
from profiled import LOADER, compile_target, profile

pytestmark = pytest.mark.confined

IN_BOTH_WAYS = pytest.mark.parametrize("way", [(), pytest.param(("--outside",), marks=pytest.mark.skipif(
    outside.IS_CONFINED, reason="nobody may trace here"))], ids=["inside", "outside"])


def alone_and_profiled(flamerun, folder, *command, **options):
    """The standard output of @command without flamerun and with it."""
    texts = []
    for words in (command, (flamerun, "-q", "--", *command)):
        texts.append(subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, text=True,
                                    timeout=60,
                                    **options).stdout)
    return texts


@pytest.mark.sanitized
def test_the_environment(flamerun, tmp_path):
    alone, mine = alone_and_profiled(flamerun, tmp_path, "env",
                                     env={"A": "1", "PATH": os.environ["PATH"]})
    more = set(mine.splitlines()) - set(alone.splitlines())
    assert sorted(line.split("=")[0] for line in more) == ["FLAMERUN_CHANNEL", "LD_PRELOAD"]
    assert set(alone.splitlines()) <= set(mine.splitlines())


@pytest.mark.sanitized
def test_an_existing_preload_is_kept(run, tmp_path):
    # flamerun built with AddressSanitizer refuses to start if other libraries are loaded before it.
    result = run("-q", "--", "env", env=dict(os.environ, LD_PRELOAD="libm.so.6 libdl.so.2",
                                             ASAN_OPTIONS="verify_asan_link_order=0"))
    preload = [line for line in result.stdout.splitlines() if line.startswith("LD_PRELOAD=")]
    assert len(preload) == 1
    assert preload[0].startswith("LD_PRELOAD=libm.so.6 libdl.so.2:/")
    assert preload[0].endswith("/libflameprof.so.1")


@pytest.mark.sanitized
def test_limits_group_and_name(flamerun, tmp_path):
    for command in (["sh", "-c", "ulimit -a; ulimit -Ha; umask; pwd"],
                    ["sh", "-c", "cut -d' ' -f5,6 /proc/$$/stat"], ["sh", "-c", "nice"]):
        alone, mine = alone_and_profiled(flamerun, tmp_path, *command)
        assert mine == alone
    program = "import sys; print(open('/proc/self/cmdline').read().split(chr(0))[:2], sys.argv)"
    alone, mine = alone_and_profiled(flamerun, tmp_path, "/usr/bin/python3", "-c", program, "--",
                                     "-o")
    assert mine == alone


def open_descriptors(flamerun, folder, redirections):
    """
    The descriptors that are open in the shell, alone and under flamerun. The output goes to
    descriptor 9.
    """
    texts = []
    for prefix in ([], [flamerun, "-q", "--"]):
        script = f'exec "$@" 9>listing {redirections}'
        inner = ("/usr/bin/python3", "-S", "-E", "-c",
                 "import os\nfor i in range(64):\n try: os.fstat(i)\n except OSError: continue\n"
                 " os.write(9, b'%d %s\\n' % (i, os.readlink(b'/proc/self/fd/%d' % i)))")
        subprocess.run(["sh", "-c", script, "sh", *prefix, *inner], cwd=folder, timeout=60,
                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        texts.append((folder / "listing").read_text())
        assert texts[-1]
    return texts


@pytest.mark.sanitized
@pytest.mark.parametrize("redirections",
                         ["", "0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-", "3</dev/null 7>&1",
                          "0<&- 7>&1"])
def test_descriptors(flamerun, tmp_path, redirections):
    alone, mine = open_descriptors(flamerun, tmp_path, redirections)
    assert mine == alone
    assert (tmp_path / "flame.svg").exists()


@pytest.mark.sanitized
def test_a_closed_stderr_is_not_taken_for_a_file_of_ours(flamerun, tmp_path):
    """
    If stderr is closed, a file may get its descriptor number. No message may be written to this
    file.
    """
    (tmp_path / "in.folded").write_text("main;work 3\n")
    os.mkfifo(tmp_path / "fifo.folded")
    reader = os.open(tmp_path / "fifo.folded", os.O_RDONLY | os.O_NONBLOCK)
    subprocess.run(["sh", "-c", '"$1" render in.folded -o fifo.folded 0<&- 2>&-', "sh", flamerun],
                   cwd=tmp_path, check=True)
    assert os.read(reader, 4096) == b"main;work 3\n"
    os.close(reader)


@pytest.mark.sanitized
def test_scripts(run, tmp_path):
    def put(name, text):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    put("plain", "#!/bin/sh\necho $0 $*\n")
    put("inner", "#!/bin/sh -e\necho inner $*\n")
    put("nested", f"#!{tmp_path}/inner word\n")
    put("by-env", "#!/usr/bin/env python3\nimport sys; print(sys.argv)\n")
    put("by-env-s", "#!/usr/bin/env -S python3 -B\nimport sys; print(sys.argv)\n")
    put("text", "echo text $*\n")
    for name in ("plain", "nested", "by-env", "by-env-s", "text"):
        alone = subprocess.run(["env", f"./{name}", "a"], cwd=tmp_path, stdout=subprocess.PIPE,
                               text=True)
        result = run("-q", "--", f"./{name}", "a")
        assert alone.stdout and result.stdout == alone.stdout
        assert result.returncode == 0


def install(flamerun, folder, layout):
    """Copy flamerun and its library to @folder, into one folder or into bin and lib."""
    library = pathlib.Path(flamerun).parent / "libflameprof.so.1"
    places = {"beside": ("", ""), "installed": ("bin", "lib")}[layout]
    for source, place in zip((flamerun, library), places):
        (folder / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / place)
    return folder / places[0] / "flamerun"


@pytest.mark.parametrize("layout", ["beside", "installed"])
@pytest.mark.parametrize("name", ["plain", "with blank", "with:colon", "with $LIB", "\u00fc\n\""])
def test_install_paths(flamerun, tmp_path, name, layout):
    program = install(flamerun, tmp_path / name, layout)
    out = tmp_path / "out"
    out.mkdir()
    environment = dict(os.environ)
    environment.pop("XDG_RUNTIME_DIR", None)
    spin = ("import os, time\nprint(os.environ['LD_PRELOAD'], end='')\nt = time.process_time()\n"
            "while time.process_time() - t < 0.3: pass")
    result = subprocess.run([program, "-o", "x.folded", "--", "/usr/bin/python3", "-S", "-c",
                             spin], cwd=out, timeout=60,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment)
    assert result.returncode == 0
    assert "ld.so" not in result.stderr and "did not start" not in result.stderr
    assert (out / "x.folded").read_text().strip(), result.stderr
    # If ld.so would split the library's path (at a blank, colon or dollar sign), the library is
    # loaded through a link in /tmp, which must be removed.
    folder = pathlib.Path(result.stdout).parent
    assert (folder.parent == pathlib.Path("/tmp")) == bool(set(name) & set(" :$"))
    assert folder.parent != pathlib.Path("/tmp") or not folder.exists()


@pytest.mark.sanitized
def test_a_missing_library(flamerun, tmp_path):
    alone = shutil.copy(flamerun, tmp_path)
    result = subprocess.run([alone, "--", "touch", "started"], cwd=tmp_path,
                            stderr=subprocess.PIPE, text=True)
    if result.returncode == 0:
        pytest.skip("one is installed in the system")
    assert result.returncode == 125
    assert result.stderr.startswith("flamerun: cannot find libflameprof.so.1\nflamerun: hint: looked in ")
    assert not (tmp_path / "started").exists()


def refuse(run, program, because, *arguments):
    result = run("--", program, *arguments)
    assert result.returncode == 125, result.stderr
    first, hint = result.stderr.splitlines()
    assert because in first
    assert hint.startswith("flamerun: hint: ")


@pytest.mark.sanitized
def test_static_programs(run, tmp_path):
    """Static programs cannot load the library. flamerun samples them from outside and says so."""
    source = tmp_path / "static.c"
    source.write_text("#include <stdio.h>\nint main(void) { return !fopen(\"started\", \"w\"); }\n")
    for name, flag in (("static", "-static"), ("static-pie", "-static-pie")):
        if subprocess.run(["gcc", flag, "-o", tmp_path / name, source]).returncode:
            pytest.skip("no static C library here")
        result = run("--", f"./{name}")
        assert f"'./{name}' is statically linked" in result.stderr.splitlines()[0]
        if os.environ.get("TEST_CONFINED"):
            assert result.returncode == 125 and "does not let us trace" in result.stderr
            assert not (tmp_path / "started").exists()
            continue
        assert result.returncode == 0
        (tmp_path / "started").unlink()
    if os.environ.get("TEST_CONFINED"):
        return
    (tmp_path / "script").write_text("#!./static\n")
    (tmp_path / "script").chmod(0o755)
    result = run("--", "./script")
    assert result.returncode == 0 and "'./static' is statically linked" in result.stderr
    assert (tmp_path / "started").exists()


def damage(tmp_path, name, offset, value):
    """Make a copy of a real program with one field of its ELF header changed."""
    data = bytearray(pathlib.Path("/bin/true").read_bytes())
    data[offset:offset + len(value)] = value
    (tmp_path / name).write_bytes(data)
    (tmp_path / name).chmod(0o755)


@pytest.mark.sanitized
def test_other_machines_and_word_sizes(run, tmp_path):
    damage(tmp_path, "narrow", 4, b"\x01")
    refuse(run, "./narrow", "'./narrow' is a 32-bit program")
    damage(tmp_path, "riscv", 18, struct.pack("<H", 243))
    refuse(run, "./riscv", "'./riscv' is made for riscv")
    damage(tmp_path, "big", 5, b"\x02")
    refuse(run, "./big", "byte order")


@pytest.mark.sanitized
def test_another_c_library(run, tmp_path):
    data = pathlib.Path("/bin/true").read_bytes()
    start = data.index(LOADER.encode() + b"\0")
    end = data.index(b"\0", start)
    musl = b"/lib/ld-musl-x86_64.so.1"
    data = data[:start] + musl.ljust(end - start, b"\0") + data[end:]
    (tmp_path / "musl").write_bytes(data)
    (tmp_path / "musl").chmod(0o755)
    result = run("--", "./musl")
    said = "'./musl' uses another C library than glibc (ld-musl-x86_64.so.1): it is sampled from outside"
    assert f"flamerun: {said}\n" in result.stderr
    # The status depends on the machine: the loader may be missing here, and tracing may be
    # forbidden.
    assert result.returncode in (0, 125, 127)


@pytest.mark.sanitized
def test_damaged_programs(run, tmp_path):
    damage(tmp_path, "object", 16, struct.pack("<H", 1))
    (tmp_path / "cut").write_bytes(pathlib.Path("/bin/true").read_bytes()[:40])
    (tmp_path / "cut").chmod(0o755)
    for name in ("object", "cut"):
        result = run("--", f"./{name}")
        assert result.returncode == 126
        assert result.stderr == f"flamerun: cannot run './{name}': Exec format error\n"


@pytest.mark.sanitized
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files that change ids")
def test_set_id_programs(run, tmp_path, confined):
    if confined or os.statvfs(tmp_path).f_flag & os.ST_NOSUID:
        pytest.skip("nothing changes ids here")
    for name, mode, because in (("setuid", 0o4755, "is set-user-id"),
                                ("setgid", 0o2755, "is set-group-id")):
        shutil.copy("/bin/true", tmp_path / name)
        os.chown(tmp_path / name, 65534, 65534)
        os.chmod(tmp_path / name, mode)
        if os.geteuid():
            refuse(run, f"./{name}", because)
        else:
            result = run("--", f"./{name}")
            assert result.returncode == 0
            assert because in result.stderr and "sampled from outside" in result.stderr
    shutil.copy("/bin/true", tmp_path / "own")
    os.chmod(tmp_path / "own", 0o6755)
    assert run("-q", "--", "./own").returncode == 0, "its ids are ours: nothing changes"


@pytest.mark.sanitized
def test_the_loader_as_a_program(run):
    assert run("-q", "--", LOADER, "/bin/sh", "-c", "exit 4").returncode == 4


@IN_BOTH_WAYS
@pytest.mark.parametrize("before", [(LOADER,), ("proot",)], ids=["loader", "proot"])
def test_a_program_that_another_mapped_has_its_names(tmp_path, before, way):
    """Functions have names although /proc/PID/exe is the loader, which has mapped the program."""
    if not shutil.which(before[0]):
        pytest.skip("not installed")
    program = compile_target("split.c", tmp_path)
    run = profile(tmp_path, *before, program, "500", options=way,
                  env={**os.environ, "PROOT_NO_SECCOMP": "1"})
    if run.status and before[0] == "proot":
        pytest.skip("it does not run under a tracer")
    assert run.status == 0
    below = run.folded.below("light") + run.folded.below("heavy")
    due = run.truth_s * run.rate_hz * run.looks
    assert below == pytest.approx(due, rel=.5, abs=5), run.folded.describe() + run.stderr


def test_another_c_librarys_loader_below_a_shell(tmp_path):
    """
    A child of another C library starts, although the library in LD_PRELOAD would keep it from
    starting.
    """
    loader = f"/lib/ld-musl-{os.uname().machine}.so.1"
    if not os.path.exists(loader):
        pytest.skip("no musl")
    program = tmp_path / "program"
    if subprocess.run(["musl-gcc", "-o", program, "-x", "c", "-"], check=False, text=True,
                      input="int main(void) { return 3; }").returncode:
        pytest.skip("no musl-gcc")
    run = profile(tmp_path, "sh", "-c", f"{loader} {program}; exit $?")
    assert run.status == 3
    assert "of another C library than glibc" in run.stderr


@IN_BOTH_WAYS
@pytest.mark.parametrize("date", ["@2020-01-01 00:00:00", "+10d x5"])
def test_flamerun_below_a_library_that_changes_the_time(flamerun, tmp_path, date, way):
    if not shutil.which("faketime"):
        pytest.skip("not installed")
    program = compile_target("split.c", tmp_path)
    out = tmp_path / "profile.folded"
    result = subprocess.run(["faketime", "-f", date, flamerun, "-v", "-o", out, *way, "--", program, "500"],
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                            check=True)
    # faketime also speeds up the clocks that the program reads.
    pace = 5 if "x5" in date else 1
    truth_s = sum(int(line.split()[1]) for line in result.stdout.splitlines()) / 1e9 / pace
    profile_of = folded.Folded(out.read_text())
    assert profile_of.below("main") >= .9 * profile_of.total, profile_of.describe()
    due, error = re.search(r"(\d+) due .* off by ([-+.0-9]+) %", result.stderr).groups()
    rate_hz = int(re.search(r"CPU time x (\d+) Hz", result.stderr)[1])
    assert int(due) / rate_hz == pytest.approx(truth_s, rel=.1, abs=.1), result.stderr
    assert abs(float(error)) < 20, result.stderr


@pytest.mark.sanitized
def test_a_program_that_never_connects(run, tmp_path):
    """If the loader ignores LD_PRELOAD, flamerun does not wait for the library, and says so."""
    result = run("--", LOADER, "--list", "/bin/true")
    assert result.returncode == 0
    assert "flamerun: no samples: flamerun's library did not start in " in result.stderr
    assert ">0 samples " in (tmp_path / "flame.svg").read_text()


@pytest.mark.sanitized
def test_descendants_that_go_on(run):
    result = run("--", "sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!; sleep 0.2; exit 3")
    os.kill(int(result.stdout), signal.SIGKILL)  # fails if it does not exist
    assert result.returncode == 3
    assert "flamerun: 1 process it started still runs" in result.stderr
