"""Valid files of every format and kind, from which the contract makes others.

A format that is registered needs an entry here; the contract names the ones that have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mido import Message, MetaMessage

from mirflow.readers.namespaces import NAMESPACES

from .documents import Example, Lines, Markup, Midi, Table, Tree

Columns = dict[str, tuple[str, ...]]

TABLES: dict[str, Columns] = {
    "chord": {
        "start": ("0.0", "1.5", "3.25", "4.5"),
        "end": ("1.5", "3.25", "4.5", "6.0"),
        "chord": ("C:maj", "A:min7", "G:7/3", "N"),
    },
    "segment": {
        "start": ("0.0", "10.5", "20.25", "31.0"),
        "end": ("10.5", "20.25", "31.0", "42.5"),
        "label": ("intro", "vers\u00e9 one", "chorus", "vers\u00e9 one"),
    },
    "local_key": {
        "start": ("0.0", "10.5", "20.25"),
        "end": ("10.5", "20.25", "31.5"),
        "key": ("C major", "A minor", "F# major"),
    },
    "hierarchy": {"start": ("0.0", "10.5", "20.25"), "end": ("10.5", "20.25", "31.5"), "label": ("A", "B\u00e9", "A")},
    "pedal": {"start": ("0.5", "2.5", "4.25"), "end": ("1.5", "4.0", "5.75"), "pedal": ("sustain", "soft", "sustain")},
    "beat": {"time": ("0.5", "1.01", "1.52", "2.03", "2.55", "3.06"), "beat": ("1", "2", "3", "1", "2", "3")},
    "downbeat": {"time": ("0.5", "1.01", "1.52", "2.03", "2.55", "3.06"), "beat": ("1",) * 6},
    "onset": {"time": ("0.513", "1.021", "1.752", "2.403", "3.011")},
    "alignment": {"time": ("0.513", "1.021", "1.752", "2.403", "3.011")},
    "melody": {
        "time": ("0.0", "0.01", "0.02", "0.03", "0.04"),
        "frequency": ("220.0", "221.5", "0.0", "-230.25", "231.0"),
    },
    "transcription": {
        "start": ("0.5", "1.25", "2.0", "2.5"),
        "end": ("1.25", "1.75", "2.75", "3.5"),
        "pitch": ("220.0", "440.0", "329.63", "261.63"),
    },
    "drums": {"time": ("0.5", "0.75", "1.0", "1.0"), "drum": ("36", "42", "38", "42")},
    "classification": {"label": ("caf\u00e9",)},
    "tagging": {"tag": ("guitar", "voic\u00e9", "slow"), "score": ("0.9", "0.5", "0.25")},
    "retrieval": {"item": ("song\u00e9", "b2", "c3"), "score": ("0.9", "0.5", "0.25")},
    "similarity": {
        "candidate": ("c1", "song\u00e9", "c3"),
        "grader": ("g1", "g1", "g1"),
        "broad": ("VS", "SS", "NS"),
        "fine": ("9.5", "5.0", "0.5"),
    },
    "score_following": {
        "time": ("510", "1020", "1530"),
        "detected": ("530", "1030", "1580"),
        "position": ("500", "1000", "1500"),
        "pitch": ("60", "62", "64"),
    },
    "note_alignment": {"score_id": ("n1", "n2", "n3"), "performance_id": ("p1", "p2", "p4")},
}  # fmt: skip
"""Columns of a small file of each task whose text is a table."""
USUAL = {"key": 3, "local_key": 4, "beat": 3, "downbeat": 3, "transcription": 5}
"""Number of columns of rows in which the last ones may be confidences, bars, velocities or instruments."""
LISTED = ("classification", "tagging", "retrieval", "similarity")
"""Tasks whose annotations are usually in one file for all tracks."""
SEPARATORS = {"lab": "\t", "txt": "\t", "csv": ",", "tsv": "\t"}

LYRICS = "Oh my lov\u00e9\nwait for  me\n\ngoodbye my love\n"
PATTERNS = (
    "pattern1\noccurrence1\n0, 60\n1.5, 62\n2.0, 64\noccurrence2\n8, 60\n9.5, 62\npattern2\noccurrence1\n4, 70\n5, 72\n"
)
NOTATION = (
    "Note 60 12 0 500 0\nNote 64 510 500 1000 1\nTatum 0\nTatum 250\nHierarchy 3,2 4 a=0 0\nKey 7 Maj 0\n"
    "Chord 0 G:maj\n"
)
LRC = "[ar:Somebody]\n[00:01.50]Oh my lov\u00e9\n[00:10.50]wait for me\n[00:12.00]\n[01:00.00]goodbye\n"
SRT = "1\n00:00:01,000 --> 00:00:02,500\nOh my lov\u00e9\n\n2\n00:00:03,000 --> 00:00:04,000\ngoodbye\n"
TEXTGRID = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 3
tiers? <exists>
size = 1
item []:
    item [1]:
        class = "IntervalTier"
        name = "words"
        xmin = 0
        xmax = 3
        intervals: size = 3
        intervals [1]:
            xmin = 0
            xmax = 1
            text = ""
        intervals [2]:
            xmin = 1
            xmax = 2
            text = "lov\u00e9"
        intervals [3]:
            xmin = 2
            xmax = 3
            text = "you"
"""
BILLBOARD = """# title: A Song
# artist: Nobody
# metre: 4/4
# tonic: C

0.0\tsilence
1.0\tA, intro, | C:maj | F:maj G:7 |, (guitar
5.0\tB, verse, | A:min . F:maj . | G:maj | x2, guitar)
11.0\t| D:min | G:7 . |, ->
16.0\tend
"""
KERN = """**kern\t**harm
*M4/4\t*
*k[]\t*
*C:\t*C:
*MM60\t*
=1\t=1
1c\tI
=2\t=2
1g\tV
==\t==
*-\t*-
"""
MUSICXML = """<score-partwise version="4.0"><part-list><score-part id="P1"><part-name>Lead</part-name></score-part>
</part-list><part id="P1"><measure number="1"><attributes><divisions>2</divisions><key><fifths>0</fifths>
<mode>major</mode></key><time><beats>4</beats><beat-type>4</beat-type></time></attributes>
<direction><sound tempo="120"/></direction>
<harmony><root><root-step>C</root-step></root><kind>major</kind></harmony>
<note><pitch><step>C</step><octave>4</octave></pitch><duration>8</duration><voice>1</voice></note></measure>
<measure number="2"><harmony><root><root-step>G</root-step></root><kind>dominant</kind></harmony>
<note><pitch><step>G</step><octave>4</octave></pitch><duration>4</duration><voice>1</voice></note>
<note><pitch><step>B</step><octave>4</octave></pitch><duration>4</duration><voice>1</voice></note></measure>
</part></score-partwise>"""
MATCH = """info(matchFileVersion,5.0).
info(midiClockUnits,480).
info(midiClockRate,600000).
snote(n1,[C,n],4,1:1,0,1/4,0.0,1.0,[staff1])-note(7,[C,n],4,480,960,1000,70).
snote(n2,[E,b],4,1:2,0,1/4,1.0,2.0,[])-note(n8,[D,#],4,960,1440,1500,71).
snote(n3,[E,b],4,1:3,0,1/4,2.0,3.0,[])-deletion.
insertion-note(n9,[G,n],4,1440,1920,1920,64).
sustain(480,100).
sustain(1440,0).
"""
RUN = "q1 Q0 d1 1 9.5 sys\nq1 Q0 d2 2 8.5 sys\nq1 Q0 d3 3 7.5 sys\nq2 Q0 d2 1 6.5 sys\nq2 Q0 d1 2 5.5 sys\n"
QRELS = "q1 0 d1 2\nq1 0 d2 1\nq1 0 d3 0\nq2 0 d1 1\nq2 0 d2 1\n"
LISTS = "q1\td1\td2\td3\nq2\td2\td1\td3\n"
GROUPS = "a\twork1\nb\twork1\nc\twork1\nd\twork2\ne\twork2\n"
MATRIX = (
    "Example distance matrix 0.1\n1\tpath/to/x.wav\n2\tpath/to/y.wav\n3\tpath/to/z.wav\n"
    "Q/R\t1\t2\t3\n1\t0.0\t1.241\t0.02\n2\t1.241\t0.000\t0.6264\n3\t0.502\t0.6264\t0.0000\n"
)


