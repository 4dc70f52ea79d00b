from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import mirflow
from mirflow.analysis.differences import compare_sides, differences, sides_of, split_group
from mirflow.cells import Status
from mirflow.cli import cli
from mirflow.errors import QueryError, StoreError, UnknownNameError
from mirflow.report.comparisons_tables import difference_table

from ..groups import make_group, random_group, write_store

SCORES = st.one_of(st.sampled_from([0.0, np.nan, np.inf, -np.inf]), st.floats(-5, 5, allow_subnormal=False))


def only(a: xr.Dataset, b: xr.Dataset, **keywords):
    """The difference of two datasets."""
    (found,), _ = differences(a, b, **keywords)
    return found


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


@settings(max_examples=60)
@given(st.data())
def test_figures_are_those_of_the_paper(data: st.DataObject) -> None:
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
    found = only(a, b)
    assert found.only == {"systems": ([], ["Y"]), "tracks": (["q"], []), "metrics": ([], ["n"])}
    assert found.to_dataset().attrs["systems_only_in_b"] == ["Y"]
    assert found.n.tolist() == [1]


def test_a_cell_that_was_not_scored_is_missing_whatever_its_number() -> None:
    a = make_group([[[1.0], [1.0]]], status=[[Status.ok, Status.failed]])
    b = make_group([[[1.0], [1.0]]])
    assert [one.tolist() for one in only(a, b).missing] == [[1], [0]]
    assert only(a, b).exceeds(1.0) == ["majmin"]
    assert only(b, b).exceeds(0.0) == []


def test_an_undefined_score_is_a_score() -> None:
    a, b = make_group([[[0.0]]], weight=0.0), make_group([[[0.0]]], weight=0.0)
    assert only(a, b).n.tolist() == [1]


def test_parts_may_be_compared() -> None:
    a, b = random_group(3, 4, 2), random_group(3, 4, 2, 1)
    found = mirflow.diff(a, b, metric="root", system=["S2"], track=["t3", "t1"])
    assert dict(found.sizes) == {"system": 1, "track": 2, "metric": 1, "setting": 0}
    whole = mirflow.diff(a, b)
    xr.testing.assert_equal(
        found["difference"], whole["difference"].sel(system=["S2"], track=["t3", "t1"], metric=["root"])
    )
    with pytest.raises(UnknownNameError, match="unknown metric 'rot'; did you mean 'root'"):
        mirflow.diff(a, b, metric="rot")


def test_the_cells_that_differ_most() -> None:
    a = make_group([[[0.0], [0.5], [0.9]], [[0.1], [0.2], [np.nan]]])
    b = make_group([[[0.0], [0.9], [0.5]], [[0.0], [0.2], [0.9]]])
    found = only(a, b)
    assert found.worst(10) == [(0, 1, 0), (0, 2, 0), (1, 0, 0)]
    assert found.worst(1) == [(0, 1, 0)]
    assert only(a, b, tolerance=0.2).worst(10) == [(0, 1, 0), (0, 2, 0)]


def test_rounding_of_sums_is_no_difference() -> None:
    a = make_group([[[0.3]]])
    assert only(a, make_group([[[0.1 + 0.2]]])).n_agreeing.tolist() == [1]
    assert only(a, make_group([[[0.3 + 2e-9]]])).n_agreeing.tolist() == [0]


def test_a_table_agrees_to_its_last_printed_digit() -> None:
    a = make_group([[[0.12345], [0.1235]]])
    b = make_group([[[0.123], [0.123]]], imported="x", printed_step={"majmin": 1e-3})
    found = only(a, b)
    np.testing.assert_allclose(found.tolerance, 5e-4, rtol=1e-5)
    assert found.n_agreeing.tolist() == [2]


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
    found = [(one.name, one.a, one.b) for one in only(a, b).settings]
    assert found == [
        ("convention", "mir_eval", "mirex2013"),
        ("versions.numpy", "2.4", "2.5"),
        ("pipeline, line 2", "root: a", "root: b"),
        ("version of majmin", "1", "2"),
        ("w of majmin", "0.5", "0.25"),
    ]


