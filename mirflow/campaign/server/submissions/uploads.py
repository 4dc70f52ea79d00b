"""Reception of uploads: request bodies are streamed to disk within limits of size, number and time.

A body is a form with files, or a single file. Folders of uploads that a killed server never entered are removed.
"""

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
from typing import Any, BinaryIO, TypeVar

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from ....store.generations import remove, sync_folder, write_synced
from ...file import Limits
from ..service import NAMES
from .entries import SubmissionError

RECEIVED = "received"  # folder for uploaded files, which are numbered; `NAMES` lists their names
# Content types of bodies that are a single file.
RAW = ("application/zip", "application/x-tar", "application/gzip", "application/octet-stream")
MAX_FIELDS, MAX_FIELD = 50, 10_000  # limits for the other fields of a form: their number, and bytes of each
_ORPHAN = 3600.0  # age in seconds at which a folder without an entry is considered left over from a killed server

T = TypeVar("T")
Fields = Mapping[str, list[str]]
Admit = Callable[[Fields], object]  # raises an error to refuse an upload, given the fields before its first file


def sent_files(upload: Path) -> list[tuple[str, Path]]:
    """Return the names of the files in the folder of an upload as they were sent, and their paths."""
    names = json.loads((upload / NAMES).read_text())
    return [(name, upload / RECEIVED / f"{number:06d}") for number, name in enumerate(names)]


class UploadError(SubmissionError):
    """A body is refused with this HTTP `status`."""

    def __init__(self, message: str, status: int = 400) -> None:
        self.status = status
        super().__init__(message)


@dataclass(frozen=True)
class Upload:
    """A complete upload in the folder of its id."""

    id: str  # id of the future submission
    names: tuple[str, ...]  # names of the files as sent
    size: int  # bytes of all files
    digest: str  # SHA-256 of the upload: of a single file, or of the names and digests of several files
    fields: Fields = field(default_factory=dict)  # the other fields of the form


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
    """Stream the body of a request to the folder of a new id; leaves nothing behind after an error.

    `chunks`: such as ``request.stream()``.
    `content_type`: a form with files, or one of :data:`RAW`.
    `fields`: for a body that is a single file: the fields that a form would contain.
    `filename`: for a body that is a single file: its name.
    `admit`: called once, before the first byte of a file is written.
    """
    kind, options = parse_options_header(content_type)
    whole = kind.decode("latin-1").lower()
    id = secrets.token_hex(8)
    place = folder / id
    files, form = _Files(place / RECEIVED, limits, admit), None
    feed: Callable[[bytes], object]
    close: Callable[[], object]
    try:
        (place / RECEIVED).mkdir(mode=0o700, parents=True)
        if whole == "multipart/form-data" and options.get(b"boundary"):
            form = _Form(files, options[b"boundary"])
            feed, close = form.parser.write, form.parser.finalize
        elif whole in RAW:
            files.fields.update(fields or {})
            files.begin(filename)
            feed, close = files.write, files.end
        else:
            raise UploadError(
                f"unsupported content type {whole[:80]!r}: send a form with files, or one of {', '.join(RAW)}", 415
            )
        try:
            async with asyncio.timeout(limits.seconds):
                async for chunk in chunks:
                    await to_its_end(feed, chunk)
                await to_its_end(close)
        except TimeoutError:
            raise UploadError(f"the upload took longer than {limits.seconds:g} seconds", 408) from None
        except MultipartParseError as error:
            raise UploadError(f"malformed form: {error}") from None
        if form is not None and not form.finished:
            raise UploadError("the form is incomplete: submit it again")
        if not files.names:
            raise UploadError("no file was sent")
        # Nothing that is entered afterwards can be lost.
        await to_its_end(write_synced, place / NAMES, json.dumps(files.names).encode())
        for synced in (place / RECEIVED, place, place.parent):
            await to_its_end(sync_folder, synced)
    except BaseException:
        files.close()
        remove(place)
        raise
    return Upload(id, tuple(files.names), files.size, files.digest(), files.fields)


async def to_its_end(step: Callable[..., T], *arguments: object) -> T:
    """Run a step in a thread and return its result; if cancelled, wait for its end before cleaning up."""
    taken = asyncio.get_running_loop().run_in_executor(None, partial(step, *arguments))
    cancelled = None
    while not taken.done():
        try:
            await asyncio.wait([taken])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        taken.exception()  # mark the exception as retrieved
        raise cancelled
    return taken.result()


