from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation, from_ragged, to_ragged
from mirflow.annotations.collection import to_variables
from mirflow.annotations.schema import KINDS
from mirflow.errors import StoreError, UnreadableError
from mirflow.ragged import Ragged
from mirflow.store import StoreWriter, open_pack, read_pack, write_pack
from mirflow.store.packs import row_digests

from .example import files_of, make_content
from .strategies import names, texts

TRACKS = ("a", "ü b", "empty", "d")


def intervals(*rows: list[tuple[float, float, str]]) -> Ragged:
    return to_ragged(
        [
            Annotation(
                "intervals",
                {"start": np.array([r[0] for r in row], float), "end": np.array([r[1] for r in row], float)},
                [r[2] for r in row],
            )
            for row in rows
        ]
    )


CHORDS = intervals([(0, 1, "N"), (1, 2.5, "C:maj")], [(0, 3, "G:7(b9)/3")], [], [(0, 1, "C:maj"), (1, 2, "ü")])
NESTED = Ragged(
    {"onset": np.arange(9.0), "pitch": np.arange(60.0, 69.0)},
    (np.array([2, 0, 1]), np.array([1, 2, 1]), np.array([2, 3, 0, 4])),
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "packs" / "refs.zarr"


def assert_same_rows(actual: Ragged, expected: Ragged) -> None:
    assert (actual.labels, dict(actual.depths)) == (expected.labels, dict(expected.depths))
    for level, other in zip(actual.counts, expected.counts, strict=True):
        np.testing.assert_array_equal(level, other)
    assert set(actual.columns) == set(expected.columns)
    for name, values in expected.columns.items():
        np.testing.assert_array_equal(actual.columns[name], values, err_msg=name, strict=True)


def test_a_pack_holds_what_was_put_in(path):
    attrs = {"annotator": "A1", "namespace": "chord", "version": 2}
    about = {
        "artist": ["x", None, "y", ""],
        "duration": [2.5, 3.0, None, 2.0],
        "release year": [1964, 1965, 1966, 1967],
    }
    write_pack(path, "intervals", TRACKS, CHORDS, attrs, about)
    pack = read_pack(path)
    assert (pack.kind, pack.tracks, pack.attrs) == ("intervals", TRACKS, attrs)
    assert_same_rows(pack.rows, CHORDS)
    assert pack.metadata["artist"].tolist() == ["x", "", "y", ""]
    assert pack.metadata["release year"].tolist() == [1964, 1965, 1966, 1967]
    np.testing.assert_array_equal(pack.metadata["duration"], [2.5, 3.0, np.nan, 2.0])


def test_nested_kinds_keep_their_counts_in_counts(path):
    write_pack(path, "patterns", "abc", NESTED)
    pack = read_pack(path)
    assert_same_rows(pack.rows, NESTED)
    for row in range(3):
        assert_same_rows(pack.row(row), NESTED.take([row]))


def test_columns_of_outer_dims_keep_their_depth(path):
    rows = Ragged(
        {"time": np.array([0.1, 0.2, 0.3]), "frequency": np.array([220.0, 330.0, 440.0, 550.0])},
        (np.array([2, 1]), np.array([1, 0, 3])),
        depths={"time": 1},
    )
    write_pack(path, "multipitch", "ab", rows)
    pack = read_pack(path)
    assert_same_rows(pack.rows, rows)
    assert_same_rows(pack.row(1), rows.take([1]))


def test_columns_of_text_are_text(path):
    rows = Ragged(
        {"grader": np.array(["g1", "g2", "g1"]), "label": np.array([0, 1, 0]), "value": np.array([1.0, 0.5, 0.2])},
        (np.array([1, 2]),),
        ("x", "y"),
    )
    write_pack(path, "judgements", "ab", rows)
    assert_same_rows(read_pack(path).rows, rows)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=15, deadline=None)
def test_any_intervals_come_back_to_the_bit(data):
    tracks = data.draw(names)
    times = st.lists(st.tuples(st.floats(), st.floats(), texts), max_size=4)
    rows = [data.draw(times) for _ in tracks]
    ragged = intervals(*rows) if rows else intervals([]).take([])
    with tempfile.TemporaryDirectory() as folder:
        write_pack(f"{folder}/x.zarr", "intervals", tracks, ragged)
        pack = read_pack(f"{folder}/x.zarr")
    assert pack.tracks == tracks
    assert_same_rows(pack.rows, ragged)


