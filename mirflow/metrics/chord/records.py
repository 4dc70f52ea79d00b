"""The records of the chord metrics, and the conventions of the task."""

from __future__ import annotations

from types import MappingProxyType

from ..base.record import Metric, Parameter
from ..base.task import Convention, Task
from . import mirex2013
from .cleaning import clean, clean_unmerged
from .evidence import evidence, evidences
from .rules import RULES
from .scoring import GRIDS, score, score_unmerged
from .vocabularies import VOCABULARIES

_MIR_EVAL = "Raffel et al., mir_eval, ISMIR 2014"
_MCVICAR = "Pauwels and Peeters, Evaluating automatically estimated chord sequences, ICASSP 2013"
_HARTE = "Harte, PhD thesis, 2010, section 8.3.2; Mauch and Dixon, ISMIR 2010"
_UNDEFINED = "0 where every reference label is X"

_OF_RULE: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "thirds": ("Thirds", "same root and same kind of third", ()),
    "thirds_inv": ("Thirds with inversions", "same root, kind of third and bass", ()),
    "triads": ("Triads", "same root and same tones up to the fifth", ()),
    "triads_inv": ("Triads with inversions", "same root, tones up to the fifth and bass", ()),
    "tetrads": ("Tetrads", "same root and same tones within the octave", ()),
    "tetrads_inv": ("Tetrads with inversions", "same root, tones within the octave and bass", ()),
    "root": ("Root", "same root, or both no chord", ("ChordRoot",)),
    "mirex": ("MIREX 2010", "at least three pitch classes in common, or both no chord", ("ChordMIREX2010",)),
    "majmin": ("Major/minor", "same triad, where the reference is major, minor or no chord", ("MajMin",)),
    "majmin_inv": ("Major/minor with inversions", "as majmin, and the same bass", ("MajMinBass", "MajMinInv")),
    "sevenths": (
        "Sevenths",
        "same chord, where the reference is maj, min, maj7, 7, min7 or no chord",
        ("Sevenths", "7ths"),
    ),
    "sevenths_inv": ("Sevenths with inversions", "as sevenths, and the same bass", ("SeventhsBass", "SeventhsInv")),
}
_EXCEPTIONS = {
    "majmin": "0 where no reference label is a major or minor triad or no chord, such as an all-sus reference",
    "sevenths": "0 where no reference label is one of maj, min, maj7, 7, min7 and N, such as an all-dim reference",
    "mirex": "0 where every reference label is X or has fewer than three pitch classes, such as power chords",
}


def _of_rule(name: str) -> Metric:
    title, summary, aliases = _OF_RULE[name]
    return Metric(
        name,
        title,
        f"share of the comparable time on which the estimate is right: {summary}",
        "comparable seconds: reference segments inside the rule's vocabulary",
        key=name,
        aliases=aliases,
        standard_aggregate="wcsr",
        recall=True,
        perfect_exceptions=_EXCEPTIONS.get(name.removesuffix("_inv"), _UNDEFINED),
        literature=f"{_MIR_EVAL}; {_MCVICAR}",
    )


def _of_segmentation(name: str, title: str, summary: str, key: str = "", aliases: tuple[str, ...] = ()) -> Metric:
    return Metric(
        name,
        title,
        summary,
        "length of the reference",
        key=key,
        aliases=aliases,
        pooling="micro",
        standard_aggregate="mean",
        literature=_HARTE,
    )


_RULE = Parameter("rule", "majmin", choices=RULES, help="the comparison rule")


def _vocabulary(*names: str) -> Parameter:
    return Parameter("vocabulary", "majmin", choices=names, help="the classes that chords fall into")


