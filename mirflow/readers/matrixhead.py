"""What stands above the rows of a matrix of distances: the names of its items, in MIREX's layout or as a table's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import BufferedIOBase

from ..errors import InvalidAnnotationError
from .content import decode
from .options import Reading
from .spans import demand_line_ends

_CORNER = "q/r"
_SUFFIX = re.compile(r"\.(wav|mp3|flac|ogg|opus|m4a|aif|aiff|au|mid|midi|txt|csv|lab)$", re.IGNORECASE)


@dataclass
class Head:
    """Everything above the rows of a matrix."""

    file: BufferedIOBase
    reading: Reading
    name: str
    separator: str = "\t"
    line: int = 0
    stop: int = 0

    def read(self) -> tuple[tuple[str, ...], dict[str, str] | None]:
        """The names of the columns, and of the rows by what stands in front of them; None: as it stands.

        Afterwards `stop` and `line` are where the first row begins.
        """
        files: dict[str, str] = {}
        title = True
        while (text := self._next()) is not None:
            self.separator = self.reading.delimited.separator or next((c for c in "\t,;" if c in text), "whitespace")
            fields = split_row(text, self.separator) or [""]
            if fields[0].lower() == _CORNER and files:
                return self._columns(fields[1:], files)
            if title and len(fields) > 2:
                below = self._below()
                if below is None or (len(below) in (len(fields), len(fields) + 1) and _is_number(below[-1])):
                    return self._named(fields, below), None
            number, _, path = text.strip().replace("\t", " ").partition(" ")
            # A title may begin with a number, too: it is a file's if the next line has the next number.
            told = number.isdigit() and path.strip() and not (title and self._number_below() != int(number) + 1)
            if told:
                if number in files:
                    raise InvalidAnnotationError(f"two files have the number {number}", path=self.name, line=self.line)
                files[number] = path.strip()
            elif not title:
                message = f"neither a number and a file, nor the line Q/R: {text.strip()[:80]!r}"
                raise InvalidAnnotationError(message, path=self.name, line=self.line)
            title = False
        if not files and self.line == 0:
            raise InvalidAnnotationError("is empty: a matrix names its items", path=self.name)
        raise InvalidAnnotationError("is no matrix: there is no line that begins with Q/R", path=self.name)

    def _next(self) -> str | None:
        """The next line that is not blank."""
        while True:
            data = self.file.readline()
            if not data:
                return None
            self.line += 1
            self.stop += len(data)
            demand_line_ends(data, self.name, self.line)
            if data.strip():
                return decode(data, self.name, self.reading.delimited.encoding)

    def _columns(self, numbers: Sequence[str], files: dict[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
        """The names of the columns of MIREX's layout, and of rows by their numbers."""
        names = dict(zip(files, name_items(list(files.values())), strict=True))
        for number in numbers:
            if number not in names:
                message = f"no file has the number {number!r} of this column"
                raise InvalidAnnotationError(message, path=self.name, line=self.line)
        self._demand_distinct(numbers)
        self.line += 1
        return tuple(names[number] for number in numbers), names

    def _below(self) -> list[str] | None:
        """The fields of the line after this one, which stays the next."""
        line, stop = self.line, self.stop
        text = self._next()
        self.line, self.stop = line, stop
        self.file.seek(stop)
        return None if text is None else split_row(text, self.separator)

    def _number_below(self) -> int:
        """The number at the beginning of the line after this one; -1 if there is none."""
        below = self._below()
        first = below[0].split(None, 1) if below else []
        return int(first[0]) if first and first[0].isdigit() else -1

    def _named(self, fields: Sequence[str], below: Sequence[str] | None) -> tuple[str, ...]:
        """The names of the columns of a table, whose first line has them, perhaps with a corner in front."""
        cornerless = below is not None and len(below) > len(fields)
        names = list(fields if cornerless else fields[1:])
        if not cornerless and all(map(_is_number, fields)):
            message = "names no items: the first line has to, and each row its query in front"
            raise InvalidAnnotationError(message, path=self.name, line=self.line)
        self._demand_distinct(names)
        self.line += 1
        return tuple(names)

    def _demand_distinct(self, names: Sequence[str]) -> None:
        if len(set(names)) < len(names):
            twice = next(name for place, name in enumerate(names) if name in names[:place])
            raise InvalidAnnotationError(f"two columns are called {twice!r}", path=self.name, line=self.line)


def split_row(text: str, separator: str) -> list[str]:
    """The fields of a line; an empty one at its end does not count.

    Examples
    --------
    >>> split_row("1\\t0.0\\t0.5\\t", "\\t")
    ['1', '0.0', '0.5']
    """
    if separator == "whitespace":
        return text.split()
    fields = [field.strip().strip('"') for field in text.rstrip("\n").split(separator)]
    return fields[:-1] if len(fields) > 1 and not fields[-1] else fields


def name_items(paths: Sequence[str]) -> list[str]:
    """Names of files: without folder and suffix, but whole where two would be alike then.

    Examples
    --------
    >>> name_items(["/a/x.wav", "/a/y.v2.mp3"]), name_items(["a/1.wav", "b/1.wav"])
    (['x', 'y.v2'], ['a/1.wav', 'b/1.wav'])
    """
    short = list(map(strip_name, paths))
    return short if len(set(short)) == len(short) else list(paths)


def strip_name(path: str) -> str:
    """The name of a file without folder and suffix.

    Examples
    --------
    >>> strip_name("C:\\\\a\\\\y.v2.mp3")
    'y.v2'
    """
    return _SUFFIX.sub("", path.replace("\\", "/").rpartition("/")[2])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
