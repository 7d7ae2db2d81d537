# SPDX-License-Identifier: MIT
#
# Names of C++ functions: in full, in labels, and merged.
import re
import subprocess

import pytest

from profiled import BUILD, compile_target, profile

CHURN = {
    "short": {"churn<int>", "churn<long>", "shapes::Box<int>::fill"},
    "full": {"void churn<int>(int)", "void churn<long>(long)",
             "shapes::Box<int>::fill(int const&) const"},
    "none": {"_Z5churnIiEvT_", "_Z5churnIlEvT_", "_ZNK6shapes3BoxIiE4fillERKi"},
}
MERGED = {"churn<\u2026>", "shapes::Box<\u2026>::fill"}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_target("templates.cc", tmp_path_factory.mktemp("names"))


def hot(run):
    """The functions in which at least a twentieth of the samples end."""
    names = {stack[-1] for stack, _ in run.folded.stacks}
    return {name for name in names if run.folded.self(name) > run.folded.total / 20}


@pytest.mark.parametrize("style", sorted(CHURN))
def test_styles(tmp_path, program, style):
    run = profile(tmp_path, program, "200", options=("--demangle", style))
    assert hot(run) == CHURN[style], run.folded.describe()


def test_merged(tmp_path, program):
    run = profile(tmp_path, program, "200", options=("--merge-templates",))
    assert hot(run) == MERGED, run.folded.describe()
    # The names that other tools write are merged in the same way: parameters and suffixes of clones
    # are dropped.
    full = tmp_path / "full.folded"
    full.write_text("main;void f<int>(int) 3\nmain;g(int) [clone .isra.0] 4\nmain;g(int) 5\n"
                    "main;h::h0123456789abcdef 6\nmain;h::h0123456789abcde0 7\n")
    out = tmp_path / "merged.folded"
    subprocess.run([BUILD / "flamerun", "render", full, "-o", out, "--merge-templates"], check=True)
    assert sorted(out.read_text().splitlines()) == [
        "main;g 9", "main;h 13", "main;void f<\u2026> 3"]


def letters(svg):
    """The number of letters that are drawn in the static picture."""
    return len(re.findall(r"<use ", svg.read_text()))


def test_labels_are_short_where_names_are_not(tmp_path):
    pairs = {"std::vector<int>::push_back(int const&)": "std::vector<i>::push_back",
             "(anonymous namespace)::f": "(anonymous namespace)::f"}
    drawn = {}
    for name, short in pairs.items():
        for text in name, short:
            folded, svg = tmp_path / "in.folded", tmp_path / "out.svg"
            folded.write_text(f"{text} 3\n")
            for style in "short", "full":
                subprocess.run([BUILD / "flamerun", "render", folded, "-o", svg, "--demangle", style],
                               check=True)
                drawn[text, style] = letters(svg)
        # "<i>" and "<\u2026>" are three letters each.
        assert drawn[name, "short"] == drawn[short, "short"] == drawn[short, "full"]
        assert drawn[name, "full"] - drawn[short, "full"] == len(name) - len(short)