def test_sources_give_the_annotations_back(path):
    write_pack(path, "intervals", TRACKS, CHORDS, {"annotator": "A1"}, {"artist": ["x", None, "y", ""]})
    sources = open_pack(path)
    assert tuple(sources) == TRACKS
    for row, (track, source) in enumerate(sources.items()):
        annotation, digest = source.read()
        expected = from_ragged("intervals", CHORDS, row)
        assert annotation.labels == expected.labels
        np.testing.assert_array_equal(annotation.columns["end"], expected.columns["end"])
        assert annotation.attrs["annotator"] == "A1"
        assert source.label == annotation.attrs["source"] == f"{path} [{track}]"
        assert len(digest) == 16
        assert source.kind == "intervals"
    assert sources["a"].read()[0].attrs["artist"] == "x"
    assert "artist" not in sources["d"].read()[0].attrs
    assert sources["a"].read()[0].line(0) is None


def test_sources_are_small_and_can_be_sent_to_another_process(path):
    write_pack(path, "intervals", TRACKS, CHORDS)
    source = open_pack(path)["ü b"]
    code = "import sys, pickle; a, d = pickle.load(sys.stdin.buffer).read(); print(ascii(a.labels), d)"
    sent = pickle.dumps(source)
    assert len(sent) < 500
    done = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)
    assert done.stdout.decode().split() == ["['G:7(b9)/3']", source.read()[1]]
    assert pickle.loads(sent) == source
    assert hash(pickle.loads(sent)) == hash(source)


def test_only_tracks_whose_contents_changed_look_changed(path):
    write_pack(path, "intervals", TRACKS, CHORDS)
    before = {track: (source.stat(), source.read()[1]) for track, source in open_pack(path).items()}
    changed = replace(CHORDS, columns={**CHORDS.columns, "end": CHORDS.columns["end"] + [0, 0, 0.5, 0, 0]})
    write_pack(path, "intervals", TRACKS, changed, overwrite=True)
    after = {track: (source.stat(), source.read()[1]) for track, source in open_pack(path).items()}
    assert [track for track in TRACKS if before[track] != after[track]] == ["ü b"]


def test_the_digest_of_a_row_does_not_depend_on_the_rest_of_the_pack():
    alone = [row_digests("intervals", intervals(*(CHORDS_ROW,)))[0] for CHORDS_ROW in [[(0, 1, "C:maj"), (1, 2, "ü")]]]
    assert row_digests("intervals", CHORDS)[3] == alone[0]
    assert len(set(row_digests("intervals", CHORDS))) == 4
    assert row_digests("patterns", NESTED)[2] == row_digests("patterns", NESTED.take([2]))[0]


def test_a_value_that_moves_to_another_column_or_row_of_counts_changes_the_digest():
    moved = Ragged(NESTED.columns, (NESTED.counts[0], NESTED.counts[1], np.array([3, 2, 0, 4])))
    assert row_digests("patterns", moved)[0] != row_digests("patterns", NESTED)[0]
    swapped = Ragged({"onset": NESTED.columns["pitch"], "pitch": NESTED.columns["onset"]}, NESTED.counts)
    assert row_digests("patterns", swapped)[0] != row_digests("patterns", NESTED)[0]


def test_rows_of_equal_bytes_that_are_divided_differently_have_different_digests():
    # 1, 1, 0, 0 in both: one note at 0 s of pitch 0, or two patterns with an occurrence without notes each.
    note = Ragged({"onset": np.zeros(1), "pitch": np.zeros(1)}, (np.array([1]), np.array([1]), np.array([1])))
    silent = Ragged({"onset": np.zeros(0), "pitch": np.zeros(0)}, (np.array([2]), np.array([1, 1]), np.array([0, 0])))
    assert row_digests("patterns", note) != row_digests("patterns", silent)


def test_a_source_finds_its_track_in_a_pack_that_was_written_again(path):
    write_pack(path, "intervals", TRACKS, CHORDS)
    source = open_pack(path)["d"]
    write_pack(path, "intervals", TRACKS[::-1], CHORDS.take([3, 2, 1, 0]), overwrite=True)
    assert source.read()[0].labels == ["C:maj", "ü"]
    write_pack(path, "intervals", TRACKS[:3], CHORDS.take([0, 1, 2]), overwrite=True)
    with pytest.raises(UnreadableError, match=r"refs.zarr: the track 'd' is not in this pack any more"):
        source.read()
    shutil.rmtree(path)
    with pytest.raises(UnreadableError, match=r"refs.zarr: cannot be read: No such file"):
        source.read()


