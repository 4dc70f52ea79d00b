"""Consistency of references: places where beats, chords, sections or labels probably contain a mistake.

Each `ConsistencyRule` looks at one annotation, some beside another one of the same track: chords beside a key,
sections beside downbeats. Music breaks every one of them on purpose, so their findings are notes, ranked by a strength
from 0 to 1. `find_odd_labels` compares the labels of many files, and finds misspelt and unusual ones.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ..annotations.annotation import Annotation
from ..errors import counted
from ..ragged import Bool, Float, Int
from ..readers.label_maps import read_label_map
from ..theory.chords import encode_vocabulary
from ..theory.harte import InvalidChordException, parse_chord
from ..theory.keys import MODES, UNNAMED, Key, parse_key

SHORTEST = 0.1  # minimum plausible seconds between two beats (600 beats per minute)
_NEIGHBOURS = 8  # intervals before and after one whose median it is compared with
_FEW = 5  # intervals below which they are not compared with each other
_LONG, _SHORT = 1.6, 0.625
"""Ratios to that median beyond which an interval is noted: a beat is missing, or there is one too many."""
_LEVEL = 0.08  # deviation from a factor of 2, in octaves, up to which intervals double or halve
_BARS = 4  # bars of the same length before and after one that differs for it to be noted
SILENT = 8.0  # seconds without a chord or section, between others, that are noted
_COVERED = 2.0  # seconds that are noted if another annotation has something there
_ON_BEAT = 0.4  # distance from a downbeat, in beats, up to which a section begins on it
_COMMON = 0.6
"""Share of sections on downbeats above which the others are noted; share of a common distance that is noted once."""
_INSIDE = 0.8  # share of the chords' tones in the annotated key below which another key may be noted
_BETTER = 0.12  # share of tones by which the other key must be better
_FOREIGN = 2  # tones outside of the key from which a chord is noted
_RARE = 0.02  # share of the time up to which such a chord is rare
_USUAL = 5  # files that must have a label for one that is nearly the same, in one other file, to be noted
_LETTERS = 4  # letters that such labels have

_NO_HARMONY = frozenset({"N", "X", ""})
_NO_SECTION = frozenset({"silence", "end", ""})
"""Labels of time without a chord or key, and in lower case without a section."""
_SCALES: Mapping[str, tuple[int, ...]] = {
    "major": (0, 2, 4, 5, 7, 9, 11),
    "minor": (0, 2, 3, 5, 7, 8, 9, 10, 11),  # natural, harmonic and melodic
    "dorian": (0, 2, 3, 5, 7, 9, 10),
    "phrygian": (0, 1, 3, 5, 7, 8, 10),
    "lydian": (0, 2, 4, 6, 7, 9, 11),
    "mixolydian": (0, 2, 4, 5, 7, 9, 10),
    "locrian": (0, 1, 3, 5, 6, 8, 10),
}
_PITCHES = ("C", "Db", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")


@dataclass(frozen=True, slots=True)
class Suspect:
    """A place that probably contains a mistake."""

    item: int | None  # row of the annotation; None: all of it
    message: str
    strength: float  # how far it is from what the rule expects, 0 to 1


Find = Callable[[Annotation, Annotation | None], Iterator[Suspect]]
"""(annotation, the one beside it) -> places that break a rule."""


@dataclass(frozen=True, slots=True)
class ConsistencyRule:
    """A rule that annotations of some tasks keep, but for mistakes and for music that breaks it."""

    name: str
    sign: str  # description in the documentation
    tasks: tuple[str, ...]
    find: Find
    beside: tuple[str, ...] = ()
    """Tasks of the annotation beside it, the preferred one first; empty: none is used."""
    needs: bool = False  # whether there are no findings without it


RULES: list[ConsistencyRule] = []
"""All rules, in the order in which they are applied."""


def declare_rule(
    name: str, sign: str, tasks: tuple[str, ...], beside: tuple[str, ...] = (), *, needs: bool = False
) -> Callable[[Find], Find]:
    """Declare the rule that a function finds breaches of."""

    def declare(find: Find) -> Find:
        RULES.append(ConsistencyRule(name, sign, tasks, find, beside, needs))
        return find

    return declare


def find_suspects(
    task: str, annotation: Annotation, beside: Mapping[str, Annotation]
) -> Iterator[tuple[ConsistencyRule, Suspect]]:
    """Places of an annotation that break a rule of its task. `annotation`: with finite times in ascending order; others
    have no findings."""
    if not _is_ordered(annotation):
        return
    for rule in RULES:
        if task not in rule.tasks:
            continue
        name = next((name for name in rule.beside if name in beside), "")
        other = beside[name] if name and _is_ordered(beside[name]) else None  # else the times cannot be compared
        if other is not None and name == "downbeat":
            other = replace(other, labels=["1"] * len(other))
        if other is not None or not rule.needs:
            for suspect in rule.find(annotation, other):
                yield rule, suspect


def _is_ordered(annotation: Annotation) -> bool:
    """Whether all times are finite, and the first column of them ascends."""
    times = [annotation.columns[name] for name in ("time", "start", "end") if name in annotation.columns]
    return all(np.isfinite(column).all() for column in times) and bool((np.diff(times[:1]) >= 0).all())


@declare_rule(
    "interval",
    "beats less than 0.1 s apart, or intervals between beats that are at least 1.6 times as long or short as those "
    "around them, or double or halve from some beat on",
    ("beat", "downbeat"),
)
def _beats(annotation: Annotation, beside: Annotation | None) -> Iterator[Suspect]:
    """Intervals that are too short, double, halve, or change to another level of the metre."""
    gaps = np.diff(annotation.columns["time"])
    around = gaps  # the median of the intervals before and after each, without itself and 0
    if len(gaps) >= _FEW:
        padded = np.concatenate([np.full(_NEIGHBOURS, np.nan), gaps, np.full(_NEIGHBOURS, np.nan)])
        padded[padded <= 0] = np.nan
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEIGHBOURS + 1)
        others = np.delete(windows, _NEIGHBOURS, axis=1)
        alone = np.isnan(others).all(axis=1)
        others[alone] = gaps[alone, np.newaxis]
        around = np.nanmedian(others, axis=1)
    octaves = np.zeros(len(gaps))
    octaves[gaps > 0] = np.log2(gaps[gaps > 0] / around[gaps > 0])
    odd = ((octaves >= np.log2(_LONG)) | (octaves <= np.log2(_SHORT)) | (gaps < SHORTEST)) & (gaps > 0)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], odd, [False]]).astype(np.int8)))
    for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        farthest = float(np.abs(octaves[first:end]).max())
        gap, follows = gaps[first], "follows the beat before it after"
        if gap < SHORTEST:
            message = f"{follows} {1000 * gap:.3g} ms, {60 / gap:.0f} beats per minute"
        elif end == first + 1:
            what = "is a beat missing?" if gap > around[first] else "is it, or the one before, no beat?"
            times = f"{gap / around[first]:.2g} times the intervals around ({around[first]:.3g} s)"
            message = f"{follows} {gap:.3g} s, {times}: {what}"
        else:
            lengths = " to ".join(
                dict.fromkeys(f"{length:.3g}" for length in (gaps[first:end].min(), gaps[first:end].max()))
            )
            usual = float(np.median(around[first:end]))
            message = f"begins {end - first} intervals of {lengths} s among intervals of {usual:.3g} s"
        yield Suspect(first + 1, message, 1 - 0.5**farthest)
    size, last_change = 2 * _NEIGHBOURS, -np.inf
    # Intervals from which on all are twice or half as long as those before.
    for item in range(size, len(gaps) - size + 1):
        before, after = gaps[item - size : item], gaps[item : item + size]
        if before.min() <= 0 or after.min() <= 0 or item - last_change < size:
            continue
        ends = np.log2(after.min() / before.max()), np.log2(after.max() / before.min())
        steps = np.log2(np.median(after) / np.median(before))
        if abs(abs(steps) - 1) <= _LEVEL and ends[0] * ends[1] > 0 and min(map(abs, ends)) > 0.5:
            last_change, what = item, "double" if steps > 0 else "halve"
            yield Suspect(item + 1, f"from here on the intervals {what}: is it still the same beat?", 0.8)


def positions(annotation: Annotation) -> Int | None:
    """Positions of beats in their bars, or None if the labels are others, or only downbeats; their first ten digits."""
    labels = annotation.labels
    if labels is None or not len(labels) or not all(label.isdecimal() for label in set(labels)) or set(labels) == {"1"}:
        return None
    return np.array([int(label[:10]) for label in labels], dtype=np.int64)


@declare_rule(
    "position",
    "positions in the bar that are skipped or repeated, such as 2 after 4, or two downbeats in a row",
    ("beat",),
)
def _positions(annotation: Annotation, beside: Annotation | None) -> Iterator[Suspect]:
    """Positions in the bar that neither count up nor restart at 1."""
    position = positions(annotation)
    if position is None:
        return
    before, now = position[:-1], position[1:]
    shown = [label if len(label) < 11 else f"{label[:10]}..." for label in annotation.labels or ()]
    for item in np.flatnonzero(((now != 1) & (now != before + 1)) | (before == now)).tolist():
        message = f"position {shown[item + 1]} in the bar follows position {shown[item]}"
        message += ": two downbeats in a row" if before[item] == now[item] == 1 else ""
        yield Suspect(item + 1, message, 0.9)


@declare_rule("bar", "a bar with other beats than the four before and after it, which agree", ("beat",))
def _bars(annotation: Annotation, beside: Annotation | None) -> Iterator[Suspect]:
    position = positions(annotation)
    if position is None:
        return
    downbeats = np.flatnonzero(position == 1)
    beats = np.diff(downbeats)  # of the bars that are whole
    if not len(beats):
        return
    usual, same = Counter(beats.tolist()).most_common(1)[0]
    for bar in np.flatnonzero(beats != usual).tolist():
        around = np.concatenate([beats[max(0, bar - _BARS) : bar], beats[bar + 1 : bar + 1 + _BARS]])
        if len(around) >= _BARS and (around == usual).all():
            message = f"a bar of {counted(int(beats[bar]), 'beat')} among bars of {usual}"
            yield Suspect(int(downbeats[bar]), message, 0.5 * same / len(beats))


@declare_rule(
    "silence",
    "8 s or more without a chord or section, between others; 2 s or more where an annotation beside it has beats, or "
    "another annotator chords or sections",
    ("chord", "segment", "local_key"),
    ("chord", "segment", "beat"),
)
def _silence(annotation: Annotation, beside: Annotation | None) -> Iterator[Suspect]:
    """Long time without a chord or section between others, or where another annotation has something."""
    labels = annotation.labels or []
    start, end = annotation.columns["start"], annotation.columns["end"]
    silent = _silent(annotation)
    sounding = np.flatnonzero(~silent & (end > start))
    if not len(sounding):
        return
    inside = silent.copy()
    inside[: sounding[0]] = inside[sounding[-1] :] = False
    held = [(item, float(start[item]), float(end[item])) for item in np.flatnonzero(inside).tolist()]
    gaps = (np.flatnonzero(start[1:] > end[:-1]) + 1).tolist()
    held += [(item, float(end[item - 1]), float(start[item])) for item in gaps]
    for item, begin, until in sorted(held):
        length, content = until - begin, ""  # what the annotation beside it has there, if it fills most of it
        if beside is not None and "start" not in beside.columns:
            times = beside.columns["time"]
            count = int(((times >= begin) & (times < until)).sum())
            content = counted(count, "beat") if count > 1 and until <= times[-1] else ""
        elif beside is not None:
            overlap = np.minimum(until, beside.columns["end"]) - np.maximum(begin, beside.columns["start"])
            sounds = ~_silent(beside) & (overlap > 0)
            if overlap[sounds].sum() >= 0.5 * length:
                names = [*dict.fromkeys(np.array(beside.labels or (), dtype=object)[sounds].tolist())]
                content = ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
        if length >= (_COVERED if content else SILENT):
            what = f"without a label ({begin:.6g} to {until:.6g} s)" if not inside[item] else f"of {labels[item]!r}"
            more = f", where the annotation beside it has {content}" if content else ""
            yield Suspect(item, f"{length:.3g} s {what}{more}", float(1 - np.exp(-length / SILENT)))


def _silent(annotation: Annotation) -> Bool:
    """Mask of the rows without a chord, key or section."""
    labels = annotation.labels or ()
    return np.array([label in _NO_HARMONY or label.strip().lower() in _NO_SECTION for label in labels], dtype=np.bool_)


@dataclass(frozen=True)
class _Tones:
    """Tones of the chords of an annotation."""

    pitches: Int  # bit mask of pitch classes above C: int64 (n,)
    seconds: Float

    def outside(self, key: Key) -> Int:
        """Number of tones of each chord that are not in a key."""
        scale = sum(1 << (step + key.tonic) % 12 for step in _SCALES[MODES[key.mode]])
        tones: Int = np.bitwise_count(self.pitches & ~scale).astype(np.int64)
        return tones

    def share(self, key: Key) -> float:
        """Share of the tones in a key, weighted by their seconds."""
        tones = self.seconds @ np.bitwise_count(self.pitches)
        return float(1 - self.seconds @ self.outside(key) / tones) if tones else 1.0


def _name(key: Key) -> str:
    return f"{_PITCHES[key.tonic]} {MODES[key.mode]}"


@declare_rule(
    "key",
    "chords of which less than 80 % of the tones, by time, are in the annotated key while more are in another; a chord "
    "with two or more tones outside of the key that occurs once and briefly. Without an annotated key it is the one "
    "that fits the chords best",
    ("chord",),
    ("local_key", "key"),
)
def _keys(annotation: Annotation, beside: Annotation | None) -> Iterator[Suspect]:
    """Chords in another key than the annotated one, and rare chords that are far from it."""
    start, end = annotation.columns["start"], annotation.columns["end"]
    if not len(start):
        return
    labels = list(annotation.labels or [])
    vocabulary = list(dict.fromkeys(labels))
    table = encode_vocabulary(vocabulary)
    masks = np.where(table.undefined | (table.root < 0), 0, table.pitches.astype(np.int64))
    root = np.maximum(table.root.astype(np.int64), 0)
    turned = ((masks << root) | (masks >> (12 - root))) & 0xFFF
    codes = {label: code for code, label in enumerate(vocabulary)}
    tones = _Tones(turned[[codes[label] for label in labels]], np.maximum(end - start, 0.0))
    named: list[tuple[float, float, Key]] = []  # spans of annotated keys
    if beside is not None:
        starts = beside.columns.get("start", np.zeros(len(beside)))
        ends = beside.columns.get("end", np.full(len(beside), float(end.max())))
        keys = zip(starts.tolist(), ends.tolist(), map(parse_key, beside.labels or ()), strict=False)
        named += [
            (begin, until, key)
            for begin, until, key in keys
            if key is not None and key is not UNNAMED and MODES[key.mode] in _SCALES
        ]
    fits = _best_key(tones)
    spans = named or ([(float(start[0]), float(end.max()), fits)] if fits is not None else [])
    middle = (start + end) / 2
    for begin, until, key in spans:
        inside = (middle >= begin) & (middle < until)
        inner = _Tones(tones.pitches[inside], tones.seconds[inside])
        best = _best_key(inner)
        if named and best is not None and inner.share(key) < min(_INSIDE, inner.share(best) - _BETTER):
            message = f"{inner.share(key):.0%} of the chords' tones are in {_name(key)}, the annotated key, "
            message += f"{inner.share(best):.0%} in the scale of {_name(best)}"
            yield Suspect(int(np.argmax(inside & (tones.pitches > 0))), message, inner.share(best) - inner.share(key))
            continue
        outside, total = tones.outside(key), float(tones.seconds[inside].sum())
        for mask in np.unique(tones.pitches[inside & (outside >= _FOREIGN)]).tolist():
            same = inside & (tones.pitches == mask)
            share = float(tones.seconds[same].sum()) / total
            if share <= _RARE and same.sum() == 1:
                item = int(np.flatnonzero(same)[0])
                why = "" if named else ", which fits the chords best"
                message = (
                    f"{labels[item]} occurs only here, and {outside[item]} of its tones are not in {_name(key)}{why}"
                )
                yield Suspect(item, message, 0.2 * float(outside[item]) * (1 - share / _RARE))


def _best_key(tones: _Tones) -> Key | None:
    """The major or natural minor key with most of the chords' tones; None without chords."""
    if not (tones.pitches > 0).any():
        return None
    keys = [Key(tonic, MODES.index("major")) for tonic in range(12)]
    return max(keys, key=tones.share)


