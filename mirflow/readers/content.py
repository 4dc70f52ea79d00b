"""Bytes, text, versions and digests of files, which files a folder holds, and why a file cannot be read.

Only regular files up to a limit are read; their text is decoded here. Compressed JAMS files are unpacked; archives,
spreadsheets and web pages are refused, with a remedy. Runs notice by sizes, versions and digests that files have
changed.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import os
import re
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader, BytesIO, FileIO
from pathlib import Path
from time import sleep, time_ns

from ..errors import UnreadableError
from ..remote import as_given, is_url
from .downloads import local_path

_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
_COMPRESSED = (".jamz", ".jams.gz")
"""Endings of JAMS files that are compressed with gzip, as the package of JAMS writes and reads them."""
_POINTER = "is a pointer to a file that was not fetched; git lfs pull or git annex get"
_PASSED = "pass the arrays to mirflow.score"
_NO_TEXT = {
    # What Git LFS and git-annex leave in place of large files.
    **dict.fromkeys((b"version https://git-lfs", b"/annex/objects/", b"../.git/annex/", b".git/annex/"), _POINTER),
    b"<<<<<<< ": "holds both sides of a conflict of git; resolve it",
    _GZIP: "is compressed with gzip; unpack it",
    b"MATLAB 5.0 MAT-file": f"is a MATLAB file; load it with scipy.io.loadmat and {_PASSED}",
    b"\x89HDF\r\n\x1a\n": f"is an HDF5 file (MATLAB 7.3 or later writes them); read it with h5py and {_PASSED}",
    **dict.fromkeys((b"\x80\x02", b"\x80\x03", b"\x80\x04\x95", b"\x80\x05\x95"), f"is a pickle of Python; {_PASSED}"),
}
"""Beginnings of files that are no annotations, and what to do with them."""
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*"|\[\s*([{"]|\[?\s*-?\d+(\.\d*)?(e[-+]?\d+)?\s*,))')
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_COARSE = 2_000_000_000
_TICK = 10_000_000
_FOUR_BYTES = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
TWO_BYTES = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""Byte order marks of UTF-16, which is read where UTF-8 is expected."""


def open_file(path: str | Path, name: str | None = None) -> FileIO:
    """Open a regular file for reading, without a buffer.

    Pipes and devices are refused: they may never end, and would block a run or fill the memory.
    """
    local = local_path(path, name)
    try:
        # Opening a pipe without a writer would block.
        number = os.open(local, _FLAGS)
        mode = os.fstat(number).st_mode
        if stat.S_ISREG(mode):
            return FileIO(number)
        os.close(number)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except (OSError, ValueError) as error:
        raise unreadable(path, error, name) from None
    what = "a pipe" if stat.S_ISFIFO(mode) else "a device"
    message = f"cannot be read: is {what}, not a file; write its contents to a file first"
    raise UnreadableError(message, path=name or path)


@contextmanager
def opened(path: str | Path, name: str | None = None) -> Iterator[BufferedReader[FileIO]]:
    """Open a regular file for reading; what fails while it is read is the error of the file."""
    try:
        with BufferedReader(open_file(path, name)) as file:
            yield file
    except OSError as error:
        raise unreadable(path, error, name) from None


