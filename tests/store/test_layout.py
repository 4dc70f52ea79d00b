from __future__ import annotations

import json
import math
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.errors import StoreError, UnknownNameError
from mirflow.metrics.base import Sparse
from mirflow.metrics.measures import Metric, Parameter, describe, select
from mirflow.store import GroupContent, StoreWriter, read_group, resolve
from mirflow.store.cells import Status, concatenate_cells
from mirflow.store.format import loaded
from mirflow.store.read import content_of, dataset_of, read_scores

from ..groups import random_group
from .example import (
    CREATED,
    MEASURES,
    SYSTEMS,
    TRACKS,
    all_pairs,
    assert_same_cells,
    files_of,
    make_cells,
    make_content,
    value_of,
)
from .strategies import cells, names


@pytest.fixture
def published(tmp_path):
    """Publishes contents and gives the Zarr group of the first."""

    def publish(*contents: GroupContent, attrs=None):
        with StoreWriter(tmp_path / "x.zarr") as writer:
            writer.publish(contents, attrs, created=CREATED)
        return zarr.open_group(str(tmp_path / "x.zarr"), mode="r")[contents[0].name]

    return publish


def round_trip(content: GroupContent) -> GroupContent:
    with tempfile.TemporaryDirectory() as folder:
        with StoreWriter(Path(folder) / "x.zarr") as writer:
            writer.publish([content])
        return read_group(Path(folder) / "x.zarr", content.name)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_written_is_read(data):
    systems, tracks = data.draw(names), data.draw(names)
    content = GroupContent("chord", systems, tracks, data.draw(cells(systems, tracks)))
    back = round_trip(content)
    assert (back.name, back.systems, back.tracks) == ("chord", systems, tracks)
    assert_same_cells(back.cells, content.cells)


def test_coordinates_and_attributes_come_back():
    content = make_content(
        metric_coords={"title": ("Root", "MajMin", "Seg"), "window": (math.nan, math.nan, 0.5)},
        system_coords={"label": ("a", "", "ü")},
        track_coords={"year": tuple(range(1964, 1971)), "live": (True, False) * 3 + (True,)},
        attrs={"task": "chord", "parameters": {"seg@0.5": {"window": 0.5}}, "pipeline": "name: x\n"},
    )
    back = round_trip(content)
    assert (back.system_coords, back.track_coords, back.attrs) == (
        content.system_coords,
        content.track_coords,
        content.attrs,
    )
    np.testing.assert_array_equal(back.metric_coords["window"], content.metric_coords["window"])


def test_what_describes_the_measures_can_be_stored():
    hit = Metric("f_measure", "F-measure", "hits", "events", parameters=(Parameter("window", 0.05, "s"),))
    plain = Metric("root", "Root", "roots", "seconds", parameters=(Parameter("rule", "root"),), recall=True)
    measures = select(["root", "f_measure@0.1"], [hit, plain])
    coords = {name: values.tolist() for name, values in describe(measures).items() if name != "metric"}
    some = make_cells(all_pairs(), tuple(map(str, measures)))
    back = round_trip(make_content(some, metric_coords=coords))
    assert back.metric_coords["rule"] == ("root", "")
    assert back.metric_coords["window"][1] == 0.1
    assert back.metric_coords["version"] == (1, 1)
    assert back.metric_coords["aggregates"][0].split()[-1] == "wcsr_total"


def test_cells_that_were_not_computed_read_as_such(published):
    group = published(make_content(make_cells([("KO1", TRACKS[2])])))
    status = group["status"][...]
    assert status[0, 2] == Status.ok
    assert np.count_nonzero(status) == 1
    assert np.isnan(group["score"][...]).sum() == (3 * 7 - 1) * 3
    assert np.count_nonzero(group["weight"][...]) == 3
    assert np.isnan(group["duration"][...]).sum() == 6


def test_each_score_stands_in_its_own_place(published):
    pairs = all_pairs()[::-1]
    group = published(make_content(make_cells(pairs)))
    expected = [[[value_of(s, t, m) for m in MEASURES] for t in TRACKS] for s in SYSTEMS]
    np.testing.assert_array_equal(group["score"][...], expected)
    np.testing.assert_array_equal(group["weight"][...], np.array(expected) * 100)


def test_the_later_of_two_results_of_a_cell_counts():
    both = concatenate_cells(
        [make_cells(all_pairs(), extras=True), make_cells([("KO1", TRACKS[0])], offset=5, extras=True)]
    )
    back = round_trip(make_content(both)).cells
    assert back.score[0, 0] == value_of("KO1", TRACKS[0], MEASURES[0]) + 5
    assert back.score[1, 0] == value_of("KO1", TRACKS[1], MEASURES[0])
    sparse = back.extras["confusion"]
    assert sparse.value[sparse.index[:, 0] == 0].tolist() == [1.0, 2.0]