_ON_REQUEST = (
    Metric(
        "csr",
        "Chord symbol recall",
        "share of the reference's whole length on which the estimate is right; what the rule cannot compare is wrong",
        "length of the reference",
        aliases=("CSR",),
        standard_aggregate="wcsr",
        recall=True,
        perfect=None,
        parameters=(_RULE,),
        default=False,
        literature="Harte, PhD thesis, 2010; equation 1 of Raffel et al., 2014; DECIBEL",
    ),
    Metric(
        "csr_framewise",
        "Frame-wise chord symbol recall",
        "share of all frames on which the estimate is right",
        "frames of the reference, in seconds",
        standard_aggregate="wcsr",
        recall=True,
        perfect=None,
        parameters=(_RULE, Parameter("hop", 0.01, "s", help="distance of the frames", above=0)),
        default=False,
        literature="MIREX audio chord estimation before 2013",
    ),
    Metric(
        "overlap_2008",
        "Overlap score over 25 classes",
        "share of the reference's length on which both sides are of the same of 25 classes: 24 triads and no chord",
        "length of the reference",
        standard_aggregate="mean",
        default=False,
        literature="equation 12 of Downie et al., The Music Information Retrieval Evaluation eXchange, 2010",
    ),
    Metric(
        "class_recall",
        "Class-averaged recall",
        "mean, over the chord qualities of the reference, of the share of their time on which the estimate is right",
        "number of chord qualities in the reference, no chord included",
        "qualities",
        aliases=("ACQA",),
        pooling="micro",
        perfect_exceptions="0 where no reference label is in the vocabulary",
        parameters=(_vocabulary("majmin", "triads", "sevenths", "tetrads"),),
        default=False,
        literature="Cho, Improved techniques for automatic chord recognition from music audio signals, 2014",
    ),
    Metric(
        "confusion",
        "Confusion matrix",
        "time by chord class of the reference and of the estimate",
        "none",
        unit="s",
        range=(0.0, float("inf")),
        orientation="none",
        pooling="none",
        perfect=None,
        parameters=(_vocabulary(*VOCABULARIES),),
        dims=("ref_class", "est_class"),
        default=False,
        literature="Burgoyne et al., A cross-validated study of modelling strategies, ISMIR 2007",
    ),
)

METRICS = (
    *(_of_rule(name) for name in RULES),
    _of_segmentation("underseg", "Under-segmentation", "1 - directional Hamming distance of the estimate", "underseg"),
    _of_segmentation("overseg", "Over-segmentation", "1 - directional Hamming distance of the reference", "overseg"),
    _of_segmentation("seg", "Segmentation", "the smaller of overseg and underseg", "seg", ("MeanSeg",)),
    *_ON_REQUEST,
)

_DECIBEL_METRICS = (
    Metric(
        "csr",
        "Chord symbol recall",
        "share of the comparable time on which the estimate is right, by rule majmin",
        "comparable seconds",
        aliases=("CSR",),
        standard_aggregate="wcsr_tn",
        recall=True,
        perfect_exceptions=_EXCEPTIONS["majmin"],
        literature="Odekerken, Koops and Volk, DECIBEL, ISMIR 2020",
    ),
    _of_segmentation(
        "undersegmentation",
        "Under-segmentation",
        "1 - directional Hamming distance of the estimate, equal neighbours not merged",
        aliases=("UnS",),
    ),
    _of_segmentation(
        "oversegmentation",
        "Over-segmentation",
        "1 - directional Hamming distance of the reference, equal neighbours not merged",
        aliases=("OvS",),
    ),
    _of_segmentation("segmentation", "Segmentation", "the smaller of the two", aliases=("Seg",)),
)

MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: the earlier label carries over a gap, extended chords are merged only for segmentation",
    METRICS,
    clean,
    score,
    GRIDS,
    explain=evidence,
    explain_many=evidences,
)
DECIBEL = Convention(
    "decibel",
    "DECIBEL: mir_eval's majmin, and segmentation in which neighbours with equal labels are not merged",
    _DECIBEL_METRICS,
    clean_unmerged,
    score_unmerged,
    GRIDS,
)

TASK = Task(
    "chord",
    "Chord estimation",
    MappingProxyType({one.name: one for one in (MIR_EVAL, DECIBEL, mirex2013.CONVENTION)}),
    ("majmin", "root"),
    {DECIBEL.name: ("csr",)},
)
