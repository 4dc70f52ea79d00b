"""Annotations of every kind for tests that run over all tasks: valid, and as odd as a file may hold them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation
from mirflow.annotations.audio import HeldSignal
from mirflow.annotations.schema import TASK_KINDS

from .samples import CHORDS, KEYS, SECTIONS, sample

_TINY = (5e-324, 1e-300, 1e-12, 1e-6)
_GRID = tuple(number / 4 for number in range(60))

times = st.one_of(
    st.sampled_from(_GRID),
    st.integers(0, 3).map(float),
    st.floats(0.0, 30.0, allow_nan=False),
    st.sampled_from((*_TINY, 5.0, 5.0 + 1e-9, 0.1 + 2**-50, 1 / 3, 600.0, 29999.0)),
)
odd_times = times | st.sampled_from((-1.0, -0.0, np.nan, np.inf, 1e300, 31000.0))


def annotations(task: str) -> st.SearchStrategy[Annotation]:
    """An annotation of the kind that a task compares: a plain one, or one made of values at the limits."""
    plain = st.integers(0, 99).map(lambda seed: sample(task, np.random.default_rng(seed)))
    return _ODD[TASK_KINDS[task]](task) | plain


def _array(values: list[float]) -> np.ndarray:
    return np.array(values, dtype=np.float64)


@st.composite
def _events(draw: st.DrawFn, task: str) -> Annotation:
    # What is aligned has as many events on both sides.
    size = 6 if task == "alignment" else draw(st.integers(0, 14))
    element = draw(st.sampled_from((times, times, times, odd_times)))
    values = draw(_numbers(element, size))
    if draw(st.booleans()):
        step = draw(st.sampled_from((1e-9, 0.004, 0.01, 0.09, 0.25, 0.5, 3.0, 400.0)))
        values = draw(times) + step * np.arange(float(size))
    return Annotation("events", {"time": np.sort(values)}, draw(_texts(("", "1", "kd", "sd"), size)))


@st.composite
def _pedals(draw: st.DrawFn, task: str) -> Annotation:
    size = draw(st.integers(0, 8))
    start = draw(_numbers(times, size))
    length = draw(_numbers(times, size))
    pool = draw(st.sampled_from((("sustain", "soft"), ("64", "67", ""), ("sustain", "organ"))))
    return Annotation("pedals", {"start": start, "end": start + length}, draw(_texts(pool, size)))


@st.composite
def _hits(draw: st.DrawFn, task: str) -> Annotation:
    size = draw(st.integers(0, 14))
    values = draw(_numbers(draw(st.sampled_from((times, times, times, odd_times))), size))
    pool = draw(st.sampled_from((("36", "38", "42"), ("36", "kick", "51", "60"), ("36", "", "oboe"))))
    return Annotation("hits", {"time": np.sort(values)}, draw(_texts(pool, size)))


def _texts(pool: tuple[str, ...], size: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(pool), min_size=size, max_size=size)


def _numbers(element: st.SearchStrategy[float], size: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(element, min_size=size, max_size=size).map(_array)


@st.composite
def _bounds(draw: st.DrawFn, least: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends: one after the other, or any."""
    if draw(st.integers(0, 3)):
        edges = _array(sorted(set(draw(st.lists(times, min_size=least + 1 if least else 0, max_size=10)))))
        return edges[:-1], edges[1:]
    rows = draw(st.lists(st.tuples(odd_times, odd_times), min_size=least, max_size=6))
    return _array([row[0] for row in rows]), _array([row[1] for row in rows])


@st.composite
def _intervals(draw: st.DrawFn, task: str) -> Annotation:
    start, end = draw(_bounds())
    pool = {"chord": (*CHORDS, "N", "N"), "local_key": (*KEYS, "X", "C dorian")}.get(task, (*SECTIONS, ""))
    return Annotation("intervals", {"start": start, "end": end}, draw(_texts(pool, len(start))))


@st.composite
def _hierarchy(draw: st.DrawFn, task: str) -> Annotation:
    # Short ones: all pairs of frames within a window are compared.
    bounds = _bounds().map(lambda sides: tuple(np.minimum(side, 40.0) for side in sides))
    levels = draw(st.lists(bounds, max_size=3))
    counts = np.array([len(start) for start, _ in levels], dtype=np.int64)
    columns = {
        name: np.concatenate([np.zeros(0), *(level[side] for level in levels)])
        for side, name in enumerate(("start", "end"))
    }
    return Annotation("hierarchy", columns, draw(_texts(("A", "B", ""), int(counts.sum()))), (counts,))


