"""Addresses on the network, clients of HTTP servers and object stores, and what their errors mean.

Paths and addresses of stores are checked for their form. The package obstore is imported only where a URL is read. It
finds credentials as the services' own tools do.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")
_ADDRESS = re.compile(
    r"(?:(?P<kind>s3|gs|az):/+(?P<bucket>[^/@]*)/*|icechunk:)(?P<prefix>.*?)(?:@(?P<version>[^/@]*))?", re.DOTALL
)
_PLAIN = re.compile(r"(?P<kind>https?):/+(?P<host>[^/]*)/*(?P<path>.*)", re.DOTALL | re.IGNORECASE)
NEEDED = "needs the package obstore: pip install 'mirflow[cloud]'"
CONNECT_SECONDS = 3
SILENT_SECONDS = 8  # seconds to wait for a connection, and for the next bytes of an answer
RETRY_SECONDS = 8
"""Seconds after which a failed request is not repeated: where nothing answers, a message comes within 12 seconds."""
_MOST_SECONDS = 3600
SLOWEST = 8 * 1024
"""Bytes a second that an answer must have on average: it may take `PATIENCE`, and a second for so many that came."""
PATIENCE = 30.0
"""Seconds for any answer, however short; longer than those after which a silent server is given up."""
TOO_SLOW = f"the server sends less than {SLOWEST // 1024} kB a second; try again later, or read a copy"
_NOWHERE = "127.0.0.1:0"  # a proxy that no connection reaches
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


class Address(NamedTuple):
    """Where a repository of Icechunk is, and which version of it is meant; or where a server has plain Zarr."""

    kind: str  # ``s3``, ``gs``, ``az``, ``icechunk``, ``http`` or ``https``
    bucket: str  # the bucket, or the container; the host of a server, with its port; empty for a folder
    prefix: str  # key of the repository in the bucket, or path of the folder, or of the store on a server
    version: str  # a tag, a date, or the identifier of a commit; empty: the latest

    @property
    def is_plain(self) -> bool:
        """True for plain Zarr on a server, which is only read."""
        return self.kind in ("http", "https")

    def __str__(self) -> str:
        if self.is_plain:
            user, _, host = self.bucket.rpartition("@")
            return f"{self.kind}://{'...@' if user else ''}{host}/{self.prefix}"
        place = f"icechunk:{self.prefix}" if self.kind == "icechunk" else f"{self.kind}://{self.bucket}/{self.prefix}"
        return f"{place}@{self.version}" if self.version else place


def parse_address(path: str | os.PathLike[str]) -> Address | None:
    """The address that a text, or a path made of it, is; None for paths of folders. A path object keeps one of the two
    slashes after the kind."""
    text = os.fspath(path)
    plain = _PLAIN.fullmatch(text)
    if plain is not None:
        return Address(plain["kind"].lower(), plain["host"], plain["path"].strip("/"), "")
    match = _ADDRESS.fullmatch(text)
    if match is None:
        return None
    kind, bucket, prefix, version = (part or "" for part in match.group("kind", "bucket", "prefix", "version"))
    return Address(kind, bucket, prefix.strip("/"), version) if kind else Address("icechunk", "", prefix, version)


def is_url(text: str | os.PathLike[str]) -> bool:
    """True for what starts as a URL does, of whichever kind.

    Examples
    --------
    >>> is_url("ftp://host/x"), is_url("C:/x"), is_url("results/x")
    (True, False, False)
    """
    return _URL.match(os.fspath(text)) is not None


def as_given(path: str | os.PathLike[str]) -> str:
    """A path for a message: with both slashes of a URL, and nothing unprintable."""
    address = parse_address(path)
    text = _URL.sub(r"\1://", os.fspath(path), count=1) if address is None else str(address)
    return text.encode("utf-8", "backslashreplace").decode()


def store_flaw(path: str | os.PathLike[str], *, written: bool = True) -> str:
    """Reason why a text is not a valid path or address of a store, with the remedy; empty if it is valid.

    Unless a store is to be `written`, it may be on a server.

    Examples
    --------
    >>> store_flaw("stores/x.zarr"), store_flaw("s3://bucket/stores/x"), store_flaw("..")
    ('', '', 'is not the name of a store; a store is a folder, such as stores/x.zarr')
    >>> store_flaw("https://host/x.zarr")[:44], store_flaw("https://host/x.zarr", written=False)
    ('is a URL at which stores cannot be written; ', '')
    >>> store_flaw("s3://bucket"), store_flaw("https://host", written=False)
    ('names no path; an address has the form s3://BUCKET/PATH', 'names no path; an address has the form https://HOST/PATH')
    """
    text = os.fspath(path)
    if "\0" in text:
        return "has a null character, which paths cannot contain; a store is a folder, such as stores/x.zarr"
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return "has characters that paths cannot contain; a store is a folder, such as stores/x.zarr"
    address = parse_address(text)
    if address is not None and not address.is_plain:
        local = address.kind == "icechunk"
        lacking = "path" if not address.prefix else "" if local or address.bucket else "bucket"
        form = "icechunk:PATH" if local else f"{address.kind}://BUCKET/PATH"
        return f"names no {lacking}; an address has the form {form}" if lacking else ""
    if address is not None and not written:
        if "@" in address.bucket:
            return "has a user name or a password, which would be stored and printed; leave it out"
        if "?" in text or "#" in text:
            return "has a query or a fragment, which stores do not have; leave out what follows ? or #"
        lacking = "host" if not address.bucket else "" if address.prefix else "path"
        return f"names no {lacking}; an address has the form {address.kind}://HOST/PATH" if lacking else ""
    if _URL.match(text):
        return (
            "is a URL at which stores cannot be written; a store is a folder, such as stores/x.zarr, or a repository "
            "at s3://, gs://, az:// or icechunk:PATH"
        )
    if Path(path).name in ("", ".."):
        return "is not the name of a store; a store is a folder, such as stores/x.zarr"
    return ""


def client_of(kind: str, host: str, *, stays: bool = False, brief: bool = False) -> ObjectStore:
    """The client of a host (``http``, ``https``), a bucket (``s3``, ``gs``) or a container (``az``). `stays`: whether
    redirects to other hosts are refused, which could lead into the network of this machine. Behind a proxy, it is the
    proxy that decides. A `brief` one only finds out whether anybody answers, and needs no credentials. Raises
    `ImportError` if obstore is not installed."""
    environment = sorted((name, value) for name, value in os.environ.items() if name.startswith(_SERVICES))
    return _client(kind, host, tuple(environment), brief=brief, stays=stays and kind in ("http", "https"))


def silence_of(kind: str, bucket: str) -> str:
    """Why a service gives no answer at all, within a few seconds; empty if it gives one, even that access is denied.

    Examples
    --------
    >>> silence_of("http", "127.0.0.1:1")
    'no server answers there; check the address, and whether the server runs'
    """
    try:
        import obstore

        obstore.head(client_of(kind, bucket, brief=True), "mirflow")
    except (ImportError, FileNotFoundError):
        return ""
    except Exception as error:
        reason = reason_of(error)
        return reason if reason in SILENCES else ""
    return ""


@lru_cache(maxsize=16)
def _client(kind: str, host: str, environment: tuple[tuple[str, str], ...], *, brief: bool, stays: bool) -> ObjectStore:
    """A client, as for `client_of`. The library follows all redirects: one that `stays` sends requests to other hosts
    to a proxy that is not there."""
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
        with suppress(ImportError, ValueError):  # of AWS's own files, if its package is installed and has some
            from obstore.auth.boto3 import Boto3CredentialProvider

            how["credential_provider"] = Boto3CredentialProvider()
    if endpoint := settings.get("AWS_ENDPOINT_URL_S3"):
        how["endpoint"] = endpoint
    if not (settings.get("AWS_REGION") or settings.get("AWS_DEFAULT_REGION")):
        how["region"] = "us-east-1"
    return store.S3Store(host, **how)


def status_of(error: Exception) -> str:
    """The status of HTTP that an error is about, such as ``503``; empty if it is about none."""
    match = _STATUS.search(str(error))
    return match[1] if match else ""


def reason_of(error: Exception) -> str:
    """Why a server or a service does not give what was asked for, with a remedy. What services answer may hold names of
    keys, so it is never part of the reason."""
    text = str(error)
    for sign, reason in _SIGNS.items():
        if sign in text:
            return reason
    status = _STATUS.search(text)
    if status is not None:
        return _STATUSES.get(status[1], f"the server answers with status {status[1]}; try again later")
    return f"{text.partition(chr(10))[0][:200]}; check the address and the network"
