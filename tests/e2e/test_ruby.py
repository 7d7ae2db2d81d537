# SPDX-License-Identifier: MIT
#
# Compare samples with Ruby's own stack trace. tests/targets/ruby_truth.rb prints each stack in
# which its work() is called, with the lines of callers. All samples in work() must show one of
# these stacks completely. Ruby before 3.4 prints no classes; another test checks them.
import re
import shutil
import subprocess

import pytest

import outside
import told_stacks
from profiled import TARGETS, profile

# Any installed version. Without the package "ruby", there is no command of this name.
RUBY = next(filter(None, map(shutil.which, ("ruby", "ruby3.1", "ruby3.3"))), None)

pytestmark = pytest.mark.skipif(not RUBY, reason="no ruby here")


def has_known_yjit():
    """
    Returns whether Ruby 3.1 with YJIT is installed. flamerun does not support the frames that YJIT
    of other versions makes.
    """
    script = "exit(RUBY_VERSION.start_with?('3.1.') && defined?(RubyVM::YJIT) ? 0 : 1)"
    return RUBY and subprocess.run([RUBY, "--yjit", "-e", script], stderr=subprocess.DEVNULL).returncode == 0


YJIT = pytest.mark.skipif(not has_known_yjit(), reason="no YJIT of Ruby 3.1 here")

# Files have no first line.
FUNCTION = re.compile(r"^(.+) \([^()]*(?:\([^()]*\)[^()]*)*(?:\.rb|:\d+)\)$")
CLASS = re.compile(r"(?:(?<=^)|(?<= in ))[A-Z][\w:]*[#.](?=.)")


def shown_in(stack, written_in_c):
    """
    The Ruby functions in @stack down to work(), as the script prints them; None if work() is not in
    it.
    """
    shown = []
    for name, line in stack:
        match = FUNCTION.match(name)
        if not match and CLASS.sub("", name) in written_in_c and CLASS.match(name):
            shown.append(CLASS.sub("", name))
        elif match and match[1] == "Object#work":
            return tuple(shown + ["work"])
        elif match:
            shown.append(f"{CLASS.sub('', match[1])}:{line}")
    return None


def shown_of(told):
    written_in_c = told_stacks.without_lines(told)
    return lambda stack: shown_in(stack, written_in_c)


@pytest.mark.parametrize("options", [[], pytest.param(["--yjit"], marks=YJIT)],
                         ids=["interpreted", "yjit"])
@pytest.mark.parametrize("way,rate_hz", [
    ("inside", 4000), pytest.param("outside", 197, marks=pytest.mark.skipif(
        outside.IS_CONFINED, reason="nobody may trace here"))])
def test_every_stack_is_rubys_own(tmp_path, way, rate_hz, options):
    run, told, true = told_stacks.run_truth(
        tmp_path, way, rate_hz, [RUBY, *options, TARGETS / "ruby_truth.rb", "1000", "2"], shown_of)
    assert len(told) > 40
    if way == "outside":
        assert true
        return
    told_stacks.assert_few_native(run)
    is_ruby = run.folded.where(lambda stack: "Object#all_of_it (ruby_truth.rb:" in "".join(stack))
    assert sum(true.values()) > 0.5 * is_ruby > 0, run.folded.describe()
    assert len(true) > 25, true


def test_names_have_classes(tmp_path):
    run = profile(tmp_path, RUBY, TARGETS / "ruby_truth.rb", "800", clock_hz=2000)
    shown = {re.sub(FUNCTION, r"\1", name) for stack, _ in run.folded.stacks
             for name in stack}
    assert shown >= {
        "<main>", "Shape#area", "Shape.scale", "block in Shape#each_side", "Array#each",
        "Integer#times", "Named::Deep.inner", "Named#included_one", "Object#deep",
        "block in <class:Shape>", "rescue in Object#caught",
        "Kernel#load", "<top (required)>", "block (2 levels) in Object#numbers"}, sorted(shown)


@YJIT
def test_a_frame_that_is_being_made_is_not_told(tmp_path):
    """
    YJIT makes a frame the innermost one before it fills the frame in. Until then the frame has the
    function that was called before, which here is never the function called now.
    """
    script = tmp_path / "turns.rb"
    script.write_text("".join(f"def {name}_leaf(n) = n + 1\ndef {name}(n) = {name}_leaf(n) + 1\n"
                              for name in ("left", "right")) +
                      "def turns(n)\n  i = 0\n  while i < n\n    left(i)\n    right(i)\n"
                      "    i += 1\n  end\nend\nARGV[0].to_i.times { turns(1000) }\n")
    run = profile(tmp_path, RUBY, "--yjit", script, "40000", clock_hz=2000)

    def below(leaf, caller):
        return run.folded.where(lambda stack: [re.sub(FUNCTION, r"\1", name) for name in stack][
            -2:] == [f"Object#{caller}", f"Object#{leaf}_leaf"])
    assert not below("left", "right") and not below("right", "left"), run.folded.describe()
    assert below("left", "left") + below("right", "right") > 0.1 * run.folded.total > 100, (
        run.folded.describe())


def test_waits_have_names(tmp_path):
    script = tmp_path / "naps.rb"
    script.write_text("def naps = sleep(1.5)\nThread.new { naps }.join\n")
    run = profile(tmp_path, RUBY, script, options=["--wall"])
    naps = run.folded.where(lambda stack: "Object#naps (naps.rb:1)" in stack and
                            "Kernel#sleep" in stack)
    assert naps == pytest.approx(1.5 * run.rate_hz, rel=0.1), run.folded.describe()


@pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")
def test_a_running_one_has_names(tmp_path):
    script = tmp_path / "spins.rb"
    script.write_text("def spins(n) = n.times { |i| i * i }\nloop { spins(100_000) }\n")
    with outside.running(RUBY, script) as process:
        outside.work(process.pid, 0.2)  # wait until Ruby has started
        stacks = outside.attach_while_it_works(tmp_path, process.pid, "-r", "199", "--no-waits")
    spins = stacks.where(lambda stack: "Object#spins (spins.rb:1)" in stack)
    assert spins > 0.8 * stacks.total > 0, stacks.describe()
