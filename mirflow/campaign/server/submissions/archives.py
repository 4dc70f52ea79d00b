"""Unpacking of what was sent: names are checked before a byte is written, and bytes are counted as they come."""

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tokenize import TokenError
from typing import IO, Protocol

from ....errors import AnnotationError
from .entries import RESERVED

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2")
"""Suffixes of archives that are taken."""
MAX_NAME, MAX_PART = 1000, 255
"""Characters of a path, and bytes of one of its parts."""
_PIECE = 2**16
_END = 2**16 + 22 + 20 + 56
"""Bytes of the end of a zip file, with the longest comment and what a large one has before it."""
_SLACK = 2**20
"""Bytes that may be unpacked whatever the ratio: small files of zeros are no bombs."""
_DRIVE = re.compile(r"[A-Za-z]:")
_HIDDEN = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
"""Marks that turn or hide text."""
_ODD = frozenset({"Cc", "Cs", "Cn", "Zl", "Zp"})
"""Categories of characters that no name has: of control, halves, none, and ends of lines and paragraphs."""
_JUNK = re.compile(r"(?:.*/)?(?:\.DS_Store|Thumbs\.db|desktop\.ini|\._[^/]*)|(?:.*/)?__MACOSX/.*")
_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    *((0, magic, "an archive") for magic in (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")),
    *((0, magic, "an archive") for magic in (b"7z\xbc\xaf\x27\x1c", b"Rar!", b"\x28\xb5\x2f\xfd", b"LZIP")),
    (257, b"ustar", "an archive"),
    *((0, magic, "audio") for magic in (b"RIFF", b"RF64", b"fLaC", b"OggS", b"ID3", b"FORM", b".snd", b"caff")),
    *((0, bytes((0x80, number)), "a pickle") for number in range(2, 6)),
    *((0, magic, "a program") for magic in (b"\x7fELF", b"MZ", b"#!", b"\xcf\xfa\xed\xfe")),
)


class Bounds(Protocol):
    """Limits of what is unpacked."""

    @property
    def size(self) -> int:
        """Bytes of an upload, and ten times as many of what it unpacks to."""

    @property
    def files(self) -> int:
        """Number of files."""

    @property
    def ratio(self) -> float:
        """Bytes of a file for each byte in the archive."""

    @property
    def depth(self) -> int:
        """Folders within each other."""


class ArchiveError(AnnotationError):
    """An upload that cannot be unpacked at all."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that is not taken, and why."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an upload, before it is unpacked: its name, its declared size, and how to read it."""

    name: str
    size: int
    packed: int
    open: Callable[[], IO[bytes]]
    trouble: str = ""


@dataclass(frozen=True)
class Unpacked:
    """The files of an upload on disk."""

    files: tuple[str, ...]
    """Paths below the folder, sorted."""
    refused: tuple[Refusal, ...]
    """Nothing was written if a name was refused."""
    left_out: tuple[str, ...] = ()
    """What file managers add, which is left out without a word of blame."""
    digest: str = ""
    """SHA-256 of the sorted names and bytes."""


def name_trouble(name: str, depth: int) -> str:
    """The reason for which a path in an upload is refused; empty if it is not.

    Examples
    --------
    >>> name_trouble("a/../b.lab", 8), name_trouble("a/b.lab", 8)
    ("has a part '..'", '')
    """
    if not name or len(name) > MAX_NAME:
        return "has no name" if not name else f"has a name of {len(name)} characters; {MAX_NAME} are the most"
    if name.startswith("/") or _DRIVE.match(name):
        return "is an absolute path"
    if "\\" in name:
        return "has a backslash in its name; folders are divided by /"
    odd = next((one for one in name if unicodedata.category(one) in _ODD or one in _HIDDEN), None)
    if odd is not None:
        return f"has the character U+{ord(odd):04X} in its name"
    parts = name.split("/")
    if len(parts) - 1 > depth:
        return f"lies {len(parts) - 1} folders deep; {depth} are the most"
    for part in parts:
        if part in ("", ".", ".."):
            return f"has a part {part!r}"
        if len(part.encode()) > MAX_PART:
            return f"has a part of {len(part.encode())} bytes; {MAX_PART} are the most"
        if RESERVED.fullmatch(part):
            return f"has the name {part!r}, which Windows keeps to itself"
        if part != part.rstrip(". ") or part != part.lstrip(" "):
            return f"has a part that begins or ends with a space, or ends with a dot: {part!r}"
    return ""


def unpack(sent: Sequence[tuple[str, Path]], out: Path, limits: Bounds, fits: Callable[[str], str]) -> Unpacked:
    """Unpack what was sent into a folder: one archive, or files as they are.

    Parameters
    ----------
    sent : sequence of (str, Path)
        Names as sent, and where the bytes are.
    out : Path
        An empty folder.
    fits : callable
        Why a file of that name is not taken; empty if it is.

    Returns
    -------
    Unpacked
        If anything is refused, no file is to be used.
    """
    if len(sent) == 1 and sent[0][0].lower().endswith(ARCHIVES):
        name, path = sent[0]
        with _members(name, path, limits) as members:
            return _write(list(members), out, limits, fits)
    return _write([_plain_file(*one) for one in sent], out, limits, fits)


def _plain_file(name: str, path: Path) -> Member:
    def opened() -> IO[bytes]:
        return path.open("rb")

    return Member(name, path.stat().st_size, 0, opened)


def _write(members: list[Member], out: Path, limits: Bounds, fits: Callable[[str], str]) -> Unpacked:
    junk = tuple(one.name for one in members if _JUNK.fullmatch(one.name))
    members = _without_folder([one for one in members if not _JUNK.fullmatch(one.name)], fits)
    if not members:
        raise ArchiveError("holds no files")
    if len(members) > limits.files:
        raise ArchiveError(f"holds {len(members)} files; {limits.files} are the most")
    refused = list(_refused_names(members, limits, fits))
    most = 10 * limits.size
    if sum(one.size for one in members) > most:
        raise ArchiveError(f"unpacks to more than {most / 10**6:g} MB")
    if refused:
        return Unpacked((), tuple(refused), junk)
    digests: dict[str, str] = {}
    for one in members:  # in the order of the archive, which is read once
        target = out / one.name
        target.parent.mkdir(parents=True, exist_ok=True)
        digests[one.name], head = _copy(one, target, limits.ratio)
        what = _content_trouble(one.name, head, target)
        if what:
            refused.append(Refusal(one.name, what))
    total = hashlib.sha256("".join(f"{name}\0{digests[name]}\n" for name in sorted(digests)).encode())
    return Unpacked(tuple(sorted(digests)), tuple(refused), junk, total.hexdigest())


def _without_folder(members: list[Member], fits: Callable[[str], str]) -> list[Member]:
    """Members without the one folder that holds them all, where they fit only so."""
    heads = {one.name.split("/", 1)[0] for one in members}
    if len(heads) != 1 or not all("/" in one.name for one in members):
        return members
    inner = [replace(one, name=one.name.split("/", 1)[1]) for one in members]
    outside = sum(not fits(one.name) for one in members)
    inside = sum(not fits(one.name) for one in inner)
    head = next(iter(heads))
    return inner if inside > outside and not name_trouble(head, 1) else members


def _refused_names(members: Sequence[Member], limits: Bounds, fits: Callable[[str], str]) -> Iterator[Refusal]:
    """Every member that cannot be taken for its name, its kind, or because another one has the same name."""
    seen: dict[str, str] = {}
    folders: dict[str, str] = {}
    for one in members:
        why = one.trouble or name_trouble(one.name, limits.depth) or fits(one.name)
        key = _seen_name(one.name)
        if not why and key in seen:
            why = f"has the name of {seen[key]!r}, but for its case, the writing of accents or what is not seen"
        if not why and (key in folders or any(str(above) in seen for above in PurePosixPath(key).parents)):
            why = "has the name of a folder"
        seen.setdefault(key, one.name)
        folders.update((str(above), one.name) for above in PurePosixPath(key).parents)
        if why:
            yield Refusal(one.name, why)


def _seen_name(name: str) -> str:
    """A name without its case, the way in which accents are written, and characters that are not seen.

    Examples
    --------
    >>> _seen_name("E\u0301tude\u200b") == _seen_name("\u00e9tude\ufe0f")
    True
    """
    seen = (one for one in name if unicodedata.category(one) != "Cf" and not "\ufe00" <= one <= "\ufe0f")
    return unicodedata.normalize("NFC", "".join(seen)).casefold()


def _copy(member: Member, target: Path, ratio: float) -> tuple[str, bytes]:
    """Write a member, of which readers give no more than the declared size; returns its digest and first bytes."""
    size, total, head = 0, hashlib.sha256(), b""
    most = ratio * member.packed + _SLACK
    try:
        with member.open() as source, target.open("xb") as written:
            while piece := source.read(_PIECE):
                size += len(piece)
                if member.packed and size > most:
                    raise ArchiveError(f"{member.name!r} unpacks to more than {ratio:g} times its packed size")
                head = head or piece[:512]
                total.update(piece)
                written.write(piece)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise ArchiveError(f"{member.name!r} is broken: {error or 'it ends too early'}") from None
    except RuntimeError as error:
        raise ArchiveError(f"{member.name!r} cannot be unpacked: {error}") from None
    return total.hexdigest(), head


def _content_trouble(name: str, head: bytes, path: Path) -> str:
    """The reason for which a file is refused by its first bytes; MIDI and arrays of numbers may be taken."""
    for place, magic, what in _MAGIC:
        if head[place : place + len(magic)] == magic:
            return f"is {what}, not an annotation"
    if head.startswith(b"\x93NUMPY") or name.lower().endswith(".npy"):
        return _array_trouble(path)
    return ""


def _array_trouble(path: Path) -> str:
    """The reason for which an array is refused: only plain numbers are taken, as others are read as pickles."""
    from numpy.lib import format as npy

    try:
        with path.open("rb") as file:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            _, _, dtype = read(file)
    except (ValueError, EOFError, OSError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError):
        return "is not an array of numbers"
    return "" if dtype.kind in "biuf" else "is not an array of numbers: objects would be read as pickles"


@contextmanager
def _members(name: str, path: Path, limits: Bounds) -> Iterator[Iterator[Member]]:
    """The members of an archive, whose headers alone are read."""
    try:
        if name.lower().endswith(".zip"):
            _demand_small_directory(path, limits.files)
            with zipfile.ZipFile(path) as archive:
                yield iter([_of_zip(archive, one) for one in archive.infolist() if not one.is_dir()])
            return
        packed = path.stat().st_size
        listed = list(_of_tar(name, path, limits, packed))
        with tarfile.open(path, "r:*") as tar:
            yield iter([_readable(tar, *one) for one in listed])
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError, ValueError) as error:
        if isinstance(error, AnnotationError):
            raise
        kind = "zip" if name.lower().endswith(".zip") else "tar"
        raise ArchiveError(f"is not a {kind} file, or a broken one: {error or 'it ends too early'}") from None


