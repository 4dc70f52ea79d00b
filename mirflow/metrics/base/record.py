"""The record of a metric: everything that docs, checks, stores, tables and tests need to know about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Value = float | int | str | bool
Pooling = Literal["exact", "micro", "none"]
Aggregate = Literal["mean", "median", "pooled", "wcsr", "wcsr_tn", "wcsr_total"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a metric.

    Parameters
    ----------
    name : str
    default : float, int, str or bool
        Its type is the parameter's type.
    unit : str
        Empty for pure numbers and names.
    choices : tuple
        Allowed values; empty: any.
    above, least : float or None
        A number must be greater than `above`, and at least `least`.
    help : str
        One line.
    """

    name: str
    default: Value
    unit: str = ""
    choices: tuple[Value, ...] = ()
    help: str = ""
    above: float | None = None
    least: float | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """The record of one metric.

    Parameters
    ----------
    name : str
        The name in pipelines, stores and on the command line.
    title : str
        For tables and figures.
    summary : str
        What it measures, in one line.
    weight : str
        What the weight is: the score's own denominator.
    weight_unit : str
        Unit of the weight, ``s`` or a counted thing.
    key : str
        The key in the result of mir_eval's ``evaluate``; empty if it has none.
    aliases : tuple of str
        Other names that mean the same.
    range : (float, float)
        Smallest and largest possible score; of scores that a parameter scales, such as points, at its default.
    orientation : {"higher", "lower", "none"}
        Which way is better.
    unit : str
        Unit of the score; empty for ratios.
    pooling : {"exact", "micro", "none"}
        Whether the weighted mean over tracks is the collection as one long file, a meaningful ratio but not that, or
        not allowed.
    standard_aggregate : str
        The aggregate that the field reports.
    recall : bool
        Whether it is a chord symbol recall, for which the weighted recalls (``wcsr`` and its kin) are defined.
    perfect : float or None
        The score of a reference against itself; None where it is not fixed.
    perfect_exceptions : str
        When a reference against itself scores otherwise.
    parameters : tuple of Parameter
        The first is the primary one, written after ``@``.
    dims : tuple of str
        Extra dims of the result, for metrics that are not one number; they are stored as sibling variables.
    default : bool
        Whether a pipeline that names no metrics computes it.
    literature : str
        Where it is defined.
    version : int
        Raised when its numbers change; stored scores of another version are computed again.
    nominal : bool
        Whether its numbers are names, such as which source stands where, that nothing can be made of over tracks.
    """

    name: str
    title: str
    summary: str
    weight: str
    weight_unit: str = "s"
    key: str = ""
    aliases: tuple[str, ...] = ()
    range: tuple[float, float] = (0.0, 1.0)
    orientation: Literal["higher", "lower", "none"] = "higher"
    unit: str = ""
    pooling: Pooling = "exact"
    standard_aggregate: Aggregate = "mean"
    recall: bool = False
    perfect: float | None = 1.0
    perfect_exceptions: str = ""
    parameters: tuple[Parameter, ...] = ()
    dims: tuple[str, ...] = ()
    default: bool = True
    literature: str = ""
    version: int = 1
    nominal: bool = False

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates that make sense for it."""
        allowed: list[Aggregate] = ["mean", "median"]
        if self.pooling != "none":
            allowed.append("pooled")
        if self.recall:
            allowed += ["wcsr", "wcsr_tn", "wcsr_total"]
        return tuple(allowed)
