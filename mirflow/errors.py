"""Errors and warnings that mirflow raises on purpose, and the wording of their messages.

Every message names what is wrong, where (file, line, track, system, value) and what to do about it, so that a user of
the command line never needs a traceback. Texts are cleaned and shortened, and unknown names get the nearest known ones.
"""

from __future__ import annotations

import heapq
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
    r"\U000e0000-\U000e007f]"
)
"""Control characters, marks that are invisible or reverse what follows, and bytes that could not be decoded."""


def clean_text(text: str) -> str:
    """Escape unprintable characters, including line ends: names in tables come from files.

    Examples
    --------
    >>> clean_text("a\\x00b")
    'a\\\\x00b'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def visible(text: str) -> str:
    """Escape control characters and invisible ones, except line ends and tabs.

    Examples
    --------
    >>> visible("est/\\x1b[31mred.lab: no\\u202etxt")
    'est/\\\\x1b[31mred.lab: no\\\\u202etxt'
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def shorten(text: str, longest: int) -> str:
    """Truncate a text to `longest` characters, ending in three dots.

    Examples
    --------
    >>> shorten("verse", 5), shorten("chorus", 5)
    ('verse', 'ch...')
    """
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


_LONGEST_QUOTED = 80
# A quote opens after a blank or a bracket and closes before one or before punctuation, so that apostrophes do neither.
QUOTED = r"""(?s)(?<![^\s(\[{=:])(['"])(?P<value>.*?)\1(?=[\s,;:.)\]}?!]|$)"""


def shorten_quotes(message: str) -> str:
    """Cut long quoted values in a message.

    Examples
    --------
    >>> len(shorten_quotes(f"not a chord: {'C' * 500!r}")) < 100
    True
    >>> shorten_quotes("track 'a': not a chord: 'H:maj'")
    "track 'a': not a chord: 'H:maj'"
    """
    return re.sub(QUOTED, lambda found: found[1] + shorten(found["value"], _LONGEST_QUOTED) + found[1], message)


_NUMBER = re.compile(r"-?(?<![\w.])\d[\w.+-]*")


def without_values(message: str) -> str:
    """A message without quoted values and numbers, which is the same for all problems of one cause.

    Examples
    --------
    >>> without_values("not a chord: 'H:maj' on line 3"), without_values("is at 3.5 s, before that at 4.25 s")
    ("not a chord: '' on line ", 'is at  s, before that at  s')
    """
    return _NUMBER.sub("", re.sub(QUOTED, r"\1\1", message))


class MirflowError(Exception):
    """Base of all errors that mirflow raises on purpose."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        # The default reduction calls the class with `args`, the message, and not with what that is made of.
        return type(self).__new__, (type(self), *self.args), self.__dict__


class MissingPackageError(MirflowError, ImportError):
    """A package of an extra is not installed."""

    __reduce__ = ImportError.__reduce__  # keeps what errors of imports have beside `args`


def needs_mir_eval(what: str, error: ModuleNotFoundError) -> MissingPackageError:
    """Name the extras that install what a module on top of mir_eval lacks."""
    package = str(error.name).partition(".")[0]
    extras = "mir_eval,report" if package == "matplotlib" else "mir_eval"
    return MissingPackageError(
        f"{what} need {package}: pip install 'mirflow[{extras}]', or '.[{extras}]' in a checkout"
    )


class MirflowWarning(UserWarning):
    """Base of all warnings that mirflow emits on purpose."""


def warn_caller(message: str, category: type[Warning] = MirflowWarning) -> None:
    """Emit a warning at the line that called into mirflow, at any depth."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "mirflow":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


# The first bracket after a suffix: names of tracks may hold anything, those of files hardly a suffix and a bracket.
_PART = re.compile(r"(.*?\.\w+) (\[.*\])", re.DOTALL)


