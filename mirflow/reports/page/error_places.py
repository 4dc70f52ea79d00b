"""Errors of systems by kind over all tracks, and the places where they are, from the evidence for single scores.

Of at most 24 systems, the page also gets which others are right where one is wrong. Errors of chords and keys are named
by the kinds of both and the interval between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation
from ...annotations.schema import KINDS
from ...errors import MirflowError
from ...metrics.base import Convention
from ...metrics.cleaning import usable_pair
from ...metrics.edits import RIGHT, Edits, Mending
from ...metrics.measures import Measure
from ...ragged import Bool, Column, Float, offsets_of
from ...theory.chords import QUALITIES, encode_chord
from ...theory.harte import InvalidChordException
from ...theory.keys import MODES, UNNAMED, parse_key
from ..drawing import BAD, GOOD, HALF

MOST_KINDS = 30
"""Kinds of errors of a system that a page lists, the heaviest ones."""
MOST_PLACES = 100
"""Places of a kind that a page leads to, the largest ones."""
COMPARED = 24
"""Most systems of which the page says what each gets right and another one wrong."""
_RUN = 2.0
"""Seconds within which events with errors of the same kind are one place."""
_NEAR = 0.05
"""Seconds within which two systems have the same extra event."""
_TENTHS = 10
"""Places are told in tenths of seconds."""
_DIGITS = 12
"""Decimals of the totals of single tracks, whose sums shall be those of the scores to 1e-9."""
_UNTOLD = frozenset({"ranking", "judgements", "note_alignment", "patterns"})
"""Kinds of annotations whose items do not recur in other tracks, so that their errors have no kinds."""
_UNITS = {"notes": "notes", "hits": "hits", "intervals": "boundaries", "tempo": "tempi", "text": "words"}
_MISSED, _EXTRA = "missing", "extra"
_PLAIN = {"missed": _MISSED, "deletion": _MISSED, "insertion": _EXTRA}
_WRONG = (*HALF, *BAD)
_INTERVALS = (
    *("same", "a semitone above", "a tone above", "a minor third above", "a major third above", "a fourth above"),
    *("a tritone away", "a fifth above", "a major third below", "a minor third below", "a tone below"),
    "a semitone below",
)


@dataclass(frozen=True)
class Errors:
    """The errors of one estimate, item by item."""

    names: Sequence[str]
    """Kind of each."""
    start: Float
    end: Float
    """Seconds, float64 (n,); NaN without a time axis."""
    amount: Float
    """What each counts: seconds, or 1."""
    judged: float
    """Amount of all items that are judged, right ones too."""
    unit: str
    """What amounts are counted in."""
    rights: tuple[Float, Float] | None = None
    """Starts and ends of what is right, if items are stretches of time."""
    keys: tuple[Bool, Column] | None = None
    """Of other items, whether they are the reference's, and what they are beside their times: those of two estimates
    that are equal in both are the same error."""


Cell = tuple[int, int, Errors]
"""Numbers of a track and a system, and what is wrong in its estimate."""


@dataclass
class ErrorLists:
    """The errors of the systems of an evaluation under one metric, gathered by blocks of tracks."""

    systems: int
    unit: str = ""
    codes: dict[str, int] = field(default_factory=dict)
    """Numbers of the kinds."""
    names: list[str] = field(default_factory=list)
    """Tracks, in the order in which they were added."""
    counted: set[int] = field(default_factory=set)
    """Numbers of tracks whose errors count and whose places are not listed, as the page does not show them."""
    judged: dict[int, dict[int, float]] = field(default_factory=dict)
    """Amounts by system and number of the track."""
    rows: list[Float] = field(default_factory=list)
    """Places: system, code, track, start, end, amount, and the amount that each system has right there."""

    def add(self, found: Mapping[str, Mapping[int, Errors]], listed: bool = True) -> None:
        """Add the estimates of tracks by system; unless `listed`, the page leads to none of their places."""
        cells: list[Cell] = []
        for name, by_system in found.items():
            if by_system:
                cells += [(len(self.names), system, errors) for system, errors in by_system.items()]
                self.counted.update(() if listed else [len(self.names)])
                self.names.append(name)
        for number, system, errors in cells:
            self.unit = errors.unit
            self.judged.setdefault(system, {})[number] = errors.judged
        for gap, lasting in ((_RUN, False), (1e-6, True)):
            alike = [cell for cell in cells if (cell[2].rights is not None) == lasting]
            kinds = [kind for *_, errors in alike for kind in errors.names]
            if not kinds:
                continue
            sizes = [len(errors.names) for *_, errors in alike]
            track, owner = (np.repeat([cell[side] for cell in alike], sizes) for side in (0, 1))
            start, end, amount = (
                np.concatenate([getattr(errors, side) for *_, errors in alike]) for side in ("start", "end", "amount")
            )
            systems = self.systems if self.systems <= COMPARED else 0
            if lasting:
                right = np.clip(_right_seconds(track, start, end, alike, systems), 0.0, amount[:, None])
            else:
                right = np.where(_are_right(track, owner, start, alike, systems), amount[:, None], 0.0)
            if systems:
                right[np.arange(len(owner)), owner] = 0.0
            for kind in dict.fromkeys(kinds):
                self.codes.setdefault(kind, len(self.codes))
            code = np.array([self.codes[kind] for kind in kinds])
            # Places of the same system, kind and track that follow each other are one.
            places = np.column_stack([owner, code, track, start, end, amount, right])
            places = places[np.lexsort(places[:, [3, 2, 1, 0]].T)]
            apart = ~(places[1:, 3] <= places[:-1, 4] + gap)  # without times, all are
            first = np.flatnonzero(np.append(True, apart | (places[1:, :3] != places[:-1, :3]).any(axis=1)))
            merged = places[first]
            merged[:, 4] = places[np.append(first[1:], len(places)) - 1, 4]
            merged[:, 5:] = np.add.reduceat(places[:, 5:], first, axis=0)
            self.rows.append(merged)

    def describe(self, rule: str) -> dict[str, Any] | None:
        """Describe them for the page, with the metric that judges; None if nothing was judged.

        ``byTrack`` is what each track adds to the totals of each system, so that the page can sum over any tracks:
        ``judged``, amounts by track, None where the system is not judged; ``kinds``, for each listed kind the numbers
        of its tracks (each less the one before it) and their amounts; ``left``, the same of all other kinds together.
        """
        if not any(sum(judged.values()) for judged in self.judged.values()):
            return None
        width = 6 + (self.systems if self.systems <= COMPARED else 0)
        rows = np.concatenate([np.zeros((0, width)), *self.rows])
        described = [
            self._describe_system(self.judged[system], rows[rows[:, 0] == system, 1:])
            if system in self.judged
            else None
            for system in range(self.systems)
        ]
        systems, totals = zip(*(one or (None, None) for one in described), strict=True)
        comparable = any(sum(row["instead"]) for row in systems if row)
        about = {"rule": rule, "unit": self.unit, "tracks": self.names, "comparable": comparable}
        return {**about, "systems": list(systems), "byTrack": list(totals)}

    def _describe_system(self, judged: Mapping[int, float], places: Float) -> tuple[dict[str, Any], dict[str, Any]]:
        """A system's errors, and its totals by track."""
        codes = places[:, 0].astype(np.int64)
        amounts = np.bincount(codes, places[:, 4], len(self.codes))
        order = [code for code in np.argsort(-amounts, kind="stable").tolist() if amounts[code] > 0]
        # Each listed kind is a group, all others are the next, and what counts nothing is the last.
        count, names = min(len(order), MOST_KINDS), list(self.codes)
        group = np.full(len(names), count + 1)
        group[order] = np.minimum(np.arange(len(order)), count)
        grouped = places[np.argsort(group[codes], kind="stable")]
        bounds = offsets_of(np.bincount(group[codes], minlength=count + 2))
        *kinds, left = (grouped[low:high] for low, high in pairwise(bounds[: count + 2].tolist()))
        # Of each group of places the numbers of its tracks, each less the one before, and what its places count.
        owner = np.repeat(np.arange(count + 2), np.diff(bounds)) * len(self.names) + grouped[:, 1].astype(np.int64)
        keys, index = np.unique(owner, return_inverse=True)
        summed = [_rounded(amount) for amount in np.bincount(index, grouped[:, 4], len(keys)).tolist()]
        edges = np.searchsorted(keys, np.arange(count + 2) * len(self.names)).tolist()
        tracks = keys % len(self.names)
        totals = [[np.diff(tracks[low:high], prepend=0).tolist(), summed[low:high]] for low, high in pairwise(edges)]
        described = {
            "tracks": len(judged),
            "judged": sum(judged.values()),
            "wrong": float(places[:, 4].sum()),
            "kinds": [
                self._describe_kind(names[code], own, len(by_track[0]))
                for code, own, by_track in zip(order, kinds, totals, strict=False)
            ],
            "instead": places[:, 5:].sum(axis=0).tolist(),
            "left": [len(order[MOST_KINDS:]), float(left[:, 4].sum())],
        }
        by_track = [_rounded(judged[number]) if number in judged else None for number in range(len(self.names))]
        return described, {"judged": by_track, "kinds": totals[:-1], "left": totals[-1]}

    def _describe_kind(self, name: str, places: Float, tracks: int) -> dict[str, Any]:
        """Totals of a kind, and its largest places in the order of tracks and times."""
        listed = places[~np.isin(places[:, 1], list(self.counted))] if self.counted else places
        kept = listed[np.argsort(-listed[:, 4], kind="stable")[:MOST_PLACES]]
        kept = kept[np.lexsort((kept[:, 2], kept[:, 1]))]
        half = kept[:, 5:] > kept[:, 4:5] / 2 + 1e-9
        described: dict[str, Any] = {
            "name": name,
            "amount": float(places[:, 4].sum()),
            "tracks": tracks,
            "places": len(places),
            "instead": places[:, 5:].sum(axis=0).round(1).tolist(),
            "track": np.diff(kept[:, 1].astype(np.int64), prepend=0).tolist(),
            "right": (half @ (1 << np.arange(half.shape[1]))).tolist(),
        }
        if not np.isnan(kept[:, 2]).any():
            # Not before the place, unless it is shorter.
            start = np.minimum(np.ceil(kept[:, 2] * _TENTHS), np.rint(kept[:, 3] * _TENTHS)).astype(np.int64)
            length = np.rint(kept[:, 3] * _TENTHS).astype(np.int64) - start
            described |= {"start": start.tolist(), "length": length.tolist()}
        if self.unit != "s":
            described["count"] = kept[:, 4].tolist()
        return described


