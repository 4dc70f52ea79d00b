"""Changes of valid files, each of which knows what it does to the content: nothing, or it adds, repeats or replaces."""

from __future__ import annotations

import codecs
import copy
import itertools
import json
import re
import struct
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal

from mido import Message, MetaMessage

from .documents import Document, Example, Lines, Markup, Midi, Table, Tree, is_number

Effect = Literal["none", "more", "other", "order", "any"]
"""``none``: the content is written in another way. ``more``: something is added. ``other``: a value is replaced, or
taken away. ``order``: the same rows in another order. ``any``: what it means depends on where it is."""

WORD = "zebra"
"""Text that no example has."""


@dataclass(frozen=True)
class Change:
    """One change of a file."""

    name: str
    effect: Effect
    make: Callable[[Any, Random], bytes | Document | None]
    """The changed document or bytes; None if it cannot be changed so."""
    mark: str = ""
    """Text that is added, which another annotation must hold."""
    one_line: bool = False
    """Whether a single line is changed, which an error must name."""
    rules: tuple[str, ...] = ()
    """Rules of the account about one of which a format that leaves this out is silent by declaration."""

    def applied(self, document: Document, random: Random) -> bytes | None:
        """The bytes of the changed file; None if it cannot be changed so."""
        changed = self.make(document, random)
        return changed.data() if isinstance(changed, Document) else changed


CHANGES: dict[type[Document], list[Change]] = {}
"""Changes by the kind of document; those of all texts are with `Document`."""