def place_of(path: str, line: int | None) -> str:
    """A file and a line in the form that editors jump to, followed by the track in a file of many.

    Examples
    --------
    >>> place_of("a.lab", 3), place_of("genres.tsv [t01]", 3), place_of("genres.tsv [t01]", None)
    ('a.lab:3', 'genres.tsv:3 [t01]', 'genres.tsv [t01]')
    """
    if line is None:
        return path
    found = _PART.fullmatch(path)
    return f"{path}:{line}" if found is None else f"{found[1]}:{line} {found[2]}"


_LONGEST = 1000
"""Characters of a line of a message."""


def _shortened(line: str) -> str:
    """Shorten the middle of a long line of a message: a value may be long, and the remedy comes last.

    Examples
    --------
    >>> _shortened("x" * 5000).count("x"), len(_shortened("x" * 5000))
    (800, 830)
    """
    if len(line) <= _LONGEST:
        return line
    kept = _LONGEST * 2 // 5
    return f"{line[:kept]} ... {len(line) - 2 * kept} more characters ... {line[-kept:]}"


class AnnotationError(MirflowError, ValueError):
    """An annotation cannot be used.

    Parameters
    ----------
    message : str
        The fault, with the offending value.
    path : path or None
        The file that holds the annotation.
    line : int or None
        The line of the file, counted from 1.

    Examples
    --------
    >>> str(AnnotationError("time is not a number: 'x'", path="a.lab", line=3))
    "a.lab:3: time is not a number: 'x'"
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        # A message is for people, in one line of a terminal or a cell of a store, whatever a file holds.
        self.message = "\n".join(map(_shortened, message.split("\n")))
        self.path = None if path is None else str(path)
        self.line = line
        if self.path is None:
            where = "" if line is None else f"line {line}: "
        else:  # a path may hold lone surrogates
            where = f"{place_of(_shortened(self.path.encode('utf-8', 'backslashreplace').decode()), line)}: "
        super().__init__(f"{where}{self.message}")


class UnreadableError(AnnotationError):
    """The file could not be read or is not in the format it claims: truncated, binary, wrongly encoded, too large."""


class InvalidAnnotationError(AnnotationError):
    """The file was read, but its contents are invalid: a label that does not parse, a reversed interval."""


class UnknownNameError(MirflowError, ValueError):
    """An unknown name, with the nearest known ones.

    Examples
    --------
    >>> str(UnknownNameError("metric", "majmim", ["majmin", "root"]))
    "unknown metric 'majmim'; did you mean 'majmin'?"
    """

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        self.what, self.name, self.known = what, name, sorted(known)
        super().__init__(f"unknown {what} {name!r}; {suggest(name, self.known)}")


MOST_NAMES = 20
"""Names that a message lists; of more it gives the three that are nearest."""


def suggest(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name, ignoring case; if none is near, list all, or the nearest three of many.

    Examples
    --------
    >>> suggest("Jaz", ["blues", "jazz"])
    "did you mean 'jazz'?"
    """
    import difflib

    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if not near:
        folded = {one.casefold(): one for one in reversed(known)}
        near = [folded[one] for one in difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)]
    if near:
        return f"did you mean {near[0]!r}?"
    if not known:
        return "none is known"
    if len(known) <= MOST_NAMES:
        return f"known: {', '.join(known)}"
    letters, likeness = difflib.SequenceMatcher(b=name.casefold()), dict[str, float]()
    for one in known:
        letters.set_seq1(one.casefold())
        likeness[one] = letters.quick_ratio()
    return f"the nearest of {len(known)} are {', '.join(heapq.nlargest(3, known, key=likeness.__getitem__))}"


