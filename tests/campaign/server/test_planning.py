"""Organisers plan a round on the pages, open it and close it; nobody else sees what a plan holds."""

from __future__ import annotations

import csv
import errno
import io
import json
import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mirflow.campaign.server.graders import planning
from mirflow.campaign.server.graders.planning import (
    PlanError,
    assign_graders,
    begin_plan,
    discard_plan,
    list_patterns,
    planned_rounds,
)
from mirflow.campaign.server.graders.rounds import open_rounds
from mirflow.campaign.server.service import Service, make_backup, open_service, restore_backup
from mirflow.campaign.server.submissions import archives
from mirflow.errors import GradingError, MirflowError

from ...commands import invoke, printed
from .accounts import Browser
from .campaigns import zipped
from .test_grading import Grader

PLAN = "/grading/ams/plan"
CAMPAIGN = """\
campaign: Similar pieces
planning:
  audio: "audio/{piece}.wav"
  pieces: [pieces.csv]
  lists: ["lists/{system}.csv"]
"""
GENRES = ("folk", "rock")
PIECES = [f"p{number:02}" for number in range(12)]
SETTINGS = {
    "title": "Which are alike?",
    "per_pair": "1",
    "repeats": "0",
    "listen": "0",
    "broad_0": "no",
    "broad_1": "so so",
    "broad_2": "yes",
}


def pieces() -> str:
    """A collection: two genres, and two pieces of an artist each."""
    rows = [f"{piece},{GENRES[place % 2]},a{place // 2}\n" for place, piece in enumerate(PIECES)]
    return "piece,genre,artist\n" + "".join(rows)


def lists(systems: int = 2) -> dict[str, str | bytes]:
    """Each system returns the pieces after the query, itself first."""
    found: dict[str, str | bytes] = {}
    for system in range(systems):
        order = {one: PIECES[place:] + PIECES[:place] for place, one in enumerate(PIECES)}
        rows = (f"{query},{piece}\n" for query in PIECES for piece in (order[query] if system else order[query][::-1]))
        found[f"S{system}.csv"] = "query,candidate\n" + "".join(rows)
    return found


def write_campaign(folder: Path) -> Path:
    """A campaign with a table of pieces and lists of two systems."""
    (folder / "campaign.yaml").write_text(CAMPAIGN)
    (folder / "pieces.csv").write_text(pieces())
    (folder / "lists").mkdir()
    for name, text in lists().items():
        (folder / "lists" / name).write_text(str(text))
    return folder / "campaign.yaml"


def run_here(service: Service, job: str, task: Mapping[str, Any], *_: object) -> dict[str, Any]:
    """Run a job in this process, as a child takes seconds to start; one test has a child."""
    jobs = {"lists": archives.lists_job, "pool": archives.pool_job}
    try:
        return jobs[job](json.loads(json.dumps(task)), lambda message: None)
    except MirflowError as error:
        raise PlanError(str(error)) from None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_campaign(tmp_path)


@pytest.fixture
def service(path: Path) -> Service:
    return open_service([path])


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_run", run_here)


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Organiser]:
    """A plan up to its candidates and with lists that were sent, for tests that change nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "_run", run_here)
        organiser = Organiser(open_service([write_campaign(tmp_path_factory.mktemp("planned"))])).pooled()
        assert organiser.upload("upload-lists", lists()).status_code == 303
        yield organiser


def files_of(organiser: Organiser) -> dict[str, bytes]:
    """All files of the plan."""
    folder = organiser.service.folder / "grading" / "ams"
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


class Organiser(Browser):
    """An organiser's browser."""

    def __init__(self, service: Service, name: str = "olga") -> None:
        super().__init__(service, name, "organiser")
        self.service = service

    def step(self, name: str, **fields: Any) -> Any:
        """Send the form of a step, which has to be taken."""
        answer = self.submit(f"{PLAN}/{name}", **fields)
        assert answer.status_code == 303, told(answer)
        return answer

    def upload(self, name: str, files: Mapping[str, str | bytes], **fields: str) -> Any:
        """Send files."""
        parts = [("files", (file, data)) for file, data in files.items()]
        return self.post(f"{PLAN}/{name}", data={"csrf": self.csrf(), **fields}, files=parts)

    def begin(self) -> Organiser:
        """Begin a plan."""
        assert self.submit("/grading/new", name="ams").headers["location"] == PLAN
        return self

    def pooled(self) -> Organiser:
        """Make a plan up to its candidates."""
        self.begin()
        self.step("pieces", table="0")
        self.step("draw", number="2", by="genre", seed="3")
        self.step("pool", lists="0", top="3", same="artist")
        return self


