"""A real Chromium, driven by its DevTools protocol over a pipe."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

# The protocol is spoken on descriptors 3 and 4; the shell hands it our ends of standard input and
# output under those numbers.
_LAUNCH = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1'
_SECONDS = 60.0


def chromium() -> str | None:
    """The browser's program, if there is one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


class Browser:
    """One browser with one page at a time."""

    def __init__(self, program: str, profile: Path) -> None:
        arguments = [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--no-first-run", "--disable-dev-shm-usage", "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _LAUNCH, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._count = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session = None
        self._send("Browser.close", {})
        try:
            self._process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its answer."""
        number = self._send(method, parameters)
        while True:
            message = self._receive()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                answer: dict[str, Any] = message["result"]
                return answer
            if "method" in message:
                self.events.append(message)

    def open(self, address: str, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Open a page and wait until it is loaded."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=address)
        self.wait(lambda: any(e["method"] == "Page.loadEventFired" for e in self.events))

    def wait(self, ready: Callable[[], bool]) -> None:
        """Wait until something is so."""
        deadline = time.monotonic() + _SECONDS
        while not ready():
            if time.monotonic() > deadline:
                raise TimeoutError("the browser must become ready, got nothing")
            self.call("Runtime.evaluate", expression="1")

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key: str, code: int, modifiers: int = 0) -> None:
        """Press and release a key."""
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def screenshot(self, path: Path, top: float = 0.0, height: float | None = None) -> None:
        """Take a picture of the page, or of a stripe of it."""
        width, whole = self.run("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": top, "width": width, "height": height or whole, "scale": 1}
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _send(self, method: str, parameters: dict[str, Any]) -> int:
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        stdin = self._process.stdin
        if stdin is not None:
            stdin.write(json.dumps(message).encode() + b"\0")
            stdin.flush()
        return self._count

    def _receive(self) -> dict[str, Any]:
        stdout, read = self._process.stdout, bytearray()
        while stdout is not None and (byte := stdout.read(1)) not in (b"\0", b""):
            read += byte
        if not read:
            raise RuntimeError("the browser must answer, got its end")
        message: dict[str, Any] = json.loads(read)
        return message