@st.composite
def _patterns(draw: st.DrawFn, task: str) -> Annotation:
    note = st.tuples(st.sampled_from((0.0, 0.5, 1.0, 1.0 + 1e-6, 8.0, -1.0, 1e9)), st.sampled_from((60.0, 62.0, 0.0)))
    found = draw(st.lists(st.lists(st.lists(note, max_size=5), max_size=3), max_size=3))
    occurrences = [len(pattern) for pattern in found]
    notes = [len(occurrence) for pattern in found for occurrence in pattern]
    flat = [one for pattern in found for occurrence in pattern for one in occurrence]
    columns = {"onset": _array([one[0] for one in flat]), "pitch": _array([one[1] for one in flat])}
    counts = (np.array(occurrences, dtype=np.int64), np.array(notes, dtype=np.int64))
    return Annotation("patterns", columns, None, counts)


@st.composite
def _tempo(draw: st.DrawFn, task: str) -> Annotation:
    values = draw(st.lists(st.sampled_from((0.0, 5e-324, 60.0, 120.0, 61.0, 1e6, 1e308)), max_size=2))
    saliences = st.sampled_from((0.0, 0.5, 1.0, 7.0, 1e308, 5e-324, np.nan))
    columns = {"tempo": _array(values)}
    if draw(st.booleans()):
        columns["salience"] = draw(_numbers(saliences, len(values)))
    return Annotation("tempo", columns)


@st.composite
def _key(draw: st.DrawFn, task: str) -> Annotation:
    return Annotation("key", {}, draw(st.lists(st.sampled_from((*KEYS, "X", "C other", "C dorian")), max_size=1)))


@st.composite
def _labels(draw: st.DrawFn, task: str) -> Annotation:
    if task == "classification":
        return Annotation("labels", {}, draw(st.lists(st.sampled_from(("a", "b", "c")), max_size=1)))
    tags = draw(st.lists(st.sampled_from("abcdef"), max_size=6, unique=True))
    if not draw(st.booleans()):
        return Annotation("labels", {}, tags)
    numbers = st.sampled_from((0.0, 1.0, 0.5, -1.0, 1e308, -1e308, np.inf, -np.inf, 5e-324))
    return Annotation("labels", {"value": draw(_numbers(numbers, len(tags)))}, tags)


@st.composite
def _notes(draw: st.DrawFn, task: str) -> Annotation:
    durations = st.sampled_from((0.0, 1e-12, 0.05, 0.5, 3.0, 1e6))
    pitches = st.sampled_from((440.0, 440.0 * 2 ** (50 / 1200), 880.0, 1e-300, 5e-324, 1e300, 60.0))
    rows = draw(st.lists(st.tuples(times, durations, pitches, st.sampled_from((0.0, 1.0, 64.0, 127.0))), max_size=8))
    start, length, pitch, velocity = (_array([row[place] for row in rows]) for place in range(4))
    columns = {"start": start, "end": start + length, "pitch": pitch}
    if draw(st.booleans()):
        columns["velocity"] = velocity
    return Annotation("notes", columns, draw(_texts(("piano", "violin"), len(rows))) if draw(st.booleans()) else None)


@st.composite
def _series(draw: st.DrawFn, task: str) -> Annotation:
    size = draw(st.integers(0, 12))
    step = draw(st.sampled_from((0.0029, 0.01, 0.25)))
    start = draw(st.sampled_from((0.0, 0.0, 0.01, 1.0)))
    pitches = st.sampled_from((0.0, 0.0, 440.0, -440.0, 220.0, 445.0, 1e-300, 1e300, 1.0))
    frequency = draw(_numbers(pitches, size))
    columns = {"time": start + step * np.arange(float(size)), "frequency": frequency}
    if draw(st.booleans()):
        degrees = st.sampled_from((0.0, 1.0, 0.5, 1e-300))
        columns["voicing"] = draw(_numbers(degrees, size))
    return Annotation("series", columns)


@st.composite
def _multipitch(draw: st.DrawFn, task: str) -> Annotation:
    frames = draw(
        st.lists(st.lists(st.sampled_from((440.0, 441.0, 220.0, 880.0, 1e-300, 5000.0)), max_size=4), max_size=8)
    )
    step = draw(st.sampled_from((0.01, 0.05, 1.0)))
    columns = {
        "time": step * np.arange(float(len(frames))),
        "frequency": _array([one for frame in frames for one in frame]),
    }
    return Annotation("multipitch", columns, None, (np.array([len(frame) for frame in frames], dtype=np.int64),))