def _change(
    kind: type[Document], effect: Effect, *, mark: str = "", one_line: bool = False, rules: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(make: Callable[..., Any]) -> Callable[..., Any]:
        name = make.__name__.strip("_").replace("_", " ")
        CHANGES.setdefault(kind, []).append(Change(name, effect, make, mark, one_line, tuple(rules.split())))
        return make

    return register


def changes_of(example: Example) -> tuple[Change, ...]:
    """The changes that a file can go through."""
    document = example.document
    common = [] if isinstance(document, Midi) else CHANGES[Document]
    lines = CHANGES[Lines] if isinstance(document, Table | Lines) else []
    own = CHANGES.get(type(document), []) if not isinstance(document, Lines) else []
    return (*common, *lines, *own)


# The bytes of any text


@_change(Document, "none")
def _byte_order_mark(document: Document, random: Random) -> bytes:
    return codecs.BOM_UTF8 + document.data()


@_change(Document, "none")
def _utf_16(document: Document, random: Random) -> bytes:
    mark, encoding = random.choice([(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")])
    return mark + document.text().replace('encoding="UTF-8"', 'encoding="UTF-16"').encode(encoding)


@_change(Document, "none")
def _other_line_ends(document: Document, random: Random) -> bytes:
    return document.data().replace(b"\n", random.choice([b"\r\n", b"\r"]))


@_change(Document, "none")
def _no_last_line_end(document: Document, random: Random) -> bytes:
    return document.data().rstrip(b"\n")


@_change(Document, "none")
def _other_unicode_form(document: Document, random: Random) -> bytes:
    return unicodedata.normalize("NFD", document.text()).encode()


# Lines


def _inserted(document: Document, place: int, line: str) -> bytes:
    lines = document.text().split("\n")
    lines.insert(place, line)
    return "\n".join(lines).encode()


@_change(Lines, "none")
def _blank_lines_at_the_end(document: Document, random: Random) -> bytes:
    return document.data() + random.choice([b"\n", b"\n\n\n", b" \n", b"\t\n"])


@_change(Lines, "more", mark=WORD, one_line=True, rules="rows")
def _line_of_words(document: Document, random: Random) -> bytes:
    count = document.text().count("\n")
    return _inserted(document, random.randrange(1, count + 1), f"{WORD} crossing the road")


@_change(Lines, "more", rules="events")
def _whole_file_twice(document: Document, random: Random) -> bytes:
    return document.data() * 2


@_change(Lines, "more", one_line=True, rules="events")
def _line_twice(document: Document, random: Random) -> bytes | None:
    lines = document.text().strip("\n").split("\n")
    item = document.item if isinstance(document, Lines) else ".*"
    items = [place for place, line in enumerate(lines) if item and re.fullmatch(item, line)]
    if isinstance(document, Table) and document.header:
        items = items[1:]
    if not items:
        return None
    place = random.choice(items)
    lines.insert(random.choice([place, max(items) + 1]), lines[place])
    return ("\n".join(lines) + "\n").encode()


# Rows of fields


def _rows(table: Table) -> int:
    return len(table.rows)


def _texts_of(table: Table) -> list[tuple[int, int]]:
    return [
        (row, place)
        for row, fields in enumerate(table.rows)
        for place, field in enumerate(fields)
        if not is_number(field)
    ]


_TEXT_HEADINGS = ("mode", "quality", "bass", "inversion", "type", "annotator_note", "instrument_2", "genre2", "lyric")
_NUMBER_HEADINGS = ("loudness", "tuning", "weight2", "energy", "db", "octave")


@_change(Table, "more", mark=WORD)
def _column_of_words(table: Table, random: Random) -> Table:
    return _with_words(table, random, len(table.rows[0]))


@_change(Table, "more")
def _column_of_words_anywhere(table: Table, random: Random) -> Table:
    return _with_words(table, random, random.randrange(len(table.rows[0]) + 1))


def _with_words(table: Table, random: Random, place: int) -> Table:
    values = [f"{WORD}{row % 2}" for row in range(_rows(table))]
    place = min(place, min(map(len, table.rows)))
    return table.with_column(place, random.choice(_TEXT_HEADINGS), values)


@_change(Table, "more")
def _column_of_numbers_anywhere(table: Table, random: Random) -> Table | None:
    shapes = [
        lambda row: "7.25",
        lambda row: f"{0.1 * row + 0.13:.2f}",
        lambda row: str(row + 3),
        lambda row: str(row % 2),
    ]
    shape = random.choice(shapes)
    if _is_usual(table):
        return None
    place = random.choice([len(table.rows[0]), random.randrange(len(table.rows[0]) + 1)])
    place = min(place, min(map(len, table.rows)))
    return table.with_column(place, random.choice(_NUMBER_HEADINGS), [shape(row) for row in range(_rows(table))])


def _is_usual(table: Table) -> bool:
    """True if another number in a row is left out by declaration."""
    return len(table.rows[0]) < table.usual


@_change(Table, "more", mark=WORD, one_line=True)
def _field_more_in_one_row(table: Table, random: Random) -> Table:
    row = random.randrange(_rows(table))
    rows = list(table.rows)
    rows[row] = (*rows[row], WORD)
    return replace(table, rows=tuple(rows))


@_change(Table, "more", one_line=True)
def _number_more_in_one_row(table: Table, random: Random) -> Table | None:
    if _is_usual(table):
        return None
    row = random.randrange(_rows(table))
    rows = list(table.rows)
    rows[row] = (*rows[row], random.choice(["7.25", "3", "0.137"]))
    return replace(table, rows=tuple(rows))


@_change(Table, "order")
def _rows_in_another_order(table: Table, random: Random) -> Table | None:
    rows = list(table.rows)
    random.shuffle(rows)
    return replace(table, rows=tuple(rows)) if _rows(table) > 1 else None


@_change(Table, "other", one_line=True)
def _value_that_is_none(table: Table, random: Random) -> Table | None:
    row = random.randrange(_rows(table))
    place = random.randrange(len(table.rows[row]))
    if not is_number(table.rows[row][place]) or place in table.unread:
        return None
    return table.with_value(row, place, random.choice(["null", "None", "NaN", "nan", "inf", "-inf", "NA", "n/a", "-"]))


@_change(Table, "other", one_line=True)
def _value_that_is_empty(table: Table, random: Random) -> Table | None:
    row = random.randrange(_rows(table))
    place = random.randrange(len(table.rows[row]))
    alone = len(table.rows[row]) == 1 or place in table.unread  # a blank line, or nothing that is read
    return None if table.separator == " " or alone or table.ragged else table.with_value(row, place, "")


@_change(Table, "other", one_line=True)
def _number_of_twenty_digits(table: Table, random: Random) -> Table | None:
    row = random.randrange(_rows(table))
    numbers = [place for place, field in enumerate(table.rows[row]) if is_number(field) and place not in table.unread]
    value = random.choice(["12345678901234567890", "-12345678901234567890", "1" + "0" * 400])
    return table.with_value(row, random.choice(numbers), value) if numbers else None


@_change(Table, "none")
def _more_digits(table: Table, random: Random) -> Table | None:
    rows = tuple(
        tuple(f"{field}{'0' * 20}" if is_number(field) and "." in field else field for field in row)
        for row in table.rows
    )
    return replace(table, rows=rows) if rows != table.rows else None


@_change(Table, "none")
def _separators_at_the_end(table: Table, random: Random) -> bytes | None:
    every = random.random() < 0.7
    one = random.randrange(_rows(table))
    begin = bool(table.header)
    lines = table.text().split("\n")
    for place in range(begin, _rows(table) + begin):
        if every or place == one + begin:
            lines[place] += table.separator
    if begin and random.random() < 0.5:
        lines[0] += table.separator
    return "\n".join(lines).encode()


@_change(Table, "none")
def _blanks_around_fields(table: Table, random: Random) -> Table:
    blank = random.choice([" ", "  "])
    form = random.choice(["{0}{1}", "{1}{0}", "{0}{1}{0}"])
    return replace(table, rows=tuple(tuple(form.format(blank, field) for field in row) for row in table.rows))


@_change(Table, "none")
def _odd_blanks_around_a_text(table: Table, random: Random) -> Table | None:
    texts = _texts_of(table)
    if not texts:
        return None
    row, place = random.choice(texts)
    blank = random.choice(["\u00a0", "\u2009", " ", "\u3000"])
    return table.with_value(
        row, place, random.choice(["{0}{1}", "{1}{0}", "{0}{1}{0}"]).format(blank, table.rows[row][place])
    )


@_change(Table, "none")
def _wider_blanks_within_a_text(table: Table, random: Random) -> Table | None:
    texts = [(row, place) for row, place in _texts_of(table) if " " in table.rows[row][place]]
    if not texts:
        return None
    row, place = random.choice(texts)
    blank = random.choice(["  ", "\u00a0", " \u00a0"])
    return table.with_value(row, place, table.rows[row][place].replace(" ", blank))


@_change(Table, "none")
def _quotes(table: Table, random: Random) -> Table | None:
    return replace(table, quoted=True) if _texts_of(table) and table.separator != " " else None


@_change(Table, "none")
def _comment(table: Table, random: Random) -> bytes:
    place = random.randrange(_rows(table) + bool(table.header) + 1)
    return _inserted(table, place, random.choice(["# written by hand", "#", "  # indented"]))


@_change(Table, "none")
def _header(table: Table, random: Random) -> Table | None:
    if table.header or not table.names:
        return None
    style = random.choice([str, str.title, str.upper])
    return replace(table, header=tuple(map(style, table.names)))


@_change(Table, "none")
def _unit_in_the_header(table: Table, random: Random) -> Table | None:
    return _in_unit(table, random, random.choice(["{} (s)", "{} [s]", "{} (sec)"]))


@_change(Table, "other")
def _other_unit_in_the_header(table: Table, random: Random) -> Table | None:
    forms = ["{} (s)"] if "detected" in table.header else ["{} (ms)", "{} [ms]", "{}_ms", "{} (samples)"]
    return _in_unit(table, random, random.choice(forms))


def _in_unit(table: Table, random: Random, form: str) -> Table | None:
    times = ("time", "start", "end")
    if not table.header or not set(times) & set(table.header):
        return None
    return replace(table, header=tuple(form.format(name) if name in times else name for name in table.header))


@_change(Table, "none")
def _decimal_commas(table: Table, random: Random) -> Table | None:
    if table.separator == "," or not any("." in field and is_number(field) for row in table.rows for field in row):
        return None
    rows = tuple(tuple(field.replace(".", ",") if is_number(field) else field for field in row) for row in table.rows)
    return replace(table, rows=rows, separator=random.choice([";", table.separator]))


@_change(Table, "none")
def _semicolons(table: Table, random: Random) -> Table | None:
    return replace(table, separator=";") if len(table.rows[0]) > 1 else None


# JSON


@_change(Tree, "more", rules="layers")
def _annotation_more(tree: Tree, random: Random) -> Tree:
    root = copy.deepcopy(tree.root)
    added = copy.deepcopy(root["annotations"][0])
    how = random.randrange(3)
    if how == 0:
        added["annotation_metadata"]["annotator"]["id"] = "A2"
    elif how == 1:
        added["namespace"] = "mood_thayer" if added["namespace"] != "mood_thayer" else "blob"
        added["data"] = [{"time": 0.0, "duration": 1.0, "value": [0.1, 0.2], "confidence": None}]
    else:
        added["data"] = added["data"][:1]
    root["annotations"].insert(random.randrange(2), added)
    return replace(tree, root=root)


@_change(Tree, "more")
def _observation_twice(tree: Tree, random: Random) -> Tree:
    root = copy.deepcopy(tree.root)
    data = root["annotations"][0]["data"]
    data.insert(random.randrange(len(data) + 1), copy.deepcopy(random.choice(data)))
    return replace(tree, root=root)


@_change(Tree, "more")
def _all_observations_twice(tree: Tree, random: Random) -> Tree:
    root = copy.deepcopy(tree.root)
    root["annotations"][0]["data"] *= 2
    return replace(tree, root=root)


@_change(Tree, "order")
def _observations_in_another_order(tree: Tree, random: Random) -> Tree:
    root = copy.deepcopy(tree.root)
    random.shuffle(root["annotations"][0]["data"])
    return replace(tree, root=root)


_ABSENT = object()
_NO_VALUES: tuple[Any, ...] = (_ABSENT, None, float("nan"), float("inf"), "", 12345678901234567890, 10**400)


@_change(Tree, "other")
def _time_duration_or_value_that_is_none(tree: Tree, random: Random) -> Tree:
    root = copy.deepcopy(tree.root)
    observation = random.choice(root["annotations"][0]["data"])
    key = random.choice(tree.read)
    _replace(observation, key, random.choice(_NO_VALUES))
    return replace(tree, root=root)


@_change(Tree, "other")
def _part_of_a_value_that_is_none(tree: Tree, random: Random) -> Tree | None:
    root = copy.deepcopy(tree.root)
    value = random.choice(root["annotations"][0]["data"])["value"]
    read = (
        [key for key in value if key in ("label", "level", "midi_pitch", "frequency", "position", "pattern_id")]
        if isinstance(value, dict)
        else []
    )
    if not read:
        return None
    _replace(value, random.choice(read), random.choice(_NO_VALUES[:-2]))
    return replace(tree, root=root)


def _replace(held: dict[str, Any], key: str, value: Any) -> None:
    if value is _ABSENT:
        del held[key]
    else:
        held[key] = value


@_change(Tree, "none")
def _dense_layout(tree: Tree, random: Random) -> Tree:
    root = copy.deepcopy(tree.root)
    held = root["annotations"][0]
    held["data"] = {key: [row[key] for row in held["data"]] for key in ("time", "duration", "value", "confidence")}
    return replace(tree, root=root)


@_change(Tree, "other")
def _dense_layout_without_a_duration(tree: Tree, random: Random) -> Tree | None:
    if "duration" not in tree.read:
        return None
    dense = _dense_layout(tree, random)
    durations = dense.root["annotations"][0]["data"]["duration"]
    durations[random.randrange(len(durations))] = random.choice([None, float("nan")])
    return dense


@_change(Tree, "none")
def _other_blanks_in_texts(tree: Tree, random: Random) -> Tree | None:
    root = copy.deepcopy(tree.root)
    observation = random.choice(root["annotations"][0]["data"])
    blank = random.choice([" ", "\u00a0", "  "])
    if not isinstance(observation["value"], str):
        return None
    observation["value"] = random.choice([f"{blank}{observation['value']}", f"{observation['value']}{blank}"])
    return replace(tree, root=root)


@_change(Tree, "none")
def _escaped_text(tree: Tree, random: Random) -> bytes:
    return json.dumps(tree.root, indent=random.choice([None, 2])).encode()


# XML


def _parents(root: ElementTree.Element, tag: str) -> list[tuple[ElementTree.Element, ElementTree.Element]]:
    return [(parent, child) for parent in root.iter() for child in parent if child.tag == tag]


@_change(Markup, "more")
def _item_twice(markup: Markup, random: Random) -> Markup | None:
    root = markup.root()
    items = _parents(root, markup.item)
    if not items:
        return None
    parent, child = random.choice(items)
    parent.insert(list(parent).index(child), copy.deepcopy(child))
    return markup.changed(root)


@_change(Markup, "other")
def _attribute_or_child_that_is_none(markup: Markup, random: Random) -> Markup | None:
    root = markup.root()
    items = _parents(root, markup.item)
    if not items:
        return None
    child = random.choice(items)[1]
    names = [name for name in child.attrib if child.attrib[name] and name != "level"]
    if not names:
        return None
    name = random.choice(names)
    value = random.choice([None, "", "nan", "inf", "null", "12345678901234567890"])
    if name == "label" and value not in (None, ""):
        return None
    if value is None:
        del child.attrib[name]
    else:
        child.attrib[name] = value
    return markup.changed(root)


@_change(Markup, "more", rules="layers")
def _layer_more(markup: Markup, random: Random) -> Markup | None:
    root = markup.root()
    data = root.find("data")
    if data is None:
        return None
    model, dataset = (copy.deepcopy(data.find(tag)) for tag in ("model", "dataset"))
    assert model is not None
    assert dataset is not None
    model.attrib.update(id="7", dataset="8", name="more")
    dataset.attrib["id"] = "8"
    dimensions = random.choice(["1", "2", "3"])
    model.attrib["dimensions"] = dataset.attrib["dimensions"] = dimensions
    if random.random() < 0.3:
        model.attrib.update(dimensions="3", subtype="region")
    data.extend([model, dataset])
    return markup.changed(root)


@_change(Markup, "none")
def _comments_in_markup(markup: Markup, random: Random) -> Markup:
    root = markup.root()
    root.insert(0, ElementTree.Comment("written by hand"))
    return markup.changed(root)


@_change(Markup, "more", rules="layers")
def _part_more(markup: Markup, random: Random) -> Markup | None:
    root = markup.root()
    part, listed = root.find("part"), root.find("part-list")
    if part is None or listed is None:
        return None
    added = copy.deepcopy(part)
    added.attrib["id"] = "P2"
    for element in (*added.findall(".//root-step"), *added.findall(".//key/fifths")):
        element.text = "E" if element.tag == "root-step" else "4"
    name = copy.deepcopy(listed[0])
    name.attrib["id"] = "P2"
    listed.append(name)
    root.append(added)
    return markup.changed(root)


# MIDI


def _merged(track: tuple[Any, ...], added: Any, tick: int) -> tuple[Any, ...]:
    """The track with an event at a tick."""
    ticks = list(itertools.accumulate(message.time for message in track))
    events = [*zip(ticks, itertools.repeat(0), track, strict=False), (tick, 1, added)]
    events.sort(key=lambda event: event[:2])
    times = [tick for tick, *_ in events]
    waits = (after - before for before, after in zip([0, *times], times, strict=False))
    return tuple(event[2].copy(time=wait) for event, wait in zip(events, waits, strict=False))


def _with_event(midi: Midi, random: Random, event: Any) -> Midi:
    tick = random.choice([5, 40, 105, 160, 250, 400])
    return replace(midi, tracks=(_merged(midi.tracks[0], event, tick), *midi.tracks[1:]))


def _channel(midi: Midi) -> int:
    return next(message.channel for message in midi.tracks[0] if not message.is_meta)


@_change(Midi, "more", rules="events")
def _pitch_bend(midi: Midi, random: Random) -> Midi:
    return _with_event(midi, random, Message("pitchwheel", pitch=random.choice([4096, -2000]), channel=_channel(midi)))


@_change(Midi, "any")
def _all_notes_off(midi: Midi, random: Random) -> Midi:
    number = random.choice([120, 123])
    return _with_event(midi, random, Message("control_change", control=number, channel=_channel(midi)))


@_change(Midi, "more", rules="events")
def _controller(midi: Midi, random: Random) -> Midi:
    number = random.choice([1, 7, 11])
    return _with_event(midi, random, Message("control_change", control=number, value=100, channel=_channel(midi)))


@_change(Midi, "more")
def _sustain_pedal(midi: Midi, random: Random) -> Midi | None:
    if not (midi.holds_notes and midi.performed) or _channel(midi) == 9:
        return None
    return _with_event(midi, random, Message("control_change", control=64, value=100, channel=_channel(midi)))


@_change(Midi, "more", rules="events")
def _text_event(midi: Midi, random: Random) -> Midi:
    kind = random.choice(["lyrics", "marker", "text"])
    return _with_event(midi, random, MetaMessage(kind, text=WORD))


@_change(Midi, "more", rules="events")
def _percussion(midi: Midi, random: Random) -> Midi | None:
    if not midi.holds_notes:
        return None
    if _channel(midi) == 9:
        return None
    hit = (
        Message("note_on", note=38, velocity=90, channel=9, time=30),
        Message("note_off", note=38, channel=9, time=30),
    )
    return replace(midi, tracks=(*midi.tracks, hit))


@_change(Midi, "more", rules="channels events")
def _notes_of_a_melody(midi: Midi, random: Random) -> Midi | None:
    if _channel(midi) != 9:
        return None
    note = (Message("note_on", note=70, velocity=90, time=30), Message("note_off", note=70, time=30))
    return replace(midi, tracks=(*midi.tracks, note))


@_change(Midi, "more")
def _track_of_notes(midi: Midi, random: Random) -> Midi | None:
    if not midi.holds_notes:
        return None
    channel = _channel(midi)
    note = (
        Message("note_on", note=71, velocity=90, channel=channel, time=30),
        Message("note_off", note=71, channel=channel, time=30),
    )
    return replace(midi, tracks=(*midi.tracks, note))


@_change(Midi, "more")
def _note_without_end(midi: Midi, random: Random) -> Midi | None:
    if not midi.holds_notes:
        return None
    return _with_event(midi, random, Message("note_on", note=50, velocity=70, channel=_channel(midi)))


@_change(Midi, "more")
def _note_that_ends_in_another_track(midi: Midi, random: Random) -> Midi | None:
    if not midi.holds_notes:
        return None
    channel = _channel(midi)
    tracks = (_merged(midi.tracks[0], Message("note_on", note=50, velocity=70, channel=channel), 20), *midi.tracks[1:])
    return replace(midi, tracks=(*tracks, (Message("note_off", note=50, channel=channel, time=90),)))


@_change(Midi, "other", rules="events")
def _lost_note_off(midi: Midi, random: Random) -> Midi | None:
    if not midi.holds_notes:
        return None
    track = midi.tracks[0]
    ends = [place for place, message in enumerate(track) if message.type == "note_off"]
    if not ends:
        return None
    place = random.choice(ends)
    changed = [*track]
    changed[place] = MetaMessage("text", text="", time=track[place].time)
    return replace(midi, tracks=(tuple(changed), *midi.tracks[1:]))


@_change(Midi, "other")
def _tempo_of_zero(midi: Midi, random: Random) -> Midi:
    return replace(midi, tracks=(_merged(midi.tracks[0], MetaMessage("set_tempo", tempo=0), 5), *midi.tracks[1:]))


@_change(Midi, "none")
def _unknown_chunk(midi: Midi, random: Random) -> bytes:
    chunk = b"XFIH" + struct.pack(">I", 4) + b"abcd"
    data = midi.data()
    return data + chunk if random.random() < 0.5 else data[:14] + chunk + data[14:]


def all_changes() -> Iterator[tuple[type[Document], Change]]:
    """Every change with the document that it is of."""
    for kind, changes in CHANGES.items():
        for change in changes:
            yield kind, change
