"""Names of tracks and items: matched between both sides if only folders and suffixes differ, and compared for messages.

A list of `a.wav` and a reference of `a` have no name in common, so every score would silently be 0. Names are compared
over whole collections: a single list without relevant items is merely a bad one. Messages about tracks without a
partner show the most similar names, and in what they differ.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher, get_close_matches
from functools import partial
from itertools import chain
from types import MappingProxyType

import numpy as np

from ..annotations.annotation import Annotation, CodedLabels
from ..annotations.schema import KINDS
from ..annotations.source import DerivedSource, Source
from ..errors import AnnotationError, counted
from ..theory.text_form import normal_form
from .content import digest_of

NAMED = tuple(kind.name for kind in KINDS.values() if kind.listed)
"""Kinds whose items are matched by name."""
_FILES = tuple(name for name in NAMED if "rank" in KINDS[name].columns)
"""Kinds whose names may be those of files."""
_FOLDER_OR_SUFFIX = re.compile(
    r"^.*[/\\]|\.(wav|mp3|flac|ogg|opus|m4a|aif|aiff|au|mid|midi|txt|csv|lab)$", re.IGNORECASE | re.DOTALL
)
strip_name = partial(_FOLDER_OR_SUFFIX.sub, "")
"""The name of a file without folder and suffix."""
_ALIKE, _SHOWN = 0.75, 5
"""Minimum similarity of names that may be meant for the same track, and number of names that are tried."""
_LOOKED_AT, _COMPARED = 20, 500
"""Maximum number of names to look for, and of names that each is compared with if none contains it."""
_WORDS = MappingProxyType({"ranking": ("item", "listed"), "labels": ("label", "given")})
"""Words for a name and for its role in an estimate; unjudged candidates are reported per query."""


def name_items(paths: Sequence[str]) -> list[str]:
    """Names of files without folder and suffix, or whole if two would be the same."""
    short = list(map(strip_name, paths))
    return short if len(set(short)) == len(short) else list(paths)


def name_tracks(tracks: Sequence[str]) -> list[str]:
    """Names of distinct tracks: of paths, as in MIREX's lists, those of the files; unchanged unless one is a path."""
    return name_items(tracks) if any("/" in track or "\\" in track for track in tracks) else list(tracks)


@dataclass(frozen=True, slots=True)
class RenamedSource(DerivedSource):
    """A list whose items are renamed to the names of the other side."""

    source: Source
    names: tuple[tuple[str, str], ...]
    """Pairs of an item's name in the list and in the reference."""

    @property
    def track(self) -> str:
        """The key of the list in its file."""
        return str(getattr(self.source, "track", ""))

    def stat(self) -> tuple[int, int]:
        """Size of the list, and a number that changes with the list or the names."""
        size, modified = self.source.stat()
        return size, modified ^ int(digest_of("\n".join(chain.from_iterable(self.names)).encode()), 16) >> 1

    def read(self) -> tuple[Annotation, str]:
        """The renamed list, and a digest of its bytes and of the names."""
        annotation, own = self.source.read()
        # Names depend on other queries, so they may change even if the bytes of the list do not.
        text = "\n".join(chain.from_iterable(self.names))
        digest = digest_of(f"{own} {text}".encode())
        names, labels = dict(self.names), annotation.labels or ()
        if annotation.schema.dims == ("rank",) and "value" in annotation.columns:
            # The position of each item in the order of the list's own names, which breaks ties: only relevant items
            # have a name on the other side, and a mixed order would depend on relevance.
            texts = labels.vocabulary if isinstance(labels, CodedLabels) else labels
            places = np.empty(len(texts), dtype=np.float64)
            places[sorted(range(len(texts)), key=lambda item: texts[item].encode())] = np.arange(len(texts))
            tie = places[labels.codes] if isinstance(labels, CodedLabels) else places
            annotation = replace(annotation, columns={**annotation.columns, "tie": tie})
        if isinstance(labels, CodedLabels):
            vocabulary = tuple(names.get(label, label) for label in labels.vocabulary)
            return replace(annotation, labels=CodedLabels(vocabulary, labels.codes)), digest
        return replace(annotation, labels=[names.get(label, label) for label in labels]), digest


