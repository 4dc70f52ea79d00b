"""Random rows of every kind of annotation, for tests that run over all tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.audio import HeldSignal
from mirflow.annotations.schema import TASK_KINDS
from mirflow.ragged import Ragged

KEYS = ("C major", "A minor", "Eb major", "F# minor", "G major", "E minor")
CHORDS = ("C:maj", "A:min", "F:maj7", "G:7", "D:min/b3", "N", "E:sus4", "X", "B:hdim7", "C:maj6", "G:maj/3")
SECTIONS = ("intro", "verse", "chorus", "Verse", "bridge", "outro")


def sample(task: str, rng: np.random.Generator) -> Annotation:
    """One random annotation of the kind that a task compares."""
    return _SAMPLES[TASK_KINDS[task]](task, rng)


def sample_rows(task: str, count: int, seed: int) -> Ragged:
    """Several of them as ragged rows."""
    rng = np.random.default_rng(seed)
    return to_ragged([sample(task, rng) for _ in range(count)])


def empty(task: str) -> Annotation:
    """One without any item, with the columns of a sample."""
    one = sample(task, np.random.default_rng(0))
    columns = {name: column[:0] for name, column in one.columns.items()}
    counts = tuple(counts[:0] for counts in one.inner_counts)
    labels = None if one.labels is None else []
    return replace(one, columns=columns, labels=labels, inner_counts=counts, lines=None)


def _events(task: str, rng: np.random.Generator) -> Annotation:
    # What is aligned has the same events on both sides.
    count = 40 if task == "alignment" else int(rng.integers(20, 60))
    times = 0.3 + np.cumsum(rng.choice([0.4, 0.5, 0.5, 0.51], count) + rng.normal(0, 0.01, count))
    return Annotation("events", {"time": np.round(times, 3)}, [""] * count)


def _intervals(task: str, rng: np.random.Generator) -> Annotation:
    count = int(rng.integers(4, 25))
    bounds = np.round(np.cumsum(rng.uniform(0.5, 6.0, count + 1)) - 0.5, 3)
    bounds[0] = 0.0
    labels = rng.choice({"chord": CHORDS, "local_key": KEYS}.get(task, SECTIONS), count).tolist()
    return Annotation("intervals", {"start": bounds[:-1], "end": bounds[1:]}, labels)


def _hierarchy(task: str, rng: np.random.Generator) -> Annotation:
    coarse = np.array([0.0, *np.sort(np.round(rng.uniform(5, 55, 3), 1)), 60.0])
    fine = np.unique(np.concatenate([coarse, np.round(rng.uniform(1, 59, 6), 1)]))
    starts = np.concatenate([coarse[:-1], fine[:-1]])
    ends = np.concatenate([coarse[1:], fine[1:]])
    labels = rng.choice(["A", "B", "C"], len(starts)).tolist()
    counts = np.array([len(coarse) - 1, len(fine) - 1])
    return Annotation("hierarchy", {"start": starts, "end": ends}, labels, (counts,))


def _patterns(task: str, rng: np.random.Generator) -> Annotation:
    """Occurrences of a few figures, whole or without their last note, so that two annotations have some in common."""
    occurrences = rng.integers(1, 4, int(rng.integers(1, 4)))
    figure = rng.integers(0, 4, int(occurrences.sum()))
    notes = 4 + figure - rng.integers(0, 2, len(figure))
    step = np.concatenate([np.arange(count) for count in notes])
    start = 8.0 * rng.integers(0, 2, len(figure))
    onset = np.repeat(start, notes) + step * np.repeat(1.0 + figure, notes) / 2
    pitch = 60.0 + np.repeat(figure, notes) + 2 * (step % 3)
    return Annotation("patterns", {"onset": onset, "pitch": pitch}, None, (occurrences, notes))


def _tempo(task: str, rng: np.random.Generator) -> Annotation:
    slow = float(rng.uniform(50, 90))
    return Annotation("tempo", {"tempo": np.array([slow, 2 * slow]), "salience": np.array([0.7, 0.3])})


def _key(task: str, rng: np.random.Generator) -> Annotation:
    return Annotation("key", {}, [str(rng.choice(KEYS))])


GENRES = ("blues", "classical", "jazz", "rock", "folk")
TAGS = ("guitar", "slow", "female voice", "loud", "piano", "dance", "sad", "live")


def _labels(task: str, rng: np.random.Generator) -> Annotation:
    """One class; or a few tags that hold and some that do not, each with a number that says how much."""
    if task == "classification":
        return Annotation("labels", {}, [str(rng.choice(GENRES))])
    some = rng.permutation(TAGS)[: int(rng.integers(3, 8))].tolist()
    value = np.round(np.concatenate([[0.9, 0.1], rng.random(len(some) - 2)]), 2)
    return Annotation("labels", {"value": value}, some)


def _notes(task: str, rng: np.random.Generator) -> Annotation:
    """A few of the same notes each time, early or late, and notes of its own: two annotations have some in common."""
    common = np.arange(12)
    kept = common[rng.random(12) < 0.7]
    own = int(rng.integers(2, 6))
    start = np.concatenate([0.5 * kept + rng.normal(0, 0.02, len(kept)) + 0.1, np.round(rng.uniform(0, 6, own), 3)])
    length = np.concatenate([0.3 + 0.05 * (kept % 4) + rng.normal(0, 0.02, len(kept)), rng.uniform(0.05, 1, own)])
    midi = np.concatenate([60.0 + kept % 7, rng.integers(48, 80, own)])
    velocity = np.concatenate([40.0 + 5 * kept, rng.integers(1, 127, own)])
    order = np.argsort(start)
    columns = {"start": start, "end": start + length, "pitch": 440 * 2 ** ((midi - 69) / 12), "velocity": velocity}
    # The common notes are played by four families, the last of which is percussion, now and then by another program.
    family = np.concatenate([(kept + (len(kept) % 3 == 0)) % 4, midi[len(kept) :] % 3])
    columns["program"] = 8 * family + (np.arange(len(start)) + len(kept)) % 2
    columns["drum"] = np.where(family == 3, 1.0, 0.0)
    return Annotation("notes", {name: column[order] for name, column in columns.items()})


def _pedals(task: str, rng: np.random.Generator) -> Annotation:
    """The sustain pedal, pressed anew every two seconds, and the soft one for a while."""
    start = np.append(np.arange(0.0, 20.0, 2.0), 4.0) + np.round(rng.normal(0.2, 0.03, 11), 3)
    end = np.append(start[:-1] + np.round(rng.uniform(1.0, 1.7, 10), 3), 9.0)
    order = np.argsort(start)
    labels = ["soft" if place == 10 else "64" for place in order.tolist()]
    return Annotation("pedals", {"start": start[order], "end": end[order]}, labels)


def _hits(task: str, rng: np.random.Generator) -> Annotation:
    """A pattern of four drums, several at a time, with other drums now and then."""
    steps = np.arange(32)
    drums = [["36", "42"], ["42"], ["38", "42", "49"], ["HH"]]
    hits = [(0.25 * step, drum) for step in steps for drum in drums[step % 4] if rng.random() < 0.8]
    hits += [(0.25 * step, str(rng.integers(35, 60))) for step in steps if rng.random() < 0.2]
    times = np.array([time for time, _ in hits]) + np.round(rng.normal(0.2, 0.02, len(hits)), 3)
    order = np.argsort(times, kind="stable")
    velocity = rng.integers(1, 127, len(hits)).astype(np.float64)
    return Annotation("hits", {"time": times[order], "velocity": velocity}, [hits[place][1] for place in order])


def _series(task: str, rng: np.random.Generator) -> Annotation:
    """A slow melody on a grid of its own, partly unvoiced, with some guesses there (negative frequencies)."""
    count = int(rng.integers(80, 160))
    midi = 60.0 + np.repeat(np.arange(count // 20 + 1) % 5, 20)[:count] + rng.normal(0, 0.3, count)
    frequency = 440 * 2 ** ((midi - 69) / 12)
    state = rng.random(count // 10 + 1).repeat(10)[:count]
    frequency = np.where(state < 0.15, 0.0, np.where(state < 0.3, -frequency, frequency))
    return Annotation("series", {"time": np.arange(count) * 0.01, "frequency": frequency})


def _multipitch(task: str, rng: np.random.Generator) -> Annotation:
    count = int(rng.integers(40, 80))
    sizes = rng.integers(0, 4, count)
    midi = 55.0 + 3 * np.concatenate([np.arange(size) for size in sizes]) + rng.normal(0, 0.3, int(sizes.sum()))
    return Annotation(
        "multipitch", {"time": np.arange(count) * 0.01, "frequency": 440 * 2 ** ((midi - 69) / 12)}, None, (sizes,)
    )


def _audio(task: str, rng: np.random.Generator) -> Annotation:
    """Two sources of half a second, the same each time but for noise and leakage."""
    clean = np.random.default_rng(0).normal(size=(2, 1, 4000))
    heard = clean + 0.2 * clean[::-1] * rng.random() + 0.1 * rng.normal(size=clean.shape)
    signal = np.empty(2, dtype=object)
    signal[:] = [HeldSignal(source, 8000.0) for source in heard]
    return Annotation("audio", {"signal": signal}, ["bass", "voice"])


_CANDIDATES = tuple(f"c{number:02d}" for number in range(16))


def _judgements(task: str, rng: np.random.Generator) -> Annotation:
    """Candidates in some order, each judged by the same grader, so that one is a list of what the other judges."""
    order = rng.permutation(len(_CANDIDATES))
    level = rng.integers(0, 3, len(order))
    fine = np.round(np.clip(4.0 * level + rng.normal(1, 1, len(order)), 0, 10), 1)
    columns = {"grader": np.full(len(order), "g"), "broad": np.array(["NS", "SS", "VS"])[level], "value": fine}
    return Annotation("judgements", columns, [_CANDIDATES[place] for place in order])


def _following(task: str, rng: np.random.Generator) -> Annotation:
    """Some notes of one score, most of them early or late, a few very late."""
    played = np.flatnonzero(rng.random(40) < 0.85)
    late = np.where(rng.random(len(played)) < 0.1, 3.0, 0.0) + np.abs(rng.normal(0, 0.1, len(played)))
    time = 0.5 + 0.4 * played + late
    columns = {"time": time, "detected": time + rng.uniform(0, 0.1, len(played)), "position": 0.5 * played}
    return Annotation("following", {**columns, "pitch": 60.0 + played % 12})


def _note_alignment(task: str, rng: np.random.Generator) -> Annotation:
    """Matches of most notes of one score, some of them with another note, and deletions, insertions and an ornament."""
    score = rng.permutation(40)[:36]
    played = score + np.where(rng.random(36) < 0.1, 100, 0)
    entries = [("match", f"n{one}", f"p{other}") for one, other in zip(score[:32], played[:32], strict=True)]
    entries += [("deletion", f"n{one}", "") for one in score[32:]]
    entries += [("insertion", "", f"p{rng.integers(200, 204)}"), ("ornament", f"n{score[0]}", "p300")]
    labels, *notes = zip(*entries, strict=True)
    columns = {name: np.array(own) for name, own in zip(("score_id", "performance_id"), notes, strict=True)}
    return Annotation("note_alignment", columns, list(labels))


def _sheet_music(task: str, rng: np.random.Generator) -> Annotation:
    """Some notes of four bars in two voices, with tatums, a meter, two keys and chords."""
    start = 0.5 * np.flatnonzero(rng.random(16) < 0.9)
    size = len(start)
    voice = rng.integers(0, 2, size).astype(float)
    notes = {
        "time": start + rng.normal(0, 0.02, size),
        "notated_start": start,
        "notated_end": start + rng.choice([0.5, 1.0], size),
        "pitch": 55.0 + 12 * voice + 3 * rng.integers(0, 3, size),
        "voice": voice,
    }
    tatums = 0.25 * np.arange(33)
    times = [*tatums.tolist(), 0.0, 0.0, 4.0, 0.0, 2.0]
    others = {name: np.concatenate([column, np.full(len(times), np.nan)]) for name, column in notes.items()}
    others["time"][size:] = times
    changing = [
        f"meter {rng.integers(2, 5)} 2 1 0",
        f"key {rng.integers(0, 12)} major",
        "key 9 minor",
        "chord C",
        "chord F",
    ]
    return Annotation("sheet_music", others, ["note"] * size + ["tatum"] * len(tatums) + changing)


def _ranking(task: str, rng: np.random.Generator) -> Annotation:
    """Some items of a collection, from the highest value to the lowest: relevant items, or a list of them."""
    items = rng.permutation(30)[: int(rng.integers(3, 20))]
    value = np.sort(rng.integers(1, 5, len(items)).astype(float))[::-1]
    return Annotation("ranking", {"value": value}, [f"i{item:02d}" for item in items])


_LYRICS = ("Oh my love,", "wait for me!", "(Wait for me)", "Don't go", "the river runs", "", "La-la, la", "Goodbye...")


def _text(task: str, rng: np.random.Generator) -> Annotation:
    """Some lines of one song, most of them as they are, some with a word or the case changed."""
    lines = [_LYRICS[place] for place in np.flatnonzero(rng.random(len(_LYRICS)) < 0.8)] or ["Oh"]
    change = rng.random(len(lines))
    forms = [(line.lower(), f"{line} now", line)[min(int(own * 5), 2)] for line, own in zip(lines, change, strict=True)]
    return Annotation("text", {}, forms)


_SAMPLES = {
    "text": _text,
    "ranking": _ranking,
    "judgements": _judgements,
    "following": _following,
    "note_alignment": _note_alignment,
    "sheet_music": _sheet_music,
    "pedals": _pedals,
    "notes": _notes,
    "hits": _hits,
    "series": _series,
    "multipitch": _multipitch,
    "audio": _audio,
    "events": _events,
    "intervals": _intervals,
    "hierarchy": _hierarchy,
    "patterns": _patterns,
    "tempo": _tempo,
    "key": _key,
    "labels": _labels,
}
