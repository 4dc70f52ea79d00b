"""Error budgets: planted errors are named, shares sum to the loss, and are Shapley values."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.reports.error_budgets import costly

from ..annotation_strategies import annotations
from ..commands import printed, refused, rows
from ..datasets import score_files
from ..groups import make_group
from .page.reading import values_in

BEATS = np.arange(6.0, 66.0, 0.5)


def losses(task: str, reference: Any, estimate: Any, metric: str | None = None, **options: Any) -> dict[str, float]:
    """Losses by kind of one pair; 0 is left out. The sum is checked."""
    found = mirflow.losses({"x": reference}, {"ours": {"x": estimate}}, task, metric=metric, **options)
    itself = mirflow.losses({"x": reference}, {"ours": {"x": reference}}, task, metric=metric, **options)
    value, best = (ds.score.values[0, 0] for ds in (found, itself))
    assert not best[1:].any()
    sign = -1 if found.orientation.values[0] == "lower" else 1
    assert value[1:].sum() == pytest.approx(sign * (best[0] - value[0]), abs=1e-12)
    return {kind: loss for kind, loss in zip(found.kind.values.tolist(), value, strict=True) if kind and loss}


def times(*moved: float) -> np.ndarray:
    return np.sort(np.concatenate([BEATS, moved]))


PLANTED_BEATS = {
    "half_tempo": BEATS[::2],
    "double_tempo": times(*(BEATS + 0.25)),
    "off_beat": BEATS + 0.25,
    "offset": BEATS + 0.1,
    "late": BEATS + 0.12 * (np.arange(len(BEATS)) % 10 == 3),
    "missing": np.delete(BEATS, [5, 20, 21, 40]),
    "extra": times(10.2, 20.3, 33.1),
}


@pytest.mark.parametrize("metric", ["f_measure", "cemgil", "cmlt"])
@pytest.mark.parametrize("kind", PLANTED_BEATS)
def test_planted_errors_of_beats_are_named(kind: str, metric: str) -> None:
    assert [*losses("beat", BEATS, PLANTED_BEATS[kind], metric)] == [kind]


def test_a_third_of_the_tempo_is_too_slow_as_well() -> None:
    assert [*losses("downbeat", BEATS, BEATS[1::3])] == ["half_tempo"]


ONSETS = np.array([1.0, 2.0, 2.08, 3.0, 5.0, 7.0])
PLANTED_ONSETS = {
    "merged": np.delete(ONSETS, 2),
    "doubled": np.sort(np.append(ONSETS, 5.08)),
    "late": np.array([1.0, 2.0, 2.08, 3.0, 5.1, 7.0]),
    "missing": ONSETS[:-1],
    "extra": np.append(ONSETS, 9.0),
}


@pytest.mark.parametrize("kind", PLANTED_ONSETS)
def test_planted_errors_of_onsets_are_named(kind: str) -> None:
    assert [*losses("onset", ONSETS, PLANTED_ONSETS[kind], "f_measure")] == [kind]


def chords(*labelled: str, ends: Sequence[float] = (2, 4, 6, 8)) -> tuple[np.ndarray, list[str]]:
    bounds = np.array([0.0, *ends])
    return np.column_stack([bounds[:-1], bounds[1:]]), [*labelled]


CHORDS = chords("C:maj", "G:maj", "A:min/b3", "F:maj")
PLANTED_CHORDS = {
    "no_chord": chords("C:maj", "N", "A:min/b3", "F:maj"),
    "root": chords("C:maj", "D:maj", "A:min/b3", "F:maj"),
    "quality": chords("C:min", "G:maj", "A:min/b3", "F:maj"),
    "bass": chords("C:maj", "G:maj", "A:min", "F:maj"),
    "boundaries": chords("C:maj", "G:maj", "A:min/b3", "F:maj", ends=(2.5, 3.7, 6, 8)),
}


@pytest.mark.parametrize("convention", ["mir_eval", "mirex2013"])
@pytest.mark.parametrize("kind", PLANTED_CHORDS)
def test_planted_errors_of_chords_are_named(kind: str, convention: str) -> None:
    assert [*losses("chord", CHORDS, PLANTED_CHORDS[kind], "majmin_inv", convention=convention)] == [kind]


ON = np.arange(10.0)
THIRD = (ON == 3).astype(float)


def notes(
    start: np.ndarray = ON, end: np.ndarray = ON + 0.8, midi: np.ndarray = 60 + ON, **more: np.ndarray
) -> dict[str, np.ndarray]:
    return {"start": start, "end": end, "pitch": 440 * 2 ** ((midi - 69) / 12), **more}


PLAYED = notes(velocity=50 + 5 * ON, program=0 * ON, drum=0 * ON)
PLANTED_NOTES = {
    "onset": ({"start": ON + 0.1 * THIRD}, "f_measure"),
    "end": ({"end": ON + 0.8 - 0.4 * THIRD}, "f_measure"),
    "octave": ({"midi": 60 + ON + 12 * THIRD}, "f_measure"),
    "tuning": ({"midi": 60 + ON + 0.3 * THIRD}, "f_measure(pitch_tolerance=10)"),
    "velocity": ({"velocity": 50 + 5 * ON + 50 * THIRD}, "velocity_f_measure"),
    "program": ({"program": 40 * THIRD}, "program_f_measure"),
}


@pytest.mark.parametrize("kind", PLANTED_NOTES)
def test_planted_errors_of_notes_are_named(kind: str) -> None:
    changed, metric = PLANTED_NOTES[kind]
    estimate = notes(**{name: PLAYED[name] for name in ("velocity", "program", "drum")} | changed)
    convention = "mt3" if kind == "program" else None
    assert [*losses("transcription", PLAYED, estimate, metric, convention=convention)] == [kind]


def test_notes_of_one_side_are_missing_or_extra() -> None:
    fewer = {name: values[1:] for name, values in PLAYED.items()}
    assert [*losses("transcription", PLAYED, fewer)] == ["missing"]
    assert [*losses("transcription", fewer, PLAYED)] == ["extra"]
    early = notes(start=ON + 0.02, end=ON + 0.8)
    assert [*losses("transcription", notes(), early, "average_overlap_ratio")] == ["onset"]


def test_the_errors_of_one_pedal_are_those_of_its_stretches() -> None:
    reference = np.array([[0.0, 1.0], [2.0, 3.0], [2.0, 4.0]]), ["sustain", "64", "soft"]
    estimate = np.array([[0.0, 1.0], [2.12, 3.0], [8.0, 9.0]]), ["sustain", "sustain", "soft"]
    assert [*losses("pedal", reference, estimate)] == ["onset"]


FRAMES = np.arange(0, 2, 0.05)
SUNG, INSIDE = np.where(FRAMES < 1.5, 220.0, 0.0), (FRAMES > 0.5) & (FRAMES < 0.7)
PLANTED_MELODIES = {
    "missed_voicing": np.where(INSIDE, -SUNG, SUNG),
    "false_voicing": np.where(FRAMES > 1.8, 330.0, SUNG),
    "octave": np.where(INSIDE, 440.0, SUNG),
    "pitch": np.where(INSIDE, 300.0, SUNG),
}


@pytest.mark.parametrize("convention", ["mir_eval", "mirex"])
@pytest.mark.parametrize("kind", PLANTED_MELODIES)
def test_planted_errors_of_melodies_are_named(kind: str, convention: str) -> None:
    estimate = FRAMES, PLANTED_MELODIES[kind]
    assert [*losses("melody", (FRAMES, SUNG), estimate, convention=convention)] == [kind]


@pytest.mark.parametrize(
    ("kind", "pitches"),
    [
        ("octave", [[220.0, 660.0], [220.0], []]),
        ("missing", [[220.0], [220.0], []]),
        ("extra", [[220.0, 330.0], [220.0], [100.0]]),
    ],
)
def test_planted_errors_of_several_pitches_are_named(kind: str, pitches: list[list[float]]) -> None:
    sides = [(FRAMES[:3], [np.array(frame) for frame in side]) for side in ([[220.0, 330.0], [220.0], []], pitches)]
    assert [*losses("multipitch", *sides)] == [kind]


SECTIONS = chords("A", "B", "A", "C", ends=(10, 20, 30, 40))
PLANTED_SECTIONS = {
    "shifted": (chords("A", "B", "A", "C", ends=(12, 20, 30, 40)), "f_measure"),
    "missing": (chords("A", "A", "C", ends=(20, 30, 40)), "f_measure"),
    "extra": (chords("A", "A", "B", "A", "C", ends=(5, 10, 20, 30, 40)), "f_measure"),
    "labels": (chords("A", "B", "B", "C", ends=(10, 20, 30, 40)), "pairwise_f_measure"),
}


@pytest.mark.parametrize("kind", PLANTED_SECTIONS)
def test_planted_errors_of_segments_are_named(kind: str) -> None:
    assert [*losses("segment", SECTIONS, *PLANTED_SECTIONS[kind])] == [kind]


@pytest.mark.parametrize(
    ("kind", "key"), [("fifth", "G major"), ("relative", "A minor"), ("parallel", "C minor"), ("other", "F# minor")]
)
def test_planted_errors_of_keys_are_named(kind: str, key: str) -> None:
    assert [*losses("key", "C major", key)] == [kind]
    whole, half = (chords(one, "D major", ends=(2, 4)) for one in ("C major", key))
    assert [*losses("local_key", whole, half)] == [kind]


def test_a_key_that_changes_late_has_another_boundary() -> None:
    late = chords("C major", "D major", ends=(2.5, 4))
    assert [*losses("local_key", chords("C major", "D major", ends=(2, 4)), late)] == ["boundaries"]


def tempi(*bpm: float) -> dict[str, np.ndarray]:
    return {"tempo": np.array(bpm), "salience": np.array([0.6, 0.4])[: len(bpm)]}


@pytest.mark.parametrize(
    ("kind", "estimate", "metric"),
    [
        ("half", tempi(50, 50), "accuracy1"),
        ("double", tempi(200, 50), "p_score"),
        ("other", tempi(77, 50), "p_score"),
        ("missing", tempi(100), "p_score"),
        ("near", tempi(101, 50), "absolute_error"),
        ("near", tempi(50, 100), "accuracy1"),
    ],
)
def test_planted_errors_of_tempi_are_named(kind: str, estimate: dict[str, np.ndarray], metric: str) -> None:
    assert [*losses("tempo", tempi(100, 50), estimate, metric)] == [kind]


@pytest.mark.parametrize(
    ("kind", "times", "drums"),
    [
        ("drum", [1, 2, 3, 4], ["36", "36", "42", "36"]),
        ("late", [1, 2.1, 3, 4], ["36", "38", "42", "36"]),
        ("missing", [2, 3, 4], ["38", "42", "36"]),
        ("extra", [1, 2, 3, 4, 5], ["36", "38", "42", "36", "42"]),
    ],
)
def test_planted_errors_of_drums_are_named(kind: str, times: list[float], drums: list[str]) -> None:
    reference = np.array([1.0, 2.0, 3.0, 4.0]), ["36", "38", "42", "36"]
    assert [*losses("drums", reference, (np.array(times, dtype=float), drums))] == [kind]


@pytest.mark.parametrize(
    ("kind", "words", "metric"),
    [
        ("substituted", "oh my dove", "word_error_rate"),
        ("missing", "oh love", "character_error_rate"),
        ("extra", "oh my dear love", "word_error_rate"),
        ("case", "oh my Love", "case_sensitive_word_error_rate"),
    ],
)
def test_planted_errors_of_lyrics_are_named(kind: str, words: str, metric: str) -> None:
    assert [*losses("lyrics", ["oh my love"], [words], metric)] == [kind]


def test_what_a_rule_does_not_compare_costs_nothing() -> None:
    assert losses("chord", CHORDS, PLANTED_CHORDS["bass"], "majmin") == {}
    assert [*losses("chord", CHORDS, PLANTED_CHORDS["bass"], "seg")] == []


def test_a_chord_that_is_not_found_is_not_a_shifted_boundary() -> None:
    assert [*losses("chord", CHORDS, chords("C:maj", "C:maj", "A:min/b3", "F:maj"), "majmin")] == ["root"]


def test_extra_boundaries_cost_where_equal_neighbours_are_not_merged() -> None:
    split = chords("C:maj", "C:maj", "G:maj", "A:min/b3", "F:maj", ends=(1, 2, 4, 6, 8))
    assert [*losses("chord", CHORDS, split, "segmentation", convention="decibel")] == ["boundaries"]


def test_shares_are_means_over_all_orders_of_mending() -> None:
    reference = np.arange(6.0, 16.0, 0.5)
    late, missing, extra = [8], [13, 14], [10.22]
    shifted = reference.copy()
    shifted[late] += 0.12

    def mended(kinds: frozenset[str]) -> np.ndarray:
        times = reference if "late" in kinds else shifted
        kept = times if "missing" in kinds else np.delete(times, missing)
        return kept if "extra" in kinds else np.sort(np.append(kept, extra))

    kinds = "late", "missing", "extra"
    orders = [*permutations(kinds)]
    sets = {frozenset(order[:size]) for order in orders for size in range(4)}
    for metric in ("f_measure", "cmlc", "information_gain"):
        estimates = {",".join(sorted(one)): {"x": mended(one)} for one in sets}
        scores = mirflow.score({"x": reference}, estimates, "beat", metrics=[metric]).score
        value = {one: float(scores.sel(system=",".join(sorted(one))).item()) for one in sets}
        share = dict.fromkeys(kinds, 0.0)
        for order in orders:
            for place, kind in enumerate(order):
                gain = value[frozenset(order[: place + 1])] - value[frozenset(order[:place])]
                share[kind] += gain / len(orders)
        found = losses("beat", reference, mended(frozenset()), metric)
        assert {kind: found.get(kind, 0.0) for kind in kinds} == pytest.approx(share, abs=1e-12)
        assert found.keys() <= set(kinds)


SPLIT_TASKS = {
    "beat": ["f_measure(trim=0)", "cemgil(trim=0)", "goto(trim=0)", "amlc(trim=0)"],
    "onset": ["f_measure"],
    "chord": ["root", "majmin_inv", "mirex", "overseg", "underseg"],
    "segment": ["f_measure", "recall", "deviation_ref_to_est", "pairwise_f_measure", "v_measure"],
    "transcription": ["f_measure", "precision_no_offset", "average_overlap_ratio", "frame_f_measure"],
    "melody": ["overall_accuracy", "raw_pitch_accuracy", "voicing_false_alarm"],
    "multipitch": ["accuracy", "total_error"],
    "tempo": ["p_score", "both_correct", "accuracy1"],
    "local_key": ["weighted_score", "same"],
    "drums": ["f_measure", "mean_recall"],
    "lyrics": ["word_error_rate", "character_error_rate", "word_information_lost"],
}


@pytest.mark.parametrize("task", SPLIT_TASKS)
@settings(max_examples=10)
@given(st.data())
def test_shares_of_any_pair_sum_to_the_loss(task: str, data: st.DataObject) -> None:
    reference, estimate = (data.draw(annotations(task)) for _ in range(2))
    metric = data.draw(st.sampled_from(SPLIT_TASKS[task]))
    both = {"x": estimate, "y": reference}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mirflow.errors.MirflowWarning)
        found = mirflow.losses(dict.fromkeys(both, reference), {"s": both}, task, metric=metric)
    (score, *shares), (best, *none) = found.score.values[0]
    if np.isfinite([score, best]).all():
        sign = -1 if found.orientation.values[0] == "lower" else 1
        assert sum(shares) == pytest.approx(sign * (best - score), abs=1e-12)
        assert not any(none)


def test_kinds_whose_shares_are_only_rounding_cost_nothing() -> None:
    shares = np.array([[[0.7, 0.2, 1e-13, 0.0], [0.5, 0.1, -1e-13, 0.0]]])
    budget = make_group(shares, metrics=["f", "lost@late", "lost@extra", "lost@missing"])
    left, idle = costly(budget.assign_coords(kind=("metric", ["", "late", "extra", "missing"])))
    assert left["metric"].values.tolist() == ["f", "lost@late"]
    assert idle == ["extra", "missing"]


def test_a_single_pair_has_a_budget() -> None:
    found = mirflow.losses(BEATS, BEATS[::2], "beat")
    assert found.score.sel(metric="lost@half_tempo").item() == pytest.approx(1 / 3)


def test_pairs_have_the_same_budget_in_any_batch() -> None:
    references = dict.fromkeys(PLANTED_BEATS, BEATS)
    together = mirflow.losses(references, {"ours": PLANTED_BEATS}, "beat")
    for name, estimate in PLANTED_BEATS.items():
        alone = mirflow.losses({"x": BEATS}, {"ours": {"x": estimate}}, "beat")
        assert (together.score.sel(track=name).values == alone.score.sel(track="x").values).all()


def test_metrics_without_a_best_value_are_refused() -> None:
    one = {"x": CHORDS}
    with pytest.raises(mirflow.errors.MetricError, match="confusion is not one number"):
        mirflow.losses(one, {"s": one}, "chord", metric="confusion")
    with pytest.raises(mirflow.errors.MetricError, match="csr has no best value that the reference reaches"):
        mirflow.losses(one, {"s": one}, "chord", metric="csr")
    with pytest.raises(mirflow.errors.MetricError, match="no kinds of errors are declared for task 'alignment'"):
        mirflow.losses({"x": BEATS}, {"s": {"x": BEATS}}, "alignment")
    with pytest.raises(mirflow.errors.MetricError, match="names 2 metrics; one loss is split at a time"):
        mirflow.losses(one, {"s": one}, "chord", metric="csr@[root,majmin]")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Beats of two systems on eight tracks, of which one has no estimate."""
    folder = tmp_path_factory.mktemp("budget")
    estimates = {"slow": BEATS[::2], "gaps": PLANTED_BEATS["missing"]}
    for number in range(8):
        files = {"ref": BEATS} | {f"est/{name}": times for name, times in estimates.items() if number or name == "slow"}
        for name, times in files.items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            np.savetxt(folder / name / f"t{number}.txt", times + number, fmt="%.3f")
    (folder / "genre.csv").write_text("track,genre\n" + "".join(f"t{n},{'ab'[n % 2]}\n" for n in range(8)))
    return score_files(folder, "beat", "ref/{track}.txt", "est/{system}/{track}.txt", tracks="genre.csv")