def _rows(columns: Columns) -> tuple[tuple[str, ...], ...]:
    return tuple(zip(*columns.values(), strict=True))


def _tables(format: str) -> Iterator[Example]:
    """Delimited text: a track a file, without and with a header; and many tracks a file."""
    separator = SEPARATORS[format]
    for task, columns in TABLES.items():
        names = tuple(columns)
        table = Table(_rows(columns), separator, names=names, usual=USUAL.get(task, 0))
        yield Example(format, task, replace(table, header=names), name="header")
        if task == "retrieval":  # numbers without a name may be ranks, scores or grades
            table = replace(table, rows=tuple(row[:1] for row in table.rows), names=names[:1])
        yield Example(format, task, table)
        if format == "lab" and task not in ("classification", "tagging", "retrieval", "similarity"):
            blanks = replace(table, separator=" ")
            yield Example(format, task, blanks, name="blanks")
        if task in LISTED:
            tracks = tuple((track, *row) for track in ("t1", "t2") for row in _rows(columns))
            many = Table(tracks, separator, ("track", *names), ("track", *names))
            yield Example(format, task, many, name="tracks", keyed=True)
    frames = Table((("0.0", "220.0", "440.5"), ("0.01", "221.0"), ("0.02",), ("0.03", "330.0")), separator, ragged=True)
    yield Example(format, "multipitch", replace(frames, names=("time", "f0", "f0")))
    yield Example(format, "tempo", Table((("60.5", "120.0", "0.25"),), separator, names=("tempo", "tempo", "strength")))
    yield Example(format, "key", Table((("Eb", "minor"),), separator, names=("tonic", "mode"), usual=USUAL["key"]))
    yield Example(format, "pattern", Lines.of(PATTERNS, r"\d.*"))
    yield Example(format, "audio_to_score", Lines.of(NOTATION, "Note.*"))
    if format in ("lab", "txt"):
        yield Example(format, "lyrics", Lines.of(LYRICS, ".*\\w"))


