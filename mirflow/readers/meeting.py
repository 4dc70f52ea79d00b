"""Names that the two sides of an evaluation compare: called alike where only folders and suffixes differ, or told.

A list of `a.wav` and a truth of `a` never meet, and every score would be 0 without a word. Whether they do is a matter
of whole collections: a single list without any relevant item is merely a bad one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.coded import CodedLabels
from ..errors import AnnotationError
from .content import digest_of
from .matrixhead import name_items
from .sources import Source

NAMED = ("ranking", "judgements", "labels")
"""Kinds whose two sides meet by names."""
_FILES = ("ranking", "judgements")
"""Those whose names may be of files."""
_WORDS = MappingProxyType({"ranking": ("item", "listed"), "labels": ("label", "given")})
"""What a name is of, and what an estimate does with it; candidates that nobody judged are told query by query."""


@dataclass(frozen=True, slots=True)
class RenamedSource:
    """A list whose items are called as the other side calls them.

    Parameters
    ----------
    source : Source
    names : tuple of (str, str)
        What the list calls the items of its query, and what the truth does.
    """

    source: Source
    names: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """The name of the list."""
        return self.source.label

    @property
    def path(self) -> str:
        """Where the list is."""
        return str(getattr(self.source, "path", self.label))

    @property
    def track(self) -> str:
        """What tells the list apart from the others of its file."""
        return str(getattr(self.source, "track", ""))

    @property
    def annotator(self) -> str | int | None:
        """Who made the list, where that is told."""
        found: str | int | None = getattr(self.source, "annotator", None)
        return found

    def stat(self) -> tuple[int, int]:
        """Size of the list, and a number that tells whether it or the names have changed."""
        size, modified = self.source.stat()
        return size, modified ^ int(digest_of(repr(self.names).encode()), 16) >> 1

    def read(self) -> tuple[Annotation, str]:
        """The list with the other side's names, and a digest of its bytes and of the names."""
        annotation, own = self.source.read()
        # Other queries decide how items are called: a list may change its names and not a byte.
        digest = digest_of(f"{own} {self.names!r}".encode())
        names, labels = dict(self.names), annotation.labels
        if isinstance(labels, CodedLabels):
            return replace(annotation, labels=CodedLabels(_renamed(labels.vocabulary, names), labels.codes)), digest
        return replace(annotation, labels=list(_renamed(labels or (), names))), digest


@dataclass(frozen=True)
class Truths:
    """The names on the side of the reference, read when they are asked for.

    Parameters
    ----------
    kind : str
        Of the annotations.
    sources : mapping of str to sequence of Source
        By track.
    """

    kind: str
    sources: Mapping[str, Sequence[Source]]
    _known: dict[str, Mapping[str, None]] = field(default_factory=dict)

    def of(self, track: str) -> Mapping[str, None]:
        """The names in the references of a track, what is surely true first; none of a file that cannot be read."""
        if track not in self._known:
            found = (name for source in self.sources.get(track, ()) for name in _names(source, true=True))
            self._known[track] = dict.fromkeys(found)
        return self._known[track]

    def meet(self, estimates: Mapping[str, Source], system: str) -> tuple[dict[str, Source], str]:
        """The estimates of one system, with names that meet those of the truth.

        Names stay as they are if any meets. If none does, they may be called without folders and suffixes: those that
        then meet, and stand for one name only on either side, are called as in the truth.

        Parameters
        ----------
        estimates : mapping of str to Source
            By track.
        system : str

        Returns
        -------
        dict of str to Source
            By track.
        str
            What to warn of; empty if names meet, or there are none.
        """
        own = dict(estimates)
        apart = self._apart(own)
        if apart is None or self.kind not in NAMED:
            return own, ""
        true, listed = apart
        called = {}
        if self.kind in _FILES:
            called = {theirs: name for name, theirs in call_alike(listed, true).items() if theirs in true}
        if not called and self.kind not in _WORDS:
            return own, ""
        if not called:
            what, how = _WORDS[self.kind]
            message = f"no {what} of system {system!r} occurs in the truth"
            return own, f"{message}: {next(iter(listed))!r} is {how}, {next(iter(true))!r} is true"
        for track, source in estimates.items():
            names = tuple((called[name], name) for name in self.of(track) if name in called)
            own[track] = RenamedSource(source, names) if names else source
        return own, ""

    def _apart(self, estimates: Mapping[str, Source]) -> tuple[dict[str, None], dict[str, None]] | None:
        """All names of both sides, if there are some and none is on both; None as soon as one is."""
        true: dict[str, None] = {}
        listed: dict[str, None] = {}
        before: Sequence[str] = ()
        for track in self.sources:
            truth = self.of(track)
            # What is listed for queries that nothing is known of is scored nowhere, and meets nothing.
            own = _names(estimates[track]) if truth and track in estimates else before
            true |= truth
            added = () if own is before else own  # the rows of a matrix all name the same items
            listed |= dict.fromkeys(added)
            if not true.keys().isdisjoint(added) or not listed.keys().isdisjoint(truth):
                return None
            before = own
        return (true, listed) if true and listed else None


def call_alike(own: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """What the other side calls each name: where it has none of them, paths and names of files may meet.

    Examples
    --------
    >>> call_alike(["/q/q00.wav", "/q/q01.wav"], ["q00", "q02"])
    {'/q/q00.wav': 'q00', '/q/q01.wav': 'q01'}
    >>> call_alike(["a.wav", "b"], ["a", "b"])
    {'a.wav': 'a.wav', 'b': 'b'}
    """
    own, others = list(dict.fromkeys(own)), list(dict.fromkeys(others))
    short, theirs = name_items(own), dict(zip(name_items(others), others, strict=True))
    if not set(own).isdisjoint(others) or theirs.keys().isdisjoint(short):
        return dict(zip(own, own, strict=True))
    return {name: theirs.get(brief, brief) for name, brief in zip(own, short, strict=True)}


def _renamed(labels: Iterable[str], names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(names.get(label, label) for label in labels)


def _names(source: Source, *, true: bool = False) -> Sequence[str]:
    """The names in an annotation, perhaps those of all its file; of a reference what is `true` first, then the rest."""
    try:
        annotation, _ = source.read()
    except (AnnotationError, OSError):  # told where it is scored
        return ()
    labels = annotation.labels or ()
    if not true:
        return labels.vocabulary if isinstance(labels, CodedLabels) else labels
    value = np.asarray(annotation.columns.get("value", np.ones(len(labels))))
    left_out = np.asarray(annotation.columns.get("left_out", np.zeros(len(labels))))
    order = np.argsort((value <= 0) | (left_out > 0), kind="stable")
    return [labels[item] for item in order.tolist()]
