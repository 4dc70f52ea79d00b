"""A campaign with a round of grading on recordings that are made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile

from mirflow.campaign.grading.pool import pool, write_pool
from mirflow.campaign.grading.query_draw import write_table
from mirflow.campaign.server.service import Service, open_service

from .databases import with_database

RATE = 8000
QUERIES = ("q1", "q2", "q3", "q4")
CAMPAIGN = """\
campaign: Similar pieces
grading:
  - name: similarity
    queries: grading/queries.csv
    candidates: grading/pool.csv
    audio: "grading/audio/{{piece}}.wav"
    repeats: {repeats}
    listen: {listen}
    graders_per_pair: {graders_per_pair}
    help: Similar means that you would put both on one tape.
{more}"""
TRAINING = "query,candidate,broad,fine\nq4,q1,VS,9\nq4,q2,NS,1\n"


def tone(path: Path, frequency: float, seconds: float = 8.0, level: float = 0.5) -> None:
    """Write a recording of a tone."""
    time = np.arange(int(seconds * RATE)) / RATE
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, level * np.sin(2 * np.pi * frequency * time), RATE)


def rankings(systems: int = 2, each: int = 3) -> dict[str, dict[str, list[str]]]:
    """Lists of systems: no piece twice for a query, and some that two systems return."""
    return {
        f"S{system}": {query: [f"{query}p{system + rank}" for rank in range(each)] for query in QUERIES}
        for system in range(systems)
    }


def make_campaign(
    folder: Path,
    *,
    systems: int = 2,
    each: int = 3,
    repeats: float = 0.0,
    listen: float = 5,
    graders_per_pair: int = 1,
    training: bool = False,
    audio: bool = True,
    more: str = "",
) -> Path:
    """Write a campaign file with its tables and recordings, and return its path."""
    grading = folder / "grading"
    made = pool(rankings(systems, each), QUERIES, each, "secret")
    write_table(grading / "queries.csv", ("query",), [(query,) for query in QUERIES])
    write_pool(made, grading / "pool.csv")
    if training:
        (grading / "training.csv").write_text(TRAINING)
        more += "    training: grading/training.csv\n"
    pieces = sorted({*QUERIES, *(one.piece for one in made.returned)})
    for number, piece in enumerate(pieces if audio else ()):
        tone(grading / "audio" / f"{piece}.wav", 220 * 2 ** (number / 12), level=(0.9, 0.1)[number % 2])
    path = folder / "campaign.yaml"
    text = CAMPAIGN.format(repeats=repeats, listen=listen, graders_per_pair=graders_per_pair, more=more)
    path.write_text(with_database(text))
    return path


def make_service(folder: Path, **options: object) -> Service:
    """The service of such a campaign."""
    return open_service([make_campaign(folder, **options)])