def _rounded(amount: float) -> float:
    """An amount in few characters: whole numbers without a point."""
    short = round(amount, _DIGITS)
    return int(short) if short.is_integer() else short


def _right_seconds(track: Column, start: Float, end: Float, alike: Sequence[Cell], systems: int) -> Float:
    """How many seconds of stretches of tracks are right in the estimates of each system, (stretches, systems)."""
    rights = [(number, system, errors.rights) for number, system, errors in alike if errors.rights is not None]
    sizes = [len(opens) for *_, (opens, _) in rights]
    opens, closes = (np.concatenate([edges[side] for *_, edges in rights]) for side in (0, 1))
    of_track, of_system = (np.repeat([one[side] for one in rights], sizes) for side in (0, 1))
    times, tracks = np.concatenate([start, end, opens, closes]), np.concatenate([track, track, of_track, of_track])
    # Tracks lie one after the other on one axis; what is right changes at no other points than these.
    low = times.min(initial=0.0)
    _, first, place = np.unique(
        tracks * (times.max(initial=0.0) - low + 1.0) + (times - low), return_index=True, return_inverse=True
    )
    length = np.diff(times[first], append=0.0)
    starts, ends, opens, closes = np.split(place, np.cumsum([len(start), len(end), len(opens)]))
    right = np.zeros((len(start), systems))
    for system in np.unique(of_system).tolist():
        mask = of_system == system
        steps = np.bincount(opens[mask], minlength=len(first)) - np.bincount(closes[mask], minlength=len(first))
        through = np.append(0.0, np.cumsum(np.where(np.cumsum(steps) > 0, length, 0.0)))
        right[:, system] = through[ends] - through[starts]
    return right


