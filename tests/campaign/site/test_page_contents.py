"""What pages show is what queries, exports and stores say."""

from __future__ import annotations

import numpy as np
import pytest

import mirflow
from mirflow.campaign.site import page_contents
from mirflow.campaign.site.pages import runtimes_of
from mirflow.errors import QueryError, UnknownNameError
from mirflow.store.cells import Status
from mirflow.store.read import read_scores

from ...groups import CODES, make_group, random_group, write_store


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    groups = {
        "chord": random_group(4, 12, 3, track_meta={"genre": list("pppppprrrrrr")}),
        "beat": make_group([[[0.5, 3.0]], [[0.75, 3.0]], [[0.75, 1.0]]], orientation=["higher", "lower"]),
    }
    return write_store(tmp_path_factory.mktemp("contents") / "campaign.zarr", groups)


@pytest.fixture(scope="module")
def found(path):
    return page_contents.store("campaign", read_scores(path))


def track_page(found, name, track):
    return next(page_contents.each_track(found, page_contents.evaluation(found, name), track))


def test_the_table_of_an_evaluation_is_that_of_a_query(path, found):
    page = page_contents.evaluation(found, "chord")
    best_first = mirflow.query(path, "majmin", group="chord", ci=0.95).dataset
    assert [row.system.name for row in page.rows] == best_first["system"].values.tolist()
    assert [row.score.value for row in page.rows] == pytest.approx(best_first["value"].values[:, 0], rel=1e-14)
    assert [row.score.low for row in page.rows] == pytest.approx(best_first["low"].values[:, 0], rel=1e-14)
    assert page.headline.name == "majmin"
    assert [one.name for one in page.main] == ["root", "seg"]
    assert page.leader is page.rows[0]
    marked = mirflow.query(path, "majmin", group="chord", significance=0.95).dataset
    like = marked["system"].values[marked["like_best"].values[:, 0]].tolist()
    assert [page.leader.system.name, *page.like_best] == like


def test_scores_are_drawn_against_the_run_times_that_are_known():
    group = make_group([[[0.8]], [[0.9]], [[0.7]], [[0.5]], [[0.6]]], systems=["elm", "oak", "fir", "ash", "yew"])
    group = group.assign_coords(runtime=("system", ["120", "", "3600", "7.5", "a day"]))
    chart = runtimes_of(page_contents.store("s", {"chord": group}).evaluation("chord"))
    assert [(one.system, one.seconds) for one in chart.points] == [("ash", 7.5), ("elm", 120.0), ("fir", 3600.0)]
    assert chart.best == ["ash", "elm"]
    assert chart.left_out == 2
    seconds, along = [np.log(one.seconds) for one in chart.points], [one.x for one in chart.points]
    slope, start = np.polyfit(seconds, along, 1)
    assert along == pytest.approx([slope * one + start for one in seconds], abs=0.1)
    ticks = {text: place for place, text in chart.times}
    assert ticks["1 min"] == pytest.approx(slope * np.log(60) + start, abs=0.1)
    rise, base = np.polyfit([one.value for one in chart.points], [one.y for one in chart.points], 1)
    assert rise < 0
    assert [place for place, _ in chart.values] == pytest.approx(
        [rise * float(text) + base for _, text in chart.values], abs=0.2
    )


def test_a_system_is_shown_by_all_metrics_with_its_rank_by_each(found):
    page = page_contents.system(found, "beat", "S2")
    assert [(row.metric.name, row.score.value, row.rank, row.best) for row in page.metrics] == [
        ("majmin", 0.75, 1, "S1"),
        ("root", 1.0, 1, "S2"),
    ]
    assert [(one.evaluation, one.rank, one.verdict) for one in page.gaps] == [
        ("beat", 1, ""),
        ("chord", 3, "not told apart"),
    ]
    other = page_contents.system(found, "beat", "S0")
    assert [(row.rank, row.best) for row in other.metrics] == [(3, "S1"), (2, "S2")]


def test_systems_are_beside_the_leader_as_a_comparison_says(path, found):
    compared = mirflow.compare(path, "majmin", group="chord").dataset.isel(metric=0)
    first, second = [row.system.name for row in page_contents.evaluation(found, "chord").rows][:2]
    for system in compared["system"].values.tolist():
        (own,) = [one for one in page_contents.system(found, "chord", system).gaps if one.evaluation == "chord"]
        pair = compared.sel(system=system, other=second if system == first else first)
        assert own.leader == pair["other"].item()
        expected = [pair[name].item() for name in ("difference", "low", "high")]
        assert [own.difference, own.low, own.high] == pytest.approx(expected, rel=1e-12)
        assert (own.verdict == "worse") == pair["significant"].item()
    # Aggregates alone have no paired tracks.
    guarded = page_contents.store("campaign", read_scores(path), only_aggregates=True)
    assert {(one.low, one.high) for one in page_contents.system(guarded, "chord", second).gaps} == {(None, None)}


def test_a_profile_begins_with_who_and_when_and_has_the_best_of_each_year():
    group = make_group([[[0.5]], [[0.25]], [[0.75]]], systems=["A1", "B1", "B2"])
    group = group.assign_coords(rules=("system", ["1"] * 3), authors=("system", ["Ada", "", ""]))
    group = group.assign_coords(year=("system", [2012, 2012, 2013]))
    found = page_contents.store("s", {"chord": group})
    page = page_contents.system(found, "chord", "A1")
    assert page.facts == [("authors", "Ada"), ("year", 2012), ("rules", "1")]
    first, second = page.years.line.points
    assert [(one.entry.year, one.entry.system) for one in (first, second)] == [(2012, "A1"), (2013, "B2")]
    assert (page.years.x, page.years.y) == (first.x, first.y)
    # One scale: half as good is half as high.
    other = page_contents.system(found, "chord", "B1").years
    assert (96 - other.y) * 2 == pytest.approx(96 - first.y, abs=0.2)
    assert (
        page_contents.system(page_contents.store("s", {"chord": group.drop_vars("year")}), "chord", "A1").years is None
    )


