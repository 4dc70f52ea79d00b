"""What is compared before a kernel is asked: times, pitch classes and pitches of annotations, on coarse grids.

Shifts, factors of time and pitch intervals between two annotations are found from these. Functions that transpose,
retime, cut or select parts of an annotation are here, too.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

import numpy as np

from ..annotations.annotation import Annotation
from ..ragged import Bool, Float, Int
from ..theory.harte import pitch_class_to_semitone
from ..theory.keys import parse_key
from ..theory.pitch import hz_to_midi

TIMED = ("time", "start", "end", "onset")
"""Columns of times."""
LONGEST_SHIFT = 30.0
"""Seconds within which displacements are looked for."""
_SIGNED = "semitones above 440 Hz"
PITCH_UNITS = {
    "MIDI": (440 * 2 ** (-69 / 12), 12.0),
    "cents above 10 Hz": (10.0, 1200.0),
    "cents above C-1": (440 * 2 ** (-69 / 12), 1200.0),
    "log2 of Hz": (1.0, 1.0),
    _SIGNED: (440.0, 12.0),
}
"""Units of pitches beside Hz: the frequency of 0, and steps of an octave."""
_HOPS = {"events": 0.02, "notes": 0.02, "hits": 0.02, "series": 0.01, "multipitch": 0.01}
_HOP = 0.1
_MOST_BINS = 2**17
_MOST_FRAMES = 2**14
"""Bins of frames of pitches, of which there are many."""
_NAMES = ("C", "Db", "D", "Eb", "E", "F", "Gb", "G", "Ab", "A", "Bb", "B")
_ROOT = re.compile(r"\s*([A-Ga-g])(#+|b+|)")


def onsets(annotation: Annotation) -> Float:
    """Times of the items, in order: of events, and the beginnings of what lasts."""
    name = next((name for name in ("time", "onset", "start") if name in annotation.columns), None)
    if name is None:
        return np.zeros(0)
    times = annotation.columns[name]
    return np.sort(times[np.isfinite(times)])


def last_time(annotation: Annotation) -> float:
    """The end of an annotation in seconds; NaN without times."""
    times = annotation.columns.get("end", onsets(annotation))
    times = times[np.isfinite(times)]
    return float(times.max()) if len(times) else float("nan")


@lru_cache(maxsize=65_536)
def root_of(label: str, task: str) -> int | None:
    """The pitch class of the root of a chord, or of the tonic of a key; None without any."""
    if task != "chord":
        key = parse_key(label)
        return None if key is None or key.tonic > 11 else key.tonic
    match = _ROOT.match(label)
    return None if match is None else pitch_class_to_semitone(match[1].upper() + match[2]) % 12


def pitches(annotation: Annotation) -> Float:
    """Pitches in semitones (MIDI numbers), NaN where there is none; of single items."""
    if annotation.kind == "patterns":
        return np.asarray(annotation.columns["pitch"], dtype=np.float64)
    hertz = np.abs(annotation.pitches)
    made = np.full(len(hertz), np.nan)
    sounding = np.isfinite(hertz) & (hertz > 0)
    made[sounding] = hz_to_midi(hertz[sounding])
    return made


def transpose(annotation: Annotation, semitones: float, task: str) -> Annotation:
    """The annotation some semitones higher; labels that are no chord or key stay."""
    if annotation.kind in ("intervals", "key"):
        moved: dict[str, str] = {}
        for label in set(annotation.labels or ()):
            root, match = root_of(label, task), _ROOT.match(label)
            moved[label] = label
            if root is not None and match is not None:
                name = _NAMES[(root + round(semitones)) % 12]
                moved[label] = (name if match[1].isupper() else name.lower()) + label[match.end() :]
        return replace(annotation, labels=[moved[label] for label in annotation.labels or ()])
    name = "pitch" if "pitch" in annotation.columns else "frequency"
    pitch = annotation.columns[name]
    made = pitch + semitones if annotation.kind == "patterns" else pitch * 2 ** (semitones / 12)
    return replace(annotation, columns={**annotation.columns, name: made})


def in_hertz(annotation: Annotation, unit: str) -> Annotation:
    """The annotation whose pitches are numbers of another unit, in Hz; silence and signs stay."""
    name = "pitch" if "pitch" in annotation.columns else "frequency"
    numbers = annotation.columns[name]
    size = np.abs(numbers)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        first, steps = PITCH_UNITS[unit]
        hertz = first * 2 ** ((numbers if unit == _SIGNED else size) / steps)
    if annotation.kind != "notes" and unit != _SIGNED:
        hertz = np.where(numbers == 0, 0.0, np.sign(numbers) * hertz)
    return replace(annotation, columns={**annotation.columns, name: np.minimum(hertz, 1e5)})


def select(annotation: Annotation, mask: Bool) -> Annotation:
    """The items of a mask: those with times, and what belongs to them."""
    if annotation.kind == "multipitch":
        (counts,) = annotation.inner_counts
        inner = np.repeat(mask, counts)
        columns = {name: col[mask if name == "time" else inner] for name, col in annotation.columns.items()}
        return replace(annotation, columns=columns, inner_counts=(counts[mask],), lines=None)
    labels = annotation.labels
    if labels is not None:
        labels = [labels[item] for item in np.flatnonzero(mask).tolist()]
    counts_by_dim = annotation.inner_counts
    if annotation.kind == "hierarchy":
        level = np.repeat(np.arange(len(counts_by_dim[0])), counts_by_dim[0])
        counts_by_dim = (np.bincount(level[mask], minlength=len(counts_by_dim[0])),)
    columns = {name: column[mask] for name, column in annotation.columns.items()}
    return replace(annotation, columns=columns, labels=labels, inner_counts=counts_by_dim, lines=None)


def retime(annotation: Annotation, factor: float, seconds: float) -> Annotation:
    """The annotation with its times multiplied, then moved; what would be before 0 is cut off."""
    moved = {
        name: column * factor + seconds if name in TIMED else column for name, column in annotation.columns.items()
    }
    made = replace(annotation, columns=moved)
    if annotation.kind == "patterns" or seconds >= 0:
        return made
    if "end" in moved:
        made = select(made, moved["end"] > 0)
        columns = {**made.columns, "start": np.maximum(made.columns["start"], 0.0)}
        return replace(made, columns=columns)
    return select(made, moved["time"] >= 0) if "time" in moved else made


def cut_at(annotation: Annotation, end: float) -> Annotation:
    """What of an annotation lies before a time."""
    if "end" in annotation.columns:
        made = select(annotation, annotation.columns["start"] < end)
        return replace(made, columns={**made.columns, "end": np.minimum(made.columns["end"], end)})
    return select(annotation, annotation.columns["time"] <= end)


def indicator(annotation: Annotation, task: str, hop: float, bins: int) -> Float:
    """What is heard or marked in each bin, float64 (channels, bins), of mean 0 in each channel."""
    kind, columns = annotation.kind, annotation.columns
    made = np.zeros((12 if kind in ("series", "multipitch", "notes") or task in ("chord", "local_key") else 1, bins))
    if task in ("chord", "local_key"):
        table: dict[str, int] = {}
        for label in annotation.labels or ():
            if label not in table:
                root = root_of(label, task)
                table[label] = -1 if root is None else root
        root_index = np.array([table[label] for label in annotation.labels or ()], dtype=np.int64)
        edges = [np.clip(np.round(columns[name] / hop), 0, bins - 1).astype(np.int64) for name in ("start", "end")]
        good = (root_index >= 0) & (edges[1] > edges[0])
        for edge, sign in zip(edges, (1.0, -1.0), strict=True):
            np.add.at(made, (root_index[good], edge[good]), sign)
        made = np.minimum(np.cumsum(made, axis=1), 1.0)
    else:
        times = columns[next(name for name in ("time", "onset", "start") if name in columns)]
        pitch = pitches(annotation) if len(made) == 12 else np.zeros(len(times))
        if kind == "multipitch":
            times = np.repeat(times, annotation.inner_counts[0])
        good = np.isfinite(times) & np.isfinite(pitch) & (times >= 0) & (times < bins * hop - hop)
        rows = np.round(pitch[good]).astype(np.int64) % 12 if len(made) == 12 else np.zeros(good.sum(), dtype=np.int64)
        made[rows, (times[good] / hop).astype(np.int64)] = 1.0
        # Events that are near each other should meet, and boundaries of sections from farther away.
        for _ in range(0 if kind in ("series", "multipitch") else 3 if task in ("segment", "hierarchy") else 1):
            made[:, 1:] = np.maximum(made[:, 1:], 0.6 * made[:, :-1])
            made[:, :-1] = np.maximum(made[:, :-1], 0.6 * made[:, 1:])
    return np.asarray(made - made.mean(axis=1, keepdims=True))


def likely_shifts(reference: Annotation, estimate: Annotation, task: str) -> list[float]:
    """Seconds to add to an estimate so that it fits best: the highest peaks of a correlation, made exact by matches."""
    ends = [last_time(side) for side in (reference, estimate)]
    if not all(np.isfinite(ends)) or max(ends) <= 0:
        return []
    hop = _HOPS.get(estimate.kind, _HOP)
    framed = estimate.kind in ("series", "multipitch")
    hop = max(hop, max(ends) / (_MOST_FRAMES if framed else _MOST_BINS))
    bins = int(max(ends) / hop) + 2
    size = int(2 ** np.ceil(np.log2(bins + min(LONGEST_SHIFT / hop, bins) + 2)))
    left, right = (np.fft.rfft(indicator(side, task, hop, bins), size) for side in (reference, estimate))
    values = np.fft.irfft((left * right.conj()).sum(axis=0), size)
    most = min(int(LONGEST_SHIFT / hop), size // 2 - 1)
    lags = np.arange(-most, most + 1)
    values = values[lags]
    shifts: list[float] = []
    apart = max(1, round(0.15 / hop))
    for _ in range(3):
        top = int(np.argmax(values))
        if not np.isfinite(values[top]) or values[top] <= 0:
            break
        shift = float(lags[top] * hop)
        if task in ("segment", "hierarchy"):  # of few boundaries the median may be that of wrong ones
            shifts.append(shift)
        if not framed:
            shift = refine_shift(onsets(reference), onsets(estimate), shift, 1.5 * hop + 0.05)
        values[max(0, top - apart) : top + apart + 1] = -np.inf
        if abs(shift) <= LONGEST_SHIFT:
            shifts.append(shift)
    return shifts


def refine_shift(reference: Float, estimate: Float, shift: float, within: float) -> float:
    """A displacement made exact: the median over what matches nearly."""
    if not len(reference) or not len(estimate):
        return shift
    for _ in range(2):
        off = _nearest(reference, estimate + shift)
        near = off[np.abs(off) <= within]
        if len(near) < 2:
            break
        shift += float(np.median(near))
        within = max(within / 2, 0.04)
    return shift


def refine_scale(reference: Float, estimate: Float, factor: float, shift: float) -> tuple[float, float]:
    """A factor and a displacement made exact by regression over what matches nearly."""
    within = 0.5
    for _ in range(6):
        moved = estimate * factor + shift
        off = _nearest(reference, moved)
        near = np.abs(off) <= within
        if near.sum() < 4 or np.ptp(estimate[near]) < 1.0:
            break
        times, wanted = estimate[near], moved[near] + off[near]
        deviation = times - times.mean()
        factor = float(deviation @ wanted / (deviation @ deviation))
        shift = float(wanted.mean() - factor * times.mean())
        within = max(within / 2, 0.05)
    return factor, shift


def _nearest(reference: Float, moved: Float) -> Float:
    """What each moved time lacks to the nearest time of the reference."""
    after = np.clip(np.searchsorted(reference, moved), 1, max(1, len(reference) - 1))
    before = reference[after - 1] - moved
    behind = reference[np.minimum(after, len(reference) - 1)] - moved
    return np.where(np.abs(before) <= np.abs(behind), before, behind)


def intervals_between(reference: Annotation, estimate: Annotation, task: str) -> tuple[Float, Float]:
    """Semitones from simultaneous pitches of the estimate to those of the reference, and how long each is heard."""
    if estimate.kind == "key":
        roots = [root_of(label, task) for side in (reference, estimate) for label in (side.labels or ())[:1]]
        if len(roots) < 2 or None in roots:
            return np.zeros(0), np.zeros(0)
        return np.array([float((roots[0] or 0) - (roots[1] or 0))]), np.ones(1)
    if task in ("chord", "local_key"):
        hop = 0.1
        bins = int(max(last_time(reference), last_time(estimate), 0.0) / hop) + 2
        if bins > _MOST_BINS:
            return np.zeros(0), np.zeros(0)
        sounding = [(indicator(side, task, hop, bins) > 0.0).astype(np.float64) for side in (reference, estimate)]
        counts = sounding[0] @ sounding[1].T
        semitones = (np.arange(12)[:, None] - np.arange(12)[None, :]).ravel().astype(np.float64)
        return semitones, counts.ravel()
    if estimate.kind == "patterns":
        # How many pitches of a side, moved by -24 to 24 semitones, are there in the other.
        sides = (np.clip(np.round(pitches(side)), 0, 127).astype(np.int64) for side in (reference, estimate))
        heard, played = (np.bincount(side, minlength=128) for side in sides)
        moved = [float(np.minimum(heard, np.roll(played, step)).sum()) for step in range(-24, 25)]
        return np.arange(-24.0, 25.0), np.array(moved)
    name = "start" if estimate.kind == "notes" else "time"
    times, other = (
        np.repeat(side.columns[name], side.inner_counts[0]) if side.kind == "multipitch" else side.columns[name]
        for side in (reference, estimate)
    )
    if not len(times) or not len(other):
        return np.zeros(0), np.zeros(0)
    window = 0.05 if estimate.kind == "notes" else 0.03
    left, right = pitches(reference), pitches(estimate)
    order = np.argsort(times, kind="stable")
    times, left = times[order], left[order]
    first = np.searchsorted(times, other - window)
    reach = np.searchsorted(times, other + window, side="right") - first
    item: Int = np.repeat(np.arange(len(other)), reach)
    within = np.arange(len(item)) - np.repeat(np.cumsum(reach) - reach, reach)
    semitones = left[first[item] + within] - right[item]
    good = np.isfinite(semitones)
    return semitones[good], np.ones(int(good.sum()))
