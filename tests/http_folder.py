"""A folder on an HTTP server in a thread, which may fail as servers do."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote


@dataclass
class Folder:
    """What is served, how, and what was asked for."""

    path: Path
    ranges: bool = True
    """Whether parts of files are sent."""
    tags: bool = True
    """Whether files have an ETag."""
    failing: dict[str, int] = field(default_factory=dict)
    """Statuses in place of files: by the end of their path, once for each time in `times`."""
    times: int = 10**9
    broken: str = ""
    """End of the path of files that break off."""
    surplus: int = 0
    """Bytes that are sent after each part of a file."""
    dripping: str = ""
    """End of the path of files that are sent byte by byte."""
    elsewhere: str = ""
    """Address that all requests are led to."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Methods and paths, in order."""
    sent: int = 0
    """Bytes of files."""
    url: str = ""


@contextmanager
def serve_folder(path: Path) -> Iterator[Folder]:
    folder = Folder(path)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *words: object) -> None:
            pass

        def answer(self, status: int, data: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            if self.command == "GET" and status != 304:
                broken = folder.broken and self.path.endswith(folder.broken)
                self.close_connection = bool(broken)
                with suppress(ConnectionError):  # nobody waits for it any more
                    if folder.dripping and self.path.endswith(folder.dripping):
                        for byte in data:
                            self.wfile.write(bytes([byte]))
                            time.sleep(0.05)
                    self.wfile.write(data[: len(data) // 2] if broken else data)
                folder.sent += len(data)

        def do_GET(self) -> None:
            folder.asked.append((self.command, self.path))
            if folder.elsewhere:
                return self.answer(302, Location=folder.elsewhere + self.path)
            failing = next((end for end in folder.failing if self.path.endswith(end)), None)
            if failing is not None and folder.times > 0:
                folder.times -= 1
                return self.answer(folder.failing[failing])
            file = folder.path / unquote(self.path).lstrip("/")
            if not file.is_file():
                return self.answer(404)
            data = file.read_bytes()
            headers = {"ETag": f'"{hashlib.md5(data).hexdigest()}"'} if folder.tags else {}
            headers["Last_Modified"] = self.date_time_string(file.stat().st_mtime)
            if folder.tags and self.headers.get("If-None-Match") == headers["ETag"]:
                return self.answer(304, **headers)
            part = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "")) if folder.ranges else None
            if part is None:
                return self.answer(200, data, **headers)
            first = int(part[1]) if part[1] else max(0, len(data) - int(part[2]))
            last = min(int(part[2]), len(data) - 1) if part[1] and part[2] else len(data) - 1
            headers["Content_Range"] = f"bytes {first}-{last}/{len(data)}"
            return self.answer(206, data[first : last + 1] + bytes(folder.surplus), **headers)

        do_HEAD = do_GET

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    folder.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield folder
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
