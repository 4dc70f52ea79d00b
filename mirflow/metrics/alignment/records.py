"""The records of the alignment metrics, and the conventions of the task."""

from __future__ import annotations

from types import MappingProxyType

from ..base.record import Metric, Parameter, Pooling
from ..base.task import Convention, Task
from .cleaning import clean
from .evidence import evidence
from .scoring import SEGMENTS, score

_EVENTS = "number of events"


def _error(name: str, title: str, key: str, pooling: Pooling) -> Metric:
    return Metric(
        name,
        title,
        f"{title.split()[0].lower()} of the seconds between the two times of an event",
        _EVENTS,
        "events",
        key=key,
        range=(0.0, float("inf")),
        orientation="lower",
        unit="s",
        pooling=pooling,
        perfect=0.0,
        literature="Mauch, Fujihara and Goto, Lyrics-to-audio alignment and phrase-level segmentation, SMC 2010",
    )


METRICS = (
    Metric(
        "percentage_correct",
        "Percentage correct",
        "share of the events that lie within a window around their reference",
        _EVENTS,
        "events",
        key="pc",
        aliases=("PC", "percentage_of_correct_onsets"),
        parameters=(Parameter("window", 0.3, "s", least=0.0, help="largest distance that is correct"),),
        literature="Mauch, Fujihara and Goto, Lyrics-to-audio alignment and phrase-level segmentation, SMC 2010",
    ),
    _error("median_absolute_error", "Median absolute error", "mae", "none"),
    _error("mean_absolute_error", "Mean absolute error", "aae", "exact"),
    Metric(
        SEGMENTS,
        "Percentage of correct segments",
        "share of the time in which the segment between two events overlaps with its counterpart",
        "seconds from the first to the last event of the reference, or the duration",
        key="pcs",
        aliases=("PCS",),
        pooling="micro",
        perfect_exceptions="not defined where all events of the reference are at one time",
        parameters=(
            Parameter(
                "duration", 0.0, "s", least=0.0, help="length of the recordings; 0: from the first to the last event"
            ),
        ),
        literature="Fujihara et al., LyricSynchronizer, IEEE JSTSP 2011; MIREX 2020, lyrics-to-audio alignment",
    ),
    Metric(
        "karaoke_perceptual",
        "Karaoke perceptual metric",
        "mean of how synchronous listeners find the events: a skewed normal distribution over the offset",
        _EVENTS,
        "events",
        key="perceptual",
        range=(0.0, 1.0001),
        perfect=0.9606239680360236,
        literature="Lize-Masclef, Vaglio and Moussallam, User-centered evaluation of lyrics to audio alignment, 2021",
    ),
)

MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: the n-th event of the estimate belongs to the n-th of the reference",
    METRICS,
    clean,
    score,
    explain=evidence,
)

TASK = Task("alignment", "Alignment", MappingProxyType({MIR_EVAL.name: MIR_EVAL}), ("percentage_correct",))
