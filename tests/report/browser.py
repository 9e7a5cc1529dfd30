"""A headless Chromium that tests talk to through its debugging pipe: no driver is needed."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np

from ident.arrays import Array

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PROGRAM = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = (
    *("--headless=new", "--no-sandbox", "--enable-unsafe-swiftshader", "--remote-debugging-pipe"),
    *("--window-size=900,600", "--force-color-profile=srgb", "--hide-scrollbars"),
)
# Chromium takes commands from descriptor 3 and answers on 4.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 20) for end in sys.argv[1:3]]
os.dup2(ends[0], 3), os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page in a browser of its own; what goes wrong on it is kept in ``troubles``."""

    def __init__(self, folder: Path, *flags: str) -> None:
        assert PROGRAM is not None
        self._folder = folder
        command, self._out = os.pipe()
        self._in, answer = os.pipe()
        ends = (str(command), str(answer))
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", LAUNCH, *ends, PROGRAM, *FLAGS),
                *(f"--user-data-dir={folder / 'profile'}", *flags, "about:blank"),
            ],
            pass_fds=(command, answer),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command)
        os.close(answer)
        self._rest, self._numbers, self._session = b"", itertools.count(1), ""
        self.troubles: list[str] = []
        self.asked_for: list[str] = []
        (target,) = (
            t for t in self._call("Target.getTargets")["targetInfos"] if t["type"] == "page"
        )
        attached = self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        self._process.wait(timeout=30)
        os.close(self._out)
        os.close(self._in)

    def open(self, page: bytes, ready: str) -> None:
        """Open a page and wait until ``ready``, an expression, is true there."""
        file = self._folder / "page.html"
        file.write_bytes(page)
        self._call("Page.navigate", url=file.as_uri())
        self.wait_for(ready)

    def run(self, script: str) -> Any:
        """Value of an expression on the page; a promise is awaited."""
        answer = self._call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait, for a minute at most, until an expression is true on the page."""
        came = self.run(
            "new Promise((done) => { const start = Date.now(), look = () => {"
            f" if ({condition}) done(true); else if (Date.now() - start > 60000) done(false);"
            " else setTimeout(look, 20); }; look(); })"
        )
        assert came, f"{condition} has not come true; {self.troubles}"

    def drag(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Drag with the left mouse button."""
        for kind, (x, y), held in (
            ("mousePressed", start, 1),
            ("mouseMoved", end, 1),
            ("mouseReleased", end, 0),
        ):
            self._call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                buttons=held,
                clickCount=1,
            )

    def picture(self) -> Array:
        """Pixels (rows, columns, 3) of what is seen, from 0 to 1."""
        png = b64decode(self._call("Page.captureScreenshot")["data"])
        return np.asarray(matplotlib.image.imread(BytesIO(png)))[..., :3]

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != number:
            self._note(answer)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._in, 1 << 16)
            assert piece, "the browser has ended"
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(message)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        match event:
            case {"method": "Network.requestWillBeSent", "params": {"request": {"url": url}}}:
                self.asked_for.append(url)
            case {"method": "Log.entryAdded", "params": {"entry": {"level": level} as entry}}:
                self._trouble(level, entry["text"])
            case {"method": "Runtime.consoleAPICalled", "params": {"type": level, "args": words}}:
                self._trouble(level, " ".join(str(word.get("value")) for word in words))
            case {"method": "Runtime.exceptionThrown", "params": {"exceptionDetails": details}}:
                self._trouble("error", str(details))

    def _trouble(self, level: str, text: str) -> None:
        # Drivers that draw in software remark on their speed.
        if level in {"error", "warning", "assert"} and "GL Driver Message" not in text:
            self.troubles.append(f"{level}: {text}")
