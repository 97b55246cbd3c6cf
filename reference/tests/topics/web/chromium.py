"""A headless Chromium, driven over its debugging pipe."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any


class Browser:
    """One browser with a profile of its own."""

    def __init__(self, profile: Path) -> None:
        command_reader, self._commands = os.pipe()
        self._answers, answer_writer = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        start = f'exec "$@" 3<&{command_reader} 4>&{answer_writer}'
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            ["bash", "-c", start, "bash", "chromium", *options, f"--user-data-dir={profile}"],
            pass_fds=(command_reader, answer_writer),
            stderr=subprocess.DEVNULL,
        )
        os.close(command_reader)
        os.close(answer_writer)
        self._left, self._id = b"", 0

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """One command and its answer."""
        self._id += 1
        command = {"id": self._id, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            while b"\0" not in self._left:
                self._left += os.read(self._answers, 65536)
            line, _, self._left = self._left.partition(b"\0")
            answer = json.loads(line)
            if answer.get("id") == self._id:
                return answer["result"]  # type: ignore[no-any-return]

    def open(self, url: str, *, width: int = 1280, height: int = 800) -> Page:
        """A page of this size."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        page = Page(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", page.session, **size)
        self.call("Page.navigate", page.session, url=url)
        return page

    def close(self) -> None:
        """End the browser."""
        os.close(self._commands)
        self._process.wait(timeout=20)
        os.close(self._answers)


class Page:
    """An open page."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self.session = browser, session

    def __call__(self, expression: str) -> Any:
        """The value of an expression in the page."""
        evaluation = self._browser.call("Runtime.evaluate", self.session, expression=expression, returnByValue=True)
        return evaluation["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Until it is true."""
        deadline = time.monotonic() + 60
        while not self(expression):
            assert time.monotonic() < deadline, self("document.documentElement.outerHTML")
            time.sleep(0.05)

    def dark(self) -> None:
        """As a reader with a dark desktop sees it."""
        features = [{"name": "prefers-color-scheme", "value": "dark"}]
        self._browser.call("Emulation.setEmulatedMedia", self.session, features=features)

    def picture(self, name: str) -> None:
        """Keep a picture of what is seen, where BUSPROOF_SCREENSHOTS says; docs/images are made so."""
        if folder := os.environ.get("BUSPROOF_SCREENSHOTS"):
            shot = self._browser.call("Page.captureScreenshot", self.session, format="png")
            Path(folder, name).write_bytes(base64.b64decode(shot["data"]))
