"""The front page: who leads, what happened, and what to listen to; and the search over all pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from mirflow.campaign.site.changes import Change
from mirflow.campaign.site.front_page import front, news_of, worth_listening
from mirflow.campaign.site.page_contents import LEADERS, store

from ...commands import printed
from ...groups import make_group, random_group, write_store


@pytest.fixture(scope="module")
def campaign():
    groups = {
        "beat": make_group([[[0.5, 3.0]], [[0.75, 3.0]], [[0.75, 1.0]]], orientation=["higher", "lower"]),
        "chord": random_group(4, 12, 3),
    }
    return store("campaign", groups)


def test_the_front_page_has_all_evaluations_and_all_systems(campaign):
    other = store("other", {"beat": make_group([[[0.5]], [[0.25]]], systems=["S1", "new"])})
    page = front([campaign, other])
    assert [(one.store.name, one.evaluation.name) for one in page.evaluations] == [
        ("campaign", "beat"),
        ("campaign", "chord"),
        ("other", "beat"),
    ]
    assert page.systems == 6
    # A system of the same name in another store may be another system.
    assert page.namesakes == ["S1"]
    # In splits of one campaign it is one submission.
    page = front([campaign, other], splits=["campaign", "other"])
    assert (page.systems, page.namesakes) == (5, [])
    assert front([campaign, other], splits=["campaign"]).systems == 6


def address(name, **parts):
    return "/".join(parts.values())


def test_a_scorecard_has_the_systems_of_evaluations_that_share_some_and_leads_to_these(campaign):
    apart = {"chord": random_group(2, 6, 1, systems=["x", "y"]), **dict.fromkeys(("a", "b"), random_group(3, 6, 1))}
    page = front([campaign, store("other", apart)])
    (card,), alone = page.below_the_first(campaign, address)
    assert alone == []
    assert card.count('href="campaign/chord"') == 5  # the head, and a cell for each system
    assert card.count('href="campaign/beat"') == 4
    (card,), alone = page.below_the_first(next(one for one in page.stores if one.name == "other"), address)
    assert "other/a" in card
    assert "other/chord" not in card
    assert alone == []  # the first one is above
    turned = front([store("turned", dict(reversed(apart.items())))])
    _, (chord,) = turned.below_the_first(turned.stores[0], address)
    assert chord.evaluation.name == "chord"


def test_evaluations_with_the_same_tracks_to_listen_to_are_named_together():
    scores = random_group(3, 9, 1)
    page = front([store("s", {"chord": scores, "strict": scores, "key": random_group(3, 9, 1, seed=1)})])
    assert [(one.evaluation, [*one.same]) for one in page.listening] == [("chord", ["strict"]), ("key", [])]


def test_leaders_are_shown_with_what_the_viewer_has_submitted():
    scores = np.linspace(0.9, 0.1, 15)[:, None] + np.random.default_rng(1).uniform(-0.01, 0.01, (15, 20))
    page = front([store("s", {"chord": make_group(scores[..., None])})], own={"s": {"S13"}, "other": {"S14"}})
    chart = page.evaluations[0].leaders(address)
    assert re.findall(r'href="s/chord/(S\d+)"', chart) == [f"S{row}" for row in (*range(LEADERS), 13)]
    assert chart.count("yours") == 1


@pytest.mark.parametrize("lower", [False, True])
def test_a_reference_is_suspect_where_even_the_best_system_fails(lower):
    scores = np.random.default_rng(2).uniform(0.8, 0.9, (3, 20))
    scores[:, 7] = [0.2, 0.1, 0.15]
    scores[:, 4] = [0.88, 0.85, 0.01]
    given = (1 - scores if lower else scores)[..., None]
    group = make_group(given, orientation=["lower" if lower else "higher"])
    (found,) = worth_listening(store("s", {"chord": group}))
    assert (found.store, found.evaluation) == ("s", "chord")
    assert [one.name for one in found.suspects] == ["t7"]
    assert found.suspects[0].score == pytest.approx(0.8 if lower else 0.2)
    assert [one.name for one in found.disputed][:2] == ["t4", "t7"]
    assert found.disputed[0].spread == pytest.approx(0.87)


def test_nothing_is_suspect_where_all_is_alike_or_tracks_are_few():
    even = np.full((2, 20, 1), 1.0)
    assert worth_listening(store("s", {"chord": make_group(even)})) == []
    few = make_group([[[0.9], [0.9], [0.0]], [[0.9], [0.9], [0.1]]])
    (found,) = worth_listening(store("s", {"chord": few}))
    assert found.suspects == []
    assert [one.name for one in found.disputed] == ["t2"]
    assert worth_listening(store("s", {"chord": random_group(1, 20, 1)})) == []


def test_tracks_without_a_score_are_not_suspect():
    scores = np.random.default_rng(3).uniform(0.8, 0.9, (2, 12, 1))
    scores[:, 3] = np.nan
    scores[0, 5] = np.inf
    (found,) = worth_listening(store("s", {"chord": make_group(scores, unit=["s"])}))
    assert found.suspects == []
    assert not {"t3", "t5"} & {one.name for one in found.disputed}


def test_with_only_aggregates_there_is_nothing_about_tracks():
    assert worth_listening(store("s", {"chord": random_group(4, 12, 1)}, only_aggregates=True)) == []


def test_news_lead_to_the_evaluations_that_are_there(campaign):
    here, gone = (
        Change("tag:x", "2026-11-22T10:00:00+00:00", "campaign", name, f"{name} (campaign): new", ["leads: S1"])
        for name in ("chord", "melody")
    )
    found = news_of([here, gone], [campaign])
    assert [(one.title, one.page) for one in found] == [
        ("chord (campaign): new", "evaluation"),
        ("melody (campaign): new", ""),
    ]
    assert dict(found[0].parts) == {"store": "campaign", "evaluation": "chord"}


def test_many_evaluations_of_one_run_are_one_item_of_news(campaign):
    time = "2026-11-22T10:00:00+00:00"
    changes = [
        Change("tag:x", time, "campaign", n, f"{n} (campaign): new, 2 systems", []) for n in ("A", "B", "C", "D")
    ]
    (item,) = news_of(changes, [campaign])
    assert (item.title, item.page, dict(item.parts)) == (
        "campaign: 4 evaluations are new",
        "store",
        {"store": "campaign"},
    )
    assert item.details == ["A: new, 2 systems", "B: new, 2 systems", "C: new, 2 systems", "D: new, 2 systems"]
    changes[0] = Change("tag:x", time, "campaign", "A", "A (campaign): removed", [])
    assert [one.title for one in news_of(changes, [])] == ["campaign: 4 evaluations changed"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("searched")
    tracks = {"tracks": ["a b", "t1"], "track_meta": {"title": ["Été", None], "genre": ["Pop", "Jazz"]}}
    groups = {name: random_group(2, 2, 1, systems=["KO1", "x/y"], **tracks) for name in ("chord", "key")}
    store = write_store(folder / "tunes.zarr", groups)
    printed("site", store, "-o", folder / "site", "--timelines", "none", "--url", "https://lab.org/tunes/")
    return folder / "site"


def index_of(site: Path) -> dict[str, object]:
    before, _, text = (site / "search.js").read_text().partition(" = ")
    assert before == "globalThis.searchIndex"
    return json.loads(text.rstrip(";\n"))


def test_the_index_has_each_page_once_with_its_address_and_the_titles_of_tracks(site):
    index = index_of(site)
    assert index["left"] == {}
    found = {}
    for kind, where, before, after, names in index["groups"]:
        for given in names:
            name, own, *words = [given, given] if isinstance(given, str) else given
            assert where == "tunes"
            assert (site / (before + own + after)).is_file()
            found[kind, name] = (before + own + after, *words)
    assert found["evaluation", "key"] == ("stores/tunes/key/index.html", "Chord estimation")
    assert found["system", "x/y"] == ("stores/tunes/chord/systems/x~2Fy/index.html",)
    assert found["track", "a b"] == ("stores/tunes/chord/tracks/a~20b/index.html", "Été")
    assert len(found) == 6


def test_without_scripts_all_names_are_on_a_page(site):
    text = (site / "all/index.html").read_text()
    for name in ("../stores/tunes/key/systems/KO1/index.html", "../stores/tunes/key/tracks/index.html"):
        assert f'href="{name}"' in text


def test_the_page_for_addresses_without_a_file_has_links_from_the_root_of_the_host(site):
    text = (site / "404.html").read_text()
    for link in ('action="/tunes/all/"', 'data-index="/tunes/search.js"', 'href="/tunes/static/site.'):
        assert link in text
    assert '="static/' not in text
