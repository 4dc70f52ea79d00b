"""Formats of files: what is declared of each is what is read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mirflow.annotations.account import RULES
from mirflow.errors import InvalidAnnotationError
from mirflow.readers.formats import FORMATS, SUFFIXES, TABLES, format_named, load_reader
from mirflow.readers.options import Reading
from mirflow.readers.sources import parse_file


@pytest.mark.parametrize("name", FORMATS)
def test_what_reads_a_format_is_there(name: str) -> None:
    declared = FORMATS[name]
    addresses = filter(None, (declared.parser, declared.table, *declared.by_kind.values()))
    assert all(callable(load_reader(address)) for address in addresses)


def test_a_suffix_belongs_to_one_format() -> None:
    given = [suffix for one in FORMATS.values() for suffix in (*one.suffixes, *one.unlisted)]
    assert Counter(SUFFIXES).most_common(1)[0][1] == 1
    assert Counter([*given, *(f".{name}" for name in FORMATS)]).most_common(1)[0][1] == 1
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in given)


@pytest.mark.parametrize(
    ("path", "format"),
    [
        *[(f"a{suffix}", name) for name, one in FORMATS.items() for suffix in (*one.suffixes, *one.unlisted)],
        ("A.MID", "midi"),
        ("billboard/0003/salami_chords.txt", "billboard"),
        ("a.beats", "txt"),
        ("folder.csv/a", "txt"),
    ],
)
def test_the_name_of_a_file_says_its_format(path: str, format: str) -> None:
    assert format_named(path) == format
    if format not in TABLES:
        assert Reading.of("transcription").format_of(path) == format


@pytest.mark.parametrize("format", TABLES)
def test_files_of_many_tracks_are_not_read_as_one_annotation(format: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=f"^a: {format} files hold many tracks: read them"):
        parse_file(b"", Reading.of("retrieval", format=format), format, Path("a"))


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_says_what_it_takes_leaves_out_and_reports(name: str) -> None:
    one = FORMATS[name]
    assert one.takes
    assert RULES.keys() >= {*one.silent, *one.reports}
    assert all(one.silent.values())
    assert not {*one.silent} & {*one.reports}
