# SPDX-License-Identifier: MIT
#
# Which time is drawn: by default CPU time, with --wall also waits, with --sample-type wait only
# waits. The profile of a run gives the same picture.
import re
import shutil
import subprocess

import pytest

from folded import Folded
from pprof import Maker, Profile
from profiled import BUILD, compile_target

MS = 1000000
FUNCTIONS = ["main", "work", "load", "pool", "[futex]", "[read: pipe]", "[no CPU]"]
# (thread, stack, kind of wait, ms on a CPU, ms waiting, ms ready)
STACKS = [(0, "main;work", "", 100, 0, 0), (0, "main;work;[futex]", "lock", 0, 200, 0),
          (0, "main;load;[read: pipe]", "io", 0, 300, 0), (0, "main;[no CPU]", "", 0, 0, 50),
          (1, "pool;[futex]", "lock", 0, 1000, 0), (2, "pool;[futex]", "lock", 0, 1000, 0)]
CPU = {"main;work": 100}
WAITS = {"main;work;[futex]": 200, "main;load;[read: pipe]": 300, "main;[no CPU]": 50}
FOLDED = {"[idle: 2 threads];pool;[futex]": 2000}
PLAIN = {"pool;[futex]": 2000}


@pytest.fixture
def profile(tmp_path):
    maker = Maker(("samples", "count"), ("cpu", "nanoseconds"), ("wait", "nanoseconds"),
                  ("runnable", "nanoseconds"))
    for ident, name in enumerate(FUNCTIONS, 1):
        maker.function(ident, name)
    for thread, stack, kind, cpu, wait, ready in STACKS:
        labels = {"thread": f"t (1/{thread})", "process": "p (1)", **({"wait": kind} if kind else {})}
        maker.sample([FUNCTIONS.index(name) + 1 for name in reversed(stack.split(";"))],
                     cpu, cpu * MS, wait * MS, ready * MS, **labels)
    maker.period("cpu", "nanoseconds", MS)
    maker.write(tmp_path / "in.pb")
    return tmp_path / "in.pb"


@pytest.fixture
def draw(run, profile, tmp_path):
    def call(*words):
        result = run("render", "--no-config", profile, "-o", "out.folded", *words)
        assert result.returncode == 0, result.stderr
        stacks = Folded((tmp_path / "out.folded").read_text()).stacks
        return {";".join(stack): weight for stack, weight in stacks}, result.stderr

    return call


@pytest.mark.sanitized
@pytest.mark.parametrize("words,expected", [
    ((), CPU),
    (("--sample-type", "cpu"), CPU),
    (("--wall",), {**CPU, **WAITS, **FOLDED}),
    (("--wall", "--no-fold-idle"), {**CPU, **WAITS, **PLAIN}),
    (("--sample-type", "wait"), {**WAITS, **FOLDED}),
    (("--sample-type", "runnable"), {"main;[no CPU]": 50}),
    (("--sample-type", "samples"), CPU),
    (("--wall", "--threads"), {f"{name};{stack}": weight for name, stacks in (
        ("t (1/0)", {**CPU, **WAITS}), ("t (1/1)", {"pool;[futex]": 1000}),
        ("t (1/2)", {"pool;[futex]": 1000})) for stack, weight in stacks.items()}),
    (("--wall", "--by", "process"), {f"p (1);{stack}": weight for stack, weight in {
        **CPU, **WAITS, **FOLDED}.items()}),
    (("--wall", "--by", "module", "--no-fold-idle"), {
        "[unknown module]": 100, "[unknown module];[futex]": 2200,
        "[unknown module];[read: pipe]": 300, "[unknown module];[no CPU]": 50}),
    (("--wall", "--reverse"), {"work;main": 100, "[futex];work;main": 200,
                               "[read: pipe];load;main": 300, "[no CPU];main": 50,
                               "[idle: 2 threads];[futex];pool": 2000}),
    (("--wall", "--focus", "read"), {"main;load;[read: pipe]": 300}),
    (("--wall", "--hide", "futex", "--no-fold-idle"), {**CPU, **WAITS, **PLAIN}),
    (("--focus", "load"), {}),
], ids=lambda words: " ".join(words) if isinstance(words, tuple) else "")
def test_what_is_drawn(draw, words, expected):
    assert draw(*words)[0] == expected


@pytest.mark.sanitized
def test_what_is_left_out_is_counted_in_samples(draw):
    assert "100 samples left out" in draw("--focus", "load")[1]
    assert "left out" not in draw("--focus", "work|main")[1]
    assert "left out" not in draw("--ignore", "pool")[1]  # these stacks have no samples