def test_cells_of_systems_and_tracks_that_are_not_named_are_left_out():
    back = round_trip(make_content(make_cells(all_pairs(), extras=True), systems=("Ünï",), tracks=TRACKS[1:3]))
    assert_same_cells(
        replace(back.cells, extras={}),
        replace(
            make_cells([("Ünï", t) for t in TRACKS[1:3]]),
            stamp=back.cells.stamp,
            repairs=np.array([15, 16], dtype=np.int32),
        ),
    )
    assert back.cells.extras["confusion"].index[:, 0].tolist() == [1, 1]


def test_the_layout_is_as_documented(published):
    group = published(make_content(make_cells(all_pairs(), extras=True)))
    form = {name: (str(a.dtype), a.metadata.dimension_names, a.chunks) for name, a in group.arrays()}
    both = ("system", "track")
    assert form == {
        "system": ("StringDType()", ("system",), (3,)),
        "track": ("StringDType()", ("track",), (7,)),
        "metric": ("StringDType()", ("metric",), (3,)),
        "ref": ("StringDType()", ("ref",), (3,)),
        "est": ("StringDType()", ("est",), (2,)),
        "score": ("float64", (*both, "metric"), (1, 7, 3)),
        "weight": ("float64", (*both, "metric"), (1, 7, 3)),
        "status": ("int8", both, (1, 7)),
        "repairs": ("int32", both, (1, 7)),
        "stamp": ("int64", both, (1, 7)),
        "message": ("StringDType()", both, (1, 7)),
        "digest": ("StringDType()", both, (1, 7)),
        "duration": ("float64", ("track",), (7,)),
        "confusion": ("float64", (*both, "ref", "est"), (1, 7, 3, 2)),
    }
    assert group["status"].attrs["flag_values"] == list(range(9))
    assert group["status"].attrs["flag_meanings"].split()[:3] == ["not_computed", "ok", "missing_estimate"]
    assert group["duration"].attrs["units"] == group["confusion"].attrs["units"] == "s"
    assert all("long_name" in array.attrs for _, array in group.arrays())


def test_the_same_content_is_the_same_bytes_but_for_the_time_of_creation(tmp_path):
    content = make_content(make_cells(all_pairs(), extras=True), track_coords={"genre": ("rock", None) * 3 + ("pop",)})
    again = replace(content, cells=content.cells.take(np.arange(len(content.cells))[::-1].copy()))
    folders = []
    for name, one in (("x", content), ("y", again)):
        with StoreWriter(tmp_path / name) as writer:
            folders.append(files_of(writer.publish([one], {"name": "n"}, created=f"2000-01-01T00:00:0{len(name)}")))
    assert folders[0] == folders[1]
    with StoreWriter(tmp_path / "z") as writer:
        other = files_of(writer.publish([content], {"name": "n"}))
    different = {name for name in other if other[name] != folders[0][name]}
    assert different == {"zarr.json", "chord/zarr.json"}
    metadata = json.loads(other["chord/zarr.json"])
    metadata["attributes"]["created"] = "2000-01-01T00:00:01"
    assert metadata == json.loads(folders[0]["chord/zarr.json"])


def test_chunks_of_siblings_without_entries_are_not_written(tmp_path):
    pairs = all_pairs(("a", "b"), tuple(f"{i:04d}" for i in range(600)))
    at = pairs.index(("b", "0300"))
    sparse = Sparse(("ref",), (("A", "B"),), np.array([[at, 1]]), np.array([2.5]))
    some = replace(make_cells(pairs), extras={"seconds": sparse})
    with StoreWriter(tmp_path / "x") as writer:
        folder = writer.publish([GroupContent("chord", ("a", "b"), tuple(f"{i:04d}" for i in range(600)), some)])
    assert sorted(files_of(folder / "chord" / "seconds")) == ["c.1.1.0", "zarr.json"]
    values = zarr.open_array(str(folder / "chord" / "seconds"), mode="r")[...]
    assert values[1, 300].tolist() == [0.0, 2.5]
    assert values.sum() == 2.5


def test_large_siblings_get_chunks_of_fewer_tracks(published):
    labels = tuple(f"{i:03d}" for i in range(170))
    index = np.array([[0, 3, 4], [1, 169, 169], [20, 0, 1]])
    sparse = Sparse(("ref", "est"), (labels, labels), index, np.array([1.0, 2.0, 3.0]))
    content = make_content(replace(make_cells(all_pairs()), extras={"all": sparse}), tracks=TRACKS)
    assert published(content)["all"].chunks[1] == 7
    many = replace(content, tracks=tuple(f"{i}" for i in range(50)))
    assert published(many)["all"].chunks[1] == 2**19 // 170**2


