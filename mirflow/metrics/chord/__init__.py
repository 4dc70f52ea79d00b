"""Chord estimation: reference and estimate are labelled intervals, with labels in Harte's syntax.

The estimate is cropped and padded to the reference's span, both are cut at the boundaries of either side, and rules are
applied to each segment. The functions are those of ``mir_eval.chord``, with the same arguments, results and errors;
`TASK` holds the metrics of whole datasets.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2.
* ``decibel``: evaluation of DECIBEL: ``csr``, and ``undersegmentation``, ``oversegmentation`` and ``segmentation``
  without merging neighbours with equal labels.
* ``mirex2013``: the official scores of MIREX 2013: spelled degrees, a fixed vocabulary for each rule, gaps as no chord.
* ``madmom``: evaluation of madmom: chords, including ``X``, are reduced to triads and tetrads.

Metrics
-------
* ``root``, ``thirds``, ``thirds_inv``, ``triads``, ``triads_inv``, ``tetrads``, ``tetrads_inv``: share of the time in
  which chords agree up to the root, the third, the fifth or the octave; ``_inv`` also compares the bass.
* ``majmin``, ``majmin_inv``, ``sevenths``, ``sevenths_inv``: the same, on references of these vocabularies only.
* ``mirex``: share of the time with at least three pitch classes in common.
* ``underseg``, ``overseg``, ``seg``: segmentation, from directional Hamming distances.
* ``csr``, ``csr_framewise``, ``overlap_2008``, ``class_recall``, ``confusion``, on request: share of the whole
  reference, the same by frames, by the 25 classes of MIREX 2008, the mean over qualities, and seconds by class.
* In ``mirex2013``, additionally ``all_correct``, ``root_correct``, ``type_correct``, ``all_wrong``, ``deleted``,
  ``inserted``, ``correct_no_chord`` (shares of the time), ``n_reference_chords`` and ``n_estimate_chords``,
  ``undersegmentation``, ``oversegmentation`` and ``hamming_measure``.

References
----------
Harte, PhD thesis, 2010; Mauch and Dixon, ISMIR 2010; Pauwels and Peeters, ICASSP 2013; Raffel et al., mir_eval, ISMIR
2014; Burgoyne et al., ISMIR 2007; Cho 2014; Odekerken, Koops and Volk, DECIBEL, 2020.
"""

from typing import TYPE_CHECKING

from ...plugins import names_on_use
from ...theory.chords import EXTENDED_QUALITY_REDUX, QUALITIES
from ...theory.harte import (
    CHORD_RE,
    NO_CHORD,
    PITCH_CLASSES,
    SCALE_DEGREES,
    X_CHORD,
    InvalidChordException,
    pitch_class_to_semitone,
    scale_degree_to_semitone,
)
from ..base import Task, by_name
from ..constants import UNKNOWN_CHORDS
from .madmom import CONVENTION as MADMOM
from .metrics import DECIBEL, ERRORS, MIR_EVAL
from .mirex2013 import CONVENTION as MIREX2013

TASK = Task(
    "chord",
    "Chord estimation",
    by_name(MIR_EVAL, DECIBEL, MIREX2013, MADMOM),
    ("majmin", "root"),
    {DECIBEL.name: ("csr",)},
    errors=ERRORS,
    doubts=(UNKNOWN_CHORDS,),
)

if TYPE_CHECKING:
    from .labels import *
    from .mir_eval import *

__getattr__, __dir__ = names_on_use(__name__, "labels", "mir_eval")
__all__ = ["BITMAP_LENGTH", "CHORD_RE", "EXTENDED_QUALITY_REDUX", "NO_CHORD", "NO_CHORD_ENCODED", "PITCH_CLASSES"]
__all__ += ["QUALITIES", "SCALE_DEGREES", "TASK", "X_CHORD", "X_CHORD_ENCODED", "InvalidChordException"]
__all__ += ["directional_hamming_distance", "encode", "encode_many", "evaluate", "join", "majmin", "majmin_inv"]
__all__ += ["merge_chord_intervals", "mirex", "overseg", "pitch_class_to_semitone", "quality_to_bitmap"]
__all__ += ["reduce_extended_quality", "root", "rotate_bitmap_to_root", "rotate_bitmaps_to_roots"]
__all__ += ["scale_degree_to_bitmap", "scale_degree_to_semitone", "seg", "sevenths", "sevenths_inv", "split", "tetrads"]
__all__ += ["tetrads_inv", "thirds", "thirds_inv", "triads", "triads_inv", "underseg", "validate"]
__all__ += ["validate_chord_label", "weighted_accuracy"]
