"""Files as nobody should write them: valid annotations of every task in every format, and mutations of them."""

from __future__ import annotations

import bz2
import json
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

import numpy as np

from mirflow.annotations.annotation import Annotation
from mirflow.annotations.schema import TASK_KINDS
from mirflow.readers.jams_writing import observations_of
from mirflow.readers.namespaces import NAMESPACES
from mirflow.readers.options import COLUMNS, KEYS
from tests.samples import sample

Rng = np.random.Generator

_NUMBERS = """
    0 -0 -1 1 0.5 1e-320 5e-324 1e-9 -1e-9 100000 30001 1e9 2e9 1e15 1e16 1e19 1e38 1e154 1e200 1e300 -1e300 1e309
    9223372036854775807 9223372036854775808 -9223372036854775809 1.7976931348623157e308 -1e309 1_000
    nan NaN -nan inf -inf Infinity 0x10 \u0663 \u00bd 1,5 1.5.2 --1 1e . True
"""
NUMBERS = (*_NUMBERS.split(), "", " ", "1" * 400, "9" * 5000, "0." + "0" * 400 + "1")
_WORDS = """
    N X NaN null C C:maj C: C/ H:moll C:maj(9,9,9 C:maj(9,11)/b3 C:(1,5) C:maj/13 C:maj/14 C:maj11 C:1/b2
    track time label start end value query pattern1 occurrence1 NS SS VS Q/R Q0 1 1.0 -1 2.5 , ; #
    {track} ../x a/b.wav =1+1 <b> &amp; \u00e9 \u540d\u524d \ud7ff \ufeff
"""
TEXTS = (
    *_WORDS.split(),
    *("", " ", "C major", "c# minor", "Eb other", "# a comment", "0 0 0", "a b c d", "a\tb", '"', '"a', "'"),
    *("\x00", "\u2028", "\x85", "Cb" + "b" * 300, "C:maj(" + "9," * 60, "C:maj(" + "*b3," * 40 + ")", "x" * 3000),
)
_DIGITS = "five thousand digits"  # too many for Python to write
_NO_NUMBERS = (float("nan"), float("inf"), float("-inf"))
_OBJECTS: tuple[object, ...] = (
    {"a": 1},
    {"label": None, "level": 0},
    {"label": [1], "level": 1e300},
    {"frequency": None, "voiced": False},
    {"frequency": 1e308, "voiced": True},
    {"frequency": 10**400, "voiced": True},
    {"position": 1, "measure": 1},
    {"midi_pitch": 60, "pattern_id": 1, "occurrence_id": float("nan")},
)
_SCALARS = (None, True, False, 0, -1, 1.5, 1e300, -1e300, 10**18, 2**63, 2**64, 10**400, "", "x", "1", "\ud800")
JSONS: tuple[object, ...] = (*_SCALARS, *_NO_NUMBERS, *_OBJECTS, [], {}, [[]], [1, 2], _DIGITS, "C:maj(9,9,9,9")
FORMATS = ("lab", "txt", "csv", "tsv")
TABLES = ("run", "qrels", "lists", "groups", "matrix")
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Input:
    """A file: what it is of, the suffix that it has, and its bytes."""

    task: str
    suffix: str
    data: bytes


def formats_of(task: str) -> tuple[str, ...]:
    """The formats that annotations of a task are written in."""
    kind = TASK_KINDS[task]
    if kind == "audio":
        return ("wav",)
    formats = FORMATS if kind != "patterns" else ("txt",)
    # Lyrics of JAMS have times, which the samples lack.
    formats += ("jams",) if any(task in space.tasks for space in NAMESPACES.values()) and kind != "text" else ()
    formats += ("svl",) if kind in ("events", "series", "notes") else ()
    formats += ("mid",) if kind in ("notes", "hits") else ()
    return formats + (TABLES if kind == "ranking" else ())


def valid(task: str, suffix: str, rng: Rng) -> Input:
    """A well-formed file."""
    annotation = sample(task, rng)
    if suffix in FORMATS:
        data = _delimited(annotation, {"csv": ",", "tsv": "\t"}.get(suffix, " ")).encode()
    else:
        data = _WRITERS[suffix](annotation, task, rng)
    return Input(task, suffix, data)


