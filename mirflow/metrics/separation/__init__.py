"""Source separation: reference and estimate are the recorded sources of a track, as signals.

The functions are those of ``mir_eval.separation``, with the same arguments, results and errors; `TASK` holds the
metrics of whole datasets, which read audio piece by piece.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2: means over the sources of a track, with the best permutation of the estimates.
* ``museval``: museval 0.4.1, BSS Eval v4: images, one set of filters per track, medians over frames of 1 s.
* ``mdx``: the Music and Sound Demixing Challenges: ratios of whole tracks.

Metrics
-------
* ``sdr``, ``sir``, ``sar`` (`bss_eval_sources`): ratios to distortion, interference and artifacts, in dB; ``museval``
  adds ``isr``.
* ``image_sdr``, ``image_isr``, ``image_sir``, ``image_sar`` (`bss_eval_images`): the same for spatial images.
* ``si_sdr``: scale-invariant ratio of signal to distortion.
* ``usdr``: ratio of signal to difference in the whole track (MDX, SDX); on request in other conventions.
* ``mrstft``, on request: multi-resolution STFT distance.
* ``source_sdr``, ``frame_sdr`` and others, ``source_permutation``, on request: by source and by frame.

References
----------
Vincent, Gribonval and Févotte, Performance measurement in blind audio source separation, 2006; Vincent et al. 2012; Le
Roux et al., SDR: half-baked or well done?, ICASSP 2019; Stöter, Liutkus and Ito 2018; Mitsufuji et al., Music Demixing
Challenge 2021, 2022; Yamamoto, Song and Kim, Parallel WaveGAN, ICASSP 2020.
"""

from typing import TYPE_CHECKING

from ...lazy_modules import names_on_use
from .kernel import MAX_SOURCES
from .metrics import TASK

if TYPE_CHECKING:
    from .mir_eval import (
        bss_eval_images,
        bss_eval_images_framewise,
        bss_eval_sources,
        bss_eval_sources_framewise,
        evaluate,
        mrstft,
        si_sdr,
        usdr,
        validate,
    )

__getattr__, __dir__ = names_on_use(__name__, "mir_eval")
__all__ = [
    "MAX_SOURCES",
    "TASK",
    "bss_eval_images",
    "bss_eval_images_framewise",
    "bss_eval_sources",
    "bss_eval_sources_framewise",
    "evaluate",
    "mrstft",
    "si_sdr",
    "usdr",
    "validate",
]
