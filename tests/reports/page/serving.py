"""A small server for the page, as a real one would send it: addresses, policy, recordings by ranges."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from mirflow.reports.page.live import ASSETS, LivePage, asset

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "media-src 'self' blob:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
Answer = tuple[int, str, bytes]


@dataclass
class Site:
    """One page under `/stores/s/`, and recordings by track."""

    page: LivePage
    recordings: Mapping[str, Path] = field(default_factory=dict)
    origin: str = ""
    asked: list[str] = field(default_factory=list)
    fail: str = ""

    @property
    def address(self) -> str:
        return f"{self.origin}/stores/s/"

    def answer(self, target: str) -> Answer:
        """Status, media type and body."""
        path, query = unquote(urlsplit(target).path), parse_qs(urlsplit(target).query)
        if self.fail and self.fail in path:
            return 410, "text/plain", b"gone"
        if path == "/stores/s/":
            text = self.page.shell({name: f"/static/{name}" for name in ASSETS}, links=[("Results", "/")])
            return 200, "text/html; charset=utf-8", text.encode()
        if path == "/favicon.ico":
            return 204, "image/x-icon", b""
        if path.startswith("/static/"):
            name = path.removeprefix("/static/")
            return 200, ASSETS[name], asset(name)
        found: bytes | None = None
        kind, what = "application/json", path.removeprefix("/stores/s/report/")
        if what == "contents.json":
            found = self.page.contents()
        elif what.startswith("blocks/"):
            kind, found = "application/octet-stream", self.page.block(what.removeprefix("blocks/"))
        elif what.startswith("tracks/"):
            track = what.removeprefix("tracks/").removesuffix(".json")
            audio = f"/audio/{track}" if track in self.recordings else ""
            found = self.page.timeline(track, query.get("metric", [""])[0], audio)
        elif path.startswith("/audio/") and self.recordings[path.removeprefix("/audio/")].exists():
            kind, found = "audio/wav", self.recordings[path.removeprefix("/audio/")].read_bytes()
        return (404, "text/plain", b"") if found is None else (200, kind, found)


@contextmanager
def serving(page: LivePage, recordings: Mapping[str, Path] | None = None) -> Iterator[Site]:
    """Serve a page on a free port of this machine."""
    site = Site(page, recordings or {})

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.asked.append(self.path)
            status, kind, body = site.answer(self.path)
            part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if part and kind.startswith("audio/"):
                first, last = int(part[1]), int(part[2] or len(body) - 1)
                whole, body, status = len(body), body[first : last + 1], 206
                self.send_response(status)
                self.send_header("Content-Range", f"bytes {first}-{last}/{whole}")
            else:
                self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A browser that leaves in the middle of an answer is no error."""

    server = Server(("127.0.0.1", 0), Handler)
    site.origin = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield site
    server.shutdown()
    server.server_close()
    thread.join()
