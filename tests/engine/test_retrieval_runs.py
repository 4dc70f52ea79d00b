"""Retrieval through pipelines: lists, runs and matrices of systems against groups and judgements."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

import mirflow
from mirflow.errors import PipelineError

from ..commands import invoke, problems
from ..groups import CODES

ITEMS = [f"t{number:02d}" for number in range(12)]
CLIQUES = {item: f"c{number // 3}" for number, item in enumerate(ITEMS[:9])}
SYSTEMS = ("ann", "bob")


def distances(seed: int) -> np.ndarray:
    square = np.random.default_rng(seed).random((len(ITEMS), len(ITEMS))).round(3)
    np.fill_diagonal(square, 0.0)
    return square


def order(row: np.ndarray, own: int) -> list[str]:
    return [ITEMS[place] for place in np.argsort(row, kind="stable") if place != own]


def write_matrix(path: Path, square: np.ndarray) -> None:
    files = "".join(f"{number}\t/audio/{item}.wav\n" for number, item in enumerate(ITEMS, 1))
    head = "Q/R\t" + "\t".join(map(str, range(1, len(ITEMS) + 1)))
    rows = ["\t".join([str(number), *map(str, row)]) for number, row in enumerate(square.tolist(), 1)]
    path.write_text("title\n" + files + "\n".join([head, *rows]) + "\n")


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """Cliques of three, three items in none; two systems, in every format."""
    (tmp_path / "cliques.tsv").write_text("".join(f"{item}\t{CLIQUES.get(item, '')}\n" for item in ITEMS))
    others = {q: [i for i in CLIQUES if CLIQUES[i] == CLIQUES[q] and i != q] for q in CLIQUES}
    (tmp_path / "x.qrels").write_text("".join(f"{q} 0 {item} 1\n" for q in others for item in others[q]))
    for seed, system in enumerate(SYSTEMS):
        square = distances(seed)
        write_matrix(tmp_path / f"{system}.matrix.txt", square)
        np.save(tmp_path / f"{system}.npy", square)
        ranks = {item: order(square[place], place) for place, item in enumerate(ITEMS) if item in CLIQUES}
        (tmp_path / f"{system}.lists").write_text("".join(f"{q}: {' '.join(found)}\n" for q, found in ranks.items()))
        rows = [(q, item, rank) for q, found in ranks.items() for rank, item in enumerate(found, 1)]
        run = "".join(f"{q} Q0 {item} {rank} {1 / rank!r} {system}\n" for q, item, rank in rows)
        (tmp_path / f"{system}.run").write_text(run)
        (tmp_path / f"{system}.csv").write_text("query,item,rank\n" + "".join(f"{q},{i},{r}\n" for q, i, r in rows))
    (tmp_path / "items.txt").write_text("\n".join(ITEMS))
    return tmp_path


def run(folder: Path, reference: object, estimates: object, name: str = "retrieval", **more: object):
    evaluation = {"task": "retrieval", "reference": reference, "estimates": estimates, **more}
    document = {"name": "x", "root": str(folder), "store": str(folder / f"{name}.zarr"), "evaluations": [evaluation]}
    (folder / f"{name}.yaml").write_text(json.dumps(document))
    mirflow.run(folder / f"{name}.yaml", scheduler="serial")
    return mirflow.open_store(folder / f"{name}.zarr")["retrieval"].to_dataset()


GROUPS = {"path": "cliques.tsv", "format": "groups"}
ESTIMATES = {
    "matrix": {"path": "{system}.matrix.txt", "format": "matrix"},
    "array": "{system}.npy",
    "lists": "{system}.lists",
    "run": "{system}.run",
    "rows": "{system}.csv",
}


def expected(measure: str) -> np.ndarray:
    qrels = {q: {i: 1 for i in CLIQUES if CLIQUES[i] == CLIQUES[q] and i != q} for q in CLIQUES}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {measure})
    found = []
    for seed in range(len(SYSTEMS)):
        square = distances(seed)
        ranks = {q: order(square[ITEMS.index(q)], ITEMS.index(q)) for q in CLIQUES}
        runs = {q: {item: -float(place) for place, item in enumerate(items)} for q, items in ranks.items()}
        scores = evaluator.evaluate(runs)
        found.append([scores[q][measure] for q in sorted(CLIQUES)])
    return np.array(found)


@pytest.mark.parametrize("form", ESTIMATES)
@pytest.mark.parametrize("reference", [GROUPS, "x.qrels"], ids=["groups", "qrels"])
def test_every_format_gives_trec_evals_numbers(collection, form, reference):
    found = run(collection, reference, ESTIMATES[form])
    assert found.system.values.tolist() == list(SYSTEMS)
    assert found.track.values.tolist() == sorted(CLIQUES), "items that are in no clique are no queries"
    assert (found.status == CODES["ok"]).all()
    for theirs, ours in {"map": "average_precision", "recip_rank": "reciprocal_rank", "ndcg_cut_10": "ndcg"}.items():
        np.testing.assert_allclose(found.score.sel(metric=ours), expected(theirs), rtol=0, atol=1e-12)


def test_the_query_itself_is_left_out_of_lists_too(collection):
    for system in SYSTEMS:
        path = collection / f"{system}.lists"
        rows = [line.partition(":") for line in path.read_text().splitlines()]
        path.write_text("".join(f"{query}: {query}{items}\n" for query, _, items in rows))
    found = run(collection, GROUPS, ESTIMATES["lists"])
    np.testing.assert_allclose(found.score.sel(metric="average_precision"), expected("map"), rtol=0, atol=1e-12)


def test_one_changed_row_is_one_computed_cell(collection):
    run(collection, GROUPS, ESTIMATES["matrix"])
    lines = (collection / "ann.matrix.txt").read_text().splitlines()
    place = lines.index(next(line for line in lines if line.startswith("4\t0.")))
    fields = lines[place].split("\t")
    fields[1] = "0.9999"
    lines[place] = "\t".join(fields)
    (collection / "ann.matrix.txt").write_text("\n".join(lines) + "\n")
    again = invoke("run", collection / "retrieval.yaml", "--dry-run")
    assert "to compute 1 of 18 cells: 0 new, 1 changed" in again.output


def test_what_is_wrong_with_a_query_spoils_that_query(collection):
    square = distances(0)
    square[1, 5] = np.nan
    write_matrix(collection / "ann.matrix.txt", square)
    found = run(collection, GROUPS, ESTIMATES["matrix"])
    cell = found.sel(system="ann", track="t01")
    assert cell.status == CODES["invalid"]
    assert "ann.matrix.txt:16: the distance from 't01' to 't05' is not finite: nan" in str(cell.message.values)
    assert (found.status == CODES["ok"]).sum() == found.status.size - 1
    assert cell.weight.sel(metric="average_precision") == 2
    assert np.isnan(cell.score).all()


def test_missing_queries_and_repeated_items_are_named(collection):
    text = (collection / "ann.lists").read_text().splitlines()
    (collection / "ann.lists").write_text("\n".join([text[0] + " t05", *text[2:], "stranger: t01 t02"]) + "\n")
    found = run(collection, GROUPS, ESTIMATES["lists"]).sel(system="ann")
    state = dict(zip(found.track.values.tolist(), found.status.values.tolist(), strict=True))
    assert (state["t00"], state["t01"], state["stranger"]) == (
        CODES["invalid"],
        CODES["missing_estimate"],
        CODES["missing_reference"],
    )
    assert "item 't05' occurs twice" in str(found.message.sel(track="t00").values)
    assert "ann.lists:1 [t00]:" in str(found.message.sel(track="t00").values)


def test_queries_whose_items_have_other_names_are_reported(collection):
    (collection / "cliques.tsv").write_text("song a\tx\nsong b\tx\n")
    with pytest.raises(PipelineError, match=r"has no row of any query of the reference \('song a', 'song b', ...\)"):
        run(collection, GROUPS, ESTIMATES["matrix"])


def test_a_matrix_that_cannot_be_opened_fails_for_all_its_queries(collection):
    (collection / "ann.matrix.txt").write_text("title\n1\tx.wav\n")
    found = run(collection, GROUPS, ESTIMATES["matrix"]).sel(system="ann")
    assert (found.status == CODES["invalid"]).all()
    assert "no line begins with Q/R" in str(found.message.values[0])


def test_the_convention_of_trec_eval_orders_by_score(collection):
    (collection / "x.qrels").write_text("q 0 a 1\n")
    (collection / "tied_sys.csv").write_text("query,item,score\nq,a,1\nq,b,1\n")
    one = {"metrics": ["reciprocal_rank"]}
    listed = run(collection, "x.qrels", "tied_{system}.csv", **one)
    tied = run(collection, "x.qrels", "tied_{system}.csv", "trec", convention="trec_eval", **one)
    assert (listed.score.item(), tied.score.item()) == (1.0, 0.5)


def test_what_is_left_out_may_be_given_on_the_command_line(collection):
    (collection / "artists.csv").write_text("track,clique,artist\na,1,x\nb,1,x\nc,1,y\nd,2,z\ne,2,z\n")
    names = ["--task", "retrieval", "--input-format", "groups"]
    whole = invoke("check", collection / "artists.csv", *names)
    assert "5 tracks: 0 errors" in whole.output
    artists = invoke("check", collection / "artists.csv", *names, "--exclude-same", "artist", "--exclude", "none")
    assert "3 tracks: 0 errors" in artists.output
    numbered = invoke("check", collection / "artists.csv", *names, "--exclude-same", "2")
    assert numbered.output == artists.output


def test_packs_hold_rankings(collection):
    mirflow.pack(collection / "cliques.tsv", collection / "refs.zarr", "retrieval", format="groups")
    mirflow.pack(collection / "ann.run", collection / "ann.zarr", "retrieval")
    found = run(collection, "refs.zarr", "{system}.zarr", "packed", systems=["ann"])
    np.testing.assert_allclose(found.score.sel(metric="average_precision")[0], expected("map")[0], rtol=0, atol=1e-12)


def test_the_linter_knows_them(collection):
    (collection / "odd.run").write_text("q1 Q0 a 1 high s\nq2 Q0 a 1 0.5 s\nq2 Q0 a 2 0.4 s\nq3 Q0 a 1 1 s\n")
    for name, options in (("ann.run", ()), ("cliques.tsv", ("--input-format", "groups"))):
        assert problems(collection / name, "--task", "retrieval", *options) == []
    found = problems(collection / "odd.run", "--task", "retrieval")
    assert [(one["severity"], one["line"], one["message"]) for one in found] == [
        ("error", 1, "score is not a number: 'high'"),
        ("error", 3, "item 'a' occurs twice: as number 1 and number 2"),
    ]
