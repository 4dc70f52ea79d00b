"""MusicXML as music21 and partitura read it."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnreadableError

pytest.importorskip("music21")
pytest.importorskip("partitura", exc_type=ImportError)

LIBRARIES = ("music21", "partitura")
KEY = "<key><fifths>{}</fifths><mode>{}</mode></key>"
GRACE = "<note><grace/><pitch><step>B</step><octave>4</octave></pitch><voice>1</voice></note>"
ENDED = '<barline location="right"><repeat direction="backward"/></barline>'
CHORD = "<harmony><root><root-step>C</root-step></root><kind>major</kind></harmony>"


def note(pitch: tuple[str, int, int] | None, length: int, tie: str = "", chord: bool = False, voice: int = 1) -> str:
    sound = "<rest/>"
    if pitch is not None:
        step, alter, octave = pitch
        sound = f"<pitch><step>{step}</step><alter>{alter}</alter><octave>{octave}</octave></pitch>"
    ties = "".join(f'<tie type="{one}"/>' for one in tie.split())
    return f"<note>{'<chord/>' * chord}{sound}<duration>{length}</duration>{ties}<voice>{voice}</voice></note>"


def score(
    *parts: list[str], meter: tuple[int, int] = (3, 4), key: str = KEY.format(-2, "minor"), head: str = ""
) -> str:
    time = "<time><beats>{}</beats><beat-type>{}</beat-type></time>".format(*meter)
    attributes = f"<attributes><divisions>12</divisions>{key}{time}</attributes>{head}"
    listed, written = "", ""
    for number, bars in enumerate(parts):
        listed += f'<score-part id="P{number}"><part-name>part {number}</part-name></score-part>'
        body = "".join(f'<measure number="{place}">{bar}</measure>' for place, bar in enumerate(bars, 1))
        written += f'<part id="P{number}">{body.replace(">", ">" + attributes, 1)}</part>'
    return (
        f'<?xml version="1.0"?><score-partwise version="4.0"><part-list>{listed}</part-list>{written}</score-partwise>'
    )


def rows(path: Path, library: str, task: str = "audio_to_score", **options: Any) -> list[tuple[Any, ...]]:
    """All rows in a stable order."""
    found = mirflow.load(path, task=task, score_library=library, **options)
    columns = [name for name in ("time", "notated_end", "pitch", "voice", "start", "end", "label") if name in found]
    values = (found[name].values.round(9).astype(str) if name != "label" else found[name].values for name in columns)
    return sorted(zip(*values, strict=True))


@st.composite
def scores(draw: st.DrawFn) -> str:
    """One or two parts of four bars: chords, rests, triplets, ties over bar lines, a pickup, grace notes, repeats."""
    pitches = st.tuples(st.sampled_from("CDEFGAB"), st.integers(-1, 1), st.integers(3, 5))
    pickup, rhythms = draw(st.booleans()), ((36,), (12, 24), (24, 12), (6, 6, 24), (4, 4, 4, 24), (18, 18))
    lengths = [(12,) if pickup and not bar else draw(st.sampled_from(rhythms)) for bar in range(4)]
    parts = []
    for _ in range(draw(st.integers(1, 2))):
        line = [draw(st.none() | pitches) for _ in range(sum(map(len, lengths)))]
        held = [one is not None and draw(st.booleans()) for one in line[:-1]]  # tied to the next note
        for place, tied in enumerate(held):
            line[place + 1] = line[place] if tied else line[place + 1]
        ends = [sum(map(len, lengths[:bar])) for bar in range(5)]
        parts.append([])
        for (first, last), own in zip(pairwise(ends), lengths, strict=True):
            bar = GRACE * draw(st.booleans())
            for place, length in zip(range(first, last), own, strict=True):
                tie = f"{'stop' * (place > 0 and held[place - 1])} {'start' * (place < len(held) and held[place])}"
                bar += note(line[place], length, tie)
            parts[-1].append(bar + ENDED * draw(st.booleans()))
    return score(*parts)


@pytest.mark.slow
@given(text=scores())
def test_both_libraries_read_the_same_score(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "drawn.musicxml"
    path.write_text(text)
    assert rows(path, "partitura") == rows(path, "music21")
    assert rows(path, "partitura", "key") == rows(path, "music21", "key")


def test_real_scores_are_the_same() -> None:
    import music21

    for name in ("bach/bwv281.mxl", "bach/bwv372.mxl"):
        path = Path(music21.__file__).parent / "corpus" / name
        assert rows(path, "partitura") == rows(path, "music21")


@pytest.mark.parametrize("library", LIBRARIES)
def test_keys_change_at_times_of_tempo_marks(tmp_path: Path, library: str) -> None:
    path = tmp_path / "a.musicxml"
    slow = "<direction><direction-type><words>x</words></direction-type><sound tempo='{}'/></direction>"
    change = f"<attributes>{KEY.format(1, 'major')}</attributes>{slow.format(30)}"
    bar = note(("C", 0, 4), 36)
    path.write_text(score([bar, change + bar, bar], head=slow.format(60)))
    assert rows(path, library, "local_key") == [("0.0", "3.0", "G minor"), ("3.0", "15.0", "G major")]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (score([note(None, 36)], key="<key><fifths>0</fifths></key>"), "the key is unknown, in measure 1"),
        (
            score([note(None, 36)], head="<attributes><transpose><chromatic>-2</chromatic></transpose></attributes>"),
            "part 'part 0' is written for a transposing instrument",
        ),
        (score([note(None, 36)])[:-30], "is not a MusicXML score|cannot read it as musicxml"),
        ("<score-partwise/>", "holds no score|cannot read it as musicxml"),
    ],
)
def test_both_libraries_refuse_what_has_no_key(tmp_path: Path, text: str, message: str, library: str) -> None:
    path = tmp_path / "a.musicxml"
    path.write_text(text)
    with pytest.raises((InvalidAnnotationError, UnreadableError), match=message):
        rows(path, library, "key")


_COUNTLESS = r"a.musicxml: (a time signature divides|.* cannot read it as musicxml)"


@pytest.mark.parametrize("library", LIBRARIES)
def test_meters_with_countless_tatums_are_refused(tmp_path: Path, library: str) -> None:
    path = tmp_path / "a.musicxml"
    path.write_text(score([note(("C", 0, 4), 36)], meter=(4, 10**12)))
    with pytest.raises(AnnotationError, match=_COUNTLESS):
        rows(path, library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_notes_of_countless_tatums_make_no_rows_without_end(tmp_path: Path, library: str) -> None:
    path = tmp_path / "a.musicxml"
    path.write_text(score([note(("C", 0, 4), 10**30)]))
    try:
        size, said = len(rows(path, library)), ""
    except AnnotationError as error:
        size, said = 0, str(error)
    # music21 9.1 takes it for a note without length.
    assert size < 10
    assert size or re.search(_COUNTLESS, said)


def test_failures_of_partitura_are_errors_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.musicxml"
    path.write_text(score([note(("H", 0, 4), 36)]))
    with pytest.raises(UnreadableError, match=r"a.musicxml: partitura cannot read it as musicxml: KeyError: 'h'"):
        rows(path, "partitura")


def test_time_skipped_at_the_end_of_a_bar_is_part_of_it_only_in_partitura(tmp_path: Path) -> None:
    path = tmp_path / "a.musicxml"
    path.write_text(score([note(("C", 0, 4), 24) + "<forward><duration>12</duration></forward>"]))
    ends = [max(float(row[0]) for row in rows(path, library)) for library in LIBRARIES]
    assert ends == [1.0, 1.5]


def test_chord_symbols_and_kern_need_music21(tmp_path: Path) -> None:
    path = tmp_path / "a.musicxml"
    path.write_text(score([CHORD + note(("C", 0, 4), 36)]))
    for task in ("audio_to_score", "chord"):
        with pytest.raises(AnnotationError, match=r"a.musicxml: chord symbols need music21: .* omit score_library"):
            rows(path, "partitura", task)
    assert rows(path, "partitura", "key") == [("G minor",)]
    (tmp_path / "a.krn").write_text("**kern\n*C:\n4c\n*-\n")
    with pytest.raises(AnnotationError, match=r"a.krn: kern needs music21"):
        rows(tmp_path / "a.krn", "partitura", "key")


def test_partitura_is_taken_where_music21_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.musicxml"
    path.write_text(score([note(("C", 0, 4), 36)]))
    expected = rows(path, "partitura")
    monkeypatch.setitem(sys.modules, "music21", None)
    assert rows(path, "auto") == expected
    with pytest.raises(AnnotationError, match=r"scores need music21: pip install 'mirflow\[scores\]'"):
        rows(path, "music21")
    monkeypatch.setitem(sys.modules, "partitura", None)
    with pytest.raises(AnnotationError, match=r"scores need music21: pip install 'mirflow\[scores\]'"):
        rows(path, "auto")
    with pytest.raises(AnnotationError, match=r"scores need partitura: pip install 'mirflow\[partitura\]'"):
        rows(path, "partitura")
