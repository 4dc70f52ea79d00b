"""Collections of beats in which some files have positions in the bar: the others have no downbeats."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirflow
from mirflow.errors import AnnotationError, MirflowWarning
from mirflow.readers.beat_collections import without_positions
from mirflow.readers.options import Reading
from mirflow.readers.sources import FileSource
from mirflow.store.cells import Status

PLACED, BARE = "5.5 1\n6.0 2\n6.5 3\n7.0 1\n", "5.5\n6.0\n6.5\n7.0\n"


def files(folder: Path, **texts: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.beats").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("texts", "bare"),
    [
        ((PLACED, BARE), ["1"]),
        ((BARE, BARE), []),
        ((PLACED, PLACED), []),
        ((PLACED, ""), []),
        ((PLACED, "# none\n"), []),
        ((PLACED, "# beats\n5.5\n"), ["1"]),
        (("time,position\n5.5,1\n", "time\n5.5\n"), ["1"]),
        ((BARE, "not a number\n", PLACED), ["0"]),
        ((PLACED, "".join(f"{beat}.25\n" for beat in range(2000))), ["1"]),
    ],
)
def test_files_without_positions_are_refused_where_others_have_them(
    tmp_path: Path, texts: tuple[str, ...], bare: list[str]
) -> None:
    folder = files(tmp_path, **{str(place): text for place, text in enumerate(texts)})
    sources = {
        str(place): FileSource(str(folder / f"{place}.beats"), Reading.of("downbeat")) for place in range(len(texts))
    }
    assert [*without_positions(sources.items())] == bare
    for other in (Reading.of("beat"), Reading.of("downbeat", select="all")):
        assert not without_positions((name, FileSource(source.path, other)) for name, source in sources.items())


def test_a_run_tells_the_files_whose_downbeats_are_unknown_and_follows_the_collection(tmp_path: Path) -> None:
    files(tmp_path / "ref", a=PLACED, b=BARE, c=PLACED)
    files(tmp_path / "est/x", a=PLACED, b=PLACED, c=BARE)  # its beats are not downbeats
    files(tmp_path / "est/y", a="5.5\n7.0\n", b="5.5\n7.0\n", c="5.5\n7.0\n")  # its times are
    pipeline = tmp_path / "p.yaml"
    pipeline.write_text(
        "store: s.zarr\nevaluations:\n- task: downbeat\n  reference: ref/{track}.beats\n"
        "  estimates: est/{system}/{track}.beats\n  metrics: [f_measure]\n"
    )
    scores = mirflow.open_store(mirflow.run(pipeline).store)["downbeat"]
    ok, invalid = Status.ok, Status.invalid
    assert scores["status"].sel(system="x").values.tolist() == [ok, invalid, invalid]
    assert scores["status"].sel(system="y").values.tolist() == [ok, invalid, ok]
    assert "has no positions" in scores["message"].sel(system="x", track="c").item()
    files(tmp_path / "est/x", a="5.5\n7.0\n", b="5.5\n7.0\n")
    again = mirflow.open_store(mirflow.run(pipeline).store)["downbeat"]
    assert again["status"].sel(system="x").values.tolist() == [ok, invalid, ok]


def test_folders_are_read_as_pipelines_are(tmp_path: Path) -> None:
    one, other = files(tmp_path / "ref", a=PLACED, b=BARE), files(tmp_path / "est", a=PLACED, b=PLACED)
    scores = mirflow.evaluate_paths(one, other, "downbeat", metrics=["f_measure"])
    assert scores["status"].values.ravel().tolist() == [Status.ok, Status.invalid]


@pytest.mark.parametrize("form", ["text", "csv", "parquet", "pack", "jams"])
def test_each_form_of_a_collection_refuses_the_track_without_positions(form: str, tmp_path: Path) -> None:
    times, positions = [5.5, 6.0, 6.5, 7.0], {"a": [1, 2, 3, 1], "b": [None] * 4}
    rows = [(track, time, one) for track, own in positions.items() for time, one in zip(times, own, strict=True)]
    options: dict[str, Any] = {}
    if form in ("csv", "parquet"):
        pandas = pytest.importorskip("pandas")
        pattern = tmp_path / f"x.{form}"
        getattr(pandas.DataFrame(rows, columns=["track", "time", "label"]), f"to_{form}")(pattern, index=False)
        options = {"columns": {name: name for name in ("track", "time", "label")}}
    elif form == "jams":
        pattern = tmp_path / "{track}.jams"
        for track in positions:
            data = [{"time": time, "duration": 0, "value": one} for name, time, one in rows if name == track]
            (tmp_path / f"{track}.jams").write_text(json.dumps({"annotations": [{"namespace": "beat", "data": data}]}))
    else:
        pattern = files(tmp_path, a=PLACED, b=BARE) / "{track}.beats"
        if form == "pack":
            mirflow.pack(pattern, tmp_path / "x.zarr", task="beat")
            pattern = tmp_path / "x.zarr"
    with pytest.raises(AnnotationError, match="has no positions in the bar"):
        mirflow.load_collection(pattern, "downbeat", **options)


def test_the_check_of_a_folder_and_paths_in_memory_refuse_it_too(tmp_path: Path) -> None:
    folder = files(tmp_path, a=PLACED, b=BARE)
    checks = {check.track: check.worst for check in mirflow.check([folder], "downbeat", role="estimate")}
    assert checks == {"a": None, "b": "error"}
    paths = {name: folder / f"{name}.beats" for name in "ab"}
    references = {name: np.array([5.5, 7.0]) for name in "ab"}
    for sides in ((paths, references), (references, paths), (references, {"x": paths})):
        with pytest.warns(MirflowWarning, match="has no positions in the bar"):
            scored = mirflow.score(*sides, "downbeat", metrics=["f_measure"])
        assert scored.status.values.ravel().tolist() == [Status.ok, Status.invalid]


def test_beats_in_place_of_downbeats_are_doubted_in_memory(tmp_path: Path) -> None:
    beats = np.arange(5.0, 45.0, 0.5)
    labels = [str(place % 4 + 1) for place in range(len(beats))]
    with pytest.warns(MirflowWarning, match="labels such as '2' are positions in the bar, but all 80 beats count"):
        mirflow.evaluate({"time": beats, "label": labels}, beats[::4], "downbeat", metrics=["f_measure"])
    for reference, estimate in ((beats[::4], beats), (beats, beats[::4])):
        with pytest.warns(MirflowWarning, match="the estimate is on another metrical level"):
            mirflow.evaluate(reference, estimate, "downbeat", metrics=["f_measure"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for estimate in (beats[::4], beats[::2], beats[1::4], beats[:50] * 1.07):
            mirflow.evaluate(beats[::4], estimate, "downbeat", metrics=["f_measure"])
        ends = {"time": beats[3::4], "label": [*["4"] * 18, "2", "1"]}  # of bars, two of which are shorter
        mirflow.evaluate(ends, ends, "downbeat", metrics=["f_measure"])
    assert not any("all beats" in str(one.message) or "count as downbeats" in str(one.message) for one in caught)
