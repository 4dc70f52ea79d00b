"""Selections: the scores that a query selects, read a block of systems at a time, and which of them count.

Scores may be missing or undefined: which ones count is a matter of policies. Remarks on cells, such as why one has no
score, are listed, grouped by cause, and freed of quotations from references.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import QueryError, UnknownNameError, counted, without_values
from ..metrics.aggregates import AGGREGATES, NEGLIGIBLE, OVER_DURATIONS
from ..ragged import Bool, Float, Int
from ..store.cells import (
    EMPTY,
    FAILED,
    QUOTES_NOTHING,
    SCORED,
    CellRemark,
    RemarkKind,
    RemarkSide,
    Status,
    read_message,
    write_message,
)
from ..store.format import WARNINGS
from .query_options import MISSING, UNDEFINED, Query, as_names
from .scores import (
    Array,
    Scores,
    Status8,
    cell_texts,
    computed,
    coords_of,
    names_of,
    numbers_of,
    numerators_of,
    states_of,
)

if TYPE_CHECKING:
    import xarray as xr


def has_score(status: npt.NDArray[np.int8]) -> Bool:
    """Mark the cells of a status with scores."""
    mask: Bool = np.zeros(status.shape, dtype=np.bool_)
    for scored in SCORED:  # `np.isin` would take nine bytes for each cell
        mask |= status == scored
    return mask


def missing_policy(query: Query, attrs: Mapping[str, object], status: npt.NDArray[np.int8]) -> str:
    """The policy of a query for cells without a score, of systems (systems, tracks).

    Where single tracks are listed, nothing is compared over tracks, and each score is shown; nor is anything where
    systems of several stores have no track in common. Raises `UnknownNameError` for an unknown policy, that for
    undefined scores too.
    """
    apart = STORES in attrs and not (status != Status.not_computed).all(axis=0).any()
    listed = "track" in (as_names(query.by) or []) and "track" not in (query.across or {})
    missing = query.missing or ("common" if len(status) > 1 and not apart and not listed else "skip")
    for scores, policy, policies in (("missing", missing, MISSING), ("undefined", query.undefined, UNDEFINED)):
        if policy not in policies:
            raise UnknownNameError(f"policy for {scores} scores", str(policy), policies)
    return missing


# A word with a slash or a suffix, perhaps with a line's number; what is quoted is a value, and values count.
_FILE = re.compile(r"""(?<!\S)(?!['"(])(?:\S*[/\\]\S*|\S*\.[A-Za-z]\w{1,4})(?::\d+)?(?=[\s:;,)\]]|$)""")


@dataclass(frozen=True)
class CellProblem:
    """A remark on a cell: why it lacks scores, or what is empty, doubtful, repaired, or not read."""

    system: str
    track: str
    status: Status
    kind: RemarkKind
    side: RemarkSide
    message: str

    @property
    def scored(self) -> str:
        """True if the cell has a score: ``no``, ``partly`` (not by all metrics), or ``yes`` (and counts)."""
        if self.status not in SCORED:
            return "no"
        return "partly" if self.status == Status.ok and self.kind == "reason" else "yes"


def find_problems(ds: Scores) -> list[CellProblem]:
    """List the remarks on all cells, system by system."""
    status, messages = states_of(computed(ds))[0], cell_texts(ds, "message")
    lacking = np.isin(status, [int(state) for state in FAILED | EMPTY])
    listed = np.argwhere(lacking | (messages != ""))
    systems, tracks = names_of(ds, "system"), names_of(ds, "track")
    problems = []
    for system, track in listed.tolist():
        names, state = (systems[system], tracks[track]), Status(int(status[system, track]))
        remarks = list(read_message(str(messages[system, track])))
        if lacking[system, track] and not any(remark.kind == "reason" for remark in remarks):
            remarks.insert(0, CellRemark("reason", "pair", ""))
        problems += [CellProblem(*names, state, remark.kind, remark.side, remark.text) for remark in remarks]
    return problems


WITHHELD = "not shown here, as it may quote a reference"


def list_shown(status: Status, remarks: Iterable[CellRemark]) -> list[CellRemark]:
    """The reasons and warnings among remarks on a cell, in words that quote no annotation; notes are left out."""
    names = dict.fromkeys(
        remark if remark.kind == "reason" and status in QUOTES_NOTHING else CellRemark(remark.kind, "pair", WITHHELD)
        for remark in remarks
        if remark.kind in ("reason", "warning")
    )
    return list(names)


def warn_withheld(system: str) -> str:
    """Words for a warning about a system (empty: about all files) that may quote a reference."""
    return f"there is a warning about {f'system {system!r}' if system else 'the files'}, which is {WITHHELD}"


def without_quotes(ds: xr.Dataset) -> xr.Dataset:
    """Scores of an evaluation with messages and warnings that quote no annotation."""
    found = ds.copy()
    if "message" in ds.data_vars:
        messages, status = cell_texts(ds, "message"), states_of(computed(ds))[0]
        # One array of texts, however long the messages were.
        texts = messages.astype(object)
        for system, track in np.argwhere(messages != "").tolist():
            remarks = read_message(str(messages[system, track]))
            shown = list_shown(Status(int(status[system, track])), remarks)
            texts[system, track] = write_message(shown)
        found["message"] = (("system", "track"), texts, ds["message"].attrs)
    systems = dict.fromkeys(caution["system"] for caution in ds.attrs.get(WARNINGS, ()))
    if systems:
        found.attrs[WARNINGS] = [{"text": warn_withheld(name), "system": name} for name in systems]
    return found


def count_scored(problems: Iterable[CellProblem]) -> str:
    """Numbers of cells of an evaluation with the score of an empty side, or with a warning, in words; empty if none."""
    problems = list(problems)
    number = Counter({(problem.system, problem.track): problem.status for problem in problems}.values())
    warned = count_cells(problem for problem in problems if problem.kind == "warning" and problem.scored == "yes")
    sides = ((Status.empty_estimate, "an empty estimate"), (Status.empty_reference, "an empty reference"))
    counts = [f"{number[status]} of {side}" for status, side in sides if number[status]]
    return ", ".join([*counts, *([f"{warned} with a warning"] if warned else [])])


def group_problems(problems: Sequence[CellProblem]) -> list[list[CellProblem]]:
    """Problems of the same cause together, the most frequent cause first. They have one cause if their messages are the
    same without the names of systems, tracks and files, and without values."""
    causes: dict[tuple[Status, RemarkKind, str], list[CellProblem]] = {}
    for problem in problems:
        message = problem.message
        for name in {problem.system, problem.track}:
            bare = re.escape(name)
            # Not wherever it stands: a track may be called as a word of the message is.
            message = re.sub(rf"^(reference|estimate) [^:]*{bare}:", "", message)  # in memory
            message = re.sub(rf"(?<=[/\\\[]){bare}(?!\w)|(?<!\w){bare}(?=\.\w)|{re.escape(repr(name))}", "", message)
        cause = problem.status, problem.kind, without_values(_FILE.sub("", message))
        causes.setdefault(cause, []).append(problem)
    return sorted(causes.values(), key=len, reverse=True)


def count_cells(problems: Iterable[CellProblem]) -> int:
    """Number of the cells of an evaluation that problems are about."""
    return len({(problem.system, problem.track) for problem in problems})


CELLS = ("score", "weight", "_included", "_missing", "_undefined")
"""Variables over (system, track, metric) of selected scores: in a store no name begins with an underscore."""

STORES = "stores"
"""The attribute of an evaluation that was joined from several stores."""

EMPTY_COUNTED, UNCOUNTED, COSTLIEST = "empty_estimates", "uncounted_cells", "costliest"
"""Attributes of an answer: the number of empty estimates that count, of missing cells that do not count as 0 as their
references are not usable, and the system without which most tracks more would count, in words."""

VALUELESS = "valueless"
"""The attribute of an answer that says which scores with nothing to measure are NaN: ``some`` or ``all``."""

_FEW, _SHARE = 5, 0.1
"""Number of tracks, and their share of those that count, by which a system that costs them is named."""

_BLOCK = 2**18
"""Scores in a block, of which a query holds about ten arrays at a time."""
_SYSTEMS, _LARGEST = 8, 2**20
"""Systems in a block if there are very many tracks, as each access to a store takes a while, and scores of these."""
_BLOCK_PER_GROUP = 2**10
"""Scores in a block for each group of tracks: many groups take longer to tell apart than to add up."""


def count_scores(
    score: Float,
    weight: Float,
    status: Status8,
    missing: str,
    undefined: str,
    *,
    bare: Bool | None = None,
    shared: Bool | None = None,
) -> dict[str, Array]:
    """Find out which scores are missing or undefined, and which ones count under two policies.

    A score is missing if the cell was not scored, or if it is NaN although there was something to measure; undefined
    if the cell was scored with the weight 0.

    `score`, `weight` (float64 (systems, tracks, metrics)), `status` (int8 (systems, tracks)). `missing` ({"raise",
    "zero", "skip", "common"}): ``raise`` counts like ``skip``: the caller has raised an error before if anything is
    missing. `undefined` ({"keep", "skip"}). `bare` (bool (systems, tracks) or None): further cells without a usable
    reference: those without a score whose references have neither a duration nor a weight by any metric of the
    evaluation, not only by these; the policy ``zero`` leaves them out. `shared` (bool (tracks, metrics) or None): the
    scores that count under ``common``; None: those that all of these systems have. Returns dict of str to array
    (systems, tracks, metrics): those of `CELLS`; missing scores are 0 under ``zero``, and a score of NaN never counts.

    Examples
    --------
    >>> score, weight = np.array([[[1.0], [np.nan], [0.0]]]), np.array([[[9.0], [9.0], [0.0]]])
    >>> status = np.array([[Status.ok, Status.missing_estimate, Status.ok]], dtype=np.int8)
    >>> cells = count_scores(score, weight, status, "skip", "keep")
    >>> [cells[name].ravel().tolist() for name in ("_included", "_missing", "_undefined")]
    [[True, False, True], [False, True, False], [False, False, True]]
    """
    nothing = weight == 0
    lacking = ~has_score(status)[..., np.newaxis] | (np.isnan(score) & ~nothing)
    have = ~lacking
    if missing == "common":
        have &= have.all(axis=0) if shared is None else shared
    elif missing == "zero":
        without: Bool = status == Status.missing_reference
        score = np.where(lacking, 0.0, score)
        have |= ~(without if bare is None else without | bare)[..., np.newaxis]
    if undefined == "skip":
        have &= ~nothing
    return dict(zip(CELLS, (score, weight, have & ~np.isnan(score), lacking, nothing & ~lacking), strict=True))


@dataclass(frozen=True)
class ScoreSelection:
    """The scores of an evaluation that a query selects, by some metrics; they are read when they are needed."""

    scores: Scores
    """The systems and tracks of a query, with all their metrics."""
    metrics: Sequence[int]
    """The positions of the selected ones."""
    aggregates: list[str]
    """The aggregate of each."""
    missing: str
    undefined: str
    status: Status8
    duration: Float
    first: int | None = None
    """Place, among the selected metrics, of the one whose best system comes first; None: systems keep their order."""

    @classmethod
    def of(cls, scores: Scores, kinds: Mapping[int, str], query: Query, first: int | None = None) -> ScoreSelection:
        """Some metrics of an evaluation, by their positions with their aggregates, under the policies of a query."""
        scores = computed(scores)
        status, duration = states_of(scores)
        missing = missing_policy(query, scores.attrs, status)
        return cls(scores, [*kinds], [*kinds.values()], missing, query.undefined, status, duration, first)

    def names(self, name: str) -> list[str]:
        """Labels of systems, tracks or the selected metrics, or a coordinate of these as text."""
        return names_of(self.scores, name, None if name in ("system", "track") else self.metrics)

    def blocks(self, groups: int = 1) -> list[slice]:
        """Systems whose scores take a bounded amount of memory together; the more groups of tracks, the more."""
        systems, tracks = self.status.shape
        most = max(_BLOCK, _BLOCK_PER_GROUP * groups)
        size = max(1, tracks * len(self.metrics))
        step = max(2, most // size, min(_SYSTEMS, _LARGEST // size))
        # At least two systems, if there are as many: numpy adds up the tracks of a single one in another order.
        starts = [*range(0, systems - 1, step)] or [0]
        return [slice(*ends) for ends in zip(starts, [*starts[1:], systems], strict=True)]

    def cells(self, systems: slice | Sequence[int] = slice(None), shared: Bool | None = None) -> dict[str, Array]:
        """Read the scores of some systems.

        `systems`: neighbours, or the places of some. `shared` (bool (tracks, metrics) or None): the scores that count
        under ``common``; None: those that all of these systems have. Returns dict of str to array (systems, tracks,
        metrics): those of `CELLS`.
        """
        if not isinstance(systems, slice):
            # Places in order as slices of neighbours.
            places = np.asarray(systems, dtype=np.int64)
            runs = np.split(places, np.flatnonzero(np.diff(places, prepend=-2) != 1)[1:])
            parts = [self.cells(slice(int(run[0]), int(run[-1]) + 1), shared) for run in runs]
            if len(parts) == 1:
                return parts[0]
            return {name: np.concatenate([part[name] for part in parts]) for name in CELLS}
        # Contiguous, as sums depend on the memory layout in their last bits; xarray's own come from such arrays.
        score, weight = map(np.ascontiguousarray, numbers_of(self.scores, self.metrics, systems))
        numerator = numerators_of(self.scores, self.metrics, systems)
        if numerator is not None:
            score, weight = with_surplus(score, weight, numerator, self.aggregates)
        bare = self.bare[systems] if self.missing == "zero" else None
        return count_scores(score, weight, self.status[systems], self.missing, self.undefined, bare=bare, shared=shared)

    @cached_property
    def bare(self) -> Bool:
        """The cells of :func:`bare_cells`."""
        return bare_cells(self.scores, self.status, self.duration)

    def frame(self, attrs: Mapping[str, Any]) -> xr.Dataset:
        """The coordinates of the selection, and ``_aggregate`` along its metrics."""
        from ..lazy_array import plain_dataset

        ds: Any = self.scores
        coords: dict[str, Any] = {"_aggregate": ("metric", np.array(self.aggregates, dtype=str))}
        for dim in ("system", "track", "metric"):
            places = self.metrics if dim == "metric" else slice(None)
            along = {dim: ds[dim].values, **coords_of(ds, dim)}
            coords |= {name: (dim, values[places]) for name, values in along.items()}
        return plain_dataset({}, coords, {**ds.attrs, **attrs})


def with_surplus(score: Float, weight: Float, numerator: Float, kinds: Sequence[str]) -> tuple[Float, Float]:
    """Scores and weights whose products include numerators over a weight of 0, for aggregates of such products.

    All arrays are (systems, tracks, metrics); `kinds` are the aggregates of the metrics.
    """
    pooled = np.array([getattr(AGGREGATES.get(kind), "above", "") == "weight" for kind in kinds], dtype=np.bool_)
    surplus = (numerator > 0) & (weight == 0) & pooled
    return np.where(surplus, numerator / NEGLIGIBLE, score), np.where(surplus, NEGLIGIBLE, weight)


def counted_scores(part: xr.Dataset) -> Float:
    """Scores that count in selected scores, (systems, tracks, metrics); NaN elsewhere, and where nothing is measured
    although errors are counted."""
    counted = part["_included"].values & (part["weight"].values != NEGLIGIBLE)
    return np.where(counted, part["score"].values, np.nan)


def bare_cells(scores: Scores, status: Status8, duration: Float) -> Bool:
    """Mark the cells without a score whose references have neither a duration nor, by any metric, a weight.

    Weights are read a system at a time, of the systems that lack scores.
    """
    bare = np.asarray(~has_score(status) & ~(duration > 0))
    every = range(len(names_of(scores, "metric")))
    for system in np.flatnonzero(bare.any(axis=1)).tolist():
        bare[[system]] &= (numbers_of(scores, every, slice(system, system + 1))[1] == 0).all(axis=2)
    return bare


def count_unscored(ds: Scores) -> int:
    """Number of cells without a score by any metric."""
    every = dict.fromkeys(range(len(names_of(ds, "metric"))), "")
    selection = ScoreSelection.of(ds, every, Query(missing="skip"))
    return sum(int(selection.cells(block)["_missing"].all(axis=2).sum()) for block in selection.blocks())


class SelectionTotals:
    """What checks and notes need to know about all scores, gathered from blocks of systems."""

    def __init__(self, selection: ScoreSelection) -> None:
        tracks, metrics = selection.status.shape[1], len(selection.metrics)
        self._selection = selection
        self.shared: Bool = np.ones((tracks, metrics), dtype=np.bool_)
        """Scores that all systems have: bool (tracks, metrics)."""
        self.counting_everywhere: Bool = np.ones((tracks, metrics), dtype=np.bool_)
        """Scores that count for all systems: bool (tracks, metrics)."""
        self.counting: Bool = np.zeros((tracks, metrics), dtype=np.bool_)
        """Scores that count for any system: bool (tracks, metrics)."""
        self._lacking: Bool = np.zeros(metrics, dtype=np.bool_)
        self._incomplete: list[Bool] = []
        self.gaps = {"missing_cells": 0, "undefined_cells": 0}
        """Numbers of cells: a cell counts once, however many metrics it lacks."""
        self._empty = self._uncounted = 0
        systems = len(selection.status)
        self._added, self._lacks = np.zeros(systems, dtype=np.bool_), np.zeros(systems, dtype=np.int64)
        """Whether a system was added, and how many tracks it lacks."""
        self._lacking_systems, self._last = np.zeros(tracks, dtype=np.int64), np.zeros(tracks, dtype=np.int64)
        """Of each track, how many systems lack it, and the last of them."""
        self._values = {"some": False, "none": False}

    def add(self, cells: Mapping[str, Array], systems: slice | Int = slice(None)) -> None:
        """Add the scores of some systems, given by their places in the selection; each counts once."""
        missing, undefined = cells["_missing"], cells["_undefined"]
        self.shared &= ~missing.any(axis=0)
        self.counting_everywhere &= cells["_included"].all(axis=0)
        self.counting |= cells["_included"].any(axis=0)
        self._lacking |= missing.any(axis=(0, 1))
        incomplete = np.asarray(missing.any(axis=2))
        if self._selection.missing == "raise":
            self._incomplete.append(incomplete)
        place = np.arange(len(self._added))[systems]
        new: Bool = ~self._added[place]
        self._added[place] = True
        counted_cells = cells["_included"].any(axis=2)
        self._empty += int((counted_cells & (self._selection.status[place] == Status.empty_estimate))[new].sum())
        self._uncounted += int((incomplete & ~counted_cells)[new].sum())
        self._lacks[place] = incomplete.sum(axis=1)
        self._lacking_systems += incomplete[new].sum(axis=0)
        row, track = np.nonzero(incomplete)
        self._last[track] = place[row]
        gaps: dict[str, Bool] = {"missing_cells": incomplete, "undefined_cells": np.asarray(undefined.any(axis=2))}
        for name, cell in gaps.items():
            self.gaps[name] += int(cell[new].sum())
        valued = ~np.isnan(cells["score"][undefined])
        self._values["some"] |= bool(valued.any())
        self._values["none"] |= not valued.all()

    def check(self) -> dict[str, str]:
        """The policies as attributes, and which scores with nothing to measure are NaN.

        Raises `QueryError` if a policy does not allow what is missing, or an aggregate needs unknown durations.
        """
        selection = self._selection
        if selection.missing == "raise" and self._lacking.any():
            names = selection.names("system"), selection.names("track")
            raise QueryError(list_missing(*names, np.concatenate(self._incomplete), selection.status))
        if selection.missing == "zero":
            if STORES in selection.scores.attrs and (selection.status == Status.not_computed).any():
                raise QueryError(
                    "some systems and tracks are in different stores, so the weights of missing scores are "
                    "unknown; choose missing skip or common (--missing)"
                )
            for column, orientation in enumerate(selection.names("orientation")):
                if orientation == "lower" and self._lacking[column]:
                    raise QueryError(
                        f"metric {selection.names('metric')[column]!r}: lower is better, so a missing score "
                        "cannot count as 0; choose missing skip or common (--missing)"
                    )
        unknown = np.isnan(selection.duration) & self.counting.any(axis=1)
        lasting = [kind for kind in selection.aggregates if kind in OVER_DURATIONS]
        if lasting and unknown.any():
            track = selection.names("track")[int(np.flatnonzero(unknown)[0])]
            raise QueryError(
                f"aggregate {lasting[0]!r} needs the durations of the references, and that of track {track!r} is not "
                "known here; choose wcsr, or ask a store that holds `duration`"
            )
        attrs = {"missing": selection.missing, "undefined": selection.undefined}
        attrs |= {EMPTY_COUNTED: str(self._empty)} if self._empty else {}
        attrs |= {UNCOUNTED: str(self._uncounted)} if self._uncounted and selection.missing == "zero" else {}
        if selection.missing == "common" and len(self._added) > 1:
            # The system without which most tracks more would be common.
            alone = np.bincount(self._last[self._lacking_systems == 1], minlength=len(self._added))
            system, common = int(alone.argmax()), int((self._lacking_systems == 0).sum())
            if alone[system] >= max(_FEW, _SHARE * common):
                name, lacks = selection.names("system")[system], int(self._lacks[system])
                attrs[COSTLIEST] = f"{name} lacks {lacks}; without it {common + int(alone[system])} count"
        return attrs | ({VALUELESS: "some" if self._values["some"] else "all"} if self._values["none"] else {})


_SHOWN = 5


def list_missing(systems: Sequence[str], tracks: Sequence[str], missing: Bool, status: Status8) -> str:
    """List the cells (systems, tracks) without a score in a message with a remedy."""
    cells = np.argwhere(missing)
    lines = [
        f"  system {systems[s]!r}, track {tracks[t]!r}: {Status(int(status[s, t])).name}"
        for s, t in cells[:_SHOWN].tolist()
    ]
    if len(cells) > _SHOWN:
        lines.append(f"  and {len(cells) - _SHOWN} more")
    head = f"{len(cells)} of {counted(status.size, 'cell')} have no score; mend them"
    head += " or choose missing zero, skip or common (--missing)"
    return "\n".join([head, *lines])
