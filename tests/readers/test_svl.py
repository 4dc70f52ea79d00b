"""Layers of Sonic Visualiser."""

from __future__ import annotations

import bz2
from pathlib import Path

import pytest

from mirflow.errors import InvalidAnnotationError, UnreadableError
from mirflow.readers import Reading, read
from mirflow.readers.formats import FORMATS
from mirflow.readers.sonic_visualiser import parse_svl

MELODY = Reading.of(task="melody")
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE sonic-visualiser>\n'


def layer(points: list[str], dimensions: int, number: int = 1, more: str = "") -> str:
    """A model and its dataset, as Sonic Visualiser writes them."""
    rows = "\n".join(f"<point {point}/>" for point in points)
    return (
        f'<model id="{number}" name="layer {number}" sampleRate="1000" type="sparse" dimensions="{dimensions}" '
        f'resolution="1" dataset="{number + 50}" {more}/>\n'
        f'<dataset id="{number + 50}" dimensions="{dimensions}">\n{rows}\n</dataset>\n'
    ).replace('resolution="1" ', "" if "resolution" in more else 'resolution="1" ')


def document(*layers: str) -> bytes:
    return f"{HEAD}<sv>\n<data>\n{''.join(layers)}</data>\n<display></display>\n</sv>\n".encode()


def test_a_melody_is_a_layer_of_values_over_time(tmp_path: Path) -> None:
    path = tmp_path / "a.svl"
    path.write_bytes(document(layer(['frame="500" value="440" label=""', 'frame="0" value="-220.5"'], 2)))
    melody = read(path, task="melody")
    assert melody.columns["time"].tolist() == [0.0, 0.5]
    assert melody.columns["frequency"].tolist() == [-220.5, 440.0]


def test_gaps_in_the_grid_of_a_pitch_track_are_unvoiced() -> None:
    points = [f'frame="{frame}" value="{value}"' for frame, value in ((0, 1), (10, 2), (50, 3), (60, 4), (80, 5))]
    melody = parse_svl(document(layer(points, 2, more='resolution="10"')), MELODY)
    assert [round(1000 * time) for time in melody.columns["time"]] == [0, 10, 20, 40, 50, 60, 70, 80]
    assert melody.columns["frequency"].tolist() == [1, 2, 0, 0, 3, 4, 0, 5]


@pytest.mark.parametrize(("units", "hertz"), [("Hz", 69.0), ("MIDI Pitch", 440.0), ("", 440.0)])
def test_notes_have_durations_and_levels(units: str, hertz: float) -> None:
    points = ['frame="100" value="69" duration="250" level="0.5" label="a"']
    for more in ('subtype="note"', 'subtype="flexinote"', ""):
        notes = parse_svl(document(layer(points, 3, more=f'{more} units="{units}"')), Reading.of(task="transcription"))
        assert (notes.columns["start"].tolist(), notes.columns["end"].tolist()) == ([0.1], [0.35])
        assert (notes.columns["pitch"].tolist(), notes.columns["velocity"].tolist()) == ([hertz], [63.5])
        assert notes.labels == ["a"]


def test_instants_are_events() -> None:
    data = document(layer(['frame="500" label="1"', 'frame="1500" label="2"'], 1))
    beats = parse_svl(data, Reading.of(task="beat"))
    assert (beats.columns["time"].tolist(), beats.labels) == ([0.5, 1.5], ["1", "2"])


def test_sessions_are_compressed_and_hold_other_layers(tmp_path: Path) -> None:
    whole = document(
        '<model id="9" name="" sampleRate="44100" type="wavefile" file="/music/a.wav" mainModel="true"/>\n',
        layer(['frame="0" value="1" duration="1"'], 3, 3, 'subtype="region"'),
        layer(['frame="0" label="x"'], 1, 1),
        layer(['frame="0" value="330"'], 2, 2),
    )
    path = tmp_path / "a.sv"
    path.write_bytes(bz2.compress(whole))
    assert read(path, task="melody").columns["frequency"].tolist() == [330.0]


def test_one_layer_has_to_fit() -> None:
    instants = document(layer(['frame="0"'], 1))
    with pytest.raises(
        InvalidAnnotationError, match="holds 0 layers of values over time, not one; it holds instants 'layer 1'"
    ):
        parse_svl(instants, MELODY)
    two = document(layer(['frame="0" value="1"'], 2, 1), layer(['frame="0" value="1"'], 2, 2))
    with pytest.raises(InvalidAnnotationError, match="holds 2 layers of values over time"):
        parse_svl(two, MELODY)
    with pytest.raises(InvalidAnnotationError, match="can be read as events, series, notes, not as intervals"):
        parse_svl(two, Reading.of(task="chord"))