def told(answer: Any) -> str:
    """What a page says is wrong."""
    assert answer.status_code == 400
    found = re.findall(r'role="alert">(.*?)</p>', answer.text)
    assert len(found) == 1
    return str(found[0]).replace("&#39;", "'").replace("&gt;", ">")


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#")))


def quantities(text: str, label: str) -> dict[str, str]:
    """The table of quantities of a page."""
    part = text.partition(f'aria-label="{label}"')[2].partition("</table>")[0]
    return dict(re.findall(r'<th scope="row" class="path">(.*?)</th><td class="number">(.*?)</td>', part))


@pytest.fixture
def closed(service: Service) -> bytes:
    """The tables of a round that went from a collection to the end by the pages alone, with a child of its own."""
    organiser = Organiser(service).begin()
    assert organiser.upload("upload-pieces", {"collection.csv": pieces()}).headers["location"] == f"{PLAN}#pieces"
    organiser.step("draw", number="2", by="genre", seed="3")
    assert organiser.upload("upload-lists", {"lists.zip": zipped(lists())}).headers["location"] == f"{PLAN}#lists"
    organiser.step("pool", lists="sent", top="3", same="artist")
    organiser.step("assign", graders="3", per_pair="2", repeats="0.1", minutes="2", seed="1")
    organiser.step("open", **SETTINGS, help="Similar is what you would put on one tape.", consent="I agree.")
    assert "I agree." in Grader(service, "gil", agree=False).get("/grading/ams/").text
    judge_all(service)
    assert organiser.submit("/grading/ams/close", what="close", sure="yes").status_code == 303
    answer = organiser.get("/grading/ams/closed.zip")
    assert answer.status_code == 200
    return bytes(answer.content)


def agree(grader: Browser) -> None:
    """Agree to the text of the round."""
    version = re.search(r'name="version" value="(\w+)"', grader.get("/grading/ams/").text)
    assert version is not None
    grader.submit("/grading/ams/consent", version=version[1])


def judge_all(service: Service) -> None:
    """Judge all pairs of the round, by a form without scripts."""
    grader = Browser(service, "gil", "grader")
    agree(grader)
    while asked := re.findall(r'data-assignment="(\d+)"', text := grader.get("/grading/ams/").text):
        number = re.findall(r'data-page="(\d+)"', text)[0]
        judged = {f"broad-{one}": "SS" for one in asked} | {f"fine-{one}": "5.5" for one in asked}
        answer = grader.submit("/grading/ams/judgements", page=number, plain="1", go="next", **judged)
        assert answer.status_code == 303


@pytest.mark.slow
def test_a_round_goes_from_a_collection_to_its_end_by_the_pages(closed, tmp_path):
    with zipfile.ZipFile(io.BytesIO(closed)) as archive:
        archive.extractall(tmp_path / "out")
    folder = tmp_path / "out" / "ams"
    names = sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())
    own = ["events.jsonl", "judgements.csv", "lists/S0.csv", "lists/S1.csv", "made.csv", "similarity.yaml"]
    assert names == own
    assert {row["fine"] for row in table((folder / "judgements.csv").read_text())} == {"5.5"}
    printed("run", folder / "similarity.yaml", "--quiet")
    actions = [json.loads(line)["action"] for line in (tmp_path / "state" / "audit.jsonl").read_text().splitlines()]
    steps = [f"plan round: {name}" for name in ("pieces", "draw", "lists", "pool", "assign", "open")]
    assert [one for one in actions if one.startswith(("plan", "close"))] == ["plan round", *steps, "close round"]


