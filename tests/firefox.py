"""Firefox, driven by Marionette: what comes with it suffices, without a driver of its own."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from .waiting import PATIENCE


class Firefox:
    """A headless Firefox with a profile of its own.

    Commands are JSON behind its length and a colon: ``[0, number, name, parameters]``, answered by ``[1, number, error,
    result]`` (firefox-source-docs, Marionette, Protocol).
    """

    def __init__(self, program: str, profile: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        profile.mkdir()
        (profile / "user.js").write_text(
            f'user_pref("marionette.port", {port});\nuser_pref("app.update.enabled", false);\n'
            'user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);\n'
        )
        command = [program, "--marionette", "--headless", "--no-remote", "--profile", str(profile)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._number = 0
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
                break
            except OSError:
                assert time.monotonic() < end, "Firefox does not start"
                time.sleep(0.2)
        self._read()
        self.do("WebDriver:NewSession")
        self.do("WebDriver:SetWindowRect", width=1280, height=900)

    def do(self, name: str, **parameters: Any) -> Any:
        """Give a command, and return its result."""
        self._number += 1
        sent = json.dumps([0, self._number, name, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(sent), sent))
        _, _, error, result = self._read()
        assert error is None, error
        return result

    def run(self, code: str) -> Any:
        """Run a function's body in the page, and return its result."""
        return self.do("WebDriver:ExecuteScript", script=code, args=[])["value"]

    def press(self, key: str) -> None:
        """Press and release one key, as a person does: what needs a person's gesture, such as sound, may follow."""
        strokes = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self.do("WebDriver:PerformActions", actions=[{"type": "key", "id": "keyboard", "actions": strokes}])

    def until(self, expression: str) -> None:
        """Wait until something in the page is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(f"return {expression}"):
            assert time.monotonic() < end, expression
            time.sleep(0.1)

    def close(self) -> None:
        self.do("Marionette:Quit", flags=["eForceQuit"])
        self._socket.close()
        self._process.wait(PATIENCE)

    def _read(self) -> Any:
        size = b""
        while not size.endswith(b":"):
            size += self._receive(1)
        return json.loads(self._receive(int(size[:-1])))

    def _receive(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            part = self._socket.recv(size - len(found))
            assert part, "Firefox has ended"
            found += part
        return found