def read_bytes(path: str | Path, max_bytes: int, name: str | None = None) -> bytes:
    """The bytes of a file of at most `max_bytes`; `name` is its name in messages, by default its path."""
    data, size = read_within(path, max_bytes, name)
    if size > max_bytes:
        limit = f"{size / 2**20:.0f} MB is over the limit of {max_bytes / 2**20:.0f} MB"
        raise UnreadableError(f"too large: {limit} (max_bytes raises it)", path=name or path)
    if data.startswith(_GZIP) and str(name or path).lower().endswith(_COMPRESSED):
        import gzip

        try:
            with gzip.open(BytesIO(data)) as file:
                data = file.read(max_bytes + 1)  # which may be far larger than the file
        except (OSError, EOFError, zlib.error) as error:
            raise UnreadableError(f"is not valid gzip: {error}; download the file again", path=name or path) from None
        if len(data) > max_bytes:
            limit = f"more than {max_bytes / 2**20:.0f} MB when decompressed"
            raise UnreadableError(f"too large: {limit} (max_bytes raises it)", path=name or path)
    if data[:1].isdigit() or data[:1] == b"{":  # text of numbers, or JSON
        return data
    # Archives, spreadsheets, MATLAB files and what else is no annotation, with what to do.
    message = next((text for beginning, text in _NO_TEXT.items() if data.startswith(beginning)), "")
    if data[:512].lstrip(b"\xef\xbb\xbf \r\n\t").lower().startswith((b"<!doctype html", b"<html")):
        message = "is a web page (HTML), as of a failed download; download the file again"
    elif data.startswith(_ZIP) and not str(name or path).lower().endswith(".mxl"):  # compressed MusicXML is an archive
        sheet = b"[Content_Types].xml" in data[:4096]
        message = "is a spreadsheet, not text; save it as csv" if sheet else "is a zip archive; unpack it"
    if message:
        raise UnreadableError(message, path=name or path)
    return data


def read_within(path: str | Path, most: int, name: str | None = None) -> tuple[bytes, int]:
    """The bytes of a file if it has at most `most`, otherwise the first of them; and a lower bound of its size."""
    with open_file(path, name) as file:
        try:
            number, size = file.fileno(), os.fstat(file.fileno()).st_size
            data = b"" if size > most else os.read(number, min(max(size, 4096), most) + 1)
            if len(data) != size <= most:  # the size may be wrong while a file is being written, and under /proc
                parts = [data]
                while parts[-1] and (left := most + 1 - sum(map(len, parts))) > 0:
                    parts.append(os.read(number, min(2**20, left)))
                data = b"".join(parts)
        except OSError as error:
            raise unreadable(path, error, name) from None
    return data, max(size, len(data))


def demand_no_json(data: bytes, name: str | Path) -> None:
    """Raise if a file to be read as text is JSON, such as a JAMS file with another suffix."""
    if _JSON.match(data):
        remedy = "if it is JAMS, declare format: jams (--input-format jams)"
        raise UnreadableError(f"is JSON (JAMS files end in .jams), not text; {remedy}", path=name)


def file_stat(path: str | Path, name: str | None = None) -> tuple[int, int]:
    """Current size in bytes of a file, and a number that changes with it."""
    local = local_path(path, name)
    try:
        status = Path(local).stat()
    except (OSError, ValueError) as error:
        raise unreadable(path, error, name) from None
    return status.st_size, version_of(status, settled=True)


def version_of(status: os.stat_result, *, settled: bool = False) -> int:
    """A number that changes with a file, even if its size and time of modification do not; never the same for new ones.

    It is made from the times of modification and of the last change of status, and the inode. A file system that counts
    whole seconds (FAT: two) reports the same times for two writes within one second. Until its clock has moved on, the
    file gets a number that cannot occur again, so that it is read again next time. Other file systems count ticks of
    the kernel, of at most `_TICK`; this function waits for the next tick. A `settled` file is not about to change.
    """
    changed, now = max(status.st_mtime_ns, status.st_ctime_ns), time_ns()
    if not settled and 0 <= now - changed < _COARSE:
        if changed % 1_000_000_000 == 0:
            return -now
        if now - changed < _TICK:
            sleep((changed + _TICK - now) * 1e-9)
    return ((status.st_mtime_ns * 1_000_003 + status.st_ctime_ns) * 1_000_003 + status.st_ino) % 2**63