@st.composite
def _audio(draw: st.DrawFn, task: str) -> Annotation:
    """Two sources of a fifth of a second: noise, one sample, a constant, silence."""
    noise = np.random.default_rng(draw(st.integers(0, 3))).normal(size=(2, 1, 1600))
    click, constant = np.zeros((1, 1600)), np.full((1, 1600), draw(st.sampled_from((1.0, 1e-300, 1e150))))
    click[0, 800] = 1.0
    signals = draw(st.lists(st.sampled_from((noise[0], noise[1], click, constant, click * 0)), min_size=2, max_size=2))
    column = np.empty(2, dtype=object)
    column[:] = [HeldSignal(one, 8000.0) for one in signals]
    return Annotation("audio", {"signal": column}, ["bass", "voice"])


@st.composite
def _judgements(draw: st.DrawFn, task: str) -> Annotation:
    names = draw(st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True))
    fine = draw(_numbers(st.sampled_from((0.0, 5.0, 10.0, 2.5, 10.5, np.nan)), len(names)))
    broad = np.array(draw(_texts(("NS", "SS", "VS"), len(names))), dtype=np.str_)
    columns = {"grader": np.full(len(names), "g"), "broad": broad, "value": fine}
    return Annotation("judgements", columns, names)


@st.composite
def _following(draw: st.DrawFn, task: str) -> Annotation:
    size = draw(st.integers(0, 10))
    onset = draw(_numbers(times, size))
    late = draw(_numbers(st.sampled_from((0.0, 0.1, 3.0, -1.0)), size))
    columns = {"time": onset, "position": 0.5 * np.arange(float(size)), "pitch": 60.0 + np.arange(float(size)) % 12}
    if draw(st.booleans()):
        columns["detected"] = onset + late
    return Annotation("following", columns)


@st.composite
def _note_alignment(draw: st.DrawFn, task: str) -> Annotation:
    """Entries of any type, also several for one note; some recur, or contradict each other."""
    names = st.sampled_from(("n1", "n2", "n3", "n4"))
    forms = {"match": (names, names), "insertion": (st.just(""), names), "deletion": (names, st.just(""))}
    forms["ornament"] = forms[""] = forms["match"]
    labels = draw(st.lists(st.sampled_from(tuple(forms)), max_size=12))
    score, performance = (np.array([draw(forms[one][side]) for one in labels], dtype=np.str_) for side in range(2))
    return Annotation("note_alignment", {"score_id": score, "performance_id": performance}, labels)


@st.composite
def _sheet_music(draw: st.DrawFn, task: str) -> Annotation:
    labels = draw(st.lists(st.sampled_from(_NOTATED), max_size=14))
    size = len(labels)
    time, start, end = (draw(_numbers(times, size)) for _ in range(3))
    pitch, voice = (draw(_numbers(st.integers(0, 3).map(float), size)) for _ in range(2))
    if draw(st.booleans()):
        end = np.maximum(start, end)
    columns = {"time": time, "notated_start": start, "notated_end": end, "pitch": 60 + pitch, "voice": voice}
    return Annotation("sheet_music", columns, labels)


_NOTATED = ("note", "note", "note", "tatum", "tatum", "meter 2 1 1 0", "meter 3 2 2 1", "key 7 major", "chord C", "bar")


@st.composite
def _ranking(draw: st.DrawFn, task: str) -> Annotation:
    names = draw(st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True))
    columns = {}
    if draw(st.booleans()):
        grades = st.sampled_from((0.0, 1.0, 2.0, 7.0, -1.0, 0.5, 1e300, 1e-300))
        columns["value"] = draw(_numbers(grades, len(names)))
    return Annotation("ranking", columns, names)


@st.composite
def _text(draw: st.DrawFn, task: str) -> Annotation:
    words = st.sampled_from(
        ("oh", "Oh", "don't", "(oh)", "...", "*", "\u266a", "<L>", "love,", "\u4f60", "", " ", "oh-oh")
    )
    lines = draw(st.lists(st.lists(words, max_size=4).map(" ".join), max_size=5))
    columns: dict[str, np.ndarray] = {}
    if draw(st.booleans()):
        columns["line"] = np.cumsum(draw(_numbers(st.sampled_from((0.0, 1.0, 2.0, 7.0)), len(lines))))
    if draw(st.booleans()):
        columns["language"] = np.array(draw(_texts(("", "en", "fr-CA", "German", "?"), len(lines))), dtype=np.str_)
    return Annotation("text", columns, lines)


_ODD: dict[str, Callable[[str], st.SearchStrategy[Annotation]]] = {
    "events": _events,
    "intervals": _intervals,
    "hierarchy": _hierarchy,
    "patterns": _patterns,
    "tempo": _tempo,
    "key": _key,
    "labels": _labels,
    "pedals": _pedals,
    "notes": _notes,
    "hits": _hits,
    "series": _series,
    "multipitch": _multipitch,
    "audio": _audio,
    "judgements": _judgements,
    "following": _following,
    "note_alignment": _note_alignment,
    "sheet_music": _sheet_music,
    "ranking": _ranking,
    "text": _text,
}
