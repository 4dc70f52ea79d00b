"""The records of the hierarchy metrics, and the convention of the task."""

from __future__ import annotations

from types import MappingProxyType

from ..base.record import Metric, Parameter
from ..base.task import Convention, Task
from .cleaning import clean
from .scoring import score

_WINDOW = Parameter("window", 15.0, "s", help="how far around a frame others are compared", above=0.0)
_FRAME_SIZE = Parameter("frame_size", 0.1, "s", help="length of the frames; at most the window", above=0.0)
_BETA = Parameter("beta", 1.0, help="how many times as much recall counts as precision", least=0.0)
_MCFEE_2015 = "McFee, Nieto and Bello, Hierarchical evaluation of segment boundary detection, ISMIR 2015"
_MCFEE_2017 = "McFee et al., Evaluating hierarchical structure in music annotations, Frontiers in Psychology, 2017"

_PRECISION = "mean over frames of the share of the estimate's pairs of frames that the reference orders alike"
_RECALL = "mean over frames of the share of the reference's pairs of frames that the estimate orders alike"
_MEASURE = "harmonic mean of precision and recall"
_ORDERS = "seconds of frames around which the {} has two frames of {} rank"


def _metrics(
    name: str, title: str, keys: tuple[str, str, str], how: str, ranks: str, frames: tuple[Parameter, ...], source: str
) -> tuple[Metric, ...]:
    """Precision, recall and F-measure of one kind; `name` has a place for which of them it is."""
    estimate, reference = _ORDERS.format("estimate", ranks), _ORDERS.format("reference", ranks)
    both = "(beta^2 * recall's weight + precision's weight) / (1 + beta^2)"
    kinds = (
        ("precision", _PRECISION, estimate, frames),
        ("recall", _RECALL, reference, frames),
        ("measure", _MEASURE, both, (*frames, _BETA)),
    )
    return tuple(
        Metric(
            name.format(which),
            title.format(which),
            f"{summary}; {how}",
            weight,
            key=key,
            pooling="micro",
            perfect_exceptions=f"0 where no frame has two frames of {ranks} rank around it, as in a single segment",
            parameters=parameters,
            literature=source,
        )
        for key, (which, summary, weight, parameters) in zip(keys, kinds, strict=True)
    )


METRICS = (
    *_metrics(
        "t_{}_reduced",
        "T-{}, reduced",
        ("T-Precision reduced", "T-Recall reduced", "T-Measure reduced"),
        "frames are ranked by the deepest segment they share, and only neighbouring ranks are compared",
        "neighbouring",
        (_WINDOW, _FRAME_SIZE),
        _MCFEE_2015,
    ),
    *_metrics(
        "t_{}_full",
        "T-{}, full",
        ("T-Precision full", "T-Recall full", "T-Measure full"),
        "frames are ranked by the deepest segment they share, and all ranks are compared",
        "different",
        (_WINDOW, _FRAME_SIZE),
        _MCFEE_2015,
    ),
    *_metrics(
        "l_{}",
        "L-{}",
        ("L-Precision", "L-Recall", "L-Measure"),
        "frames are ranked by the deepest level on which their labels are equal",
        "different",
        (_FRAME_SIZE,),
        _MCFEE_2017,
    ),
)

MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: every level is padded to begin at 0, the estimate's also cut and padded to the reference's end",
    METRICS,
    clean,
    score,
)

TASK = Task(
    "hierarchy", "Hierarchical structure", MappingProxyType({MIR_EVAL.name: MIR_EVAL}), ("l_measure", "t_measure_full")
)
