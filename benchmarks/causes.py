"""Plant each cause of low scores in real pairs, one at a time and in whole systems, and count which are found.

    python benchmarks/causes.py STORES_FOLDER [PAIRS] [-v]

The stores are those of the pipelines of real data. A planted pair counts if it could be found: its score before is at
least the bar of results, and planting costs at least the bar of gains; a system, if most of its pairs could be. Found
is the right cause with the right amount: displacements within 0.1 s, of beats but for whole beats, factors within 2 %.

Found of planted pairs (with the right amount) and systems:

=============  ==========  ==================  =======
task           pairs       found (amount)      systems
=============  ==========  ==================  =======
alignment      6           6 (6)               -
beat           140         139 (139)           8 of 9
chord          495         493 (483)           36 of 36
downbeat       49          48 (47)             8 of 8
hierarchy      23          21 (19)             3 of 3
key            0           -                   1 of 1
melody         715         715 (715)           56 of 56
onset          6           6 (6)               -
segment        66          63 (63)             15 of 15
transcription  172         172 (172)           15 of 15
=============  ==========  ==================  =======

Missed, or of another amount, are a displacement (beat 1 of 10 and the one system, chord 5 of 38, hierarchy 2 of 2),
one after a time scale (chord 7 of 40, hierarchy 2 of 2, segment 1 of 6), a part (segment 2 of 4) and a metrical
level (downbeat 2 of 14).
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mirflow.annotations.annotation import Annotation
from mirflow.annotations.source import HeldSource
from mirflow.causes import indicators
from mirflow.causes.diagnosis import (
    ALL,
    GAIN,
    ITEMS,
    MANY,
    MOST,
    RESULT,
    SINGLE,
    Board,
    Cause,
    Judge,
    find_causes,
    least_score,
)
from mirflow.causes.indicators import cut_at, last_time, retime, transpose
from mirflow.causes.transformations import ESTIMATE, PERIODIC, TRANSFORMATIONS, Correction, LowPair
from mirflow.reports.origins import Shelf, read_origins

EVALUATIONS = (
    ("mirex2013-ace", "chord"),
    ("harmonix", "beat"),
    ("harmonix", "downbeat_published_durand"),
    ("salami", None),
    ("mirex2015-transcription", None),
    ("adc2004-melody", None),
    ("giantsteps-key", None),
    ("jku-patterns", None),
    ("mir_eval-fixtures", None),
    ("casd", None),
)
Planted = tuple[tuple[Correction, ...], Annotation]
"""What undoes it, and the estimate with it; amounts of NaN are not compared."""
SYMBOLS = {"maj7": "maj7", "min7": "m7", "maj": "", "min": "m", "7": "7"}
TRACKS = 6
"""Tracks of a whole system."""


def undone(cause: str, amount: float = np.nan, unit: str = "") -> Correction:
    """What undoes a cause."""
    return Correction(cause, ESTIMATE, amount, unit or TRANSFORMATIONS[cause].unit)


def planted(pair: LowPair, other: LowPair | None, rng: np.random.Generator) -> Iterator[Planted]:
    """Everything that fits, with random amounts."""
    estimate, kind, columns = pair.estimate, pair.estimate.kind, pair.estimate.columns
    seconds, steps = round(float(rng.uniform(1.5, 20)), 3), int(rng.choice([-12, -5, -1, 1, 2, 4, 12]))
    if TRANSFORMATIONS["displacement"].fits(pair.task, kind):
        late = retime(estimate, 1, seconds)
        yield (undone("displacement", -seconds),), late
        for factor in (1000.0, 44100.0, 48000 / 44100, 100.0):
            yield (undone("time_scale", 1 / factor),), retime(estimate, factor, 0.0)
        if pair.task not in PERIODIC:
            yield (undone("time_scale", 1e-3), undone("displacement", -seconds)), retime(late, 1000.0, 0.0)
        if other is not None:
            yield (undone("other_track"),), other.estimate
    if TRANSFORMATIONS["part"].fits(pair.task, kind):
        cut = cut_at(estimate, 0.4 * last_time(estimate))
        yield (undone("part", last_time(cut)),), cut if len(cut) >= ITEMS else estimate
    if pair.task in ("chord", "local_key", "key"):
        steps = (steps + 5) % 12 - 5 or 1
        yield (undone("transposition", -steps),), transpose(estimate, steps, pair.task)
    if kind in ("notes", "series", "multipitch", "patterns"):
        yield (undone("transposition", -steps),), transpose(estimate, steps, pair.task)
    if kind in ("notes", "series", "multipitch"):
        for cents in (0.6, -0.6):
            yield (undone("tuning", -cents),), transpose(estimate, cents, pair.task)
        name = "pitch" if "pitch" in columns else "frequency"
        for unit, scale in (("MIDI", 1), ("cents above C-1", 100)):
            for changes, side in (((), estimate), ((undone("displacement", -seconds),), late)):
                numbers = np.nan_to_num(indicators.pitches(side)) * np.where(side.columns[name] < 0, -1, 1) * scale
                wrong = replace(side, columns={**side.columns, name: numbers})
                yield (undone("pitch_unit", unit=unit), *changes), wrong
    if kind == "series":
        swapped = replace(estimate, columns={"time": columns["frequency"], "frequency": columns["time"]})
        yield (undone("columns"),), swapped
    if kind in ("intervals", "notes"):
        for sign in (-1, 1):
            wrong = {**columns, "end": columns["end"] + sign * columns["start"]}
            yield (undone("columns"),), replace(estimate, columns=wrong)
    if estimate.labels and pair.task == "chord":
        labels = [re.sub(r":(maj7|min7|maj|min|7)$", lambda end: SYMBOLS[end[1]], label) for label in estimate.labels]
        yield (undone("labels"),), replace(estimate, labels=labels)
    if estimate.labels:
        yield (undone("labels"),), replace(estimate, labels=[label.swapcase() for label in estimate.labels])
    if pair.task in ("beat", "downbeat", "tempo"):
        for factor in (2.0, 0.5):
            yield (undone("metrical_level", 1 / factor),), undone("metrical_level", factor).apply(pair).estimate
    if pair.task in PERIODIC:
        between = undone("metrical_level", 1.0, f"half a {'bar' if pair.task == 'downbeat' else 'beat'} later")
        yield (between,), between.apply(pair).estimate
    yield (undone("sides"),), pair.reference


def pairs_of(store: Path, name: str | None, most: int) -> Iterator[tuple[Judge, list[LowPair]]]:
    """Pairs of each evaluation that score well enough."""
    boards, origins = read_origins(store)
    shelf = Shelf()
    for group in boards if name is None else [name]:
        files = origins[0].files(group)
        judge = (
            None if files is None else Judge.of(files.plan.task, files.plan.convention, None, None, files.plan.classes)
        )
        if files is None or judge is None:
            continue
        pairs = []
        for own in files.estimates.values():
            for track in list(own)[:: max(1, len(own) * len(files.estimates) // most)]:
                references, source = files.references[track], own[track]
                if references and source is not None:
                    sides = shelf.read(references[0].source), shelf.read(source)
                    least = 1 if judge.task in SINGLE else ITEMS
                    if all(
                        isinstance(side, Annotation) and max(len(side), *map(len, side.columns.values()), 0) >= least
                        for side in sides
                    ):
                        pairs.append(LowPair(judge.task, *sides))  # type: ignore[arg-type]
        values = judge.score(pairs)
        yield judge, [pair for pair, value in zip(pairs, values, strict=True) if value >= RESULT]


def find(judge: Judge, wrong: Sequence[LowPair], right: Sequence[LowPair], others: Sequence[LowPair]) -> list[Cause]:
    """The causes of what one system has of some tracks, where two others have what is right."""
    references = {f"t{at}": HeldSource(one.reference, f"reference {at}") for at, one in enumerate(wrong)}
    estimates = {
        name: {f"t{at}": HeldSource(one.estimate, f"estimate {at} {name}") for at, one in enumerate(some)}
        for name, some in (("x", wrong), ("y", right), ("z", right))
    }
    references |= {f"o{at}": HeldSource(one.reference, f"other {at}") for at, one in enumerate(others)}
    scores = np.full((3, len(references)), np.nan)
    for row, some in enumerate((wrong, right, right)):
        scores[row, : len(some)] = judge.score(some)
    board = Board("x", judge, list(references), ["x", "y", "z"], references, estimates, scores)
    return find_causes(board, lambda source: source.read()[0]).findings


def is_found(changes: Sequence[Correction], findings: Sequence[Cause], pair: LowPair) -> tuple[bool, bool]:
    """Whether all causes were found, and with their amounts."""
    made = [[one.change for one in findings if one.change.cause == change.cause] for change in changes]
    near = []
    for change, some in zip(changes, made, strict=True):
        for one in some:
            off = one.amount - change.amount
            if change.cause == "displacement" and pair.task in PERIODIC:  # a steady track is as right whole beats later
                period = float(np.median(np.diff(indicators.onsets(pair.reference))))
                off -= np.round(off / period) * period
            least = 0.02 * abs(change.amount) if change.unit == "factor" else 0.1
            near.append(np.isnan(change.amount) or abs(off) <= least)
    return all(made), all(made) and sum(near) >= len(changes)


def main() -> None:
    """Print the table."""
    folder, most = Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 40
    rng = np.random.default_rng(0)
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * 6)
    for store, name in EVALUATIONS:
        for judge, pairs in pairs_of(folder / f"{store}.zarr", name, most):
            systems: dict[int, list[tuple[LowPair, LowPair]]] = defaultdict(list)
            for number, pair in enumerate(pairs):
                others = [one for one in pairs if one.reference is not pair.reference]
                others = [others[number % len(others)]] if others else []
                base = judge.score([pair])[0]
                amounts = np.random.default_rng(7) if number < TRACKS else rng
                for kind, (changes, estimate) in enumerate(planted(pair, others[0] if others else None, amounts)):
                    wrong, top = replace(pair, estimate=estimate), base
                    if changes[0].cause == "other_track":
                        top = judge.score([replace(others[0], estimate=estimate)])[0]
                    elif changes[0].cause in ("part", "metrical_level") and not np.isnan(changes[0].amount):
                        top = judge.score([changes[0].apply(wrong)])[0]
                    bar = max(least_score(one, judge.task) for one in changes)
                    if top < bar or min(base, top) - judge.score([wrong])[0] < GAIN:
                        continue
                    if number < TRACKS and changes[0].cause != "other_track":
                        systems[kind].append((wrong, pair))
                    row = counts[judge.task, ", ".join(f"`{one.cause}`" for one in changes)]
                    if judge.task in SINGLE or TRANSFORMATIONS[changes[0].cause].shared:
                        continue
                    findings = find(judge, [wrong], [pair], others)
                    cause, amount = is_found(changes, findings, pair)
                    row[:3] = [old + new for old, new in zip(row, (1, cause, amount), strict=False)]
                    if not amount and "-v" in sys.argv:
                        print(judge.task, changes, [(f.change, f.score, f.would_be) for f in findings], base)
            for kind, some in systems.items():
                changes = list(planted(some[0][1], some[0][1], np.random.default_rng(7)))[kind][0]
                if len(some) < max(MANY, MOST * min(TRACKS, len(pairs))):
                    continue
                findings = find(judge, [wrong for wrong, _ in some], [pair for _, pair in some], [])
                whole = [one for one in findings if one.track == ALL and one.system == "x"]
                cause, amount = is_found(
                    [replace(one, amount=np.nan) if one.cause == "part" else one for one in changes], whole, some[0][1]
                )
                row = counts[judge.task, ", ".join(f"`{one.cause}`" for one in changes)]
                row[3:] = [old + new for old, new in zip(row[3:], (1, cause, amount), strict=True)]
                if not amount and "-v" in sys.argv:
                    print(
                        "SYSTEM",
                        judge.task,
                        changes,
                        [(f.track, f.change, f.score, f.would_be, f.tracks) for f in findings],
                    )
    print("| task | cause | pairs | cause | amount, too | systems | cause | amount, too |\n" + "|---" * 8 + "|")
    for (task, cause), row in sorted(counts.items()):
        if any(row):
            print(f"| {task} | {cause} | {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