def _delimited(annotation: Annotation, separator: str) -> str:
    columns = {name: column.tolist() for name, column in annotation.columns.items()}
    if annotation.kind == "patterns":
        return _patterns(annotation)
    if annotation.kind == "tempo":
        return separator.join(map(str, [*columns["tempo"], columns["salience"][0]])) + "\n"
    if annotation.kind == "text":
        return "\n".join(annotation.labels or [])
    if annotation.kind == "sheet_music":
        return _sheet_music(annotation)
    if annotation.kind == "key":
        return (annotation.labels or [""])[0].replace(" ", separator) + "\n"
    if annotation.kind == "multipitch":
        sounding = np.split(annotation.columns["frequency"], np.cumsum(annotation.inner_counts[0])[:-1])
        rows = [[time, *tones.tolist()] for time, tones in zip(columns["time"], sounding, strict=True)]
    elif annotation.kind == "note_alignment":  # as in ASAP, whose missing notes have a word
        rows = [[one or "insertion", other or "deletion"] for one, other in zip(*columns.values(), strict=True)]
    elif annotation.kind in ("labels", "ranking", "judgements"):
        rest = [columns[name] for name in ("grader", "broad", "value") if name in columns]
        rows = [list(row) for row in zip(annotation.labels or [], *rest, strict=True)]
    else:
        order = ("time", "detected", "start", "end", "position", "pitch", "frequency")
        named = [columns[name] for name in order if name in columns]
        texts = annotation.labels if annotation.kind in ("events", "hits", "intervals", "hierarchy") else None
        rows = [list(row) for row in zip(*named, *([] if texts is None else [texts]), strict=True)]
    return "".join(separator.join(map(str, row)).strip() + "\n" for row in rows)


def _sheet_music(annotation: Annotation) -> str:
    lines = []
    names = ("pitch", "time", "notated_start", "notated_end", "voice")
    rows = zip(annotation.labels or [], *(annotation.columns[name].tolist() for name in names), strict=True)
    for label, pitch, time, start, end, voice in rows:
        what, *words = label.split()
        ms = round(1000 * time)
        if what == "note":
            lines.append(f"Note {pitch:.0f} {ms} {1000 * start:.0f} {1000 * end:.0f} {voice:.0f}")
        elif what == "meter":
            lines.append(f"Hierarchy {words[0]},{words[1]} {words[2]} a={words[3]} {ms}")
        elif what == "key":
            lines.append(f"Key {words[0]} {words[1][:3]} {ms}")
        else:
            lines.append(" ".join([what.capitalize(), str(ms), *words]))
    return "\n".join(lines)


def _patterns(annotation: Annotation) -> str:
    lines, place, occurrence = [], 0, 0
    for pattern, occurrences in enumerate(annotation.inner_counts[0].tolist(), 1):
        lines.append(f"pattern{pattern}")
        for number in range(1, occurrences + 1):
            lines.append(f"occurrence{number}")
            for _ in range(int(annotation.inner_counts[1][occurrence])):
                lines.append(f"{annotation.columns['onset'][place]}, {annotation.columns['pitch'][place]}")
                place += 1
            occurrence += 1
    return "\n".join(lines) + "\n"


def _jams(annotation: Annotation, task: str, rng: Rng) -> bytes:
    names = [name for name, one in NAMESPACES.items() if task in one.tasks]
    name = str(rng.choice(names[:3]))
    keys = ("time", "duration", "value", "confidence")
    rows = [dict(zip(keys, row, strict=True)) for row in observations_of(annotation, name, 60.0)]
    held = {"namespace": name, "data": rows, "annotation_metadata": {"annotator": {"id": "A1"}}, "sandbox": {}}
    return json.dumps(
        {"annotations": [held], "file_metadata": {"duration": 60.0, "title": "T"}, "sandbox": {}}
    ).encode()