def test_the_pages_write_the_tables_of_the_commands(service, tmp_path, at_once):
    organiser = Organiser(service).pooled()
    organiser.step("pool", lists="0", top="3", same="artist", secret="known to the test")
    organiser.step("assign", graders="3", per_pair="2", repeats="0.1", minutes="2", seed="1")
    made = service.folder / "grading" / "ams"
    queries, pool, plan = (tmp_path / name for name in ("queries.csv", "pool.csv", "assignments.csv"))
    drawn = ("--each", "2", "--by", "genre", "--seed", "3")
    invoke("grading", "draw", tmp_path / "pieces.csv", *drawn, "-o", queries, code=0)
    same = ("--pieces", tmp_path / "pieces.csv", "--same", "artist", "--top", "3", "--seed", "known to the test")
    invoke("grading", "pool", tmp_path / "lists" / "{system}.csv", "-q", queries, *same, "-o", pool, code=0)
    work = ("-g", "3", "-k", "2", "--repeats", "0.1", "--minutes", "2", "--seed", "1")
    told = invoke("grading", "assign", pool, *work, "-o", plan, code=0)
    for name in ("queries.csv", "pool.csv", "pool.key.csv", "assignments.csv"):
        assert (made / name).read_text() == (tmp_path / name).read_text()
    shown = quantities(organiser.get(PLAN).text, "Graders assigned")
    assert len(shown) == 11
    for name, value in shown.items():
        assert re.search(rf"{re.escape(name)} +{re.escape(value)}", told.stderr)


def test_each_step_shows_what_came_of_it(service, at_once):
    organiser = Organiser(service).pooled()
    text = organiser.get(PLAN).text
    drawn = quantities(text, "Queries drawn")
    assert (drawn["queries of genre folk"], drawn["queries of genre rock"], drawn["seed"]) == ("2", "2", "3")
    pooled = quantities(text, "Candidates pooled")
    # One of the two systems begins with the query, and one meets its artist's other piece.
    assert (pooled["left out: same artist"], pooled["left out: the query itself"]) == ("4", "4")
    assert (pooled["candidates returned"], pooled["lists with fewer than 3"]) == ("24", "0")
    assert "Without a recording: " in text


def test_unequal_numbers_are_drawn_as_by_the_command(service, tmp_path, at_once):
    organiser = Organiser(service).begin()
    organiser.step("pieces", table="0")
    organiser.step("draw", number="rock=3, folk=1", by="genre", seed="3")
    drawn = quantities(organiser.get(PLAN).text, "Queries drawn")
    assert (drawn["queries of genre folk"], drawn["queries of genre rock"], drawn["queries"]) == ("1", "3", "4")
    made, queries = service.folder / "grading" / "ams", tmp_path / "queries.csv"
    arguments = ("--each", "rock=3,folk=1", "--by", "genre", "--seed", "3", "-o", queries)
    invoke("grading", "draw", tmp_path / "pieces.csv", *arguments, code=0)
    assert (made / "queries.csv").read_text() == queries.read_text()


def test_mutations_are_judged_as_their_query(service, tmp_path, at_once):
    # All queries but the first are mutations of it.
    heard = {piece: "" if piece == "p00" else "p00" for piece in PIECES}
    (tmp_path / "pieces.csv").write_text("piece,mutation of\n" + "".join(f"{a},{b}\n" for a, b in heard.items()))
    organiser = Organiser(service).begin()
    organiser.step("pieces", table="0")
    organiser.step("draw", number="12")
    assert "the query in column mutation of, for mutated queries" in organiser.get(PLAN).text
    organiser.step("pool", lists="0", top="3", judged_as="mutation of", secret="known to the test")
    made, pool = service.folder / "grading" / "ams", tmp_path / "pool.csv"
    arguments = ("-q", made / "queries.csv", "--top", "3", "--judged-as", "mutation of", "--seed", "known to the test")
    invoke("grading", "pool", tmp_path / "lists" / "{system}.csv", *arguments, "-o", pool, code=0)
    for name in ("pool.csv", "pool.key.csv"):
        assert (made / name).read_text() == (tmp_path / name).read_text()
    assert {row["query"] for row in table(pool.read_text())} == {"p00"}
    organiser.step("open", **SETTINGS)
    judge_all(service)
    assert organiser.submit("/grading/ams/close", what="close", sure="yes").status_code == 303
    with zipfile.ZipFile(io.BytesIO(organiser.get("/grading/ams/closed.zip").content)) as tables:
        judged = table(tables.read("ams/judgements.csv").decode())
    assert {row["query"]: row["judged_as"] for row in judged} == heard


