"""Metadata of tracks and systems as typed columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirflow.pipeline.load import MetadataError, column_name, tabulate, track_metadata, typed
from mirflow.pipeline.model import Tracks


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", " 2 ", ""], (1, 2, None)),
        (["1", "2.5", "-1e3"], (1.0, 2.5, -1000.0)),
        (["rock", "1", ""], ("rock", "1", None)),
        (["0012", "0400"], ("0012", "0400")),
        (["nan", "inf"], ("nan", "inf")),
        (["12345678901234567890"], (1.2345678901234567e19,)),
        (["", ""], (None, None)),
    ],
)
def test_a_column_has_one_type(texts: list[str], values: tuple[object, ...]) -> None:
    assert typed(texts) == values
    assert [type(value) for value in typed(texts)] == [type(value) for value in values]


def test_tracks_are_looked_up_in_any_order(tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text('\ufeffartist,track,Time Signature,duration,\n"Eve, Adam",b,4,10.5,x\n\nBob,a,3\n')
    assert track_metadata(Tracks(path=str(file)), "", ["a", "b", "c"]) == {
        "artist": ("Bob", "Eve, Adam", None),
        "Time_Signature": (3, 4, None),
        "meta_duration": (None, 10.5, None),
    }


def test_only_line_ends_end_a_row(tmp_path: Path) -> None:
    names = ["a\N{LINE SEPARATOR}b", "c\N{NEXT LINE}d", "e\x0bf\x0cg", "h\ni"]
    file = tmp_path / "m.csv"
    file.write_text(
        "track,genre\r\n" + "".join(f'"{name}",x\N{PARAGRAPH SEPARATOR}y\r\n' for name in names), newline=""
    )
    assert track_metadata(Tracks(path=str(file)), "", names) == {"genre": ("x\N{PARAGRAPH SEPARATOR}y",) * 4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Track,artist\na,b\n", "no column 'track'; did you mean 'Track'"),
        ("", "no column 'track'"),
        ("track\na\na\n", "has the track 'a' twice"),
        ("track\nx.mp3\n", "has none of the tracks: it has 'x.mp3', the files 'a'"),
    ],
)
def test_a_table_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "m.csv"
    file.write_text(text)
    with pytest.raises(MetadataError, match=message):
        track_metadata(Tracks(path=str(file)), "", ["a"])


def test_a_table_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(MetadataError, match="cannot be read: No such file"):
        track_metadata(Tracks(path=str(tmp_path / "m.csv")), "", ["a"])


def test_metadata_by_name_becomes_columns() -> None:
    entries = {"B": {"year": 2013, "deep": True, "x": 1}, "A": {"year": 2012.5, "x": "one"}}
    assert tabulate(["A", "B", "C"], entries) == {
        "year": (2012.5, 2013.0, None),
        "x": ("one", "1", None),
        "deep": (None, True, None),
    }


def test_names_are_ones_that_a_store_can_hold() -> None:
    assert [column_name(name) for name in ("a/b c", "score", "", "genre")] == ["a_b_c", "meta_score", "column", "genre"]


@pytest.mark.parametrize("name", ["Track", "SYSTEM", "metric", "Title", "Duration", "Annotator"])
def test_none_is_a_name_of_the_stores_own_in_another_case(name: str) -> None:
    """On a file system that folds case, ``Title`` and ``title`` would be one array."""
    assert column_name(name) == f"meta_{name}"


def test_semicolons_and_decimal_commas_of_a_table_are_found(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("track;genre;tempo;note\na;rock;120,5;x, y\nb;jazz;90;z\n")
    expected = {"genre": ("rock", "jazz"), "tempo": (120.5, 90.0), "note": ("x, y", "z")}
    assert track_metadata(Tracks(path=str(tmp_path / "m.csv")), "", ["a", "b"]) == expected