def _svl(annotation: Annotation, task: str, rng: Rng) -> bytes:
    dimensions = {"events": 1, "series": 2, "notes": 3}[annotation.kind]
    columns = annotation.columns
    frames = np.round(columns["start" if annotation.kind == "notes" else "time"] * 44100).astype(int).tolist()
    values = columns.get("frequency", columns.get("pitch", np.zeros(len(frames)))).tolist()
    points = "".join(
        f'<point frame="{frame}" value="{value}" duration="441" level="0.5" label="a"/>\n'
        for frame, value in zip(frames, values, strict=True)
    )
    attributes = f'type="sparse" dimensions="{dimensions}" resolution="441" dataset="0" units="Hz"'
    head = f'<model id="1" name="m" sampleRate="44100" {attributes}/>'
    held = f'<dataset id="0" dimensions="{dimensions}">{points}</dataset>'
    text = f'<?xml version="1.0"?>\n<sv><data>{head}{held}</data></sv>'
    return bz2.compress(text.encode()) if rng.random() < 0.2 else text.encode()


def _midi(annotation: Annotation, task: str, rng: Rng) -> bytes:
    import mido

    file, track, buffer = mido.MidiFile(), mido.MidiTrack(), BytesIO()
    file.tracks.append(track)
    track.append(mido.MetaMessage("set_tempo", tempo=int(rng.integers(1, 2**24)), time=0))
    channel = 9 if annotation.kind == "hits" else 0
    for pitch in rng.integers(0, 128, 12).tolist():
        track.append(
            mido.Message("program_change", program=int(rng.integers(128)), channel=int(rng.integers(16)), time=0)
        )
        track.append(mido.Message("note_on", note=pitch, velocity=64, time=int(rng.integers(0, 400)), channel=channel))
        track.append(mido.Message("note_off", note=pitch, time=int(rng.integers(0, 400)), channel=channel))
    file.save(file=buffer)
    return buffer.getvalue()


def _wave(annotation: Annotation, task: str, rng: Rng) -> bytes:
    samples = (rng.normal(0, 3000, 600)).astype("<i2").tobytes()
    head = struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF",
        36 + len(samples),
        b"WAVE",
        b"fmt ",
        16,
        1,
        1,
        8000,
        16000,
        2,
        16,
        b"data",
        len(samples),
    )
    return head + samples


def _run(annotation: Annotation, task: str, rng: Rng) -> bytes:
    items = [f"d{item}" for item in range(8)]
    rows = (
        f"q{query} Q0 {item} {rank} {9 - rank} sys\n"
        for query in range(3)
        for rank, item in enumerate(rng.permutation(items), 1)
    )
    return "".join(rows).encode()


def _qrels(annotation: Annotation, task: str, rng: Rng) -> bytes:
    return "".join(f"q{query} 0 d{item} {rng.integers(0, 3)}\n" for query in range(3) for item in range(8)).encode()


def _lists(annotation: Annotation, task: str, rng: Rng) -> bytes:
    return "".join(
        f"q{query}\t" + "\t".join(f"d{item}" for item in rng.permutation(8)) + "\n" for query in range(3)
    ).encode()


def _groups(annotation: Annotation, task: str, rng: Rng) -> bytes:
    return "".join(f"d{item}\tg{item % 3}\n" for item in range(8)).encode()


def _matrix(annotation: Annotation, task: str, rng: Rng) -> bytes:
    lines = ["Distances", *(f"{item + 1}\t/a/d{item}.wav" for item in range(5)), "Q/R\t" + "\t".join("12345")]
    lines += [f"{row + 1}\t" + "\t".join(f"{value:.3f}" for value in rng.random(5)) for row in range(5)]
    return ("\n".join(lines) + "\n").encode()


_WRITERS: dict[str, Callable[[Annotation, str, Rng], bytes]] = {
    "jams": _jams,
    "svl": _svl,
    "mid": _midi,
    "wav": _wave,
    "run": _run,
    "qrels": _qrels,
    "lists": _lists,
    "groups": _groups,
    "matrix": _matrix,
}


