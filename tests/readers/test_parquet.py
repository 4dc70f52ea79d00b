"""Parquet files and nested tables: a row for each item, or lists and structs for each track, read as from arrays."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.errors import InvalidAnnotationError, MirflowError, UnreadableError
from mirflow.readers import Reading
from mirflow.readers.tables.parquet import open_parquet, parse_parquet
from mirflow.readers.tables.table import RowKey

Rows = list[dict[str, Any]]
LABELS = ("C:maj", "G:7", "A:min", "N")


def _chords(seed: int) -> dict[str, Rows]:
    """Chords of four tracks."""
    named = np.random.default_rng(seed).choice(LABELS, (4, 6)).tolist()
    return {
        f"t{track}": [{"start": float(at), "end": at + 1.0, "label": label} for at, label in enumerate(labels)]
        for track, labels in enumerate(named)
    }


REFERENCES, ESTIMATES = _chords(0), _chords(1)


def _lists(chords: Rows) -> dict[str, list[Any]]:
    return {name: [chord[name] for chord in chords] for name in ("start", "end", "label")}


def _pairs(chords: Rows) -> list[list[float]]:
    return [[chord["start"], chord["end"]] for chord in chords]


FORMS: dict[str, Callable[[str, Rows], Rows]] = {
    "a row for each item": lambda track, chords: [{"track": track, "split": "test", **chord} for chord in chords],
    "lists": lambda track, chords: [{"track": track, "title": "x", **_lists(chords)}],
    "pairs": lambda track, chords: [{"track": track, "intervals": _pairs(chords), "label": _lists(chords)["label"]}],
    "lists of structs": lambda track, chords: [{"track": track, "chords": chords, "audio": {"path": "x.wav"}}],
    "structs of lists": lambda track, chords: [{"track": track, "chords": _lists(chords)}],
}


def _table(tracks: dict[str, Rows], form: str) -> arrow.Table:
    return arrow.Table.from_pylist([row for track, chords in tracks.items() for row in FORMS[form](track, chords)])


def _write(path: Path, rows: Rows | arrow.Table, **options: Any) -> Path:
    table = rows if isinstance(rows, arrow.Table) else arrow.Table.from_pylist(rows)
    parquet.write_table(table, path, **options)
    return path


def _arrays(tracks: dict[str, Rows]) -> dict[str, tuple[Any, list[str]]]:
    return {track: (np.array(_pairs(chords)), _lists(chords)["label"]) for track, chords in tracks.items()}


@pytest.fixture(scope="module")
def expected() -> xr.Dataset:
    """Scores of the same annotations as arrays."""
    return mirflow.score(_arrays(REFERENCES), _arrays(ESTIMATES), "chord", metrics=["majmin", "sevenths"])


@pytest.mark.parametrize("form", FORMS)
def test_files_and_tables_in_memory_score_as_arrays_do(tmp_path: Path, form: str, expected: xr.Dataset) -> None:
    tables = [_table(tracks, form) for tracks in (REFERENCES, ESTIMATES)]
    files = [_write(tmp_path / f"{place}.parquet", table, row_group_size=2) for place, table in enumerate(tables)]
    sides: list[list[Any]] = [
        [mirflow.load_collection(file, task="chord") for file in files],
        tables,
        [pd.DataFrame(table.to_pylist()) for table in tables],
    ]
    for reference, estimate in sides:
        found = mirflow.score(reference, estimate, "chord", metrics=["majmin", "sevenths"])
        assert found.score.values.tolist() == expected.score.values.tolist()
        assert found.weight.values.tolist() == expected.weight.values.tolist()


def test_data_frames_of_polars_may_have_structs(expected: xr.Dataset) -> None:
    polars = pytest.importorskip("polars")
    sides = [polars.from_arrow(_table(tracks, "lists of structs")) for tracks in (REFERENCES, ESTIMATES)]
    assert mirflow.score(*sides, "chord", metrics=["majmin", "sevenths"]).score.equals(expected.score)


def test_pipelines_read_snapshots_of_the_hub_and_score_what_changed(tmp_path: Path, expected: xr.Dataset) -> None:
    rows = [{"id": row["track"], "chords": row["chords"]} for row in _table(REFERENCES, "lists of structs").to_pylist()]
    blobs, data = tmp_path / "blobs", tmp_path / "snapshot/data"
    blobs.mkdir()
    data.mkdir(parents=True)
    for shard in (0, 1):  # a snapshot in the cache consists of links
        _write(blobs / str(shard), rows[2 * shard : 2 * shard + 2])
        (data / f"test-{shard:05d}-of-00002.parquet").symlink_to(blobs / str(shard))
    estimates = _table(ESTIMATES, "a row for each item")
    _write(tmp_path / "ours.parquet", estimates)
    pipeline = tmp_path / "hub.yaml"
    pipeline.write_text(
        "name: hub\n"
        "evaluations:\n"
        "  - task: chord\n"
        "    reference:\n"
        "      path: snapshot/data/test-{shard}.parquet\n"
        "      columns: {track: id, start: chords.start, end: chords.end, label: chords.label}\n"
        "    estimates: '{system}.parquet'\n"
        "    metrics: [majmin, sevenths]\n"
        "store: hub.zarr\n"
    )
    assert mirflow.run(pipeline).evaluations[0].counts["new"] == 4
    scores = mirflow.open_store(tmp_path / "hub.zarr")["chord"].score
    assert scores.sel(system="ours").values.tolist() == expected.score.values[0].tolist()
    changed = estimates.to_pandas()
    changed.loc[changed.track == "t1", "label"] = "N"
    changed.to_parquet(tmp_path / "ours.parquet", row_group_size=5)
    counts = mirflow.run(pipeline).evaluations[0].counts
    assert (counts["changed"], counts["reused"]) == (1, 3)


def test_files_of_one_track_each(tmp_path: Path, expected: xr.Dataset) -> None:
    sides = []
    for side, tracks in (("reference", REFERENCES), ("estimate", ESTIMATES)):
        (tmp_path / side).mkdir()
        for track, chords in tracks.items():
            _write(tmp_path / side / f"{track}.parquet", chords)
        sides.append(mirflow.load_collection(tmp_path / side / "{track}.parquet", task="chord"))
    assert mirflow.score(*sides, "chord", metrics=["majmin", "sevenths"]).score.equals(expected.score)
    one = mirflow.evaluate_paths(*(tmp_path / side / "t1.parquet" for side in ("reference", "estimate")), task="chord")
    assert one.score.sel(metric="majmin").item() == expected.score.sel(track="t1", metric="majmin").item()
    _write(tmp_path / "all.parquet", _table(REFERENCES, "a row for each item"))
    with pytest.raises(
        InvalidAnnotationError, match=r"holds 4 tracks \(column 'track'\): read it with load_collection"
    ):
        mirflow.load(tmp_path / "all.parquet", task="chord")


@pytest.mark.parametrize(
    ("task", "row", "options", "variables"),
    [
        ("key", {"key": "C major"}, {}, {"label": ["C major"]}),
        ("tempo", {"tempo": 120.0}, {}, {"tempo": [120.0]}),
        (
            "tempo",
            {"bpm": [60, 120]},
            {"format": "parquet", "columns": {"track": "track", "tempo": "bpm"}},
            {"tempo": [60.0, 120.0]},
        ),
        ("lyrics", {"text": "oh\nmy"}, {"normalize": "jam_alt"}, {"label": ["Oh", "My"]}),
        ("multipitch", {"time": [0.0, 0.01], "frequency": [[440.0, 220.0], []]}, {}, {"frequency": [440.0, 220.0]}),
        ("downbeat", {"beats": {"time": [1.0, 1.5, 2.0], "position": [1, 2, 1]}}, {}, {"time": [1.0, 2.0]}),
        ("beat", {"time": [500, 1000]}, {"time_unit": "ms"}, {"time": [0.5, 1.0]}),
        ("onset", {"time": [0.5, None]}, {}, {"time": [0.5, np.nan]}),
        ("tagging", {"tags": ["slow", "loud"], "duration": 30.0}, {}, {"label": ["slow", "loud"]}),
        (
            "transcription",
            {"notes": [{"onset": 0.0, "offset": 1.0, "pitch": 69}]},
            {"pitch_unit": "MIDI"},
            {"pitch": [440.0]},
        ),
        (
            "segment",
            {"start": [0.0, 1.0], "name": ["A", "end"]},
            {"columns": {"track": "track", "start": "start", "label": "name"}},
            {"end": [1.0], "label": ["A"]},
        ),
        (
            "chord",
            {"chords": {"intervals": [[0.0, 1.0]], "labels": ["Fmaj7/C"]}},
            {"notation": "leadsheet"},
            {"end": [1.0], "label": ["F:maj7/5"]},
        ),
        ("retrieval", {"item": ["x", "y"], "score": [0.1, 0.9]}, {}, {"label": ["y", "x"]}),
    ],
)
def test_kinds_of_annotations_and_options_of_reading(
    tmp_path: Path, task: str, row: dict[str, Any], options: dict[str, Any], variables: dict[str, list[Any]]
) -> None:
    file = _write(tmp_path / "a.parquet", [{"track": "x", **row}])
    found = mirflow.load(file, task=task, **options)
    for name, values in variables.items():
        np.testing.assert_array_equal(found[name].values, values)


def test_numbers_of_classes_are_named_and_paths_of_tracks_are_shortened(tmp_path: Path) -> None:
    features = {"genre": {"names": ["blues", "rock"], "_type": "ClassLabel"}}
    table = arrow.table({"path": ["audio/a.wav", "audio/b.wav"], "genre": [1, 0]})
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    found = mirflow.load_collection(_write(tmp_path / "a.parquet", table), task="classification")
    assert {track: found[track].label.values.tolist() for track in found} == {"a": ["rock"], "b": ["blues"]}
    features = {"label": features["genre"]}
    table = arrow.table({"track": ["a", "b"], "label": [1, 0]})
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    scores = mirflow.score(table, {"a": "rock", "b": "rock"}, "classification", metrics=["accuracy"])
    assert scores.score.values.ravel().tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("task", "rows", "options", "message"),
    [
        ("beat", [{"id": "a", "beats": None}, {"id": "b", "beats": [1.0]}], {}, "no column holds time"),
        ("beat", [{"id": "a", "time": [1.0]}, {"id": "b", "time": None}], {}, r"a\.parquet:2: .*'time' has no value"),
        ("beat", [{"id": "a", "time": [1.0]}, {"id": "a", "time": [2.0]}], {}, r":2: has several rows of a track"),
        ("beat", [{"id": "a", "time": [1.0, 2.0], "label": ["1"]}], {}, r":1: .*time has 2, label has 1"),
        ("beat", [{"id": "a", "start": [1.0], "end": [2.0]}], {}, r"'end' does not belong to events"),
        (
            "beat",
            [{"id": "a", "x": {"time": [1.0]}, "y": {"time": [1.0]}}],
            {},
            r"several columns hold events \(x, y\)",
        ),
        (
            "beat",
            [{"name": "a", "time": [1.0]}],
            {},
            r"no column names the tracks.*columns: \{track: NAME, time: time\}",
        ),
        ("beat", [{"id": "a", "time": ["x"]}], {}, r":1: the column 'time' holds string, not numbers: 'x'"),
        ("beat", [{"id": "a", "b": {"time": [1.0]}}], {"columns": {"track": "id", "time": "b.tme"}}, "mean 'b.time'"),
        ("beat", [{"id": "a", "time": [1.0]}], {"columns": {"track": 0, "time": 1}}, "declared by name, not by number"),
        ("beat", [{"id": "a", "time": [1.0] * 999}], {"max_bytes": 999}, "max_bytes raises the limit"),
        (
            "tagging",
            [{"id": "a", "tag": ["x"], "loudness": [0.5]}],
            {},
            "'loudness' holds numbers and would not be read",
        ),
        ("key", [{"id": "a", "tonic": "C"}], {}, "no column holds the label"),
    ],
)
def test_unclear_and_invalid_tables_say_which_column(
    tmp_path: Path, task: str, rows: Rows, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(MirflowError, match=message):
        mirflow.load_collection(_write(tmp_path / "a.parquet", rows), task=task, **options)


def test_files_that_are_not_parquet(tmp_path: Path) -> None:
    whole = _write(tmp_path / "a.parquet", [{"id": "xyz", "time": [1.0]}]).read_bytes()
    for data in (
        b"",
        b"a,b\n1,2\n",
        whole[:-20],
        whole[:40] + bytes(60) + whole[100:],
        whole.replace(b"xyz", b"\xff" * 3),
    ):
        (tmp_path / "b.parquet").write_bytes(data)
        with pytest.raises(UnreadableError, match=r"b\.parquet: (is not a Parquet file|cannot be read)"):
            mirflow.load_collection(tmp_path / "b.parquet", task="beat")


def test_a_text_that_a_small_file_repeats_very_often_is_too_large(tmp_path: Path) -> None:
    many = arrow.array([0] * 1000, arrow.int32())
    labels = arrow.DictionaryArray.from_arrays(many, ["x" * 300_000])
    file = _write(tmp_path / "a.parquet", arrow.table({"track": ["a"] * 1000, "time": [1.0] * 1000, "label": labels}))
    assert file.stat().st_size < 50_000
    with pytest.raises(UnreadableError, match=r"too large: over 256 MB of a row group \(max_bytes raises the limit\)"):
        mirflow.load_collection(file, task="beat")


def test_structs_in_memory_that_are_unclear_or_lack_a_column() -> None:
    rows = [{"track": "a", "verse": {"time": [6.0]}, "chorus": {"time": [7.0]}}]
    with pytest.raises(InvalidAnnotationError, match="the columns verse and chorus both have time"):
        mirflow.score(pd.DataFrame(rows), pd.DataFrame(rows), "beat")
    rows = [{"track": "a", "beats": [{"at": 6.0}]}]
    with pytest.raises(InvalidAnnotationError, match=r"no column 'time'.*beats\.at"):
        mirflow.score(pd.DataFrame(rows), pd.DataFrame(rows), "beat")


def test_a_track_may_continue_in_the_next_shard_and_row_group(tmp_path: Path) -> None:
    sides = {
        "reference": _table(REFERENCES, "a row for each item"),
        "by-ours": _table(ESTIMATES, "a row for each item"),
    }
    for name, rows in sides.items():
        (tmp_path / name).mkdir()
        _write(tmp_path / f"{name}.parquet", rows)
        # Shards end within the tracks t0, t1 and t3, of six rows each, and row groups within these.
        for shard, (start, stop) in enumerate(((0, 4), (4, 9), (9, 20), (20, 24))):
            _write(tmp_path / f"{name}/test-{shard}.parquet", rows.slice(start, stop - start), row_group_size=2)
    stores = []
    for name in ("{}.parquet", "{}/test-{{shard}}.parquet"):
        (tmp_path / "p.yaml").write_text(
            f"evaluations:\n  - task: chord\n    reference: '{name.format('reference')}'\n"
            f"    estimates: '{name.format('by-{system}')}'\n    metrics: [majmin]\nstore: {len(stores)}.zarr\n"
        )
        mirflow.run(tmp_path / "p.yaml", scheduler="serial")
        stores.append(mirflow.open_store(tmp_path / f"{len(stores)}.zarr")["chord"].to_dataset())
    assert stores[0].score.equals(stores[1].score)
    assert stores[0].digest.equals(stores[1].digest)
    assert "shard" not in stores[1].coords
    broken = sides["reference"].slice(9, 11).set_column(2, "start", arrow.array(["soon"] * 11))
    _write(tmp_path / "reference/test-2.parquet", broken)
    with pytest.raises(MirflowError, match=r"test-1\.parquet and .*test-2\.parquet: the columns of the files differ"):
        mirflow.load_collection(tmp_path / "reference/test-{shard}.parquet", task="chord")["t1"]


def test_rows_of_shards_are_counted_through_all_of_them(tmp_path: Path) -> None:
    rows = arrow.table({"track": ["t"] * 4, "start": [0.0, 1, 2, 3], "end": [1.0, 2, 3, 2], "label": LABELS})
    for shard in (0, 1):
        _write(tmp_path / f"test-{shard}.parquet", rows.slice(2 * shard, 2))
    collection = mirflow.load_collection(tmp_path / "test-{shard}.parquet", task="chord")
    with pytest.raises(MirflowError, match=r"^reference:4: interval ends before it starts"):
        mirflow.evaluate(collection["t"], collection["t"], "chord", metrics=["majmin"])


def test_shards_of_other_formats_hold_whole_tracks(tmp_path: Path) -> None:
    for shard, tracks in enumerate(("x", "xy")):
        (tmp_path / f"{shard}.csv").write_text("track,time\n" + "".join(f"{track},{shard + 1}\n" for track in tracks))
    with pytest.raises(MirflowError, match=r"all rows of track 'x' must be in the same file, not in several: .*1\.csv"):
        mirflow.load_collection(tmp_path / "{shard}.csv", task="beat", columns={"track": "track", "time": "time"})


def _damaged(changes: list[tuple[int, int]]) -> bytes:
    held = BytesIO()
    parquet.write_table(arrow.table({"start": [0.0, 1.0, 2.0], "end": [1.0, 2.0, 3.0], "label": [*LABELS[:3]]}), held)
    data = bytearray(held.getvalue())
    footer = int.from_bytes(data[-8:-4], "little")
    for place, change in changes:
        at = len(data) - 8 - footer + place % footer
        data[at] = (data[at] + change) % 256
    return bytes(data)


def _rows_or_error(data: bytes) -> int | str:
    try:
        return len(parse_parquet(data, Reading.of("chord"), "parquet", "a.parquet"))
    except (UnreadableError, InvalidAnnotationError) as error:
        return str(error)


def test_a_file_whose_counts_of_rows_contradict_each_other_is_refused() -> None:
    whole = _damaged([])
    footer = int.from_bytes(whole[-8:-4], "little")
    counts = [place for place in range(footer) if whole[len(whole) - 8 - footer + place] == 6]  # three, zigzag
    found = {_rows_or_error(_damaged([(place, change)])) for place in counts for change in (-4, -2, -1, 1, 2, 4)}
    assert {rows for rows in found if isinstance(rows, int)} == {3}
    assert "a.parquet: is damaged: it declares 3 rows, and row groups of [2] rows" in found
    assert "a.parquet: is damaged: it declares 3 rows, and row groups of [-4] rows" in found
    assert "a.parquet: is damaged: it declares 4 rows, and row groups of [3] rows" in found


@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(1, 255)), min_size=1, max_size=2))
def test_a_damaged_footer_never_loses_rows_or_ends_in_another_error(changes: list[tuple[int, int]]) -> None:
    found = _rows_or_error(_damaged(changes))
    assert found == 3 or "a.parquet" in str(found)


def test_errors_of_the_library_while_rows_are_taken_are_those_of_the_file(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "a.parquet",
        [row for track in ("a", "b") for row in FORMS["a row for each item"](track, REFERENCES["t0"])],
    )
    for method in ("annotation", "data"):
        table = open_parquet(str(path), Reading.of("chord"), "a.parquet")
        table.of_key[RowKey("a")][-1] = 99
        arguments = (RowKey("a"), b"") if method == "annotation" else (RowKey("a"),)
        with pytest.raises(UnreadableError, match=r"a\.parquet.*cannot be read: "):
            getattr(table, method)(*arguments)


def test_units_in_names_of_columns_are_those_that_are_read(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.parquet", [{"time (ms)": 500.0}, {"time (ms)": 900.0}])
    with pytest.raises(
        InvalidAnnotationError, match=r"a\.parquet: the header has 'time \(ms\)', but times are read in s"
    ):
        mirflow.load(path, "onset")
    assert mirflow.load(path, "onset", time_unit="ms").time.values.tolist() == [0.5, 0.9]