def test_a_table_differs_only_in_what_it_says() -> None:
    a = make_group([[[0.5]]], combine="mean")
    b = make_group([[[0.5]]], convention="mirex2013", imported="x")
    del b.attrs["grid"]
    assert [one.name for one in only(a, b).settings] == ["convention"]


def test_files_with_other_contents_are_counted() -> None:
    a, b = make_group([[[0.5], [0.5], [0.5]]]), make_group([[[0.5], [0.5], [0.5]]])
    assert only(a, b).inputs is None
    a["digest"] = (("system", "track"), [["r1:e1", "r2:e2", ""]])
    b["digest"] = (("system", "track"), [["r1:e9", "r9:e9", "r3:e3"]])
    inputs = only(a, b).inputs
    assert inputs is not None
    assert (inputs.reference, inputs.estimate, inputs.cells) == (1, 2, 2)
    b.attrs["imported"] = "a table's digest is none of an estimate"
    assert only(a, b).inputs is None


def test_nothing_in_common() -> None:
    a, b = make_group([[[0.5]]], systems=["X"]), make_group([[[0.5]]], systems=["Y"])
    with pytest.raises(QueryError, match="have no system in common: X; Y"):
        mirflow.diff(a, b)


def test_evaluations_belong_together_by_name_or_because_there_are_no_others(tmp_path: Path) -> None:
    group = make_group([[[0.5]]])
    a = write_store(tmp_path / "a.zarr", {"chord": group, "other": group})
    b = write_store(tmp_path / "b.zarr", {"chord": group, "more": group})
    found, left = differences(a, b)
    assert [one.sides[0].group for one in found] == ["chord"]
    assert left == (["other"], ["more"])
    assert differences(f"{a}:other", f"{b}:more")[1] == ([], [])
    found, _ = differences(f"{a}:other", group)
    assert found[0].sides[0].label == f"{a}:other"
    with pytest.raises(QueryError, match="no evaluation is on both sides: other; chord, more; name those"):
        differences(f"{a}:other", b)
    with pytest.raises(QueryError, match="several evaluations are on both sides: chord, other"):
        mirflow.diff(a, a)
    with pytest.raises(UnknownNameError, match=r"unknown group of .*a\.zarr 'chrod'; did you mean 'chord'"):
        mirflow.diff(f"{a}:chrod", b)
    tree = mirflow.open_store(a)
    assert mirflow.diff(tree["other"].to_dataset(), f"{a}:other")["n"].item() == 1
    assert sorted(sides_of(tree)) == ["chord", "other"]


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"a\.zarr"):
        mirflow.diff(tmp_path / "a.zarr", tmp_path / "b.zarr")


def test_a_colon_may_be_part_of_a_path(tmp_path: Path) -> None:
    (tmp_path / "a:b").mkdir()
    assert split_group(tmp_path / "a:b") == (tmp_path / "a:b", None)
    assert split_group(f"{tmp_path}/a:b:chord") == (tmp_path / "a:b", "chord")
    assert split_group("x.zarr") == (Path("x.zarr"), None)


def test_one_side_against_itself_is_no_difference() -> None:
    group = random_group(3, 5, 2)
    side = sides_of(group)[""]
    found = compare_sides(side, side)
    assert (found.change == 0).all()
    assert found.n_agreeing.tolist() == found.n.tolist() == [15, 15]
    assert found.settings == []


def greedy(**more) -> tuple[xr.Dataset, xr.Dataset]:
    """The same metric with another parameter in two evaluations; b is worse on one track and better on another."""
    told = {"f_measure": {"matching": "optimal", "window": 0.05}}
    a = make_group([[[0.5], [0.5]]], metrics=["f_measure"], parameters=told, **more)
    other = "f_measure(matching=greedy)"
    told = {other: {"matching": "greedy", "window": 0.05}}
    return a, make_group([[[0.4], [0.7]]], metrics=[other], parameters=told, **more)


