"""The records of the tempo metrics, and the conventions of the task."""

from __future__ import annotations

from types import MappingProxyType

from ..base.record import Metric, Parameter
from ..base.task import Convention, Task
from .cleaning import clean
from .evidence import evidence
from .scoring import score

_MCKINNEY = (
    "McKinney, Moelants, Davies and Klapuri, Evaluation of audio beat tracking and music tempo extraction algorithms, "
    "JNMR 2007; equation 8 of Downie et al., The Music Information Retrieval Evaluation eXchange, 2010"
)
_GOUYON = "Gouyon et al., An experimental comparison of audio tempo induction algorithms, IEEE TASLP 2006"
_SCHREIBER = "Schreiber, Urbano and Mueller, Music tempo estimation: are we done yet?, TISMIR 2020"
_TRACKS = "number of tracks with a tempo"


def _tol(default: float) -> tuple[Parameter, ...]:
    return (Parameter("tol", default, least=0.0, help="largest deviation, as a share of the reference"),)


def _of_two(
    name: str,
    title: str,
    summary: str,
    key: str,
    weight: str = _TRACKS,
    perfect: str = "",
    aliases: tuple[str, ...] = (),
) -> Metric:
    return Metric(
        name,
        title,
        summary,
        weight,
        "tracks",
        key=key,
        aliases=aliases,
        pooling="micro",
        perfect_exceptions=perfect,
        parameters=_tol(0.08),
        literature=_MCKINNEY,
    )


def _accuracy(name: str, title: str, summary: str, alias: str) -> Metric:
    return Metric(
        name,
        title,
        f"1 if the estimate lies within the tolerance of {summary}, of two tempi the more salient one on both sides",
        _TRACKS,
        "tracks",
        aliases=(alias,),
        pooling="micro",
        parameters=_tol(0.04),
        default=False,
        literature=_GOUYON,
    )


def _error(name: str, title: str, summary: str, aliases: tuple[str, ...], absolute: bool) -> Metric:
    return Metric(
        name,
        title,
        summary,
        _TRACKS,
        "tracks",
        aliases=aliases,
        range=(0.0 if absolute else float("-inf"), float("inf")),
        orientation="lower" if absolute else "none",
        unit="octaves",
        pooling="micro",
        perfect=0.0,
        default=False,
        literature=_SCHREIBER,
    )


_LEVELS = "times 1, 2, 1/2, 3 or 1/3, whichever is nearest"
METRICS = (
    _of_two(
        "p_score",
        "P-score",
        "share of the reference's salience that belongs to tempi the estimate has",
        "P-score",
        perfect="the other tempo's salience where one of the reference's two tempi is 0",
    ),
    _of_two("one_correct", "One correct", "1 if the estimate has at least one of the reference's tempi", "One-correct"),
    _of_two(
        "both_correct",
        "Both correct",
        "1 if the estimate has both tempi of the reference",
        "Both-correct",
        weight="number of tracks with two tempi",
        perfect="0 where the reference has one tempo",
    ),
    _accuracy("accuracy1", "Accuracy 1", "the reference", "Accuracy1"),
    _accuracy("accuracy2", "Accuracy 2", "the reference times 1, 2, 1/2, 3 or 1/3", "Accuracy2"),
    _error("oe1", "Octave error", "octaves from the reference up to the estimate", ("OE1", "OE"), absolute=False),
    _error("oe2", "Octave error 2", f"octaves up to the estimate {_LEVELS}", ("OE2",), absolute=False),
    _error("aoe1", "Absolute octave error", "octaves between the reference and the estimate", ("AOE1", "AOE"), True),
    _error(
        "aoe2", "Absolute octave error 2", f"octaves between the reference and the estimate {_LEVELS}", ("AOE2",), True
    ),
)

MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2, and the accuracies and octave errors of single tempi",
    METRICS,
    clean,
    score,
    explain=evidence,
)

TASK = Task("tempo", "Tempo estimation", MappingProxyType({MIR_EVAL.name: MIR_EVAL}), ("p_score",))