@pytest.mark.slow
def test_plain_xarray_reads_a_pack_as_contiguous_ragged_arrays(path):
    write_pack(path, "patterns", "abc", NESTED, {"annotator": "A1"}, {"title": ["x", "y", "z"]})
    code = f"""
import sys, xarray as xr
ds = xr.open_zarr({str(path)!r}).load()
assert ds.row_size.attrs["sample_dimension"] == "pattern" and ds.row_size.dims == ("track",), ds
assert ds.occurrence_size.attrs["sample_dimension"] == "occurrence" and ds.occurrence_size.dims == ("pattern",)
assert ds.note_size.attrs["sample_dimension"] == "note" and ds.note_size.dims == ("occurrence",)
assert ds.onset.attrs["units"] == "quarter notes" and ds.onset.dims == ("note",)
assert ds.track_title.dims == ("track",) and "track_title" in ds.coords and ds.annotator == "A1"
assert "mirflow" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def damage(path, name, values):
    """Replace a variable of a pack, perhaps by one of another length."""
    root = zarr.open_group(str(path), mode="r+", use_consolidated=False)
    array = root[name]
    array.resize((len(values),))
    array[...] = values
    (path / "zarr.json").write_text(
        '{"zarr_format": 3, "node_type": "group", "attributes": {"mirflow_pack": 1, "kind": "intervals"}}'
    )


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("row_size", [2, 1, 0, 1], "column '[a-z]*' has 5 items, the counts say 4"),
        ("row_size", [2, 1, 0, 3], "column '[a-z]*' has 5 items, the counts say 6"),
        ("row_size", [3, 1, -1, 2], "a count is negative"),
        ("row_size", [2, 1, 2], "4 tracks, 4 digests, 3 rows"),
        ("end", [1.0], "column 'end' has 1 items, the counts say 5"),
        ("label", [0, 0, 0, 0, 4], "a label's code is outside the vocabulary"),
        ("label", [0, 0, 0, 0, -2], "a label's code is outside the vocabulary"),
        ("digest", ["x"], "4 tracks, 1 digests, 4 rows"),
        ("track_title", ["x"], "'title' has 1 values for 4 tracks"),
    ],
)
def test_lengths_and_codes_that_do_not_fit_are_damage(path, name, values, message):
    write_pack(path, "intervals", TRACKS, CHORDS, None, {"title": list("abcd")})
    damage(path, name, values)
    with pytest.raises(StoreError, match=f"refs.zarr: is damaged: .*{message}"):
        read_pack(path)


def test_a_damaged_chunk_is_an_error_and_never_a_number(path):
    write_pack(path, "intervals", TRACKS, CHORDS)
    chunk = path / "end" / "c.0"
    whole = chunk.read_bytes()
    for place in range(len(whole)):
        chunk.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            same = read_pack(path).rows.columns["end"].tolist() == CHORDS.columns["end"].tolist()
        except StoreError:
            same = True
        assert same


def test_a_variable_that_is_gone_is_damage(path):
    write_pack(path, "intervals", TRACKS, CHORDS)
    damage(path, "start", [0.0] * 5)
    shutil.rmtree(path / "end")
    with pytest.raises(StoreError, match=r"refs.zarr: is damaged: it lacks the variable 'end'; pack the annotations"):
        read_pack(path)


@pytest.mark.parametrize("name", ["row_size", "start", "label", "vocabulary", "digest", "track"])
def test_a_chunk_that_was_lost_on_the_way_is_damage(path, name):
    write_pack(path, "intervals", TRACKS, intervals([(0, 1, "N")], [], [], []))
    (path / name / "c.0").unlink()
    with pytest.raises(StoreError, match=f"refs.zarr: is damaged: chunks of '{name}' are lost; pack"):
        read_pack(path)


def test_the_texts_of_labels_are_called_as_in_a_dataset(path):
    write_pack(path, "intervals", TRACKS, CHORDS)
    stored = zarr.open_group(str(path), mode="r")
    dim, texts, attrs = to_variables(KINDS["intervals"], CHORDS)["vocabulary"]
    assert stored["vocabulary"][:].tolist() == texts.tolist()
    assert stored["vocabulary"].metadata.dimension_names == (dim,)
    assert stored["vocabulary"].attrs["long_name"] == attrs["long_name"]


def test_a_pack_that_is_there_is_replaced_only_on_demand(path):
    write_pack(path, "intervals", TRACKS, CHORDS)
    before = files_of(path)
    with pytest.raises(StoreError, match=r"refs.zarr: already exists; --overwrite"):
        write_pack(path, "intervals", TRACKS, CHORDS)
    assert files_of(path) == before
    write_pack(path, "intervals", TRACKS[:1], CHORDS.take([0]), overwrite=True)
    assert read_pack(path).tracks == ("a",)
    assert [entry.name for entry in path.parent.iterdir()] == ["refs.zarr"]


def test_nothing_but_a_pack_is_ever_overwritten(tmp_path):
    with StoreWriter(tmp_path / "x.zarr") as writer:
        writer.publish([make_content()])
    shutil.copytree(tmp_path / "x.zarr", tmp_path / "copy.zarr")
    (tmp_path / "mine").mkdir()
    (tmp_path / "file").write_text("mine")
    for name, message in {
        "x.zarr": "is a link",
        "copy.zarr": "is a result store, not a pack",
        "mine": "is not a store",
        "file": "is not a store",
    }.items():
        with pytest.raises(StoreError, match=message):
            write_pack(tmp_path / name, "intervals", TRACKS, CHORDS, overwrite=True)
        assert (tmp_path / name).exists()


def test_a_pack_that_cannot_be_written_leaves_nothing_behind(path, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mirflow.store.generations.os.fsync", full)
    with pytest.raises(StoreError, match=r"refs.zarr: cannot be written: No space left on device"):
        write_pack(path, "intervals", TRACKS, CHORDS)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "chords"}, "unknown kind 'chords': choose from events, intervals"),
        ({"kind": "patterns"}, "patterns is ragged along pattern, occurrence, note, the rows have other counts"),
        ({"tracks": "abc"}, "4 rows need as many different tracks, not 3"),
        ({"tracks": "abca"}, "4 rows need as many different tracks, not 3"),
        ({"attrs": {"kind": "x"}}, "the attribute 'kind' is the pack's own"),
        ({"track_attrs": {"year": [1]}}, "'year' has 1 values for 4 tracks"),
        ({"track_attrs": {"a b": [1] * 4, "a_b": [1] * 4}}, "have the same name: a b, a_b"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(path, changes, message):
    arguments = {"kind": "intervals", "tracks": TRACKS, "rows": CHORDS, **changes}
    with pytest.raises(StoreError, match=message):
        write_pack(path, **arguments)
    assert not path.parent.exists()


def test_what_is_not_a_pack_is_refused_by_name(tmp_path):
    with StoreWriter(tmp_path / "x.zarr") as writer:
        writer.publish([make_content()])
    with pytest.raises(StoreError, match=r"x.zarr: is a result store, not a pack of annotations; `mirflow pack` makes"):
        open_pack(tmp_path / "x.zarr")
    zarr.create_group(str(tmp_path / "y.zarr"), attributes={"mirflow_pack": 9, "kind": "intervals"})
    with pytest.raises(StoreError, match=r"has format 9 .* reads format 1; upgrade mirflow"):
        read_pack(tmp_path / "y.zarr")
    with pytest.raises(StoreError, match="No such file"):
        open_pack(tmp_path / "z.zarr")


def test_every_kind_with_dims_can_be_packed(path):
    for kind in KINDS.values():
        if kind.name == "audio":
            continue
        counts = tuple(np.ones(1, dtype=np.int64) for _ in kind.dims)
        columns = {v.name: np.zeros(1, np.int64) if v.name == "label" else np.zeros(1) for v in kind.variables}
        labels = ("x",) if "label" in columns else ()
        texts = {v.name: np.array(["t"]) for v in kind.variables if v.dtype == "str" and v.name != "label"}
        rows = Ragged({**columns, **texts}, counts, labels, kind.depths)
        write_pack(path, kind.name, ["a"], rows, overwrite=True)
        assert_same_rows(read_pack(path).rows, rows)


def test_sound_cannot_be_packed(path):
    rows = Ragged({"signal": np.zeros(1, dtype=object)}, (np.ones(1, dtype=np.int64),))
    with pytest.raises(StoreError, match="audio stays in its files: it cannot be packed"):
        write_pack(path, "audio", ["a"], rows)


def test_a_pack_is_called_by_the_name_that_it_was_given(path):
    write_pack(path, "intervals", TRACKS, CHORDS)
    plain, named = open_pack(path)["a"], open_pack(path, "packs/refs.zarr")["a"]
    assert plain.label == f"{path} [a]"
    assert named.label == "packs/refs.zarr [a]"
    assert (named.path, named.track, named.stat()) == (plain.path, plain.track, plain.stat())
    assert named.read()[0].attrs["source"] == "packs/refs.zarr [a]"
    with pytest.raises(UnreadableError, match=r"^packs/refs.zarr: the track 'gone' is not in this pack any more"):
        replace(named, track="gone").read()


def test_what_killed_writers_left_is_removed_by_the_next_one(path):
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    number = int(dead.stdout)
    path.parent.mkdir()
    left = [path.parent / f".{path.name}.{number}.{what}" for what in ("building", "old")]
    alive = path.parent / f".{path.name}.{os.getppid()}.building"
    other = path.parent / f".other.zarr.{number}.building"
    for folder in (*left, alive, other):
        (folder / "label").mkdir(parents=True)
    write_pack(path, "intervals", TRACKS, CHORDS)
    assert sorted(path.parent.iterdir()) == sorted([path, alive, other])
