# SPDX-License-Identifier: MIT
"""A headless Firefox, driven directly through Marionette, the protocol that geckodriver uses."""

import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import pytest

from webdriver import Browser

# https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html
COMMANDS = {
    "POST /url": "Navigate", "GET /url": "GetCurrentURL", "POST /execute/sync": "ExecuteScript",
    "POST /actions": "PerformActions", "POST /back": "Back", "POST /forward": "Forward",
    "POST /print": "Print", "GET /screenshot": "TakeScreenshot",
    "POST /window/rect": "SetWindowRect",
}
PREFERENCES = {
    "marionette.port": 0,  # any free one
    "app.update.disabledForTesting": True, "app.normandy.enabled": False,
    "browser.shell.checkDefaultBrowser": False, "browser.startup.page": 0,
    "browser.aboutwelcome.enabled": False, "browser.newtabpage.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False, "toolkit.telemetry.enabled": False,
    "extensions.update.enabled": False, "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False, "services.settings.server": "data:,",
    "termsofuse.bypassNotification": True, "privacy.reduceTimerPrecision": False,
    "dom.events.testing.asyncClipboard": True,
}
CONTEXT = "gBrowser.selectedBrowser.browsingContext"
MEDIA = f"const context = {CONTEXT};" """
    for (const [name, value] of Object.entries(arguments[0])) {
        if (name === 'prefers-color-scheme')
            context.prefersColorSchemeOverride = value;
        else if (name === 'forced-colors')
            context.forcedColorsOverride = value;
        else if (name === 'prefers-reduced-motion')
            Services.prefs.setIntPref('ui.prefersReducedMotion', Number(value === 'reduce'));
        else if (value !== 'no-preference')
            return name;
    }
    return '';"""


PHONE = f"const context = {CONTEXT};" """
    const [is, width, height] = arguments, {style} = gBrowser.selectedBrowser;
    Services.prefs.setBoolPref('dom.meta-viewport.enabled', is);
    for (const which of ['primary', 'all'])
        if (is)
            Services.prefs.setIntPref(`ui.${which}PointerCapabilities`, 1);  // coarse, no hover
        else
            Services.prefs.clearUserPref(`ui.${which}PointerCapabilities`);
    context.inRDMPane = is;
    context.touchEventsOverride = is ? 'enabled' : 'none';
    context.overrideDPPX = is ? 2 : 0;
    style.maxWidth = is ? `${width}px` : '';
    style.maxHeight = is ? `${height}px` : '';"""


class Firefox(Browser):
    """
    A browser with the methods of webdriver.Browser. A test that needs Chromium's DevTools is
    skipped.
    """

    def __init__(self, width=1280, height=900, scripts=True):
        self.data = tempfile.mkdtemp(prefix="flamerun-firefox-")
        self.socket = None
        self.calls = 0
        preferences = {**PREFERENCES, "javascript.enabled": scripts}
        (pathlib.Path(self.data) / "user.js").write_text("".join(
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
            for name, value in preferences.items()))
        self.driver = subprocess.Popen(
            [shutil.which("firefox") or "firefox-esr", "--headless", "--no-remote",
             "--marionette", "--remote-allow-system-access", "--profile", self.data],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.socket = self._connect()
            self._message()  # a greeting, with the protocol's version
            self._command("WebDriver:NewSession", {"acceptInsecureCerts": False})
            self.resize(width, height)
        except BaseException:
            self.close()
            raise

    def close(self):
        if self.socket:
            self.socket.close()
        self.driver.terminate()
        try:
            self.driver.wait(20)
        except subprocess.TimeoutExpired:
            self.driver.kill()
            self.driver.wait()
        shutil.rmtree(self.data, ignore_errors=True)

    def _connect(self):
        port = pathlib.Path(self.data) / "MarionetteActivePort"
        deadline = time.monotonic() + 60
        while True:
            try:
                return socket.create_connection(("127.0.0.1", int(port.read_text())), 60)
            except (OSError, ValueError):
                assert time.monotonic() < deadline and self.driver.poll() is None
            time.sleep(0.05)

    def _receive(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise RuntimeError("Firefox is gone")
            data += piece
        return data

    def _message(self):
        length = b""
        while not length.endswith(b":"):
            length += self._receive(1)
        return json.loads(self._receive(int(length[:-1])))

    def _command(self, name, parameters):
        self.calls += 1
        message = json.dumps([0, self.calls, name, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, value = self._message()
        if error:
            raise RuntimeError(f"{error['error']}: {error['message']}")
        return value

    def call(self, method, path, body=None):
        name = COMMANDS[f"{method} {path}"]
        body = dict(body or {})
        if name == "ExecuteScript":
            body["newSandbox"] = False  # keeps the script's variables
        if name == "TakeScreenshot":
            body["full"] = False
        value = self._command(f"WebDriver:{name}", body)
        return value["value"] if isinstance(value, dict) and set(value) == {"value"} else value

    def cdp(self, command, **parameters):
        pytest.skip(f"only Chromium has {command}")

    def _run_in_chrome(self, script, *arguments):
        """Run a script in the browser's own window, not in the page."""
        self._command("Marionette:SetContext", {"value": "chrome"})
        try:
            return self.run(script, *arguments)
        finally:
            self._command("Marionette:SetContext", {"value": "content"})

    def media(self, **features):
        unknown = self._run_in_chrome(MEDIA, {name.replace("_", "-"): value
                                              for name, value in features.items()})
        if unknown:
            pytest.skip(f"Firefox cannot be told {unknown}")

    def fingers(self, has):
        self._run_in_chrome(f"{CONTEXT}.touchEventsOverride = arguments[0]",
                            "enabled" if has else "none")

    def phone(self, width, height):
        # As in Firefox's responsive mode, the page is made narrow, but its window stays as it is.
        self._run_in_chrome(PHONE, True, width, height)

    def desk(self):
        self._run_in_chrome(PHONE, False, 0, 0)

    def viewport(self, width, height, ratio=1):
        self._run_in_chrome(f"{CONTEXT}.overrideDPPX = arguments[0]", ratio)
        self.resize(width, height)
        around = self.run("return [outerWidth - innerWidth, outerHeight - innerHeight]")
        self.resize(width + around[0], height + around[1])
        if self.run("return innerWidth") != width:
            pytest.skip(f"Firefox has no windows {width} px wide")

    def resize_back(self):
        self._run_in_chrome(f"{CONTEXT}.overrideDPPX = 0")

    def allow_clipboard(self, allowed):
        pass  # PREFERENCES allow it
