"""Clients of HTTP servers and object stores, and what their errors mean.

The package obstore is imported only where a URL is read. It finds credentials as the services' own tools do.
"""

from __future__ import annotations

import os
import re
import time
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from obstore.store import ObjectStore

NEEDED = "needs the package obstore: pip install 'mirflow[cloud]'"
CONNECT_SECONDS = 3
SILENT_SECONDS = 8
"""Seconds to wait for a connection, and for the next bytes of an answer."""
RETRY_SECONDS = 8
"""Seconds after which a failed request is not repeated: where nothing answers, a message comes within 12 seconds."""
_MOST_SECONDS = 3600
SLOWEST = 8 * 1024
"""Bytes a second that an answer must have on average, after the first seconds."""
PATIENCE = 30.0
"""Seconds for any answer, however short; longer than those after which a silent server is given up."""
TOO_SLOW = f"the server sends less than {SLOWEST // 1024} kB a second; try again later, or read a copy"
_NOWHERE = "127.0.0.1:0"
"""A proxy that no connection reaches."""
_SERVICES = ("AWS_", "GOOGLE_", "AZURE_")
_STATUS = re.compile(r"non-2xx status code: (\d{3})[ \w-]*")
_SILENT_SIGNS = {
    "failed to lookup address": "there is no such host; check the address and the network",
    "dns error": "there is no such host; check the address and the network",
    "ConnectionRefused": "no server answers there; check the address, and whether the server runs",
    "certificate": "the server's certificate is not valid; check the address",
    "InvalidContentType": "the server speaks no TLS; write http:// for https://, if it is to be trusted",
    "kind: Connect": "it cannot be reached; check the address and the network",
    "kind: Timeout": "the server does not answer; check the network, and try again",
}
_SIGNS = {
    "NoSuchBucket": "there is no such bucket or container; check the address",
    "ContainerNotFound": "there is no such bucket or container; check the address",
    "Invalid Access Key": "the account key is not valid; check AZURE_STORAGE_ACCOUNT_KEY",
    "credential error": "the credentials cannot be read; check the file that GOOGLE_APPLICATION_CREDENTIALS names",
    f"{_NOWHERE},": "the server leads to another host, which is not followed; if it is to be trusted, name that one",
    "error following redirect": "the server leads from address to address without end; check the address",
    "MissingContentLength": "the server does not say how long the file is; download it instead",
    "169.254.169.254": "there are no credentials; set those of the service, or AWS_NO_SIGN_REQUEST for public buckets",
    "MissingRegion": "no region is set; set AWS_REGION",
    "Account must be specified": "no account is named; set AZURE_STORAGE_ACCOUNT_NAME",
    **_SILENT_SIGNS,
    "kind: Interrupted": "the connection broke off; check the network, and try again",
    "kind: Decode": "the connection broke off; check the network, and try again",
}
"""What errors of the library contain, with a reason and a remedy; the first that fits counts."""
SILENCES = frozenset(_SILENT_SIGNS.values())
"""Reasons of `reason_of` that concern a host, whatever is asked for."""
_STATUSES = {
    "401": "access is denied; use credentials that may read it",
    "403": "access is denied; use credentials that may read it",
    "404": "it is not there; check the address",
    "410": "it was replaced while it was read; try again",
    "429": "too many requests; try again later",
    "503": "the server is overloaded, or down; try again later",
}


def client_of(kind: str, host: str, *, stays: bool = False) -> ObjectStore:
    """The client of a host (``http``, ``https``), a bucket (``s3``, ``gs``) or a container (``az``).

    Parameters
    ----------
    stays : bool
        Whether redirects to other hosts are refused, which could lead into the network of this machine. Behind a
        proxy, it is the proxy that decides.

    Raises
    ------
    ImportError
        If obstore is not installed.
    """
    return _client(kind, host, _environment(), stays=stays and kind in ("http", "https"))


class Pace:
    """How long an answer may still take: it has `PATIENCE`, and a second for every `SLOWEST` bytes that came."""

    def __init__(self) -> None:
        self._end = time.monotonic() + PATIENCE

    def received(self, size: int) -> None:
        """Count bytes that came."""
        self._end += size / SLOWEST

    @property
    def left(self) -> float:
        """Seconds for the next bytes; negative if they are overdue."""
        return self._end - time.monotonic()


