"""Lyrics: numbers of alt-eval and jiwer, a plain implementation of edit distances, and every door."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.errors import AnnotationError, MetricError, MirflowWarning, UnknownNameError
from mirflow.metrics import lyrics

ORACLE = "07_lyrics"
KEYS = {
    "WER": "word_error_rate",
    "MER": "match_error_rate",
    "WIL": "word_information_lost",
    "ER_case": "case_error_rate",
    "WER_case": "case_sensitive_word_error_rate",
    **{
        f"{short}_{part}": f"{mark}_{ratio}"
        for part, mark in zip(
            ("punc", "pare", "line", "sect"), ("punctuation", "parenthesis", "line_break", "section_break"), strict=True
        )
        for short, ratio in (("P", "precision"), ("R", "recall"), ("F1", "f_measure"))
    },
}
"""alt-eval's names, and ours."""


def test_every_number_of_alt_eval_and_jiwer(oracle: Path, expected: dict[str, Any]) -> None:
    for name, pair in expected["pairs"].items():
        texts = ((oracle / pair[side]).read_text(encoding="utf-8") for side in ("ref", "est"))
        compare_with_alt_eval(name, pair, *texts)


def compare_with_alt_eval(name: str, expected: dict[str, Any], reference: str, estimate: str) -> None:
    found = lyrics.evaluate(reference, estimate, "alt_eval", language=expected["language"])
    numbers = expected["metrics"]
    if "exception" in numbers:  # alt-eval divides by the number of words
        assert all(math.isnan(found[f"{rate}_rate"]) for rate in ("word_error", "case_error", "insertion")), name
        assert found["match_error_rate"] == pytest.approx(1 if expected["words_est"] else math.nan, nan_ok=True), name
        raw = lyrics.evaluate(reference, estimate, "jiwer")
        assert raw["word_error_rate"] == expected["jiwer_wer(raw text, jiwer default transform)"], name
        assert raw["character_error_rate"] == expected["jiwer_cer(raw text, jiwer default transform)"], name
        return
    for key, metric in KEYS.items():
        assert found[metric] == pytest.approx(float(numbers[key]), abs=1e-12, nan_ok=True), (name, key)
    words = len(expected["words_ref"].split(" "))
    for edit in ("substitution", "deletion", "insertion"):
        assert found[f"{edit}_rate"] * words == pytest.approx(numbers[f"{edit}s"], abs=1e-9), (name, edit)
    raw = lyrics.evaluate(reference, estimate, "jiwer")
    written = lyrics.evaluate(reference, lyrics.normalize_lyrics(estimate), "alt_eval", language=expected["language"])
    after = expected["metrics_after_normalize_lyrics(est only)"]
    for key, metric in KEYS.items():
        assert written[metric] == pytest.approx(float(after[key]), abs=1e-12, nan_ok=True), (name, key)
    for key in expected.keys() & JIWER.keys():
        scores = raw if "raw text" in key else found
        assert scores[JIWER[key]] == pytest.approx(expected[key], abs=1e-12), (name, key)


JIWER = {
    "jiwer_wer(raw text, jiwer default transform)": "word_error_rate",
    "jiwer_cer(raw text, jiwer default transform)": "character_error_rate",
    "jiwer_cer(words joined by one blank, lower case; NOT part of alt-eval)": "character_error_rate",
}