@pytest.mark.parametrize("years", [[2012.0, np.nan, 2013.0], ["2012", "", "2013"], ["2012", "unknown", "2013"]])
def test_a_system_without_a_year_is_not_beside_those_that_have_one(years):
    group = make_group([[[0.5]], [[0.25]], [[0.75]]]).assign_coords(year=("system", years))
    found = page_contents.store("s", {"chord": group})
    assert [page_contents.system(found, "chord", name).years is None for name in ("S0", "S1", "S2")] == [
        False,
        True,
        False,
    ]


def test_worst_tracks_of_a_system_are_those_of_a_query(path, found):
    page = page_contents.system(found, "chord", "S1")
    worst = mirflow.worst(path, "majmin", group="chord", system="S1", n=12).dataset
    assert [one.name for one in page.tracks] == worst["track"].values[0].tolist()
    assert [one.score for one in page.tracks] == worst["value"].values[0].tolist()


def test_tracks_are_listed_from_the_worst_on_and_lead_to_their_neighbours(path, found):
    listed = page_contents.tracks(found, "chord")["tracks"]
    worst = mirflow.worst(path, "majmin", group="chord", n=12, overall=True).dataset
    assert [one.name for one in listed] == worst["track"].values.tolist()
    np.testing.assert_allclose([one.mean for one in listed], worst["value"].values, rtol=1e-14)
    pages = list(page_contents.each_track(found, page_contents.evaluation(found, "chord")))
    assert [page.track for page in pages] == [one.name for one in listed]
    assert [page.before for page in pages] == [None, *(one.name for one in listed[:-1])]
    assert [page.after for page in pages] == [*(one.name for one in listed[1:]), None]
    assert pages[3] == track_page(found, "chord", listed[3].name)
    ds = read_scores(path)["chord"]
    own = ds["score"].sel(track=listed[3].name, metric="majmin")
    assert {row.system: row.scores[0] for row in pages[3].rows} == dict(
        zip(ds["system"].values.tolist(), own.values.tolist(), strict=True)
    )
    assert [row.scores[0] for row in pages[3].rows] == sorted(own.values.tolist(), reverse=True)
    assert ("genre", "p") in pages[3].facts or ("genre", "r") in pages[3].facts


def test_with_low_values_good_the_worst_are_the_largest(tmp_path):
    score = [[[1.0], [2.0], [np.nan]], [[0.5], [4.0], [3.0]]]
    group = make_group(score, orientation=["lower"], standard=["mean"])
    found = page_contents.store("s", {"deviation": group})
    listed = page_contents.tracks(found, "deviation")["tracks"]
    assert [(one.name, one.mean, one.spread) for one in listed] == [
        ("t1", 3.0, 2.0),
        ("t2", 3.0, 0.0),
        ("t0", 0.75, 0.5),
    ]
    page = track_page(found, "deviation", "t2")
    assert [(row.system, row.scores) for row in page.rows] == [("S1", [3.0]), ("S0", [None])]
    assert page_contents.system(found, "deviation", "S0").tracks[0].name == "t1"


def test_with_only_aggregates_there_are_no_tracks(path):
    found = page_contents.store("campaign", read_scores(path), only_aggregates=True)
    assert not page_contents.evaluation(found, "chord").has_tracks
    assert page_contents.system(found, "chord", "S1").tracks == []
    for ask in (lambda: page_contents.tracks(found, "chord"), lambda: track_page(found, "chord", "t1")):
        with pytest.raises(UnknownNameError, match="evaluation with scores by track"):
            ask()


def test_messages_that_may_quote_a_reference_are_left_out_without_references():
    group = make_group([[[np.nan], [1.0]]], status=[["invalid", "ok"]])
    group["message"] = group["message"].astype(object).where(group["status"] == CODES["ok"], "not a chord: 'H:moll'")
    shown, hidden = (page_contents.store("s", {"chord": group}, references=own) for own in (True, False))
    assert [one.message for one in page_contents.system(shown, "chord", "S0").problems] == ["not a chord: 'H:moll'"]
    assert [(one.status, one.message) for one in page_contents.system(hidden, "chord", "S0").problems] == [
        (Status.invalid, "")
    ]


def test_names_that_are_not_there_are_refused_with_suggestions(found):
    with pytest.raises(UnknownNameError, match=r"evaluation 'chrod'.*chord"):
        page_contents.evaluation(found, "chrod")
    with pytest.raises(UnknownNameError, match="system 'S9'"):
        page_contents.system(found, "chord", "S9")
    with pytest.raises(UnknownNameError, match="track 't99'"):
        track_page(found, "chord", "t99")
    with pytest.raises(QueryError, match="s: no evaluation has systems and a metric"):
        page_contents.store("s", {})


def test_a_ranking_that_a_constant_estimate_wins_says_so():
    ranked_by_mirex = make_group([[[0.8]], [[0.9]]], metrics=["mirex"])
    (said,) = page_contents.evaluation(page_contents.store("s", {"chord": ranked_by_mirex}), "chord").warnings
    assert said == "systems are ranked by mirex, by which X from beginning to end is within a tenth of perfect"
    assert not page_contents.evaluation(page_contents.store("s", {"chord": make_group([[[0.8]]])}), "chord").warnings