def _are_right(track: Column, owner: Column, time: Float, alike: Sequence[Cell], systems: int) -> Bool:
    """Whether the items of tracks and systems are no errors of each system that was compared, (items, systems)."""
    right = np.zeros((len(time), systems), dtype=np.bool_)
    keys = [errors.keys for *_, errors in alike if errors.keys is not None]
    if len(keys) < len(alike):
        return right
    of_reference, what = (np.concatenate(side) for side in zip(*keys, strict=True))
    names, which = np.unique(what, return_inverse=True)
    group, time = track * len(names) + which, np.nan_to_num(time)  # without times, any error of the group is near
    low = time.min(initial=0.0)
    # Groups and times on one axis, where the nearest error of a system stands before or behind an item.
    place = group * (time.max(initial=0.0) - low + 1.0) + (time - low)
    for system in range(systems):
        right[:, system] = np.isin(track, [number for number, other, _ in alike if other == system])
        for side, most in ((of_reference, 0.0), (~of_reference, _NEAR)):
            others = side & (owner == system)
            errors = np.flatnonzero(others)[np.argsort(place[others], kind="stable")]
            items = np.flatnonzero(side)
            after = np.searchsorted(place[errors], place[items])
            for index in (np.maximum(after - 1, 0), np.minimum(after, len(errors) - 1)) if len(errors) else ():
                near = (group[errors[index]] == group[items]) & (np.abs(time[errors[index]] - time[items]) <= most)
                right[items[near], system] = False
    return right


