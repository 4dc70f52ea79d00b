"""The audit log keeps who did what, in whole lines."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mirflow.campaign.server.accounts import AuditError, AuditLog


def test_lines_are_added_whole_by_many(tmp_path: Path) -> None:
    logs = [AuditLog(tmp_path / "audit.jsonl") for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: logs[number % 4].record("ada", "submit", number=number), range(100)))
    assert sorted(int(line["number"]) for line in logs[0].read()) == list(range(100))
    assert (tmp_path / "audit.jsonl").stat().st_mode & 0o777 == 0o600


def test_names_cannot_forge_lines(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    log.record("ada", "submit", system='x"}\n{"actor": "eve"}', note="n" * 1000)
    (line,) = log.read()
    assert line["actor"] == "ada"
    assert len(str(line["note"])) == 300
    assert len((tmp_path / "audit.jsonl").read_text().splitlines()) == 1


def test_a_line_that_a_crash_has_cut_does_not_spoil_the_next(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    (tmp_path / "audit.jsonl").write_text('{"actor": "ada"}\n{"act')
    log.record("bob", "submit")
    assert [line["actor"] for line in log.read()] == ["ada", "bob"]


def test_what_cannot_be_kept_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").mkdir()
    with pytest.raises(AuditError, match=r"audit\.jsonl: cannot be written: Is a directory"):
        AuditLog(tmp_path / "audit.jsonl").record("ada", "submit")