def test_missing_entries_read_as_the_fill_of_their_result(published):
    sparse = Sparse(
        ("annotator", "metric"), (("A", "B"), MEASURES), np.array([[4, 1, 2]]), np.array([0.0]), fill=np.nan
    )
    group = published(make_content(replace(make_cells(all_pairs()), extras={"each": sparse})))
    values = group["each"][...]
    assert values[0, 4, 1, 2] == 0.0
    assert np.isnan(values).sum() == values.size - 1
    assert group["each"].metadata.dimension_names == ("system", "track", "annotator", "metric")


def test_two_siblings_share_a_dim_only_if_they_agree_on_its_labels():
    def sparse(labels):
        return Sparse(("ref",), (labels,), np.array([[0, 1]]), np.array([1.0]))

    # The first name takes the dim, in whatever order they were computed.
    extras = {"root": sparse(("C", "D")), "seventh": sparse(("A", "B")), "majmin": sparse(("A", "B"))}
    content = make_content(replace(make_cells(all_pairs()), extras=extras))
    assert_same_cells(round_trip(content).cells, content.cells)
    with tempfile.TemporaryDirectory() as folder:
        with StoreWriter(Path(folder) / "x") as writer:
            writer.publish([content])
        group = zarr.open_group(f"{folder}/x", mode="r")["chord"]
        found = {name: group[name].metadata.dimension_names[2] for name in extras}
    assert found == {"majmin": "ref", "root": "root_ref", "seventh": "ref"}


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ((1, 2, 3), np.array([1, 2, 3])),
        ((1, None, 3), np.array([1.0, np.nan, 3.0])),
        ((1, 2.5, None), np.array([1.0, 2.5, np.nan])),
        ((True, False, True), np.array([True, False, True])),
        ((True, None, False), ["true", "", "false"]),
        (("rock", None, ""), ["rock", "", ""]),
        ((1, "x", 2.5), ["1", "x", "2.5"]),
        ((None, None, None), ["", "", ""]),
        ((2**70, 1, 2), np.array([2.0**70, 1.0, 2.0])),
    ],
)
def test_metadata_gets_the_narrowest_type_that_holds_all_of_it(published, given, stored):
    values = published(make_content(system_coords={"meta": given}))["meta"][...]
    if isinstance(stored, list):
        assert values.tolist() == stored
    else:
        np.testing.assert_array_equal(values, stored, strict=True)


def test_names_of_metadata_become_names_of_coordinates(published):
    group = published(
        make_content(
            track_coords={"release year": [1] * 7, "duration": [2] * 7, "year": [3] * 7, "a/b": [4] * 7},
            system_coords={"year": [5] * 3},
            metric_coords={"weight": ["x"] * 3},
        )
    )
    assert group.attrs["coordinates"].split() == [
        "metric_weight", "release_year", "track_duration", "year", "a_b", "system_year",
    ]  # fmt: skip
    assert group["release_year"].attrs["long_name"] == "release year"
    assert group["system_year"][...].tolist() == [5, 5, 5]


def test_a_name_of_the_stores_own_in_another_case_gets_its_dim_in_front(published):
    """On a file system that folds case, ``Track`` and ``track`` would be one folder."""
    coords = {"Track": [1] * 7, "Score": [2] * 7, "Weight": [3] * 7}
    group = published(make_content(track_coords=coords, system_coords={"SYSTEM": [4] * 3}))
    assert group.attrs["coordinates"].split() == ["track_Track", "track_Score", "track_Weight", "system_SYSTEM"]
    names = [name.casefold() for name in group.array_keys()]
    assert len(set(names)) == len(names)


def test_a_dim_whose_name_a_coordinate_has_in_another_case_gets_the_variables_in_front(published):
    group = published(make_content(make_cells(all_pairs(), extras=True), track_coords={"EST": [1] * 7}))
    names = [name.casefold() for name in group.array_keys()]
    assert {"EST", "ref", "confusion_est"} <= set(group.array_keys())
    assert len(set(names)) == len(names)


def test_names_that_are_not_utf8_are_stored_as_escapes(published):
    group = published(make_content(make_cells([("KO1", "caf\udce9")]), tracks=("caf\udce9",)))
    assert group["track"][...].tolist() == ["caf\\udce9"]
    assert group["status"][0, 0] == Status.ok


