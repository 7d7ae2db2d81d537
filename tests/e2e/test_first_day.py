# SPDX-License-Identifier: MIT
#
# The first attempts of a new user: the commands in README.md run unchanged, everything that it
# names exists, and mistakes get a helpful message.
import os
import re
import shlex
import subprocess
import time

import pytest

import outside
import profiled

README = (profiled.ROOT / "README.md").read_text()
BURN = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"


def readme_commands(start):
    """The indented lines of README.md that begin with this word."""
    lines = re.findall(r"^    (\S.*)$", README, re.M)
    return [line for line in lines if shlex.split(line, comments=True)[0] == start]


def option_names(flamerun):
    """All long and all short options, from the completion script."""
    script = subprocess.run([flamerun, "--completions", "fish"], text=True, check=True,
                            stdout=subprocess.PIPE).stdout
    return set(re.findall(r" -l ([\w-]+)", script)), set(re.findall(r" -s (\w)", script))


def put(path, text, mode=0o755):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture
def desk(tmp_path, flamerun):
    """Make a folder with all programs that README.md names, and the environment to run them in."""
    put(tmp_path / "server", f"#!/bin/sh\n{BURN}\n")
    put(tmp_path / "job", f"#!/bin/sh\ncat\n{BURN}\n")
    for name in "old", "new":
        put(tmp_path / name, f"#!/bin/sh\n{BURN}\n")
    put(tmp_path / "in", "some input\n")
    put(tmp_path / "job.py", "print(sum(i * i for i in range(1000000)))\n", 0o644)
    put(tmp_path / "Makefile", f"all: a b\na b:\n\t{BURN.replace('$', '$$')}\n", 0o644)
    put(tmp_path / "bin" / "browser", "#!/bin/sh\necho \"$1\" > opened.part && "
                                      "mv opened.part opened\n")
    os.symlink(flamerun, tmp_path / "bin" / "flamerun")
    return tmp_path, dict(os.environ, PATH=f"{tmp_path}/bin:/usr/bin:/bin",
                          BROWSER=str(tmp_path / "bin" / "browser"))


def wait_for(path, seconds=60):
    limit = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < limit, f"{path} does not come"
        time.sleep(.05)
    return path.read_text()


