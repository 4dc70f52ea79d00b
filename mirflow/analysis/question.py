"""A question to an evaluation: which figures, over which tracks, under which policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

Names = str | Sequence[str] | None
Parameters = Mapping[str, object] | None
Reductions = Mapping[str, str] | None


@dataclass(frozen=True)
class Question:
    """What is asked; every way to ask takes the same words.

    Parameters
    ----------
    metric : str, sequence of str or None
        Identities, aliases or bare names of metrics; None: all that are one number. A metric with extra dims, such as
        a confusion matrix, is asked for alone.
    aggregate : {"mean", "median", "pooled", "wcsr", "wcsr_tn", "wcsr_total", "sum"} or None
        None: each metric's standard one. Without a `metric`, those metrics answer for which it is defined. Metrics
        with extra dims have ``sum`` (their standard one) and ``mean``, and no other metric has ``sum``.
    by : str, sequence of str or None
        Coordinates along ``track`` whose values make groups; each becomes a dim of the answer. ``track`` itself gives
        the single tracks, ``annotator`` each annotator of an evaluation that keeps their scores.
    system, tracks : str, sequence of str or None
        Which ones, by name or by patterns with ``*``, ``?`` and ``[...]``; None: all.
    missing : {"raise", "zero", "skip", "common"} or None
        What is done about cells without a score. ``zero`` counts them as 0 with the weight of an empty estimate
        (tracks without a usable reference are left out all the same); ``common`` takes only tracks that every system
        of the question has. None: ``common`` where several systems are compared, else ``skip``.
    undefined : {"keep", "skip"}
        Whether scores with nothing to measure (weight 0) count with their stored value, usually 0.
    where : str or None
        Only tracks for which an expression over their coordinates holds, such as ``genre == 'Rock' and year < 1980``:
        see :func:`mirflow.analysis.where.holds`. ``track`` is the track's name, ``duration`` that of its reference in
        seconds.
    annotator : str, sequence of str or None
        Only the scores against these annotators, of an evaluation that keeps the scores of each.
    param : mapping of str to value or sequence of values, or None
        Only metrics with these parameters: ``{"window": 0.05}``.
    over : mapping of str to str, or None
        Of a metric with extra dims: what to do along some of them in each track, in this order, before anything is done
        over tracks: ``{"frame": "median", "source": "mean"}``.
    sort : str or None
        The order of the systems: a metric, the best first by its figure over all tracks of the question, or ``name``.
        None: as they are stored, or as they were named.
    """

    metric: Names = None
    aggregate: str | None = None
    by: Names = None
    system: Names = None
    tracks: Names = None
    missing: str | None = None
    undefined: str = "keep"
    where: str | None = None
    annotator: Names = None
    param: Parameters = None
    over: Reductions = None
    sort: str | None = None

    def policy(self, systems: int) -> str:
        """What is done about cells without a score where so many systems are compared."""
        return self.missing or ("common" if systems > 1 else "skip")


class Options(TypedDict, total=False):
    """The words of a :class:`Question` that are said by keyword."""

    system: Names
    tracks: Names
    missing: str | None
    undefined: str
    where: str | None
    annotator: Names
    param: Parameters
    over: Reductions
    sort: str | None