@dataclass(frozen=True)
class ErrorFinder:
    """Find the errors of estimates of a task under a metric."""

    convention: Convention
    measure: Measure
    kind: str
    """Of the annotations."""

    def find(
        self, evidence: Sequence[Mapping[str, Column]], pairs: Sequence[tuple[Annotation, Annotation]]
    ) -> list[Errors | None]:
        """Give the errors in the evidence for the score of each pair; None if it has no kinds of errors."""
        found: list[Errors | None] = [None] * len(pairs)
        if self.kind in _UNTOLD:
            return found
        lasting = KINDS[self.kind].times
        # What the errors of marks or of items without times are counted in.
        unit = _UNITS.get(self.kind, "events" if lasting else "tracks")
        unit = "tags" if self.convention.task == "tagging" else unit
        stretches: dict[int, Mapping[str, Column]] = {}
        for place, (columns, pair) in enumerate(zip(evidence, pairs, strict=True)):
            if not ({"verdict", "relation"} & set(columns)):
                continue
            sides = [columns.get(name) for name in ("reference", "estimate")]
            if not lasting:
                found[place] = self._of_items(columns, *pair, unit)
            elif {"start", "end"} <= set(columns):
                stretches[place] = columns
            elif all(side is not None and side.dtype.kind == "f" for side in sides):
                found[place] = self._of_marks(columns, *pair, unit)
        for place, errors in zip(stretches, self._of_stretches([*stretches.values()]), strict=True):
            found[place] = errors
        return found

    def _of_stretches(self, evidence: Sequence[Mapping[str, Column]]) -> Iterator[Errors]:
        """What is heard as what, in seconds; of frames with several pitches, the verdicts."""
        if not evidence:
            return
        verdict, start, end = (np.concatenate([one[name] for one in evidence]) for name in ("verdict", "start", "end"))
        wrong, right = np.isin(verdict, _WRONG), np.isin(verdict, GOOD)
        length, either = end - start, wrong | right
        if "reference" in evidence[0] and evidence[0]["reference"].dtype.kind == "U":
            sides = [np.concatenate([one[name] for one in evidence])[wrong] for name in ("reference", "estimate")]
            task = self.convention.task
            names = [_name_pair(task, *pair) for pair in zip(*(side.tolist() for side in sides), strict=True)]
        else:
            names = [_PLAIN.get(word, word) for word in verdict[wrong].tolist()]
        bounds = offsets_of(np.array([len(one["start"]) for one in evidence]))
        overlap = np.append(start[1:] < end[:-1] - 1e-9, False)
        overlap[bounds[1:] - 1] = False
        # Of each estimate what is wrong, right, and judged at all, from the same of all of them.
        spans = [
            pairwise(offsets_of(mask.astype(np.int64))[bounds].tolist()) for mask in (wrong, right, either, overlap)
        ]
        bad_start, bad_end, bad_length = start[wrong], end[wrong], length[wrong]
        right_start, right_end, judged = start[right], end[right], length[either]
        for bad, good, every, at_once in zip(*([slice(*ends) for ends in span] for span in spans), strict=True):
            # Several pitches at once are not stretches of which one is right.
            rights = None if at_once.start < at_once.stop else (right_start[good], right_end[good])
            amount = float(judged[every].sum())
            yield Errors(names[bad], bad_start[bad], bad_end[bad], bad_length[bad], amount, "s", rights)

    def _of_marks(
        self, columns: Mapping[str, Column], reference: Annotation, estimate: Annotation, unit: str
    ) -> Errors:
        """Events of both sides, by the kinds of errors of the task where it has them, else by their verdicts."""
        verdict, wrong = columns["verdict"], np.isin(columns["verdict"], _WRONG)
        lacking = np.isnan(columns["estimate"]) & wrong
        times = np.where(lacking, columns["reference"], columns["estimate"])[wrong]
        lacking = lacking[wrong]
        words = [_PLAIN.get(word, word) for word in verdict[wrong].tolist()]
        what: Column = np.zeros(len(times))
        if "class" in columns:
            what = columns["class"][wrong]
            words = [f"{name}: {word}" for name, word in zip(what.tolist(), words, strict=True)]
        else:
            pitch = what
            if "reference_pitch" in columns:
                pitch = np.where(lacking, columns["reference_pitch"][wrong], columns["estimate_pitch"][wrong])
                what = np.rint(12 * np.log2(np.maximum(pitch, 1.0)))
            kinds = self.convention.errors
            with suppress(MirflowError):  # without the kinds of errors of the task, the verdicts are left
                if kinds is not None:
                    rows = usable_pair(reference, estimate, self.convention.clean)
                    known = _kinds_of_items(kinds.align(*rows, self.measure, False))
                    keys = zip(lacking.tolist(), times.tolist(), pitch.tolist(), strict=True)
                    codes = [known.get(key, RIGHT) for key in keys]
                    names = [kind.name.replace("_", " ") for kind in kinds.kinds]
                    words = [word if code == RIGHT else names[code] for code, word in zip(codes, words, strict=True)]
        # A hit is an event of both sides.
        judged = float(len(times) + 2 * np.isin(verdict, GOOD).sum())
        return Errors(words, times, times, np.ones(len(times)), judged, unit, keys=(lacking, what))

    def _of_items(
        self, columns: Mapping[str, Column], reference: Annotation, estimate: Annotation, unit: str
    ) -> Errors:
        """Tracks, tags, tempi or words."""
        if "verdict" in columns:
            wrong, right = np.isin(columns["verdict"], _WRONG), np.isin(columns["verdict"], GOOD)
        else:
            right = columns["relation"] == "same"
            wrong = ~right
        rows = np.flatnonzero(wrong).tolist()
        texts = {name: columns[name].tolist() for name in columns}
        what: Column = np.zeros(len(rows))
        if self.kind == "tempo":
            names, what = ["other"] * len(rows), columns["reference"][wrong]
            if self.convention.errors is not None:
                sides = usable_pair(reference, estimate, self.convention.clean)
                edits = self.convention.errors.align(*sides, self.measure, False)
                assert isinstance(edits, Edits)
                kinds = [*(kind.name for kind in self.convention.errors.kinds), "other"]
                names = [kinds[edits.inserted[row]] for row in rows]
        elif "label" in columns:
            words = [_PLAIN.get(word, word) for word in texts["verdict"]]
            names = [f"{texts['label'][row]}: {words[row]}" for row in rows]
            what = np.array(names)
        else:
            names = [
                _name_pair(self.convention.task, str(texts["reference"][row]), str(texts["estimate"][row]))
                for row in rows
            ]
        # Words of two estimates are not aligned with each other.
        keys = None if self.kind == "text" else (wrong[wrong], what)
        nowhere = np.full(len(rows), np.nan)
        return Errors(names, nowhere, nowhere, np.ones(len(rows)), float((wrong | right).sum()), unit, keys=keys)