def test_tables_of_commands_go_on_on_the_pages(service, tmp_path, at_once):
    organiser = Organiser(service).begin()
    made = service.folder / "grading" / "ams"
    invoke("grading", "draw", tmp_path / "pieces.csv", "-n", "3", "-o", made / "queries.csv", code=0)
    assert "upload lists of systems first" in told(organiser.submit(f"{PLAN}/pool", lists="sent", top="1"))
    organiser.step("pool", lists="0", top="2")
    assert quantities(organiser.get(PLAN).text, "Candidates pooled")["queries"] == "3"
    (made / "pool.key.csv").write_text("query,candidate\nq,c\n")
    assert "pool.key.csv: no column" in organiser.get(PLAN).text


def test_a_step_that_is_made_again_takes_back_those_after_it(service, at_once):
    organiser = Organiser(service).pooled()
    organiser.step("assign", graders="2", per_pair="1", repeats="0", minutes="1")
    assert len(re.findall(r"/plan/files/", organiser.get(PLAN).text)) == 4
    organiser.step("draw", number="3")
    assert re.findall(r"/plan/files/([\w.]+)", organiser.get(PLAN).text) == ["queries.csv"]
    organiser.step("pieces", table="0", column="piece")
    assert "/plan/files/" not in organiser.get(PLAN).text


