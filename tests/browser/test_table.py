# SPDX-License-Identifier: MIT
"""The table of functions and their costs: by pointer, keys and screen reader; ways to the graph."""

import pytest

from conftest import KNOWN, render
from test_access import AXE, focus, told
from viewing import click, fact, press, push, show, text

BY_SELF = ["strcmp", "write_out", "Compile", "read_token", "[unsampled]",
           "std::map<Key, Value>::find", "main", "emit", "parse", "start"]


def rows(browser):
    """The cells of the rows that exist, in order, with plain spaces instead of narrow ones."""
    return browser.run("""return [...document.querySelectorAll('.rows .row')].map(row =>
        [...row.children].map(cell => cell.textContent.replace(/\u202f/g, ' ')))""")


def names(browser):
    return [row[0] for row in rows(browser)]


def wait_for(browser, view):
    browser.wait(f"document.querySelector('.views [aria-pressed=true]').className === 'views-{view}'"
                 " && !flamerun.animating")


def open_table(browser):
    press(browser, "t")
    wait_for(browser, "table")


def active(browser):
    """
    If a row has the focus: [its name, whether it is selected]; for another element: [its tag, ''].
    """
    return browser.run("""const at = document.activeElement;
        return at.getAttribute('role') === 'row'
            ? [at.firstChild.textContent, at.getAttribute('aria-selected')] : [at.localName, '']""")


def test_each_function_once_with_what_it_costs(viewer):
    open_table(viewer)
    assert names(viewer) == BY_SELF
    assert rows(viewer)[0] == ["strcmp", "", "400 samples", "40.0 %", "400 samples", "40.0 %"]
    assert rows(viewer)[6] == ["main", "", "0 samples", "0 %", "900 samples", "90.0 %"]
    assert viewer.run("return [...document.querySelectorAll('.rows .row > span')].every("
                      "one => one.scrollWidth <= one.clientWidth)")


def test_a_term_of_the_filter_is_one_of_the_table(viewer, known):
    show(viewer, known, "#view=table&focus=parse")
    assert names(viewer) == ["read_token", "std::map<Key, Value>::find", "strcmp", "main", "parse"]
    assert rows(viewer)[2][2:] == ["100 samples", "33.3 %", "100 samples", "33.3 %"]


def test_by_keys_alone(viewer):
    open_table(viewer)
    assert active(viewer) == ["strcmp", "false"]
    press(viewer, "ArrowDown")
    assert active(viewer) == ["write_out", "true"]
    press(viewer, "End")
    assert active(viewer) == ["start", "true"]
    press(viewer, "PageUp", "ArrowUp")
    assert active(viewer)[0] == BY_SELF[0]
    press(viewer, "ArrowRight")  # sorts by total
    assert names(viewer)[:3] == ["main", "Compile", "emit"]
    assert active(viewer) == ["strcmp", "true"]
    focus(viewer, "Function", "Shift+Tab")
    viewer.keys("Enter")
    assert names(viewer) == sorted(BY_SELF)
    viewer.keys("Enter")
    assert names(viewer) == sorted(BY_SELF, reverse=True)
    assert viewer.run("return document.querySelector('.spoken').textContent") \
        == "sorted by function, falling"
    assert viewer.run("return document.activeElement.textContent").startswith("Function")


def test_enter_shows_it_in_the_graph_and_escape_leads_out(viewer):
    open_table(viewer)
    press(viewer, "ArrowDown", "ArrowUp", "Enter")
    wait_for(viewer, "graph")
    assert fact(viewer, "selected") == "strcmp"
    assert "300 samples" in text(viewer, ".details")  # the heavier one of its two boxes
    assert viewer.run("return document.activeElement.localName") == "canvas"
    press(viewer, "ArrowDown")
    open_table(viewer)
    assert active(viewer) == ["emit", "true"]
    assert "Total 500 samples · 50.0 %" in text(viewer, ".details")
    press(viewer, "Escape")
    wait_for(viewer, "graph")
    assert fact(viewer, "selected") == "emit"


