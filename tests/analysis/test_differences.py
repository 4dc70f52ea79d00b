"""Differences between two evaluations, from Python and from the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import mirflow
from mirflow.errors import QueryError, StoreError, UnknownNameError

from ..commands import invoke, printed, rows
from ..groups import make_group, random_group, write_store, write_stores

SCORES = st.one_of(st.sampled_from([0.0, np.nan, np.inf, -np.inf]), st.floats(-5, 5, allow_subnormal=False))


def settings_of(ds: xr.Dataset) -> list[tuple[str, str, str]]:
    """The settings that differ, and what they are on each side."""
    columns = (ds[name].values.tolist() for name in ("setting", "setting_a", "setting_b"))
    return list(zip(*columns, strict=True))


@pytest.fixture
def stored(tmp_path: Path):
    """A function that keeps two groups as stores, and returns their paths."""
    return lambda a, b, group="chord": write_stores(tmp_path, {"a": a, "b": b}, group)


def relative(m: float, c: float) -> float:
    """0 for a pair of zeros; the limit, 2, where one side alone or with another sign is infinite."""
    if m == c:
        return 0.0
    return 2.0 if np.isinf(m) or np.isinf(c) else abs(m - c) / ((abs(m) + abs(c)) / 2)


def by_hand(a: list[float], b: list[float], tolerance: float) -> dict[str, float]:
    """Section 4 of the mir_eval paper, cell by cell in plain Python."""
    pairs = [(m, c) for m, c in zip(a, b, strict=True) if m == m and c == c]
    changes = [relative(m, c) for m, c in pairs]
    apart = [0.0 if m == c else abs(m - c) for m, c in pairs]
    return {
        "n": len(pairs),
        "n_agreeing": sum(one <= tolerance for one in apart),
        "relative_change": sum(changes) / len(pairs) if pairs else np.nan,
        "mean_difference": sum(apart) / len(pairs) if pairs else np.nan,
        "max_difference": max(apart) if pairs else np.nan,
        "missing_a": sum(m != m and c == c for m, c in zip(a, b, strict=True)),
        "missing_b": sum(m == m and c != c for m, c in zip(a, b, strict=True)),
    }


@settings(max_examples=40)
@given(st.data())
def test_values_are_those_of_the_paper(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 2)))
    a, b = (data.draw(arrays.arrays(np.float64, shape, elements=SCORES)) for _ in "ab")
    tolerance = data.draw(st.sampled_from([0.0, 0.5, 2.0]))
    found = mirflow.diff(make_group(a), make_group(b), tolerance=tolerance)
    for metric in range(shape[2]):
        expected = by_hand(a[..., metric].ravel().tolist(), b[..., metric].ravel().tolist(), tolerance)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name].values[metric], value, rtol=1e-12, err_msg=name)


def test_systems_tracks_and_metrics_are_matched_by_name() -> None:
    a = make_group([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], systems=["X", "Y"], tracks=["p", "q"], metrics=["m", "n"])
    b = a.isel(system=[1, 0], track=[1, 0], metric=[1, 0])
    found = mirflow.diff(a, b)
    assert (found["difference"] == 0).all()
    assert found["system"].values.tolist() == ["X", "Y"]


def test_what_only_one_side_has_is_named() -> None:
    a = make_group([[[1.0], [0.5]]], systems=["X"], tracks=["p", "q"], metrics=["m"])
    b = make_group([[[1.0, 1.0]], [[0.5, 1.0]]], systems=["X", "Y"], tracks=["p"], metrics=["m", "n"])
    found = mirflow.diff(a, b)
    assert [found.dataset.attrs[f"{what}_only_in_a"] for what in ("systems", "tracks", "metrics")] == [[], ["q"], []]
    assert [found.dataset.attrs[f"{what}_only_in_b"] for what in ("systems", "tracks", "metrics")] == [["Y"], [], ["n"]]
    assert found["n"].values.tolist() == [1]


def test_a_cell_that_was_not_scored_is_missing_whatever_its_number(stored) -> None:
    a = make_group([[[1.0], [1.0]]], status=[["ok", "failed"]])
    b = make_group([[[1.0], [1.0]]])
    found = mirflow.diff(a, b)
    assert (found["missing_a"].values.tolist(), found["missing_b"].values.tolist()) == ([1], [0])
    one, other = stored(a, b)
    invoke("diff", one, other, "--fail-above", 1.0, code=3)
    invoke("diff", other, other, "--fail-above", 0.0, code=0)


def test_an_undefined_score_is_a_score() -> None:
    a, b = make_group([[[0.0]]], weight=0.0), make_group([[[0.0]]], weight=0.0)
    assert mirflow.diff(a, b)["n"].values.tolist() == [1]


def test_parts_may_be_compared() -> None:
    a, b = random_group(3, 4, 2), random_group(3, 4, 2, 1)
    found = mirflow.diff(a, b, metric="root", system=["S2"], tracks=["t3", "t1"])
    assert dict(found.dataset.sizes) == {"system": 1, "track": 2, "metric": 1, "setting": 0}
    whole = mirflow.diff(a, b)
    xr.testing.assert_equal(
        found["difference"], whole["difference"].sel(system=["S2"], track=["t3", "t1"], metric=["root"])
    )
    with pytest.raises(UnknownNameError, match="unknown metric 'rot'; did you mean 'root'"):
        mirflow.diff(a, b, metric="rot")


def test_the_cells_that_differ_most(stored) -> None:
    a = make_group([[[0.0], [0.5], [0.9]], [[0.1], [0.2], [np.nan]]])
    b = make_group([[[0.0], [0.9], [0.5]], [[0.0], [0.2], [0.9]]])
    stores = stored(a, b)

    def worst(*words: object) -> list[tuple[str, str]]:
        return [(row["system"], row["track"]) for row in rows("diff", *stores, "--worst", *words)]

    assert worst(10) == [("S0", "t1"), ("S0", "t2"), ("S1", "t0")]
    assert worst(1) == [("S0", "t1")]
    assert worst(10, "--tolerance", 0.2) == [("S0", "t1"), ("S0", "t2")]


def test_rounding_of_sums_is_no_difference() -> None:
    a = make_group([[[0.3]]])
    for other, agreeing in ((0.1 + 0.2, 1), (0.3 + 2e-9, 0)):
        assert mirflow.diff(a, make_group([[[other]]]))["n_agreeing"].item() == agreeing


def test_a_table_agrees_to_its_last_printed_digit() -> None:
    a = make_group([[[0.12345], [0.1235]]])
    b = make_group([[[0.123], [0.123]]], imported="x", printed_step={"majmin": 1e-3})
    found = mirflow.diff(a, b)
    np.testing.assert_allclose(found["tolerance"], 5e-4, rtol=1e-5)
    assert found["n_agreeing"].values.tolist() == [2]


def test_settings_that_differ() -> None:
    versions = {"mirflow": "0.1.0", "numpy": "2.4"}
    a = make_group([[[0.5]]], versions=versions, pipeline="name: x\nroot: a\n", parameters={"majmin": {"w": 0.5}})
    b = make_group(
        [[[0.5]]],
        convention="mirex2013",
        versions={**versions, "numpy": "2.5"},
        pipeline="name: x\nroot: b\n",
        parameters={"majmin": {"w": 0.25}},
    ).assign_coords(version=("metric", [2]))
    assert settings_of(mirflow.diff(a, b)) == [
        ("convention", "mir_eval", "mirex2013"),
        ("versions.numpy", "2.4", "2.5"),
        ("pipeline, line 2", "root: a", "root: b"),
        ("version of majmin", "1", "2"),
        ("w of majmin", "0.5", "0.25"),
    ]


def test_only_settings_that_a_table_names_can_differ() -> None:
    a = make_group([[[0.5]]], combine="mean")
    b = make_group([[[0.5]]], convention="mirex2013", imported="x")
    del b.attrs["grid"]
    assert mirflow.diff(a, b)["setting"].values.tolist() == ["convention"]


def test_files_with_other_contents_are_counted(tmp_path: Path) -> None:
    a, b = make_group([[[0.5], [0.5], [0.5]]]), make_group([[[0.5], [0.5], [0.5]]])

    def note(name: str) -> str:
        (tmp_path / name).mkdir()
        lines = printed("diff", *write_stores(tmp_path / name, {"a": a, "b": b})).splitlines()
        return next((line for line in lines if line.startswith("files with other contents")), "")

    assert note("unknown") == ""
    a["digest"] = (("system", "track"), [["r1:e1", "r2:e2", ""]])
    b["digest"] = (("system", "track"), [["r1:e9", "r9:e9", "r3:e3"]])
    assert note("known") == "files with other contents: references of 1, estimates of 2 of 2 cells"
    b.attrs["imported"] = "a table's digest is not that of an estimate"
    assert note("of a table") == ""


def test_nothing_in_common() -> None:
    a, b = make_group([[[0.5]]], systems=["X"]), make_group([[[0.5]]], systems=["Y"])
    with pytest.raises(QueryError, match="have no system in common: X; Y"):
        mirflow.diff(a, b)
    with pytest.raises(UnknownNameError, match="unknown metric 'rot'"):  # what was mistyped comes first
        mirflow.diff(a, b, metric="rot")


@pytest.mark.slow
def test_evaluations_belong_together_by_name_or_because_there_are_no_others(tmp_path: Path) -> None:
    group = make_group([[[0.5]]])
    a = write_store(tmp_path / "a.zarr", {"chord": group, "other": group})
    b = write_store(tmp_path / "b.zarr", {"chord": group, "more": group})
    found = mirflow.diff(a, b)
    assert (found.dataset.attrs["a"], found.dataset.attrs["b"]) == (f"{a}:chord", f"{b}:chord")
    assert "other" in invoke("diff", a, b).output
    assert mirflow.diff(f"{a}:other", f"{b}:more")["n"].item() == 1
    assert mirflow.diff(f"{a}:other", group).dataset.attrs["a"] == f"{a}:other"
    with pytest.raises(QueryError, match="no evaluation is on both sides: other; chord, more; name those"):
        mirflow.diff(f"{a}:other", b)
    both = mirflow.diff(a, a)
    assert [one.attrs["a"] for one in both] == [f"{a}:chord", f"{a}:other"]
    assert repr(both) == printed("diff", a, a).rstrip("\n")
    assert both._repr_html_().count("1 of 1 metric agrees in 1 cell") == 2
    with pytest.raises(QueryError, match=r"this result has 2 datasets.*, not one; choose one of its items"):
        both["difference"]
    with pytest.raises(UnknownNameError, match=r"unknown group of .*a\.zarr 'chrod'; did you mean 'chord'"):
        mirflow.diff(f"{a}:chrod", b)
    tree = mirflow.open_store(a)
    assert mirflow.diff(tree["other"].to_dataset(), f"{a}:other")["n"].item() == 1
    assert mirflow.diff(tree, f"{b}:chord").dataset.attrs["b"] == f"{b}:chord"


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"a\.zarr"):
        mirflow.diff(tmp_path / "a.zarr", tmp_path / "b.zarr")


def test_a_colon_may_be_part_of_a_path(tmp_path: Path) -> None:
    path = write_store(tmp_path / "a:b.zarr", {"chord": make_group([[[0.5]]])})
    assert mirflow.diff(path, f"{path}:chord")["n"].item() == 1
    with pytest.raises(StoreError, match=r"x\.zarr"):
        mirflow.diff("x.zarr", path)


def test_one_side_against_itself_is_no_difference() -> None:
    group = random_group(3, 5, 2)
    found = mirflow.diff(group, group)
    assert (found["difference"] == 0).all()
    assert found["n_agreeing"].values.tolist() == found["n"].values.tolist() == [15, 15]
    assert found.dataset.sizes["setting"] == 0


def test_people_see_a_verdict_and_only_the_metrics_that_differ(stored) -> None:
    a = random_group(2, 5, 3)
    paths = stored(a, a)
    assert printed("diff", *paths).splitlines()[-2:] == [
        "3 of 3 metrics agree in 10 cells",
        "agree: |a - b| is at most 1e-09",
    ]
    assert printed("diff", *paths, "--all").count("0.0000") == 3
    assert len(rows("diff", *paths)) == 3
    for style, lines in (("markdown", "10 cells  \n"), ("latex", "\n% 3 of 3 metrics agree in 10 cells\n")):
        text = printed("diff", *paths, "--format", style)
        assert lines in text
        assert "tabular" not in text
        assert "|\n" not in text
    b = a.copy(deep=True)
    b["score"][1, 2, 0] += 0.25
    text = printed("diff", *stored(a, b), "--worst", 2)
    assert "2 of 3 metrics agree in 10 cells" in text
    assert [line.split()[0] for line in text.splitlines() if "t2" in line] == [a["metric"].values[0]] * 2


def test_a_score_on_one_side_only_is_a_difference(stored) -> None:
    a = random_group(2, 5, 2)
    b = a.copy(deep=True)
    b["score"][1, 2, 0] = np.nan
    text = printed("diff", *stored(a, b))
    assert "1 of 2 metrics agree in 10 cells" in text
    assert "missing in b" in text


def greedy(**more) -> tuple[xr.Dataset, xr.Dataset]:
    """The same metric with another parameter in two evaluations; b is worse on one track and better on another."""
    parameters = {"f_measure": {"matching": "optimal", "window": 0.05}}
    a = make_group([[[0.5], [0.5]]], metrics=["f_measure"], parameters=parameters, **more)
    other = "f_measure(matching=greedy)"
    parameters = {other: {"matching": "greedy", "window": 0.05}}
    return a, make_group([[[0.4], [0.7]]], metrics=[other], parameters=parameters, **more)


PAIR = {"f_measure": "f_measure(matching=greedy)"}
PAIRED = ("--pair", "f_measure=f_measure(matching=greedy)")


class TestPairs:
    def test_metrics_that_differ_in_parameters_are_not_compared_silently(self):
        message = (
            r"no metric in common: .*f_measure\(matching=greedy\) differ in matching \(optimal, greedy\): .*--pair 'f_m"
        )
        with pytest.raises(QueryError, match=message):
            mirflow.diff(*greedy())

    def test_beside_others_a_note_names_what_is_not_compared(self, stored):
        a, b = (
            make_group([[[0.5, 1.0]]], metrics=[name, "cemgil"], parameters={name: {"matching": way}})
            for name, way in (("f_measure", "optimal"), ("f_measure(matching=greedy)", "greedy"))
        )
        note = (
            "not compared: f_measure in a and f_measure(matching=greedy) in b differ in matching (optimal, greedy); "
            "--pair 'f_measure=f_measure(matching=greedy)'"
        )
        assert note in " ".join(printed("diff", *stored(a, b)).split())

    def test_metrics_are_paired_by_hand_and_their_parameters_listed(self):
        a, b = greedy()
        found = mirflow.diff(a, b, pair=PAIR)
        assert found["metric"].values.tolist() == ["f_measure=f_measure(matching=greedy)"]
        np.testing.assert_allclose(found["difference"].values[..., 0], [[0.1, -0.2]])
        assert settings_of(found) == [("matching of f_measure=f_measure(matching=greedy)", "optimal", "greedy")]
        assert found.dataset.attrs["metrics_only_in_a"] == found.dataset.attrs["metrics_only_in_b"] == []
        with pytest.raises(UnknownNameError, match="f_measur"):
            mirflow.diff(a, b, pair={"f_measur": "f_measure"})

    def test_metrics_of_other_names_and_units(self):
        both = make_group([[[0.5, 3.0]]], metrics=["p_score", "deviation"], unit=["", "s"])
        found = mirflow.diff(both, both, pair={"p_score": "deviation"}, metric="deviation")
        assert found["metric"].values.tolist() == ["p_score=deviation", "deviation"]
        assert settings_of(found) == [("unit of p_score=deviation", "none", "s")]
        assert found["max_difference"].values.tolist() == [2.5, 0.0]


class TestWorse:
    """Exit codes of ``--fail-above`` with and without ``--worse``."""

    @pytest.mark.parametrize(
        ("way", "limit", "code"), [("higher", 0.05, 3), ("higher", 0.15, 0), ("lower", 0.15, 3), ("none", 0.0, 0)]
    )
    def test_only_changes_in_the_worse_direction_fail(self, stored, way, limit, code):
        stores = stored(*greedy(orientation=[way]))
        invoke("diff", *stores, *PAIRED, "--fail-above", limit, code=3)
        failed = invoke("diff", *stores, *PAIRED, "--fail-above", limit, "--worse", code=code)
        if code:
            assert f"are worse in b by more than {limit:g}, or have a score in a only: " in failed.stderr

    def test_a_score_that_got_lost_fails_and_one_that_came_does_not(self, stored):
        whole, less = stored(make_group([[[0.5], [0.5]]]), make_group([[[0.5], [np.nan]]]))
        invoke("diff", whole, less, "--fail-above", 1.0, "--worse", code=3)
        invoke("diff", less, whole, "--fail-above", 1.0, "--worse", code=0)
        invoke("diff", less, whole, "--fail-above", 1.0, code=3)

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ((*PAIRED, "--worse"), "--fail-above"),
            (("--pair", "f(x=1)"), "expected A=B, not 'f(x=1)'"),
            (("--pair", "f_measure="), "expected A=B"),
        ],
    )
    def test_usage(self, stored, words, message):
        assert message in invoke("diff", *stored(*greedy()), *words, code=2).stderr
