"""The commands of ``mirflow grading``, one after the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mirflow.campaign.grading.judgement_tables import GraderJudgement, write_judgements
from mirflow.campaign.grading.pool import read_key
from mirflow.campaign.grading.query_draw import read_table

from ...commands import invoke, printed, refused, rows


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve pieces of three artists and two genres, and the lists of two systems."""
    monkeypatch.chdir(tmp_path)
    pieces = [f"p{number:02}" for number in range(12)]
    table = [f"{name},{'jazz' if number % 2 else 'rock'},a{number % 3}" for number, name in enumerate(pieces)]
    Path("pieces.csv").write_text("\n".join(["piece,genre,artist", *table]) + "\n")
    Path("runs").mkdir()
    for system, order in (("near", pieces), ("far", pieces[::-1])):
        ranked = [f"{query},{one}" for query in pieces for one in order]
        Path(f"runs/{system}.csv").write_text("\n".join(["query,item", *ranked]) + "\n")
    return tmp_path


def to_the_plan(*more: str) -> None:
    printed("grading", "draw", "pieces.csv", "--each", "2", "--by", "genre", "--seed", "1", "-o", "queries.csv")
    lists = ("runs/{system}.csv", "-q", "queries.csv", "--pieces", "pieces.csv", "--same", "artist", "-n", "3")
    printed("grading", "pool", *lists, "--seed", "s", "-o", "pool.csv")
    printed("grading", "assign", "pool.csv", "-g", "3", "-k", "2", "--seed", "5", "-o", "plan.csv", *more)


def judge(**changes: str) -> None:
    """Whoever judges finds what both systems return very similar, and nothing else."""
    pieces = read_key("pool.key.csv").pieces
    plan = read_table("plan.csv")
    found = []
    for grader, _, query, candidate, repeat in plan.rows:
        alike = int(pieces[candidate][1:]) % 2 == 0
        found.append(
            GraderJudgement(grader, query, candidate, "VS" if alike else "NS", 9.0 if alike else 1.0, repeat == "1")
        )
    write_judgements(found, "judged.csv")


class TestChain:
    def test_from_lists_to_scores(self, folder):
        to_the_plan()
        judge()
        closed = invoke("grading", "close", "judged.csv", "--key", "pool.key.csv", "-o", "closed", code=0)
        assert "mirflow run closed/similarity.yaml" in closed.output
        invoke("run", "closed/similarity.yaml", "--quiet", code=0)
        (near, _) = sorted(rows("query", "closed.zarr", "-m", "greater1"), key=lambda row: row["system"], reverse=True)
        assert near["system"] == "near"
        own = [one for one in read_key("pool.key.csv").returned if one.system == "near"]
        assert near["value"] == pytest.approx(sum(int(one.piece[1:]) % 2 == 0 for one in own) / len(own))
        assert "Friedman" in printed("compare", "closed.zarr", "--friedman", "-m", "fine")

    def test_overview_of_a_round_that_goes_on_names_nobody(self, folder):
        to_the_plan("--repeats", "0.5")
        judge()
        lines = Path("judged.csv").read_text().replace("grader1", "ada").splitlines()
        Path("judged.csv").write_text("\n".join(lines[:-4]) + "\n")
        log = [
            json.dumps({"time": f"2027-03-01T12:0{minute}Z", "grader": "ada", "query": "q", "candidate": "c"})
            for minute in range(3)
        ]
        Path("log.jsonl").write_text("\n".join(log))
        shown = printed(
            "grading", "overview", "judged.csv", "--key", "pool.key.csv", "-k", "2", "--events", "log.jsonl"
        )
        assert "ada" not in shown
        titles = (
            "progress",
            "graders and their agreement",
            "agreement of graders",
            "other measures",
            "fine judgements within",
        )
        assert [shown.index(title) for title in titles] == sorted(shown.index(title) for title in titles)
        found = rows("grading", "overview", "judged.csv", "--key", "pool.key.csv", "-k", "2", "--events", "log.jsonl")
        graders = [row for row in found if row["grader"] is not None]
        assert [row["grader"] for row in graders] == ["grader 1", "grader 2", "grader 3", "all"]
        assert graders[-1]["same"] == 1.0
        assert sum(row["hours"] for row in graders[:-1]) == pytest.approx(2 / 60)
        systems = {row["system"]: row for row in found if row["system"] is not None}
        assert systems["near"]["score, SS as VS"] == systems["near"]["score, SS as NS"]  # nobody chose the middle

    def test_the_same_seeds_give_the_same_files(self, folder):
        to_the_plan()
        before = {path: Path(path).read_bytes() for path in ("queries.csv", "pool.csv", "pool.key.csv", "plan.csv")}
        for path in before:
            Path(path).unlink()
        to_the_plan()
        assert before == {path: Path(path).read_bytes() for path in before}

    def test_without_a_seed_one_is_drawn_and_kept(self, folder):
        found = {}
        for name in ("one", "two"):
            shown = invoke("grading", "draw", "pieces.csv", "-n", "6", "-o", f"{name}.csv", code=0)
            found[name] = read_table(f"{name}.csv").notes["seed"]
            assert found[name] in shown.output
            printed("grading", "pool", "runs/{system}.csv", "-q", f"{name}.csv", "-o", f"{name}-pool.csv")
        assert found["one"] != found["two"]
        assert len(read_key("one-pool.key.csv").seed) == 32

    def test_work_is_printed(self, folder):
        to_the_plan()
        shown = invoke(
            "grading", "assign", "pool.csv", "-g", "3", "-k", "2", "-o", "again.csv", "--minutes", "600", code=0
        )
        said = dict(line.rsplit(None, 1) for line in shown.output.splitlines() if line.strip() and " " in line)
        assert (said["systems"], said["candidates returned"], said["queries"]) == ("2", "24", "4")
        assert said["at most 240 minutes (a forecast)"] == "no"

    def test_lists_that_are_too_short_are_named(self, folder):
        Path("queries.csv").write_text("query\np00\n")
        shown = invoke(
            "grading", "pool", "runs/{system}.csv", "-q", "queries.csv", "-n", "12", "-o", "pool.csv", code=0
        )
        assert "warning: system 'far' has only 11 of 12 candidates for 'p00'" in shown.output
        Path("queries.csv").write_text("query\np00\np01\np02\np03\n")
        shown = invoke(
            "grading", "pool", "runs/{system}.csv", "-q", "queries.csv", "-n", "12", "-o", "pool.csv", "--force", code=0
        )
        assert "warning: 3 other lists with fewer candidates than 12" in shown.output

    def test_nobody_judged(self, folder):
        to_the_plan()
        judge()
        text = Path("judged.csv").read_text().splitlines()
        Path("judged.csv").write_text("\n".join(text[:3]) + "\n")
        shown = invoke("grading", "close", "judged.csv", "--key", "pool.key.csv", "-o", "closed", code=0)
        assert "warning: no judgements of" in shown.output
        assert "see --unjudged" in shown.output


