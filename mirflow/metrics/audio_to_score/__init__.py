"""Audio-to-score transcription: reference and estimate are notations, with notes in voices, meter, keys and chords.

`evaluate` scores one pair of texts in the format of MV2H; `TASK` holds the metrics of whole datasets.

Conventions
-----------
* ``mv2h`` (default): McLeod and Steedman 2018: the estimate uses the times of the recording.
* ``mv2h_unaligned``: McLeod 2019: scores are aligned first, as their tempi differ.
* ``mv2h_program``: the same, with the results of the program.

Metrics
-------
* ``multipitch``, ``voice``, ``meter``, ``value``, ``harmony``: notes, their voices, bars and beats, notated durations,
  keys and chords.
* ``mv2h``: the mean of the five.

References
----------
McLeod and Steedman, Evaluating automatic polyphonic music transcription, ISMIR 2018; McLeod, Evaluating non-aligned
musical score transcriptions with MV2H, arXiv:1906.00566, 2019.
"""

from .metrics import FUNCTIONS, TASK, evaluate

__all__ = ["TASK", "evaluate"]

globals().update(FUNCTIONS)
