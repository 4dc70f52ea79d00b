"""A small campaign of chords with an open and a hidden split, and what people send to it."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from sqlalchemy import select

from mirflow.campaign.server.accounts import Role, Viewer, team_of
from mirflow.campaign.server.service import Service, open_service
from mirflow.campaign.server.submissions.confinement import Confinement
from mirflow.campaign.server.submissions.entries import enter, results_of
from mirflow.campaign.server.submissions.submission_tables import Released, Submission
from mirflow.campaign.server.submissions.uploads import Upload, receive
from mirflow.campaign.server.submissions.worker import Worker

from .accounts import BASE, Clock, find_or_add
from .databases import with_database

TRACKS = 6
SECRET = "Eb:sus4(b9)"  # a label that the references of the hidden split alone have
CAMPAIGN = """\
campaign: Chords
rules: "2027-01"
evaluations:
  - task: chord
    reference: reference/{track}.lab
    estimates: "{track}.lab"
    metrics: [majmin, root]
    tracks: tracks.csv
splits:
  dev: dev
  test: {root: test, hidden: true, quota: 3, ladder: 0.005}
visibility: public
execution: {scheduler: serial}
"""


# A campaign whose accounts, pages and limits are tested, and no submission.
BARE = """\
campaign: Chords
evaluations:
  - task: chord
    reference: reference/{track}.jams
    estimates: "{track}.lab"
splits:
  dev: dev
"""


def write_bare_campaign(folder: Path, text: str = BARE) -> Path:
    """Write a campaign file without references."""
    path = folder / "campaign.yaml"
    path.write_text(text)
    return path


def write_campaign(folder: Path, text: str = CAMPAIGN, tracks: int = TRACKS) -> Path:
    """Write a campaign with the references of both splits."""
    for split in ("dev", "test"):
        (folder / split / "reference").mkdir(parents=True)
        last = SECRET if split == "test" else "A:min"
        names = [f"{split}{number}" for number in range(tracks)]
        for name in names:
            (folder / split / "reference" / f"{name}.lab").write_text(f"0 10 C\n10 20 G:7\n20 30 {last}\n")
        (folder / split / "tracks.csv").write_text("track,title\n" + "".join(f"{one},{one} Blues\n" for one in names))
    path = folder / "campaign.yaml"
    path.write_text(with_database(text))
    return path


def open_campaign(folder: Path, text: str = CAMPAIGN, tracks: int = TRACKS) -> Service:
    """The service of a new campaign, with a clock that tests move."""
    service = open_service([write_campaign(folder, text, tracks)], BASE)
    service.clock = Clock()
    return service


def estimates(wrong: int = 0, splits: Sequence[str] = ("dev", "test"), tracks: int = TRACKS) -> dict[str, str]:
    """Files that are right but for the second chord of the first tracks, and the third of all."""
    return {
        f"{split}{number}.lab": f"0 10 C\n10 20 {'G' if number < wrong else 'G:7'}:min\n20 30 A:min\n".replace(
            "G:7:min", "G:7"
        )
        for split in splits
        for number in range(tracks)
    }


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """A zip file."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


async def pieces(data: bytes, size: int = 1000) -> AsyncIterator[bytes]:
    """Bytes as a server gets them."""
    for start in range(0, len(data), size):
        yield data[start : start + size]


def send(service: Service, data: bytes, filename: str = "estimates.zip") -> Upload:
    """Receive the bytes of one file."""
    receiving = receive(
        pieces(data), "application/zip", service.folder_of("submissions"), service.campaign.limits, filename=filename
    )
    return asyncio.run(receiving)


def member(service: Service, name: str = "ada", role: Role = "submitter", lab: str = "") -> Viewer:
    """An account as it sees pages; it is added with the role and the lab if it is not there."""
    with service.database.write() as session:
        user = find_or_add(service, session, name, role, lab)
        return Viewer(user.id, name, role, 0, team_of(user))


def submit(
    service: Service,
    name: str,
    files: Mapping[str, str | bytes] | bytes,
    *,
    who: str = "ada",
    splits: Sequence[str] = (),
    visibility: str = "",
    filename: str = "estimates.zip",
) -> str:
    """Send files and enter them; returns the id."""
    viewer = member(service, who)
    upload = send(service, files if isinstance(files, bytes) else zipped(files), filename)
    with service.database.write() as session:
        entered = enter(
            session,
            service.campaign,
            id=upload.id,
            user=viewer.user,
            name=name,
            splits=splits,
            visibility=visibility,
            size=upload.size,
            sent_digest=upload.digest,
            now=service.clock(),
        )
        return entered.id


def state(service: Service, id: str) -> Submission:
    """A submission as its table has it now."""
    with service.database.read() as session:
        return session.scalars(select(Submission).where(Submission.id == id)).one()


def scores(service: Service, id: str, split: str) -> dict[str, Released]:
    """The released scores of a submission on a split of the one evaluation, by metric."""
    with service.database.read() as session:
        found = results_of(session, service.campaign, state(service, id))
        return {row.metric: row for one in found if one.split == split for row in one.scores}


def worker_of(service: Service, confinement: Confinement, name: str = "") -> Worker:
    """A worker that shares a confinement with others."""
    worker = Worker(service, name)
    worker.jobs.confinement = confinement
    return worker


def work_off(worker: Worker) -> int:
    """Do all pending work; returns the number of steps."""
    worker.prepare()
    steps = 0
    while worker.step():
        steps += 1
    return steps
