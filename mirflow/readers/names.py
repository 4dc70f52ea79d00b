"""Names of tracks and items, matched between both sides where only folders and suffixes differ.

A list of `a.wav` and a reference of `a` have no name in common, and every score would be 0 without a word. Whether they
have is a matter of whole collections: a single list without any relevant item is merely a bad one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher, get_close_matches
from itertools import chain
from types import MappingProxyType

import numpy as np

from ..annotations.annotation import Annotation, CodedLabels
from ..annotations.schema import KINDS
from ..annotations.source import Source
from ..errors import AnnotationError
from ..ragged import Float
from .content import digest_of
from .tables.distance_matrix import name_items, strip_name

NAMED = tuple(kind.name for kind in KINDS.values() if kind.listed)
"""Kinds whose two sides are matched by names."""
_FILES = tuple(name for name in NAMED if "rank" in KINDS[name].columns)
"""Those whose names may be of files."""
_LOOKED_AT, _COMPARED = 20, 500
"""Names that others are sought for, and others that each is compared with where none holds it."""
_WORDS = MappingProxyType({"ranking": ("item", "listed"), "labels": ("label", "given")})
"""Words for a name, and for what an estimate does with it; unjudged candidates are reported query by query."""


@dataclass(frozen=True, slots=True)
class RenamedSource(Source):
    """A list whose items are called as the other side calls them.

    Parameters
    ----------
    names : tuple of (str, str)
        Names of items of its query: in the list, and in the reference.
    """

    source: Source
    names: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """The name of the list."""
        return self.source.label

    @property
    def path(self) -> str:  # type: ignore[override]
        """The path of the list's file."""
        return str(getattr(self.source, "path", self.label))

    @property
    def track(self) -> str:
        """The key of the list in its file."""
        return str(getattr(self.source, "track", ""))

    @property
    def annotator(self) -> str | int | None:
        """The annotator of the list, if the file has one."""
        found: str | int | None = getattr(self.source, "annotator", None)
        return found

    def stat(self) -> tuple[int, int]:
        """Size of the list, and a number that differs when it or the names have changed."""
        size, modified = self.source.stat()
        return size, modified ^ int(digest_of(self._text().encode()), 16) >> 1

    def read(self) -> tuple[Annotation, str]:
        """The list with the other side's names, and a digest of its bytes and of the names."""
        annotation, own = self.source.read()
        # Other queries decide how items are called: a list may change its names and not a byte.
        digest = digest_of(f"{own} {self._text()}".encode())
        names, labels = dict(self.names), annotation.labels or ()
        if annotation.schema.dims == ("rank",) and "value" in annotation.columns:
            annotation = replace(annotation, columns={**annotation.columns, "tie": _places_by_name(labels)})
        if isinstance(labels, CodedLabels):
            vocabulary = tuple(names.get(label, label) for label in labels.vocabulary)
            return replace(annotation, labels=CodedLabels(vocabulary, labels.codes)), digest
        return replace(annotation, labels=[names.get(label, label) for label in labels]), digest

    def _text(self) -> str:
        return "\n".join(chain.from_iterable(self.names))