@dataclass(frozen=True)
class ReferenceNames:
    """The names in the references, read when they are needed."""

    kind: str
    sources: Mapping[str, Sequence[Source]]
    """Sources by track."""
    _known: dict[str, Mapping[str, None]] = field(default_factory=dict)

    def of(self, track: str) -> Mapping[str, None]:
        """The names in the references of a track, relevant ones first; files that cannot be read have none."""
        if track not in self._known:
            found = [_names(source, relevant_first=True) for source in self.sources.get(track, ())]
            self._known[track] = dict.fromkeys(chain.from_iterable(found))
        return self._known[track]

    def match(self, estimates: Mapping[str, Source], system: str) -> tuple[dict[str, Source], str]:
        """Rename the items in the estimates of one system, by track, to names of the reference; and return a warning.

        If any name occurs on both sides, names are unchanged, with a warning about other names in that query that
        differ only by folder and suffix. Otherwise, names are compared without folders and suffixes: those that match
        a single name on the other side are replaced by it.
        """
        own = dict(estimates)
        if self.kind not in NAMED:
            return own, ""
        true, listed, shared = self._apart(own)
        if shared is not None and (self.kind not in _FILES or shared not in own):
            return own, ""
        if shared is not None:
            listing, reference = _names(own[shared]), self.of(shared)
            occurring = set(listing)
            missed = {strip_name(name): name for name in reversed(list(reference)) if name not in occurring}
            half = next((name for name in listing if strip_name(name) in missed and name not in reference), None)
            if half is None:
                return own, ""
            message = f"some items of system {system!r} occur in the reference, others would only without folders and "
            message += f"suffixes: {half!r} is listed for {shared!r}, the reference has {missed[strip_name(half)]!r}"
            return own, f"{message}; use the same names on both sides"
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
            message += f": {next(iter(listed))!r} is {how}, the reference has {next(iter(true))!r}"
            sides = {"listed": list(listed), "true": list(true)} if self.kind in _FILES else {}
            short = [set(map(strip_name, names)) for names in sides.values()]
            # Two names of a side may be the same without folders and suffixes, by which others would match.
            for label, side_names in sides.items() if short and not short[0].isdisjoint(short[1]) else ():
                pair = _same({name: strip_name(name) for name in side_names})
                pair = pair or (_same(call_alike(side_names, true)) if label == "listed" else None)
                if pair is not None:
                    same = f"{pair[0]!r} and {pair[1]!r}, both {label}, would then be the same"
                    message += f"; names would match without folders and suffixes, but {same}: use the same names on "
                    return own, message + "both sides"
            return own, message
        for track, source in estimates.items():
            names = tuple([(called[name], name) for name in self.of(track) if name in called])
            own[track] = RenamedSource(source, names) if names else source
        return own, ""

    def _apart(self, estimates: Mapping[str, Source]) -> tuple[dict[str, None], dict[str, None], str | None]:
        """The names of both sides, and the first track with a common name: tracks after it are not read."""
        true: dict[str, None] = {}
        listed: dict[str, None] = {}
        before: Sequence[str] = ()
        for track in self.sources:
            reference = self.of(track)
            # Lists for queries without a reference are not scored.
            own = _names(estimates[track]) if reference and track in estimates else before
            true |= reference
            added = () if own is before else own  # the rows of a matrix all name the same items
            listed |= dict.fromkeys(added)
            if not true.keys().isdisjoint(added) or not listed.keys().isdisjoint(reference):
                return true, listed, track
            before = own
        return true, listed, None


def _same(called: Mapping[str, str]) -> tuple[str, str] | None:
    """Two names with the same counterpart, or None."""
    first: dict[str, str] = {}
    pairs = ((first.setdefault(theirs, name), name) for name, theirs in called.items())
    return next((pair for pair in pairs if pair[0] != pair[1]), None)


def call_alike(own: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """The other side's name of each name; if no name is common, matched without folders and suffixes."""
    own, others = list(dict.fromkeys(own)), list(dict.fromkeys(others))
    if set(own).isdisjoint(others):  # usually some names are common, and none has to be parsed
        short, theirs = name_items(own), dict(zip(name_items(others), others, strict=True))
        if not theirs.keys().isdisjoint(short):
            return {name: theirs.get(brief, brief) for name, brief in zip(own, short, strict=True)}
    return dict(zip(own, own, strict=True))


def call_tracks(own: Iterable[str], others: Iterable[str], path: str = "") -> dict[str, str]:
    """The other side's name of each track of one system, by the rule of `call_alike`."""
    called = call_alike(own, others)
    pair = _same(called)
    if pair is not None:
        both = f"{pair[0]!r} and {pair[1]!r} both match {called[pair[0]]!r} of the reference"
        message = f"{both} without folders and suffixes: use the same names of tracks on both sides"
        raise AnnotationError(message, path=path or None)
    return called


@dataclass(frozen=True, slots=True)
class Apart:
    """Similar names of two sides without a common track."""

    reference: str
    estimate: str
    around_reference: tuple[str, str] | None = None
    around_estimate: tuple[str, str] | None = None
    """Text before and after the name, if most names would match without it."""

    def __str__(self) -> str:
        names = f"no track in common: the closest names are {self.reference!r} in the reference and {self.estimate!r}"
        reason = difference_of(self.reference, self.estimate)
        return f"{names}, which differ in {reason}" if reason else names


def difference_of(name: str, other: str) -> str:
    """In what two names differ that a reader may take for the same; empty for equal names and for others.

    Examples
    --------
    >>> difference_of("caf\u00e9", "cafe\u0301"), difference_of("Song1", "song1"), difference_of("t1", "t01")
    ('their Unicode form', 'case', 'leading zeros')
    >>> difference_of("a-b c", "a_b_c"), difference_of("Dvo\u0159\u00e1k", "Dvorak"), difference_of("a", "b")
    ('blanks or punctuation', 'accents', '')
    """
    if name == other:
        return ""
    reason = "their Unicode form" if unicodedata.normalize("NFC", name) == unicodedata.normalize("NFC", other) else ""
    for what, change in _DIFFERENCES:
        if not reason and change(name) == change(other):
            reason = what
    return reason if reason or _loosened(name) != _loosened(other) else "case, accents or punctuation"


def _loosened(name: str) -> str:
    """A name without case, accents, blanks, punctuation and leading zeros."""
    name = unicodedata.normalize("NFKD", name.casefold())
    return _ZEROS.sub("", "".join(one for one in name if one.isalnum() or one == "/"))


_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_DIFFERENCES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("blanks", normal_form),
    ("case", lambda name: normal_form(name).casefold()),
    ("leading zeros", partial(_ZEROS.sub, "")),
    ("blanks or punctuation", partial(re.compile(r"[^\w/]|_").sub, "")),
    (
        "accents",
        lambda name: "".join(one for one in unicodedata.normalize("NFKD", name) if not unicodedata.combining(one)),
    ),
)


