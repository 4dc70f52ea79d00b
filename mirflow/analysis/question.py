"""A question to an evaluation: which figures, over which tracks, under which policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from ..metrics.base.arguments import refuse_unknown

Names = str | Sequence[str] | None
Parameters = Mapping[str, object] | None
Reductions = Mapping[str, str] | None
BEST, NAME, STORED = ORDERS = ("best", "name", "stored")
"""Orders of systems that are no metrics."""


@dataclass(frozen=True)
class Question:
    """What is asked; every way to ask takes the same words.

    Parameters
    ----------
    metric : str, sequence of str or None
        Names of metrics: a bare name or an alias for all its stored parameters (where one metric is needed: for the
        default ones), an identity with parameters for these; None: all that are one number. A metric with extra dims,
        such as a confusion matrix, is asked for alone.
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
        of the question has. None: ``common`` where several systems are compared, else ``skip``; also ``skip`` where
        systems of several stores have no track in common.
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
        over tracks: ``{"frame": "median", "source": "mean"}``, or which label to take, ``{"source": "vocals"}``. What
        names a reduction is one, even if a label is called so too. Where no dim is left, the metric is one number a
        track, and everything that is asked of scores can be asked of it.
    across : mapping of str to str or sequence of str, or None
        What to do across the figures of groups (of `by`), classes or tags, after everything else, in this order:
        ``{"class": "mean"}``, ``{"fold": "mean,std"}``. Besides the words of `over` there is ``std``, the standard
        deviation of a sample.
    sort : str or None
        The order of the systems: a metric, the best first by its figure over all tracks of the question, ``best``, the
        best first by the first metric of the answer, or ``name``. None or ``stored``: as they are stored, or as they
        were named.
    exact : bool
        The metrics are identities as they are stored; a bare one stands for the default parameters alone.
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
    across: Mapping[str, str | Sequence[str]] | None = None
    exact: bool = False

    def policy(self, systems: int, *, apart: bool = False) -> str:
        """What is done about cells without a score where so many systems are compared, perhaps on different tracks."""
        return self.missing or ("common" if systems > 1 and not apart else "skip")


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
    across: Mapping[str, str | Sequence[str]] | None


def make_question(
    function: str, metric: Names = None, aggregate: str | None = None, by: Names = None, **options: Unpack[Options]
) -> Question:
    """A question from the arguments of a function of that name.

    Raises
    ------
    TypeError
        For a word that is none of a question's, with the nearest one.

    Examples
    --------
    >>> make_question("query", "majmin", wher="year < 1980")
    Traceback (most recent call last):
        ...
    TypeError: query() got an unexpected keyword argument 'wher'; did you mean 'where'?
    """
    refuse_unknown(function, options, [*Options.__annotations__, "metric", "aggregate", "by", "group"])
    return Question(metric, aggregate, by, **options)