class TestRefused:
    def test_files_that_exist_are_kept(self, folder):
        to_the_plan()
        assert "queries.csv exists" in refused("grading", "draw", "pieces.csv", "-n", "1", "-o", "queries.csv")
        assert "pool.csv exists" in refused("grading", "pool", "runs/near.csv", "-q", "queries.csv", "-o", "pool.csv")
        assert "plan.csv exists" in refused("grading", "assign", "pool.csv", "-g", "3", "-o", "plan.csv")
        printed("grading", "assign", "pool.csv", "-g", "3", "-o", "plan.csv", "--force")

    def test_what_contradicts_itself(self, folder):
        assert "--number, or --each with --by" in refused("grading", "draw", "pieces.csv", "-o", "q.csv")
        Path("q.csv").write_text("query\np00\n")
        pool = ("grading", "pool", "runs/{system}.csv", "-q", "q.csv", "-o", "pool.csv")
        assert "--same artist needs --pieces" in refused(*pool, "--same", "artist")
        assert "matches nothing" in refused("grading", "pool", "runs/{system}.tsv", *pool[3:])
        printed(*pool)
        assert "each pair needs 2 graders" in refused(
            "grading", "assign", "pool.csv", "-g", "1", "-k", "2", "-o", "plan.csv"
        )

    def test_a_grader_who_is_to_be_forgotten_and_never_judged(self, folder):
        to_the_plan()
        judge()
        words = ("grading", "close", "judged.csv", "--key", "pool.key.csv", "-o", "closed", "--withdrawn", "zoe")
        assert "no judgements of grader 'zoe'" in refused(*words)


def test_the_workload_takes_the_minutes_of_an_earlier_round(tmp_path):
    log = tmp_path / "events.jsonl"
    lines = [
        {
            "time": f"2026-01-05T10:00:{second:02d}+00:00",
            "grader": "ada",
            "event": event,
            "query": "q",
            "candidate": "c",
        }
        for second, event in ((0, "played"), (30, "judged"))
    ]
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = rows("grading", "workload", "-A", 12, "-Q", 100, "-C", 5, "-G", 20, "--events", log)
    assert {row["what"]: row["value"] for row in found[:2]} == {"minutes": 0.5, "minutes_per_grader": 150}
    log.write_text("")
    assert "no time on a candidate" in refused(
        "grading", "workload", "-A", 2, "-Q", 1, "-C", 1, "-G", 1, "--events", log
    )
