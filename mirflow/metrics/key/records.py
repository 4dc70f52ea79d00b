"""The records of the key metrics, and the conventions of the task."""

from __future__ import annotations

from types import MappingProxyType

from ..base.record import Metric, Parameter
from ..base.task import Convention, Task
from .cleaning import clean
from .evidence import evidence
from .pair import POINTS
from .scoring import score

_DOWNIE = (
    "equation 3 of Downie et al., The Music Information Retrieval Evaluation eXchange, 2010; "
    "Raffel et al., mir_eval, ISMIR 2014"
)
_TRACKS = "number of tracks with a key"
_NEAR = {
    "fifth": ("Fifth", "1 if the estimate lies a perfect fifth from the reference, in the same mode"),
    "relative": ("Relative", "1 if the estimate is the relative major or minor of the reference"),
    "parallel": ("Parallel", "1 if the estimate has the tonic of the reference in another mode"),
    "other": ("Other", "1 if the estimate is wrong and not near"),
}


def _descending(allowed: bool) -> Parameter:
    return Parameter("allow_descending_fifths", allowed, help="whether a fifth below the reference is a fifth, too")


def _metrics(descending: bool, *, shares: bool) -> tuple[Metric, ...]:
    """The metrics of a convention; the shares of the classes are computed unasked where `shares` says so."""
    points = tuple(Parameter(name, value, least=0.0, help=f"points for class {name}") for name, value in POINTS.items())
    weighted = Metric(
        "weighted_score",
        "Weighted score",
        "1 point for the right key, fewer for one that is nearly right",
        _TRACKS,
        "tracks",
        key="Weighted Score",
        aliases=("hierarchical_accuracy", "WeightedKeyScore"),
        pooling="micro",
        parameters=(_descending(descending), *points),
        literature=_DOWNIE,
    )
    return (weighted, _same(shares), *(_near(name, descending, default=shares) for name in _NEAR))


def _same(default: bool) -> Metric:
    return Metric(
        "same",
        "Same key",
        "1 if the estimate is the key of the reference, in whatever spelling",
        _TRACKS,
        "tracks",
        aliases=("correct", "accuracy"),
        pooling="micro",
        default=default,
        literature=_DOWNIE,
    )


def _near(name: str, descending: bool, *, default: bool) -> Metric:
    title, summary = _NEAR[name]
    return Metric(
        name,
        title,
        summary,
        _TRACKS,
        "tracks",
        orientation="lower" if name == "other" else "none",
        pooling="micro",
        perfect=0.0,
        parameters=(_descending(descending),) if name in ("fifth", "other") else (),
        default=default,
        literature=_DOWNIE,
    )


def _convention(name: str, summary: str, descending: bool, *, shares: bool) -> Convention:
    return Convention(name, summary, _metrics(descending, shares=shares), clean, score, explain=evidence)


_CONVENTIONS = (
    _convention("mir_eval", "mir_eval 0.8.2: of the fifths only the ascending one is near", False, shares=False),
    _convention("mirex2005", "MIREX until 2016: as mir_eval, with the shares of all classes", False, shares=True),
    _convention("mirex2017", "MIREX since 2017: fifths in both directions are near", True, shares=True),
)

TASK = Task("key", "Key estimation", MappingProxyType({one.name: one for one in _CONVENTIONS}), ("weighted_score",))