def test_a_layer_may_be_empty() -> None:
    melody = parse_svl(document(layer([], 2)), MELODY)
    assert (len(melody), set(melody.columns)) == (0, {"time", "frequency"})


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ('frame="0" value="high"', "a.svl:8: value is not a number: 'high'"),
        ('frame="0"', "a.svl:8: value is missing"),
        ('frame="1" value="inf"', "a.svl:8: value is not a number: 'inf'"),
        ('value="440"', "a.svl:8: frame is missing"),
    ],
)
def test_what_is_wrong_with_a_point_is_reported_with_its_line(point: str, message: str) -> None:
    text = document(layer(['frame="1" value="2"', point], 2)).replace(
        b'dataset id="51" dimensions="2">', b'dataset id="51">'
    )
    with pytest.raises(InvalidAnnotationError, match=message):
        parse_svl(text, MELODY, name="a.svl")


def test_a_layer_has_a_rate() -> None:
    for rate, message in (("0", "sampleRate is not above 0: 0"), ("x", "sampleRate is not a number: 'x'")):
        data = document(layer(['frame="0" value="1"'], 2)).replace(
            b'sampleRate="1000"', f'sampleRate="{rate}"'.encode()
        )
        with pytest.raises(InvalidAnnotationError, match=message):
            parse_svl(data, MELODY)


BOMB = (
    '<?xml version="1.0"?>\n<!DOCTYPE sv [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>\n'
    "<sv><data>&b;</data></sv>"
)
LEAK = '<!DOCTYPE sv [<!ENTITY x SYSTEM "file:///etc/passwd">]><sv><data>&x;</data></sv>'


@pytest.mark.parametrize("text", [BOMB, LEAK])
def test_entities_are_refused(text: str) -> None:
    with pytest.raises(UnreadableError, match="declares XML entities"):
        parse_svl(text.encode(), MELODY, name="a.svl")


def test_a_document_type_outside_is_not_fetched() -> None:
    data = document(layer(['frame="0" value="1"'], 2)).replace(
        b"sonic-visualiser>", b'sv SYSTEM "http://127.0.0.1:9/x">', 1
    )
    assert len(parse_svl(data, MELODY)) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not a Sonic Visualiser file"),
        (b"0.0 440\n", "is not a Sonic Visualiser file: .*"),
        (document(layer([], 2))[:-5], "is not a Sonic Visualiser file"),
        (bz2.compress(document(layer([], 2)))[:-5], "is truncated"),
        (b"BZh9 this is not compressed", "cannot be decompressed"),
        (b"\x00\x01\x02", "is not a Sonic Visualiser file"),
        (b'<?xml version="1.0" encoding="klingon"?><sv/>', "cannot be decoded: unknown encoding: klingon"),
        (b'<?xml version="1.0" encoding="gb2312"?><sv/>', "cannot be decoded"),
    ],
)
def test_what_is_no_layer_is_unreadable(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        parse_svl(data, MELODY, name="a.svl")


def test_what_grows_too_large_is_refused() -> None:
    bomb = bz2.compress(b"<sv>" + b" " * 10**6)
    with pytest.raises(UnreadableError, match="too large: more than 0 MB when decompressed"):
        parse_svl(bomb, Reading.of(task="melody", max_bytes=10**5), name="a.sv")


def test_what_is_beside_the_layer_is_reported() -> None:
    melody, beats = layer(['frame="0" value="330"'], 2, 2), layer(['frame="0"'], 1, 1)
    assert parse_svl(document(melody, beats), MELODY).account == ()
    assert "layers of other kinds" in FORMATS["svl"].silent["layers"]
    orphans = document(melody, '<dataset id="99"><point frame="1"/>\n<point frame="2"/></dataset>')
    (remark,) = parse_svl(orphans, MELODY).account
    assert (remark.rule, remark.message, remark.line) == ("rows", "2 points of no layer not read", 9)
    notes = ['frame="0" value="60" duration="9" level="0.5"', 'frame="9" value="60" duration="9"']
    (remark,) = parse_svl(document(layer(notes, 3)), Reading.of("transcription")).account
    assert (remark.rule, remark.line, remark.count) == ("columns", 7, 1)