def nearest_names(references: Iterable[str], estimates: Iterable[str]) -> Apart:
    """The most similar names of two sides without a common track; neither side is empty.

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
        longest = SequenceMatcher(None, name, near, autojunk=False).find_longest_match()
        core = name[longest.a : longest.a + longest.size].strip("_-. ")
        one, other = (text.partition(core)[::2] if core else (text, "") for text in (name, near))
        # The text around a name is replaced with that of the other side.
        alike = [track for track in own if track.startswith(one[0]) and track.endswith(one[1])]
        met = sum(other[0] + track[len(one[0]) : len(track) - len(one[1])] + other[1] in known for track in alike)
        # A single match among several names, or of a short part of both, may be due to chance.
        alone = min(len(own), len(others)) == 1 and 2 * len(core) >= len(name)
        sure = bool(core) and 2 * met >= min(len(own), len(others)) and (met > 1 or alone)
        likeness = met + SequenceMatcher(None, name, near, autojunk=False).ratio()
        if likeness > most:
            best, most = (Apart(name, near, one, other) if sure else Apart(name, near)), likeness
    return best


def describe_clash(first: str, second: str, remedy: str) -> str:
    """Name two files that are both taken for the same annotation, and say what to do."""
    if reason := difference_of(first, second):
        return f"{first} and {second}, which differ in {reason}; remove or rename one"
    stem, _, suffix = first.rpartition(".")
    if second.startswith(f"{stem}."):
        remedy = f"remove one, or write the suffix into the path of a pipeline, as in {{track}}.{suffix}"
    return f"{first} and {second}; {remedy}"


def describe_unpaired(references: Iterable[str], estimates: Iterable[str]) -> str:
    """Name two tracks without a partner on the other side that may be the same, and the reason; empty without any."""
    known, others = set(references), set(estimates)
    lone, extra = sorted(known - others), sorted(others - known)
    if not lone or not extra:
        return ""
    alike = {_loosened(name): name for name in reversed(lone)}
    pairs = [(name, alike[_loosened(name)]) for name in extra if _loosened(name) in alike]
    if not pairs:  # Only a few are compared letter by letter. Tracks are often called by numbers, which are no slips.
        near = [(name, _nearest(name, lone)) for name in extra[:_SHOWN]]
        near = [pair for pair in near if len({tuple(re.findall(r"\d+", _loosened(name))) for name in pair}) == 1]
        likeness, *pairs = max(((SequenceMatcher(None, *pair).ratio(), pair) for pair in near), default=(0.0,))
        if likeness < _ALIKE:
            return ""
    reason = difference_of(*pairs[0])
    why = f"the names differ in {reason}" if reason else "is it the same track?"
    more = f" (and {counted(len(pairs) - 1, 'other track')} likewise)" if len(pairs) > 1 else ""
    name, nearest = pairs[0]
    return f"{name!r} has no reference, and {nearest!r} has no estimate: {why}{more}; call the tracks alike"


def _nearest(name: str, others: Sequence[str]) -> str:
    held = [other for other in others if name in other or other in name]
    if held:
        return min(held, key=lambda other: abs(len(other) - len(name)))
    folded = [other for other in others if other.casefold() == name.casefold()]
    return (folded or get_close_matches(name, others[:_COMPARED], n=1, cutoff=0.0) or [others[0]])[0]


def _names(source: Source, *, relevant_first: bool = False) -> Sequence[str]:
    """The names in an annotation or its whole file; in a reference, the relevant ones may come first."""
    try:
        annotation, _ = source.read()
    except (AnnotationError, OSError):  # reported when it is scored
        return ()
    labels = annotation.labels or ()
    if not relevant_first:
        return labels.vocabulary if isinstance(labels, CodedLabels) else labels
    value = np.asarray(annotation.columns.get("value", np.ones(len(labels))))
    left_out = np.asarray(annotation.columns.get("left_out", np.zeros(len(labels))))
    last = (value <= 0) | (left_out > 0)
    return [labels[item] for item in np.argsort(last, kind="stable").tolist()] if last.any() else labels
