# SPDX-License-Identifier: MIT
#
# Compare samples with Perl's caller(). tests/targets/perl_truth.pl prints each stack in which its
# work() is called, with the lines of callers. All samples in work() must show one of these stacks
# completely.
import collections
import platform
import re
import shutil
import subprocess

import pytest

import firefox
import outside
import told_stacks
from profiled import TARGETS, profile

PERL = shutil.which("perl")


def is_reached():
    """Returns whether there is a perl with threads and with the modules that the script uses."""
    script = "use threads; use List::Util; use Time::HiRes"
    return PERL and subprocess.run([PERL, "-e", script], stderr=subprocess.DEVNULL).returncode == 0


pytestmark = pytest.mark.skipif(not is_reached(), reason="no perl with threads here")

FUNCTION = re.compile(r"^(.+) \((?:[^()]|\([^()]*\))*:\d+\)$")
OUTSIDE = pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")


def shown_in(stack):
    """
    The Perl functions in @stack as the script prints them; None if the sample is not in work().
    """
    shown = []
    for name, line in stack:
        match = FUNCTION.match(name)
        if match:
            shown.append(match[1] if match[1] == "(eval)" else f"{match[1]}:{line}")
    if not shown or not shown[-1].startswith("main::work:"):
        return None
    return tuple(shown[:-1] + ["main::work"])


def run_truth(tmp_path, way, rate_hz, *arguments):
    return told_stacks.run_truth(tmp_path, way, rate_hz, [PERL, TARGETS / "perl_truth.pl", *arguments],
                                 lambda told: shown_in)


@pytest.mark.parametrize("way,rate_hz", [
    ("inside", 4000), pytest.param("outside", 197, marks=OUTSIDE)])
@pytest.mark.parametrize("how", [(), ("threads",)], ids=["alone", "threads"])
def test_every_stack_is_perls_own(tmp_path, how, way, rate_hz):
    run, told, true = run_truth(tmp_path, way, rate_hz, "700", *how)
    assert len(told) > 30
    if way == "outside":
        assert true
        return
    told_stacks.assert_few_native(run)
    is_perl = run.folded.where(lambda stack: any("main::run_all (" in name for name in stack))
    assert sum(true.values()) > 0.4 * is_perl > 0, run.folded.describe()
    assert len(true) > 25, true


def test_a_deep_stack_is_whole(tmp_path):
    run, told, true = run_truth(tmp_path, "inside", 4000, "250", "deep", "3000")
    deep = {stack for stack in told if len(stack) > 1000}
    assert sum(true.values()) > 0.3 * run.folded.total
    assert {len(stack) for stack in deep} == {3003, 1503}
    assert deep <= set(true)


def test_of_a_deeper_one_the_leaf_side_is_kept(tmp_path):
    picture = tmp_path / "p.firefox.json"
    run = profile(tmp_path, PERL, TARGETS / "perl_truth.pl", "400", "deep", "6000", rate_hz=1000,
                  options=["--no-waits", "-o", picture])
    told = told_stacks.told_by(run.stdout)
    shown = collections.Counter()
    for _, stack, weight in firefox.stacks_of(picture):
        shown[shown_in(stack)] += weight
    deep = {stack: weight for stack, weight in shown.items() if stack and len(stack) > 3003}
    assert sum(deep.values()) > 0.1 * sum(shown.values()) > 0
    assert all(any(stack[-len(part):] == part for stack in told) for part in deep)


def test_waits_have_names(tmp_path):
    script = tmp_path / "naps.pl"
    script.write_text("sub naps\n{\n    select undef, undef, undef, 1.5;\n}\nnaps();\n")
    run = profile(tmp_path, PERL, script, options=["--wall"])
    naps = run.folded.where(lambda stack: "main::naps (naps.pl:3)" in stack)
    assert naps == pytest.approx(1.5 * run.rate_hz, rel=0.1), run.folded.describe()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="nothing tells who the thread is")
def test_waits_of_threads_have_names(tmp_path):
    script = tmp_path / "naps.pl"
    script.write_text("use threads;\nsub naps\n{\n    select undef, undef, undef, $_[0];\n}\n"
                      "sub longer\n{\n    naps(1.5);\n}\n"
                      "my @all = (threads->create(\\&naps, 1), threads->create(\\&longer));\n"
                      "$_->join for @all;\n")
    run = profile(tmp_path, PERL, script, options=["--wall"])
    naps = "main::naps (naps.pl:4)"
    below = run.folded.where(lambda stack: naps in stack and "main::longer (naps.pl:8)" in stack)
    alone = run.folded.where(lambda stack: naps in stack) - below
    assert below == pytest.approx(1.5 * run.rate_hz, rel=0.1), run.folded.describe()
    assert alone == pytest.approx(run.rate_hz, rel=0.1), run.folded.describe()


@OUTSIDE
def test_a_running_one_has_names(tmp_path):
    """With -p, functions also have names in an interpreter that flamerun did not start."""
    script = "sub spins { my $n = 0; $n += $_ for 1 .. 100000 } spins() while 1"
    with outside.running(PERL, "-e", script) as process:
        stacks = outside.attach_while_it_works(tmp_path, process.pid, "-r", "199", "--no-waits")
    spins = stacks.where(lambda stack: "main::spins (-e:1)" in stack)
    assert spins > 0.8 * stacks.total > 0, stacks.describe()
