"""madmom's evaluation of events written down plainly, one pair at a time, from its definitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

Times = Sequence[float]


def match(reference: Times, estimate: Times, window: float) -> list[tuple[int, int]]:
    """One pass over both lists: a near pair is taken, else the earlier event is dropped."""
    found, left, right = [], 0, 0
    while left < len(reference) and right < len(estimate):
        distance = estimate[right] - reference[left]
        if abs(distance) <= window:
            found.append((left, right))
            left, right = left + 1, right + 1
        elif distance < 0:
            right += 1
        else:
            left += 1
    return found


def rates(hits: int, references: int, estimates: int) -> dict[str, float]:
    precision = hits / estimates if estimates else 1.0
    recall = hits / references if references else 1.0
    union = references + estimates - hits
    return {
        "precision": precision,
        "recall": recall,
        "f_measure": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        "accuracy": hits / union if union else 1.0,
    }


def detections(reference: Times, estimate: Times, window: float) -> dict[str, float]:
    found = match(reference, estimate, window)
    errors = [estimate[right] - reference[left] for left, right in found]
    return {
        **rates(len(found), len(reference), len(estimate)),
        "mean_error": float(np.mean(errors)) if errors else math.nan,
        "std_error": float(np.std(errors)) if errors else math.nan,
    }


def nearest(value: float, times: Times) -> int:
    """Of two neighbours that are equally near the later one."""
    place = sum(one < value for one in times)
    after = min(max(place, 1), len(times) - 1)
    return after - 1 if value - times[after - 1] < times[after] - value else after


def before(times: Times) -> list[float]:
    steps = [later - earlier for earlier, later in itertools.pairwise(times)]
    return [steps[0], *steps]


def after(times: Times) -> list[float]:
    steps = [later - earlier for earlier, later in itertools.pairwise(times)]
    return [*steps, steps[-1]]


def divide(above: float, below: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(above) / np.float64(below))


def relative_errors(beats: Times, target: Times) -> list[float]:
    found = []
    for beat in beats:
        place = nearest(beat, target)
        error = beat - target[place]
        found.append(divide(error, (after if error > 0 else before)(target)[place]))
    return found


def p_score(reference: Times, estimate: Times, window: float = 0.2) -> float:
    limit = window * float(np.median(np.diff(reference)))
    hits = sum(abs(beat - reference[nearest(beat, reference)]) <= limit for beat in estimate)
    return hits / max(len(reference), len(estimate))


def cemgil(reference: Times, estimate: Times, sigma: float = 0.04) -> float:
    def error(beat: float) -> float:
        return beat - reference[nearest(beat, reference)] if len(reference) > 1 else beat - reference[0]

    total = sum(math.exp(-(error(beat) ** 2) / (2 * sigma**2)) for beat in estimate)
    return total / ((len(reference) + len(estimate)) / 2)


def longest_run(indices: Sequence[int]) -> list[int]:
    """The first of the longest stretches in which each index is one more than that before it."""
    best: list[int] = []
    run: list[int] = []
    for index in indices:
        run = [*run, index] if run and index == run[-1] + 1 else [index]
        best = run if len(run) > len(best) else best
    return best


def goto(reference: Times, estimate: Times, threshold: float = 0.175, mu: float = 0.1, sigma: float = 0.1) -> float:
    errors = relative_errors(estimate, reference)
    closest = [nearest(beat, estimate) if len(estimate) > 1 else 0 for beat in reference]
    run = longest_run([place for place in closest if abs(errors[place]) <= threshold])
    if len(run) < 0.25 * len(reference):
        return 0.0
    stretch = [errors[place] for place in run]
    return float(np.mean(np.abs(stretch)) <= mu and np.std(stretch) <= sigma)


def correct_level(reference: Times, estimate: Times, phase: float, period: float) -> tuple[float, float]:
    intervals, own = before(reference), before(estimate)
    near, in_time = set(), set()
    for place, beat in enumerate(estimate):
        closest = nearest(beat, reference)
        if abs(beat - reference[closest]) <= phase * intervals[closest]:
            near.add(beat)
        if abs(1 - divide(own[place], intervals[closest])) <= period:
            in_time.add(beat)
    right = sorted(near & in_time)
    longest = longest_run([list(estimate).index(beat) for beat in right])
    larger = max(len(reference), len(estimate))
    return len(longest) / larger, len(right) / larger


def levels(reference: Times, offbeat: bool, double: bool, triple: bool) -> list[list[float]]:
    places = np.arange(len(reference))
    halves = np.interp(np.arange(0, 2 * len(reference) - 1) * 0.5, places, reference).tolist()
    thirds = np.interp(np.arange(0, 3 * len(reference) - 2) * (1 / 3), places, reference).tolist()
    given = list(reference)
    return [
        *([halves[1::2]] if offbeat else []),
        *([halves, given[::2], given[1::2]] if double else []),
        *([thirds, given[::3], given[1::3], given[2::3]] if triple else []),
    ]


def continuity(
    reference: Times,
    estimate: Times,
    phase: float = 0.175,
    period: float = 0.175,
    variants: tuple[bool, bool, bool] = (True, True, True),
) -> dict[str, float]:
    if min(len(reference), len(estimate)) < 2:
        return dict.fromkeys(("cmlc", "cmlt", "amlc", "amlt"), 0.0)
    found = [correct_level(reference, estimate, phase, period)]
    if found[0][0] <= 0.5:
        every = (one for one in levels(reference, *variants) if len(one) > 1)
        found += [correct_level(one, estimate, phase, period) for one in every]
    (cmlc, cmlt), (amlc, amlt) = found[0], (max(column) for column in zip(*found, strict=True))
    return {"cmlc": cmlc, "cmlt": cmlt, "amlc": amlc, "amlt": amlt}


def gain(histogram: Sequence[float]) -> float:
    total = sum(histogram)
    entropy = -sum(one / total * math.log2(one / total) for one in histogram if one) if total else 0.0
    return math.log2(len(histogram)) - entropy


def histogram(beats: Times, target: Times, bins: int) -> list[float]:
    found = [0.0] * bins
    edges = np.linspace(-0.5 - 0.5 / bins, 0.5 + 0.5 / bins, bins + 2)
    for error in relative_errors(beats, target):
        if math.isfinite(error):
            place = int(np.searchsorted(edges, np.mod(error + 0.5, -1) + 0.5, side="right")) - 1
            found[place % bins] += 1
    return found


def beat_scores(reference: Times, estimate: Times, skip: float = 0.0) -> dict[str, float]:
    """Every score with madmom's defaults; NaN where it raises, or has no error to average."""
    if skip > 0:
        reference, estimate = ([one for one in side if one > skip] for side in (reference, estimate))
    scores = detections(reference, estimate, 0.07)
    timed = ("p_score", "cemgil", "goto", "cmlc", "cmlt", "amlc", "amlt", "information_gain")
    if not reference or not estimate:
        perfect = not reference and not estimate
        scores |= dict.fromkeys(timed, float(perfect))
        return scores | {"information_gain": math.log2(40) if perfect else 0.0}
    scores |= {"cemgil": cemgil(reference, estimate), **continuity(reference, estimate), "information_gain": 0.0}
    single = len(reference) == 1
    scores["p_score"] = math.nan if single else p_score(reference, estimate)
    scores["goto"] = math.nan if single else goto(reference, estimate)
    if min(len(reference), len(estimate)) > 1:
        sides = histogram(estimate, reference, 40), histogram(reference, estimate, 40)
        scores["information_gain"] = min(map(gain, sides))
    return scores