def refuse_unknown(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise for the first keyword argument that a function does not know.

    Raises `TypeError` with the nearest known name.

    Examples
    --------
    >>> refuse_unknown("evaluate", {"windwo": 0.1}, ["window", "duration"])
    Traceback (most recent call last):
        ...
    TypeError: evaluate() got an unexpected keyword argument 'windwo'; did you mean 'window'?
    """
    known = list(known)
    for name in given:
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}; {suggest(name, known)}")


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    Examples
    --------
    >>> counted(1, "system"), counted(2, "track")
    ('1 system', '2 tracks')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


class MetricError(MirflowError, ValueError):
    """A metric does not define a parameter, an aggregate or a grid."""


class PluginError(MirflowError, ValueError):
    """A plugin module cannot be imported, or lacks an expected declaration."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a pipeline file, with its location, such as ``evaluations[0].task``."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class PipelineError(MirflowError, ValueError):
    """A pipeline file is invalid; lists all problems, so that they can be fixed at once."""

    def __init__(self, problems: Iterable[Problem], path: str | Path | None = None) -> None:
        self.problems = list(problems)
        self.path = None if path is None else str(path)
        head = f"{self.path}: " if self.path else ""
        count = len(self.problems)
        lines = [f"{head}{count} problem{'s' if count != 1 else ''}", *(f"  {problem}" for problem in self.problems)]
        super().__init__("\n".join(lines))


class BenchmarkError(MirflowError, ValueError):
    """The data of a benchmark are missing or differ from its files, or estimates do not belong to it."""


class StoreError(MirflowError):
    """A result store or a pack cannot be opened, read or written."""


class DamagedError(StoreError):
    """Files of a result store or a pack are damaged.

    Examples
    --------
    >>> str(DamagedError("x.zarr", "a chunk of 'chord/score' is lost"))
    "x.zarr: is damaged: a chunk of 'chord/score' is lost; remove it and make it again"
    """

    def __init__(self, path: str | Path, what: str, remedy: str = "remove it and make it again") -> None:
        self.path, self.what, self.remedy = str(path), what, remedy
        super().__init__(f"{path}: is damaged: {what}; {remedy}")


class StoreLockedError(StoreError):
    """Another process is writing the store."""


class QueryError(MirflowError, ValueError):
    """A query that is invalid for the store."""


class SignatureError(MirflowError, ValueError):
    """A text is not a signature of numbers, or one of a later version."""


class GradingError(MirflowError, ValueError):
    """A round of grading cannot be drawn, or judgements cannot be evaluated."""


class FigureError(MirflowError, ValueError):
    """A figure cannot be drawn: nothing to show, an invalid size or format, or no matplotlib."""


class RunError(MirflowError):
    """A run stopped: a track failed under ``on_error: raise``, or its workers died repeatedly."""


class ScoreError(RunError):
    """Scoring data in memory stopped: a cell failed under ``on_error="raise"``, or reading the pairs failed."""

    def __init__(self, message: str, scores: Any = None) -> None:
        super().__init__(message)
        self.scores = scores


class ScoringInterrupted(KeyboardInterrupt):
    """Ctrl-C while scoring data in memory.

    `scores`: scores computed before; in an interpreter, available as ``sys.last_value.scores``.
    """

    def __init__(self, message: str, scores: Any) -> None:
        super().__init__(f"{message} scored before, see the attribute scores (sys.last_value.scores)")
        self.scores = scores


class PruneError(RunError):
    """A run would remove many of a store's cells, and this was not confirmed; nothing was computed."""


class SchedulerError(RunError):
    """A run could not start: its scheduler cannot be reached, or a package that it needs is not installed."""


T = TypeVar("T")


def problems_of(things: Iterable[T], read: Callable[[T], object]) -> list[AnnotationError]:
    """Reasons why sources and the like cannot be read."""
    problems = []
    for thing in things:
        try:
            read(thing)
        except AnnotationError as error:
            problems.append(error)
    return problems


def together(problems: Sequence[AnnotationError]) -> AnnotationError:
    """Join several problems into one error with a line for each; a single one is unchanged."""
    lines = list(dict.fromkeys(map(str, problems)))
    if len(problems) == 1:
        return problems[0]
    return AnnotationError("\n".join([counted(len(lines), "problem"), *(f"  {line}" for line in lines)]))


def name_some(texts: Sequence[str], between: str = ", ", most: int = 5) -> str:
    """The first few of some texts, and the number of the others."""
    return between.join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")