def _kinds_of_items(edits: Any) -> dict[tuple[bool, float, float], int]:
    """The kind of error of each item that has one, by its side (whether the reference's), time, and pitch if any."""
    if isinstance(edits, Mending):
        items = () if edits.items is None else zip(*(column.tolist() for column in edits.items), strict=True)
        return {(of_reference, time, 0.0): kind for of_reference, time, kind in items if kind != RIGHT}
    if not isinstance(edits, Edits):
        return {}
    inserted, removed = edits.inserted.copy(), edits.removed.copy()
    for kinds in edits.changed.values():
        # An item with another value is an error of both sides.
        changed = np.flatnonzero((kinds != RIGHT) & (removed == RIGHT))
        removed[changed] = kinds[changed]
        if edits.partner is not None:
            inserted[edits.partner[changed]] = kinds[changed]
    found: dict[tuple[bool, float, float], int] = {}
    for own, rows, kinds in ((True, edits.reference, inserted), (False, edits.estimate, removed)):
        times = rows.columns["time" if "time" in rows.columns else "start"]
        pitches = rows.columns.get("pitch", np.zeros(len(times)))
        each = zip(times.tolist(), pitches.tolist(), kinds.tolist(), strict=True)
        found |= {(own, time, pitch): kind for time, pitch, kind in each if kind != RIGHT}
    return found