def test_the_command_prints_means_that_sum_to_one(store: Path) -> None:
    values = {
        (row["system"], row["metric"]): row["value"]
        for row in rows("budget", store, "--by", "genre", "-w", "genre == 'b'")
    }
    assert values["slow", "lost@half_tempo"] == pytest.approx(1 / 3)
    for system in ("slow", "gaps"):
        assert sum(value for (name, _), value in values.items() if name == system) == pytest.approx(1, abs=1e-12)
    assert "lost@missing" in printed("budget", store, "--ci", 0.9, "--percent")
    assert printed("budget", store.parent / "p.yaml") == printed("budget", store)


def test_the_command_compares_two_systems_by_kind(store: Path) -> None:
    table = printed("budget", store, "--compare", "slow", "gaps")
    line = next(line for line in table.splitlines() if line.startswith("half_tempo"))
    assert line.split()[1:4] == ["0.3333", "0.0000", "0.3333"]
    assert "by Holm (1979)" in table
    refused_by = refused("budget", store, "--compare", "slow", "gaps", "--by", "genre")
    assert "'compare' (--compare) takes no 'by' (--by)" in refused_by


def test_a_saved_budget_is_a_store(store: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.zarr"
    printed("budget", store, "-m", "cemgil", "--save", saved)
    assert "lost@half_tempo" in printed("query", saved, "--sort", "lost@half_tempo", "-m", "lost")
    assert printed("budget", saved) == printed("budget", store, "-m", "cemgil")
    ds = mirflow.losses(store, metric="cemgil")
    xr.testing.assert_equal(ds.score, mirflow.open_store(saved)["beat"].score)


def test_a_pipeline_stores_losses_like_other_metrics(store: Path, tmp_path: Path) -> None:
    metrics = ["f_measure", "lost", "lost@[late,missing](of=cemgil)"]
    patterns = f"{store.parent}/ref/{{track}}.txt", f"{store.parent}/est/{{system}}/{{track}}.txt"
    own = score_files(tmp_path, "beat", *patterns, metrics=metrics)
    assert printed("budget", own) == printed("budget", store)
    both = mirflow.losses(store, metric="cemgil")
    found = mirflow.open_store(own)["beat"].score.sel(metric="lost@missing(of=cemgil)")
    xr.testing.assert_equal(
        found.reset_coords(drop=True), both.score.sel(metric="lost@missing").reset_coords(drop=True)
    )
    with pytest.raises(mirflow.errors.PipelineError, match="did you mean 'late'"):
        score_files(tmp_path, "beat", *patterns, metrics=["lost@lat"])
    with pytest.raises(mirflow.errors.PipelineError, match="combine: max"):
        score_files(tmp_path, "beat", {"path": patterns[0], "combine": "max"}, patterns[1], metrics=["lost"])
    with pytest.raises(mirflow.errors.MetricError, match="its loss cannot be split"):
        mirflow.evaluate(BEATS, BEATS, "beat", metrics="lost(of=counts)", convention="madmom")


def test_a_figure_shows_scores_and_losses(store: Path) -> None:
    ax = mirflow.plot(store, "budget")
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == ["F-measure", "Half tempo", "Missing"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["gaps", "slow"]


def test_a_report_shows_the_losses_of_the_main_metric(store: Path, tmp_path: Path, visit: Callable[..., Any]) -> None:
    page = visit(mirflow.report(store, tmp_path / "report.html", budget=True).path)
    rows = page.locator("#losses tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.textContent))"
    )
    found = mirflow.query(mirflow.losses(store), system=["gaps", "slow"])
    assert [name for name, *_ in rows] == ["gaps", "slow"]
    for (_, score, *shares), value in zip(rows, found["value"].values, strict=True):
        assert [score, *shares] == [f"{one:z.3f}" for one in value]
    assert page.locator("#losses table.tinted").count() == 1
    shown = values_in(page, "#losses table")
    assert [*shown["gaps"], *shown["slow"]] == pytest.approx(found["value"].values.ravel(), abs=1e-12)
    page.locator("#controls select").filter(has_text="zero").first.select_option("zero")
    page.wait_for_function("document.querySelector('#losses').textContent.includes('choose another treatment')")


@pytest.mark.slow
def test_messages_say_what_to_do(store: Path, tmp_path: Path) -> None:
    assert "choose common or skip" in refused("budget", store, "--missing", "zero")
    copy = tmp_path / "copy.zarr"
    shutil.copytree(store, copy)
    assert "--root" in refused("budget", copy)
    changed = store.parent / "est/gaps/t3.txt"
    before = changed.read_bytes()
    changed.write_text("10.0\n20.0\n")
    with pytest.warns(mirflow.errors.MirflowWarning, match="the files of 1 cell have changed"):
        mirflow.losses(store)
    changed.write_bytes(before)


SPLIT = {
    "beat": ("f_measure", "cemgil", "cmlc"),
    "downbeat": ("f_measure",),
    "onset": ("f_measure",),
    "chord": ("majmin", "sevenths_inv"),
    "melody": ("overall_accuracy", "raw_chroma_accuracy"),
    "transcription": ("f_measure", "precision_no_offset"),
    "segment": ("f_measure@3.0", "pairwise_f_measure"),
    "key": ("weighted_score",),
}
"""Metrics of which a reference with something to measure has the same score by itself."""


SHIPPED = (
    *("harmonix", "mirex2013-ace", "mir_eval-fixtures", "casd", "adc2004-melody", "mirex2015-transcription", "salami"),
    "giantsteps-key",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_shares_of_real_pairs_sum_to_the_loss(name: str, shipped_store: Callable[[str], Path]) -> None:
    store, split = shipped_store(name), 0
    for group, ds in mirflow.open_store(store).children.items():
        for metric in SPLIT.get(str(ds.attrs["task"]), ()):
            found = mirflow.losses(store, metric=metric, group=group)
            whole = found.score.sum("metric", skipna=False).where(found.weight.isel(metric=0) > 0)
            assert whole.notnull().any()
            # The score of a reference by itself, whatever the system; MIREX 2013 calls chords with an X wrong.
            best = whole.max("system") if ds.attrs["convention"] == "mirex2013" else 1.0
            assert abs(whole - best).max() < 1e-12
            split += 1
    assert split
