# SPDX-License-Identifier: MIT
"""
A headless Chromium, driven through chromedriver's HTTP interface (W3C WebDriver) without a library.

Windows, fingers, the wheel and the clipboard are methods of Browser, so that tests need not use
DevTools themselves. Firefox has the same methods through Marionette. If Firefox cannot do what a
method requires, the test is skipped.
"""

import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe",  # needs no name service, and no port
]
# Chromium without a desktop's windows, with which the tests take two thirds of the time.
SHELL = os.environ.get("BROWSER") != "chromium" and shutil.which("chromium-headless-shell")
PATIENCE_S = 60  # with a browser that hangs; a busy machine may need much of it
# https://www.w3.org/TR/webdriver2/#keyboard-actions
KEYS = {"Backspace": "\ue003", "Tab": "\ue004", "Enter": "\ue007", "Shift": "\ue008",
        "Control": "\ue009", "Alt": "\ue00a", "Escape": "\ue00c", "End": "\ue010",
        "Home": "\ue011", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014",
        "ArrowDown": "\ue015", "PageUp": "\ue00e", "PageDown": "\ue00f", "F10": "\ue03a"}


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    """A browser with a new profile, as a context manager."""

    def __init__(self, *flags, width=1280, height=900, scripts=True, is_whole=False):
        self.data = tempfile.mkdtemp(prefix="flamerun-chromium-")
        self.port = _free_port()
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={self.port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = None
        options = {"args": [*FLAGS, f"--user-data-dir={self.data}",
                            f"--window-size={width},{height}", *flags]}
        if not scripts:
            options["prefs"] = {"profile.managed_default_content_settings.javascript": 2}
        # chromium-headless-shell ignores preferences, so `scripts` needs the whole browser.
        if SHELL and scripts and not is_whole:
            options["binary"] = self._shell()
        try:
            self._wait_for_driver()
            self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": options}}})["sessionId"]
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            if self.session:
                self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            shutil.rmtree(self.data, ignore_errors=True)

    def _shell(self):
        """Make a script that starts the shell with a page, because chromedriver waits for one."""
        command = pathlib.Path(self.data) / "shell"
        command.write_text(f'#!/bin/sh\nexec {SHELL} "$@" about:blank\n')
        command.chmod(0o755)
        return str(command)

    def _wait_for_driver(self):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                if self.call("GET", "/status")["ready"]:
                    return
            except OSError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def call(self, method, path, body=None):
        if self.session:
            path = f"/session/{self.session}{path}"
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from None

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """Run a script in the page. Returns the value of the script's `return`."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, expression, seconds=PATIENCE_S):
        """Wait until a JavaScript expression is true. Returns its value."""
        deadline = time.monotonic() + seconds
        while True:
            value = self.run(f"return {expression}")
            if value:
                return value
            assert time.monotonic() < deadline, f"never true: {expression}"
            time.sleep(0.02)

    def pointer(self, x, y, click=False):
        actions = [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}]
        if click:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.call("POST", "/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
             "actions": actions}]})

    def keys(self, *keys):
        """
        Press keys one after the other. In "Shift+Enter" the first key is held while the second is
        pressed.
        """
        actions = []
        for key in keys:
            held = [KEYS.get(one, one) for one in (key.split("+") if len(key) > 1 else [key])]
            actions += [{"type": "keyDown", "value": value} for value in held]
            actions += [{"type": "keyUp", "value": value} for value in reversed(held)]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard",
                                                    "actions": actions}]})

    def cdp(self, command, **parameters):
        """Run one command of the DevTools protocol."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def touch(self, *fingers):
        """
        Touch with fingers. Each goes down at the first of its points (x, y) and moves on to the
        others.
        """
        self.call("POST", "/actions", {"actions": [
            {"type": "pointer", "id": f"finger{i}", "parameters": {"pointerType": "touch"},
             "actions": [{"type": "pointerMove", "x": round(path[0][0]), "y": round(path[0][1]),
                          "duration": 0},
                         {"type": "pointerDown", "button": 0},
                         *({"type": "pointerMove", "x": round(x), "y": round(y), "duration": 50}
                           for x, y in path[1:]),
                         {"type": "pointerUp", "button": 0}]}
            for i, path in enumerate(fingers)]})

    def wheel(self, x, y, down, held):
        """Turn the wheel by `down` CSS pixels while the key `held` is down."""
        pauses = [{"type": "pause", "duration": 0}] * 2
        self.call("POST", "/actions", {"actions": [
            {"type": "key", "id": "keyboard", "actions": [
                {"type": "keyDown", "value": KEYS[held]}, *pauses[1:],
                {"type": "keyUp", "value": KEYS[held]}]},
            {"type": "wheel", "id": "wheel", "actions": [
                *pauses[1:], {"type": "scroll", "x": round(x), "y": round(y), "deltaX": 0,
                              "deltaY": down, "duration": 0, "origin": "viewport"}]}]})

    def fingers(self, has):
        """Let the page have a touch screen, or none."""
        self.cdp("Emulation.setTouchEmulationEnabled", enabled=has,
                 **({"maxTouchPoints": 2} if has else {}))

    def resize(self, width, height):
        self.call("POST", "/window/rect", {"width": width, "height": height})

    def viewport(self, width, height, ratio=1):
        """
        Give the page this number of CSS pixels, each of `ratio` device pixels, until resize_back().
        """
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=ratio, mobile=False)

    def phone(self, width, height):
        """Give the page a phone's touch screen of this number of CSS pixels, until desk()."""
        self.fingers(True)
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=2, mobile=True)

    def desk(self):
        self.resize_back()
        self.fingers(False)

    def resize_back(self):
        self.cdp("Emulation.clearDeviceMetricsOverride")

    def allow_clipboard(self, allowed):
        if allowed:
            self.cdp("Browser.grantPermissions",
                     permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        else:
            self.cdp("Browser.resetPermissions")

    def media(self, **features):
        """Emulate media features, e.g. media(prefers_color_scheme="dark")."""
        self.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
            "features": [{"name": name.replace("_", "-"), "value": value}
                         for name, value in features.items()]}})

    def screenshot(self):
        return base64.b64decode(self.call("GET", "/screenshot"))
