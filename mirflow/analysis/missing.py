"""Missing and undefined scores: which scores count under a policy, and the reasons for those that are missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import UnknownNameError, without_values
from ..ragged import Bool, Float
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
from .query_options import MISSING, UNDEFINED
from .scores import Scores, cell_texts, computed, names_of, states_of

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Gaps:
    """Missing and undefined scores among (systems, tracks, metrics)."""

    missing: Bool
    """bool (systems, tracks, metrics). No score: the cell was not scored, or the score is NaN although there was
    something to measure."""
    undefined: Bool
    """bool (systems, tracks, metrics). Scored, but with weight 0: there was nothing to measure."""
    without_reference: Bool
    """Missing because the track has no usable reference, for any system: bool (systems, tracks)."""


def has_score(status: npt.NDArray[np.int8]) -> Bool:
    """Mark the cells of a status with scores."""
    mask: Bool = np.zeros(status.shape, dtype=np.bool_)
    for one in SCORED:  # `np.isin` would take nine bytes for each cell
        mask |= status == one
    return mask


def find_gaps(score: Float, weight: Float, status: npt.NDArray[np.int8], bare: Bool | None = None) -> Gaps:
    """Find missing and undefined scores.

    `score`, `weight` (float64 (systems, tracks, metrics)), `status` (int8 (systems, tracks)): values of
    :class:`mirflow.store.cells.Status`. `bare` (bool (systems, tracks) or None): further cells without a usable
    reference: those without a score whose references have neither a duration nor a weight by any metric of the
    evaluation, not only by these; the policy ``zero`` leaves them out.

    Examples
    --------
    >>> score, weight = np.array([[[1.0], [np.nan], [0.0]]]), np.array([[[9.0], [9.0], [0.0]]])
    >>> status = np.array([[Status.ok, Status.missing_estimate, Status.ok]], dtype=np.int8)
    >>> gaps = find_gaps(score, weight, status)
    >>> gaps.missing.ravel().tolist(), gaps.undefined.ravel().tolist()
    ([False, True, False], [False, False, True])
    """
    nothing = weight == 0
    missing = ~has_score(status)[..., np.newaxis] | (np.isnan(score) & ~nothing)
    without: Bool = status == Status.missing_reference
    return Gaps(missing, nothing & ~missing, without if bare is None else without | bare)


def included_scores(
    score: Float, weight: Float, gaps: Gaps, missing: str, undefined: str, shared: Bool | None = None
) -> tuple[Float, Bool]:
    """The scores to aggregate and which of them count.

    `score`, `weight` (float64 (systems, tracks, metrics)), `missing` ({"raise", "zero", "skip", "common"}): ``raise``
    counts like ``skip``: the caller has raised an error before if anything is missing. `undefined` ({"keep", "skip"}),
    `shared` (bool (tracks, metrics) or None): the scores that count under ``common``; None: those that all of these
    systems have. Returns `score` (float64 (systems, tracks, metrics)), `included` (bool (systems, tracks, metrics)): a
    score of NaN never counts.
    """
    have = ~gaps.missing
    if missing == "common":
        have &= have.all(axis=0) if shared is None else shared
    elif missing == "zero":
        score = np.where(gaps.missing, 0.0, score)
        have |= ~gaps.without_reference[..., np.newaxis]
    if undefined == "skip":
        have &= weight != 0
    return score, have & ~np.isnan(score)


def are_apart(attrs: Mapping[str, object], status: npt.NDArray[np.int8]) -> bool:
    """True if an evaluation of several stores has no track that all systems (systems, tracks) were run on."""
    return "stores" in attrs and not (status != Status.not_computed).all(axis=0).any()


def check_policies(missing: str, undefined: str) -> None:
    """Raise an UnknownNameError for an unknown policy."""
    if missing not in MISSING:
        raise UnknownNameError("policy for missing scores", missing, MISSING)
    if undefined not in UNDEFINED:
        raise UnknownNameError("policy for undefined scores", undefined, UNDEFINED)


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
        if not self.status.scored:
            return "no"
        return "partly" if self.status == Status.ok and self.kind == "reason" else "yes"

    @property
    def cause(self) -> str:
        """The message without the names of systems, tracks and files, and without values: equal for one cause."""
        named = self.message
        for name in {self.system, self.track}:
            bare = re.escape(name)
            # Not wherever it stands: a track may be called as a word of the message is.
            named = re.sub(rf"^(reference|estimate) [^:]*{bare}:", "", named)  # in memory
            named = re.sub(rf"(?<=[/\\\[]){bare}(?!\w)|(?<!\w){bare}(?=\.\w)|{re.escape(repr(name))}", "", named)
        return f"{self.status.name}: {self.kind}: {without_values(_FILE.sub('', named))}"


def find_problems(ds: Scores) -> list[CellProblem]:
    """List the remarks on all cells, system by system."""
    status, messages = states_of(computed(ds))[0], cell_texts(ds, "message")
    lacking = np.isin(status, [int(one) for one in FAILED | EMPTY])
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
    systems = dict.fromkeys(one["system"] for one in ds.attrs.get(WARNINGS, ()))
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
    """Problems of the same cause together, the most frequent cause first."""
    causes: dict[str, list[CellProblem]] = {}
    for problem in problems:
        causes.setdefault(problem.cause, []).append(problem)
    return sorted(causes.values(), key=len, reverse=True)


def count_cells(problems: Iterable[CellProblem]) -> int:
    """Number of the cells of an evaluation that problems are about."""
    return len({(problem.system, problem.track) for problem in problems})