@declare_rule(
    "downbeat",
    "sections that begin 0.4 beats or more from a downbeat, where at least 60 % do not; or 60 % that begin the same "
    "number of beats from one",
    ("segment",),
    ("beat", "downbeat"),
    needs=True,
)
def _sections(annotation: Annotation, beside: Annotation | None) -> Iterator[Suspect]:
    """Sections that do not begin on a downbeat, where most of the others do."""
    if beside is None:
        return
    beat, position = beside.columns["time"], positions(beside)
    start, labels = annotation.columns["start"], beside.labels
    downbeats = np.flatnonzero([label == "1" for label in labels or ()])
    sounding = (start >= beat[:1].sum()) & (start <= beat[-1:].sum()) & ~_silent(annotation)
    inside = np.flatnonzero(sounding & (np.arange(len(start)) > 0))
    if len(downbeats) < 2 or not len(inside):
        return
    counts = np.interp(start[inside], beat, np.arange(len(beat)))  # in beats
    nearest = np.abs(counts[:, np.newaxis] - downbeats[np.newaxis, :]).argmin(axis=1)
    distance = counts - downbeats[nearest]
    away = np.abs(distance) > (_ON_BEAT if position is not None else 0.25 * _ON_BEAT)
    unit = "beat" if position is not None else "bar"
    common, same = Counter(np.round(distance).astype(int).tolist()).most_common(1)[0]
    if position is not None and common and same >= max(3, _COMMON * len(inside)):
        where = "after" if common > 0 else "before"
        message = f"{same} of {len(inside)} sections begin {counted(abs(common), unit)} {where} a downbeat"
        yield Suspect(None, message, 0.9)
    elif away.mean() <= 1 - _COMMON:
        for index in np.flatnonzero(away).tolist():
            where = "after" if distance[index] > 0 else "before"
            far = f"{abs(distance[index]):.2g}"
            message = f"begins {far} {unit if far == '1' else f'{unit}s'} {where} the nearest downbeat "
            message += f"({beat[downbeats[nearest[index]]]:.6g} s); {len(inside) - int(away.sum())} of {len(inside)} "
            message += "sections begin on one"
            yield Suspect(int(inside[index]), message, float(min(1.0, abs(distance[index])) * (1 - away.mean())))


