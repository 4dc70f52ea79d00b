"""Arrival of uploads: bodies of requests are written to disk as they come, within limits of size, number and time."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from ....store.generations import remove, sync_folder, write_synced
from ...file import Limits
from .entries import SubmissionError

RECEIVED = "received"
"""Folder of what was sent, numbered; beside it NAMES lists the names."""
NAMES = "names.json"
RAW = ("application/zip", "application/x-tar", "application/gzip", "application/octet-stream")
"""Content types of bodies that are one file."""
MAX_FIELDS, MAX_FIELD = 50, 10_000
"""Fields of a form beside its files, and bytes of each."""
_ORPHAN = 3600.0
"""Seconds after which a folder without an entry was left by a server that was killed."""

T = TypeVar("T")
Fields = Mapping[str, list[str]]
Admit = Callable[[Fields], object]
"""Refuses an upload by raising, given the fields that came before its first file."""


class UploadError(SubmissionError):
    """A body cannot be taken; `status` is that of the answer."""

    def __init__(self, message: str, status: int = 400) -> None:
        self.status = status
        super().__init__(message)


@dataclass(frozen=True)
class Upload:
    """An upload that has arrived, in the folder of its id."""

    id: str
    """That the submission will have."""
    names: tuple[str, ...]
    """Of its files as they were sent."""
    size: int
    """Bytes of all files."""
    digest: str
    """SHA-256 of what was sent: of one file its own, of several that of their names and digests."""
    fields: Fields = field(default_factory=dict)
    """The fields of the form beside its files."""


async def receive(
    chunks: AsyncIterator[bytes],
    content_type: str,
    folder: Path,
    limits: Limits,
    *,
    fields: Fields | None = None,
    filename: str = "upload",
    admit: Admit | None = None,
) -> Upload:
    """Write the body of a request to the folder of a new id, or nothing at all.

    Parameters
    ----------
    chunks : async iterator of bytes
        Such as ``request.stream()``.
    content_type : str
        A form with files, or a type of :data:`RAW`.
    folder : Path
        Of all submissions.
    fields : mapping or None
        Of a body that is one file: what a form would say beside it.
    filename : str
        Of a body that is one file.
    admit : callable or None
        Asked once, before the first byte of a file is written.
    """
    kind, options = parse_options_header(content_type)
    whole = kind.decode("latin-1").lower()
    id = secrets.token_hex(8)
    place = folder / id
    files = _Files(place / RECEIVED, limits, admit)
    try:
        (place / RECEIVED).mkdir(mode=0o700, parents=True)
        if whole == "multipart/form-data" and options.get(b"boundary"):
            feed, close = _form(files, options[b"boundary"])
        elif whole in RAW:
            files.fields.update(fields or {})
            files.begin(filename)
            feed, close = files.write, files.end
        else:
            raise UploadError(f"send a form with files, or one of {', '.join(RAW)}, not {whole[:80]!r}", 415)
        try:
            async with asyncio.timeout(limits.seconds):
                async for chunk in chunks:
                    await to_its_end(feed, chunk)
                await to_its_end(close)
        except TimeoutError:
            raise UploadError(f"the upload took longer than {limits.seconds:g} seconds", 408) from None
        except MultipartParseError as error:
            raise UploadError(f"the form is broken: {error}") from None
        if not files.names:
            raise UploadError("no file was sent")
        await to_its_end(_finish, place, files.names)
    except BaseException:
        files.close()
        remove(place)
        raise
    return Upload(id, tuple(files.names), files.size, files.digest(), files.fields)


async def to_its_end(step: Callable[..., T], *given: object) -> T:
    """Take a step in a thread, and give back what it returns; cancelled, wait for its end before anything is undone."""
    taken = asyncio.get_running_loop().run_in_executor(None, partial(step, *given))
    cancelled = None
    while not taken.done():
        try:
            await asyncio.wait([taken])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        taken.exception()  # which nobody asks for
        raise cancelled
    return taken.result()


def _finish(place: Path, names: list[str]) -> None:
    """Wait until the disk has everything, so that what is entered afterwards is never lost."""
    write_synced(place / NAMES, json.dumps(names).encode())
    for folder in (place / RECEIVED, place, place.parent):
        sync_folder(folder)


class _Files:
    """The files of a body, written one after the other under numbers."""

    def __init__(self, folder: Path, limits: Limits, admit: Admit | None) -> None:
        self.folder = folder
        self.limits = limits
        self.admit = admit
        self.fields: dict[str, list[str]] = {}
        self.names: list[str] = []
        self.digests: list[str] = []
        self.size = 0
        self._file: BinaryIO | None = None
        self._sum = hashlib.sha256()

    def begin(self, name: str) -> None:
        """Begin a file."""
        if self.admit is not None:
            admit, self.admit = self.admit, None
            admit(self.fields)
        if len(self.names) >= self.limits.files:
            raise UploadError(f"more than {self.limits.files} files", 413)
        if len(name) > 1000:
            raise UploadError(f"a file name of {len(name)} characters: {name[:60]!r} ...")
        self._file = (self.folder / f"{len(self.names):06d}").open("xb")
        self._sum = hashlib.sha256()
        self.names.append(name)

    def write(self, data: bytes) -> None:
        """Append to the file that was begun."""
        self.size += len(data)
        if self.size > self.limits.size:
            raise UploadError(f"larger than {self.limits.size / 10**6:g} MB, the limit of an upload", 413)
        assert self._file is not None
        self._file.write(data)
        self._sum.update(data)

    def end(self) -> None:
        """End the file that was begun."""
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())
        self.close()
        self.digests.append(self._sum.hexdigest())

    def close(self) -> None:
        """Close whatever is open."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def digest(self) -> str:
        """Digest of what was sent."""
        if len(self.digests) == 1:
            return self.digests[0]
        listed = (f"{name}\0{digest}\n" for name, digest in sorted(zip(self.names, self.digests, strict=True)))
        return hashlib.sha256("".join(listed).encode()).hexdigest()


