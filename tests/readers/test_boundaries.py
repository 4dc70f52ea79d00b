"""Lists of boundaries: each row starts a segment, the last one ends the one above."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError
from mirflow.readers import Reading, read
from mirflow.readers.delimited import parse_delimited

COLUMNS = (("start", 0), ("label", 1))
SONG = "0.0\tSilence\n0.5\tVerse 1\n9.0\tSilence\n10.0\tEnd\n"


def segments(text: str, **options: Any) -> Annotation:
    return parse_delimited(text.encode(), Reading.of(kind="intervals", **{"columns": COLUMNS, **options}), "txt")


def rows(annotation: Annotation) -> list[tuple[float, float, str]]:
    columns = (annotation.columns["start"].tolist(), annotation.columns["end"].tolist(), annotation.labels or [])
    return list(zip(*columns, strict=True))


def test_the_last_row_closes_whatever_its_label() -> None:
    assert rows(segments(SONG)) == [(0.0, 0.5, "Silence"), (0.5, 9.0, "Verse 1"), (9.0, 10.0, "Silence")]
    assert rows(segments("0\tA\n4\tSilence\n")) == [(0.0, 4.0, "A")]
    assert rows(segments("0 A\n")) == []


def test_the_last_row_can_be_kept_as_a_segment_without_length() -> None:
    assert rows(segments("0\tA\n4\tSilence\n", last="keep")) == [(0.0, 4.0, "A"), (4.0, 4.0, "Silence")]
    assert rows(segments("# slow\n0\tA\n4\tSilence\n", last="keep")) == [(0.0, 4.0, "A"), (4.0, 4.0, "Silence")]
    with pytest.raises(AnnotationError, match="invalid last 'drop': expected end or keep"):
        segments(SONG, last="drop")


def test_repeated_times_stay_as_segments_without_length() -> None:
    assert rows(segments("0 A\n2 B\n2 C\n5 end\n")) == [(0.0, 2.0, "A"), (2.0, 2.0, "B"), (2.0, 5.0, "C")]


def test_items_know_their_lines() -> None:
    assert [segments(SONG).line(item) for item in range(3)] == [1, 2, 3]
    assert [segments("# x\n" + SONG).line(item) for item in range(3)] == [2, 3, 4]


WORDS = st.text(st.characters(categories=("L", "N"), exclude_characters='"'), min_size=1, max_size=5)


@given(
    st.lists(st.tuples(st.floats(0, 1000), WORDS), max_size=8),
    st.sampled_from("\t ,"),
    st.sampled_from(["end", "keep"]),
)
def test_the_fast_path_and_the_slow_one_agree(table: list[tuple[float, str]], separator: str, last: str) -> None:
    lines = [f"{time!r}{separator}{word}" for time, word in table]
    fast, slow = segments("\n".join(lines), last=last), segments("\n".join(["# x", *lines]), last=last)
    assert rows(fast) == rows(slow)
    assert [fast.line(item) for item in range(len(fast))] == [slow.line(item) - 1 for item in range(len(slow))]


def test_every_file_of_salami(shared_data: Path) -> None:
    files = sorted((shared_data / "salami").glob("*/textfile*.txt"))
    assert len(files) == 720
    columns = {"start": 0, "label": 1}
    kept = [read(file, task="segment", columns=columns, last="keep") for file in files]
    closed = [read(file, task="segment", columns=columns) for file in files]
    last = [(one.labels or [""])[-1].lower() for one in kept]
    assert (last.count("end"), last.count("silence")) == (713, 7)
    assert [len(one) - 1 for one in kept] == [len(one) for one in closed]
    without_length = sum(int((one.columns["start"] == one.columns["end"]).sum()) for one in closed)
    assert without_length == 87
