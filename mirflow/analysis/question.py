"""A question to an evaluation: which figures, over which tracks, under which policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

Names = str | Sequence[str] | None


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
        Which ones; None: all.
    missing : {"raise", "zero", "skip", "common"} or None
        What is done about cells without a score. ``zero`` counts them as 0 with the weight of an empty estimate
        (tracks without a usable reference are left out all the same); ``common`` takes only tracks that every system
        of the question has. None: ``common`` where several systems are compared, else ``skip``.
    undefined : {"keep", "skip"}
        Whether scores with nothing to measure (weight 0) count with their stored value, usually 0.
    """

    metric: Names = None
    aggregate: str | None = None
    by: Names = None
    system: Names = None
    tracks: Names = None
    missing: str | None = None
    undefined: str = "keep"

    def policy(self, systems: int) -> str:
        """What is done about cells without a score where so many systems are compared."""
        return self.missing or ("common" if systems > 1 else "skip")


class Options(TypedDict, total=False):
    """The words of a :class:`Question` that are said by keyword."""

    system: Names
    tracks: Names
    missing: str | None
    undefined: str
