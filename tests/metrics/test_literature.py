"""Citations: every key is an entry, every entry is cited and complete, and the software has one description."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from mirflow.metrics.base import get_task, tasks
from mirflow.metrics.literature import bibliography, cited, spell_out, to_bibtex

ROOT = Path(__file__).parents[2]
RULES = [rules for task in tasks() for rules in get_task(task).conventions.values()]
TEXTS = {metric.literature for rules in RULES for metric in rules.metrics} | {rules.literature for rules in RULES}
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


@pytest.mark.parametrize("key", bibliography())
def test_entries_are_complete_and_read_well(key: str) -> None:
    entry = bibliography()[key]
    assert {"author", "title", *REQUIRED[entry["type"]]} <= set(entry)
    assert re.search(r"\d{4}", key) is None or entry["year"] in key
    assert to_bibtex(key).count("{") == to_bibtex(key).count("}")
    assert not set("@{}\\") & set(spell_out(f"@{key}"))


def test_the_citation_file_describes_the_same_software() -> None:
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"cff-version", "message", "title", "authors"} <= set(cff)
    assert cff["cff-version"] == "1.2.0"
    assert [cff["title"], cff["authors"][0]["name"]] == spell_out("@mirflow").split(", ")[::-1]
    assert (cff["version"], cff["license"], cff["abstract"]) == tuple(
        project[key] for key in ("version", "license", "description")
    )