class TestPairs:
    def test_metrics_that_differ_in_parameters_are_not_compared_without_a_word(self):
        a, b = greedy()
        said = (
            r"no metric in common: .*f_measure\(matching=greedy\) differ in matching \(optimal, greedy\): .*--pair 'f_m"
        )
        with pytest.raises(QueryError, match=said):
            mirflow.diff(a, b)

    def test_beside_others_it_is_told_what_is_not_compared(self):
        a, b = (
            make_group([[[0.5, 1.0]]], metrics=[name, "cemgil"], parameters={name: {"matching": way}})
            for name, way in (("f_measure", "optimal"), ("f_measure(matching=greedy)", "greedy"))
        )
        notes = difference_table(only(a, b)).notes
        told = "not compared: f_measure in a and f_measure(matching=greedy) in b differ in matching (optimal, greedy); "
        assert any(note.startswith(f"{told}--pair 'f_measure=f_measure(matching=greedy)'") for note in notes)

    def test_metrics_are_paired_by_hand_and_what_differs_is_said(self):
        a, b = greedy()
        found = only(a, b, pair={"f_measure": "f_measure(matching=greedy)"})
        assert found.metrics == ["f_measure=f_measure(matching=greedy)"]
        np.testing.assert_allclose(found.change[..., 0], [[0.1, -0.2]])
        assert [(one.name, one.a, one.b) for one in found.settings] == [
            ("matching of f_measure=f_measure(matching=greedy)", "optimal", "greedy")
        ]
        assert found.only["metrics"] == ([], [])
        with pytest.raises(UnknownNameError, match="f_measur"):
            only(a, b, pair={"f_measur": "f_measure"})

    def test_metrics_of_other_names_and_units(self):
        both = make_group([[[0.5, 3.0]]], metrics=["p_score", "deviation"], unit=["", "s"])
        found = only(both, both, pair={"p_score": "deviation"}, metric="deviation")
        assert found.metrics == ["p_score=deviation", "deviation"]
        assert [(one.name, one.a, one.b) for one in found.settings] == [("unit of p_score=deviation", "none", "s")]
        assert found.largest.tolist() == [2.5, 0.0]


PAIR = {"f_measure": "f_measure(matching=greedy)"}


class TestWorse:
    @pytest.mark.parametrize(
        ("way", "limit", "fails"), [("higher", 0.05, True), ("higher", 0.15, False), ("lower", 0.15, True)]
    )
    def test_only_changes_in_the_worse_direction_fail(self, way, limit, fails):
        found = only(*greedy(orientation=[way]), pair=PAIR)
        assert found.exceeds(limit) == found.metrics
        assert found.exceeds(limit, worse=True) == (found.metrics if fails else [])

    def test_what_is_neither_better_nor_worse_never_fails(self):
        assert only(*greedy(orientation=["none"]), pair=PAIR).exceeds(0.0, worse=True) == []

    def test_a_score_that_got_lost_fails_and_one_that_came_does_not(self):
        whole, less = make_group([[[0.5], [0.5]]]), make_group([[[0.5], [np.nan]]])
        assert only(whole, less).exceeds(1.0, worse=True) == ["majmin"]
        assert only(less, whole).exceeds(1.0, worse=True) == []
        assert only(less, whole).exceeds(1.0) == ["majmin"]

    def test_on_the_command_line(self, tmp_path):
        a, b = (write_store(tmp_path / f"{name}.zarr", {"beat": one}) for name, one in zip("ab", greedy(), strict=True))
        pair = ("--pair", "f_measure=f_measure(matching=greedy)")

        def diff(*arguments: object):
            return CliRunner().invoke(cli, ["diff", str(a), str(b), *map(str, arguments)])

        assert diff(*pair, "--fail-above", 0.15).exit_code == 3
        assert diff(*pair, "--fail-above", 0.15, "--worse").exit_code == 0
        failed = diff(*pair, "--fail-above", 0.05, "--worse")
        assert failed.exit_code == 3
        assert "are worse in b by more than 0.05, or have a score in a only: " in failed.stderr
        assert diff(*pair, "--worse").exit_code == 2
        assert "write it as A=B, not 'f(x=1)'" in diff("--pair", "f(x=1)").stderr
        assert diff("--pair", "f_measure=").exit_code == 2