_VALUES: dict[str, tuple[Any, ...]] = {
    "number": (1.0, 1.0, 1.0),
    "hz": (220.0, 330.5, 440.0),
    "midi": (60.0, 62.5, 64.0),
    "tag": ("guitar", "female voic\u00e9", "slow"),
    "text": ("vers\u00e9 one", "chorus", "bridge"),
    "position": tuple({"position": 1, "measure": n, "num_beats": 1, "beat_units": 4} for n in (1, 2, 3)),
    "level": ({"label": "whole", "level": 0}, {"label": "vers\u00e9", "level": 1}, {"label": "b", "level": 1}),
    "note": tuple(
        {"midi_pitch": pitch, "morph_pitch": 0, "staff": 0, "pattern_id": 1, "occurrence_id": number}
        for pitch, number in ((60, 1), (62, 1), (60, 2))
    ),
    "contour": tuple(
        {"frequency": hz, "voiced": voiced, "index": 0} for hz, voiced in ((220.0, True), (225.0, False), (330.0, True))
    ),
}  # fmt: skip
_WORDS = {"chord": ("C:maj", "A:min7", "N"), "key": ("C:major",), "local_key": ("C:major", "A:minor", "F#:major")}


def _jams() -> Iterator[Example]:
    """JAMS: every namespace for every task that reads it."""
    for space in NAMESPACES.values():
        for task in space.tasks:
            values = _WORDS.get(task, _VALUES[space.value])
            if task == "multipitch" and space.value == "contour":
                values = tuple({**value, "voiced": True} for value in values)
            if task == "classification":
                values = values[:1]
            if task == "tempo":
                values = (60.5, 120.0)
            whole = space.value == "level"
            times = [(0.0, 3.0), (0.0, 1.5), (1.5, 1.5)] if whole else [(1.5 * n, 1.5) for n in range(len(values))]
            if task in ("key", "classification", "tagging", "tempo"):
                times = [(0.0, 4.5)] * len(values)
            confidence = [0.25, 0.75, 0.5] if space.value == "tag" or task == "tempo" else [None] * 3
            data = [
                {"time": time, "duration": duration, "value": value, "confidence": degree}
                for (time, duration), value, degree in zip(times, values, confidence, strict=False)
            ]
            held = {
                "namespace": space.name,
                "data": data,
                "annotation_metadata": {"annotator": {"id": "A1"}},
                "sandbox": {},
                "time": 0,
                "duration": 4.5,
            }
            root = {"annotations": [held], "file_metadata": {"duration": 4.5, "title": "T"}, "sandbox": {}}
            timeless = task in ("key", "classification", "tagging", "tempo")
            lasting = task in ("chord", "segment", "local_key", "hierarchy", "transcription", "lyrics")
            read = ("value",) if timeless else ("time", "value", *(("duration",) if lasting else ()))
            yield Example("jams", task, Tree(root, read), name=space.name)