def test_a_narrow_box_is_brought_into_sight(viewer, tmp_path):
    stacks = b"a;wide 100000\na;b;narrow 3\na;b;c;deep 1\n"
    show(viewer, render(stacks, tmp_path / "narrow.svg"))
    open_table(viewer)
    press(viewer, "End")
    while active(viewer)[0] != "deep":
        press(viewer, "ArrowUp")
    press(viewer, "Enter")
    wait_for(viewer, "graph")
    deep = [b for b in fact(viewer, "boxes") if b["name"] == "deep"]
    assert fact(viewer, "selected") == "deep" and deep[0]["right"] - deep[0]["left"] > 100


def test_a_click_selects_and_another_one_opens(viewer):
    open_table(viewer)
    push(viewer, ".rows .row:nth-child(3)")
    assert active(viewer) == ["Compile", "true"]
    assert text(viewer, ".details").startswith("Compile")
    push(viewer, ".rows .row:nth-child(3)")
    wait_for(viewer, "graph")
    assert fact(viewer, "selected") == "Compile"


def test_the_search_field_filters(viewer):
    open_table(viewer)
    viewer.keys("/", *"str")
    assert names(viewer) == ["strcmp"] and text(viewer, ".count") == "1"
    assert "40.0 % of all" in text(viewer, ".matched")
    viewer.keys("Escape", *"E")
    assert names(viewer) == [one for one in BY_SELF if "e" in one.lower()]
    push(viewer, ".case")
    assert names(viewer) == []
    assert "No function" in text(viewer, ".rows")
    press(viewer, "ArrowDown", "Enter", "s", "End")  # there is no row to go to
    assert viewer.run("return document.querySelector('.views [aria-pressed=true]').className") == "views-table"
    push(viewer, ".case")
    push(viewer, ".regex")
    viewer.keys("/", "Escape", *"^(m|s)")
    viewer.wait("document.querySelectorAll('.rows .row').length === 4")
    assert names(viewer) == ["strcmp", "std::map<Key, Value>::find", "main", "start"]
    viewer.keys("Escape", "Escape")
    assert active(viewer)[0] in BY_SELF and names(viewer) == BY_SELF


def test_the_link_has_it_and_back_leads_back(viewer, known):
    open_table(viewer)
    assert viewer.run("return location.hash") == "#view=table"
    viewer.run("history.back()")
    wait_for(viewer, "graph")
    viewer.run("history.forward()")
    wait_for(viewer, "table")
    assert names(viewer) == BY_SELF
    show(viewer, known, "#view=table&search=strcmp")
    assert names(viewer) == ["strcmp"]


def test_the_link_has_the_order(viewer, known):
    open_table(viewer)
    press(viewer, "ArrowRight")
    assert viewer.run("return location.hash") == "#view=table&sort=total-falling"
    push(viewer, ".table-head span:nth-child(5) button")
    assert viewer.run("return location.hash") == "#view=table&sort=total-rising"
    push(viewer, ".table-head span:nth-child(3) button")
    assert viewer.run("return location.hash") == "#view=table"
    show(viewer, known, "#view=table&sort=name-falling")
    assert names(viewer) == sorted(BY_SELF, reverse=True)
    viewer.run("location.hash = 'view=table&sort=name-rising'")
    viewer.wait("document.querySelector('.rows .row').textContent.startsWith('Compile')")
    show(viewer, known, "#view=table&sort=nonsense")
    assert names(viewer) == BY_SELF
    press(viewer, "ArrowRight", "g")
    assert viewer.run("return location.hash") == ""


