"""Alignment of the notes of a score and of a performance: which note of the performance plays which of the score.

Each entry is a match (two notes), a deletion (a note of the score that is not played), an insertion (a note of the
performance that is not in the score) or an ornament (a note of the performance, and the note of the score that it
decorates). mir_eval does not have this task. `evaluate` scores one performance; `TASK` holds the metrics of whole
datasets, with warnings of unknown names of notes and of entries that contradict each other.

Conventions
-----------
* ``parangonar`` (default and only one): entries of one type are compared; without any on both sides, scores are 1.

Metrics
-------
* ``f_measure``, ``precision``, ``recall``: of the entries that both sides have; by default also the F-measure of
  insertions and of deletions.

References
----------
Peter, Cancino-Chacón, Foscarin, McLeod, Henkel, Karystinaios and Widmer, Automatic note-level score-to-performance
alignments in the ASAP dataset, TISMIR 6(1), 2023.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..annotations.annotation import Annotation, texts_at, to_ragged
from ..annotations.arrays import from_arguments
from ..annotations.schema import KINDS
from ..kernels.ranking import repeated
from ..kernels.ratios import Scored, rate
from ..ragged import Column, Int, Ragged, rows_of
from .base import Convention, Doubt, Pairs, Task, by_name, score_by
from .cleaning import Cleaned, Problem, set_aside, usable, usable_pair
from .measures import Measure, Parameter, Weight, family, metrics_in, select
from .pair import PairFunctions, documented

__all__ = ["TASK", "TYPES", "evaluate"]
TYPES = ("match", "insertion", "deletion", "ornament")  # Types of entries
_MATCH, _INSERTION, _DELETION, _ORNAMENT = range(len(TYPES))
_FORMS = (
    "a match has a note of the score and one of the performance",
    "an insertion has only a note of the performance",
    "a deletion has only a note of the score",
    "an ornament has a note of the score and one of the performance",
)
_NUMBERED = {"0": _MATCH, "1": _DELETION, "2": _INSERTION}
"""Types by their numbers in files of Parangonada."""
_NO_NOTE = frozenset({"", "insertion", "deletion", "undefined"})
"""Texts in place of a missing note: in files of ASAP, the type of the entry."""


def clean(rows: Ragged) -> Cleaned:
    """Name the type of each entry, and drop repeated ones, which are counted in `repairs`.

    Entries without a type are matches, insertions or deletions, depending on which notes they have. Flaws are unknown
    types, and entries that have not the notes of their type.
    """
    names: dict[str, int] = {}
    given, label, texts = number(rows, names), rows.columns["label"], [*rows.labels, ""]
    types, score, performance = (given.columns[name] for name in ("type", "score", "performance"))
    # 1 with a note of the score, 2 with one of the performance, 3 with both
    both, wanted = (score >= 0) + 2 * (performance >= 0), np.array([3, 2, 1, 3, 0, 0])[types]
    columns: dict[str, Column] = {
        "label": types,
        "score_id": texts_at([*names, ""], score),
        "performance_id": texts_at([*names, ""], performance),
    }

    problems: list[Problem] = [
        (types == -1, lambda item: f"unknown type {texts[label[item]]!r} of an entry: choose from {', '.join(TYPES)}"),
        (types == -2, lambda item: "the entry has neither a note of the score nor one of the performance"),
        (
            (types >= 0) & (both != wanted),
            lambda item: (
                f"{_FORMS[types[item]]}, not {str(columns['score_id'][item])!r} and "
                f"{str(columns['performance_id'][item])!r}"
            ),
        ),
    ]
    entry = np.unique(_keys(given, len(names)), return_inverse=True)[1].astype(np.int64)
    again = np.zeros(len(types), dtype=np.bool_)
    again[repeated(entry, rows.counts[0])[0]] = True
    return set_aside(Ragged(columns, rows.counts, TYPES), problems, again, drop=True)


def number(rows: Ragged, names: dict[str, int]) -> Ragged:
    """Number types and notes: columns type (an index of `TYPES`), score and performance (-1: none).

    `names` has the numbers of known notes, and grows. The type is -1 if it is unknown, and -2 if an entry has neither a
    type nor a note.
    """
    label, codes = rows.columns["label"], []
    for column in ("score_id", "performance_id"):
        texts = rows.columns.get(column, np.full(len(label), "")).tolist()
        known = dict.fromkeys(_NO_NOTE, -1)
        for text in texts:
            if text not in known:
                known[text] = names.setdefault(text, len(names))
        codes.append(np.fromiter(map(known.__getitem__, texts), dtype=np.int64, count=len(texts)))
    words = [text.strip().lower() for text in (*rows.labels, "")]
    numbers = {name: index for index, name in enumerate(TYPES)}
    # No type is the number of types, and an unknown one -1.
    indices = [numbers.get(word, _NUMBERED.get(word, -1 if word else len(TYPES))) for word in words]
    given = np.array(indices, dtype=np.int64)[label]
    inferred = np.array([-2, _DELETION, _INSERTION, _MATCH])[(codes[0] >= 0) + 2 * (codes[1] >= 0)]
    types = np.where(given == len(TYPES), inferred, given)
    return Ragged({"type": types, "score": codes[0], "performance": codes[1]}, rows.counts)


def _keys(rows: Ragged, size: int) -> Int:
    """A number for each type and pair of notes, of which there are `size` names: int64 (entries,)."""
    types, score, performance = (rows.columns[name] for name in ("type", "score", "performance"))
    key: Int = ((score + 1) * (size + 1) + performance + 1) * (len(TYPES) + 2) + types + 2
    return key


class Entries:
    """The entries of pairs, and which of them both sides have."""

    def __init__(self, pairs: Pairs) -> None:
        names: dict[str, int] = {}
        sides = [number(rows, names) for rows in (pairs.references, pairs.estimates)]
        keys = [_keys(side, len(names)) for side in sides]
        entry = np.unique(np.concatenate(keys), return_inverse=True)[1]
        split = len(keys[0])
        coded = [
            replace(side, columns={**side.columns, "entry": own})
            for side, own in zip(sides, (entry[:split], entry[split:]), strict=True)
        ]
        self.sides = replace(pairs, references=coded[0], estimates=coded[1]).lay_out()
        """Both sides, a row for each pair: type, and notes as indices into the names."""
        self.names = tuple(names)
        self.owner = [rows_of(side.counts[0]) for side in self.sides]
        """Pair of each entry of either side."""
        self.pairs, width = len(pairs), int(entry.max(initial=0)) + 1
        one, other = (owner * width + side.columns["entry"] for owner, side in zip(self.owner, self.sides, strict=True))
        self.shared = np.isin(one, other), np.isin(other, one)
        """Masks of the entries of either side that the other side has."""


_WANTED = {"all": [*range(len(TYPES))], **{name: [index] for index, name in enumerate(TYPES)}}
"""Indices of the types of entries to score, by the parameter."""


@family(
    {
        "f_measure": Weight("mean of the numbers of entries of both sides", "entries"),
        "precision": Weight("number of entries of the estimate", "entries"),
        "recall": Weight("number of entries of the reference", "entries"),
    },
    {
        "f_measure": {
            "title": "F-measure",
            "summary": "harmonic mean of precision and recall of the entries of a type",
        },
        "precision": {"title": "Precision", "summary": "share of the entries of the estimate that the reference has"},
        "recall": {"title": "Recall", "summary": "share of the entries of the reference that the estimate has"},
    },
    parameters=(Parameter("entries", "match", choices=(*TYPES, "all"), help="type of the entries to score"),),
    literature="@peter2023asap",
)
def _rates(what: str, entries: Entries, measure: Measure) -> Scored:
    """Precision, recall or F-measure of the entries of a type; 1 with weight 0 if neither side has any."""
    wanted, owner = _WANTED[str(measure["entries"])], entries.owner
    one, other = (np.isin(side.columns["type"], wanted) for side in entries.sides)
    chosen = owner[0][one & entries.shared[0]], owner[0][one], owner[1][other]
    hits, references, estimates = (np.bincount(rows, minlength=entries.pairs) for rows in chosen)
    score, weight = rate(what, hits, references, estimates)
    return np.where(references + estimates > 0, score, 1.0), weight


METRICS = metrics_in(globals())


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return the entries of a type with verdicts.

    Columns are ``entry`` (its type), ``score_id``, ``performance_id`` (names of notes, empty for none) and ``verdict``:
    ``hit`` for an entry of both sides, ``missed`` for one of the reference alone, ``extra`` for one of the estimate
    alone. Entries of the estimate alone come last.
    """
    entries = Entries(Pairs.in_order(*usable_pair(reference, estimate, clean)))
    masks = [np.isin(side.columns["type"], _WANTED[str(measure["entries"])]) for side in entries.sides]
    chosen = np.flatnonzero(masks[0]), np.flatnonzero(masks[1] & ~entries.shared[1])
    joined = {
        name: np.concatenate([side.columns[name][own] for side, own in zip(entries.sides, chosen, strict=True)])
        for name in ("type", "score", "performance")
    }
    verdict = np.where(entries.shared[0][chosen[0]], "hit", "missed")
    return {
        "entry": texts_at(TYPES, joined["type"]),
        "score_id": texts_at([*entries.names, ""], joined["score"]),
        "performance_id": texts_at([*entries.names, ""], joined["performance"]),
        "verdict": np.concatenate([verdict, np.full(len(chosen[1]), "extra")]),
    }