@dataclass(frozen=True)
class ReferenceNames:
    """The names on the side of the reference, read when they are needed.

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
        """The names in the references of a track, relevant ones first; none of a file that cannot be read."""
        if track not in self._known:
            found = [_names(source, relevant_first=True) for source in self.sources.get(track, ())]
            self._known[track] = dict.fromkeys(chain.from_iterable(found))
        return self._known[track]

    def match(self, estimates: Mapping[str, Source], system: str) -> tuple[dict[str, Source], str]:
        """The estimates of one system under names that the reference has, and a warning.

        Names stay as they are if any is on both sides, with a warning of others in that query that only differ by
        folder and suffix. If none is, they are compared without folders and suffixes: those that are then equal, and
        belong to one name only on either side, become those of the reference.

        Parameters
        ----------
        estimates : mapping of str to Source
            By track.

        Returns
        -------
        dict of str to Source
            By track.
        str
            Empty if names match, or there are none.
        """
        own = dict(estimates)
        if self.kind not in NAMED:
            return own, ""
        true, listed, shared = self._apart(own)
        if shared is not None:
            return own, self._half_matched(own, shared, system)
        if not true or not listed:
            return own, ""
        called = {}
        if self.kind in _FILES:
            alike = call_alike(listed, true)
            called = {} if _same(alike) else {theirs: name for name, theirs in alike.items() if theirs in true}
        if not called and self.kind not in _WORDS:
            return own, ""
        if not called:
            what, how = _WORDS[self.kind]
            message = f"no {what} of system {system!r} occurs in the reference"
            message += f": {next(iter(listed))!r} is {how}, {next(iter(true))!r} is true"
            return own, message + (_why_apart(listed, true) if self.kind in _FILES else "")
        for track, source in estimates.items():
            names = tuple([(called[name], name) for name in self.of(track) if name in called])
            own[track] = RenamedSource(source, names) if names else source
        return own, ""

    def _apart(self, estimates: Mapping[str, Source]) -> tuple[dict[str, None], dict[str, None], str | None]:
        """The names of both sides, and the first track at which one is on both: what comes after it is not read."""
        true: dict[str, None] = {}
        listed: dict[str, None] = {}
        before: Sequence[str] = ()
        for track in self.sources:
            reference = self.of(track)
            # What is listed for queries without a reference is scored nowhere, and matches nothing.
            own = _names(estimates[track]) if reference and track in estimates else before
            true |= reference
            added = () if own is before else own  # the rows of a matrix all name the same items
            listed |= dict.fromkeys(added)
            if not true.keys().isdisjoint(added) or not listed.keys().isdisjoint(reference):
                return true, listed, track
            before = own
        return true, listed, None

    def _half_matched(self, estimates: Mapping[str, Source], track: str, system: str) -> str:
        """A warning where names of a track are on both sides, and others there are written another way."""
        if self.kind not in _FILES or track not in estimates:
            return ""
        own, reference = _names(estimates[track]), self.of(track)
        listed = set(own)
        missed = {strip_name(name): name for name in reversed(list(reference)) if name not in listed}
        for name in own:
            meant = missed.get(strip_name(name))
            if meant is not None and name not in reference:
                return (
                    f"some items of system {system!r} occur in the reference as they are called, and others would not "
                    f"but for folders and suffixes: {name!r} is listed for {track!r}, {meant!r} is true; "
                    "call them alike"
                )
        return ""


def _why_apart(listed: Iterable[str], true: Iterable[str]) -> str:
    """Two names of a side that keep both sides apart without folders and suffixes; empty if they would not match."""
    sides = {"listed": list(listed), "true": list(true)}
    short = {side: set(map(strip_name, names)) for side, names in sides.items()}
    if short["listed"].isdisjoint(short["true"]):
        return ""
    for side, names in sides.items():
        pair = _same({name: strip_name(name) for name in names})
        pair = pair or (_same(call_alike(names, true)) if side == "listed" else None)
        if pair is not None:
            alike = f"{pair[0]!r} and {pair[1]!r}, both {side}, would then be the same"
            return f"; without folders and suffixes names would match, but {alike}: call items alike on both sides"
    return ""


def _same(called: Mapping[str, str]) -> tuple[str, str] | None:
    """Two names that have the same counterpart; None if there are none."""
    first: dict[str, str] = {}
    for name, theirs in called.items():
        other = first.setdefault(theirs, name)
        if other != name:
            return other, name
    return None


def call_alike(own: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """The other side's name of each name: where it has none of them, without folders and suffixes.

    Examples
    --------
    >>> call_alike(["/q/q00.wav", "/q/q01.wav"], ["q00", "q02"])
    {'/q/q00.wav': 'q00', '/q/q01.wav': 'q01'}
    >>> call_alike(["a.wav", "b"], ["a", "b"])
    {'a.wav': 'a.wav', 'b': 'b'}
    """
    own, others = list(dict.fromkeys(own)), list(dict.fromkeys(others))
    if set(own).isdisjoint(others):  # nearly always they are not, and no name has to be taken apart
        short, theirs = name_items(own), dict(zip(name_items(others), others, strict=True))
        if not theirs.keys().isdisjoint(short):
            return {name: theirs.get(brief, brief) for name, brief in zip(own, short, strict=True)}
    return dict(zip(own, own, strict=True))


def call_tracks(own: Iterable[str], others: Iterable[str], path: str = "") -> dict[str, str]:
    """The other side's name of each track of one system, by the rule of `call_alike`.

    Examples
    --------
    >>> call_tracks(["d/q1", "q1.wav.mp3"], ["q1.wav"])
    Traceback (most recent call last):
        ...
    mirflow.errors.AnnotationError: 'd/q1' and 'q1.wav.mp3' would both be 'q1.wav' of the reference, ...
    """
    called = call_alike(own, others)
    pair = _same(called)
    if pair is not None:
        both = f"{pair[0]!r} and {pair[1]!r} would both be {called[pair[0]]!r} of the reference"
        message = f"{both}, when folders and suffixes are left out: call tracks alike on both sides"
        raise AnnotationError(message, path=path or None)
    return called


@dataclass(frozen=True, slots=True)
class Apart:
    """Names of tracks of two sides that have none in common.

    Parameters
    ----------
    reference, estimate : str
        Two that are nearly the same.
    around_reference, around_estimate : (str, str) or None
        Text before and behind the name on each side, if most names would match without it.
    """

    reference: str
    estimate: str
    around_reference: tuple[str, str] | None = None
    around_estimate: tuple[str, str] | None = None

    def __str__(self) -> str:
        return f"no track in common: nearest are {self.reference!r} of the reference and {self.estimate!r}"


def nearest_names(references: Iterable[str], estimates: Iterable[str]) -> Apart:
    """The names nearest to each other where tracks of both sides have none in common; neither side is empty.

    Examples
    --------
    >>> nearest_names(["one", "two"], ["one_estimate", "two_estimate"]).around_estimate
    ('', '_estimate')
    """
    own, others = list(references), list(estimates)
    known = set(others)
    best, most = Apart(own[0], others[0]), -1.0
    for name in own[:_LOOKED_AT]:
        near = _nearest(name, others)
        core, one, other = _common(name, near)
        met = sum(
            name.startswith(one[0]) and name.endswith(one[1]) and _exchange(name, one, other) in known for name in own
        )
        # One name in common may be chance, if it is a short part of both.
        sure = bool(core) and 2 * met >= min(len(own), len(others)) and (met > 1 or 2 * len(core) >= len(name))
        likeness = met + SequenceMatcher(None, name, near, autojunk=False).ratio()
        if likeness > most:
            best, most = (Apart(name, near, one, other) if sure else Apart(name, near)), likeness
    return best


def _nearest(name: str, others: Sequence[str]) -> str:
    """The name that is nearly this one: that holds it or is held by it, or is most like it."""
    held = [other for other in others if name in other or other in name]
    if held:
        return min(held, key=lambda other: abs(len(other) - len(name)))
    folded = [other for other in others if other.casefold() == name.casefold()]
    return (folded or get_close_matches(name, others[:_COMPARED], n=1, cutoff=0.0) or [others[0]])[0]


def _common(name: str, other: str) -> tuple[str, tuple[str, str], tuple[str, str]]:
    """The part that two names have in common, and the text around it in each."""
    found = SequenceMatcher(None, name, other, autojunk=False).find_longest_match()
    core = name[found.a : found.a + found.size].strip("_-. ")
    one, other_one = (text.partition(core) if core else (text, "", "") for text in (name, other))
    return core, (one[0], one[2]), (other_one[0], other_one[2])


def _exchange(name: str, one: tuple[str, str], other: tuple[str, str]) -> str:
    """A name with the text around others in the place of the text around its own."""
    return other[0] + name[len(one[0]) : len(name) - len(one[1])] + other[1]


def _places_by_name(labels: Sequence[str]) -> Float:
    """The place of each item when they are sorted by name, by which ties are broken.

    By the names of the list itself: only relevant items have a name of the other side, and an order of both would
    depend on what is relevant.
    """
    if isinstance(labels, CodedLabels):
        return _places_by_name(labels.vocabulary)[labels.codes]
    places = np.empty(len(labels), dtype=np.float64)
    places[sorted(range(len(labels)), key=lambda item: labels[item].encode())] = np.arange(len(labels))
    return places


def _names(source: Source, *, relevant_first: bool = False) -> Sequence[str]:
    """The names in an annotation, perhaps those of all its file; of a reference perhaps the relevant ones first."""
    try:
        annotation, _ = source.read()
    except (AnnotationError, OSError):  # an error where it is scored
        return ()
    labels = annotation.labels or ()
    if not relevant_first:
        return labels.vocabulary if isinstance(labels, CodedLabels) else labels
    value = np.asarray(annotation.columns.get("value", np.ones(len(labels))))
    left_out = np.asarray(annotation.columns.get("left_out", np.zeros(len(labels))))
    last = (value <= 0) | (left_out > 0)
    return [labels[item] for item in np.argsort(last, kind="stable").tolist()] if last.any() else labels
