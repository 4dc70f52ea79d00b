"""Unpacking of uploads: names are checked before anything is written, and sizes are enforced while unpacking.

The jobs that unpack and pool the lists of systems for a round of grading, in a child process with limits, are here too.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import re
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from tokenize import TokenError
from typing import IO, Any, cast

from ....errors import AnnotationError, GradingError, clean_text
from ....readers.content import is_hidden
from ....store.cells import is_device
from ...file import Limits
from ...grading.pool import pool, read_rankings, write_pool
from ...grading.query_draw import read_pieces, read_queries
from .confinement import SendMessage

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2")  # suffixes of supported archives
MAX_NAME, MAX_PART = 1000, 255  # limits for a path in characters, and for each of its parts in bytes
_PIECE = 2**16
_END = 2**16 + 22 + 20 + 56  # size of the end records of a zip file with the longest comment, including those of zip64
_SLACK = 2**20  # bytes that may be unpacked regardless of the ratio, since small files of zeros are harmless
_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)
_DRIVE = re.compile(r"[A-Za-z]:")
# Characters that change the direction of text or are invisible.
_HIDDEN = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
# Unicode categories that names must not contain: control characters, surrogates, unassigned, line separators.
_ODD = frozenset({"Cc", "Cs", "Cn", "Zl", "Zp"})
_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    *((0, magic, "an archive") for magic in (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")),
    *((0, magic, "an archive") for magic in (b"7z\xbc\xaf\x27\x1c", b"Rar!", b"\x28\xb5\x2f\xfd", b"LZIP")),
    (257, b"ustar", "an archive"),
    *((0, magic, "audio") for magic in (b"RIFF", b"RF64", b"fLaC", b"OggS", b"ID3", b"FORM", b".snd", b"caff")),
    *((0, bytes((0x80, number)), "a pickle") for number in range(2, 6)),
    *((0, magic, "a program") for magic in (b"\x7fELF", b"MZ", b"#!", b"\xcf\xfa\xed\xfe")),
)


class ArchiveError(AnnotationError):
    """An upload cannot be unpacked."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an upload before unpacking: its name, its declared size, and how to read it."""

    name: str
    size: int
    packed: int
    open: Callable[[], IO[Any]]
    trouble: str = ""


@dataclass(frozen=True)
class Unpacked:
    """Files of an unpacked upload."""

    files: tuple[str, ...]  # paths relative to the folder, sorted
    refused: tuple[tuple[str, str], ...]  # rejected files with the reasons; if a name is rejected, nothing is written
    digest: str = ""  # SHA-256 of the sorted names and bytes


def name_trouble(name: str, depth: int) -> str:
    """Return the reason why a path in an upload is rejected; empty if it is valid.

    Examples
    --------
    >>> name_trouble("a/../b.lab", 8), name_trouble("a/b.lab", 8)
    ("has a part '..'", '')
    """
    if not name or len(name) > MAX_NAME:
        return "has no name" if not name else f"has a name of {len(name)} characters: at most {MAX_NAME} are allowed"
    if name.startswith("/") or _DRIVE.match(name):
        return "is an absolute path"
    if "\\" in name:
        return "has a backslash in its name: separate folders by /"
    odd = next((char for char in name if unicodedata.category(char) in _ODD or char in _HIDDEN), None)
    if odd is not None:
        return f"has the character U+{ord(odd):04X} in its name"
    parts = name.split("/")
    if len(parts) - 1 > depth:
        return f"is nested {len(parts) - 1} folders deep: at most {depth} are allowed"
    for part in parts:
        if part in ("", ".", ".."):
            return f"has a part {part!r}"
        if len(part.encode()) > MAX_PART:
            return f"has a part of {len(part.encode())} bytes: at most {MAX_PART} are allowed"
        if is_device(part):
            return f"has the name {part!r}, which is reserved on Windows"
        if part != part.rstrip(". ") or part != part.lstrip(" "):
            return f"has a part that begins or ends with a space, or ends with a dot: {part!r}"
    return ""