def silence_of(kind: str, bucket: str) -> str:
    """Why a service gives no answer at all, within a few seconds; empty if it gives one, even that access is denied.

    Examples
    --------
    >>> silence_of("http", "127.0.0.1:1")
    'no server answers there; check the address, and whether the server runs'
    """
    try:
        import obstore

        obstore.head(_client(kind, bucket, _environment(), brief=True), "mirflow")
    except (ImportError, FileNotFoundError):
        return ""
    except Exception as error:
        reason = reason_of(error)
        return reason if reason in SILENCES else ""
    return ""


def _environment() -> tuple[tuple[str, str], ...]:
    """The settings of services that clients find."""
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(_SERVICES)))


@lru_cache(maxsize=16)
def _client(
    kind: str, host: str, environment: tuple[tuple[str, str], ...], brief: bool = False, stays: bool = False
) -> ObjectStore:
    """A client; a `brief` one only finds out whether anybody answers, and needs no credentials.

    The library follows all redirects. One that `stays` sends requests to other hosts to a proxy that is not there.
    """
    from urllib.request import getproxies, proxy_bypass  # brings the modules of HTTP and TLS, for addresses only

    from obstore import store

    settings = dict(environment)
    options: Any = {
        "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
        "read_timeout": timedelta(seconds=3 * SILENT_SECONDS / 8 if brief else SILENT_SECONDS),
        "timeout": timedelta(seconds=_MOST_SECONDS),
        "allow_http": kind != "https",
    }
    name = urlsplit(f"{kind}://{host}").hostname or ""
    if stays and (kind not in getproxies() or proxy_bypass(name)):
        options |= {"proxy_url": f"http://{_NOWHERE}", "proxy_excludes": name}
    backoff = {"init_backoff": timedelta(milliseconds=200), "max_backoff": timedelta(seconds=2), "base": 2}
    retries: Any = {"max_retries": 1 if brief else 5, "retry_timeout": timedelta(seconds=RETRY_SECONDS)}
    how: Any = {"client_options": options, "retry_config": {**retries, "backoff": backoff}}
    if brief and not kind.startswith("http"):
        how["skip_signature"] = True
    if kind == "gs":
        return store.GCSStore(host, **how)
    if kind == "az":
        return store.AzureStore(host, **how)
    if kind != "s3":
        return store.HTTPStore.from_url(f"{kind}://{host}", **how)
    if settings.get("AWS_NO_SIGN_REQUEST", "").lower() in ("1", "true", "yes"):
        how["skip_signature"] = True
    elif not brief and "AWS_ACCESS_KEY_ID" not in settings:
        how |= _profile()
    if endpoint := settings.get("AWS_ENDPOINT_URL_S3"):
        how["endpoint"] = endpoint
    if not (settings.get("AWS_REGION") or settings.get("AWS_DEFAULT_REGION")):
        how["region"] = "us-east-1"
    return store.S3Store(host, **how)


def _profile() -> Mapping[str, Any]:
    """The provider of credentials in AWS's own files, if its package is installed and has some."""
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider

        return {"credential_provider": Boto3CredentialProvider()}
    except (ImportError, ValueError):
        return {}


def status_of(error: Exception) -> str:
    """The status of HTTP that an error is about, such as ``503``; empty if it is about none."""
    found = _STATUS.search(str(error))
    return found[1] if found else ""


def reason_of(error: Exception) -> str:
    """Why a server or a service does not give what was asked for, with a remedy.

    What services answer may hold names of keys, so it is never part of the reason.

    Examples
    --------
    >>> reason_of(ValueError("Server returned non-2xx status code: 503 Service Unavailable: ..."))
    'the server is overloaded, or down; try again later'
    """
    text = str(error)
    for sign, reason in _SIGNS.items():
        if sign in text:
            return reason
    status = _STATUS.search(text)
    if status is not None:
        return _STATUSES.get(status[1], f"the server answers with status {status[1]}; try again later")
    return f"{text.partition(chr(10))[0][:200]}; check the address and the network"
