# SPDX-License-Identifier: MIT
#
# Every option for pictures has its effect in all three formats, and the effect is the same.
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import pixels
from profiled import compile_target

FORMATS = ("svg", "png", "pdf")
STACKS = ("main;parse;lex;next 40\nmain;parse;lex 10\nmain;emit;write 20\nmain;emit 10\n"
          + "".join(f"main;tiny{i} 1\n" for i in range(20)))
SVG = "{http://www.w3.org/2000/svg}"
# The maximum difference of one picture in two formats, caused by antialiasing of edges and text.
# Different pictures differ far more.
ALIKE = 3.0


@pytest.fixture(scope="module")
def draw(flamerun, tmp_path_factory):
    """
    draw(*words) -> {format: Pixels}, each drawn only once. draw.file(words, format) is the file.
    """
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "in").write_text(STACKS)
    drawn = {}

    def files(words):
        if words not in drawn:
            base = folder / str(len(drawn))
            outputs = [word for name in FORMATS for word in ("-o", f"{base}.{name}")]
            width = () if "--width" in words else ("--width", "400")
            result = subprocess.run([flamerun, "--no-config", "-q", "render", folder / "in",
                                     *outputs, *width, *words],
                                    capture_output=True, text=True, timeout=60)
            assert (result.returncode, result.stderr) == (0, "")
            drawn[words] = [{name: base.with_suffix("." + name) for name in FORMATS}, None]
        return drawn[words][0]

    def call(*words):
        paths = files(words)
        if not drawn[words][1]:
            drawn[words][1] = {name: pixels.read(path) for name, path in paths.items()}
        return drawn[words][1]

    call.file = lambda words, name: files(tuple(words))[name]
    return call


OPTIONS = [
    ("--width", "640"), ("--icicle",), ("--reverse",), ("--palette", "aqua"),
    ("--palette", "by-module"), ("--min-width", "12"), ("--frame-height", "30"),
    ("--font", "serif"), ("--font-size", "9"), ("--title", "Another title"),
    ("--subtitle", "A line below it"), ("--notes", "Something to note\nin two lines"),
    ("--count-name", "cache misses"), ("--hide", "^emit$"), ("--root", "^parse$"),
    ("--focus", "^emit$"), ("--ignore", "^emit$"), ("--by", "module"),
    ("--ground", "dark"),
    *(("--palette", name) for name in ("mem", "io", "java", "js", "perl", "red", "green", "blue",
                                       "yellow", "purple", "orange", "cividis", "okabe-ito")),
]


def identity(words):
    return " ".join(words).replace("\n", " ")


@pytest.mark.parametrize("words", OPTIONS, ids=identity)
def test_it_is_seen_and_seen_alike(draw, words):
    plain, asked = draw(), draw(*words)
    for name in FORMATS:
        effect = plain[name].difference(asked[name])
        assert effect > 0.05, f"{name}: no effect"
        if name != "png":
            assert asked["png"].difference(asked[name]) < ALIKE, name
    # With the option, SVG and PDF are nearer to the PNG with the option than to the plain pictures.
    for name in ("svg", "pdf"):
        own = asked["png"].difference(asked[name])
        assert own < asked["png"].difference(plain[name]), name