def unpack(sent: Sequence[tuple[str, Path]], out: Path, limits: Limits, fits: Callable[[str], str]) -> Unpacked:
    """Unpack an upload into a folder: one archive, or plain files. `sent`: names as sent, and paths of the contents.
    `out`: an empty folder. `fits`: returns why a file with a given name is rejected; empty if it is accepted. Returns:
    if anything was rejected, no file must be used.
    """
    with ExitStack() as stack:
        if len(sent) == 1 and sent[0][0].lower().endswith(ARCHIVES):
            members = stack.enter_context(_members(*sent[0], limits))
        else:
            members = [Member(name, path.stat().st_size, 0, partial(path.open, "rb")) for name, path in sent]
        members, refused = _select(members, limits, fits)
        if refused:
            return Unpacked((), refused)
        digests, troubles = dict[str, str](), list[tuple[str, str]]()
        for member in members:  # in the order of the archive, to read it once
            target, size, total, head = out / member.name, 0, hashlib.sha256(), b""
            target.parent.mkdir(parents=True, exist_ok=True)
            most = limits.ratio * member.packed + _SLACK
            try:
                with member.open() as source, target.open("xb") as written:
                    while piece := source.read(_PIECE):
                        size += len(piece)
                        if member.packed and size > most:
                            ratio = f"{limits.ratio:g} times its packed size"
                            raise ArchiveError(f"{member.name!r} unpacks to more than {ratio}")
                        head = head or piece[:512]
                        total.update(piece)
                        written.write(piece)
            except _DAMAGE as error:
                raise ArchiveError(f"{member.name!r} is damaged: {error or 'it ends too early'}") from None
            except RuntimeError as error:
                raise ArchiveError(f"{member.name!r} cannot be unpacked: {error}") from None
            digests[member.name] = total.hexdigest()
            why = _content_trouble(member.name, head, target)
            troubles += [(member.name, why)] if why else []
    whole = hashlib.sha256("".join(f"{name}\0{digests[name]}\n" for name in sorted(digests)).encode())
    return Unpacked(tuple(sorted(digests)), tuple(troubles), whole.hexdigest())


def _select(
    members: list[Member], limits: Limits, fits: Callable[[str], str]
) -> tuple[list[Member], tuple[tuple[str, str], ...]]:
    """Return the files to unpack and the rejected ones with the reasons, by their names and declared sizes."""
    # Hidden files and those that file managers add are left out; names that lead out of the folder are refused.
    members = [
        member
        for member in members
        if not any(is_hidden(part) for part in re.split(r"[/\\]", member.name) if part not in (".", ".."))
    ]
    heads = {member.name.split("/", 1)[0] for member in members}
    if len(heads) == 1 and all("/" in member.name for member in members):
        # A folder around everything is left out if more files fit without it.
        inner = [replace(member, name=member.name.split("/", 1)[1]) for member in members]
        outside, inside = (sum(not fits(member.name) for member in some) for some in (members, inner))
        members = inner if inside > outside and not name_trouble(heads.pop(), 1) else members
    if not members:
        raise ArchiveError("contains no files")
    if len(members) > limits.files:
        raise ArchiveError(f"contains {len(members)} files: at most {limits.files} are allowed")
    refused, seen, folders = list[tuple[str, str]](), dict[str, str](), set[str]()
    for member in members:
        why = member.trouble or name_trouble(member.name, limits.depth) or fits(member.name)
        # Names that look alike are the same: fold their case, compose accents, drop invisible characters.
        characters = (
            char for char in member.name if unicodedata.category(char) != "Cf" and not "\ufe00" <= char <= "\ufe0f"
        )
        key = unicodedata.normalize("NFC", "".join(characters)).casefold()
        above = [str(folder) for folder in PurePosixPath(key).parents]
        if not why and key in seen:
            why = f"has the same name as {seen[key]!r} except for case, encoding of accents or invisible characters"
        if not why and (key in folders or any(folder in seen for folder in above)):
            why = "has the name of a folder"
        seen.setdefault(key, member.name)
        folders.update(above)
        refused += [(member.name, why)] if why else []
    most = 10 * limits.size
    if sum(member.size for member in members) > most:
        raise ArchiveError(f"unpacks to more than {most / 10**6:g} MB")
    return members, tuple(refused)


def _content_trouble(name: str, head: bytes, path: Path) -> str:
    """Return the reason why a file is rejected by its first bytes; MIDI and numeric arrays are allowed."""
    for place, magic, what in _MAGIC:
        if head[place : place + len(magic)] == magic:
            return f"is {what}, not an annotation"
    if head.startswith(b"\x93NUMPY") or name.lower().endswith(".npy"):
        from numpy.lib import format as npy

        try:
            with path.open("rb") as file:
                version = npy.read_magic(file)
                read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                _, _, dtype = read(file)
        except (ValueError, EOFError, OSError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError):
            return "is not an array of numbers"
        # Arrays of objects could only be loaded as pickles.
        return "" if dtype.kind in "biuf" else "is not an array of numbers: objects would be read as pickles"
    return ""