@pytest.mark.parametrize(
    ("step", "fields", "message"),
    [
        ("pieces", {"table": "1"}, "the table must be a whole number from 0 to 0, not '1'"),
        ("pieces", {"table": "../x"}, "the table must be a whole number"),
        ("pieces", {"table": "0", "column": "name"}, "pieces.csv: no column 'name'"),
        ("draw", {"number": "0"}, "the number of queries must be a whole number from 1 to 100000, not '0'"),
        ("draw", {"number": "13"}, "12 pieces to draw 13 from"),
        ("draw", {"number": "7", "by": "genre"}, "6 pieces of genre 'folk' to draw 7 from"),
        ("draw", {"number": "1", "by": "year"}, "no column 'year'"),
        ("draw", {"number": "folk=1"}, "the number of queries must be a whole number from 1 to 100000, not 'folk=1'"),
        ("draw", {"number": "folk=x", "by": "genre"}, "'folk=x' is neither a number from 1 nor VALUE=NUMBER,..."),
        ("draw", {"number": "folk=1,folk=2", "by": "genre"}, "duplicate value in 'folk=1,folk=2'"),
        ("draw", {"number": "polka=1", "by": "genre"}, "no piece to draw from has the genre 'polka'"),
        ("draw", {"number": "1", "where": "year > 3"}, "year"),
        ("draw", {"number": "1", "seed": "-1"}, "the seed must be a whole number from 0"),
        ("draw", {"number": "1", "seed": "9" * 19}, "the seed must be a whole number from 0"),
        ("draw", {"number": "1", "seed": "seven"}, "not 'seven'"),
        ("pool", {"lists": "0", "top": "0"}, "the number of candidates must be a whole number from 1 to 1000"),
        ("pool", {"lists": "1", "top": "1"}, "the lists must be a whole number from 0 to 0"),
        ("pool", {"lists": "0", "top": "1", "same": "label"}, "no column 'label'"),
        ("pool", {"lists": "0", "top": "1", "judged_as": "mutation"}, "queries.csv: no column 'mutation'"),
        ("pool", {"lists": "0", "top": "1", "secret": "short"}, "use at least 12 characters"),
        ("assign", {"graders": "1"}, "each pair needs 2 graders, but there are only 1"),
        ("assign", {"graders": "1001"}, "the number of graders must be a whole number from 1 to 1000"),
        ("assign", {"graders": "2", "repeats": "2"}, "the share of repeats must be a number from 0 to 1, not '2'"),
        ("assign", {"graders": "2", "minutes": "nan"}, "the minutes of a judgement must be a number from 0.01"),
        ("open", {"closes": "tomorrow"}, "invalid time 'tomorrow': expected"),
        ("open", {"closes": "2027-02-01 12:00"}, "expected a time with its zone such as"),
        ("open", {"opens": "2027-02-01", "closes": "2027-01-01"}, "before it opens"),
        ("open", {"broad_1": " "}, "each of the three labels needs a text"),
        ("open", {"listen": "-1"}, "the seconds to listen"),
    ],
)
def test_what_cannot_be_is_said_beside_its_form(pooled, step, fields, message):
    before = files_of(pooled)
    others = {"assign": {"per_pair": "2", "repeats": "0", "minutes": "1"}, "open": SETTINGS}.get(step, {})
    answer = pooled.submit(f"{PLAN}/{step}", **{**others, **fields})
    assert message in told(answer)
    assert str(pooled.service.root)[1:] not in answer.text
    assert files_of(pooled) == before


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"x.csv": "piece,genre\na,folk\nb\n"}, "x.csv:3: has 1 columns, but the header has 2"),
        ({"x.csv": "piece\na\nb\na\n"}, "x.csv:4: 'a' occurs twice, first on line 2"),
        ({"x.csv": "artist\na\n"}, "no column with names of pieces"),
        ({"x.csv": b"\x00\xff\xfe"}, "x.csv"),
        ({"x.csv": ""}, "empty table"),
        (
            {"x.xlsx": "piece\na\n"},
            "the table of pieces 'x.xlsx' has an unsupported suffix: choose from .csv, .tsv, .txt",
        ),
        ({"../..": "piece\na\n"}, "has a part '..'"),
        ({"a.csv": "piece\na\n", "b.csv": "piece\nb\n"}, "upload a single table of pieces"),
        ({}, "no file was sent"),
    ],
)
def test_tables_of_pieces_that_are_none(pooled, files, message):
    before = files_of(pooled)
    assert message in told(pooled.upload("upload-pieces", files or {"": ""}))
    assert list(pooled.service.folder_of("submissions").iterdir()) == []
    assert files_of(pooled) == before


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"S1.csv": "query,candidate\nq,a\n", "lists.zip": b"PK"}, "lists.zip: has an unsupported suffix"),
        ({"lists.zip": b"PK\x03\x04"}, "is not a zip file"),
        ({"lists.zip": zipped({"../S1.csv": "x"})}, "has a part '..'"),
        ({"lists.zip": zipped({"S1.npy": "x"})}, "S1.npy: has an unsupported suffix: choose from .csv, .tsv"),
        ({"lists.zip": zipped({"a/b/c.csv": "x", "d/b/c.csv": "x"})}, "does not match SYSTEM.csv or"),
        ({"{track}.csv": "x"}, "does not match SYSTEM.csv or"),
        ({"S1.csv": b"RIFF....WAVE"}, "is audio"),
        ({"S1.csv": b"\x80\x04."}, "is a pickle"),
        ({f"S{number}.exe": "x" for number in range(7)}, "; and 2 other files"),
    ],
)
def test_lists_that_are_not_taken(pooled, files, message):
    before = files_of(pooled)
    assert message in told(pooled.upload("upload-lists", files))
    assert "Uploaded: S0, S1." in pooled.get(PLAN).text
    assert list(pooled.service.folder_of("submissions").iterdir()) == []
    assert files_of(pooled) == before


def test_lists_with_a_wrong_line_name_it(service, at_once):
    organiser = Organiser(service).pooled()
    query = table((service.folder / "grading" / "ams" / "queries.csv").read_text())[0]["query"]
    organiser.upload("upload-lists", {"S1.csv": f"query,candidate\n{query},p01\n{query},p01\n"})
    answer = organiser.submit(f"{PLAN}/pool", lists="sent", top="1")
    assert told(answer).startswith("lists/S1.csv:3")
    assert "occurs twice" in answer.text


def test_names_in_lists_that_a_spreadsheet_would_compute_are_refused(service, at_once):
    organiser = Organiser(service).pooled()
    query = table((service.folder / "grading" / "ams" / "queries.csv").read_text())[0]["query"]
    for name in ('"=HYPERLINK(""//x"")"', "+1", "-p01", "@p01"):
        organiser.upload("upload-lists", {"S1.csv": f"query,candidate\n{query},p01\n{query},{name}\n"})
        answer = organiser.submit(f"{PLAN}/pool", lists="sent", top="2")
        assert told(answer).startswith("lists/S1.csv:3")
        assert "as formulas; rename it" in answer.text


