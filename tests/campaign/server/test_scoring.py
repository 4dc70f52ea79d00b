"""Scores of a submission are joined to those of earlier ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mirflow.campaign.server.submissions.scoring import join
from mirflow.store import GroupContent

from ...store.example import make_cells, make_content


def scores_of(system: str, tracks: tuple[str, ...] = ("a", "b"), **coords: Any) -> GroupContent:
    cells = make_cells([(system, track) for track in tracks])
    cells = replace(cells, digest=tuple(f"{track}:{system}" for track in cells.track))
    return make_content(cells, systems=(system,), tracks=tracks, **coords)


def test_earlier_coordinates_stay_and_further_ones_are_added():
    earlier = scores_of("oak", track_coords={"genre": ["pop", None], "year": [1999, 2001]})
    new = scores_of("elm", track_coords={"genre": ["rock", "folk"], "year": [1998, 2001], "key": ["C", "D"]})
    joined = join(earlier, new)
    assert joined.systems == ("oak", "elm")
    assert joined.track_coords == {"genre": ["pop", "folk"], "year": [1999, 2001], "key": ["C", "D"]}


def test_coordinates_of_tracks_are_joined_by_name():
    earlier = scores_of("oak", ("a", "c"), track_coords={"genre": ["pop", "jazz"], "year": [1999, 2001]})
    joined = join(earlier, scores_of("elm", ("a", "b", "c"), track_coords={"genre": ["rock", "folk", "soul"]}))
    assert joined.tracks == ("a", "b", "c")
    assert joined.track_coords == {"genre": ["pop", "folk", "jazz"], "year": [1999, None, 2001]}


def test_empty_texts_and_nan_are_missing_coordinates():
    earlier = scores_of("oak", track_coords={"genre": ["", "pop"], "year": [float("nan"), 2001.0]})
    joined = join(earlier, scores_of("elm", track_coords={"genre": ["rock", "folk"], "year": [1998.0, 1997.0]}))
    assert joined.track_coords == {"genre": ["rock", "pop"], "year": [1998.0, 2001.0]}


def test_numbers_beside_texts_become_texts_and_missing_coordinates_stay_missing():
    earlier = scores_of("oak", system_coords={"year": [2011], "lab": ["IRCAM"]})
    joined = join(earlier, scores_of("elm", system_coords={"year": ["2012?"]}))
    assert joined.system_coords == {"year": ["2011", "2012?"], "lab": ["IRCAM", None]}
