"""Jobs on lists of systems, in a child process with limits: unpacking and pooling."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ....errors import GradingError, clean_text
from ...file import Limits
from ...grading.pool import pool, read_rankings, write_pool
from ...grading.query_draw import read_pieces, read_queries
from ..submissions.archives import ArchiveError, unpack
from ..submissions.confinement import SendMessage


def lists_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """Unpack lists of systems. `task`: ``sent`` (names and paths), ``out`` (an empty folder), ``limits`` and allowed
    ``suffixes``. Returns: ``files`` (their number) and ``refused`` (rows of names and reasons).
    """
    sent = [(name, Path(path)) for name, path in task["sent"]]

    def fits(name: str) -> str:
        path = PurePosixPath(name)
        if path.suffix.lower() not in task["suffixes"]:
            return f"has an unsupported suffix: choose from {', '.join(task['suffixes'])}"
        if len(path.parts) > 2 or "{" in name or "}" in name:
            return "does not match SYSTEM.csv or SYSTEM/QUERY.txt"
        return ""

    try:
        unpacked = unpack(sent, Path(task["out"]), Limits.model_validate(task["limits"]), fits)
    except ArchiveError as error:
        name = clean_text(sent[0][0]) if len(sent) == 1 else "the upload"
        raise GradingError(f"{name} {error.message}") from None
    refused = [[clean_text(path), clean_text(why)] for path, why in unpacked.refused]
    return {"files": len(unpacked.files), "refused": refused}


def pool_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """Pool lists of systems. `task`: ``lists`` (patterns), ``trusted`` (whether they are the organiser's), ``queries``,
    ``pieces`` and its ``column`` (or None), ``top``, ``same``, ``judged_as`` (a column of the queries, or None),
    ``secret``, and ``out`` (path of the table).
    """
    queries = read_queries(task["queries"])
    pieces = read_pieces(task["pieces"], task["column"]) if task["pieces"] else None
    names = () if pieces is None else pieces.names
    rankings = read_rankings(task["lists"], queries, names, trusted=task["trusted"])
    heard = read_pieces(task["queries"], "query").values(task["judged_as"]) if task["judged_as"] else {}
    pooled = pool(rankings, queries, task["top"], task["secret"], pieces=pieces, same=task["same"], judged_as=heard)
    write_pool(pooled, task["out"])
    return {"pairs": len(pooled.pairs)}
