"""Repeated patterns: the MIREX text format and JAMS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mir_eval
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation
from mirflow.errors import InvalidAnnotationError
from mirflow.readers import Reading, read, schema_problems, to_jams
from mirflow.readers.single_layout import parse_patterns

MOTIFS = Reading.of("pattern")

# jams itself calls jsonschema in a way that is deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:Passing a schema to Validator:DeprecationWarning")

Nested = list[list[list[tuple[float, float]]]]


def nested(annotation: Annotation) -> Nested:
    notes = iter(zip(annotation.columns["onset"].tolist(), annotation.columns["pitch"].tolist(), strict=True))
    occurrences, sizes = annotation.inner_counts
    size = iter(sizes.tolist())
    return [[[next(notes) for _ in range(next(size))] for _ in range(count)] for count in occurrences.tolist()]


def text_of(patterns: Nested, note: str = "{:.6f}, {:.6f}") -> str:
    lines = []
    for p, pattern in enumerate(patterns, 1):
        lines.append(f"pattern{p}")
        for o, occurrence in enumerate(pattern, 1):
            lines.append(f"occurrence{o}")
            lines += [note.format(*one) for one in occurrence]
    return "\n".join(lines) + "\n"


ONE = [[[(-1.0, 60.0), (0.5, 62.0)], [(8.0, 60.0)]], [[(3.0, 70.0)]]]


@pytest.mark.parametrize("note", ["{}, {}", "{},{}", "{} {}", "{}\t{}", "  {},   {}  "])
def test_notes_in_occurrences_in_patterns(note: str) -> None:
    assert nested(parse_patterns(text_of(ONE, note).encode(), MOTIFS)) == ONE


def test_blank_lines_comments_and_capitals_do_not_matter() -> None:
    text = text_of(ONE).replace("pattern", "Pattern ").replace("occurrence2", "\n# again\nOCCURRENCE2")
    found = parse_patterns(text.replace("\n", "\r\n").encode(), MOTIFS)
    assert nested(found) == ONE
    assert [found.line(item) for item in range(3)] == [3, 4, 8]


def test_what_holds_no_note_is_left_out() -> None:
    assert len(parse_patterns(b"", MOTIFS)) == 0
    assert len(parse_patterns(b"pattern1\noccurrence1\n", MOTIFS)) == 0
    assert nested(parse_patterns(b"pattern1\npattern2\noccurrence1\noccurrence2\n1, 60\npattern3\n", MOTIFS)) == [
        [[(1.0, 60.0)]]
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "pattern1\noccurrence1\n1, x\n",
            r"a\.txt:3: expected a pattern, an occurrence, or an onset and a pitch, not '1, x'",
        ),
        ("pattern1\noccurrence1\n1\n", r"a\.txt:3: expected a pattern"),
        ("0 1 C\n", r"a\.txt:1: the note is outside of all occurrences: '0 1 C'"),
        ("1, 60\n", r"a\.txt:1: the note is outside of all occurrences: '1, 60'"),
    ],
)
def test_the_line_is_named(text: str, message: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=message):
        parse_patterns(text.encode(), MOTIFS, name="a.txt")


NUMBERS = st.integers(-400, 400).map(lambda number: number / 4)
NOTES = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=4)
PATTERNS = st.lists(st.lists(NOTES, min_size=1, max_size=3), max_size=3)


@given(PATTERNS)
def test_text_and_jams_survive_the_round_trip(patterns: Nested) -> None:
    found = parse_patterns(text_of(patterns, "{!r}, {!r}").encode(), MOTIFS)
    assert nested(found) == patterns
    back = read(to_jams(found, task="pattern"), task="pattern")
    assert nested(back) == [[sorted_by_time(one) for one in pattern] for pattern in patterns]


def sorted_by_time(notes: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """JAMS keeps observations in the order of time."""
    return sorted(notes, key=lambda note: note[0])


def observation(onset: float, pitch: Any, pattern: int, occurrence: int) -> dict[str, Any]:
    value = {"midi_pitch": pitch, "morph_pitch": 0, "staff": 0, "pattern_id": pattern, "occurrence_id": occurrence}
    return {"time": onset, "duration": 0.5, "value": value, "confidence": None}


def test_jams_groups_by_number(tmp_path: Path) -> None:
    rows = [observation(8, 60, 1, 2), observation(0, 60, 1, 1), observation(1, 62, 1, 1), observation(3, 70, 5, 1)]
    file = tmp_path / "a.jams"
    file.write_text(json.dumps({"annotations": [{"namespace": "pattern_jku", "data": rows}]}))
    assert nested(read(file, task="pattern")) == [[[(0.0, 60.0), (1.0, 62.0)], [(8.0, 60.0)]], [[(3.0, 70.0)]]]
    file.write_text(json.dumps({"annotations": [{"namespace": "pattern_jku", "data": [observation(0, None, 1, 1)]}]}))
    with pytest.raises(InvalidAnnotationError, match=r"data\[0\]\.value\.midi_pitch: not a number: None"):
        read(file, task="pattern")
    file.write_text(json.dumps({"annotations": [{"namespace": "pattern_jku", "data": []}]}))
    assert len(read(file, task="pattern")) == 0


def test_written_jams_follows_its_schema(tmp_path: Path) -> None:
    # JAMS knows no times before 0, which the first onset of a piece with an upbeat has.
    to_jams(parse_patterns(text_of(ONE[1:]).encode(), MOTIFS), task="pattern").save(str(tmp_path / "a.jams"))
    assert schema_problems(tmp_path / "a.jams") == []


def test_every_file_reads_as_mir_eval_reads_it(shared_data: Path) -> None:
    files = [
        *(shared_data / "jku-patterns").glob("*/*/**/*.txt"),
        *(shared_data / "mir_eval-fixtures/pattern").glob("*.txt"),
    ]
    assert len(files) == 36
    for file in files:
        assert nested(read(file, task="pattern")) == mir_eval.io.load_patterns(str(file))