def unreadable(path: str | Path, error: OSError | ValueError | None = None, name: str | None = None) -> UnreadableError:
    """The error for a path that cannot be read, or at which nothing is; for a broken link, it names the missing target.

    A ValueError comes from an invalid path, such as one with a null character.
    """
    if is_url(path):
        message = "is a URL, of which only pipelines read annotations; download the file"
        return UnreadableError(message, path=as_given(path))
    reason = f"cannot be read: {getattr(error, 'strerror', None) or error}" if error else "no such file or folder"
    # Unlike the methods of pathlib, these return False for an invalid path.
    if os.path.islink(path) and not os.path.exists(path):  # noqa: PTH110, PTH114
        reason = f"is a link to {str(Path(path).readlink())!r}, which does not exist"
    return UnreadableError(reason, path=name or path)


_ADDED = frozenset(("__MACOSX", "Thumbs.db", "desktop.ini"))


def is_hidden(path: str) -> bool:
    """True for the names, or relative paths with ``/``, of files that are hidden or that file managers add."""
    return path[:1] == "." or path in _ADDED or ("/" in path and any(map(is_hidden, path.split("/"))))


def files_below(folder: Path) -> list[Path]:
    """The files in a folder and its subfolders without hidden ones, sorted, including broken links."""
    found: list[Path] = []
    for place, inner, names in os.walk(folder):
        inner[:] = [name for name in inner if not is_hidden(name)]
        found += [path for name in names if not is_hidden(name) and is_listed_file(path := Path(place, name))]
    return sorted(found)


def is_listed_file(path: Path) -> bool:
    """True if an entry of a folder is a file or a broken link, which must not be skipped silently."""
    return path.is_file() or (path.is_symlink() and not path.exists())


def mix_stats(stats: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Total size of several files in bytes, and a number derived from theirs."""
    # Multiplied so that swapped files, or times with the same sum, give another number.
    mixed = 0
    for size, modified in stats:
        mixed = (mixed * 1_000_003 + modified + size) % 2**63
    return sum(size for size, _ in stats), mixed


def digest_of(data: bytes) -> str:
    """A short fingerprint of the content of a file: 16 hexadecimal digits of blake2b.

    Text has the same one with any line ends, and with or without a byte order mark. Data with a null byte are not text.
    """
    if b"\0" not in data:
        data = data.removeprefix(codecs.BOM_UTF8)
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def join_digests(digests: Sequence[str]) -> str:
    """The digest of several annotations: that of the only one, or empty if there are none."""
    return digest_of("".join(digests).encode()) if len(digests) > 1 else "".join(digests)


def is_encoding(name: str) -> bool:
    """True if Python has a text encoding of this name.

    Examples
    --------
    >>> is_encoding("latin-1"), is_encoding("undefined"), is_encoding("utf-88")
    (True, False, False)
    """
    try:
        b"text".decode(name)
    except UnicodeDecodeError:
        return True  # other bytes may be valid
    except (LookupError, ValueError):
        return False
    return True


def decode(data: bytes, name: str | Path, encoding: str = "utf-8") -> str:
    """The text of bytes, with ``\\n`` as line ends and without a byte order mark; with that of UTF-16, in UTF-16."""
    if data.startswith(codecs.BOM_UTF8):
        data = data[len(codecs.BOM_UTF8) :]
    if encoding == "utf-8" and data.startswith(_FOUR_BYTES):
        raise UnreadableError("is UTF-32, not UTF-8; convert it, or declare encoding: utf-32", path=name)
    if encoding == "utf-8" and data.startswith(TWO_BYTES):
        encoding = "utf-16"
    try:
        text = data.decode(encoding)
    except (UnicodeError, LookupError) as error:
        reason = str(error)
        if isinstance(error, UnicodeDecodeError):
            line = data.count(b"\n", 0, error.start) + 1
            reason = f"byte {data[error.start]:#04x} on line {line} is not {error.encoding}"
        raise UnreadableError(f"cannot be decoded: {reason}; declare its encoding, or convert it", path=name) from None
    if "\0" in text:
        raise UnreadableError("is binary, not text", path=name)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