def test_the_commands_of_the_readme(desk):
    folder, env = desk
    commands = readme_commands("flamerun")
    assert len(commands) >= 5
    for command in commands:
        before = set(folder.iterdir())
        (folder / "flame.svg").unlink(missing_ok=True)
        result = subprocess.run(["sh", "-c", command], cwd=folder, env=env, text=True, timeout=100,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        assert result.returncode == 0, (command, result.stderr)
        written = re.findall(r"^flamerun: wrote '(.*)'$", result.stderr, re.M)
        words = shlex.split(command)
        wanted = [words[i + 1] for i, word in enumerate(words) if word == "-o"] or ["flame.svg"]
        assert len(written) == len(wanted), (command, result.stderr)
        for name, path in zip(wanted, written):
            assert "%" in name or path == name
            assert (folder / path).stat().st_size > 100
        assert set(folder.iterdir()) - before <= {folder / path for path in written} | {
            folder / name for name in ("out", "opened", "opened.part")}
        if "--open" in words:
            assert wait_for(folder / "opened").strip() == str(folder / written[0])
    assert (folder / "out").read_text() == "some input\n"


def test_the_makefile_has_the_readmes_targets():
    makefile = (profiled.ROOT / "Makefile").read_text()
    commands = readme_commands("make")
    assert len(commands) >= 3
    for command in commands:
        for word in shlex.split(command, comments=True)[1:]:
            if "=" in word:
                assert re.search(rf"^{word.split('=')[0]} *\?=", makefile, re.M), word
            else:
                assert re.search(rf"^{word}:", makefile, re.M), word


def test_a_half_sanitized_build_is_refused():
    """
    make refuses to build flamerun with ThreadSanitizer, because the library would be built without
    it.
    """
    result = subprocess.run(["make", "-n", "SAN=thread", "all"], cwd=profiled.ROOT, text=True,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert result.returncode == 2
    assert "make check-tsan" in result.stderr


@pytest.mark.parametrize("page", ["README.md", "man/flamerun.1"])
def test_every_option_that_is_named_exists(flamerun, page):
    text = (profiled.ROOT / page).read_text()
    longs, shorts = option_names(flamerun)
    # Remove options of other programs, the placeholder "--option", and srun's option --flamerun.
    text = re.sub(r"(node|java|\./server|docker run) [^`|\n]*", "", text)
    text = re.sub(r"-option[= ]|-flamerun=", "", text)
    if page.endswith(".1"):
        text = re.sub(r"^\.Ql .*$", "", text, flags=re.M)
        named = set(re.findall(r"\bFl -([a-z][\w-]+)", text))
        letters = set(re.findall(r"\bFl (\w)\b", text))
    else:
        named = set(re.findall(r"(?<![\w-])--([a-z][\w-]+)", text))
        letters = set(re.findall(r"(?<=`)-(\w)\b", text))
    assert named and letters
    assert not {name.removeprefix("no-") for name in named} - longs
    assert not letters - shorts


def test_the_readmes_files_exist():
    for name in re.findall(r"\]\(([\w/.-]+)\)|`([A-Z]+\.md|LICENSE)`", README):
        assert (profiled.ROOT / (name[0] or name[1])).is_file(), name
    assert len(README.splitlines()) <= 200


# Wrong commands of a new user: command line, exit status, and what the hint must say.
GUESSES = [
    ([], 125, r"flamerun --help"),
    (["--help-me"], 125, r"did you mean --help\?|flamerun --help"),
    (["help"], 127, r"flamerun --help"),
    (["zanyprogarm", "x"], 127, r"did you mean zanyprogram\?"),
    (["rendr", "x"], 127, r"did you mean render\?"),
    (["zanier"], 127, r"no folder of PATH has it"),
    (["cd", "/"], 127, r"sh -c 'cd \.\.\.'"),
    (["FOO=1", "ls"], 127, r"flamerun -- env FOO=1"),
    (["ls -l"], 127, r"flamerun -- sh -c 'ls -l'"),
    (["record", "ls"], 127, r"flamerun -- program"),
    (["job.py"], 127, r"flamerun -- python3 job\.py"),
    (["./job.py"], 126, r"flamerun -- python3 \./job\.py"),
    (["notes"], 127, r"if it is a shell script: flamerun -- sh notes"),
    (["./notes"], 126, r"if it is a shell script: flamerun -- sh \./notes"),
    (["./script.py"], 126, r"chmod \+x '\./script\.py', then run '\./script\.py'"),
    (["--", "--", "ls"], 127, r"behind '--' comes the program"),
    (["-o", "bin", "ls"], 125, r"-o 'bin/flame\.svg'"),
    (["-o", "none/", "ls"], 125, r"-o 'none/flame\.svg'"),
    (["script.py"], 127, r"chmod \+x 'script\.py', then run '\./script\.py'"),
    (["tool"], 127, r"not in PATH; to run the one here: '\./tool'"),
    (["./dos"], 127, r"ends as on Windows"),
    (["xqzzyx"], 127, r"no folder of PATH has it"),
    (["-F", "99", "ls"], 125, r"-r, --rate"),
    (["-p", "4194304"], 125, r"pgrep -l NAME"),
    (["-o", "x.jpg", "ls"], 125, r"\.svg \.png \.pdf"),
    (["-o", "no/such/x.svg", "ls"], 125, r"mkdir -p 'no/such'"),
    (["-o", "/proc/x.svg", "ls"], 125, r"-o /tmp/x\.svg"),
    (["-o", "-", "ls"], 125, r"/dev/fd/3"),
    (["render"], 125, r"flamerun render stacks\.folded"),
    (["render", "picture.svg"], 125, "folded stacks and pprof profiles of others"),
    (["render", "picture.png"], 125, r"-o run\.folded"),
]


@pytest.mark.sanitized
@pytest.mark.confined
@pytest.mark.parametrize("words, status, hint", GUESSES, ids=[" ".join(g[0]) for g in GUESSES])
def test_guesses(run, tmp_path, words, status, hint):
    put(tmp_path / "job.py", "import sys\n", 0o644)
    put(tmp_path / "script.py", "#!/usr/bin/env python3\n", 0o644)
    put(tmp_path / "notes", "echo\n", 0o644)
    put(tmp_path / "picture.svg", "<svg/>\n1 1\n", 0o644)
    put(tmp_path / "tool", "#!/bin/sh\n")
    put(tmp_path / "dos", "#!/bin/sh\r\necho\r\n")
    put(tmp_path / "bin" / "zanyprogram", "#!/bin/sh\n")
    put(tmp_path / "bin" / "zanie", "not to be executed\n", 0o644)
    before = sorted(tmp_path.iterdir())
    path = f"{os.environ['PATH']}:{tmp_path}/bin"
    result = run(*words, env=dict(os.environ, PATH=path))
    assert (result.returncode, result.stdout) == (status, "")
    lines = result.stderr.splitlines()
    assert len(lines) == 2 and lines[1].startswith("flamerun: hint: "), lines
    assert re.search(hint, lines[1]), lines
    assert sorted(tmp_path.iterdir()) == before, "nothing was run or written"


@pytest.mark.sanitized
def test_an_alias_is_named_as_one(run):
    for shell, hint in (("/bin/bash", "flamerun -- bash -ic 'll ...'"), ("/bin/dash", "PATH")):
        result = run("ll", env=dict(os.environ, SHELL=shell))
        assert result.returncode == 127
        assert hint in result.stderr.splitlines()[1]


@pytest.mark.sleeps
def test_a_program_that_sleeps(run, tmp_path):
    # Starting takes much less than a twentieth of this time, even on a slow machine.
    result = run("sleep", "1.5")
    assert result.returncode == 0
    assert re.search(r"^flamerun: waiting, all threads together: 1.\d+ s, most of it in clock_nanosleep, called by .* "
                     r"\(to see where: key w in the picture\)$", result.stderr, re.M), result.stderr
    assert (tmp_path / "flame.svg").exists()
    assert "hint" not in run("-q", "sleep", "0.1").stderr


@pytest.mark.sleeps
def test_a_program_that_mostly_sleeps(run):
    """
    The summary names the wait although there are enough samples, because they are only 1/20 of the
    time.
    """
    script = """if True:
        import time
        while time.process_time() < 0.15: pass
        time.sleep(2.5)"""
    for rate in ("97", "997"):
        result = run("-r", rate, "/usr/bin/python3", "-c", script)
        assert re.search(r"^flamerun: waiting, all threads together: 2.\d+ s, most of it in clock_nanosleep, called by .* "
                         r"\(to see where: key w in the picture\)$", result.stderr, re.M)


@pytest.mark.sanitized
def test_what_happens_after_the_duration_is_said(flamerun, tmp_path):
    os.mkfifo(tmp_path / "end")
    with outside.running(flamerun, "-r", "1", "-d", "0.2", "-o", "x.svg", "-o", "x.pdf", "--", "cat",
                         "end", cwd=tmp_path, stderr=subprocess.PIPE) as process:
        outside.wait_until((tmp_path / "x.pdf").exists)
        (tmp_path / "end").write_text("")
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said.splitlines()[-1] == "flamerun: sampling has ended; 'cat' continues"
    text = subprocess.run(["pdftotext", "x.pdf", "-"], cwd=tmp_path, stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    # At 1 Hz, the 1 ms that the program takes to start has a sample in 0.1 % of the runs, and the
    # 0.2 s that it waits in 20 %.
    assert ("no samples: " in text) == (re.search(r"(\d+) samples? at 1 Hz", text)[1] == "0")


@pytest.mark.sanitized
def test_a_program_that_ends_at_once(run):
    # The program uses more than a twentieth of the elapsed time, even on a busy machine, but has
    # fewer than 20 samples.
    burn = "import time\nwhile time.process_time() < 0.5: sum(range(2000000))"
    result = run("-r", "10", "python3", "-c", burn)
    assert result.returncode == 0
    assert re.search(r"^flamerun: hint: .*too little for 10 samples per second", result.stderr,
                     re.M), result.stderr


def test_a_tenth_of_a_second_is_something(run):
    """
    Twenty samples are due. The time that is credited at threads' ends must not reduce this number.
    """
    burn = """if True:
        import threading, time
        def work():
            while time.thread_time() < 0.0145: pass
        for _ in range(6):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        while time.process_time() < 0.107: pass"""
    for _ in range(4):
        result = run("/usr/bin/python3", "-c", burn)
        assert "too little" not in result.stderr, result.stderr


@pytest.mark.sanitized
def test_an_output_behind_the_program(run, tmp_path):
    """
    An -o after the program's name is the program's own option. A hint says so, unless that file
    exists.
    """
    for words in (["-o", "x.svg"], ["-ox.svg"], ["--output=x.svg"], ["--output", "x.svg"]):
        assert "hint: '-o x.svg' went to 'true'" in run("true", *words).stderr
    (tmp_path / "x.svg").touch()
    assert "went to" not in run("true", "-o", "x.svg").stderr
    assert "went to" not in run("true", "-o", "x.c").stderr
    assert "went to" not in run("true", "-o").stderr
    assert "went to" not in run("-q", "true", "-o", "y.svg").stderr


def test_the_books_are_for_who_asks(run):
    for words, shown in ((["-q"], False), ([], False), (["-v"], True)):
        result = run(*words, "--", "sh", "-c", BURN)
        assert (" due (CPU time x " in result.stderr) == shown


@pytest.mark.sanitized
def test_missing_names_come_with_what_would_help(run, tmp_path):
    source = put(tmp_path / "work.c", "static __attribute__((noinline)) void work(void)\n"
                 "{ for (volatile long i = 0; i < 300000000; i++); }\n"
                 "int main(void) { work(); return 0; }\n", 0o644)
    subprocess.run(["gcc", "-O1", "-s", "-o", tmp_path / "stripped", source], check=True)
    result = run("./stripped")
    assert re.search(r"% of samples have no function name, most of them in stripped\n"
                     r"flamerun: hint: a build of stripped that keeps its symbols would name them\n",
                     result.stderr)
    hot = [line for line in result.stderr.splitlines() if "%  [stripped+0x" in line]
    assert hot and hot[0].count("[stripped") == 1, "said once"


@pytest.mark.sanitized
@pytest.mark.confined
def test_without_a_terminal_and_a_home(flamerun, tmp_path):
    result = subprocess.run([flamerun, "--", "sh", "-c", BURN], cwd=tmp_path, env={}, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, start_new_session=True, timeout=60)
    assert (result.returncode, result.stdout) == (0, "")
    assert "\r" not in result.stderr and "\033" not in result.stderr
    assert (tmp_path / "flame.svg").exists()


@pytest.mark.sanitized
@pytest.mark.confined
def test_inside_another_flamerun(flamerun, run, tmp_path):
    result = run("-o", "outer.svg", flamerun, "-o", "inner.folded", "--", "sh", "-c", BURN)
    assert result.returncode == 0
    assert "flamerun: another flamerun is running this one: 'sh' will be in" in result.stderr
    assert (tmp_path / "inner.folded").stat().st_size > 0
    assert (tmp_path / "outer.svg").exists()
    assert "another flamerun" not in run("true").stderr


@pytest.mark.sanitized
def test_a_pipe_after_it(flamerun, tmp_path):
    """A pipe behind flamerun gets only the program's output. Its reader may end early."""
    result = subprocess.run(["bash", "-c", '"$1" -- sh -c "seq 100000" | head -1; '
                             'echo ${PIPESTATUS[0]}', "-", flamerun], cwd=tmp_path, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    first, status = result.stdout.split()
    assert first == "1" and status in ("0", str(128 + 13))
    assert "flamerun: wrote 'flame.svg'" in result.stderr
