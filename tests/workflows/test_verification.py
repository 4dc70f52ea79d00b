"""Signatures of numbers, and their verification: what is signed is found again, and what differs is said."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.analysis.signatures import FIELDS, Signature
from mirflow.cli import cli
from mirflow.errors import QueryError, SignatureError
from mirflow.workflows.verification import is_rounded

from ..conftest import PIPELINES

NEEDED = {"agg": "mean", "miss": "skip", "n": "3", "mirflow": "0.1.0"}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
FORMS: dict[str, st.SearchStrategy[Any]] = {"n": st.sampled_from(["0", "250", "60-62"])}
FORMS |= dict.fromkeys(("classes", "ref"), st.text("0123456789abcdef", min_size=1, max_size=12))
FORMS |= dict.fromkeys(("systems", "rev"), st.integers(0, 10**6).map(str))
FORMS |= dict.fromkeys(("read", "over", "across"), st.lists(st.tuples(TEXTS, TEXTS), max_size=3).map(tuple))
FORMS |= dict.fromkeys(("tracks", "annotator", "by"), st.lists(TEXTS, max_size=3).map(tuple))


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, list(map(str, words)))


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.fixed_dictionaries({k: FORMS.get(k, TEXTS) for k in FIELDS}))
def test_every_signature_is_read_as_it_was_written(task: str, metrics: list[str], fields: dict[str, Any]) -> None:
    signed = Signature(task, tuple(metrics), fields)
    text = str(signed)
    assert Signature.parse(text) == signed
    assert not set(text) & {" ", "\n", "|", "&", "\\", "{", "}", "<", ">", '"'}, (
        "what tables and comments give a meaning"
    )
    assert all(signed[key] == value for key, value in fields.items())


def test_defaults_are_left_out_and_resolved() -> None:
    short = Signature.parse("beat/f_measure@0.07;agg=mean;miss=skip;n=3;mirflow=0.1.0")
    long = "beat/f_measure@0.07;mirflow=0.1.0;rev=1;n=3;undef=keep;miss=skip;systems=1;agg=mean;conv=mir_eval"
    assert Signature.parse(long) == short
    assert (short["conv"], short["undef"], short["by"], short["rev"]) == ("mir_eval", "keep", (), "1")


# The texts of the first release are kept here: a later version must read them to the same fields.
@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            "beat/f_measure@0.1(trim=0.0);conv=madmom;agg=mean;miss=common;systems=3;n=250;ref=3f9c;mirflow=0.1.0",
            {"conv": "madmom", "agg": "mean", "miss": "common", "systems": "3", "n": "250", "ref": "3f9c"},
        ),
        (
            "chord/majmin+seg;where=genre%20=%3D%20'Rock';by=artist,year;across=fold:mean,fold:std;agg=wcsr;miss=zero;"
            "undef=skip;n=9-12;unit=percent;mirflow=0.1.0",
            {"by": ("artist", "year"), "across": (("fold", "mean"), ("fold", "std")), "where": "genre == 'Rock'"},
        ),
    ],
)
def test_signatures_of_the_first_release_keep_their_meaning(text: str, fields: dict[str, Any]) -> None:
    signed = Signature.parse(text)
    assert {key: signed[key] for key in fields} == fields


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a signature"),
        ("majmin;agg=mean", "not a signature: 'majmin;agg=mean'"),
        ("chord/;agg=mean;miss=skip;n=3;mirflow=0.1", "begins with a task and a metric"),
        ("chord/majmin;agg=mean;miss=skip;mirflow=0.1", "needs the fields n"),
        ("chord/majmin;agg=mean;miss=skip;n=many;mirflow=0.1", "invalid field n='many'"),
        ("chord/majmin;agg=mean;agg=wcsr;miss=skip;n=3;mirflow=0.1", "two fields 'agg'"),
        ("chord/majmin;agg;miss=skip;n=3;mirflow=0.1", "invalid field 'agg'"),
        ("chord/majmin;read=labels;agg=mean;miss=skip;n=3;mirflow=0.1", "invalid field read='labels'.*expected pairs"),
        ("chord/majmin;by=a:b;agg=mean;miss=skip;n=3;mirflow=0.1", "invalid field by='a:b'.*expected names"),
        ("chord/majmin;seed=1;agg=mean;miss=skip;n=3;mirflow=9", "unknown field 'seed'.*a later version"),
        ("chord/majmin;by=a,b:c;agg=mean;miss=skip;n=3;mirflow=0.1", "names and pairs are mixed"),
        ("chord/%ff;agg=mean;miss=skip;n=3;mirflow=0.1", "not UTF-8"),
        ("chord/" + "x" * 30_000, "longer than"),
    ],
)
def test_a_broken_signature_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(SignatureError, match=message):
        Signature.parse(text)


@pytest.mark.slow
def test_the_digest_of_references_is_that_of_their_contents(demo_store: Path, tmp_path: Path) -> None:
    def sign(folder: str, change: Callable[[bytes], bytes], **selection: Any) -> str:
        pipeline = (PIPELINES / "tunes.yaml").read_text().replace("../stores", "stores")
        for path in sorted((PIPELINES / "tunes").rglob("*.*"), reverse=True):
            copy = tmp_path / folder / "tunes" / path.relative_to(PIPELINES / "tunes")
            copy.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes()
            copy.write_bytes(change(data) if "reference" in path.parts else data)
        (tmp_path / folder / "tunes.yaml").write_text(pipeline)
        store = tmp_path / folder / "kept.zarr"
        mirflow.run(tmp_path / folder / "tunes.yaml", store=store, scheduler="serial", progress=False)
        return mirflow.signature(store, "majmin", group="chord", **selection)[0]

    (here,) = mirflow.signature(demo_store, "majmin", group="chord")
    assert sign("elsewhere", lambda data: data.replace(b"\n", b"\r\n")) == here
    changed = sign("changed", lambda data: data.replace(b'"G:maj"', b'"G:min"'))
    assert Signature.parse(changed)["ref"] != Signature.parse(here)["ref"]
    (part,) = mirflow.signature(demo_store, "majmin", group="chord", tracks=["greensleeves", "amazing-grace"])
    assert Signature.parse(part)["ref"] != Signature.parse(here)["ref"]


def test_signatures_name_what_is_not_the_default(demo_store: Path) -> None:
    tree = mirflow.open_store(demo_store)
    (plain,) = tree.mirflow.signature("majmin", group="chord")
    assert plain.startswith("chord/majmin;agg=wcsr;miss=common;systems=3;n=4;ref=")
    (changed,) = tree.mirflow.signature(
        "majmin", "mean", "meter", group="chord_mirex2013", system="elm", where="meter != '4/4'", undefined="skip"
    )
    signed = Signature.parse(changed)
    assert (signed["group"], signed["conv"], signed["by"]) == ("chord_mirex2013", "mirex2013", ("meter",))
    assert (signed["where"], signed["undef"], signed["systems"]) == ("meter != '4/4'", "skip", "1")
    both = mirflow.signature(demo_store, ["majmin", "seg", "root"], group="chord", percent=True)
    assert [Signature.parse(one).metrics for one in both] == [("majmin", "root"), ("seg",)]
    assert all(Signature.parse(one)["unit"] == "percent" for one in both)


TABLE = {"group": "chord", "metric": ["majmin", "seg", "sevenths"]}
WRITERS: dict[str, Callable[[Any], str]] = {
    "tex": lambda table: table.to_latex(),
    "md": lambda table: table.to_markdown(),
    "html": lambda table: table.to_html(),
    "csv": lambda table: table.to_csv(),
    "json": lambda table: table.to_json(),
}


@pytest.mark.parametrize("value", [0.4267, 0.42674, 0.42666, 12.5, 0.0])
def test_of_all_numbers_of_so_many_decimals_only_the_nearest_are_equal(value: float) -> None:
    for decimals in (1, 2, 3, 4):
        near = round(value * 10**decimals)
        equal = {
            place for place in range(near - 3, near + 4) if is_rounded(f"{place / 10**decimals:.{decimals}f}", value)
        }
        assert equal == {place for place in range(near - 3, near + 4) if abs(place - value * 10**decimals) < 0.5 + 1e-6}


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_changed_digit_of_a_written_table_is_found(suffix: str, demo_store: Path, tmp_path: Path) -> None:
    path = tmp_path / f"table.{suffix}"
    path.write_text(WRITERS[suffix](mirflow.query(demo_store, **TABLE)))
    checks = mirflow.verify(path, store=demo_store)
    assert [one.verdict for one in checks] == ["equal"] * 9
    path.write_text(path.read_text().replace("0.6964", "0.6994").replace("0.6965", "0.6995"))
    (changed,) = (one for one in mirflow.verify(path, store=demo_store) if one.verdict != "equal")
    assert (changed.names["metric"], changed.names["system"], changed.verdict) == ("sevenths", "elm", "different")
    assert changed.difference == pytest.approx(-0.003, abs=1e-4)
    assert "by -0.00" in changed.reason


@pytest.mark.parametrize(
    "options",
    [
        {"pivot": "system", "percent": True, "ci": 0.95},
        {"by": "meter", "pivot": "group", "missing": "skip"},
        {"by": ["meter", "track"], "undefined": "skip"},
        {"by": "meter", "across": {"meter": "mean,std"}},
        {"system": "e*", "where": "meter == '3/4'"},
        {"system": ["oak", "elm"], "missing": "zero", "percent": True, "significance": 0.95},
    ],
    ids=lambda options: "-".join(options),
)
def test_numbers_of_every_layout_are_found(options: dict[str, Any], demo_store: Path, tmp_path: Path) -> None:
    asked = mirflow.query(demo_store, **TABLE, **options)
    (tmp_path / "a.tex").write_text(asked.to_latex(stacked="ci" in options))
    checks = mirflow.verify(tmp_path / "a.tex", store=demo_store)
    assert len(checks) == 3 * asked.dataset.sizes["system"] * int((asked["n_tracks"] > 0).sum())
    assert {one.verdict for one in checks} == {"equal"}


def test_a_paper_keeps_what_verification_needs(demo_store: Path, tmp_path: Path) -> None:
    table = mirflow.query(demo_store, **TABLE).to_latex()
    rows = [line for line in table.splitlines() if "% mirflow: " in line]
    ours = rows[1].replace("elm", r"\textbf{Ours} \& co \cite{x}", 1).replace("0.6965", r"\textcolor{red!50}{.696}")
    edited = table.replace(rows[1], "").replace(rows[0], f"{ours}\nTheirs & 0.1 & 0.2 & 0.3 & 3 & 4 \\\\\n{rows[0]}")
    (tmp_path / "paper.tex").write_text(f"\\documentclass{{article}} 100\\% %\n{edited}\n\\end{{document}}")
    checks = mirflow.verify(tmp_path / "paper.tex", store=demo_store)
    assert [one.names["system"] for one in checks] == ["elm"] * 3 + ["oak"] * 3 + ["ash"] * 3
    assert [one.printed for one in checks if one.names["metric"] == "sevenths"] == [".696", "0.9433", "0.4267"]
    assert {one.verdict for one in checks} == {"equal"}


def test_tables_of_a_paper_are_verified_by_themselves(demo_store: Path, tmp_path: Path) -> None:
    """Both have the same signature, and each its own two systems, whose common tracks count."""
    pairs = (["oak", "elm"], ["oak", "ash"])
    tables = [mirflow.query(demo_store, **TABLE, system=pair, tracks=["greensleeves", "sc*"]) for pair in pairs]
    (tmp_path / "paper.tex").write_text("\n".join(table.to_latex() for table in tables))
    checks = mirflow.verify(tmp_path / "paper.tex", store=demo_store)
    assert [one.verdict for one in checks] == ["equal"] * 12
    assert len({one.signature for one in checks}) == 2, "one for each aggregate"


def test_headlines_of_several_evaluations_are_those_of_each(demo_store: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_text(mirflow.query(demo_store, primary=True, percent=True).to_latex())
    checks = mirflow.verify(tmp_path / "a.tex", store=demo_store)
    assert {(one.names["evaluation"], one.verdict) for one in checks} == {
        ("chord", "equal"),
        ("chord_mirex2013", "equal"),
    }


@pytest.mark.parametrize("suffix", WRITERS)
def test_names_may_have_any_characters(suffix: str, tmp_path: Path) -> None:
    names = ["a & b", "50 % | c", "x: y,z=1 -->", "{\\it}_^~$", '[neu] "q"', "*"]
    references = {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([0.5, 1.5])}
    estimates = {name: {"a": np.arange(1.0, 3.0 + place), "b": np.array([0.5])} for place, name in enumerate(names)}
    scores = mirflow.score(references, estimates, "onset")
    (tmp_path / f"t.{suffix}").write_text(WRITERS[suffix](mirflow.query(scores, ["precision", "f_measure"])))
    checks = mirflow.verify(tmp_path / f"t.{suffix}", store=scores)
    assert sorted({one.names["system"] for one in checks}) == sorted(names)
    assert {one.verdict for one in checks} == {"equal"}


def test_lazy_trees_are_not_computed_for_a_signature() -> None:
    lazy = mirflow.open_pipeline(PIPELINES / "tunes.yaml")
    (signed,) = lazy.mirflow.signature("majmin", group="chord")
    assert Signature.parse(signed)["ref"] == ""


def test_leaderboards_are_verified(demo_store: Path, tmp_path: Path) -> None:
    assert run("export", demo_store, tmp_path / "board.json", "--no-intervals", "-m", "majmin").exit_code == 0
    assert {one.verdict for one in mirflow.verify(tmp_path / "board.json", store=demo_store)} == {"equal"}
    board = json.loads((tmp_path / "board.json").read_text())
    board["evaluations"][1]["systems"][2]["scores"]["majmin"]["value"] += 0.001
    (tmp_path / "board.json").write_text(json.dumps(board))
    (changed,) = (one for one in mirflow.verify(tmp_path / "board.json", store=demo_store) if one.verdict != "equal")
    assert (changed.names["system"], changed.verdict) == ("ash", "different")


@pytest.mark.parametrize("suffix", ["pdf", "png", "svg"])
def test_figures_have_their_signature_in_the_metadata_and_beside_the_caption(
    suffix: str, demo_store: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"figure.{suffix}"
    assert run("plot", demo_store, "heatmap", "-g", "chord", "-m", "majmin", "-o", path).exit_code == 0
    (signed,) = mirflow.signature(demo_store, "majmin", group="chord", missing="skip")
    assert f"mirflow: {signed}".encode() in path.read_bytes()
    if suffix == "pdf":
        assert (tmp_path / "figure.caption.tex").read_text().startswith(f"% mirflow: {signed}\n")


def test_estimates_are_scored_again(demo_store: Path, tmp_path: Path) -> None:
    path = tmp_path / "table.tex"
    assert run("query", demo_store, "-g", "chord", "-m", "majmin", "-o", path).exit_code == 0
    for words in (
        ("--pipeline", PIPELINES / "tunes.yaml", "--estimates", PIPELINES / "tunes/estimates"),
        ("--reference", PIPELINES / "tunes/reference", "--estimates", PIPELINES / "tunes/estimates"),
    ):
        result = run("verify", path, *words)
        assert result.exit_code == 0, result.output
        assert "3 signed numbers: 3 equal" in result.output
    one = shutil.copytree(PIPELINES / "tunes/estimates/elm", tmp_path / "estimates/elm").parent
    result = run("verify", path, "--reference", PIPELINES / "tunes/reference", "--estimates", one, "--format", "json")
    assert result.exit_code == 3
    assert "the tracks that 3 systems have in common" in json.loads(result.stdout)[0]["reason"]


def test_exit_codes_say_what_was_found(demo_store: Path, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(mirflow.query(demo_store, "majmin", group="chord").to_csv())
    assert run("verify", path, "--store", demo_store).exit_code == 0
    path.write_text(path.read_text().replace("0.94428", "0.94429"))
    result = run("verify", path, "--store", demo_store, "--format", "json")
    assert result.exit_code == 1
    rows = json.loads(result.output)
    assert [row["verdict"] for row in rows] == ["different", "equal", "equal"]
    assert rows[0]["signature"].startswith("chord/majmin;agg=wcsr")
    path.write_text(path.read_text().replace("ref=", "ref=0"))
    result = run("verify", path, "--store", demo_store, "--format", "json")
    assert result.exit_code == 3
    assert "the references or the tracks differ" in json.loads(result.output)[0]["reason"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["README"], "no such file; and as a signature"),
        (["empty.tex", "--store", "x.zarr"], "no signed numbers"),
        (["bytes.csv", "--store", "x.zarr"], "not UTF-8"),
        (["bad.json", "--store", "x.zarr"], "not JSON"),
        (["notes.pdf", "--store", "x.zarr"], "cannot look for signatures in .pdf"),
        (["signed.tex"], "say what to compute the numbers from"),
        (["signed.tex", "--store", "x.zarr", "--reference", "y"], "only one of them"),
        (["signed.tex", "--reference", "y"], "name the estimates"),
        (["signed.tex", "--reference", "y", "--estimates", "z"], "y: no such folder"),
        (["signed.tex", "--pipeline", "bad.json"], "problem"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.tex").write_text("nothing")
    Path("bytes.csv").write_bytes(b"\xff\xfe")
    Path("bad.json").write_text("[" * 100_000)
    Path("notes.pdf").write_text("%PDF")
    Path("signed.tex").write_text(SIGNED + ROW)
    result = run("verify", *words)
    assert result.exit_code == 2
    assert message in result.output
    assert "internal" not in result.output


SIGNED = "% mirflow 1: chord/majmin;agg=wcsr;miss=skip;n=4;mirflow=0.1.0\n"
ROW = "elm & 0.9036 \\\\ % mirflow: system=elm : metric=majmin\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("% mirflow 1: chord/majmin;agg\n" + ROW, "invalid field 'agg'"),
        (ROW, "no signature is above the table"),
        (SIGNED + "elm \\\\ % mirflow: system=elm : metric=majmin", "the row has 1 cells, and its comment names 2"),
        (SIGNED + "elm & 1 \\\\ % mirflow: system", "not one that mirflow writes"),
        (SIGNED + "elm & 1 \\\\ % mirflow: elm : metric=majmin", "expected name=value"),
        (SIGNED + ROW.replace("majmin", "root"), "no signature of the table is about 'root'"),
        (SIGNED + ROW.replace("elm", "fir"), "no scores of system 'fir'"),
        (SIGNED.replace("majmin", "major") + ROW.replace("majmin", "major"), "unknown metric 'major'"),
        (SIGNED.replace("chord/", "chords/") + ROW, "unknown task 'chords'"),
        (SIGNED.replace(";agg", ";conv=casd;agg") + ROW, "unknown chord convention 'casd'"),
        (
            SIGNED.replace(";agg", ";conv=decibel;agg") + ROW,
            "unknown metric|no scores of chord by the rules of decibel",
        ),
    ],
)
def test_what_cannot_be_computed_has_a_reason(text: str, reason: str, demo_store: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_text(text)
    checks = [*mirflow.verify(tmp_path / "a.tex", store=demo_store)]
    assert {one.verdict for one in checks} == {"not computable"}
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(checks[0].reason)


HOSTILE = {
    "braces": "{" * 500_000 + SIGNED + ROW,
    "cells": SIGNED + "&" * 1_000_000 + ROW,
    "tables": SIGNED + "\\begin{tabular}{" * 60_000 + " & 1 \\\\ % mirflow: system=elm : metric=majmin",
    "comments": (SIGNED + ROW) * 300,
    "percent": SIGNED + "\\%" * 500_000 + "\n" + ROW,
    "lines": SIGNED + "a & b \\\\\n" * 100_000 + ROW,
    "names": SIGNED + "x & 1 \\\\ % mirflow: " + "a=b," * 200_000 + "c=d : metric=majmin",
    "broken": "% mirflow 1: " + "chord/majmin;" * 60_000,
    "feet": SIGNED + "signature:a/" * 20_000 + ROW,
    "scripts": SIGNED + "<script></script>" * 50_000 + "\\iftrue" * 50_000 + ROW,
    "tags": SIGNED + "<!-- mirflow: " * 70_000 + "<tr<td" * 50_000,
}


@pytest.mark.parametrize("suffix", ["tex", "md", "html"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_neither_hangs_nor_fails(name: str, suffix: str, demo_store: Path, tmp_path: Path) -> None:
    text = HOSTILE[name]
    if suffix != "tex":
        text = text.replace("% mirflow", "<!-- mirflow").replace("\n", " -->\n")
    (tmp_path / f"a.{suffix}").write_text(text)
    began = time.process_time()
    result = run("verify", tmp_path / f"a.{suffix}", "--store", demo_store)
    assert time.process_time() - began < 10
    assert result.exit_code in (0, 1, 2, 3)
    assert "internal" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_a_signature_alone_gives_its_numbers(demo_store: Path) -> None:
    (signed,) = mirflow.signature(demo_store, ["majmin", "root"], group="chord")
    checks = mirflow.verify(signed, store=demo_store)
    found = mirflow.query(demo_store, ["majmin", "root"], group="chord", sort="stored")["value"]
    computed = {(one.names["system"], one.names["metric"]): one.value for one in checks}
    assert {one.verdict for one in checks} == {"computed"}
    expected = {(s, m): found.sel(system=s, metric=m).item() for s in found.system.values for m in found.metric.values}
    assert computed == expected


def test_scores_in_memory_are_signed_without_references() -> None:
    references = {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([0.5, 1.5])}
    scores = mirflow.score(references, {"ours": {"a": np.array([1.0]), "b": np.array([0.5])}}, "onset")
    (signed,) = scores.mirflow.signature("f_measure")
    assert Signature.parse(signed)["ref"] == ""
    (check,) = mirflow.verify(signed, store=scores)
    assert check.value == pytest.approx(scores.score.sel(metric="f_measure").mean().item())
    with pytest.raises(QueryError, match="a store has scores"):
        mirflow.verify(signed, store=scores, estimates="x")


def test_the_chords_of_mirex_2013_are_verified(mirex2013_store: Path, shared_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "table.tex"
    asked = {"group": "chord_mirex2013", "metric": ["majmin", "sevenths"], "percent": True}
    path.write_text(mirflow.query(mirex2013_store, **asked).to_latex())
    assert "82.26" in path.read_text()
    assert {one.verdict for one in mirflow.verify(path, store=mirex2013_store)} == {"equal"}
    path.write_text(path.read_text().replace("82.26", "82.36"))
    again = {"pipeline": PIPELINES / "mirex2013-ace.yaml", "root": shared_data / "mirex2013-ace"}
    (changed,) = (one for one in mirflow.verify(path, **again) if one.verdict != "equal")
    assert (changed.names["system"], changed.verdict) == ("CB4", "different")


@pytest.fixture
def bars(tmp_path: Path) -> Path:
    """Beats with positions and bars, scored as the first beats of bars, with times in milliseconds."""
    for folder in ("reference", "estimates/ours"):
        (tmp_path / folder).mkdir(parents=True)
    for track, bar in (("a", 4), ("b", 3)):
        rows = [f"{500 * beat}\t{beat % bar + 1}\t{beat // bar + 1}" for beat in range(24)]
        (tmp_path / f"reference/{track}.txt").write_text("\n".join(rows) + "\n")
        (tmp_path / f"estimates/ours/{track}.csv").write_text(
            "n;t\n" + "".join(f"{n};{n * 0.5}\n" for n in range(0, 24, 3))
        )
    (tmp_path / "p.yaml").write_text(
        "evaluations:\n  - task: downbeat\n"
        "    reference: {path: 'reference/{track}.txt', select: bar_start, time_unit: ms}\n"
        "    estimates: {path: 'estimates/{system}/{track}.csv', columns: {time: t}, header: true}\n"
        "    metrics: ['f_measure(trim=0)']\nstore: s.zarr\n"
    )
    mirflow.run(tmp_path / "p.yaml", store=tmp_path / "s.zarr", scheduler="serial", progress=False)
    (tmp_path / "t.csv").write_text(mirflow.query(tmp_path / "s.zarr").to_csv())
    return tmp_path


def test_what_a_pipeline_selects_is_signed_and_read_again(bars: Path) -> None:
    sides = {"reference": bars / "reference", "estimates": bars / "estimates"}
    (signed,) = mirflow.signature(bars / "s.zarr")
    read = Signature.parse(signed)["read"]
    assert read == (
        ("reference.time_unit", "ms"),
        ("reference.select", "bar_start"),
        ("estimates.columns", '{"time":"t"}'),
        ("estimates.header", "True"),
    )
    for source in (sides, {"store": bars / "s.zarr"}, {"pipeline": bars / "p.yaml"}):
        (check,) = mirflow.verify(bars / "t.csv", **source)
        assert (check.verdict, check.value) == ("equal", pytest.approx((2 * 2 / (6 + 8) + 1) / 2)), check.reason
    (check,) = mirflow.verify(signed.replace("bar_start", "downbeat"), store=bars / "s.zarr")
    assert (check.verdict, check.reason[:16]) == ("not computable", "the rules differ")
    for old, new, reason in (
        ("select", "selekt", "unknown option of reading 'reference.selekt'"),
        ("bar_start", "bars", "invalid options of reading in the signature: .*bars"),
        ("%22%7D", "", "invalid estimates.columns of a signature: .*time"),
    ):
        (check,) = mirflow.verify(signed.replace(old, new), **sides)
        assert re.search(reason, check.reason)


def test_signatures_that_name_no_selection_are_still_resolved(bars: Path) -> None:
    (signed,) = mirflow.signature(bars / "s.zarr")
    older = re.sub("read=[^;]+;", "", signed)
    for printed, verdict in ((0.642857, "equal"), (0.5, "different")):
        (bars / "old.json").write_text(json.dumps({"signature": older, "value": printed, "system": "ours"}))
        (check,) = mirflow.verify(bars / "old.json", store=bars / "s.zarr")
        assert check.verdict == verdict
    assert "reference.select bar_start, estimates.columns" in check.reason
    assert "which the signature does not name" in check.reason