_QUALITIES = {sum(bit << place for place, bit in enumerate(tones)): name for name, tones in reversed(QUALITIES.items())}
"""The first name of the chords with some tones above the root, as bits."""


@cache
def _name_pair(task: str, reference: str, estimate: str) -> str:
    """What is heard as what: of chords and keys the kinds, and how far the roots or tonics are apart."""
    one, other = (_parse(task, label) for label in (reference, estimate))
    if one is None or other is None:
        return f"{reference or 'nothing'} → {estimate or 'nothing'}"
    if one[0] < 0 or other[0] < 0:
        return f"{one[1]} → {other[1]}"
    interval = _INTERVALS[(other[0] - one[0]) % 12]
    if one[0] == other[0]:
        interval = "another bass" if one[1] == other[1] else "same root" if task == "chord" else "same tonic"
    return f"{one[1]} → {other[1]}, {interval}"


@cache
def _parse(task: str, label: str) -> tuple[int, str] | None:
    """Root or tonic, -1 for none, and kind of a chord or a key; None for other labels."""
    if task == "chord":
        try:
            code = encode_chord(label)
        except InvalidChordException:
            return None
        if code.root < 0:
            return -1, "no chord" if code.pitches == 0 else label
        bass = f"/{label.partition('/')[2]}" if "/" in label else ""
        tones = label.partition(":")[2].removesuffix(bass)
        return code.root, _QUALITIES.get(code.pitches, tones or "maj")
    if task in ("key", "local_key"):
        key = parse_key(label)
        if key is not None:
            return (-1, "no key") if key is UNNAMED else (key.tonic, MODES[key.mode])
    return None