def doubt_names(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str:
    """Report notes of the score or performance of which the two sides have none in common."""
    for name, what in (("score_id", "score"), ("performance_id", "performance")):
        own, other = (set(side.columns.get(name, np.zeros(0)).tolist()) - _NO_NOTE for side in (reference, estimate))
        if own and other and not own & other:
            return (
                f"no note of the {what} has the same name on both sides ({min(own)!r}, {min(other)!r}): are the names "
                "those of the same file?"
            )
    return ""


def doubt_contradiction(annotation: Annotation) -> str:
    """Report a note that is part of a match, and also inserted or deleted."""
    rows = number(to_ragged([annotation]), {})
    types, lines = rows.columns["type"], annotation.line
    for type, side in ((_INSERTION, "performance"), (_DELETION, "score")):
        note = rows.columns[side]
        both = np.flatnonzero((types == type) & (note >= 0) & np.isin(note, note[types == _MATCH]))
        if len(both):
            item = int(both[0])
            other = int(np.flatnonzero((types == _MATCH) & (note == note[item]))[0])
            where = f" on lines {lines(item)} and {lines(other)}" if lines(item) and lines(other) else ""
            name = str(annotation.columns[f"{side}_id"][item])
            return f"the note {name!r} of the {side} is part of {_TOLD[type]} and of a match{where}; both count"
    return ""


_TOLD = {_INSERTION: "an insertion", _DELETION: "a deletion"}

PARANGONAR = Convention(
    "parangonar",
    "parangonar: precision, recall and F-measure of the entries that both sides have",
    METRICS,
    clean,
    partial(score_by, Entries),
    default_measures=select(("f_measure", "precision", "recall", "f_measure@[insertion,deletion]"), METRICS),
    explain=evidence,
    literature="@peter2023asap",
)

TASK = Task(
    "note_alignment",
    "Note alignment",
    by_name(PARANGONAR),
    ("f_measure",),
    doubts=(
        Doubt("other_notes", "no note has the same name on both sides", of_pair=doubt_names),
        Doubt("contradiction", "a note of a match is inserted or deleted, too", of_side=doubt_contradiction),
    ),
)

Entry = Mapping[str, str]
"""An entry as in partitura: ``label``, ``score_id`` and ``performance_id``, of which one may be absent."""


@documented(
    """
    Parameters
    ----------
    reference, estimate : iterable of mappings
        Entries as partitura has them: ``label``, ``score_id`` and ``performance_id``.

    Raises
    ------
    InvalidAnnotationError
        For unknown types, and entries that have not the notes of their type.
    """,
    METRICS,
)
def evaluate(reference: Iterable[Entry], estimate: Iterable[Entry]) -> OrderedDict[str, float]:
    """Score the alignment of one performance.

    Returns
    -------
    OrderedDict of str to float
        Scores by name: those of matches, and F-measures of insertions and deletions.

    References
    ----------
    @peter2023asap

    Examples
    --------
    >>> def match(score_id, performance_id):
    ...     return {"label": "match", "score_id": score_id, "performance_id": performance_id}
    >>> found = evaluate([match("n1", "p1"), match("n2", "p2")], [match("n1", "p1"), match("n2", "p3")])
    >>> found["f_measure"], found["f_measure@insertion"]
    (0.5, 1.0)
    """
    measures = PARANGONAR.default_measures
    scores = PARANGONAR.score_arrays(_row, reference, estimate, measures)
    return OrderedDict(zip(map(str, measures), scores.tolist(), strict=True))


def _row(side: str, entries: Iterable[Entry]) -> Ragged:
    """Make a clean row of entries."""
    annotation = from_arguments(KINDS["note_alignment"], (list(entries),))
    return usable(annotation, clean(to_ragged([annotation])), side)


globals().update(PairFunctions(METRICS, partial(PARANGONAR.score_arrays, _row)).functions("As for `evaluate`."))