@pytest.mark.sanitized
def test_pictures_say_which_time_they_show(run, profile, tmp_path):
    for words, label, is_legend in ((), "all: 100 samples, 0.10 s of CPU time", False), (
            ("--wall",), "all: 2.65 s of CPU and waiting time", True), (
            ("--sample-type", "wait"), "all: 2.55 s of waiting time", True):
        assert run("render", "--no-config", profile, "-o", "out.pdf", *words).returncode == 0
        said = subprocess.run(["pdftotext", "-layout", "out.pdf", "-"], cwd=tmp_path, text=True,
                              check=True, stdout=subprocess.PIPE).stdout
        assert label in said
        assert ("Waiting for:" in said) == is_legend
        assert ("input, output" in said) == is_legend
        assert ("[idle: 2 threads]" in said) == is_legend
        assert "pool" not in said


@pytest.mark.sanitized
def test_an_empty_picture_names_the_way_out(run, profile, tmp_path):
    assert run("render", "--no-config", profile, "-o", "out.pdf", "--focus", "load").returncode == 0
    assert run("render", "--no-config", profile, "-o", "waits.pb", "--focus", "load").returncode == 0
    assert run("render", "--no-config", "waits.pb", "-o", "waits.pdf").returncode == 0
    for name, text in (("out", "no stacks are left"), ("waits", "which --wall draws")):
        assert text in subprocess.run(["pdftotext", f"{name}.pdf", "-"], cwd=tmp_path, text=True,
                                      check=True, stdout=subprocess.PIPE).stdout


@pytest.fixture(scope="module")
def slept(tmp_path_factory):
    """A folder with a run that sleeps, drawn with waits and without."""
    folder = tmp_path_factory.mktemp("slept")
    program = compile_target("sleeps.c", folder)
    for words in ((), ("--wall",)):
        name = "both" if words else "cpu"
        subprocess.run([BUILD / "flamerun", "--no-config", *words, "-o", f"{name}.folded", "-o",
                        f"{name}.pb.gz", "-o", f"{name}.svg", "--", program, "1000"], cwd=folder,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    return folder


def test_a_run_draws_waits_when_it_is_asked_to(slept):
    waits = [stack for stack, _ in Folded((slept / "both.folded").read_text()).stacks
             if stack[-1] == "[clock_nanosleep]"]
    # Short sleeps may fall between two observations.
    assert "long_sleep" in {name for stack in waits for name in stack}
    assert "[clock_nanosleep]" not in (slept / "cpu.folded").read_text()
    # The texts count only samples of the CPU clock.
    for name, samples, is_said in (("cpu", r"\d{1,2} samples?", False),
                                   ("both", r"\d{1,2} samples?", True)):
        text = re.search('id="flamerun-desc">([^<]*)', (slept / f"{name}.svg").read_text())[1]
        assert re.match(samples, text), text
        assert ("s of waiting" in text) == is_said


def test_a_runs_profile_has_all_of_its_time(slept, run):
    """The profile of a run has waits however the picture is drawn, and `render` draws the same."""
    drawn = Folded((slept / "both.folded").read_text()).total
    for name in ("cpu", "both"):
        profile = Profile(slept / f"{name}.pb.gz")
        assert [kind for kind, _ in profile.types] == ["samples", "cpu", "wait", "runnable"]
        assert profile.default_type == "cpu"
        # The kinds of waits must not be shown as mappings.
        assert any(path.endswith("/sleeps") for path in profile.mappings.values())
        assert not {"sleep", "cpu", "lock"} & set(profile.mappings.values())
        slept_ns = sum(values[2] for names, values, labels in profile.stacks
                       if labels.get("wait") == "sleep")
        assert slept_ns > 0.9 * 10**9
        if name == "both":
            assert sum(sum(values[1:]) for _, values, _ in profile.stacks) == drawn * profile.period
        for words, wanted in (((), "cpu"), (("--wall",), "both")):
            assert run("render", "--no-config", slept / f"{name}.pb.gz", "-o",
                       slept / "again.folded", *words).returncode == 0
            if name == wanted:
                assert sorted((slept / "again.folded").read_text().splitlines()) == sorted(
                    (slept / f"{wanted}.folded").read_text().splitlines())


@pytest.mark.skipif(not shutil.which("go"), reason="there is no go")
def test_pprof_shows_the_waits(slept):
    said = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-sample_index=wait", "-top",
                           "both.pb.gz"], cwd=slept, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={"HOME": str(slept), "PATH": "/usr/bin:/bin",
                                                       "PPROF_TMPDIR": str(slept)}, timeout=120)
    assert said.returncode == 0, said.stderr
    assert re.search(r"Type: wait", said.stdout)
    assert re.search(r"9\d\.\d+% +\[clock_nanosleep\]|100% +\[clock_nanosleep\]", said.stdout)