def distance(one: list[str] | str, other: list[str] | str) -> int:
    """The fewest edits, cell by cell."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


lines = st.lists(st.sampled_from(("oh", "Oh", "my", "love", "you")), min_size=1, max_size=5).map(" ".join)
songs = st.lists(lines | st.just(""), max_size=4).map("\n".join)


@given(songs, songs)
def test_rates_are_edits_over_what_the_reference_has(reference: str, estimate: str) -> None:
    found = lyrics.evaluate(reference, estimate)
    words, given_ = reference.lower().split(), estimate.lower().split()
    if not words:
        assert all(math.isnan(found[f"{rate}_rate"]) for rate in ("word_error", "character_error", "insertion"))
        assert found["match_error_rate"] == pytest.approx(1 if given_ else math.nan, nan_ok=True)
        raw = lyrics.evaluate(reference, estimate, "jiwer")
        if not reference.strip(" ") and not estimate.strip(" "):
            assert (raw["word_error_rate"], raw["match_error_rate"], raw["word_information_lost"]) == (0, 0, 0)
        return
    errors = distance(words, given_)
    assert found["word_error_rate"] == pytest.approx(errors / len(words), abs=1e-12)
    parts = sum(found[f"{edit}_rate"] for edit in ("substitution", "deletion", "insertion"))
    assert parts == pytest.approx(found["word_error_rate"], abs=1e-12)
    inserted = round(found["insertion_rate"] * len(words))
    deleted = round(found["deletion_rate"] * len(words))
    assert len(words) - deleted + inserted == len(given_)
    assert found["match_error_rate"] == pytest.approx(errors / (len(words) + inserted), abs=1e-12)
    hits = len(words) - deleted - round(found["substitution_rate"] * len(words))
    preserved = hits * hits / (len(words) * max(len(given_), 1))
    assert found["word_information_lost"] == pytest.approx(1 - preserved, abs=1e-12)
    characters = " ".join(words)
    edits = distance(characters, " ".join(given_))
    assert found["character_error_rate"] == pytest.approx(edits / len(characters), abs=1e-12)
    wrong_case = found["case_sensitive_word_error_rate"] - found["word_error_rate"]
    assert wrong_case == pytest.approx(found["case_error_rate"], abs=1e-12)


@settings(max_examples=30)
@given(st.lists(st.tuples(songs, songs), min_size=1, max_size=6))
def test_pooled_rates_add_up_the_edits_of_all_songs(pairs: list[tuple[str, str]]) -> None:
    """As jiwer does for a list of texts: songs without words count by what was inserted there."""
    counts = [(len(one.lower().split()), distance(one.lower().split(), two.lower().split())) for one, two in pairs]
    words, errors = np.array(counts).sum(axis=0).tolist()
    tracks = {f"t{number}": pair for number, pair in enumerate(pairs)}
    sides = [{name: pair[side].split("\n") for name, pair in tracks.items()} for side in (0, 1)]
    scores = mirflow.score(*sides, "lyrics", metrics=["word_error_rate"])
    value = scores.mirflow.query("word_error_rate", "pooled")["value"].item()
    assert value == pytest.approx(errors / words if words else math.nan, abs=1e-12, nan_ok=True)


def test_breaks_are_aligned_with_the_words_around_them() -> None:
    found = lyrics.evaluate("oh my love\nwait for me\n\ndon't go", "oh my\nlove\nwait for me\n\n\ndon't go")
    assert found["line_break_precision"] == pytest.approx(2 / 3)
    assert found["line_break_recall"] == 1
    assert found["section_break_f_measure"] == 1
    assert found["word_error_rate"] == 0


def test_functions_have_the_names_of_the_metrics() -> None:
    assert lyrics.word_error_rate("oh my love", "oh my") == pytest.approx(1 / 3)
    assert lyrics.line_break_recall("oh\nmy", ["oh my"]) == 0
    assert lyrics.punctuation_recall("oh, my!", "oh my!") == 0.5


def test_words_depend_on_the_language() -> None:
    assert lyrics.evaluate("l'eau", "l' eau", "alt_eval", language="fr")["word_error_rate"] == 0
    assert lyrics.evaluate("l'eau", "l' eau", "alt_eval", language="fr-CA")["word_error_rate"] == 0
    assert lyrics.evaluate("geht's", "geht 's", "alt_eval", language="German")["word_error_rate"] == 0
    assert lyrics.evaluate("geht's", "geht 's", "alt_eval", language="es")["word_error_rate"] == 2
    assert lyrics.evaluate("\u4f60\u597d", "\u4f60\u4e0d", "alt_eval", language="zh")["word_error_rate"] == 0.5


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(AnnotationError, match="estimate: expected a line of text, got 7"):
        lyrics.evaluate("oh", ["oh", 7])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="langage"):
        lyrics.evaluate("oh", "oh", langage="en")
    with pytest.raises(MetricError, match="does not judge words one by one"):
        mirflow.explain("oh", "oh", "character_error_rate", "lyrics")


def test_the_package_of_tokens_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from mirflow.metrics.lyrics import kernel as tokens

    tokens._expressions.cache_clear()
    monkeypatch.setitem(sys.modules, "regex", None)
    with pytest.raises(MetricError, match=r"needs sacremoses: pip install 'mirflow\[lyrics\]'"):
        lyrics.evaluate("oh", "oh", "alt_eval")


def test_songs_in_memory_have_pooled_rates_and_evidence() -> None:
    references = {"a": "Oh my love", "b": ["wait", "for me my dear"]}
    scores = mirflow.score(references, {"a": "oh dove", "b": "wait\nfor me my dear"}, "lyrics")
    weights = scores["weight"].sel(metric="word_error_rate").values.ravel()
    rates = scores["score"].sel(metric="word_error_rate").values.ravel()
    assert weights.tolist() == [3, 5]
    assert (rates * weights).sum() == pytest.approx(2)
    sides = ({"label": text, "language": "fr"} for text in ("l' eau", "l'eau"))
    french = mirflow.evaluate(*sides, "lyrics", convention="alt_eval")
    assert float(french["score"].sel(metric="word_error_rate").squeeze()) == 0
    evidence = mirflow.explain("Oh my love", "oh dove dear", "case_sensitive_word_error_rate", "lyrics")
    rows = list(zip(*(evidence[name].values.tolist() for name in ("reference", "estimate", "verdict")), strict=True))
    assert rows == [("Oh", "oh", "case"), ("my", "dove", "substitution"), ("love", "dear", "substitution")]


def test_a_run_takes_the_language_of_each_track_from_its_metadata(tmp_path: Path) -> None:
    for name, text in (("r/a", "l'eau"), ("r/b", "l'eau"), ("x/a", "l' eau"), ("x/b", "l' eau")):
        path = tmp_path / f"{name}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "songs.csv").write_text("track,language\na,fr\nb,es\n")
    side = {"language": "{language}"}
    evaluation = {
        "task": "lyrics",
        "convention": "alt_eval",
        "reference": {"path": "r/{track}.txt", **side},
        "estimates": {"path": "{system}/{track}.txt", **side},
        "systems": ["x"],
        "tracks": "songs.csv",
        "metrics": ["word_error_rate"],
    }
    pipeline = {"name": "s", "store": str(tmp_path / "s.zarr"), "evaluations": [evaluation]}
    (tmp_path / "songs.yaml").write_text(json.dumps(pipeline))
    mirflow.run(tmp_path / "songs.yaml")
    scores = mirflow.open_store(tmp_path / "s.zarr")["lyrics"]
    assert scores["score"].values.ravel().tolist() == [0.0, 2.0]
    (tmp_path / "songs.csv").write_text("track,language\na,fr\nb,\n")
    with pytest.raises(mirflow.errors.PipelineError, match="track 'b' has no 'language' in its metadata"):
        mirflow.run(tmp_path / "songs.yaml")


def test_marks_of_all_songs_as_one_are_those_of_alt_eval(oracle: Path, expected: dict[str, Any]) -> None:
    languages = {name[:2]: pair["language"] for name, pair in expected["pairs"].items()} | {"ja": "ja"}
    references, estimates = (
        {
            name: mirflow.load(oracle / f"inputs/{name}.{side}.txt", task="lyrics", language=languages[name[:2]])
            for name in expected["corpus"]["order"]
        }
        for side in ("ref", "est")
    )
    scores = mirflow.score(references, estimates, "lyrics", convention="alt_eval", metrics=["by_mark"])
    for short, aggregate in (("P", "precision"), ("R", "recall"), ("F1", "f_measure")):
        found = mirflow.query(scores, "by_mark", aggregate)["value"].squeeze()
        for part, mark in (
            ("punc", "punctuation"),
            ("pare", "parenthesis"),
            ("line", "line_break"),
            ("sect", "section_break"),
        ):
            wanted = expected["corpus"]["metrics"][f"{short}_{part}"]
            assert float(found.sel(mark=mark)) == pytest.approx(wanted, abs=1e-12), (aggregate, mark)


def test_marks_that_one_side_has_count_for_all_songs_as_one() -> None:
    references, estimates = {"a": "oh, my", "b": "oh my"}, {"a": "oh, my", "b": "oh, my"}
    metrics = ["punctuation_f_measure", "by_mark"]
    scores = mirflow.score(references, estimates, "lyrics", convention="alt_eval", metrics=metrics)
    assert scores["by_mark"].sel(mark="punctuation").sum("track").values.tolist() == [[1, 1, 2]]
    assert mirflow.query(scores, "by_mark", "f_measure")["value"].item() == pytest.approx(2 / 3)
    assert mirflow.query(scores, "punctuation_f_measure")["value"].item() == 1
    with pytest.raises(UnknownNameError, match="unknown metric 'by_mark'"):
        mirflow.score(references, estimates, "lyrics", convention="jiwer", metrics=["by_mark"])


@pytest.mark.parametrize("other", ["oh cafe\u0301 noir", "oh caf\u00e9  noir", "oh caf\u00e9\u00a0noir"])
def test_jiwer_counts_other_forms_of_equal_text_with_a_warning(other: str) -> None:
    sides = {"label": ["oh caf\u00e9 noir"]}, {"label": [other]}
    with pytest.warns(MirflowWarning, match="differ in Unicode form or blanks, which jiwer counts"):
        scores = mirflow.evaluate(*sides, task="lyrics", convention="jiwer", metrics="character_error_rate")
    assert scores.score.item() > 0
    for convention in ("plain", "alt_eval"):
        assert mirflow.evaluate(*sides, task="lyrics", convention=convention, metrics="wer").score.item() == 0
