"""Options of readers and formats of files: what is declared of each is what is read."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

import mirflow
from mirflow.annotations.account import RULES
from mirflow.cli import cli
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnknownNameError
from mirflow.pipeline import json_schema
from mirflow.readers import NAMESPACES, DelimitedOptions, FileSource, Reading, Source
from mirflow.readers.formats import FORMATS, SUFFIXES, TABLES, format_named, load_reader
from mirflow.readers.options import OPTIONS, option, split_sides
from mirflow.readers.sources import parse_file


@pytest.mark.parametrize(
    ("asked", "kind"),
    [({"task": "chord"}, "intervals"), ({"task": "beat"}, "events"), ({"namespace": "key_mode"}, "intervals")],
)
def test_the_kind_follows(asked: dict[str, Any], kind: str) -> None:
    assert Reading.of(**asked).kind == kind


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({}, AnnotationError, "give a task, a kind or a namespace"),
        ({"task": "chrod"}, UnknownNameError, "did you mean 'chord'"),
        ({"namespace": "chord_harto"}, UnknownNameError, "did you mean 'chord_harte'"),
        ({"kind": "interval"}, UnknownNameError, "did you mean 'intervals'"),
        ({"kind": "notes", "format": "run"}, AnnotationError, "format 'run' holds rankings, which notes does not use"),
        (
            {"task": "chord", "exclude": "none"},
            AnnotationError,
            "exclude applies to rankings, which chord does not have",
        ),
        ({"kind": "ranking", "exclude": "me"}, UnknownNameError, "value of exclude 'me'"),
        ({"kind": "ranking", "exclude_same": "artist"}, AnnotationError, "declare format: groups"),
        ({"task": "chord", "namespace": "beat"}, AnnotationError, "'beat' holds events, but chord needs intervals"),
    ],
)
def test_what_does_not_fit_is_refused(asked: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Reading.of(**asked)


def test_sources_can_be_sent_and_compared() -> None:
    options = DelimitedOptions(columns=(("start", 0), ("label", 1)))
    source = FileSource("/a/b.lab", Reading.of(task="chord", delimited=options), "A1", "b.lab", (3, 4))
    assert isinstance(source, Source)
    assert pickle.loads(pickle.dumps(source)) == source
    assert hash(source) == hash(FileSource("/a/b.lab", source.reading, "A1", "b.lab"))
    assert (source.label, source.stat()) == ("b.lab [A1]", (3, 4))


def test_every_namespace_has_a_task_that_reads_it_or_is_read_by_name() -> None:
    for name, namespace in NAMESPACES.items():
        assert Reading.of(namespace=name).kind == namespace.kind


@pytest.mark.parametrize(
    ("given", "meant"),
    [("anotator", "annotator"), ("taks", "task"), ("metric", "metrics"), ("colums", "columns"), ("excude", "exclude")],
)
def test_a_misspelt_option_is_reported_with_the_one_that_is_meant(given: str, meant: str) -> None:
    with pytest.raises(AnnotationError, match=f"unknown option of reading '{given}'; did you mean '{meant}'"):
        Reading.of("chord", **{given: 1})


class TestOneDeclarationOfAnOption:
    @pytest.mark.parametrize("name", OPTIONS)
    def test_makes_a_key_of_pipelines_with_its_words(self, name: str) -> None:
        for side in ("Estimates", "References"):
            key = json_schema()["$defs"][side]["anyOf"][1]["properties"][name]
            assert key["description"] == OPTIONS[name].words
            assert key.get("default", ()) == OPTIONS[name].default

    @pytest.mark.parametrize("command", ["evaluate", "check", "pack"])
    def test_makes_an_option_of_commands(self, command: str) -> None:
        found = cli.get_command(click.Context(cli), command)
        assert found is not None
        params = {one.name: one for one in found.get_params(click.Context(found))}
        names = {name for name, one in OPTIONS.items() if one.help is not None}
        assert params.keys() >= names
        sides = {"evaluate": ("reference", "estimate"), "check": ("reference",), "pack": ()}[command]
        assert params.keys() >= {f"{side}_{name}" for side in sides for name in names}
        assert "max_bytes" not in params

    @pytest.mark.parametrize("function", [mirflow.load, mirflow.readers.read])
    def test_is_in_the_help_of_functions(self, function: Any) -> None:
        text = function.__doc__
        assert all(f"{name} : " in text and one.words in text for name, one in OPTIONS.items())

    def test_of_a_later_one_leaves_what_was_stored_before_up_to_date(self) -> None:
        @dataclass(frozen=True, slots=True, repr=False)
        class Later(DelimitedOptions):
            offset: float = option(0.0, "Seconds added to all times.")

        assert repr(Later()) == repr(DelimitedOptions()).replace("DelimitedOptions", "Later", 1)
        assert repr(Later(offset=1.0)).endswith("decimal=None, offset=1.0)")


@pytest.mark.parametrize("name", ["annotator", "estimate_annotator"])
def test_an_annotator_is_chosen_where_a_file_is_loaded(name):
    with pytest.raises(
        AnnotationError, match=f"'{name}' is not a parameter of this function; pass the result of mirflow.load"
    ):
        split_sides({name: "Ann"})


def test_a_parameter_of_another_function_is_not_suggested_in_its_own_place():
    with pytest.raises(AnnotationError, match=r"'grid' is not a parameter of this function$"):
        Reading.of(grid="union")


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
