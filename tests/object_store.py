"""An S3 service for tests, in a process of its own."""

from __future__ import annotations

import atexit
import socket
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from .waiting import until

BUCKET = "bucket"


@cache
def _service() -> dict[str, str]:
    """Start the service, once for all tests of a process; returns the environment that leads to it."""
    pytest.importorskip("moto", reason="moto, an S3 service for tests, is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(port)], stdout=log, stderr=log)
    atexit.register(process.kill)

    def answers() -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    until(answers)
    environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    _client(environment).create_bucket(Bucket=BUCKET)
    return environment


def _client(environment: dict[str, str]) -> Any:
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=environment["AWS_ENDPOINT_URL"],
        region_name=environment["AWS_REGION"],
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
    )


def use_s3(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lead a test to the service; returns a client of boto3, whose bucket is `BUCKET`."""
    environment = _service()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return _client(environment)
