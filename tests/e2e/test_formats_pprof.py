# SPDX-License-Identifier: MIT
#
# pprof profiles: flamerun reads what it wrote and what others write, and refuses damaged files with
# the offset of the damage.
import gzip
import json
import os
import re
import shutil
import subprocess

import pytest

import library
from folded import Folded
from pprof import Maker, Profile, layout_of
from profiled import BUILD, ROOT, compile_target

pytestmark = pytest.mark.sanitized


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder with the same run in every format."""
    folder = tmp_path_factory.mktemp("recorded")
    program = compile_target("threads.c", folder)
    result = subprocess.run([BUILD / "flamerun", "-r", "997", "-o", "p.folded", "-o", "p.pb", "-o",
                             "p.pb.gz", "-o", "p.svg", "--", program, "1000"], cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    assert "wrote 'p.pb.gz'" in result.stderr
    return folder


def stacks_of(path):
    """Weight by stack of a folded file."""
    sums = {}
    for stack, weight in Folded(path.read_text()).stacks:
        sums[stack] = sums.get(stack, 0) + weight
    return sums


def render(run, tmp_path, *words, **options):
    """Folded stacks that render makes."""
    result = run("render", *words, "-o", "out.folded", **options)
    assert result.returncode == 0, result.stderr
    return stacks_of(tmp_path / "out.folded"), result.stderr


@pytest.mark.confined
def test_a_run_writes_what_it_draws(recorded):
    profile = Profile(recorded / "p.pb")
    assert profile.folded() == stacks_of(recorded / "p.folded")
    assert profile.types == [("samples", "count"), *((kind, "nanoseconds") for kind in (
        "cpu", "wait", "runnable"))]
    assert profile.default_type == "cpu"
    assert profile.period == 1000000000 // 997
    for _, values, _ in profile.stacks:
        assert values[1] == values[0] * profile.period
        # Each stack has either CPU time or one kind of waiting time.
        assert sum(value != 0 for value in values[1:]) == 1
        assert not any(value % profile.period for value in values[1:])
    assert profile.mappings[1] == str(recorded / "threads")  # the program's mapping comes first
    assert any(path.endswith("/libc.so.6") for path in profile.mappings.values())
    assert gzip.decompress((recorded / "p.pb.gz").read_bytes()) == profile.raw
    threads = {}
    for names, _, labels in profile.stacks:
        for worker in range(4):
            if f"worker_{worker}" in names:
                threads[worker] = labels["thread"]
    assert len(set(threads.values())) == 4


def test_pprof_reads_it(recorded):
    if not shutil.which("go"):
        pytest.skip("golang-go is not installed")
    env = dict(os.environ, HOME=str(recorded), PPROF_TMPDIR=str(recorded))

    def pprof(*words):
        return subprocess.run(["go", "tool", "pprof", *words, "p.pb.gz"], cwd=recorded, env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=True).stdout

    folded = Folded((recorded / "p.folded").read_text())
    top = pprof("-top", "-sample_index=samples", "-nodecount=10000", "-nodefraction=0",
                "-edgefraction=0")
    assert f"{folded.total} total" in top
    rows = {line.split(maxsplit=5)[5]: line.split() for line in top.splitlines()
            if re.match(r"\s+\d+ +[\d.]+%", line)}
    for worker in range(4):
        name = f"worker_{worker}"
        assert int(rows[name][0]) == folded.self(name), top
        assert int(rows[name][3]) == folded.below(name), top
    assert "File: threads\n" in pprof("-top")
    raw = pprof("-raw")
    assert "samples/count cpu/nanoseconds[dflt]" in raw
    assert raw.count("thread:[threads (") == len([1 for _, _, labels in
                                                   Profile(recorded / "p.pb").stacks if labels])


def test_pprof_format_reads_it(recorded):
    """The reader in the collectors of Datadog and Polar Signals for Node reads the profile."""
    if not (ROOT / "build/node_modules/pprof-format").is_dir() or not shutil.which("node"):
        pytest.skip("no pprof-format: npm install --prefix build pprof-format")
    said = json.loads(subprocess.run(["node", "-e", """
        const {Profile} = require('pprof-format');
        const profile = Profile.decode(require('zlib').gunzipSync(
            require('fs').readFileSync(process.argv[1])));
        const text = number => profile.stringTable.strings[Number(number)];
        console.log(JSON.stringify({
            types: profile.sampleType.map(one => [text(one.type), text(one.unit)]),
            sums: profile.sampleType.map((_, i) => profile.sample.reduce(
                (sum, one) => sum + Number(one.value[i]), 0)),
            functions: profile.function.map(one => text(one.name)),
        }))""", recorded / "p.pb.gz"], check=True, stdout=subprocess.PIPE,
        env=dict(os.environ, NODE_PATH=str(ROOT / "build/node_modules"))).stdout)
    ours = Profile(recorded / "p.pb")
    assert [tuple(one) for one in said["types"]] == ours.types
    assert said["sums"] == [sum(values[i] for _, values, _ in ours.stacks)
                            for i in range(len(ours.types))]
    assert {f"worker_{worker}" for worker in range(4)} <= set(said["functions"])


@pytest.mark.parametrize("name", ["p.pb", "p.pb.gz"])
def test_render_draws_it_again(run, tmp_path, recorded, name):
    expected = stacks_of(recorded / "p.folded")
    assert render(run, tmp_path, recorded / name)[0] == expected
    # The format of standard input is recognised by its content.
    with open(recorded / name, "rb") as file:
        assert render(run, tmp_path, "-", stdin=file)[0] == expected
    by_thread, _ = render(run, tmp_path, recorded / name, "--threads")
    # There are four workers, and main() if it ran long enough for a sample.
    assert len({stack[0] for stack in by_thread}) == len(
        {labels["thread"] for _, _, labels in Profile(recorded / "p.pb").stacks}) >= 4
    together = {}
    for stack, weight in by_thread.items():
        assert re.fullmatch(r"threads \(\d+/\d+\)", stack[0])
        together[stack[1:]] = together.get(stack[1:], 0) + weight
    assert together == expected
    result = run("render", recorded / name, "-o", "out.pb")
    assert result.returncode == 0
    again, before = Profile(tmp_path / "out.pb"), Profile(recorded / "p.pb")
    assert sorted(map(repr, again.stacks)) == sorted(map(repr, before.stacks))
    assert again.comments == before.comments
    assert again.duration_ns == before.duration_ns


def test_the_picture_has_title_times_and_no_false_timeline(run, tmp_path, recorded):
    assert run("render", recorded / "p.pb", "-o", "p.svg").returncode == 0
    drawn = (tmp_path / "p.svg").read_text()
    title = re.search(r'id="flamerun-title">([^<]+)<', (recorded / "p.svg").read_text())[1]
    assert f'id="flamerun-title">{title}<' in drawn
    assert re.search(r"\d+ samples of cpu, [01]\.\d\d s, and \d+\.\d\d s of waiting in "
                     r"\d+\.\d\d s<", drawn)


def two_types(tmp_path):
    maker = Maker(("samples", "count"), ("space", "bytes"))
    maker.function(1, "main")
    maker.function(2, "alloc")
    maker.sample([2, 1], 3, 4096)
    maker.sample([1], 1, 0)
    maker.write(tmp_path / "two.pb", is_packed=True)


def test_sample_types(run, tmp_path):
    two_types(tmp_path)
    assert render(run, tmp_path, "two.pb")[0] == {("main", "alloc"): 4096}
    assert render(run, tmp_path, "two.pb", "--sample-type", "samples")[0] == {
        ("main", "alloc"): 3, ("main",): 1}
    result = run("render", "two.pb", "--sample-type", "time", "-o", "x.svg")
    assert result.returncode == 125
    assert result.stderr == ("flamerun: 'two.pb' has no sample type 'time'\n"
                             "flamerun: hint: it has samples, space\n")
    assert not (tmp_path / "x.svg").exists()
    result = run("--sample-type", "space", "--", "true")
    assert result.returncode == 125
    assert "a run has no sample type 'space'" in result.stderr


def test_types_keep_their_names_and_units(run, tmp_path):
    maker = Maker(("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
                  ("inuse_space", "bytes"))
    maker.function(1, "main")
    maker.sample([1], 9, 4096, 3, 1024)
    maker.write(tmp_path / "heap.pb")
    for wanted, unit, value in (
            ("inuse_space", "bytes", 1024), ("alloc_objects", "count", 9), ("alloc_space", "bytes", 4096)):
        for name in ("one.pb", "one.svg"):
            said = run("render", "heap.pb", "--sample-type", wanted, "-o", name).stderr
            assert "it also has" not in said
        for name in ("one.pb", "one.svg"):
            assert run("render", name, "-o", "two.pb").returncode == 0
            two = Profile(tmp_path / "two.pb")
            assert two.types == [(wanted, unit)] and two.folded() == {("main",): value}
    said = run("render", "heap.pb", "-o", "one.folded").stderr
    assert said.startswith("flamerun: 'heap.pb' is read by inuse_space; it also has alloc_objects, "
                           "alloc_space, inuse_objects (--sample-type chooses)\n")


def test_a_profile_keeps_all_types(run, tmp_path):
    """What is rendered as a profile again keeps all values, with the filters applied to each."""
    kinds = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
             ("inuse_space", "bytes")]
    maker = Maker(*kinds)
    for number, name in enumerate(("main", "alloc", "freed"), 1):
        maker.function(number, name)
    maker.sample([2, 1], 9, 4096, 3, 1024)
    maker.sample([3, 1], 5, 500, 0, 0)
    maker.write(tmp_path / "heap.pb")
    held = {("main", "alloc"): (9, 4096, 3, 1024), ("main", "freed"): (5, 500, 0, 0)}
    for options, wanted in (([], held), (["--focus", "freed"], {("main", "freed"): held["main", "freed"]})):
        result = run("render", "heap.pb", *options, "-o", "again.pb")
        said = "flamerun: 1,024 bytes left out: no frame of theirs matches --focus\n" if options else ""
        assert (result.returncode, result.stderr) == (0, said + "flamerun: wrote 'again.pb'\n")
        again = Profile(tmp_path / "again.pb")
        assert sorted(again.types) == sorted(kinds)
        assert again.types[0] == ("inuse_space", "bytes")
        for number, kind in enumerate(again.types):
            at = kinds.index(kind)
            assert again.folded(number) == {stack: values[at] for stack, values in wanted.items() if values[at]}


# ---- lines and what is inlined ---------------------------------------------------------------------

SOURCE = """int add(int x) { return x + 1; }
int twice(int x) {
	x = add(x);
	return add(x);
}
int main(void) {
	return twice(1);
}
"""


def chained(tmp_path):
    """
    Write a profile in which `add` is inlined into `twice` at two lines, and `twice` into main at
    one. Returns the path.
    """
    source = tmp_path / "t.c"
    source.write_text(SOURCE)
    maker = Maker(("samples", "count"))
    maker.chain(1, ("main", str(source), 7), ("twice", str(source), 3), ("add", str(source), 1))
    maker.chain(2, ("main", str(source), 7), ("twice", str(source), 4), ("add", str(source), 1))
    maker.chain(3, ("main", str(source), 7))
    maker.chain(4, ("libc_start", "", 0))
    maker.sample([1, 4], 60)
    maker.sample([2, 4], 30)
    maker.sample([3, 4], 10)
    maker.write(tmp_path / "in.pb")
    return tmp_path / "in.pb"


def test_lines_and_chains_come_through(run, tmp_path):
    before = Profile(chained(tmp_path))
    assert run("render", "in.pb", "-o", "out.pb.gz").returncode == 0
    after = Profile(tmp_path / "out.pb.gz")
    assert sorted(map(repr, after.stacks)) == sorted(map(repr, before.stacks))
    assert sorted(after.chains.values()) == sorted(before.chains.values())


def test_pprof_lists_lines(run, tmp_path):
    if not shutil.which("go"):
        pytest.skip("golang-go is not installed")
    chained(tmp_path)
    assert run("render", "in.pb", "-o", "out.pb.gz").returncode == 0
    env = dict(os.environ, HOME=str(tmp_path), PPROF_TMPDIR=str(tmp_path))

    def pprof(*words):
        return subprocess.run(["go", "tool", "pprof", *words], cwd=tmp_path, env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=True).stdout

    listed = pprof("-list=main|twice|add", "out.pb.gz")
    # self weight, total weight, line number
    rows = re.findall(r"^\s*(\S+)\s+(\S+)\s+(\d+):", listed, re.M)
    for row in [("90", "90", "1"), (".", "60", "3"), (".", "30", "4"), ("10", "100", "7")]:
        assert row in rows, listed
    # pprof prints the same for both files in all views, except for the order of stacks.
    for view in ["-list=main|twice|add", "-traces", "-lines -top", "-peek=add"]:
        ours, theirs = (sorted(re.split(r"-+\+-+\n", pprof(*view.split(), name)))
                        for name in ["out.pb.gz", "in.pb"])
        assert ours == theirs, view


@pytest.mark.parametrize("flags", [["-pie"], ["-no-pie"], ["-pie", "-fuse-ld=lld"]])
def test_code_has_its_address_in_the_file(run, tmp_path, flags):
    if "-fuse-ld=lld" in flags and not shutil.which("ld.lld"):
        pytest.skip("lld is not installed")
    program = compile_target("threads.c", tmp_path, flags=["-O1", "-g", *flags])
    assert run("-q", "-r", "997", "-o", "p.pgo", "--", program).returncode == 0
    offset, address, size, _, build_id = layout_of(program, "worker_2")
    profile = Profile(tmp_path / "p.pgo")
    # The program is the first mapping. It is where its own segment table says.
    assert profile.mappings[1] == str(program)
    assert profile.segments[1] == (address & ~0xFFF, (address + size + 0xFFF) & ~0xFFF,
                                   offset & ~0xFFF, build_id)
    for ident, (start, limit, _, _) in profile.segments.items():
        others = [segment for other, segment in profile.segments.items() if other != ident]
        assert limit == 0 or all(limit <= segment[0] or segment[1] <= start for segment in others)
    at = {ident: value for ident, value in profile.addresses.items()
          if profile.location_mappings[ident] == 1}
    assert len(at) > 5 and all(at.values())
    # addr2line has the same functions at these addresses, with the same lines.
    told = subprocess.run(["addr2line", "-ifaC", "-e", program, *map(hex, at.values())],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    told = re.sub(r" \(discriminator \d+\)", "", told)
    judged = {int(words[0], 16): list(zip(words[1::2], words[2::2]))
              for words in (part.split() for part in re.split(r"^(?=0x)", told, flags=re.M)[1:])}
    checked = 0
    for ident, address in at.items():
        chain = [(name, f"{os.path.basename(file)}:{line}")
                 for name, file, line in profile.chains[ident]]
        if chain[-1][1].startswith("threads.c:"):
            assert [(name, os.path.basename(place)) for name, place in judged[address]] == chain
            checked += 1
    assert checked > 5


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_functions_have_the_line_of_their_declaration(run, tmp_path, compiler):
    """gcc writes the column of a declaration, clang and Go do not."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    program = compile_target("threads.c", tmp_path, flags=["-O1", "-g"], compiler=compiler)
    assert run("-q", "-r", "997", "-o", "p.pgo", "--", program).returncode == 0
    source = (ROOT / "tests" / "targets" / "threads.c").read_text().splitlines()
    lines = {name: line for (name, _), line in Profile(tmp_path / "p.pgo").start_lines.items()}
    for i in range(4):
        assert source[lines[f"worker_{i}"] - 1] == f"WORKER({i})", lines