def test_a_body_that_is_no_form_says_nothing(pooled):
    before = files_of(pooled)
    headers = {"X-CSRF-Token": pooled.csrf()}
    for step in ("pieces", "draw", "pool", "assign", "open"):
        assert told(pooled.post(f"{PLAN}/{step}", json={"number": 1, "same": ["artist"]}, headers=headers))
    assert pooled.post("/grading/new", json={}, headers=headers).status_code == 400
    assert files_of(pooled) == before


def test_what_was_ticked_stays_ticked_beside_an_error(pooled):
    answer = pooled.submit(f"{PLAN}/pool", lists="0", top="0", same="genre")
    assert re.findall(r'name="same" value="(\w+)" checked', answer.text) == ["genre"]
    assert re.findall(r'name="same" value="(\w+)" checked', pooled.get(PLAN).text) == ["artist"]


def test_names_of_lists():
    assert list_patterns(["oak/a.b.txt", "elm/q.csv"], []) == ["{system}/{track}.csv", "{system}/{track}.txt"]
    assert list_patterns(["run/q1.txt"], ["q1"]) == ["{system}/{track}.txt"]
    assert list_patterns([], ["q1"]) == []


@pytest.mark.parametrize("name", ["", "a b", "../x", "new", "New", "similar/x", "AMS", "ä", "x" * 65])
def test_names_that_a_round_cannot_have(pooled, name):
    assert told(pooled.submit("/grading/new", name=name)).startswith("the name")


def test_the_name_of_an_earlier_round_is_taken(service, path):
    path.write_text(CAMPAIGN + "grading:\n  - {name: old, queries: q.csv, candidates: p.csv, audio: '{piece}'}\n")
    (path.parent / "q.csv").write_text("query\nq\n")
    (path.parent / "p.csv").write_text("query,candidate\nq,c\n")
    (path.parent / "p.key.csv").write_text("query,candidate,piece,system,rank\nq,c,x,S,1\n")
    assert set(open_rounds(open_service([path]))) == {"old"}
    path.write_text(CAMPAIGN)
    organiser = Organiser(open_service([path]))
    assert "earlier round" in told(organiser.submit("/grading/new", name="old"))


def test_graders_see_nothing_of_a_plan(service, at_once):
    organiser = Organiser(service).pooled()
    key = table((service.folder / "grading" / "ams" / "pool.key.csv").read_text())
    for files in ("queries.csv", "pool.csv", "pool.key.csv"):
        assert organiser.get(f"{PLAN}/files/{files}").status_code == 200
    organiser.step("open", **SETTINGS)
    for name, role in (("gil", "grader"), ("sam", "submitter"), ("rita", "reader")):
        browser = Browser(service, name, role)
        for address in ("/grading/new", PLAN, f"{PLAN}/files/pool.key.csv", "/grading/ams/close"):
            assert browser.get(address).status_code == 403
        assert browser.submit(f"{PLAN}/discard").status_code == 403
    grader = Browser(service, "gil", "grader")
    assert "Plan a round" not in grader.get("/grading/").text
    agree(grader)
    text = grader.get("/grading/ams/").text
    assert "data-assignment" in text
    assert not any(row[name] in text for row in key for name in ("piece", "candidate", "query"))


def test_ids_cannot_be_made_again_without_the_key(service, at_once):
    organiser = Organiser(service).pooled()
    made = service.folder / "grading" / "ams"
    first = (made / "pool.csv").read_text()
    [secret] = re.findall(r"# seed: (\w+)", (made / "pool.key.csv").read_text())
    assert len(secret) == 32
    assert (made / "pool.key.csv").stat().st_mode & 0o077 == 0
    assert secret not in organiser.get(PLAN).text + first
    organiser.step("pool", lists="0", top="3", same="artist")
    assert (made / "pool.csv").read_text() != first


def test_only_tables_of_the_plan_are_downloaded(service):
    organiser = Organiser(service).begin()
    for name in ("queries.csv", "round.json", "..%2F..%2Fcampaign.db", "secret.key"):
        assert organiser.get(f"{PLAN}/files/{name}").status_code == 404