def _form(files: _Files, boundary: bytes) -> tuple[Callable[[bytes], object], Callable[[], object]]:
    """Functions that take the pieces of a form, and its end."""
    part = _Part(files)
    parser = MultipartParser(
        boundary,
        {
            "on_part_begin": part.begin,
            "on_header_field": partial(part.header, "name"),
            "on_header_value": partial(part.header, "value"),
            "on_header_end": part.header_end,
            "on_headers_finished": part.headers_finished,
            "on_part_data": part.data,
            "on_part_end": part.end,
            "on_end": part.finish,
        },
    )

    def close() -> None:
        parser.finalize()
        if not part.finished:
            raise UploadError("the form ends in the middle: send it again")

    return parser.write, close


class _Part:
    """The part of a form that is being read: a field or a file."""

    def __init__(self, files: _Files) -> None:
        self.files = files
        self.finished = False
        self.begin()

    def begin(self) -> None:
        """Begin a part."""
        self._words = {"name": b"", "value": b""}
        self._disposition = b""
        self._field: str | None = None
        self._text = b""
        self._is_file = False

    def header(self, what: str, data: bytes, start: int, end: int) -> None:
        """Take a piece of a header's name or value."""
        self._words[what] += data[start:end]
        if len(self._words[what]) > MAX_FIELD:
            raise UploadError("the form has a header that is too long")

    def header_end(self) -> None:
        """End a header."""
        if self._words["name"].lower() == b"content-disposition":
            self._disposition = self._words["value"]
        self._words = {"name": b"", "value": b""}

    def headers_finished(self) -> None:
        """Begin the content of the part."""
        _, options = parse_options_header(self._disposition)
        try:
            self._field = options[b"name"].decode()
            filename = options.get(b"filename", b"").decode()
        except KeyError:
            raise UploadError("the form has a part without a name") from None
        except UnicodeDecodeError:
            raise UploadError("the form has a name that is not UTF-8") from None
        self._is_file = bool(filename)
        if self._is_file:
            self.files.begin(filename)
        elif b"filename" in options:
            self._field = None  # a choice of files that was left empty

    def data(self, data: bytes, start: int, end: int) -> None:
        """Take a piece of the content."""
        if self._is_file:
            self.files.write(data[start:end])
            return
        self._text += data[start:end]
        if len(self._text) > MAX_FIELD:
            raise UploadError(f"the field {str(self._field)[:80]!r} is longer than {MAX_FIELD} bytes", 413)

    def end(self) -> None:
        """End the part."""
        if self._is_file:
            self.files.end()
        elif self._field is not None:
            if sum(map(len, self.files.fields.values())) >= MAX_FIELDS:
                raise UploadError(f"the form has more than {MAX_FIELDS} fields")
            try:
                text = self._text.decode()
            except UnicodeDecodeError:
                raise UploadError(f"the field {self._field[:80]!r} is not UTF-8") from None
            self.files.fields.setdefault(self._field, []).append(text)

    def finish(self) -> None:
        """End the form."""
        self.finished = True


def discard(folder: Path, id: str) -> None:
    """Remove an upload that was not entered."""
    remove(folder / id)


def sweep(folder: Path, known: frozenset[str], now: float | None = None) -> list[str]:
    """Remove the folders of uploads that a killed server never entered; returns their ids.

    Parameters
    ----------
    known : frozenset of str
        Ids of all submissions.
    now : float or None
        Seconds since 1970; None: now.
    """
    now = time.time() if now is None else now
    removed = []
    for place in folder.iterdir() if folder.is_dir() else ():
        if place.name in known or not place.is_dir():
            continue
        # A server, or another worker, may have removed it by now.
        with suppress(FileNotFoundError):
            if now - place.stat().st_mtime > _ORPHAN:
                shutil.rmtree(place, ignore_errors=True)
                removed.append(place.name)
    return sorted(removed)