def _layer(dimensions: int, points: tuple[str, ...]) -> Markup:
    rows = "".join(f"<point {point}/>\n" for point in points)
    model = f'<model id="1" name="m" sampleRate="1000" type="sparse" dimensions="{dimensions}" dataset="0" units="Hz"/>'
    text = f'<sv><data>{model}<dataset id="0" dimensions="{dimensions}">\n{rows}</dataset></data></sv>'
    return Markup(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n', "point", "data")


def _svl() -> Iterator[Example]:
    beats = tuple(f'frame="{frame}" label="1"' for frame in (500, 1000, 1500, 2000))
    melody = tuple(f'frame="{frame}" value="{value}" label=""' for frame, value in ((0, 220.5), (10, 221.0), (20, 230)))
    notes = tuple(
        f'frame="{frame}" value="{value}" duration="250" level="0.5" label="caf\u00e9"'
        for frame, value in ((0, 220.5), (500, 330.0), (900, 440.0))
    )
    yield Example("svl", "beat", _layer(1, beats))
    yield Example("svl", "downbeat", _layer(1, beats))
    yield Example("svl", "onset", _layer(1, tuple(beat.split(" label")[0] + ' label=""' for beat in beats)))
    yield Example("svl", "melody", _layer(2, melody))
    yield Example("svl", "transcription", _layer(3, notes))


def _midi() -> Iterator[Example]:
    def played(channel: int, *more: Any) -> Midi:
        notes = [
            message
            for pitch in (60, 64, 67)
            for message in (
                Message("note_on", note=pitch, velocity=80, channel=channel, time=10),
                Message("note_off", note=pitch, channel=channel, time=90),
            )
        ]
        head = (MetaMessage("set_tempo", tempo=500_000), MetaMessage("track_name", name="Lead"))
        return Midi(((*head, Message("program_change", program=40, channel=channel), *more, *notes),))

    yield Example("midi", "transcription", played(0))
    yield Example("midi", "multipitch", played(0), (("hop", 0.1),))
    yield Example("midi", "drums", played(9))
    yield Example("midi", "audio_to_score", replace(played(0), performed=False))
    pedals = [
        Message("control_change", control=64, value=value, time=time)
        for value, time in ((100, 20), (0, 100), (90, 50), (0, 100))
    ]
    track = (*pedals, Message("note_on", note=60, velocity=0, time=50))
    yield Example("midi", "pedal", Midi((track,), holds_notes=False))


def examples() -> Iterator[Example]:
    """All examples."""
    for format in SEPARATORS:
        yield from _tables(format)
    yield from _jams()
    yield from _svl()
    yield from _midi()
    for task in ("chord", "segment", "beat", "downbeat"):
        yield Example("billboard", task, Lines.of(BILLBOARD, r"\d.*\|.*"), suffix="salami_chords.txt")
    score = Markup(f'<?xml version="1.0" encoding="UTF-8"?>\n{MUSICXML}\n', "note", "score-partwise")
    for task in ("chord", "audio_to_score"):
        yield Example("musicxml", task, score)
    for task in ("key", "local_key"):
        yield Example("musicxml", task, replace(score, item=""))
    for task in ("chord", "audio_to_score"):
        yield Example("kern", task, Lines.of(KERN, r"\d.*"))
    for task in ("key", "local_key"):
        yield Example("kern", task, Lines.of(KERN))
    for format, text, item in (("lrc", LRC, r"\[\d.*\w"), ("srt", SRT, r"\D.*\w"), ("textgrid", TEXTGRID, "")):
        for task in ("lyrics", "segment", "onset", "alignment"):
            yield Example(format, task, Lines.of(text, item))
    for task in ("transcription", "note_alignment", "pedal", "multipitch"):
        item = "sustain.*" if task == "pedal" else ".*-note.*"
        yield Example("match", task, Lines.of(MATCH, item), (("hop", 0.1),) if task == "multipitch" else ())
    for format, text, separator in (
        ("run", RUN, " "),
        ("qrels", QRELS, " "),
        ("lists", LISTS, "\t"),
        ("groups", GROUPS, "\t"),
        ("matrix", MATRIX, "\t"),
    ):
        rows = tuple(tuple(line.split(separator)) for line in text.strip().split("\n"))
        names = {"run": "query Q0 item rank score system", "qrels": "query 0 item grade"}.get(format, "").split()
        unread = {"run": (1, 3, 5), "qrels": (1,)}.get(format, ())
        table = Table(rows, separator, names=tuple(names), ragged=format in ("lists", "groups"), unread=unread)
        document = Lines.of(text, r"\d\t[\d.]+\t.*") if format == "matrix" else table
        yield Example(format, "retrieval", document, keyed=True)


EXAMPLES = tuple(examples())