def combine(times: Times, distance: float) -> list[float]:
    """Neighbours that are close together at their mean, from left to right."""
    found: list[float] = []
    for time in times:
        if distance and found and time - found[-1] <= distance + 1e-12:
            found[-1] = (found[-1] + time) / 2
        else:
            found.append(time)
    return found


def onset_scores(reference: Times, estimate: Times, window: float, combined: float, delay: float) -> dict[str, float]:
    return detections(sorted(combine(reference, combined)), sorted(time + delay for time in estimate), window)


Note = tuple[float, float]


def note_scores(reference: Sequence[Note], estimate: Sequence[Note], window: float) -> dict[str, float] | None:
    """Scores of notes (onset, pitch); None where a note is both matched and not."""
    errors: list[float] = []
    for pitch in {pitch for _, pitch in (*reference, *estimate)}:
        sides = [sorted(onset for onset, other in side if other == pitch) for side in (reference, estimate)]
        found = match(sides[0], sides[1], window)
        errors += [sides[1][right] - sides[0][left] for left, right in found]
        for side, places in zip(sides, zip(*found, strict=True) if found else ((), ()), strict=True):
            taken = {side[place] for place in places}
            if taken & {time for place, time in enumerate(side) if place not in places}:
                return None
    spread = {"mean_error": float(np.mean(errors)), "std_error": float(np.std(errors))} if errors else {}
    whole = {"mean_error": math.nan, "std_error": math.nan} | spread
    return rates(len(errors), len(reference), len(estimate)) | whole


Strong = tuple[float, float]


def tempo_scores(reference: Sequence[Strong], estimate: Sequence[Strong], tol: float = 0.04) -> dict[str, float]:
    """Scores of tempi with strengths."""
    names = ("p_score", "any_correct", "all_correct", "accuracy1", "accuracy2")
    if not reference or not estimate:
        return dict.fromkeys(names, float(not reference and not estimate))
    sides = [sorted(side, key=lambda one: -one[1]) for side in (reference, estimate)]
    total = sum(strength for _, strength in sides[0])
    shares = [strength / total if total else 1 / len(sides[0]) for _, strength in sides[0]]

    def near(tempo: float, other: float) -> bool:
        return abs(1 - divide(other, tempo)) <= tol

    hits = [any(near(tempo, other) for other, _ in sides[1]) for tempo, _ in sides[0]]
    first, own = sides[0][0][0], sides[1][0][0]
    scores = (
        sum(share for share, hit in zip(shares, hits, strict=True) if hit),
        any(hits),
        all(hits),
        near(first, own),
        any(near(level, own) for level in (first, first * 2, first / 2, first * 3, first / 3)),
    )
    return {name: float(score) for name, score in zip(names, scores, strict=True)}