def mutate(file: Input, rng: Rng) -> Input:
    """The file with a few things wrong with it."""
    data = file.data
    packed = data.startswith(b"BZh") and rng.random() < 0.8
    if packed:
        data = bz2.decompress(data)
    mutations = [*_ANY, *([] if file.suffix in ("mid", "wav") else [*_TEXT, *_TEXT])]
    if file.suffix == "jams":
        mutations += [_tree] * len(mutations)
    for _ in range(int(rng.choice([1, 1, 1, 2, 2, 3, 5]))):
        data = mutations[int(rng.integers(len(mutations)))](data, rng)[:200_000]
    return Input(file.task, file.suffix, bz2.compress(data) if packed else data)


def _place(data: bytes, rng: Rng) -> int:
    return int(rng.integers(len(data) + 1))


_ODD = (0, 1, 9, 10, 13, 32, 34, 44, 45, 48, 57, 127, 128, 255)


def _flip(data: bytes, rng: Rng) -> bytes:
    held = bytearray(data)
    for _ in range(int(rng.integers(1, 6)) if held else 0):
        held[int(rng.integers(len(held)))] = int(rng.choice([*_ODD, rng.integers(256)]))
    return bytes(held)


def _cut(data: bytes, rng: Rng) -> bytes:
    first, last = sorted((_place(data, rng), _place(data, rng)))
    return data[:first] + data[min(last, first + 40) :]


def _truncate(data: bytes, rng: Rng) -> bytes:
    return data[: _place(data, rng)]


def _insert(data: bytes, rng: Rng) -> bytes:
    place = _place(data, rng)
    return data[:place] + rng.bytes(int(rng.integers(1, 9))) + data[place:]


def _repeat(data: bytes, rng: Rng) -> bytes:
    first, last = sorted((_place(data, rng), _place(data, rng)))
    return data[:first] + data[first : min(last, first + 200)] * int(rng.choice([2, 3, 50])) + data[last:]


def _number(data: bytes, rng: Rng) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    one = found[int(rng.integers(len(found)))]
    return data[: one.start()] + str(rng.choice(NUMBERS)).encode() + data[one.end() :]


def _numbers(data: bytes, rng: Rng) -> bytes:
    """All numbers of a kind: those of one place in the lines."""
    text, which = str(rng.choice(NUMBERS)).encode(), int(rng.integers(4))
    lines = data.split(b"\n")
    for row, line in enumerate(lines[:400]):
        found = list(_NUMBER.finditer(line))[which : which + 1]
        for one in found:
            lines[row] = line[: one.start()] + text + line[one.end() :]
    return b"\n".join(lines)


def _scale(data: bytes, rng: Rng) -> bytes:
    factor = float(rng.choice([1e-300, 1e-9, -1.0, 1000.0, 44100.0, 1e9, 1e150, 1e299]))
    return _NUMBER.sub(lambda one: repr(float(one[0]) * factor).encode(), data)


def _word(data: bytes, rng: Rng) -> bytes:
    words = list(re.finditer(rb"[^\s,;<>=\"]+", data))
    if not words:
        return data
    one = words[int(rng.integers(len(words)))]
    return data[: one.start()] + _encoded(str(rng.choice(TEXTS))) + data[one.end() :]


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _line(data: bytes, rng: Rng) -> bytes:
    lines = data.split(b"\n")
    row = int(rng.integers(len(lines)))
    act = int(rng.integers(6))
    if act == 0:
        del lines[row]
    elif act == 1:
        lines.insert(row, lines[int(rng.integers(len(lines)))])
    elif act == 2:
        lines.insert(row, b" ".join(_encoded(str(one)) for one in rng.choice(TEXTS, 3)))
    elif act == 3:
        lines.reverse()
    elif act == 4:
        lines[row] += b" " + str(rng.choice(NUMBERS)).encode()
    else:
        lines.insert(0, b",".join(_encoded(str(one)) for one in rng.choice(TEXTS, 3)))
    return b"\n".join(lines)


def _separators(data: bytes, rng: Rng) -> bytes:
    old, new = rng.choice([" ", ",", "\t", ";", "\n", ".", ":"], 2).tolist()
    return data.replace(old.encode(), new.encode())


