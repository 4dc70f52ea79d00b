"""Oracles: the gain of the best system of each track, and the order in which systems add most."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.errors import QueryError

from ...commands import printed, rows
from ...groups import make_group, random_group, write_store


def reached(ds, systems, sign: float) -> float:
    """The weighted mean of the best of some systems on each track, by a plain loop."""
    above = below = 0.0
    for track in range(ds.sizes["track"]):
        best = max(systems, key=lambda row: sign * ds.score.values[row, track, 0])
        above += ds.score.values[best, track, 0] * ds.weight.values[best, track, 0]
        below += ds.weight.values[best, track, 0]
    return above / below


@settings(max_examples=10)
@given(st.sampled_from(["higher", "lower"]), st.integers(0, 20))
def test_systems_come_in_the_order_in_which_they_add_most(way, seed):
    sign = 1 if way == "higher" else -1
    ds = random_group(5, 12, 1, seed=seed, orientation=[way])
    found = ds.mirflow.oracle("majmin")
    order = np.argsort(found["step"].values[:, 0]).tolist()
    for size in range(1, 6):
        value = found["together"].values[order[size - 1], 0]
        assert value == pytest.approx(reached(ds, order[:size], sign), abs=1e-12)
        others = [reached(ds, [*order[: size - 1], one], sign) for one in range(5) if one not in order[: size - 1]]
        assert sign * value == pytest.approx(max(sign * one for one in others), abs=1e-12)
    assert found["oracle"].item() == pytest.approx(reached(ds, range(5), sign), abs=1e-12)
    gain = sign * (found["oracle"].item() - found["value"].values[order[0], 0])
    assert found["gain"].item() == pytest.approx(gain, abs=1e-12)
    assert found["low"].item() <= gain <= found["high"].item()


def test_the_interval_of_the_gain_is_that_of_paired_tracks():
    ds = random_group(2, 30, 1, seed=3)
    found = ds.mirflow.oracle("majmin", "mean")
    leader = found["step"].values[:, 0].tolist().index(1)
    score = ds.score.values[..., 0]
    gains = make_group((score.max(axis=0) - score[leader])[np.newaxis, :, np.newaxis], standard=["mean"])
    alone = gains.mirflow.query("majmin", ci=0.95)
    assert [found[name].item() for name in ("gain", "low", "high")] == pytest.approx(
        [alone[name].item() for name in ("value", "low", "high")], abs=1e-12
    )


def test_of_many_systems_the_first_thirty_are_in_order_and_all_count():
    ds = random_group(40, 200, 1)
    found = ds.mirflow.oracle("majmin")
    assert sorted(found["step"].values.ravel().tolist()) == [0] * 10 + list(range(1, 31))
    assert found["oracle"].item() == pytest.approx(reached(ds, range(40), 1), abs=1e-12)
    assert found["together"].values[found["step"].values == 30].item() <= found["oracle"].item()


def test_ties_count_in_equal_parts():
    ds = make_group(np.array([[0.5, 0.2, 0.9], [0.5, 0.4, 0.9], [0.1, 0.4, 0.9]])[..., np.newaxis])
    assert ds.mirflow.oracle("majmin")["best_on"].values.ravel() == pytest.approx([5 / 6, 4 / 3, 5 / 6])


def test_tables_for_people_and_programs(tmp_path):
    store = write_store(tmp_path / "s.zarr", {"chord": random_group(3, 9, 1)})
    listed = rows("oracle", store, "-m", "majmin", "--level", "0.9")
    assert sorted(row["step"] for row in listed) == [1, 2, 3]
    assert {row["level"] for row in listed} == {0.9}
    last = next(row for row in listed if row["step"] == 3)
    assert last["together"] == last["oracle"]
    assert f"oracle: the best of 3 systems on each track, {last['oracle']:.4f}" in printed(
        "oracle", store, "-m", "majmin"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": "skip"}, "choose missing common or zero, not 'skip'"),
        ({"system": "S0"}, "1 system to compare; at least two are needed"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(QueryError, match=message):
        random_group(2, 4, 1).mirflow.oracle("majmin", **options)