def test_groups_are_separate(tmp_path):
    one, two = make_content(), make_content(make_cells(all_pairs(), offset=1), name="chord_mirex2013")
    with StoreWriter(tmp_path / "x") as writer:
        writer.publish([one, two])
        assert list(writer.contents()) == ["chord", "chord_mirex2013"]
        assert_same_cells(read_group(tmp_path / "x", "chord").cells, one.cells)
        assert_same_cells(loaded(writer.contents()["chord_mirex2013"]).cells, two.cells)
        writer.publish([two])
        assert "chord" not in writer.contents()
    with pytest.raises(UnknownNameError, match=r"unknown group of .*x 'chords'; .*chord_mirex2013"):
        read_group(tmp_path / "x", "chords")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "a-b"}, "invalid group name 'a-b': expected an identifier"),
        ({"tracks": ("a", "b", "a")}, "track 'a' is given twice"),
        ({"systems": ("a", "a")}, "system 'a' is given twice"),
        ({"track_coords": {"year": (1, 2)}}, "coordinate 'year' has 2 values, not 7"),
        (
            {"track_coords": {"a b": (1,) * 7, "a_b": (1,) * 7, "a\tb": (1,) * 7}},
            "of track is given twice as 'track_a_b'",
        ),
        ({"cells": replace(make_cells(all_pairs()), message=("",))}, "differ in length"),
        ({"cells": replace(make_cells(all_pairs()), weight=np.full((21, 3), np.nan))}, "a weight is NaN"),
    ],
)
def test_content_that_contradicts_itself_is_refused_and_the_store_stays(tmp_path, changes, message):
    with StoreWriter(tmp_path / "x") as writer:
        before = files_of(writer.publish([make_content()]))
        with pytest.raises(StoreError, match=message):
            writer.publish([make_content(**changes)])
    assert files_of((tmp_path / "x").resolve()) == before


def test_two_groups_of_one_name_are_refused(tmp_path):
    with StoreWriter(tmp_path / "x") as writer, pytest.raises(StoreError, match="duplicate group among"):
        writer.publish([make_content(), make_content()])


def test_a_damaged_chunk_is_an_error_and_never_a_number(tmp_path):
    with StoreWriter(tmp_path / "x") as writer:
        folder = writer.publish([make_content()])
    chunk = folder / "chord" / "score" / "c.1.0.0"
    whole = chunk.read_bytes()
    for place in range(0, len(whole), 7):
        chunk.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        with pytest.raises(StoreError, match=r"x: is damaged: .*; remove it and run the pipeline again"):
            read_group(tmp_path / "x", "chord")


@pytest.mark.parametrize("name", ["score", "status", "message", "repairs"])
def test_a_chunk_that_was_lost_on_the_way_is_an_error(tmp_path, name):
    cells = make_cells(all_pairs())
    with StoreWriter(tmp_path / "x") as writer:
        folder = writer.publish([make_content(replace(cells, message=("late",) * len(cells)))])
        next((folder / "chord" / name).glob("c.2.*")).unlink()
        with pytest.raises(StoreError, match=f"x: is damaged: chunks of '{name}' are lost; remove it and run"):
            loaded(writer.contents()["chord"])


@pytest.mark.parametrize("name", ["unit", "duration"])
def test_an_evaluation_that_lacks_what_queries_need_is_an_error(tmp_path, name):
    mirflow.save(mirflow.score({"a": [1.0]}, {"a": [1.0]}, "onset"), tmp_path / "x")
    root = zarr.open_group(resolve(tmp_path / "x"), mode="r+", use_consolidated=False)
    del root[f"onset/{name}"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of zarr, about consolidated metadata
        zarr.consolidate_metadata(root.store)
    with pytest.raises(StoreError, match=f"x: is damaged: it lacks the variable '{name}'; remove it and run"):
        read_scores(tmp_path / "x")


def test_an_empty_store_and_empty_groups_are_stores_too(tmp_path):
    nothing = make_cells([], ())
    with StoreWriter(tmp_path / "x") as writer:
        writer.publish([])
        assert writer.contents() == {}
        writer.publish([GroupContent("chord", (), (), nothing)])
        assert writer.contents()["chord"].systems == ()


def test_results_with_further_dims_survive_the_way_to_cells_and_back():
    ds = random_group(2, 3, 1, seed=3)
    rng = np.random.default_rng(3)
    values = rng.uniform(1, 9, (2, 3, 2))
    values[0, 2] = values[1, 0] = 0.0
    ds["status"].values[1, 0] = 0
    ds["confusion"] = ("system", "track", "class"), values
    ds = ds.assign_coords({"class": ["C", "N"]})
    back = dataset_of(content_of(ds))
    for systems, tracks in ((slice(None), slice(None)), ([1, 0], [2, 0]), ([1], slice(1, 3)), (0, 0)):
        found = back["confusion"].isel(system=systems, track=tracks).values
        np.testing.assert_array_equal(found, ds["confusion"].isel(system=systems, track=tracks).values)
    memory = loaded(content_of(ds)).cells.extras["confusion"]
    assert sorted(memory.value.tolist()) == sorted(values[values > 0].tolist())
    assert memory.index.min() == 0
