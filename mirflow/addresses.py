"""Addresses of stores on the network, and what is wrong with an address or a path."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")
_ADDRESS = re.compile(
    r"(?:(?P<kind>s3|gs|az):/+(?P<bucket>[^/@]*)/*|icechunk:)(?P<prefix>.*?)(?:@(?P<version>[^/@]*))?", re.DOTALL
)


_PLAIN = re.compile(r"(?P<kind>https?):/+(?P<host>[^/]*)/*(?P<path>.*)", re.DOTALL | re.IGNORECASE)


class Address(NamedTuple):
    """Where a repository of Icechunk is, and which version of it is meant; or where a server has plain Zarr.

    Examples
    --------
    >>> parse_address("s3://bucket/stores/x@2026")
    Address(kind='s3', bucket='bucket', prefix='stores/x', version='2026')
    >>> str(parse_address(Path("s3://bucket/stores/x"))), parse_address("stores/x.zarr")
    ('s3://bucket/stores/x', None)
    >>> parse_address("https://host/stores/x.zarr")
    Address(kind='https', bucket='host', prefix='stores/x.zarr', version='')
    """

    kind: str
    """``s3``, ``gs``, ``az``, ``icechunk``, ``http`` or ``https``."""
    bucket: str
    """The bucket, or the container; the host of a server, with its port; empty for a folder."""
    prefix: str
    """Key of the repository in the bucket, or path of the folder, or of the store on a server."""
    version: str
    """A tag, a date, or the identifier of a commit; empty: the latest."""

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
    """The address that a text, or a path made of it, is; None for paths of folders.

    A path object keeps one of the two slashes after the kind.
    """
    text = os.fspath(path)
    plain = _PLAIN.fullmatch(text)
    if plain is not None:
        return Address(plain["kind"].lower(), plain["host"], plain["path"].strip("/"), "")
    found = _ADDRESS.fullmatch(text)
    if found is None:
        return None
    kind, bucket, prefix, version = (part or "" for part in found.group("kind", "bucket", "prefix", "version"))
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
        return _url_flaw(address, text)
    if is_url(text):
        return (
            "is a URL at which stores cannot be written; a store is a folder, such as stores/x.zarr, or a repository "
            "at s3://, gs://, az:// or icechunk:PATH"
        )
    if Path(path).name in ("", ".."):
        return "is not the name of a store; a store is a folder, such as stores/x.zarr"
    return ""


def _url_flaw(address: Address, text: str) -> str:
    if "@" in address.bucket:
        return "has a user name or a password, which would be stored and printed; leave it out"
    if "?" in text or "#" in text:
        return "has a query or a fragment, which stores do not have; leave out what follows ? or #"
    lacking = "host" if not address.bucket else "" if address.prefix else "path"
    return f"names no {lacking}; an address has the form {address.kind}://HOST/PATH" if lacking else ""
