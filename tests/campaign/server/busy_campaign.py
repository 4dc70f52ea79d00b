"""A campaign in which everything has happened: submissions in all states, rounds of grading, a store beside it."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sqlalchemy import select

from mirflow.campaign.server.service import Service, open_service
from mirflow.campaign.server.submissions.confinement import Confinement
from mirflow.campaign.server.submissions.entries import withdraw
from mirflow.campaign.server.submissions.submission_tables import Submission, SubmissionProgress, Trouble
from mirflow.campaign.server.submissions.worker import Worker

from ...groups import random_group, write_store
from .accounts import Browser, Clock
from .campaigns import CAMPAIGN, SECRET, member, submit, work_off, write_campaign
from .rounds import make_campaign, tone

TRACKS = 12
LABELS = ("C", "F", "G:7", "A:min", "D:min", "E:min7", "Bb")
TITLES = ("The Star of the County Down", "Si Bheag, Si Mhor, played slowly on the harp")
SECOND_ROUND = """\
  - name: last_year
    title: Similar pieces, last year
    queries: grading/queries.csv
    candidates: grading/pool.csv
    audio: "grading/audio/{piece}.wav"
"""
MORE = """\
audio: {pattern: "dev/audio/{track}.wav", who: public}
stores: [older/2013.zarr]
planning: {audio: "grading/audio/{piece}.wav", pieces: [grading/pieces.csv], lists: ["grading/lists/{system}.csv"]}
"""
SENDER, RIVAL = "sam", "Lab of the Lower Valley"
# Shares of labels that systems have wrong.
WRONG = {"oak": 0.35, "elm": 0.2, "ash": 0.22, "fir": 0.5, "a-system-with-a-very-long-name.of.version_2.1": 0.21}


def draw_labels(track: str, last: str = "A:min") -> list[str]:
    """The chords of a track."""
    chance = random.Random(track)
    return [*(chance.choice(LABELS) for _ in range(11)), last]


def write_labels(labels: Sequence[str]) -> str:
    """Chords of five seconds each, as a file."""
    return "".join(f"{5 * at} {5 * at + 5} {label}\n" for at, label in enumerate(labels))


def estimates(system: str, splits: Sequence[str] = ("dev", "test")) -> dict[str, str]:
    """What a system sends."""
    files = {}
    for track in (f"{split}{number}" for split in splits for number in range(TRACKS)):
        chance = random.Random(f"{system} {track}")
        wrong = WRONG.get(system.removesuffix("-2"), 0.3) * chance.uniform(0.3, 1.7)
        labels = ["N" if chance.random() < wrong else label for label in draw_labels(track)]
        files[f"{track}.lab"] = write_labels(labels)
    return files


def make_busy(folder: Path) -> Service:
    """Write the campaign, let people send, judge and withdraw, and open it again."""
    text = CAMPAIGN.partition("\n")[2].replace("dev: dev", "dev: {root: dev}")
    write_campaign(folder, tracks=TRACKS)
    for split in ("dev", "test"):
        rows = ["track,title\n"]
        for number in range(TRACKS):
            name = f"{split}{number}"
            labels = draw_labels(name, SECRET if split == "test" else "A:min")
            (folder / split / "reference" / f"{name}.lab").write_text(write_labels(labels))
            rows.append(f'{name},"{TITLES[number % 2]}"\n')
        (folder / split / "tracks.csv").write_text("".join(rows))
    for number in (0, 1):
        tone(folder / f"dev/audio/dev{number}.wav", 220)
    older = random_group(6, 30, 4, systems=["KO1", "CB4", "PP4", "NG1", "SB8", "CF2"])
    older = older.assign_coords(year=("system", np.array([2011, 2012, 2012, 2013, 2013, 2013])))
    (folder / "older").mkdir()
    write_store(folder / "older/2013.zarr", {"chord": older})
    make_campaign(folder, repeats=0.2, training=True, more="", listen=2)
    path = folder / "campaign.yaml"
    path.write_text(path.read_text() + SECOND_ROUND + text + MORE)
    service = open_service([path], "http://127.0.0.1:8830")
    service.clock = Clock()
    send_all(service)
    judge(service)
    plan_rounds(service, folder)
    return service


def send_all(service: Service) -> None:
    """Submissions of two people in all states."""
    assert isinstance(service.clock, Clock)
    both, dev = ("dev", "test"), ("dev",)

    def send(name: str, who: str, visibility: str = "public", splits: Sequence[str] = dev) -> None:
        service.clock.advance(hours=7)
        submit(service, name, estimates(name, splits), who=who, visibility=visibility, splits=list(splits))

    member(service, RIVAL, lab="Valley")
    send("oak", SENDER, splits=both)
    send("elm", RIVAL, splits=both)
    send("ash", RIVAL, "lab", both)
    send("fir", SENDER)
    send("oak-2", SENDER, "private")
    send("a-system-with-a-very-long-name.of.version_2.1", RIVAL)
    bad = {**estimates("yew"), "dev3.lab": "0 10 C\n10 20 H:moll\n", "dev4.lab": "0 10 <b>C</b>\n10 5 G\n"}
    submit(service, "yew", bad, who=SENDER)
    with Confinement(["chord"]) as confinement:
        worker = Worker(service)
        worker.jobs.confinement = confinement
        work_off(worker)
        sender = member(service, SENDER)
        with service.database.write() as session:
            withdraw(session.scalars(select(Submission).where(Submission.name == "fir")).one(), sender, service.clock())
        work_off(worker)
    for name in ("box", "bay", "fig", "sloe"):
        send(name, SENDER)
    with service.database.write() as session:
        rows = {one.name: one for one in session.scalars(select(Submission))}
        rows["bay"].state, rows["fig"].state, rows["sloe"].state = "scoring", "checking", "failed"
        rows["sloe"].reason = "It could not be scored on dev: it took more than 120 s. Ask the organisers."
        now = service.clock()
        progress = {"stage": "dev: scoring", "done": 5, "total": 24, "updated": now}
        session.add(SubmissionProgress(submission_id=rows["bay"].number, **progress))
        session.add(Trouble(id=1, message="No space left on device", since=now))


class Grader(Browser):
    """Somebody who agreed to judge, and judges by the form that works without scripts."""

    def agree(self, at: str) -> None:
        """Agree to the text of a round."""
        version = re.search(r'name="version" value="(\w+)"', self.get(at).text)
        assert version is not None
        assert self.submit(f"{at}consent", version=version[1]).status_code == 303


def judge(service: Service) -> None:
    """Two graders judge some pages, and the round of last year is closed."""
    chance = random.Random(3)
    for name, pages in (("gil", 3), ("gwen", 9)):
        grader = Grader(service, name, "grader")
        for at in ("/grading/similarity/", "/grading/last_year/"):
            grader.agree(at)
            for _ in range(pages):
                text = grader.get(at).text
                page = re.search(r'data-page="(\d+)"', text)
                if page is None:
                    break
                fields: dict[str, object] = {"plain": "yes", "go": "next", "page": page[1]}
                token = grader.csrf(at) if 'name="csrf"' in text else ""
                for one in re.findall(r'data-assignment="(\d+)"', text):
                    broad = chance.choice(("NS", "SS", "VS"))
                    fine = {"NS": 1.5, "SS": 5.0, "VS": 8.4}[broad] + chance.randrange(-14, 15) / 10
                    fields |= {f"broad-{one}": broad, f"fine-{one}": f"{fine:.1f}"}
                answer = grader.post(f"{at}judgements", data={"csrf": token, **fields})
                assert answer.status_code == 303, answer.text
    member(service, "gus", "grader")


def plan_rounds(service: Service, folder: Path) -> None:
    """An organiser closes the round of last year, begins a plan, has another one ready, and has opened a third."""
    pieces = [f"q{query}{piece}" for query in range(1, 5) for piece in ("", "p0", "p1", "p2", "p3")]
    rows = [f"{piece},{('folk', 'rock')[place % 2]},artist {place // 3}\n" for place, piece in enumerate(pieces)]
    (folder / "grading/pieces.csv").write_text("piece,genre,artist\n" + "".join(rows))
    (folder / "grading/lists").mkdir()
    for number, system in enumerate(("KO1", "a-system-with-a-very-long-name.of.version_2")):
        lists = (f"{query},{one}\n" for query in pieces for one in pieces[number:])
        (folder / f"grading/lists/{system}.csv").write_text("query,candidate\n" + "".join(lists))
    organiser = Browser(service, "ada", "organiser")

    def send(address: str, **fields: str) -> None:
        assert organiser.submit(f"/grading/{address}", **fields).status_code == 303, address

    send("last_year/close", what="close", sure="yes", unjudged="skip")
    for name in ("begun", "ready", "opened"):
        send("new", name=name)
        if name != "begun":
            send(f"{name}/plan/pieces", table="0")
            send(f"{name}/plan/draw", number="3", by="genre", seed="3")
            send(f"{name}/plan/pool", lists="0", top="4", same="artist")
            send(f"{name}/plan/assign", graders="5", per_pair="2", repeats="0.1", minutes="1")
    words = {"broad_0": "no", "broad_1": "so so", "broad_2": "yes"}
    send("opened/plan/open", title="Opened on a page", per_pair="2", repeats="0", listen="5", **words)