@pytest.mark.parametrize("name", ["a" * 5000, "a" * 256, "A_PLAN", "%2e%2e", "..%2Fx", "a%00"])
def test_names_of_no_plan(service, name):
    assert Organiser(service).get(f"/grading/{name}/plan").status_code == 404


def test_an_open_round_stays_as_it_is(service, path, at_once):
    organiser = Organiser(service).pooled()
    before = Browser(service, "gil", "grader")
    assert before.get("/grading/ams/").status_code == 404
    organiser.step("open", **SETTINGS)
    assert "Which are alike?" in before.get("/grading/").text  # without a restart
    assert before.get("/grading/ams/").status_code == 200
    for step, fields in (("draw", {"number": "1"}), ("pieces", {"table": "0"}), ("discard", {}), ("open", SETTINGS)):
        assert "the round is open" in told(organiser.submit(f"{PLAN}/{step}", **fields))
    assert "the round is open" in told(organiser.upload("upload-lists", lists()))
    assert "Open the round</button>" not in organiser.get(PLAN).text
    again = open_service([path])
    assert open_rounds(again)["ams"].config.broad == ["no", "so so", "yes"]
    path.write_text(CAMPAIGN + "grading:\n  - {name: ams, queries: q.csv, candidates: p.csv, audio: '{piece}'}\n")
    with pytest.raises(GradingError, match="'ams' is also the name of a round planned on the pages"):
        planned_rounds(open_service([path]))


def test_a_round_that_cannot_be_loaded_is_not_open(service, at_once):
    organiser = Organiser(service).pooled()
    (service.folder / "grading" / "ams" / "queries.csv").write_text("query\nother\n")
    answer = organiser.submit(f"{PLAN}/open", **SETTINGS)
    assert "is not in" in told(answer)
    assert planned_rounds(service) == []


def test_a_plan_is_discarded(service):
    organiser = Organiser(service).begin()
    assert '/grading/ams/plan">ams' in organiser.get("/grading/").text
    assert organiser.submit(f"{PLAN}/discard").headers["location"] == "/grading/"
    assert organiser.get(PLAN).status_code == 404
    organiser.begin()


def test_a_plan_is_discarded_though_the_disk_is_full(service, monkeypatch):
    def full(*args: Any, **options: Any) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    plan = begin_plan(service, "ams")
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    discard_plan(plan)
    assert not plan.folder.exists()


def test_forged_uploads_change_nothing(service):
    organiser = Organiser(service).begin()
    for name in ("upload-pieces", "upload-lists"):
        assert organiser.upload(name, {"a.csv": "piece\na\n"}, csrf="0").status_code == 403
        large = {"a.csv": b"piece\n" + b"a" * 120_000_000}
        assert organiser.upload(name, large).status_code == 413
    assert list(service.folder_of("submissions").iterdir()) == []
    assert list((service.folder / "grading" / "ams").iterdir()) == []


def test_texts_of_organisers_are_no_markup(service, at_once):
    organiser = Organiser(service).begin()
    organiser.upload("upload-pieces", {"<b>.csv": "piece,<i>x\n<u>a,y\n"})
    organiser.step("draw", number="1")
    text = organiser.get(PLAN).text
    assert not re.search(r"<b>|<i>|<u>", text)
    assert "&lt;u&gt;a" in text


def test_nothing_is_planned_where_the_campaign_does_not_say_with_what(tmp_path):
    (tmp_path / "campaign.yaml").write_text("campaign: C\nstores: []\nplanning: audio/x.wav\n")
    with pytest.raises(MirflowError, match=r"expected \{piece\} in place of the name of a piece"):
        open_service([tmp_path / "campaign.yaml"])


def test_backups_hold_plans_and_closed_rounds(service, tmp_path, at_once):
    organiser = Organiser(service).pooled()
    organiser.step("open", **SETTINGS)
    judge_all(service)
    organiser.submit("/grading/ams/close", what="close", sure="yes")
    make_backup(service, tmp_path / "backup.tar.gz")
    other = tmp_path / "elsewhere"
    other.mkdir()
    path = write_campaign(other)
    restore_backup(tmp_path / "backup.tar.gz", other / "state")
    restored = Organiser(open_service([path]))
    assert files_of(restored) == files_of(organiser)
    assert restored.get("/grading/ams/closed.zip").status_code == 200
    assert "is closed" in Browser(restored.service, "gil", "grader").get("/grading/ams/").text