def test_pprof_disassembles(run, tmp_path):
    if not shutil.which("go"):
        pytest.skip("golang-go is not installed")
    program = compile_target("threads.c", tmp_path, flags=["-O1", "-g"])
    assert run("-q", "-r", "997", "-o", "p.pb.gz", "--", program).returncode == 0
    env = dict(os.environ, HOME=str(tmp_path), PPROF_TMPDIR=str(tmp_path))
    shown = subprocess.run(["go", "tool", "pprof", "-sample_index=samples", "-disasm=worker_2",
                            "p.pb.gz"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True,
                           check=True).stdout
    weights = re.findall(r"^ +(\d+) +\d+ +[0-9a-f]+:", shown, re.M)
    # What the function calls is inlined into it. Some samples may be in the kernel.
    weight = sum(values[0] for names, values, _ in Profile(tmp_path / "p.pb.gz").stacks
                 if "worker_2" in names)
    assert 0.9 * weight < sum(map(int, weights)) <= weight, shown


@pytest.mark.parametrize("flags", [["-pie"], ["-no-pie"], ["-no-pie", "-Wl,-z,noseparate-code"],
                                   ["-pie", "-fuse-ld=lld"]])
def test_addresses_are_named_from_the_file_that_ran(run, tmp_path, flags):
    if "-fuse-ld=lld" in flags and not shutil.which("ld.lld"):
        pytest.skip("lld is not installed")
    program = compile_target("threads.c", tmp_path, flags=["-O2", "-g0", *flags])
    offset, address, size, symbol, build_id = layout_of(program, "worker_2")
    offset, address = offset & ~0xFFF, address & ~0xFFF
    start = address if "-no-pie" in flags else 0x7F0000000000 + address

    def profile(ident, path=program):
        maker = Maker(("samples", "count"))
        maker.mapping(1, start, start + size + 0x1000, offset, path, ident)
        maker.address(1, 1, symbol - address + start + 1)
        maker.sample([1], 7)
        maker.write(tmp_path / "in.pb")

    profile(build_id)
    assert render(run, tmp_path, "in.pb")[0] == {("worker_2",): 7}
    profile("")  # without a build-id, the file is accepted
    assert render(run, tmp_path, "in.pb")[0] == {("worker_2",): 7}
    profile("00" * 20)
    stacks, said = render(run, tmp_path, "in.pb")
    assert [re.fullmatch(r"\[threads\+0x\w+\]", stack[0]) is not None for stack in stacks] == [True]
    assert said.count("without a name") == 1
    assert "it is not the file that ran, its build-id is another" in said
    profile(build_id, "/nowhere/threads")
    stacks, said = render(run, tmp_path, "in.pb")
    assert list(stacks)[0][0].startswith("[threads+0x")
    assert said.count("without a name") == 1


def test_mangled_names_are_written_as_asked(run, tmp_path):
    maker = Maker(("samples", "count"))
    maker.function(1, "_ZN3one3twoEi")
    maker.sample([1], 7)
    maker.write(tmp_path / "in.pb")
    for style, name in (("none", "_ZN3one3twoEi"), ("short", "one::two"), ("full", "one::two(int)")):
        stacks, _ = render(run, tmp_path, "in.pb", "--demangle", style)
        assert stacks == {(name,): 7}


def test_less_than_nothing_is_told_and_nothing_is_not(run, tmp_path):
    maker = Maker(("samples", "count"))
    maker.function(1, "main")
    maker.function(2, "work")
    maker.sample([1], 7)
    maker.sample([2], 0)
    maker.write(tmp_path / "none.pb")
    assert "less than nothing" not in run("render", "none.pb", "-o", "out.svg").stderr
    maker.sample([2], -3)
    maker.write(tmp_path / "less.pb")
    assert ("flamerun: 'less.pb': 1 sample is less than nothing, as in the difference of two profiles, "
            "and left out\n") in run("render", "less.pb", "-o", "out.svg").stderr


def test_damage(run, tmp_path, recorded):
    whole = (recorded / "p.pb").read_bytes()
    packed = (recorded / "p.pb.gz").read_bytes()
    cases = {
        "short.pb": (whole[:-10], r"something that is no pprof field at byte \d+"),
        "short.pb.gz": (packed[:-20], r"its gzip data ends at byte \d+"),
        "flipped.pb.gz": (packed[:-6] + b"xxxxxx", r"its gzip data is damaged at byte \d+"),
        "text.pb": (b"main;work 5\n", "damaged comments at byte 0"),
        "empty.pb": (b"", "a pprof profile has a type of samples, this has none"),
    }
    for name, (data, what) in cases.items():
        (tmp_path / name).write_bytes(data)
        result = run("render", name, "-o", "out.svg")
        assert result.returncode == 125
        assert re.fullmatch(rf"flamerun: cannot read '{name}': {what}\n", result.stderr)
        assert not (tmp_path / "out.svg").exists()


def test_folded_stacks_may_begin_with_an_empty_line(run, tmp_path):
    (tmp_path / "in").write_text("\nmain;work 5\n")
    assert render(run, tmp_path, "in")[0] == {("main", "work"): 5}


# ---- what a program leaves out, and what it marks -------------------------------------------------

@pytest.fixture(scope="module")
def phases(tmp_path_factory):
    return library.build("phases.c", tmp_path_factory.mktemp("phases"))


def profile_phases(run, tmp_path, phases, *words):
    """(stacks, truth, stderr, the .pb)"""
    result = run("-v", "-r", "997", "-o", "p.folded", "-o", "p.pb", "-o", "p.svg", *words, "--",
                 phases, 500)
    assert result.returncode == 0, result.stderr
    said = library.said(result)
    assert said["pause"] == said["resume"] == said["mark"] == 0
    return library.stacks(tmp_path / "p.folded"), said, result.stderr, Profile(tmp_path / "p.pb")


def left_out(stderr):
    return float(re.search(r"([\d.]+) % left out while paused", stderr)[1])


def assert_books(stderr):
    """The weights add up to the time that was due, within 5 sigma for 1,500 samples."""
    off = float(re.search(r"off by ([-+][\d.]+) %", stderr)[1])
    assert abs(off) < 13, stderr


def test_pause_and_marks_under_flamerun(run, tmp_path, phases):
    stacks, said, stderr, profile = profile_phases(run, tmp_path, phases)
    assert stacks.below("hidden") <= 2  # one more at each end of the pause
    # 250 independent samples in each of two halves: 5 sigma are 0.16.
    share = stacks.below("begin") / (stacks.below("begin") + stacks.below("shown"))
    assert abs(share - said["begin"] / (said["begin"] + said["shown"])) < 0.16
    assert abs(left_out(stderr) - 100 / 3) < 10
    assert_books(stderr)
    marks = [re.fullmatch(r"mark: (\d+\.\d{3}) (\d+) (.*)", comment).groups()
             for comment in profile.comments if comment.startswith("mark: ")]
    assert [text for _, _, text in marks] == ["hidden begins", "shown begins", 'end; of "all"']
    times = [float(ms) for ms, _, _ in marks]
    assert times == sorted(times)
    assert times[2] - times[1] >= 499
    # Rendering the profile again must keep the marks.
    assert run("render", "p.pb", "-o", "again.pb").returncode == 0
    assert Profile(tmp_path / "again.pb").comments == profile.comments


def test_start_paused(run, tmp_path, phases):
    stacks, said, stderr, _ = profile_phases(run, tmp_path, phases, "--start-paused")
    assert stacks.below("begin") == 0
    assert stacks.below("hidden") <= 1
    assert stacks.below("shown") > 400 * said["shown"] / 1e9
    assert abs(left_out(stderr) - 200 / 3) < 10
    assert_books(stderr)


def test_nothing_but_pause(run, tmp_path, recorded):
    result = run("--start-paused", "-o", "p.pdf", "--", recorded / "threads", "200")
    assert result.returncode == 0
    assert "hint: it was paused all the time" in result.stderr
    assert "100.0 % left out while paused" in result.stderr
    text = subprocess.run(["pdftotext", "p.pdf", "-"], cwd=tmp_path, stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    assert "no samples: the program was paused all the time" in text
