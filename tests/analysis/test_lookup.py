"""Selections: patterns, expressions over coordinates, parameters, and the order of systems."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from mirflow.errors import QueryError, UnknownNameError

from ..commands import printed, rows
from ..groups import make_group, random_group, write_store

ABOUT = {"genre": ["Rock", "Pop", "Rock", ""], "year": [1971, 1985, 1990, 1979]}


def songs(**more) -> xr.Dataset:
    scores = [[[0.1], [0.2], [0.4], [0.8]], [[0.5], [0.6], [0.7], [0.9]]]
    return make_group(scores, duration=[100, 200, 300, 400], track_meta=ABOUT, standard=["mean"], **more)


def sweep() -> xr.Dataset:
    """f_measure by two windows, and a metric without one."""
    ds = random_group(2, 3, 3, metrics=["f_measure", "f_measure@0.1", "cemgil"], standard=["mean"] * 3)
    return ds.assign_coords(window=("metric", [0.05, 0.1, np.nan]), trim=("metric", ["true", "false", ""]))


class TestPatterns:
    def test_tracks_and_systems_by_pattern(self):
        answer = songs(tracks=["a1", "a2", "b1", "b2"]).mirflow.query(tracks="a*", system="S[1]")
        assert answer["value"].values.ravel().tolist() == [pytest.approx(0.55)]
        assert answer["n_tracks"].item() == 2

    def test_a_name_that_looks_like_a_pattern_is_the_name(self):
        answer = songs(tracks=["a*", "a2", "b1", "b2"]).mirflow.query(tracks="a*", system="S0")
        assert answer["value"].item() == 0.1

    def test_several_patterns_take_each_track_once(self):
        assert songs().mirflow.query(tracks=["t*", "t1"])["n_tracks"].item() == 4

    def test_a_pattern_that_matches_nothing(self):
        with pytest.raises(QueryError, match=r"no track matches 'x\*'; there are: t0, t1"):
            songs().mirflow.query(tracks="x*")


class TestWhere:
    def test_only_tracks_for_which_it_holds(self):
        answer = songs().mirflow.query(where="genre == 'Rock' and year < 1980", missing="skip")
        assert answer["value"].values.ravel().tolist() == [0.1, 0.5]
        assert answer.attrs["where"] == "genre == 'Rock' and year < 1980"

    def test_together_with_names_and_groups(self):
        answer = songs().mirflow.query(by="genre", tracks=["t0", "t1", "t2"], where="year > 1980")
        assert answer["genre"].values.tolist() == ["Pop", "Rock"]
        assert answer["n"].values[0, 0].tolist() == [1, 1]

    def test_nothing_holds(self):
        answer = songs().mirflow.query(where="year > 2000")
        assert np.isnan(answer["value"]).all()
        assert answer["n"].values.ravel().tolist() == [0, 0]

    def test_a_name_along_another_dim(self):
        with pytest.raises(QueryError, match="where: 'system' lies along system; tracks are chosen here, by: genre"):
            songs().mirflow.query(where="system == 'S0'")

    def test_inference_is_over_the_same_tracks(self):
        found = songs().mirflow.query(where="year < 1980", replicates=10, ci=0.95)
        assert found["n"].values.ravel().tolist() == [2, 2]
        found = songs().mirflow.compare(where="year < 1980", replicates=10)
        assert found["n"].values[0, 1, 0] == 2
        assert found.attrs["where"] == "year < 1980"

    def test_every_output_names_it(self, tmp_path):
        store = write_store(tmp_path / "s.zarr", {"songs": songs()})
        title = printed("query", store, "--where", "year < 1980").splitlines()[0]
        assert title.endswith("convention mir_eval, where year < 1980")
        assert {row["where"] for row in rows("query", store, "--where", "year < 1980")} == {"year < 1980"}


class TestParameters:
    def test_metrics_with_a_value(self):
        answer = sweep().mirflow.query(param={"window": 0.1})
        assert answer["metric"].values.tolist() == ["f_measure@0.1"]
        assert answer.attrs["param"] == "window=0.1"

    def test_text_as_on_the_command_line_and_several_values(self):
        assert sweep().mirflow.query(param={"window": "0.10"})["metric"].values.tolist() == ["f_measure@0.1"]
        assert sweep().mirflow.query(param={"window": [0.05, 0.1]}).sizes["metric"] == 2

    def test_switches_are_text_in_a_store(self):
        assert sweep().mirflow.query(param={"trim": True})["metric"].values.tolist() == ["f_measure"]

    def test_several_parameters_hold_together(self):
        with pytest.raises(QueryError, match="no metric of the question has trim true; values there: false"):
            sweep().mirflow.query(param={"window": 0.1, "trim": True})

    def test_a_value_that_is_not_there(self):
        with pytest.raises(QueryError, match=r"no metric of the question has window 0.07; values there: 0.05, 0.1$"):
            sweep().mirflow.query(param={"window": 0.07})

    def test_no_parameter(self):
        with pytest.raises(UnknownNameError, match="unknown parameter 'windo'; did you mean 'window'"):
            sweep().mirflow.query(param={"windo": 0.1})
        with pytest.raises(UnknownNameError, match="unknown parameter 'unit'"):
            sweep().mirflow.query(param={"unit": "s"})


class TestOrder:
    def test_the_best_first(self):
        assert songs().mirflow.query(sort="majmin")["system"].values.tolist() == ["S1", "S0"]

    def test_lower_is_better(self):
        ds = songs(orientation=["lower"])
        assert ds.mirflow.query(sort="majmin")["system"].values.tolist() == ["S0", "S1"]

    def test_by_another_metric_than_the_one_shown(self):
        ds = make_group([[[0.9, 0.1]], [[0.1, 0.9]]], standard=["mean", "mean"])
        assert ds.mirflow.query("majmin", sort="root")["system"].values.tolist() == ["S1", "S0"]

    def test_over_the_tracks_of_the_question(self):
        ds = make_group([[[0.9], [0.1]], [[0.1], [1.0]]], standard=["mean"])
        assert ds.mirflow.query(sort="majmin")["system"].values.tolist() == ["S1", "S0"]
        assert ds.mirflow.query(sort="majmin", tracks="t0")["system"].values.tolist() == ["S0", "S1"]

    def test_by_name(self):
        ds = songs(systems=["b", "a"])
        assert ds.mirflow.query(sort="name")["system"].values.tolist() == ["a", "b"]

    def test_what_has_no_value_comes_last(self):
        status = [["failed"], ["ok"], ["ok"]]
        ds = make_group([[[np.nan]], [[0.1]], [[0.2]]], status=status, standard=["mean"])
        assert ds.mirflow.query(sort="majmin", missing="skip")["system"].values.tolist() == ["S2", "S1", "S0"]

    def test_several_metrics_are_no_order(self):
        with pytest.raises(QueryError, match=r"'f_measure' matches 2 metrics; choose one of: f_measure@0\.1, f_"):
            random_group(2, 2, 2, metrics=["f_measure@0.1", "f_measure@0.2"], standard=["mean"] * 2).mirflow.query(
                sort="f_measure"
            )

    def test_neither_way_is_better(self):
        with pytest.raises(QueryError, match="neither high nor low values of it are better"):
            songs(orientation=["none"]).mirflow.query(sort="majmin")


TRACKS = {
    "genre": np.array(["Rock", "Pop", "", "Rock"]),
    "year": np.array([1971.0, 1969.0, np.nan, 1985.0]),
    "bars": np.array([12, 16, 8, 12]),
    "live": np.array([True, False, False, True]),
    "title": np.array(["Help (live)", "Yesterday", "", "Hey"], dtype=np.dtypes.StringDType()),
    "opus number": np.array([1, 2, 3, 4]),
}


def places(expression: str) -> list[int]:
    ds = make_group(np.zeros((1, 4, 1)), tracks=list("0123"), track_meta=TRACKS)
    return [int(name) for name in ds.mirflow.query(by="track", where=expression)["track"].values]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("genre == 'Rock'", [0, 3]),
        ("genre == 'Rock' and year < 1980", [0]),
        ("genre == 'Pop' or bars == 8", [1, 2]),
        ("not genre == 'Rock'", [1, 2]),
        ("1969 < year <= 1985", [0, 3]),
        ("1980 > year", [0, 1]),
        ("genre in ['Pop', 'Jazz']", [1]),
        ("genre not in ('Pop', 'Jazz')", [0, 3]),
        ("bars in {8, 16}", [1, 2]),
        ("'live' in title", [0]),
        ("'live' not in title", [1, 3]),
        ("live", [0, 3]),
        ("not live and bars > -1", [1, 2]),
        ("True", [0, 1, 2, 3]),
        ("col('opus number') >= 3", [2, 3]),
        ("bars == year", []),
    ],
)
def test_what_holds(expression: str, expected: list[int]) -> None:
    assert places(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("year is None", [2]),
        ("genre is not None", [0, 1, 3]),
        ("genre != 'Rock'", [1]),
        ("year != 1971", [1, 3]),
        ("genre == ''", []),
        ("genre != ''", [0, 1, 3]),
    ],
)
def test_what_has_no_value_compares_with_nothing_but_none(expression: str, expected: list[int]) -> None:
    assert places(expression) == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("genre = 'Rock'", "not an expression"),
        ("", "not an expression"),
        ("genre ==", "not an expression"),
        ("genre", "genre is not a condition; compare it with a value"),
        ("year < 'x'", "'x' is text, and year is a number"),
        ("genre == 3", "genre is text, and 3 is a number"),
        ("bars in ['a']", "'a' is text"),
        ("bars in 3", "3 is neither a list nor a text"),
        ("year is 1971", "1971 follows 'is'"),
        ("__import__('os').system('true')", "is not a condition|is a call"),
        ("open('x') == 1", r"only col\('a name'\)"),
        ("col(3) == 1", "needs a name in quotes"),
        ("genre.upper() == 'ROCK'", "is a call"),
        ("bars + 1 == 13", "is not allowed here"),
        ("(lambda: 1) == 1", "is not allowed here"),
        ("bars == [x for x in (1,)]", "is not allowed here"),
        ("-genre == 'x'", "is not allowed here"),
        ("'" + "a" * 10_000 + "' == genre", "at most 10000 characters"),
        ("(" * 3000 + "live" + ")" * 3000, "not an expression"),
        ("not " * 2000 + "live", "nested too deeply|not an expression"),
        ("a\0b", "not an expression"),
    ],
)
def test_everything_else_is_refused(expression: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        places(expression)


def test_unknown_names_come_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="unknown coordinate 'gnre'; did you mean 'genre'"):
        places("gnre == 'Rock'")


@pytest.mark.slow
@given(st.lists(st.floats(-3, 3) | st.just(float("nan")), max_size=6), st.floats(-3, 3))
def test_comparisons_are_pythons(values: list[float], bound: float) -> None:
    ds = make_group(np.zeros((1, len(values), 1)), track_meta={"x": np.array(values, dtype=np.float64)})
    for text, one in (("<", lambda x: x < bound), (">=", lambda x: x >= bound), ("==", lambda x: x == bound)):
        found = ds.mirflow.query(where=f"x {text} {bound!r}")
        assert found["n_tracks"].item() == sum(map(one, values))
