"""Bytes of a file and their text, with every reason why there may be none."""

from __future__ import annotations

import codecs
import errno
import hashlib
import os
import re
import stat
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from time import sleep, time_ns

from ..errors import UnreadableError

_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
_MATLAB, _HDF5 = b"MATLAB 5.0 MAT-file", b"\x89HDF\r\n\x1a\n"
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"')
_COARSE = 2_000_000_000
_TICK = 10_000_000
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def open_file(path: str | Path, name: str | None = None) -> FileIO:
    """A regular file, opened for reading without a buffer.

    A pipe may never end and a device may never stop: either would hang a run or fill the memory.
    """
    try:
        # A pipe that nobody writes would block already when it is opened.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        mode = os.fstat(number).st_mode
        if stat.S_ISREG(mode):
            return FileIO(number)
        os.close(number)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except (OSError, ValueError) as error:
        raise unreadable(path, error, name) from None
    what = "a pipe" if stat.S_ISFIFO(mode) else "a device"
    message = f"cannot be read: is {what}, not a file; write what comes from it to a file first"
    raise UnreadableError(message, path=name or path)


def read_bytes(path: str | Path, max_bytes: int, name: str | None = None) -> bytes:
    """The bytes of a file.

    Parameters
    ----------
    max_bytes : int
        Size limit.
    name : str or None
        Name of the file in messages; None: its path.
    """
    data, size = read_within(path, max_bytes, name)
    if size > max_bytes:
        limit = f"{size / 2**20:.0f} MB is over the limit of {max_bytes / 2**20:.0f} MB"
        raise UnreadableError(f"too large: {limit} (max_bytes raises it)", path=name or path)
    _demand_unpacked(data, name or path)
    return data


def read_within(path: str | Path, most: int, name: str | None = None) -> tuple[bytes, int]:
    """The bytes of a file that has at most so many, else not all of them; and how many it has at least."""
    with open_file(path, name) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            # The size of a file and what it gives differ while somebody writes it, and under /proc.
            data = b"" if size > most else _read_up_to(file, max(size, 4096), most + 1)
        except OSError as error:
            raise unreadable(path, error, name) from None
    return data, max(size, len(data))


def _read_up_to(file: FileIO, expected: int, most: int) -> bytes:
    """The bytes of a file, at most so many of them."""
    parts: list[bytes] = []
    read, size = 0, expected + 1
    while read < most:
        data: bytes | None = file.read(min(size, most - read))
        if data is None:  # a file of the kernel, such as /proc/kmsg, that waits for something to happen
            raise OSError(errno.EAGAIN, "nothing can be read from it now")
        if not data:
            break
        parts.append(data)
        read, size = read + len(data), 2**20
    return b"".join(parts)


def _demand_unpacked(data: bytes, name: str | Path) -> None:
    """Raise if bytes are those of an archive, a spreadsheet or a MATLAB file, with what to do about it."""
    if data.startswith(_ZIP) and not str(name).lower().endswith(".mxl"):  # compressed MusicXML is an archive
        sheet = b"[Content_Types].xml" in data[:4096]
        message = "is a spreadsheet, not text; save it as csv" if sheet else "is a zip archive; unpack it"
        raise UnreadableError(message, path=name)
    if data.startswith(_GZIP):
        raise UnreadableError("is compressed with gzip; unpack it", path=name)
    if data.startswith(_MATLAB):
        message = "is a MATLAB file; load it with scipy.io.loadmat, and pass the arrays to mirflow.score"
        raise UnreadableError(message, path=name)
    if data.startswith(_HDF5):
        message = (
            "is an HDF5 file, as MATLAB's are from 7.3 on; read it with h5py, and pass the arrays to mirflow.score"
        )
        raise UnreadableError(message, path=name)


def demand_no_json(data: bytes, name: str | Path) -> None:
    """Raise if bytes that are to be read as text are those of a JAMS file that is called otherwise.

    Examples
    --------
    >>> demand_no_json(b'{"annotations": []}', "a.json")
    Traceback (most recent call last):
        ...
    mirflow.errors.UnreadableError: a.json: is JSON; if it is JAMS, call it .jams, or say its format: jams ...
    """
    if _JSON.match(data):
        message = "is JSON; if it is JAMS, call it .jams, or say its format: jams (--input-format jams)"
        raise UnreadableError(message, path=name)


