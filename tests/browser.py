"""Headless Chromium, spoken to over a pipe: no driver, no port, no package."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60.0  # seconds for one answer; a machine may be busy


def installed():
    """Where Chromium is, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of one browser; use it in a with statement."""

    def __init__(self):
        self._profile = tempfile.mkdtemp(prefix="unrelu-browser-")
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()

        def three_and_four():  # where Chromium expects its pipe
            os.dup2(theirs_in, 103)
            os.dup2(theirs_out, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self._process = subprocess.Popen(
            [
                installed(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
                f"--user-data-dir={self._profile}",
                "about:blank",
            ],
            preexec_fn=three_and_four,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._numbers, self._rest = itertools.count(1), b""
        self.events = []
        targets = self._call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method, **parameters):
        """Ask the page."""
        return self._call(method, session=self._session, **parameters)

    def _call(self, method, session=None, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _read(self):
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            chunk = os.read(self._from, 1 << 20) if ready else b""
            assert chunk, "the browser does not answer"
            self._rest += chunk
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def size(self, width, height):
        """Of the window, as a phone or a desk would have it."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def open(self, path):
        """Load a file and wait until it is all there."""
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        until = time.monotonic() + PATIENCE
        while self.run("document.readyState") != "complete" or "report" not in self.run("location.href"):
            assert time.monotonic() < until, "the page does not finish loading"
            time.sleep(0.05)

    def run(self, script):
        """The value of an expression on the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def errors(self):
        """What the console would show in red."""
        self.run("1")  # whatever was on its way is here now
        found = []
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(event["params"]["exceptionDetails"]["text"])
            if event.get("method") == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning"):
                found.append(str(event["params"]["args"]))
            if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                found.append(event["params"]["entry"]["text"])
        return found

    def requests(self):
        """Every address the page asked for."""
        self.run("1")
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def media(self, medium="", scheme="light"):
        """Paper instead of a screen, or a reader who likes it dark."""
        self.call(
            "Emulation.setEmulatedMedia", media=medium, features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def key(self, name, **more):
        """Press a key and let it go."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, **more)

    def enter(self):
        """The key that follows a link and opens what is folded."""
        self.key("Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")

    def faults(self):
        """What axe-core finds of serious or critical faults for readers who hear, enlarge or cannot use a mouse."""
        import axe_core_python

        if not self.run("'axe' in window"):
            self.run(Path(axe_core_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8") + ";0")
        return self.run(
            "axe.run().then(found => found.violations.filter(v => ['serious', 'critical'].includes(v.impact))"
            ".map(v => [v.id, v.nodes.slice(0, 3).map(n => n.html.slice(0, 120))]))"
        )

    def tiny_text(self, smallest):
        """How many elements have text of their own below so many pixels."""
        return self.run(
            "[...document.querySelectorAll('body *')].flatMap(e => {"
            " const own = [...e.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());"
            " const before = getComputedStyle(e, '::before'), after = getComputedStyle(e, '::after');"
            " return [...(own ? [getComputedStyle(e)] : []), ...[before, after].filter(s => s.content !== 'none')]"
            f"}}).filter(style => parseFloat(style.fontSize) < {smallest}).length"
        )

    def hidden(self, selector):
        """The words of elements that a reader cannot get to see by scrolling the page.

        They are folded away, or a box around them cuts them off, or, scrolled to, something else lies uppermost.
        """
        self.run("document.documentElement.style.scrollBehavior = 'auto'")
        return self.run(
            f"[...document.querySelectorAll('{selector}')].filter(e => {{"
            " if (!e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return true;"
            " const own = e.getBoundingClientRect();"
            " for (let box = e.parentElement; box !== document.body; box = box.parentElement) {"
            "  const edge = box.getBoundingClientRect();"
            "  if (getComputedStyle(box).overflow !== 'visible' && (own.bottom > edge.bottom + 0.5"
            "   || own.top < edge.top - 0.5 || own.right > edge.right + 0.5 || own.left < edge.left - 0.5)) return true"
            " }"
            " e.scrollIntoView({ block: 'center' });"
            " const box = e.getBoundingClientRect(), y = (box.top + box.bottom) / 2;"
            " const places = [box.left + 3, (box.left + box.right) / 2, box.right - 3];"
            " return places.some(x => !e.contains(document.elementFromPoint(x, y)))"
            "}).map(e => e.textContent)"
        )

    def screenshot(self, path, whole=True):
        """A picture of the page."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        Path(path).write_bytes(base64.b64decode(data))