@contextmanager
def _members(name: str, path: Path, limits: Limits) -> Iterator[list[Member]]:
    """Open an archive and list its files; stop with an error as soon as a limit is exceeded."""
    kind, members = "zip" if name.lower().endswith(".zip") else "tar", list[Member]()
    try:
        if kind == "zip":
            _demand_small_directory(path, limits.files)
            with zipfile.ZipFile(path) as archive:
                for entry in archive.infolist():
                    file, trouble = entry.filename, ""
                    if not entry.flag_bits & 0x800 and not file.isascii():
                        try:  # zip files made by macOS use UTF-8 without declaring it
                            file = file.encode("cp437").decode()
                        except UnicodeError:
                            trouble = "has a name that is not UTF-8"
                    # zipfile truncates names at a NUL.
                    if entry.orig_filename != entry.filename and "\0" in entry.orig_filename:
                        trouble = "has the character U+0000 in its name"
                    mode = entry.external_attr >> 16
                    if mode and stat.S_IFMT(mode) and not stat.S_ISREG(mode):
                        trouble = "is a link" if stat.S_ISLNK(mode) else "is not a regular file"
                    elif entry.flag_bits & 0x1:
                        trouble = "is encrypted"
                    packed, opening = max(1, entry.compress_size), partial(archive.open, entry)
                    members += [] if entry.is_dir() else [Member(file, entry.file_size, packed, opening, trouble)]
                yield members
            return
        listed, number, total, packed = list[tuple[tarfile.TarInfo, str]](), 0, 0, path.stat().st_size
        with tarfile.open(path, "r:*") as tar:
            for info in tar:
                tar.members = []  # type: ignore[attr-defined]  # would grow with every member
                number, total = number + 1, total + max(0, info.size)
                if number > 2 * limits.files:
                    raise ArchiveError(f"contains more than {limits.files} files")
                if total > 10 * limits.size or total > limits.ratio * packed + _SLACK:
                    raise ArchiveError("unpacks to more than the limit for uploads")
                trouble = ""
                if info.issym() or info.islnk():
                    trouble = "is a link"
                elif not info.isreg() or info.issparse():
                    trouble = "is not a regular file"
                elif any("\udc80" <= char <= "\udcff" for char in info.name):
                    trouble = "has a name that is not UTF-8"
                info.linkname = ""
                listed += [] if info.isdir() else [(info, trouble)]
        with tarfile.open(path, "r:*") as tar:
            for info, trouble in listed:
                # The ratio of a tar applies to the whole archive and was checked before; regular files have contents.
                opened = cast("Callable[[], IO[bytes]]", partial(tar.extractfile, info))
                members.append(Member(info.name.removeprefix("./"), info.size, 0, opened, trouble))
            yield members
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError, ValueError) as error:
        if isinstance(error, AnnotationError):
            raise
        raise ArchiveError(f"is not a {kind} file, or damaged: {error or 'it ends too early'}") from None


def _demand_small_directory(path: Path, most: int) -> None:
    """Check the end record of a zip file before its directory is read into memory."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _END))
        end = file.read()
    at = end.rfind(b"PK\x05\x06")
    if at < 0 or len(end) < at + 22:
        raise ArchiveError("is not a zip file, or damaged: the end record is missing")
    number, length = int.from_bytes(end[at + 10 : at + 12], "little"), int.from_bytes(end[at + 12 : at + 16], "little")
    # The zip64 record must directly precede it; anything inside the comment does not count.
    if end[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
        large = end[max(0, at - 76) : at - 20]
        if len(large) < 56 or not large.startswith(b"PK\x06\x06"):
            raise ArchiveError("is not a zip file, or damaged: it has two end records")
        number = max(number, int.from_bytes(large[32:40], "little"))
        length = max(length, int.from_bytes(large[40:48], "little"))
    # Folders have entries as well; an entry takes 46 bytes plus its name and extra fields.
    if number > 2 * most or length > 2 * most * (46 + MAX_NAME):
        raise ArchiveError(f"contains more than {most} files")


def lists_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """Unpack lists of systems. `task`: ``sent`` (names and paths), ``out`` (an empty folder), ``limits`` and allowed
    ``suffixes``. Returns: what was ``refused`` (rows of names and reasons).
    """
    sent = [(name, Path(path)) for name, path in task["sent"]]

    def fits(name: str) -> str:
        path = PurePosixPath(name)
        if path.suffix.lower() not in task["suffixes"]:
            return f"has an unsupported suffix: choose from {', '.join(task['suffixes'])}"
        if len(path.parts) > 2 or "{" in name or "}" in name:
            return "does not match SYSTEM.csv or SYSTEM/QUERY.txt"
        return ""

    try:
        unpacked = unpack(sent, Path(task["out"]), Limits.model_validate(task["limits"]), fits)
    except ArchiveError as error:
        name = clean_text(sent[0][0]) if len(sent) == 1 else "the upload"
        raise GradingError(f"{name} {error.message}") from None
    return {"refused": [[clean_text(path), clean_text(why)] for path, why in unpacked.refused]}


def pool_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """Pool lists of systems. `task`: ``lists`` (patterns), ``trusted`` (whether they are the organiser's), ``queries``,
    ``pieces`` and its ``column`` (or None), ``top``, ``same``, ``judged_as`` (a column of the queries, or empty),
    ``secret``, and ``out`` (path of the table).
    """
    queries = read_queries(task["queries"])
    pieces = read_pieces(task["pieces"], task["column"]) if task["pieces"] else None
    names = () if pieces is None else pieces.names
    rankings = read_rankings(task["lists"], queries, names, trusted=task["trusted"])
    heard = read_pieces(task["queries"], "query").values(task["judged_as"]) if task["judged_as"] else {}
    pooled = pool(rankings, queries, task["top"], task["secret"], pieces=pieces, same=task["same"], judged_as=heard)
    write_pool(pooled, task["out"])
    return {"pairs": len(pooled.pairs)}
