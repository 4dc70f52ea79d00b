"""Tags in wide tables, as arrays of tracks x tags and lists of MTG-Jamendo, and of single tracks in text and JAMS."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.cli import cli
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnreadableError
from mirflow.readers import Reading, read
from mirflow.readers.jams_writing import to_jams
from mirflow.readers.namespaces import NAMESPACES
from mirflow.readers.tables.table import RowKey, open_table

TAGS = ["genre---rock", "mood/theme---calm", "instrument---piano"]
TRACKS = ["track_0000002", "track_0000001", "track_0000003"]
VALUES = np.array([[0.9, 0.1, 0.5], [0.25, 0.75, 0.0], [0.0, 1.0, 1.0]])
SPLIT = (
    "TRACK_ID\tARTIST_ID\tALBUM_ID\tPATH\tDURATION\tTAGS\n"
    "track_0000002\tartist_1\talbum_1\t02/2.mp3\t460.8\tgenre---rock\n"
    "track_0000001\tartist_1\talbum_1\t01/1.mp3\t189.3\tmood/theme---calm\tgenre---rock\n"
    "track_0000003\tartist_2\talbum_2\t03/3.mp3\t278.9\tgenre---rock\tmood/theme---calm\tinstrument---piano\n"
)


def tags_of(path: Path, **options: object) -> dict[str, dict[str, float | str]]:
    """The tags of each track in a file with their numbers, or themselves where it has none."""
    found = mirflow.load_collection(path, "tagging", **options)
    each = {track: found.annotation(track) for track in found.tracks}
    return {
        track: dict(zip(labels, one.columns["value"].tolist() if "value" in one.columns else labels, strict=True))
        for track, one in each.items()
        for labels in [list(one.labels or ())]
    }


EXPECTED = {track: dict(zip(TAGS, row, strict=True)) for track, row in zip(TRACKS, VALUES.tolist(), strict=True)}


@pytest.mark.parametrize("keys", [("tracks", "tags"), ("clip_ids", "classes"), ("ids", "label_names")])
@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_an_archive_holds_the_array_and_its_names(tmp_path: Path, keys: tuple[str, str], dtype: type) -> None:
    named = {keys[0]: np.array(TRACKS), keys[1]: np.array(TAGS), "version": np.array(2)}
    np.savez(tmp_path / "a.npz", scores=VALUES.astype(dtype), **named)
    for track, tags in tags_of(tmp_path / "a.npz").items():
        assert tags == pytest.approx(EXPECTED[track], abs=0 if dtype is np.float64 else 1e-3)


@pytest.mark.parametrize(
    "beside",
    [
        {"a.tracks.txt": "\n".join(TRACKS), "a.tags.txt": "\n".join(TAGS) + "\n"},
        {"tracks.txt": "\n".join(TRACKS), "tags.txt": "\n".join(TAGS)},
        {"tracks.tsv": SPLIT, "tags.txt": "\r\n".join(TAGS)},
    ],
)
def test_names_of_an_array_are_beside_it(tmp_path: Path, beside: dict[str, str]) -> None:
    for name, text in beside.items():
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "a.npy", VALUES)
    assert tags_of(tmp_path / "a.npy") == EXPECTED
    np.savez_compressed(tmp_path / "a.npz", VALUES)
    assert tags_of(tmp_path / "a.npz") == EXPECTED


def test_decisions_are_numbers_and_paths_of_tracks_lose_their_folders(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", m=VALUES > 0.4, paths=["x/a.mp3", "x/b.mp3", "y/c.mp3"], tags=TAGS)
    found = tags_of(tmp_path / "a.npz")
    assert list(found) == ["a", "b", "c"]
    assert list(found["a"].values()) == [1.0, 0.0, 1.0]


def test_predictions_in_the_order_of_a_split_are_scored_against_it(tmp_path: Path) -> None:
    (tmp_path / "tracks.tsv").write_text(SPLIT)
    (tmp_path / "tags.txt").write_text("\n".join(TAGS))
    np.save(tmp_path / "vggish.npy", VALUES)
    plan = (
        "name: jamendo\nstore: STORE\nevaluations:\n  - {task: tagging, reference: tracks.tsv, "
        "estimates: '{system}.npy', systems: [vggish], classes: tags.txt, metrics: [recall, precision, affinities]}\n"
    )
    (tmp_path / "jamendo.yaml").write_text(plan.replace("STORE", str(tmp_path / "j.zarr")))
    done = CliRunner().invoke(cli, ["run", str(tmp_path / "jamendo.yaml"), "--quiet"])
    assert done.exit_code == 0, done.output
    scores = mirflow.open_store(tmp_path / "j.zarr")["tagging"].ds
    scores = scores["score"].sel(system="vggish").isel(metric=0)
    by_track = dict(zip(scores["track"].values.tolist(), scores.values.tolist(), strict=True))
    assert by_track == {"track_0000001": 0.5, "track_0000002": 1.0, "track_0000003": pytest.approx(2 / 3)}


def test_a_changed_row_concerns_its_track_only_and_a_changed_name_all(tmp_path: Path) -> None:
    def fingerprints(values: np.ndarray, tags: list[str]) -> list[str]:
        np.savez(tmp_path / "a.npz", values, tracks=TRACKS, tags=tags)
        table = open_table(str(tmp_path / "a.npz"), Reading.of("tagging"), "a.npz")
        return [table.read(RowKey(track))[1] for track in TRACKS]

    before = fingerprints(VALUES, TAGS)
    changed = VALUES.copy()
    changed[1, 1] = 0.5
    assert [one == other for one, other in zip(before, fingerprints(changed, TAGS), strict=True)] == [True, False, True]
    assert not set(before) & set(fingerprints(VALUES, [*TAGS[:2], "organ"]))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": VALUES, "tags": TAGS}, "names no tracks: save 'tracks' in it, or write the tracks to a.tracks.txt,"),
        (
            {"x": VALUES.T[:2], "tracks": TRACKS, "tags": TAGS[:2]},
            "a.npz: is 2 x 3, but its lists name 3 tracks and 2 tags; save its transpose",
        ),
        ({"x": VALUES, "tracks": TRACKS, "tags": TAGS[:2]}, "is 3 x 3, but its lists name 3 tracks and 2 tags"),
        (
            {"x": VALUES, "y": VALUES, "tags": TAGS},
            "holds 2 tables of numbers (x, y); expected one two-dimensional array",
        ),
        ({"x": VALUES[0], "tags": TAGS}, "holds no table of numbers"),
        ({"x": VALUES, "tracks": TRACKS, "tags": ["a", "b", "a"]}, "names 'a' twice"),
        ({"x": VALUES, "tracks": TRACKS, "tags": ["a", "b", ""]}, "one of the tags has no name"),
        ({"x": VALUES, "tags": np.array(TAGS, dtype=object)}, "the array 'tags' holds Python objects: save numpy"),
        ({"x": VALUES * [1, np.nan, 1], "tracks": TRACKS, "tags": TAGS}, "the number of 'mood/theme---calm' is NaN"),
    ],
)
def test_what_is_wrong_with_an_array_is_said(tmp_path: Path, arrays: dict[str, object], message: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(AnnotationError, match=re.escape(message)):
        tags_of(tmp_path / "a.npz")


def test_what_is_no_array_of_tags_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VALUES)
    with pytest.raises(UnreadableError, match=r"a\.npy: is 3 x 3 and names no tracks and no tags: write the tracks"):
        tags_of(tmp_path / "a.npy")
    with pytest.raises(UnreadableError, match="arrays hold values of tags, which classification does not have"):
        mirflow.load_collection(tmp_path / "a.npy", "classification")
    (tmp_path / "tracks.tsv").write_text("artist\tpath_of\nx\ty\n")
    with pytest.raises(UnreadableError, match=r"names no tags: write the tags to a\.tags\.txt or tags\.txt next to it"):
        tags_of(tmp_path / "a.npy")
    (tmp_path / "tags.txt").write_text("\n".join(TAGS))
    with pytest.raises(InvalidAnnotationError, match=r"tracks\.tsv:1: the header has no column of tracks: artist"):
        tags_of(tmp_path / "a.npy")
    (tmp_path / "b.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(UnreadableError, match=r"b\.npz: cannot be read as an array"):
        tags_of(tmp_path / "b.npz")
    np.savez_compressed(tmp_path / "c.npz", np.zeros((1000, 1000)))
    with pytest.raises(UnreadableError, match=r"too large: 8 MB is over the limit of 1 MB \(max_bytes raises it\)"):
        tags_of(tmp_path / "c.npz", max_bytes=2**20)


def test_a_table_of_mtg_jamendo_lists_its_tags(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(SPLIT + "track_0000004\tartist_2\talbum_2\t04/4.mp3\t1.5\n")
    assert {track: list(tags) for track, tags in tags_of(tmp_path / "a.tsv").items()} == {
        "track_0000002": ["genre---rock"],
        "track_0000001": ["mood/theme---calm", "genre---rock"],
        "track_0000003": ["genre---rock", "mood/theme---calm", "instrument---piano"],
        "track_0000004": [],
    }


def test_numbers_beside_lists_of_tags_and_rows_that_end_early_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("TRACK_ID\tSURPRISE\tTAGS\nt1\t0.5\trock\tpop\n")
    with pytest.raises(InvalidAnnotationError, match=r"a\.tsv:1: the column 'SURPRISE' holds numbers and would not be"):
        tags_of(tmp_path / "a.tsv")
    (tmp_path / "a.tsv").write_text("TRACK_ID\tPATH\tDURATION\tTAGS\nt1\tx\t1\trock\nt2\tx\n")
    with pytest.raises(InvalidAnnotationError, match=r"a\.tsv:3: has 2 columns, but the header has 4"):
        tags_of(tmp_path / "a.tsv")


@pytest.mark.parametrize("text", ["t1,1,0\nt2,0,1\n", "t1,0.5\nt2,0.25\n", "who,rock\nt1,1\nt2,0\n"])
def test_tags_that_are_numbers_are_refused_unless_columns_are_declared(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    line = 2 if text.startswith("who") else 1
    with pytest.raises(InvalidAnnotationError, match=rf"a\.csv:{line}: the tag would be a number: .* declare columns:"):
        tags_of(tmp_path / "a.csv")
    declared = {"track": 0, "label": 1} | ({"value": 2} if text.startswith("t1,1") else {})
    assert next(iter(tags_of(tmp_path / "a.csv", columns=declared)["t1"])) in ("1", "0.5")


def test_a_file_of_one_clip_has_no_numbers_for_tags_either(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,0.5\n2,0.25\n")
    with pytest.raises(InvalidAnnotationError, match=r"a\.csv:1: the tag would be a number: '1'"):
        mirflow.load(tmp_path / "a.csv", task="tagging")
    (tmp_path / "a.csv").write_text("80s,0.5\n1980,0.25\n")
    assert mirflow.load(tmp_path / "a.csv", task="tagging")["label"].values.tolist() == ["80s", "1980"]


def test_classes_beyond_the_header_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("track\tgenre\nt1\trock\tpop\nt2\tjazz\t\n")
    with pytest.raises(InvalidAnnotationError, match=r"a\.tsv:2.*: has 3 columns, but the header has 2: 't1 rock pop'"):
        mirflow.load_collection(tmp_path / "a.tsv", "classification")
    (tmp_path / "a.tsv").write_text("track\tgenre\nt1\trock\nt2\tjazz\t\n")
    assert mirflow.load_collection(tmp_path / "a.tsv", "classification").annotation("t2").labels == ["jazz"]


@pytest.mark.parametrize(
    ("task", "said"), [("tagging", "read it with load_collection"), ("beat", "events are read from te")]
)
def test_an_array_is_no_annotation_of_one_track(tmp_path: Path, task: str, said: str) -> None:
    np.save(tmp_path / "a.npy", VALUES)
    with pytest.raises(InvalidAnnotationError, match=rf"a\.npy: .*{said}"):
        mirflow.load(tmp_path / "a.npy", task=task)


def npy_of(header: str, data: bytes = b"") -> bytes:
    """The bytes of an array with any header."""
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


HEADER = "{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}"
# Members that hostile archives had; every one ended a run.
HOSTILE = {
    "bytes": b"x",
    "no Python": npy_of("(((("),
    "deep": npy_of("-" * 9000),
    "more than fits": npy_of(HEADER.format(shape=(10**20, 2))),
    "more than it holds": npy_of(HEADER.format(shape=(10**12, 2)), bytes(64)),
    "less than it holds": npy_of(HEADER.format(shape=(2, 2)), bytes(64)),
    "negative": npy_of(HEADER.format(shape=(-2, -2)), bytes(32)),
}


def hostile_archive(path: Path, kind: str) -> Path:
    """An archive with one member that is none, or that zipfile cannot unpack."""
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("data.npy", HOSTILE.get(kind, HOSTILE["bytes"]))
    data = bytearray(path.read_bytes())
    local, central = 0, data.index(b"PK\x01\x02")
    if kind == "encrypted":
        data[local + 6] |= 1
        data[central + 8] |= 1
    elif kind == "unknown compression":
        data[local + 8] = data[central + 10] = 99
    path.write_bytes(bytes(data))
    return path


@pytest.mark.parametrize("kind", [*HOSTILE, "encrypted", "unknown compression"])
def test_an_archive_that_is_damaged_or_hostile_is_unreadable_and_takes_no_memory(tmp_path: Path, kind: str) -> None:
    path = hostile_archive(tmp_path / "bad.npz", kind)
    with pytest.raises(UnreadableError, match=r"bad\.npz: (cannot be read as an array|the array 'data' holds)"):
        mirflow.load_collection(path, "tagging")
    if kind in HOSTILE:
        (tmp_path / "bad.npy").write_bytes(HOSTILE[kind])
        with pytest.raises(AnnotationError, match=r"bad\.npy: "):
            mirflow.load_collection(tmp_path / "bad.npy", "tagging")


TAG_NAMESPACES = sorted(name for name in NAMESPACES if name.startswith("tag_"))


def write_jams(path: Path, namespace: str, tags: list[tuple[Any, Any]]) -> Path:
    data = [{"time": 0.0, "duration": 9.0, "value": value, "confidence": confidence} for value, confidence in tags]
    held = {"annotations": [{"namespace": namespace, "data": data}], "file_metadata": {"duration": 9.0}}
    path.write_text(json.dumps(held))
    return path


def test_all_tag_namespaces_of_jams_are_known() -> None:
    import jams

    known = {name for name in jams.schema.__NAMESPACE__ if name.startswith("tag_")}
    assert set(TAG_NAMESPACES) == known


@pytest.mark.parametrize("namespace", TAG_NAMESPACES)
def test_tags_of_jams_have_their_confidence_as_value(tmp_path: Path, namespace: str) -> None:
    path = write_jams(tmp_path / "a.jams", namespace, [("rock", 0.75), ("folk", 1)])
    for task in ("tagging", "classification"):
        found = read(path, task=task)
        assert (found.kind, found.labels) == ("labels", ["rock", "folk"])
        assert found.columns["value"].tolist() == [0.75, 1.0]


def test_without_every_confidence_there_are_no_values(tmp_path: Path) -> None:
    found = read(write_jams(tmp_path / "a.jams", "tag_open", [("rock", None), ("folk", 1)]), task="tagging")
    assert "value" not in found.columns
    message = "1 confidence not read, since only some observations have one"
    assert [remark.message for remark in found.account] == [message]
    assert read(write_jams(tmp_path / "a.jams", "tag_open", [("rock", None)]), task="tagging").account == ()


def test_objects_of_jams_are_read_and_written_alike(tmp_path: Path) -> None:
    import jams

    path = write_jams(tmp_path / "a.jams", "tag_open", [("rock", 0.75), ("folk", 1)])
    plain, held = read(path, task="tagging"), read(jams.load(str(path), validate=False), task="tagging")
    assert held.labels == plain.labels
    np.testing.assert_array_equal(held.columns["value"], plain.columns["value"])
    again = read(to_jams(plain, namespace="tag_open"), task="tagging")
    assert again.labels == plain.labels
    np.testing.assert_array_equal(again.columns["value"], plain.columns["value"])
    assert read(to_jams(Annotation("labels", {}, ["rock"]), task="tagging"), task="tagging").columns == {}


def test_genres_of_jams_files_are_scored(tmp_path: Path) -> None:
    for name, value in (("ref", "rock"), ("est", "metal")):
        (tmp_path / name).mkdir()
        write_jams(tmp_path / name / "a.jams", "tag_gtzan", [(value, 1.0)])
    found = mirflow.evaluate(tmp_path / "ref" / "a.jams", tmp_path / "est" / "a.jams", "classification")
    assert found["score"].sel(metric="accuracy").item() == 0
    assert found["confusion"].sel(ref_class="rock", est_class="metal").item() == 1


def test_a_file_for_each_track_holds_a_label_on_each_row(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("female voice\t0.5\nslow\t1\n")
    found = read(path, task="tagging", delimiter="tab")
    assert (found.labels, found.columns["value"].tolist()) == (["female voice", "slow"], [0.5, 1.0])
    path.write_text("rock\n")
    assert read(path, task="classification").labels == ["rock"]
    path.write_text("rock nan\n")
    with pytest.raises(InvalidAnnotationError, match=r"a\.txt:1: the number of 'rock' is NaN"):
        read(path, task="tagging")
    path.write_text("")
    assert read(path, task="tagging").labels == []


@pytest.mark.parametrize("suffix", ["lab", "txt", "tsv", "csv"])
@pytest.mark.parametrize("text", ["guitar;0,9\nvery slow;0,5\n", "tag;score\nguitar;0,9\nvery slow;0,5\n"])
def test_a_tag_and_its_number_are_separated_in_any_file(tmp_path: Path, suffix: str, text: str) -> None:
    for written in (text, text.replace(",", ".").replace(";", ","), text.replace(",", ".").replace(";", "\t")):
        (tmp_path / f"a.{suffix}").write_text(written)
        tags = read(tmp_path / f"a.{suffix}", task="tagging")
        assert (tags.labels, tags.columns["value"].tolist()) == (["guitar", "very slow"], [0.9, 0.5])