@declare_rule("other_list", "names of sections that are chords or keys", ("segment", "hierarchy"))
def _other_list(annotation: Annotation, beside: Annotation | None) -> Iterator[Suspect]:
    kinds: dict[str, str] = {}
    for label in dict.fromkeys(annotation.labels or ()):
        if ":" in label:
            with suppress(InvalidChordException):
                parse_chord(label)
                kinds[label] = "chord"
        elif " " in label.strip() and parse_key(label) is not None:
            kinds[label] = "key"
    for item, label in enumerate(annotation.labels or ()):
        if label in kinds:
            yield Suspect(item, f"{label!r} is a {kinds[label]}, not a section", 1.0)


SPELLING = (
    "spelling",
    "a label of sections, classes or tags in one file that differs in one letter from one that five or more files have",
)
VOCABULARY = (
    "vocabulary",
    "a name of sections in one of ten or more files that contains no word of the map `functions7`, while those in five "
    "or more files do",
)


def find_odd_labels(held: Sequence[Sequence[str]]) -> Iterator[tuple[int, str, Suspect, str]]:
    """Labels of a data set that are misspelt, or not of its list.

    Yields tuple of (int, str, Suspect, str): position of the file, name of the rule, finding, and label.

    Examples
    --------
    >>> files = [["verse", "chorus"]] * 5 + [["verse", "chrous"]]
    >>> [(file, rule, found.message) for file, rule, found, _ in find_odd_labels(files)]
    [(5, 'spelling', "'chrous' is in this file only; 5 files have 'chorus'")]
    """
    files: dict[str, dict[int, str]] = defaultdict(dict)
    for number, labels in enumerate(held):
        for label in labels:
            stem = re.sub(r"[\W\d_]+", "", label).lower()
            if len(stem) >= _LETTERS:
                files[stem].setdefault(number, label)
    usual = [stem for stem, having in files.items() if len(having) >= _USUAL]
    functions: set[str] = set()  # words in usual names of sections
    if len(held) >= 2 * _USUAL and usual:
        words = read_label_map("functions7")
        functions = {word.replace("-", "") for word, _ in (*words.equal, *words.contain)}
    of_sections = bool(functions) and all(any(word in stem for word in functions) for stem in usual)
    for stem, having in files.items():
        if len(having) > 1:
            continue
        ((number, label),) = having.items()
        near = next((other for other in usual if _is_near(stem, other)), None)
        if near is not None:
            count = len(files[near])
            message = f"{label!r} is in this file only; {count} files have {near!r}"
            yield number, SPELLING[0], Suspect(None, message, 1 - 1 / count), label
        elif of_sections and not any(word in stem for word in functions):
            message = f"{label!r}, in one of {len(held)} files, is not a usual name of a section"
            yield number, VOCABULARY[0], Suspect(None, message, 0.3), label


def _is_near(stem: str, other: str) -> bool:
    """True if one letter is missing, too many, wrong, or exchanged with its neighbour."""
    if stem == other or abs(len(stem) - len(other)) > 1:
        return False
    short, long = sorted((stem, other), key=len)
    start = next(
        (i for i, (letter, other_letter) in enumerate(zip(short, long, strict=False)) if letter != other_letter),
        len(short),
    )
    if len(short) < len(long):
        return short[start:] == long[start + 1 :]
    swapped = short[start : start + 2] == long[start : start + 2][::-1] and short[start + 2 :] == long[start + 2 :]
    return swapped or short[start + 1 :] == long[start + 1 :]
