"""Lyrics beside jiwer: generated songs, the numbers compared first, both sides in one process.

Run it with ``python benchmarks/lyrics.py [NUMBER OF SONGS]``. alt-eval is beside it where it is installed, which wants
an old sacremoses.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import sys
from importlib.util import find_spec

import jiwer
import numpy as np
from race import race

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.metrics.base import Pairs, get_task

NAMES = ["word_error_rate", "match_error_rate", "word_information_lost", "character_error_rate"]
MARKS = [f"{mark}_{ratio}" for mark in ("punctuation", "line_break") for ratio in ("precision", "recall", "f_measure")]


def generate(count: int) -> list[tuple[str, str]]:
    """Songs of 40 lines of 7 words, of which systems get four fifths right."""
    rng = np.random.default_rng(3)
    ends = ("ve", "ver", "ng", "t,")
    words = [f"{begin}{end}" for begin in ("lo", "ri", "so", "wai", "ha", "Mo") for end in ends]
    songs = []
    for _ in range(count):
        sung = rng.choice(words, (40, 7))
        heard = np.where(rng.random(sung.shape) < 0.8, sung, rng.choice([*words, ""], sung.shape))
        songs.append(tuple("\n".join(" ".join(filter(None, line)) for line in side) for side in (sung, heard)))
    return songs


def ours(songs: list[tuple[str, str]], convention: str, names: list[str]) -> np.ndarray:
    rules, row = get_task("lyrics").convention(convention), np.arange(len(songs))
    texts = ([Annotation("text", {}, text.split("\n")) for text in side] for side in zip(*songs, strict=True))
    cleaned = [rules.clean(to_ragged(side)).rows for side in texts]
    return rules.score(Pairs(*cleaned, row, row), rules.select(names)).score


def theirs(songs: list[tuple[str, str]]) -> np.ndarray:
    found = []
    for reference, estimate in songs:
        one = jiwer.process_words(reference, estimate)
        found.append([one.wer, one.mer, one.wil, jiwer.cer(reference, estimate)])
    return np.array(found)


def main() -> None:
    songs = generate(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    race(
        f"{len(songs)} songs, {len(NAMES)} metrics", lambda: ours(songs, "jiwer", NAMES), lambda: theirs(songs), "jiwer"
    )
    race(
        "the same songs one by one",
        lambda: np.array([ours([song], "jiwer", NAMES)[0] for song in songs]),
        lambda: theirs(songs),
        "jiwer",
    )
    if find_spec("alt_eval") is not None:
        import alt_eval

        keys = ["WER", "MER", "WIL", "P_punc", "R_punc", "F1_punc", "P_line", "R_line", "F1_line"]

        def evaluate() -> np.ndarray:
            scores = [alt_eval.compute_metrics([one], [other]) for one, other in songs]
            return np.array([[score[key] for key in keys] for score in scores])

        race(
            f"{len(songs)} songs, {len(keys)} metrics",
            lambda: ours(songs, "alt_eval", [*NAMES[:3], *MARKS]),
            evaluate,
            "alt-eval",
        )


if __name__ == "__main__":
    main()