def _demand_small_directory(path: Path, most: int) -> None:
    """Look at the end of a zip file, before its directory is read into memory."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _END))
        end = file.read()
    at = end.rfind(b"PK\x05\x06")
    if at < 0 or len(end) < at + 22:
        raise ArchiveError("is not a zip file, or a broken one: it has no end")
    number, length = int.from_bytes(end[at + 10 : at + 12], "little"), int.from_bytes(end[at + 12 : at + 16], "little")
    # That of a large file stands before it, and nowhere else: what a comment holds is none.
    if end[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
        large = end[max(0, at - 76) : at - 20]
        if len(large) < 56 or not large.startswith(b"PK\x06\x06"):
            raise ArchiveError("is not a zip file, or a broken one: it has two ends")
        number = max(number, int.from_bytes(large[32:40], "little"))
        length = max(length, int.from_bytes(large[40:48], "little"))
    # Folders have entries, too; an entry takes 46 bytes, its name and a little more.
    if number > 2 * most or length > 2 * most * (46 + MAX_NAME):
        raise ArchiveError(f"holds more than {most} files")


def _of_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    name, trouble = info.filename, ""
    if not info.flag_bits & 0x800 and not name.isascii():
        try:  # zip files of macOS have UTF-8 without saying so
            name = name.encode("cp437").decode()
        except UnicodeError:
            trouble = "has a name that is not UTF-8"
    # Where a name holds a NUL, zipfile shows what stands before it.
    if info.orig_filename != info.filename and "\0" in info.orig_filename:
        trouble = "has the character U+0000 in its name"
    mode = info.external_attr >> 16
    if mode and stat.S_IFMT(mode) and not stat.S_ISREG(mode):
        trouble = "is a link" if stat.S_ISLNK(mode) else "is no plain file"
    elif info.flag_bits & 0x1:
        trouble = "is encrypted"
    packed = max(1, info.compress_size)
    return Member(name, info.file_size, packed, lambda: archive.open(info), trouble)


_TarEntry = tuple[tarfile.TarInfo, str, int]


def _of_tar(name: str, path: Path, limits: Bounds, packed: int) -> Iterator[_TarEntry]:
    """The files of a tar, whose bytes are looked over once; far too many or too large ones end it at once."""
    number, total = 0, 0
    with tarfile.open(path, "r:*") as tar:
        for info in tar:
            tar.members = []  # type: ignore[attr-defined]  # it would keep a million of them
            number += 1
            total += max(0, info.size)
            if number > 2 * limits.files:
                raise ArchiveError(f"holds more than {limits.files} files")
            if total > 10 * limits.size or total > limits.ratio * packed + _SLACK:
                raise ArchiveError("unpacks to more than an upload may")
            if info.isdir():
                continue
            trouble = ""
            if info.issym() or info.islnk():
                trouble = "is a link"
            elif not info.isreg() or info.issparse():
                trouble = "is no plain file"
            elif any("\udc80" <= one <= "\udcff" for one in info.name):
                trouble = "has a name that is not UTF-8"
            info.linkname = ""
            yield info, trouble, packed


def _readable(tar: tarfile.TarFile, info: tarfile.TarInfo, trouble: str, packed: int) -> Member:
    def opened() -> IO[bytes]:
        found = tar.extractfile(info)
        if found is None:
            raise ArchiveError(f"{info.name!r} is no plain file")
        return found

    name = info.name.removeprefix("./")
    # The ratio of a tar is that of the whole, which was looked at already.
    return Member(name, info.size, 0, opened, trouble)
