"""Groups of items that are relevant for each other."""

from __future__ import annotations

import pytest

from mirflow.errors import InvalidAnnotationError, UnknownNameError
from mirflow.readers import Reading
from mirflow.readers.options import DelimitedOptions
from mirflow.readers.tables.table import RowKey, open_table

COVERS = "a\twork1\nb\twork1\nc\twork1\nd\twork2\ne\twork2\nalone\twork3\nnoise\t\n"
ARTISTS = "track,genre,artist\na,rock,x\nb,rock,x\nc,rock,y\nd,jazz,x\ne,jazz,\nf,rock,\ng,blues,z\nh,blues,z\n"


def groups(folder, text, name="g.tsv", columns=(), **options):
    path = folder / name
    path.write_text(text)
    layout = DelimitedOptions(columns=tuple(dict(columns).items()))
    return open_table(str(path), Reading.of(task="retrieval", format="groups", delimited=layout, **options), name)


def sides(opened, track):
    """The relevant items and those that are left out."""
    found, _ = opened.read(RowKey(track))
    marked = dict(zip(found.labels, found.columns["left_out"].tolist(), strict=True))
    return [item for item, mark in marked.items() if not mark], sorted(item for item, mark in marked.items() if mark)


def test_the_others_of_a_group_are_relevant_and_the_query_is_left_out(tmp_path):
    opened = groups(tmp_path, COVERS)
    assert [key.track for key in opened.keys] == ["a", "b", "c", "d", "e"]
    assert sides(opened, "b") == (["a", "c"], ["b"])
    assert sides(opened, "d") == (["e"], ["d"])


def test_the_query_may_be_kept(tmp_path):
    assert sides(groups(tmp_path, COVERS, exclude="none"), "b") == (["a", "c"], [])


def test_items_that_nobody_is_relevant_for_are_no_queries(tmp_path):
    opened = groups(tmp_path, COVERS)
    assert RowKey("alone") not in opened.keys
    assert RowKey("noise") not in opened.keys


def test_the_same_artist_is_left_out(tmp_path):
    opened = groups(tmp_path, ARTISTS, "g.csv", exclude_same="artist")
    assert sides(opened, "a") == (["c", "f"], ["a", "b", "d"])
    assert sides(opened, "c") == (["a", "b", "f"], ["c"])
    assert sides(opened, "f") == (["a", "b", "c"], ["f"])
    assert sides(opened, "e") == (["d"], ["e"])
    assert not {RowKey("g"), RowKey("h")} & set(opened.keys), "the whole group is of one artist"
    assert sides(groups(tmp_path, ARTISTS, "g.csv"), "g") == (["h"], ["g"])


def test_columns_are_found_by_name_or_declared(tmp_path):
    named = groups(tmp_path, "artist,clique,file\nx,1,a\ny,1,b\n", "g.csv")
    assert sides(named, "a") == (["b"], ["a"])
    declared = groups(tmp_path, "x;1;a\ny;1;b\n", "g.txt", {"track": 2, "label": 1}, exclude_same=0)
    assert sides(declared, "a") == (["b"], ["a"])


def test_lines_are_those_of_the_items(tmp_path):
    found, _ = groups(tmp_path, "# covers\n\n" + COVERS).read(RowKey("b"))
    assert [found.line(item) for item in range(3)] == [3, 5, 4]


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("a\t1\nb\t1\na\t2\n", {}, InvalidAnnotationError, r"g\.tsv:3: item 'a' occurs twice, first on line 1"),
        ("a\t1\n\t1\n", {}, InvalidAnnotationError, r"g\.tsv:2: the row has no item"),
        ("a\t1\n", {"exclude_same": "artist"}, InvalidAnnotationError, "the file has no header and no column 'artist'"),
        ("track\tgenre\tartits\na\t1\tx\n", {"exclude_same": "artist"}, InvalidAnnotationError, "mean 'artits'"),
        (
            "track\tkind\na\t1\n",
            {},
            InvalidAnnotationError,
            "no column holds 'label'; declare it in columns: track, kind",
        ),
        ("a\t1\n", {"columns": {"lable": 1}}, UnknownNameError, "did you mean 'label'"),
    ],
)
def test_what_is_wrong_is_reported(tmp_path, text, options, error, message):
    with pytest.raises(error, match=message):
        groups(tmp_path, text, **options)


def test_a_changed_group_concerns_its_own_queries_only(tmp_path):
    def facts(text, **options):
        opened = groups(tmp_path, text, "g.csv", **options)
        return {key.track: (opened.stamp(key), opened.read(key)[1]) for key in opened.keys}

    before, after = facts(ARTISTS), facts(ARTISTS + "i,jazz,q\n")
    assert [key for key in before if before[key] != after[key]] == ["d", "e"]
    before, after = (facts(text, exclude_same="artist") for text in (ARTISTS, ARTISTS + "i,metal,y\n"))
    assert [key for key in before if before[key] != after[key]] == ["c"]
    assert facts(ARTISTS)["a"] != facts(ARTISTS, exclude="none")["a"]