def test_a_screen_reader_is_told_a_table(viewer):
    open_table(viewer)
    press(viewer, "ArrowDown")
    nodes = told(viewer)
    assert [name for role, name, _ in nodes if role == "grid"] == ["Functions"]
    assert not [role for role, _, _ in nodes if role == "tree"]
    assert [name for role, name, _ in nodes if role == "columnheader"] \
        == ["Function", "Module", "Self ↓", "Self %", "Total", "Total %"]
    assert [name for role, name, _ in nodes if role == "rowheader"] == BY_SELF
    assert [properties.get("selected") for role, name, properties in nodes
            if role == "row"].count(True) == 1
    assert viewer.run("""return [document.querySelector('[role=grid]').getAttribute('aria-rowcount'),
        document.querySelector('[aria-sort]').textContent,
        document.querySelector('[aria-sort]').getAttribute('aria-sort'),
        document.activeElement.getAttribute('aria-rowindex')]""") == ["11", "Self ↓", "descending", "3"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", ["table", "sandwich&of=emit"])
def test_axe_finds_nothing(viewer, known, view, theme):
    if not AXE.exists():
        pytest.skip("no axe-core: npm install --prefix build axe-core")
    show(viewer, known, f"#view={view}&theme={theme}")
    viewer.run(AXE.read_text() + "; window.axe = axe")
    assert viewer.run("""return axe.run(document).then(({violations}) => violations.map(
        one => [one.id, one.nodes.map(node => node.failureSummary)]))""") == []


def test_of_many_rows_those_in_sight_are_made(viewer, tmp_path):
    stacks = b"".join(b"main;function_%d %d\n" % (i, i + 1) for i in range(100000))
    show(viewer, render(stacks, tmp_path / "many.svg"), "#view=table")
    viewer.wait("document.querySelectorAll('.rows .row').length")
    assert names(viewer)[0] == "function_99999" and len(rows(viewer)) < 80
    press(viewer, "End", "ArrowUp")
    assert active(viewer) == ["function_0", "true"] and len(rows(viewer)) < 80
    # The row with the focus stays, however far away the table is scrolled.
    viewer.run("document.querySelector('.table').scrollTop = 0")
    viewer.wait("document.querySelector('.rows .row').textContent.startsWith('function_99999')")
    assert active(viewer) == ["function_0", "true"]
    press(viewer, "Home")
    assert active(viewer) == ["function_99999", "true"]
    viewer.keys("/", *"function_777")
    assert len(rows(viewer)) < 80
    assert viewer.run("return document.querySelector('.table').getAttribute('aria-rowcount')") == "112"


def test_hostile_names_are_texts(viewer, tmp_path):
    stacks = "a;<img src=x onerror=alert(1)>:\u202egnp.exe 3\na;\x01b&amp:]]> 2\na;" + "x" * 5000 + " 1\n"
    show(viewer, render(stacks.encode(), tmp_path / "hostile.svg"), "#view=table")
    assert names(viewer)[0].startswith("<img src=x onerror=alert(1)>") and len(names(viewer)) == 4
    assert viewer.run("return document.querySelectorAll('.rows img').length") == 0
    assert viewer.run("const one = document.querySelector('.table');"
                      "return one.scrollWidth <= one.clientWidth")


def test_one_sample(viewer, tmp_path):
    show(viewer, render(b"a 1\n", tmp_path / "one.svg"), "#view=table")
    assert rows(viewer) == [["a", "", "1 sample", "100 %", "1 sample", "100 %"]]


def test_what_is_done_with_a_function_is_done_from_its_row(viewer):
    viewer.allow_clipboard(True)
    open_table(viewer)
    press(viewer, "ArrowDown", "ArrowUp", "x")
    viewer.run("""[...document.querySelectorAll('.menu button')]
        .find(one => one.innerText.startsWith('Only stacks with it')).click()""")
    viewer.wait("document.querySelectorAll('.rows .row').length === 6")
    assert names(viewer)[0] == "strcmp" and rows(viewer)[0][3] == "100 %"


def test_a_menu_gives_the_row_its_focus_back(viewer):
    open_table(viewer)
    press(viewer, "ArrowDown", "x")
    assert viewer.run("return document.activeElement.getAttribute('role')") == "menuitem"
    press(viewer, "Escape")
    assert active(viewer) == ["write_out", "true"]
    press(viewer, "ArrowDown", "x")
    viewer.run("[...document.querySelectorAll('.menu button')]"
               ".find(one => one.innerText === 'Hide it: its time is its caller\u2019s').click()")
    viewer.wait("location.hash.includes('hide=Compile')")
    viewer.wait("document.activeElement.getAttribute('role') === 'row'")
    press(viewer, "End")
    assert active(viewer) == ["start", "true"]
    press(viewer, "x")
    viewer.pointer(640, 740, click=True)
    viewer.wait("document.activeElement && document.activeElement.getAttribute('role') === 'row'")
    assert active(viewer) == ["start", "true"]


@pytest.mark.parametrize("item", ["Show in the graph", "Hot path"])
def test_what_a_menu_shows_in_the_graph_is_seen(viewer, item):
    open_table(viewer)
    press(viewer, "ArrowRight", "Home", "ArrowDown", "x")
    assert active(viewer)[0] == "button"
    viewer.run("[...document.querySelectorAll('.menu button')]"
               ".find(one => one.innerText === arguments[0]).click()", item)
    wait_for(viewer, "graph")
    viewer.wait("flamerun.selected === arguments[0]".replace(
        "arguments[0]", "'Compile'" if item.startswith("Show") else "'strcmp'"))


PRINTED = """
    dispatchEvent(new Event('beforeprint'));
    const texts = [...document.querySelectorAll('#flamerun-print text')].map(
        one => one.textContent.replace(/\u202f/g, ' '));
    dispatchEvent(new Event('afterprint'));
    return texts"""


def test_it_is_printed_as_text(viewer, known, tmp_path):
    show(viewer, known, "#view=table&search=r&sort=total-falling")
    texts = viewer.run(PRINTED)
    begin = texts.index("Function")
    assert texts[begin:begin + 6] == ["Function", "Module", "Self", "Self %", "Total", "Total %"]
    assert texts[begin + 6::6] == names(viewer)
    assert texts[begin + 6:begin + 12] == rows(viewer)[0]
    assert viewer.run("return document.querySelector('#flamerun-print')") is None
    many = b"".join(b"main;<b>function_%d 1\n" % i for i in range(300))
    show(viewer, render(many, tmp_path / "many.svg"), "#view=table")
    texts = viewer.run(PRINTED)
    assert "Rows 1 to 96 of 301" in texts and "<b>function_0" in texts
    assert len(texts) - texts.index("Function") == 6 * 97
    show(viewer, known, "#view=table&search=nothing")
    assert viewer.run(PRINTED)[-1] == "Total %"


def test_a_phone_has_three_columns(viewer, known):
    viewer.phone(360, 640)
    try:
        show(viewer, known, "#view=table")
        viewer.wait("document.querySelectorAll('.rows .row').length")
        seen = viewer.run("""return [...document.querySelector('.rows .row').children]
            .filter(one => one.offsetWidth).map(one => one.textContent)""")
        assert seen == ["strcmp", "400 samples", "400 samples"]
        assert viewer.run("return [...document.querySelectorAll('.table button, .rows .row')]"
                          ".every(one => !one.offsetWidth || one.offsetHeight >= 44)")
        at = viewer.run("""const area = document.querySelector('.rows .row').getBoundingClientRect();
            return [area.left + 50, area.top + 20]""")
        viewer.touch([at])
        assert active(viewer) == ["strcmp", "true"]
        viewer.touch([at])
        wait_for(viewer, "graph")
        assert fact(viewer, "selected") == "strcmp"
    finally:
        viewer.desk()
        viewer.open("about:blank")


def test_the_order_of_the_graph_stays(viewer):
    press(viewer, "b")
    click(viewer, "strcmp", 1)
    open_table(viewer)
    assert viewer.run("return document.querySelector('.bottom-up').disabled")
    press(viewer, "b", "i")
    assert active(viewer) == ["strcmp", "true"]
    press(viewer, "g")
    wait_for(viewer, "graph")
    assert fact(viewer, "bottomUp") and not fact(viewer, "icicle")
    assert fact(viewer, "selected") == "strcmp" and fact(viewer, "zoomed") == "strcmp"
    assert KNOWN.count("strcmp") == 2
