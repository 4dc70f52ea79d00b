"""What can be scored as judgements of candidates, or as a list of candidates."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from ...kernels.judged import repeated
from ...ragged import Bool, Column, Float, Int, Ragged, rows_of
from ..base.flaws import Problem, set_aside
from ..base.task import Cleaned

BROAD = ("NS", "SS", "VS")
"""The broad categories: not similar, somewhat similar, very similar."""

_LEVELS = MappingProxyType(
    {
        **{name.casefold(): level for level, name in enumerate(BROAD)},
        **{str(level): level for level in range(len(BROAD))},
        **{f"{word} similar": level for level, word in enumerate(("not", "somewhat", "very"))},
    }
)


def level_of(text: str) -> float:
    """The level of a broad category: 0, 1 or 2; NaN for anything else.

    Examples
    --------
    >>> level_of("SS"), level_of("very similar"), level_of("0")
    (1.0, 2.0, 0.0)
    """
    return float(_LEVELS.get(" ".join(text.replace("_", " ").split()).casefold(), np.nan))


def clean(rows: Ragged) -> Cleaned:
    """Put levels in the place of broad categories, and set aside what contradicts itself.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: column label; of judgements also grader, broad (text) and value.

    Returns
    -------
    Cleaned
        Columns label, level (float64: 0 for NS, 1 for SS, 2 for VS, NaN for none) and value (float64, NaN for none).
        Flaws are a grader who judged a candidate twice, a candidate that stands twice in a list, a broad category that
        is none, and judgements that say nothing or are not finite. A row is one of judgements, and may name a candidate
        again, if it says anything of graders or categories.

    Examples
    --------
    >>> rows = Ragged({"label": np.array([0, 0, 1]), "grader": np.array(["a", "b", "a"]),
    ...                "broad": np.array(["NS", "vs", "VS"])}, (np.array([3]),), ("x", "y"))
    >>> clean(rows).rows.columns["level"].tolist()
    [0.0, 2.0, 2.0]
    >>> twice = Ragged({"label": np.array([0, 0])}, (np.array([2]),), ("x",))
    >>> clean(twice).flaws[0].message
    "candidate 'x' stands twice, at ranks 1 and 2"
    """
    size = len(rows.columns["label"])
    grader, broad = (rows.columns.get(name, np.full(size, "")) for name in ("grader", "broad"))
    value: Float = rows.columns.get("value", np.full(size, np.nan))
    level = _levels(broad)
    owner = rows_of(rows.counts[0])
    judged = np.bincount(owner, (grader != "") | (broad != ""), minlength=len(rows))[owner] > 0
    silent = judged & np.isnan(level) & np.isnan(value)
    names = [*rows.labels, ""]
    label = rows.columns["label"]
    problems: list[Problem] = [
        (label < 0, lambda item: "names no candidate"),
        (
            (broad != "") & np.isnan(level),
            lambda item: f"not a broad category: {str(broad[item])!r}; known: {', '.join(BROAD)}",
        ),
        (np.isinf(value), lambda item: f"the value of {names[label[item]]!r} is not finite: {value[item]}"),
        (silent, lambda item: f"the judgement of {names[label[item]]!r} has neither a broad nor a fine part"),
        *_repeats(rows, grader, judged),
    ]
    made = Ragged({"label": label, "level": level, "value": value}, rows.counts, rows.labels)
    return set_aside(made, problems)


def _levels(broad: Column) -> Float:
    texts, place = np.unique(broad, return_inverse=True)
    return np.array([level_of(str(text)) for text in texts], dtype=np.float64)[place]


def _repeats(rows: Ragged, grader: Column, judged: Bool) -> list[Problem]:
    """Who judged twice, and what is listed twice; judgements of nobody in particular may repeat."""
    size, label, start = len(judged), rows.columns["label"], rows.offsets[:-1][rows_of(rows.counts[0])]
    graders, who = np.unique(grader, return_inverse=True)
    names = [*rows.labels, ""]
    key: Int = (label + 1) * max(len(graders), 1) + who
    # Numbers without gaps, as where each has to do with a table of them all.
    again, first = repeated(np.unique(key, return_inverse=True)[1].astype(np.int64), rows.counts[0])
    before = np.full(size, -1, dtype=np.int64)
    before[again] = first
    twice = (before >= 0) & (label >= 0)
    return [
        (
            twice & judged & (grader != ""),
            lambda item: f"grader {str(grader[item])!r} judged {names[label[item]]!r} twice",
        ),
        (
            twice & ~judged,
            lambda item: (
                f"candidate {names[label[item]]!r} stands twice, at ranks {before[item] - start[item] + 1} "
                f"and {item - start[item] + 1}"
            ),
        ),
    ]
