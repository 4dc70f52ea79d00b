"""Files of a block read at once: the same annotations as file by file, to the bit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation, from_ragged
from mirflow.errors import AnnotationError
from mirflow.readers import FileSource, Reading
from mirflow.readers.blocks import parse_files, read_files
from mirflow.readers.label_maps import in_normal_form
from mirflow.readers.remedies import read_advised
from mirflow.readers.sources import parse_file

READINGS = {
    "chord": Reading.of("chord"),
    "chord in ms": Reading.of("chord", time_unit="ms"),
    "chord in lead-sheet notation": Reading.of("chord", notation="leadsheet"),
    "segment": Reading.of("segment"),
    "functions": Reading.of("segment", labels="functions7"),
    "local_key": Reading.of("local_key"),
    "hierarchy": Reading.of("hierarchy"),
    "beat": Reading.of("beat"),
    "downbeat": Reading.of("downbeat"),
    "onset": Reading.of("onset"),
    "onset in frames": Reading.of("onset", time_unit="frames@0.01"),
    "transcription": Reading.of("transcription"),
    "MIDI numbers": Reading.of("transcription", pitch_unit="MIDI"),
    "melody": Reading.of("melody"),
    "melody in frames": Reading.of("melody", time_unit="frames@0.01"),
    "drums": Reading.of("drums"),
    "pedal": Reading.of("pedal"),
    "last": Reading.of("segment", last="keep"),
}

floats = st.floats(0, 1e4, allow_nan=False)
number = st.one_of(
    st.integers(0, 500).map(str),
    st.integers(0, 10**6).map(lambda n: f"{n / 1000:.3f}"),
    floats.map(repr),
    floats.map("{:.17f}".format),
    floats.map("{:.18e}".format),
    st.decimals(0, 10**7, places=9).map(str),
    st.sampled_from(["0", "00", ".5", "5.", "0.1", "-1.5", "+2", "1e3", "1E-2", "nan", "NaN", "inf", "-inf", "1e400"]),
    st.sampled_from(["1_0", ".", "0x10", "1,5", "9007199254740993", "9007199254740992.0", "123456789012345678", "-0"]),
    st.sampled_from(["0.123456789012345678", "1.2.3", "1d5", "infinity", "--1", "0.30000000000000004", "\u0663"]),
)
label = st.one_of(
    st.sampled_from(["C:maj", "N", "G:7", "A", "verse", "verse 1", "intro\tx", "1", "2", "3", "12", "C major", '"x"']),
    st.sampled_from(["\xe9", "#", "# no", "snare", "kd", "Chorus'", "C#:min/b3", "a  b", "x ", " y", "a\xa0b", "\x1c"]),
    st.sampled_from(["440.0", "sus,4"]),
)
separator = st.sampled_from([" ", " ", "\t", "  ", " \t", "\t\t", ",", ", ", ";", "\xa0"])
ending = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", "\n\n", " \n", "\t\n", "\n ", "\x0b\n"])


@st.composite
def regular(draw: st.DrawFn) -> str:
    """A file as most are: columns of numbers, and perhaps a label."""
    columns = draw(st.integers(1, 4))
    end, separated = draw(st.sampled_from(["\n", "\r\n"])), draw(st.sampled_from([" ", "\t", "  "]))
    decimal = st.integers(0, 10**5).map(lambda n: f"{n / 100:.2f}")
    labels = draw(st.sampled_from([None, ["C:maj", "N"], ["A", "b"], ["1", "2", "3", "4"], ["verse 1", "coda"]]))
    rows = draw(
        st.lists(st.lists(decimal, min_size=columns, max_size=columns), min_size=1, max_size=6).map(
            lambda rows: [sorted(row, key=float) for row in rows]
        )
    )
    lines = [separated.join([*row, *([draw(st.sampled_from(labels))] if labels else [])]) for row in rows]
    return end.join(lines) + draw(st.sampled_from(["", end, end * 2]))


@st.composite
def odd(draw: st.DrawFn) -> str:
    """A file of anything that may be in one."""
    head = draw(st.sampled_from(["", "", "\ufeff", "# comment\n", "start end label\n", "time,label\n", "\n", " "]))
    rows = draw(st.lists(st.tuples(st.lists(number, max_size=4), st.none() | label, separator, ending), max_size=5))
    return head + "".join(between.join([*row, *([last] if last else [])]) + end for row, last, between, end in rows)


def parsed(data: list[bytes], reading: Reading, names: list[str]) -> list[Annotation | None]:
    """The annotation of each file that was parsed at once, those in common rows among them."""
    rows, single = parse_files(data, reading, names)
    found: list[Annotation | None] = [single.get(place) for place in range(len(data))]
    for places, part in rows:
        annotations = [from_ragged(reading.kind, part, row) for row in range(len(part))]
        for place, annotation in zip(places.tolist(), annotations, strict=True):
            # What rows leave to their source: the name of the file, in which every line is a row.
            lines = range(1, len(annotation) + 1)
            assert [annotation.line(item) for item in range(len(lines))] == [*lines]
            found[place] = replace(annotation, lines=lines, attrs={"source": names[place]})
    return found


def outcome(annotation: Annotation) -> tuple[object, ...]:
    return (
        annotation.kind,
        {name: (column.dtype, column.tobytes()) for name, column in annotation.columns.items()},
        None if annotation.labels is None else [*annotation.labels],
        [counts.tolist() for counts in annotation.inner_counts],
        None if annotation.lines is None else [*annotation.lines],
        dict(annotation.attrs),
        annotation.files,
        annotation.account,
    )


@pytest.mark.slow
@settings(max_examples=400)
@example("chord", ["0 1 C\n1 2 G\n"] * 4)
@example("transcription", ["0 1 440 80\n"] * 4)
@example("chord", ["0 1 C\n1 2 G\n" * 2, "1 0.5 C\n2 0.5 G\n", "0 1 a  b\n", '0 1 "C"\n', "0 1 C\tx\n", "0 1 C\n"])
@example("drums", ["0.5 kick\n1 snare\n" * 2, "0.5 kick\n0.5 kick\n1 snare\n1 snare\n", "0.5 a\n0.5 b\n" * 2])
@example("local_key", ["0 1 Key Bb\n", "0 1 Silence\n", "0 1 A minor 0.9\n", "0 1 A minor\n"])
@example("beat", ["0.5\n1.0", "0.5 1\n1 2\n", "0.5\t1\n1\t2\r\n", "1 2 3\n2 3 4\n"])
@given(st.sampled_from(sorted(READINGS)), st.lists(regular() | odd(), min_size=1, max_size=8))
def test_the_annotations_are_those_of_single_files(name: str, texts: list[str]) -> None:
    reading, data = READINGS[name], [text.encode() for text in texts]
    names = [f"{place}.lab" for place in range(len(data))]
    for content, file, found in zip(data, names, parsed(data, reading, names), strict=True):
        if found is not None:
            read = partial(_read_alone, content, file)
            assert outcome(found) == outcome(read_advised(read, reading)[0])


def _read_alone(content: bytes, name: str, reading: Reading) -> tuple[Annotation, None]:
    return in_normal_form(parse_file(content, reading, "lab", name), reading.labels), None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("chord", "0.0 1.5 C:maj\n1.5 2.0 N\n"),
        ("chord", "\ufeff0.0\t1.5\tC:maj\r\n1.5\t2.0\tN"),
        ("chord", "0.000000001 1.123456789012345678 C:maj\n-1e-3 2.0 N\n\n"),
        ("segment", "0 10 verse 1\n10 20.5 chorus\n"),
        ("hierarchy", "0 10 verse 1\n10 20.5 chorus\n"),
        ("beat", "0.5\n1.0\n1.5\n"),
        ("beat", "0.5 1\n1.0 2\n"),
        ("downbeat", "0.5 1\n1.0 2\n"),
        ("onset", "0.5\n"),
        ("transcription", "0.0 1.0 440.0\n0.5 1.0 220\n"),
        ("transcription", "0.0 1.0 440.0 80\n0.5 1.0 220 64\n"),
        ("melody", "0.00\t0.0\n0.01\t440.5\n"),
        ("drums", "0.5 kick\n1.0 snare\n"),
    ],
)
def test_usual_files_are_read_at_once(name: str, text: str) -> None:
    found = parsed([text.encode()] * 2, READINGS[name], ["a.lab", "b.lab"])
    assert all(found)


@pytest.mark.parametrize("options", [{"task": "multipitch"}, {"task": "key"}, {"task": "chord", "delimiter": "comma"},
    {"task": "downbeat", "select": "bar_start"}, {"task": "lyrics"}, {"task": "chord", "comment": "0"}])  # fmt: skip
def test_readings_with_other_columns_are_left_to_their_parsers(options: dict[str, str], tmp_path: Path) -> None:
    reading = Reading.of(**options)
    for place in range(8):
        (tmp_path / f"{place}.lab").write_text("0.5 1.0 2.0\n1.5 2.0 3.0\n")
    sources = [FileSource(str(tmp_path / f"{place}.lab"), reading) for place in range(8)]
    assert read_files(sources) == ([], {}, {})


digits = st.builds(
    lambda value, place: f"{str(value)[:place]}.{str(value)[place:]}", st.integers(10**14, 10**19), st.integers(0, 20)
)


@pytest.mark.parametrize("extended", [True, False])
@given(texts=st.lists(number.filter(str.isascii).filter(bool) | digits, min_size=1, max_size=30))
@example(texts=["0.06249999999999999653", "8589934591.999999523"])  # just below halfway to a power of two
def test_numbers_are_those_of_float(extended: bool, texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        if not extended:  # as where a long double has no more than 53 bits
            patched.setattr("mirflow.readers.blocks._EXTENDED", False)
        (found,) = parsed(["".join(f"1 {text} C\n" for text in texts).encode()], READINGS["chord"], ["a.lab"])
    if found is not None:
        np.testing.assert_array_equal(found.columns["end"], np.array([*map(float, texts)]))


@pytest.mark.parametrize("factors", [None, 0])
def test_labels_are_told_apart_by_all_their_characters(factors: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if factors is not None:  # all labels get the same number
        monkeypatch.setattr("mirflow.readers.blocks._FACTORS", np.zeros(8, dtype=np.uint64))
    texts = ["verse", "verse12", "verse123", "verse1234", "verse1235", "coda of 17 letters", "coda of 17 letterz", "x"]
    for labels in (texts, [*texts, "y" * 80], [*texts, "y z"]):
        lines = "".join(f"{place} {place + 1} {label}\n" for place, label in enumerate([*labels, *labels[::-1]]))
        found = parsed([lines.encode()] * 2, READINGS["segment"], ["a.lab", "b.lab"])
        assert all(one is not None and list(one.labels or ()) == [*labels, *labels[::-1]] for one in found)


class TestFiles:
    def write(self, folder: Path, files: dict[str, bytes]) -> list[FileSource]:
        reading = Reading.of("chord")
        for name, data in files.items():
            (folder / name).write_bytes(data)
        return [FileSource(str(folder / name), reading, name=name) for name in files]

    def test_one_with_an_error_does_not_keep_the_others_from_being_read(self, tmp_path: Path) -> None:
        good = {f"{place}.lab": f"0 {place + 1} C\n{place + 1} 9 G:7\n".encode() for place in range(6)}
        sources = self.write(
            tmp_path, {**good, "bad.lab": b"0 1 C\n1 x N\n", "header.lab": b"start end chord\n0 1 C\n"}
        )
        missing = FileSource(str(tmp_path / "missing.lab"), sources[0].reading)
        ((places, rows),), single, digests = read_files([*sources, missing])
        assert places.tolist() == [0, 1, 2, 3, 4, 5]
        assert single == {}
        assert digests == {place: sources[place].read()[1] for place in range(6)}
        assert rows.columns["end"].tolist() == [1, 9, 2, 9, 3, 9, 4, 9, 5, 9, 6, 9]
        with pytest.raises(AnnotationError, match=r"bad.lab:2: end is not a number: 'x'"):
            sources[6].read()

    def test_many_bytes_are_read_in_parts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("mirflow.readers.blocks._MOST_BYTES", 20)
        sources = self.write(tmp_path, {f"{place}.lab": f"0 {place + 1} C\n".encode() for place in range(9)})
        rows, _, _ = read_files(sources)
        assert [part.columns["end"].tolist() for _, part in rows] == [[1, 2, 3, 4], [5, 6, 7, 8], [9]]
        assert [places.tolist() for places, _ in rows] == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
