"""Error budgets: planted errors are named, shares sum to the loss, and are Shapley values."""

from __future__ import annotations

import shutil
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

from ..chord_strategies import labels
from ..commands import printed, refused, rows
from ..datasets import score_files
from ..event_strategies import pairs

BEATS = np.arange(6.0, 66.0, 0.5)


def losses(task: str, reference: Any, estimate: Any, metric: str | None = None, **options: Any) -> dict[str, float]:
    """Losses by kind of one pair; 0 is left out. The sum is checked."""
    found = mirflow.budget({"x": reference}, {"ours": {"x": estimate}}, task, metric=metric, **options)
    itself = mirflow.budget({"x": reference}, {"ours": {"x": reference}}, task, metric=metric, **options)
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


@settings(max_examples=15)
@given(pairs, st.sampled_from(["f_measure(trim=0)", "cemgil(trim=0)", "amlc(trim=0)", "goto(trim=0)"]))
def test_shares_of_any_beats_sum_to_the_loss(pair: tuple[np.ndarray, np.ndarray], metric: str) -> None:
    losses("beat", *pair, metric)


@settings(max_examples=25)
@given(pairs)
def test_shares_of_any_onsets_sum_to_the_loss(pair: tuple[np.ndarray, np.ndarray]) -> None:
    losses("onset", *pair, "f_measure")


_CHORDS = st.lists(st.tuples(st.integers(1, 8), labels), min_size=1, max_size=6)


@settings(max_examples=25)
@given(_CHORDS, _CHORDS, st.sampled_from(["root", "majmin_inv", "mirex", "overseg", "underseg", "seg"]))
def test_shares_of_any_chords_sum_to_the_loss(one: list[Any], other: list[Any], metric: str) -> None:
    sides = [chords(*(label for _, label in side), ends=np.cumsum([size for size, _ in side])) for side in (one, other)]
    losses("chord", *sides, metric)


def test_a_single_pair_has_a_budget() -> None:
    found = mirflow.budget(BEATS, BEATS[::2], "beat")
    assert found.score.sel(metric="lost@half_tempo").item() == pytest.approx(1 / 3)


def test_pairs_have_the_same_budget_in_any_batch() -> None:
    references = dict.fromkeys(PLANTED_BEATS, BEATS)
    together = mirflow.budget(references, {"ours": PLANTED_BEATS}, "beat")
    for name, estimate in PLANTED_BEATS.items():
        alone = mirflow.budget({"x": BEATS}, {"ours": {"x": estimate}}, "beat")
        assert (together.score.sel(track=name).values == alone.score.sel(track="x").values).all()


def test_metrics_without_a_best_value_are_refused() -> None:
    one = {"x": CHORDS}
    with pytest.raises(mirflow.errors.MetricError, match="confusion is not one number"):
        mirflow.budget(one, {"s": one}, "chord", metric="confusion")
    with pytest.raises(mirflow.errors.MetricError, match="csr has no best value that the reference reaches"):
        mirflow.budget(one, {"s": one}, "chord", metric="csr")
    with pytest.raises(mirflow.errors.MetricError, match="no kinds of errors are declared for task 'alignment'"):
        mirflow.budget({"x": BEATS}, {"s": {"x": BEATS}}, "alignment")


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


def test_the_command_compares_two_systems_by_kind(store: Path) -> None:
    table = printed("budget", store, "--compare", "slow", "gaps")
    line = next(line for line in table.splitlines() if line.startswith("half_tempo"))
    assert line.split()[1:4] == ["0.3333", "0.0000", "0.3333"]
    assert "by Holm (1979)" in table
    refused_by = refused("budget", store, "--compare", "slow", "gaps", "--by", "genre")
    assert "--compare takes no --by" in refused_by


def test_a_saved_budget_is_a_store(store: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.zarr"
    printed("budget", store, "-m", "cemgil", "--save", saved)
    assert "lost@half_tempo" in printed("query", saved, "--sort", "lost@half_tempo", "-m", "lost")
    assert printed("budget", saved) == printed("budget", store, "-m", "cemgil")
    ds = mirflow.budget(store, metric="cemgil")
    xr.testing.assert_equal(ds.score, mirflow.open_store(saved)["beat"].score)


def test_a_figure_shows_scores_and_losses(store: Path) -> None:
    ax = mirflow.plot(store, "budget")
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == ["F-measure", "Half tempo", "Missing"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["gaps", "slow"]


def test_messages_say_what_to_do(store: Path, tmp_path: Path) -> None:
    assert "choose common or skip" in refused("budget", store, "--missing", "zero")
    copy = tmp_path / "copy.zarr"
    shutil.copytree(store, copy)
    assert "--root" in refused("budget", copy)
    changed = store.parent / "est/gaps/t3.txt"
    before = changed.read_bytes()
    changed.write_text("10.0\n20.0\n")
    with pytest.warns(mirflow.errors.MirflowWarning, match="the files of 1 cell have changed"):
        mirflow.budget(store)
    changed.write_bytes(before)


SPLIT = {
    "beat": ("f_measure", "cemgil", "cmlc"),
    "downbeat": ("f_measure",),
    "onset": ("f_measure",),
    "chord": ("majmin", "sevenths_inv"),
}
"""Metrics of which a reference with something to measure has the same score by itself."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["harmonix", "mirex2013-ace", "mir_eval-fixtures", "casd"])
def test_shares_of_real_pairs_sum_to_the_loss(name: str, shipped_store: Callable[[str], Path]) -> None:
    store, split = shipped_store(name), 0
    for group, ds in mirflow.open_store(store).children.items():
        for metric in SPLIT.get(str(ds.attrs["task"]), ()):
            found = mirflow.budget(store, metric=metric, group=group)
            whole = found.score.sum("metric", skipna=False).where(found.weight.isel(metric=0) > 0)
            assert whole.notnull().any()
            # The score of a reference by itself, whatever the system; MIREX 2013 calls chords with an X wrong.
            best = whole.max("system") if ds.attrs["convention"] == "mirex2013" else 1.0
            assert abs(whole - best).max() < 1e-12
            split += 1
    assert split
