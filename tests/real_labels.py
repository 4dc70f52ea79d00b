"""The distinct chord labels of the real data."""

from __future__ import annotations

import json
from pathlib import Path


def distinct_chords(shared_data: Path) -> list[str]:
    """Every chord label of MIREX 2013's references and estimates, of CASD and of mir_eval's fixtures, sorted."""
    found: set[str] = set()
    for folder in (shared_data / "mirex2013-ace", shared_data / "mir_eval-fixtures" / "chord"):
        for path in folder.rglob("*.lab"):
            lines = (line.split(maxsplit=2) for line in path.read_text(encoding="utf-8").splitlines())
            found.update(fields[2].strip() for fields in lines if len(fields) == 3 and not fields[0].startswith("#"))
    for path in (shared_data / "casd").rglob("*.jams"):
        annotations = json.loads(path.read_text(encoding="utf-8"))["annotations"]
        found.update(item["value"] for a in annotations if a["namespace"].startswith("chord") for item in a["data"])
    return sorted(found)
