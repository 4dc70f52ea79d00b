"""Plant each cause of low scores in real pairs, one at a time and in whole systems, and count which are found.

    python benchmarks/causes.py STORES_FOLDER [PAIRS]

The stores are those of the pipelines of real data. A planted pair counts if it could be found: its score before is at
least the bar of results, and planting costs at least the bar of gains. Found is the right cause with the right amount.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from mirflow.annotations.annotation import Annotation
from mirflow.annotations.source import HeldSource
from mirflow.causes import indicators
from mirflow.causes.diagnosis import GAIN, ITEMS, RESULT, Board, Judge, find_causes, least_score
from mirflow.causes.indicators import retime, transpose
from mirflow.causes.transformations import ESTIMATE, TRANSFORMATIONS, Change, Pair
from mirflow.reports.origins import Shelf, read_origins

EVALUATIONS = (
    ("mirex2013-ace", "chord"),
    ("harmonix", "beat"),
    ("harmonix", "downbeat_published_durand"),
    ("salami", None),
    ("mirex2015-transcription", None),
    ("adc2004-melody", None),
    ("giantsteps-key", None),
    ("mir_eval-fixtures", None),
    ("casd", None),
)
Planted = tuple[str, str, float, Pair]
"""Cause, unit and amount that undo it, and the pair with it."""


def planted(pair: Pair, others: list[Pair], rng: np.random.Generator) -> Iterator[Planted]:
    """Everything that fits, with random amounts."""
    estimate, kind = pair.estimate, pair.kind
    timed = any(name in estimate.columns for name in indicators.TIMED) and kind != "patterns"
    if timed:
        seconds = round(float(rng.uniform(1.5, 20)), 3)
        yield "displacement", "s", -seconds, replace(pair, estimate=retime(estimate, 1, seconds))
        for factor in (1000.0, 44100.0, 48000 / 44100, 100.0):
            yield "time_scale", "factor", 1 / factor, replace(pair, estimate=retime(estimate, factor, 0.0))
        for other in others[:1]:
            yield "other_track", "", np.nan, replace(pair, estimate=other.estimate)
    if pair.task in ("chord", "local_key"):
        steps = int(rng.choice([-3, -2, -1, 1, 2, 4]))
        yield "transposition", "semitones", -steps, replace(pair, estimate=transpose(estimate, steps, pair.task))
    if kind in ("notes", "series", "multipitch"):
        steps = int(rng.choice([-12, -1, 1, 12, 5]))
        yield "transposition", "semitones", -steps, replace(pair, estimate=transpose(estimate, steps, pair.task))
        for cents in (0.6, -0.6):
            yield "tuning", "semitones", -cents, replace(pair, estimate=transpose(estimate, cents, pair.task))
        name = "pitch" if "pitch" in estimate.columns else "frequency"
        numbers = np.nan_to_num(indicators.pitches(estimate)) * np.where(estimate.columns[name] < 0, -1, 1)
        for unit, values in {"MIDI": numbers, "cents above C-1": numbers * 100}.items():
            columns = {**estimate.columns, name: values}
            yield "pitch_unit", unit, np.nan, replace(pair, estimate=replace(estimate, columns=columns))
    if pair.task in ("beat", "downbeat"):
        for factor in (2.0, 0.5):
            change = Change("metrical_level", ESTIMATE, factor, "factor")
            yield "metrical_level", "", 1 / factor, change.apply(pair)


def pairs_of(store: Path, name: str | None, most: int) -> Iterator[tuple[Judge, list[Pair]]]:
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
                    if all(
                        isinstance(side, Annotation) and max(map(len, side.columns.values()), default=0) >= ITEMS
                        for side in sides
                    ):
                        pairs.append(Pair(judge.task, *sides))  # type: ignore[arg-type]
        values = judge.score(pairs)
        yield judge, [pair for pair, value in zip(pairs, values, strict=True) if value >= RESULT]


def main() -> None:
    """Print the table."""
    folder, most = Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 40
    rng = np.random.default_rng(0)
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for store, name in EVALUATIONS:
        for judge, pairs in pairs_of(folder / f"{store}.zarr", name, most):
            for number, pair in enumerate(pairs):
                others = [one for one in pairs if one.reference is not pair.reference]
                others = [others[number % len(others)]] if others else []
                base = judge.score([pair])[0]
                for cause, unit, amount, wrong in planted(pair, others, rng):
                    least = least_score(Change(cause, ESTIMATE, amount, unit), judge.task)
                    bar = max(TRANSFORMATIONS[cause].result, least)
                    top = (
                        judge.score([replace(others[0], estimate=wrong.estimate)])[0]
                        if cause == "other_track"
                        else base
                    )
                    if top < bar or min(base, top) - judge.score([wrong])[0] < GAIN:
                        continue
                    references = {"t": HeldSource(pair.reference, "reference")}
                    references |= {f"o{at}": HeldSource(one.reference, f"other {at}") for at, one in enumerate(others)}
                    estimates = {
                        name: {"t": HeldSource(one.estimate, f"estimate {name}")}
                        for name, one in (("x", wrong), ("y", pair), ("z", pair))
                    }
                    scores = np.full((3, len(references)), np.nan)
                    scores[:, 0] = judge.score([wrong, pair, pair])
                    board = Board("x", judge, list(references), ["x", "y", "z"], references, estimates, scores)
                    found = find_causes(board, lambda source: source.read()[0]).findings
                    right = [one for one in found if one.change.cause == cause]
                    exact = [
                        one
                        for one in right
                        if np.isnan(amount)
                        or abs(one.change.amount - amount) <= max(0.02 * abs(amount), 0.1 * (unit != "factor"))
                    ]
                    row = counts[judge.task, cause]
                    row[0] += 1
                    row[1] += bool(right)
                    row[2] += bool(exact)
                    if not exact and "-v" in sys.argv:
                        print(judge.task, cause, unit, amount, [(f.change, f.score, f.would_be) for f in found], base)
    print("| task | cause | planted | cause found | amount, too |\n|---|---|---|---|---|")
    for (task, cause), row in sorted(counts.items()):
        print(f"| {task} | `{cause}` | {row[0]} | {row[1]} | {row[2]} |")


if __name__ == "__main__":
    main()
