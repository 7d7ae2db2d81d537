# SPDX-License-Identifier: MIT
"""Functions that read the viewer's state, and that point, click and press keys in it."""

import contextlib
import http.server
import threading


@contextlib.contextmanager
def serve(picture, policies):
    """
    Serve a picture over http at the paths in @policies, each with its content security policy (None
    for no policy). Yields the URL without the path.
    """
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path in policies else 404)
            self.send_header("Content-Type", "image/svg+xml")
            if policies.get(self.path):
                self.send_header("Content-Security-Policy", policies[self.path])
            self.end_headers()
            self.wfile.write(picture.read_bytes())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as one:
        threading.Thread(target=one.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{one.server_port}"
        one.shutdown()


def show(viewer, picture, fragment=""):
    """Load a picture anew, even if only the fragment of the URL differs."""
    viewer.open("about:blank")
    viewer.open(picture.as_uri() + fragment)
    viewer.wait("window.flamerun")
    viewer.wait("!flamerun.animating")


def box(browser, name, row=None):
    """The only box on the screen whose name begins with @name: {left, right, top, height, ...}."""
    found = [b for b in browser.run("return flamerun.boxes")
             if b["name"].startswith(name) and (row is None or b["row"] == row)]
    assert len(found) == 1, f"{name}: {found}"
    return found[0]


def middle(b):
    return (b["left"] + b["right"]) / 2, b["top"] + b["height"] / 2


def click(browser, name, row=None):
    browser.pointer(*middle(box(browser, name, row)), click=True)
    browser.wait("!flamerun.animating")


def shares(browser):
    """{(row, name): width of the box as a fraction of the root's width}"""
    boxes = browser.run("return flamerun.boxes")
    whole = next(b["right"] - b["left"] for b in boxes if b["row"] == 0)
    return {(b["row"], b["name"]): (b["right"] - b["left"]) / whole for b in boxes if b["row"]}


def pixel(browser, x, y):
    """The colour [red, green, blue, alpha] of the canvas at a point of the window."""
    return browser.run("""
        const canvas = document.querySelector('canvas'), area = canvas.getBoundingClientRect();
        const ratio = canvas.width / area.width;
        return Array.from(canvas.getContext('2d').getImageData((arguments[0] - area.left) * ratio,
            (arguments[1] - area.top) * ratio, 1, 1).data)""", x, y)


def text(browser, selector):
    """The text of an element, with plain spaces instead of narrow ones."""
    return browser.run("return document.querySelector(arguments[0]).innerText",
                       selector).replace("\u202f", " ")


def press(browser, *keys):
    browser.keys(*keys)
    browser.wait("!flamerun.animating")


def push(browser, selector):
    """Click with the mouse on the middle of an element."""
    place = browser.run("""
        const area = document.querySelector(arguments[0]).getBoundingClientRect();
        return [(area.left + area.right) / 2, (area.top + area.bottom) / 2]""", selector)
    browser.pointer(*place, click=True)
    browser.wait("!flamerun.animating")


# Facts that can be read from the page. The object `flamerun` has only facts that cannot.
SEEN = {"bottomUp": "document.querySelector('.bottom-up').getAttribute('aria-pressed') === 'true'",
        "icicle": "document.querySelector('.icicle').getAttribute('aria-pressed') === 'true'",
        "times": "document.querySelector('.times [aria-pressed=true]').className.replace('times-', '')",
        "folded": "[...document.querySelectorAll('.chip')].some(c => c.innerText.includes('inlined folded'))"}


def fact(browser, name):
    return browser.run(f"return {SEEN.get(name, f'flamerun.{name}')}")


def pressed(browser, selector):
    return browser.run("return document.querySelector(arguments[0]).getAttribute('aria-pressed')",
                       selector) == "true"
