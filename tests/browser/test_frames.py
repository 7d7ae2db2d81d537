# SPDX-License-Identifier: MIT
"""After many events in one animation frame, the graph is drawn once and the URL is written once."""

from viewing import show

COUNT = """
window.drawn = window.written = 0;
const paint = CanvasRenderingContext2D.prototype.clearRect;
CanvasRenderingContext2D.prototype.clearRect = function (...area) {
    window.drawn++;
    paint.apply(this, area);
};
const write = history.replaceState;
history.replaceState = (...state) => {
    window.written++;
    write.apply(history, state);
};"""
TURN = """
const canvas = document.querySelector('canvas'), area = canvas.getBoundingClientRect();
for (let i = 0; i < 20; i++)
    canvas.dispatchEvent(new WheelEvent('wheel', {ctrlKey: true, deltaY: -10, cancelable: true,
        clientX: (area.left + area.right) / 2, clientY: area.bottom - 40}));
requestAnimationFrame(() => requestAnimationFrame(() => { window.later = window.drawn; }));
return window.drawn"""


def test_many_turns_of_the_wheel_are_one_frame(viewer, known):
    show(viewer, known)
    viewer.run(COUNT)
    assert viewer.run(TURN) == 0
    viewer.wait("window.later !== undefined")
    assert viewer.run("return window.later") == 1
    viewer.wait("location.hash.includes('span')")
    assert viewer.run("return window.written") == 1


def test_the_url_is_written_when_typing_rests(viewer, known):
    show(viewer, known)
    viewer.run(COUNT)
    viewer.run("""
        const field = document.querySelector('.search input');
        for (const text of ['s', 'st', 'str']) {
            field.value = text;
            field.dispatchEvent(new Event('input'));
        }""")
    assert viewer.run("return location.hash") == ""
    viewer.wait("location.hash === '#search=str'")
    assert viewer.run("return window.written") == 1


def test_a_click_has_its_first_frame_to_itself(viewer, known):
    """
    The graph is not drawn in the frame of the click, because the click's other changes to the page
    take long.
    """
    show(viewer, known)
    viewer.run(COUNT)
    viewer.run("""
        const {left, right, top, height} = flamerun.boxes.find(box => box.name === 'Compile');
        const canvas = document.querySelector('canvas');
        requestAnimationFrame(() => {
            for (const type of ['pointerdown', 'pointerup'])
                canvas.dispatchEvent(new PointerEvent(type, {clientX: (left + right) / 2, button: 0,
                    clientY: top + height / 2, pointerId: 1, pointerType: 'mouse', bubbles: true}));
            requestAnimationFrame(() => { window.first = window.drawn; });
        });""")
    viewer.wait("window.first !== undefined && !flamerun.animating")
    assert viewer.run("return window.first") == 0 and viewer.run("return window.drawn") > 1
