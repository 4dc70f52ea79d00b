"""Citations: every key is an entry, every entry is cited and complete, and the software has one description."""

from __future__ import annotations

import importlib
import inspect
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import yaml

from mirflow.metrics import chord
from mirflow.metrics.base import get_task, tasks
from mirflow.metrics.measures import bibliography, cited, spell_out, to_bibtex

ROOT = Path(__file__).parents[2]
RULES = [rules for task in tasks() for rules in get_task(task).conventions.values()]
TEXTS = {metric.literature for rules in RULES for metric in rules.metrics} | {rules.literature for rules in RULES}
_BEATS = get_task("beat").convention()
TEXTS |= {loss.metric.literature for loss in _BEATS.losses(_BEATS.select()[0])}
REQUIRED = {
    "article": {"journal", "year"},
    "inproceedings": {"booktitle", "year"},
    "incollection": {"booktitle", "publisher", "year"},
    "phdthesis": {"school", "year"},
    "techreport": {"institution", "year"},
    "book": {"publisher", "year"},
    "misc": {"year"},
    "software": set(),
}


def test_all_that_is_cited_is_an_entry_and_all_entries_are_cited() -> None:
    keys = {key for text in TEXTS for key in re.findall(r"@(\w+)", text)}
    assert keys | {"mirflow"} == set(bibliography())
    assert {key for text in TEXTS for key in cited(text)} == keys
    assert {rules.name for rules in RULES if not rules.literature} == {"trec_eval"}


def test_entries_are_complete_and_read_well() -> None:
    for key, entry in bibliography().items():
        assert {"author", "title", *REQUIRED[entry["type"]]} <= set(entry), key
        assert re.search(r"\d{4}", key) is None or entry["year"] in key
        assert to_bibtex(key).count("{") == to_bibtex(key).count("}"), key
        assert not set("@{}\\") & set(spell_out(f"@{key}")), key


NO_METRICS = re.compile(
    # Checks, all scores at once, and steps on the way to scores: labels, pitches, numbers of frames, matched items.
    "evaluate|validate.*|match_.*|confusion_matrix|trim_beats|normalize_lyrics|"
    "join|split|encode.*|merge_chord_intervals|reduce_extended_quality|rotate_.*|scale_degree_.*|split_key_string|"
    "pitch_class_to_semitone|quality_to_bitmap|hz2cents|freq_to_voicing|constant_hop_timebase|to_cent_voicing|"
    "resample_.*|compute_num_.*|frequencies_to_midi|midi_to_chroma"
)


def test_the_help_of_each_metric_function_has_its_literature() -> None:
    for task in (*tasks(), "transcription_velocity"):
        module = importlib.import_module(f"mirflow.metrics.{task}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name in module.__all__ and not NO_METRICS.fullmatch(name):
                text = references_of(function)
                assert re.search(r"\b(1|2)\d{3}\b", text), f"{task}.{name}"
                assert not re.search(r"@\w+\d{4}", text), f"{task}.{name}"


def references_of(function: Callable[..., object]) -> str:
    """The section of a docstring; empty if there is none."""
    found = re.search(r"^References\n-+\n(.*?)(\n\n|\Z)", inspect.getdoc(function) or "", re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def test_references_of_a_function_may_cite_keys() -> None:
    lines = references_of(chord.weighted_accuracy).split("\n")
    assert lines == [f"equation 1 of {spell_out('@raffel2014')}", spell_out("@pauwels2013")]


def test_the_citation_file_describes_the_same_software() -> None:
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"cff-version", "message", "title", "authors"} <= set(cff)
    assert cff["cff-version"] == "1.2.0"
    assert [cff["title"], cff["authors"][0]["name"]] == spell_out("@mirflow").split(", ")[::-1]
    assert (cff["version"], cff["license"], cff["abstract"]) == tuple(
        project[key] for key in ("version", "license", "description")
    )