def file_stat(path: str | Path, name: str | None = None) -> tuple[int, int]:
    """Size in bytes and time of modification in ns of a file as it is now."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as error:
        raise unreadable(path, error, name) from None
    return status.st_size, status.st_mtime_ns


def modified_of(status: os.stat_result) -> int:
    """Time of modification in ns; of a file so new that a later change may not show, minus the time now.

    A file system that counts whole seconds (FAT: two) gives a file that is written twice within one the same time
    both times. Until its clock has moved on, no time is given that could come again, and the file is read again next
    time. Others count the ticks of the kernel, which take at most `_TICK`; that is waited for.
    """
    modified, now = status.st_mtime_ns, time_ns()
    if modified % 1_000_000_000 == 0:
        return -now if abs(now - modified) < _COARSE else modified
    if 0 <= now - modified < _TICK:
        sleep((modified + _TICK - now) * 1e-9)
    return modified


def unreadable(path: str | Path, error: OSError | ValueError, name: str | None = None) -> UnreadableError:
    """The error for a file that cannot be read; of a link that leads nowhere with the file that is gone.

    Parameters
    ----------
    error : OSError or ValueError
        The latter for a path that no file can have, such as one with a null character.
    name : str or None
        Name of the file in messages; None: its path.
    """
    message = dangling(Path(path)) or f"cannot be read: {getattr(error, 'strerror', None) or error}"
    return UnreadableError(message, path=name or path)


def dangling(path: Path) -> str:
    """The error for a link that leads nowhere; empty for any other path."""
    # Unlike those of pathlib, these are False for a path that no file can have.
    if not os.path.islink(path) or os.path.exists(path):  # noqa: PTH110, PTH114
        return ""
    return f"is a link to {str(path.readlink())!r}, which is not there"


def is_listed_file(path: Path) -> bool:
    """True if an entry of a folder is a file: a link that leads nowhere does, and is not left out in silence."""
    return path.is_file() or bool(dangling(path))


def mix_stats(stats: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Size in bytes of several files together, and a number made of their times of modification.

    Examples
    --------
    >>> mix_stats([(5, 1), (7, 2)])[0], mix_stats([(5, 1), (7, 2)]) == mix_stats([(7, 2), (5, 1)])
    (12, False)
    """
    # Multiplied so that two files that change places, or times that add up to the same, differ.
    mixed = 0
    for size, modified in stats:
        mixed = (mixed * 1_000_003 + modified + size) % 2**63
    return sum(size for size, _ in stats), mixed


def digest_of(data: bytes) -> str:
    """A short fingerprint of bytes: 16 hexadecimal digits of blake2b.

    Examples
    --------
    >>> len(digest_of(b"0.0 1.0 C"))
    16
    """
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def join_digests(digests: Sequence[str]) -> str:
    """The digest of several annotations together: that of the only one, empty where there is none."""
    return digest_of("".join(digests).encode()) if len(digests) > 1 else "".join(digests)


def is_encoding(name: str) -> bool:
    """True if Python reads text in an encoding of this name.

    Examples
    --------
    >>> is_encoding("latin-1"), is_encoding("undefined"), is_encoding("utf-88")
    (True, False, False)
    """
    try:
        b"text".decode(name)
    except UnicodeDecodeError:
        return True  # other bytes can be read
    except (LookupError, ValueError):
        return False
    return True


def decode(data: bytes, name: str | Path, encoding: str = "utf-8") -> str:
    """The text of bytes, with ``\\n`` as line ends and without a byte order mark.

    Examples
    --------
    >>> decode(b"0.0 1.0 C\\r\\n", "a.lab")
    '0.0 1.0 C\\n'
    """
    if data.startswith(codecs.BOM_UTF8):
        data = data[len(codecs.BOM_UTF8) :]
    if encoding == "utf-8" and data.startswith(_WIDE):
        raise UnreadableError("is UTF-16 or UTF-32, not UTF-8; convert it, or declare its encoding", path=name)
    try:
        text = data.decode(encoding)
    except (UnicodeError, LookupError) as error:
        raise UnreadableError(
            f"cannot be decoded: {_why(error)}; declare its encoding, or convert it", path=name
        ) from None
    if "\0" in text:
        raise UnreadableError("is binary, not text", path=name)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def _why(error: UnicodeError | LookupError) -> str:
    if isinstance(error, UnicodeDecodeError):
        line = error.object.count(b"\n", 0, error.start) + 1
        return f"byte {error.object[error.start]:#04x} on line {line} is not {error.encoding}"
    return str(error)