def _whole(data: bytes, rng: Rng) -> bytes:
    act = int(rng.integers(8))
    text = data.decode("latin-1")
    if act < 3:
        return text.encode(("utf-16", "utf-32", "utf-8-sig")[act], "replace")
    if act == 3:
        return data.replace(b"\n", b"\r\n" if rng.random() < 0.5 else b"\r")
    if act == 4:
        return b""
    if act == 5:
        return str(rng.choice(NUMBERS)).encode() * int(rng.choice([1, 100]))
    if act == 6:
        return b"[" * 5000 + data
    return data.replace(b"0", b"1")


def _dense(data: bytes, rng: Rng) -> bytes:
    """Very many rows."""
    lines = data.split(b"\n")
    if len(lines) > 200:
        return data
    return b"\n".join(lines * min(40, 1 + 40_000 // max(len(data), 1)))


def _tree(data: bytes, rng: Rng) -> bytes:
    """JSON with some of its values replaced, or fields left out."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return data
    for _ in range(int(rng.integers(1, 4))):
        tree = _replace(tree, rng, 0)
    text = json.dumps(tree) if rng.random() < 0.7 else json.dumps(tree, ensure_ascii=False)
    return text.replace(json.dumps(_DIGITS), "9" * 5000).encode("utf-8", "surrogatepass")


def _replace(tree: object, rng: Rng, depth: int) -> object:
    if rng.random() < 0.12 * depth or not isinstance(tree, dict | list) or not tree:
        return JSONS[int(rng.integers(len(JSONS)))]
    if isinstance(tree, list):
        places = [int(rng.integers(len(tree)))]
        if depth > 1 and rng.random() < 0.3:  # the same everywhere
            key = str(rng.choice(["time", "duration", "value", "confidence"]))
            value = JSONS[int(rng.integers(len(JSONS)))]
            return [{**one, key: value} if isinstance(one, dict) else one for one in tree]
        return [_replace(one, rng, depth + 1) if place in places else one for place, one in enumerate(tree)]
    key = str(rng.choice(list(tree)))
    if rng.random() < 0.1:
        return {name: value for name, value in tree.items() if name != key}
    return {name: _replace(value, rng, depth + 1) if name == key else value for name, value in tree.items()}


_ANY = (_flip, _cut, _truncate, _insert, _repeat)
_TEXT = (_number, _number, _numbers, _scale, _word, _word, _line, _separators, _whole, _dense)


def options_of(task: str, suffix: str, rng: Rng) -> dict[str, object]:
    """Options of reading that somebody may have declared for other files."""
    if suffix == "wav" or rng.random() < 0.7:
        return {}
    kind = TASK_KINDS[task]
    options: dict[str, object] = {}
    for name, values in _OPTIONS.items():
        if rng.random() < 0.25:
            options[name] = values[int(rng.integers(len(values)))]
    if rng.random() < 0.4 and kind in COLUMNS:
        names = rng.choice([*COLUMNS[kind], *KEYS[:1]], int(rng.integers(1, 4)), replace=False).tolist()
        places: list[object] = [0, 1, 2, 3, 7, -1, "time", "label"]
        options["columns"] = {name: places[int(rng.integers(len(places)))] for name in names}
    return options


_OPTIONS: dict[str, tuple[object, ...]] = {
    "header": (True, False),
    "comment": ("", "%", "0"),
    "delimiter": (",", "tab", "whitespace", ";", "1"),
    "time_unit": ("s", "ms", "samples@44100", "frames@0.01", "frames@1e300", "samples@0"),
    "pitch_unit": ("MIDI",),
    "encoding": ("latin-1", "ascii", "utf-16", "utf-8-sig", "hex", "unknown", "unicode_escape"),
    "last": ("keep",),
    "select": ("all", "downbeat", "bar_start", "bar_end"),
    "exclude": ("none",),
    "instrument": ("track",),
    "drums": (True,),
    "format": ("lab", "csv", "jams", "svl", "midi"),
    "namespace": ("chord", "beat", "key_mode", "pitch_contour", "multi_segment", "tag_open", "tempo"),
    "levels": (("a", "b"),),
    "exclude_same": (0, "artist"),
}
