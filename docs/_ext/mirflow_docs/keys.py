"""The keys of YAML files as Markdown, from the JSON Schemas of the models that check them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mirflow.campaign.commands.serve import json_schema as campaign_schema
from mirflow.pipeline import json_schema
from mirflow.published.benchmark_file import benchmark_schema
from mirflow.published.mapping import TableMapping

from .markdown import code, plain, table

_PIPELINE = {
    "Pipeline": "The file",
    "Evaluation": "`evaluations[]`",
    "References": "`reference`",
    "Estimates": "`estimates`",
    "Tracks": "`tracks`",
    "Execution": "`execution`",
}
_MAPPING = {
    "TableMapping": "The file",
    "ScoreGroup": "`groups[]`",
    "ScoreFile": "`tables[]`",
    "ScoreColumn": "`metrics`",
    "Wide": "`wide`",
    "Names": "`track`, `system`",
    "Tracks": "`tracks`",
}
_BENCHMARK = {"Benchmark": "The file", "BenchmarkData": "`data`", "Headline": "`headline`", "Baseline": "`baselines[]`"}
_CAMPAIGN = {
    "Campaign": "The file",
    "Split": "`splits`",
    "FinalRanking": "`final`",
    "Limits": "`limits`",
    "About": "`about`",
    "AudioFiles": "`audio`",
    "GradingRound": "`grading[]`",
    "Planning": "`planning`",
    "Notifications": "`notifications`",
    "Webhook": "`webhook`",
    "Mail": "`mail`",
}


def pipeline_text() -> str:
    """A table of keys for each part of a pipeline file."""
    return _text("Pipeline", json_schema(), _PIPELINE)


def mapping_text() -> str:
    """A table of keys for each part of a mapping file."""
    return _text("TableMapping", TableMapping.model_json_schema(), _MAPPING)


def benchmark_text() -> str:
    """A table of keys for each part of a benchmark file that pipeline and mapping files lack."""
    return _own_text("Benchmark", benchmark_schema(), _BENCHMARK)


def campaign_text() -> str:
    """A table of keys for each part of a campaign file that pipeline files lack."""
    return _own_text("Campaign", campaign_schema(), _CAMPAIGN)


def _own_text(root: str, schema: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """A table of keys for each part of a file that has a title."""
    parts = {root: schema} | {name: _object(part) for name, part in schema["$defs"].items()}
    return "\n".join(_part(title, parts[name], schema["$defs"]) for name, title in titles.items())


def _text(root: str, schema: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    parts = {root: schema} | {name: _object(part) for name, part in schema["$defs"].items()}
    order = [*(name for name in titles if name in parts), *(name for name in parts if name not in titles)]
    return "\n".join(_part(titles.get(name, name), parts[name], schema["$defs"]) for name in order)


def _part(title: str, part: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    needed = set(part.get("required", ()))
    rows = [
        (code(name), _type(value, known), _default(name in needed, value), plain(_description(value, known)))
        for name, value in part["properties"].items()
    ]
    return f"### {title}\n\n{plain(part['description'])}\n\n{table(('key', 'type', 'default', 'meaning'), rows)}"


def _object(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The form with keys of what may also be a bare text."""
    return next((one for one in part.get("anyOf", ()) if "properties" in one), part)


def _type(value: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    if "$ref" in value:
        part = known[value["$ref"].rsplit("/", 1)[-1]]
        return "text or an object" if "anyOf" in part else "an object"
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(_type(one, known) for one in value["anyOf"] if one.get("type") != "null"))
    if "enum" in value:
        return ", ".join(code(choice) for choice in value["enum"])
    kind = value.get("type", "anything")
    if kind == "array":
        one = _type(value["items"], known)
        return f"a list of {'objects' if one == 'an object' else one}"
    if isinstance(kind, list):
        return " or ".join(_WORDS[one] for one in kind if one != "null")
    if kind == "object" and "properties" in value:
        return code("{" + ", ".join(f"{name}: {_bare(one)}" for name, one in value["properties"].items()) + "}")
    return _WORDS[kind]


_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "a mapping",
    "anything": "anything",
}


def _description(value: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """Of the key, else of what it holds."""
    text = value.get("description") or known.get(value.get("$ref", "").rsplit("/", 1)[-1], {}).get("description", "")
    return " ".join(str(text).split())


def _bare(value: Mapping[str, Any]) -> str:
    return _WORDS.get(value.get("type", ""), "anything").removeprefix("a ")


def _default(needed: bool, value: Mapping[str, Any]) -> str:
    if needed:
        return "needed"
    default = value.get("default")
    return "" if default in (None, "", {}, []) else code(json.dumps(default, ensure_ascii=False).strip('"'))