def test_every_option_of_the_picture_is_tried(flamerun):
    """
    Every option is tried, except those that need threads, waits, recursion, lines or C++. These are
    tested below, in test_outputs_filters.py, _waits.py and _lines.py, and in test_profile_names.py.
    """
    script = subprocess.run([flamerun, "--completions", "bash"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    palettes = re.search(r"--palette\) COMPREPLY=\(\$\(compgen -W '([^']*)'", script)[1].split()
    tried = {words[1] for words in OPTIONS if words[0] == "--palette"}
    assert tried | {"hot"} == set(palettes), "hot is the default"
    text = subprocess.run([flamerun, "--help"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    groups = "Which stacks and functions|How stacks are merged|Look of the picture"
    picture = "".join(re.findall(rf"^(?:{groups}):\n((?: .*\n)+)", text, re.M))
    named = set(re.findall(r"^ .{5}(--[a-z-]+)", picture, re.M))
    others = {"--threads", "--collapse-recursion", "--merge-templates"}
    assert len(named) > 10 and named - others == {words[0] for words in OPTIONS}


def test_a_root_for_each_thread(run, tmp_path):
    compile_target("threads.c", tmp_path)
    outputs = [word for name in FORMATS for word in ("-o", f"x.{name}")]
    for words, shown in (((), False), (("--threads",), True)):
        result = run("-q", "--test-clock", "1000", "--width", "1600", *outputs, *words, "--",
                     "./threads", "400")
        assert result.returncode == 0, result.stderr
        text = pixels.output_of("pdftotext", tmp_path / "x.pdf", "-").decode()
        assert bool(re.search(r"threads \(\d+/\d+\)", text)) == shown
        pictures = {name: pixels.read(tmp_path / f"x.{name}") for name in FORMATS}
        for name in ("svg", "pdf"):
            assert pictures["png"].difference(pictures[name]) < ALIKE, name


@pytest.mark.sanitized
def test_plain_ones_are_alike(draw):
    plain = draw()
    for name in ("svg", "pdf"):
        assert plain["png"].difference(plain[name]) < ALIKE


@pytest.mark.parametrize("width", ["320", "1000"])
def test_width(draw, width):
    for name, picture in draw("--width", width).items():
        assert abs(picture.width - 2 * int(width)) <= 1, name


def corner(picture):
    return picture.at(2, 2)


HEADER = 2 * 56


def middle_of_the_boxes(picture):
    """The mean row of the boxes between title and footer, from 0 to 1."""
    ground = corner(picture)
    rows = range(HEADER, picture.height - 2 * 38)
    inked = [sum(picture.at(x, y) != ground for x in range(0, picture.width, 4)) for y in rows]
    return sum(i * ink for i, ink in enumerate(inked)) / sum(inked) / len(rows)


@pytest.mark.sanitized
def test_icicle_hangs_from_the_widest_row(draw):
    for name in FORMATS:
        flame, icicle = draw()[name], draw("--icicle")[name]
        assert abs(flame.height - icicle.height) <= 2, name
        assert middle_of_the_boxes(flame) > 0.5 > middle_of_the_boxes(icicle), name


def test_dark_ground(draw):
    for name in FORMATS:
        assert min(corner(draw()[name])) > 240, name
        assert max(corner(draw("--ground", "dark")[name])) < 64, name


@pytest.mark.sanitized
def test_palettes_change_hues(draw):
    for name in FORMATS:
        def warmth(words):
            picture = draw(*words)[name]
            return sum(row[i] - row[i + 2] for row in picture.rows for i in range(0, len(row), 3))

        assert warmth(()) > 0 > warmth(("--palette", "aqua")), name


def test_frame_height(draw):
    for name in FORMATS:
        low, high = draw("--frame-height", "10")[name], draw("--frame-height", "30")[name]
        # Five rows (all, main, parse, lex, next), each 20 pixels higher, with two device pixels per
        # pixel.
        assert abs(high.height - low.height - 2 * 5 * 20) <= 4, name


def test_the_narrowest_box(draw):
    """Twenty boxes of 3.5 pixels are separate by default, and one box with --min-width 12."""
    for name in FORMATS:
        def gaps(words):
            picture = draw(*words)[name]
            ground = corner(picture)
            return max(sum(picture.at(x, y) == ground != picture.at(x - 1, y)
                           for x in range(1, picture.width))
                       for y in range(picture.height // 2, picture.height * 4 // 5))

        assert gaps(("--min-width", "1")) > gaps(("--min-width", "12")) + 15, name


def read(draw, words):
    return pixels.output_of("pdftotext", draw.file(words, "pdf"), "-").decode()


@pytest.mark.sanitized
@pytest.mark.parametrize("option, text", [
    ("--title", "Another title"), ("--subtitle", "A line below it"),
    ("--notes", "Something to note\nin two lines"), ("--count-name", "cache misses"),
])
def test_texts_can_be_read(draw, option, text):
    """A PDF contains the texts; an SVG contains title and subtitle."""
    for line in text.split("\n"):
        assert line in read(draw, (option, text))
        assert line not in read(draw, ())
    if option in ("--title", "--subtitle"):
        assert f">{text}<" in draw.file((option, text), "svg").read_text()


def test_names_in_a_pdf_can_be_selected(draw):
    words = read(draw, ()).split()
    for name in ("main", "parse", "lex", "next", "emit", "write"):
        assert name in words


@pytest.mark.sanitized
def test_hidden_and_cut_names_are_in_no_picture(draw):
    assert "emit" not in read(draw, ("--hide", "^emit$")).split()
    assert "write" in read(draw, ("--hide", "^emit$")).split()
    cut = read(draw, ("--root", "^parse$")).split()
    assert "parse" in cut and "main" not in cut and "emit" not in cut


def test_a_reversed_picture_says_so(draw):
    assert "by the function they ended in" in read(draw, ("--reverse", "--width", "640"))
    assert "by the function they ended in" not in read(draw, ("--width", "640"))


def test_a_font_reaches_the_files(draw):
    fonts = pixels.output_of("pdffonts", draw.file(("--font", "serif"), "pdf")).decode()
    assert re.search("serif", fonts, re.I), fonts


@pytest.mark.sanitized
def test_metadata(draw, flamerun, tmp_path):
    info = pixels.output_of("pdfinfo", draw.file(("--title", "Another title"), "pdf")).decode()
    assert re.search(r"^Title: +Another title$", info, re.M)
    assert re.search(r"^Creator: +flamerun ", info, re.M)
    assert "CreationDate" not in info
    root = ElementTree.parse(draw.file(("--title", "Another title"), "svg")).getroot()
    assert root.find(f"{SVG}title").text == "Another title"


@pytest.mark.sanitized
@pytest.mark.parametrize("name", FORMATS)
def test_source_date_epoch_and_equal_bytes(flamerun, tmp_path, name):
    (tmp_path / "in").write_text(STACKS)

    inherited = {key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"}

    def once(**environment):
        return subprocess.run([flamerun, "--no-config", "-q", "render", "in", "-o", "-", "--format",
                               name], cwd=tmp_path, stdout=subprocess.PIPE, check=True,
                              env={**inherited, "TZ": "ZONE-5", **environment},
                              timeout=60).stdout

    assert once() == once()
    dated = once(SOURCE_DATE_EPOCH="1000000000")
    assert dated == once(SOURCE_DATE_EPOCH="1000000000")
    if name == "pdf":
        assert b"20010909014640" in dated and dated != once()
        assert once(SOURCE_DATE_EPOCH="soon") == once()


@pytest.mark.sanitized
@pytest.mark.parametrize("name", FORMATS)
def test_a_run_takes_the_same_options(run, tmp_path, name):
    result = run("-q", "--no-config", "-o", f"x.{name}", "--width", "320", "--ground", "dark", "--",
                 "true")
    assert result.returncode == 0
    picture = pixels.read(tmp_path / f"x.{name}")
    assert abs(picture.width - 640) <= 1
    assert max(corner(picture)) < 64


def test_a_pdf_of_a_run_is_dated(run, tmp_path):
    run("-q", "--no-config", "-o", "x.pdf", "--", "true")
    assert "CreationDate" in pixels.output_of("pdfinfo", tmp_path / "x.pdf").decode()