@dataclass(eq=False)
class _Files:
    folder: Path
    limits: Limits
    admit: Admit | None
    fields: dict[str, list[str]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    size: int = 0
    _file: BinaryIO | None = None
    _sum: Any = field(default_factory=hashlib.sha256)

    def begin(self, name: str) -> None:
        """Start a file."""
        if self.admit is not None:
            admit, self.admit = self.admit, None
            admit(self.fields)
        if len(self.names) >= self.limits.files:
            raise UploadError(f"too many files: at most {self.limits.files} are allowed", 413)
        if len(name) > 1000:
            raise UploadError(f"file name too long ({len(name)} characters): {name[:60]!r} ...")
        self._file = (self.folder / f"{len(self.names):06d}").open("xb")
        self._sum = hashlib.sha256()
        self.names.append(name)

    def write(self, data: bytes) -> None:
        """Append to the current file."""
        self.size += len(data)
        if self.size > self.limits.size:
            raise UploadError(f"upload too large: at most {self.limits.size / 10**6:g} MB are allowed", 413)
        assert self._file is not None
        self._file.write(data)
        self._sum.update(data)

    def end(self) -> None:
        """Finish the current file."""
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())
        self.close()
        self.digests.append(self._sum.hexdigest())

    def close(self) -> None:
        """Close any open file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def digest(self) -> str:
        """Digest of the upload."""
        if len(self.digests) == 1:
            return self.digests[0]
        listed = (f"{name}\0{digest}\n" for name, digest in sorted(zip(self.names, self.digests, strict=True)))
        return hashlib.sha256("".join(listed).encode()).hexdigest()


class _Form:
    def __init__(self, files: _Files, boundary: bytes) -> None:
        self.files, self.finished = files, False
        self.begin()
        self.parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self.begin,
                "on_header_field": partial(self.header, "name"),
                "on_header_value": partial(self.header, "value"),
                "on_header_end": self.header_end,
                "on_headers_finished": self.headers_finished,
                "on_part_data": self.data,
                "on_part_end": self.end,
                "on_end": partial(setattr, self, "finished", True),
            },
        )

    def begin(self) -> None:
        """Start a part."""
        self._words, self._disposition, self._text = {"name": b"", "value": b""}, b"", b""
        self._field: str | None = None
        self._is_file = False

    def header(self, what: str, data: bytes, start: int, end: int) -> None:
        """Add to the name or value of a header."""
        self._words[what] += data[start:end]
        if len(self._words[what]) > MAX_FIELD:
            raise UploadError("a header in the form is too long")

    def header_end(self) -> None:
        """Finish a header."""
        if self._words["name"].lower() == b"content-disposition":
            self._disposition = self._words["value"]
        self._words = {"name": b"", "value": b""}

    def headers_finished(self) -> None:
        """Start the content of the part."""
        _, options = parse_options_header(self._disposition)
        try:
            self._field = options[b"name"].decode()
            filename = options.get(b"filename", b"").decode()
        except KeyError:
            raise UploadError("a part of the form has no name") from None
        except UnicodeDecodeError:
            raise UploadError("a name in the form is not UTF-8") from None
        self._is_file = bool(filename)
        if self._is_file:
            self.files.begin(filename)
        elif b"filename" in options:
            self._field = None  # an empty file input

    def data(self, data: bytes, start: int, end: int) -> None:
        """Add to the content."""
        if self._is_file:
            self.files.write(data[start:end])
            return
        self._text += data[start:end]
        if len(self._text) > MAX_FIELD:
            raise UploadError(f"the field {str(self._field)[:80]!r} is longer than {MAX_FIELD} bytes", 413)

    def end(self) -> None:
        """Finish the part."""
        if self._is_file:
            self.files.end()
        elif self._field is not None:
            if sum(map(len, self.files.fields.values())) >= MAX_FIELDS:
                raise UploadError(f"too many fields in the form: at most {MAX_FIELDS} are allowed")
            try:
                text = self._text.decode()
            except UnicodeDecodeError:
                raise UploadError(f"the field {self._field[:80]!r} is not UTF-8") from None
            self.files.fields.setdefault(self._field, []).append(text)


def sweep(folder: Path, known: frozenset[str], now: float | None = None) -> list[str]:
    """Remove the folders of uploads that a killed server never entered; returns their ids.

    `now`: seconds since 1970; None: now.
    """
    now = time.time() if now is None else now
    removed = []
    for place in folder.iterdir() if folder.is_dir() else ():
        if place.name in known or not place.is_dir():
            continue
        # A server or another worker may have removed it meanwhile.
        with suppress(FileNotFoundError):
            if now - place.stat().st_mtime > _ORPHAN:
                shutil.rmtree(place, ignore_errors=True)
                removed.append(place.name)
    return sorted(removed)