class TestClosing:
    def opened(self, service: Service) -> Organiser:
        organiser = Organiser(service).pooled()
        organiser.step("open", **SETTINGS)
        return organiser

    def test_needs_a_word_and_judgements(self, service, at_once):
        organiser = self.opened(service)
        close = "/grading/ams/close"
        assert "confirm that grading ends" in told(organiser.submit(close, what="close"))
        assert "no judgements are left" in told(organiser.submit(close, what="close", sure="yes"))
        assert "no judgements are left" in told(organiser.submit(close, what="interim"))
        assert organiser.submit(close, what="close", sure="yes", known="perhaps").status_code == 400
        assert organiser.get("/grading/ams/closed.zip").status_code == 404
        assert "Close the round</button>" in organiser.get(close).text

    def test_the_tables_of_now_leave_a_round_open(self, service, at_once):
        organiser = self.opened(service)
        judge_all(service)
        answer = organiser.submit("/grading/ams/close", what="interim", unjudged="zero")
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            assert "unjudged=zero" in archive.read("ams/similarity.yaml").decode()
        assert "Close the round</button>" in organiser.get("/grading/ams/close").text
        assert Browser(service, "gil", "grader").get("/grading/ams/").status_code == 200

    @pytest.mark.parametrize(("unjudged", "warned"), [("refuse", True), ("zero", False)])
    def test_says_which_lists_are_not_scored(self, service, at_once, unjudged, warned):
        organiser = self.opened(service)
        grader = Browser(service, "gil", "grader")
        agree(grader)
        text = grader.get("/grading/ams/").text
        one, number = re.findall(r'data-assignment="(\d+)"', text)[0], re.findall(r'data-page="(\d+)"', text)[0]
        judged = {f"broad-{one}": "SS", f"fine-{one}": "5.5"}
        assert grader.submit("/grading/ams/judgements", page=number, plain="1", **judged).status_code == 303
        organiser.submit("/grading/ams/close", what="close", sure="yes", unjudged=unjudged)
        text = organiser.get("/grading/ams/close").text
        assert "<dt>judgements</dt><dd>1</dd>" in text
        assert ("pairs have no judgements" in text) == warned

    def test_is_done_once_and_stays(self, service, path, at_once):
        organiser = self.opened(service)
        judge_all(service)
        assert organiser.submit("/grading/ams/close", what="close", sure="yes").status_code == 303
        text = organiser.get("/grading/ams/close").text
        assert "Download the tables</a>" in text
        assert "Close the round</button>" not in text
        assert "closed already" in told(organiser.submit("/grading/ams/close", what="close", sure="yes"))
        assert "is closed" in Browser(service, "gil", "grader").get("/grading/ams/").text
        assert Organiser(open_service([path])).get("/grading/ams/closed.zip").status_code == 200

    def test_by_the_command(self, service, path, tmp_path, at_once):
        organiser = self.opened(service)
        judge_all(service)
        invoke("grading", "close", path, "ams", "-o", tmp_path / "out", code=0)
        text = organiser.get("/grading/ams/close").text
        assert "The round was closed from the command line" in text


def test_of_two_who_begin_a_plan_at_the_same_moment_one_is_told(service, monkeypatch):
    begin_plan(service, "ams")
    monkeypatch.setattr(planning, "find_plans", lambda _: [])  # as it was when the second looked
    with pytest.raises(PlanError, match="the name 'ams' is taken"):
        begin_plan(service, "ams")


def test_steps_of_a_plan_that_was_discarded_meanwhile_are_refused(service):
    plan = begin_plan(service, "ams")
    discard_plan(plan)
    with pytest.raises(PlanError, match="was discarded meanwhile"):
        discard_plan(plan)
    with pytest.raises(PlanError, match="was discarded meanwhile"):
        assign_graders(plan, 2, 1, 0.0, 1.0)
