"""Names that other people chose, as messages print them: they command no terminal, and hide nothing."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from mirflow.errors import visible
from tests.commands import invoke
from tests.datasets import write_dataset

TITLE, RED, C1, BIDI = "\x1b]0;evil\x07", "\x1b[31m", "\x9b31m", "\u202e"
ODD = f"{TITLE}{RED}{C1}{BIDI}"


@pytest.mark.parametrize("sign", [TITLE, RED, C1, BIDI, "\x7f", "\r", "\u2028", "\u2066", "\udc80", "\U000e0041"])
def test_what_commands_a_terminal_is_written_as_escapes(sign: str) -> None:
    shown = visible(f"a{sign}b\n\tü中 é\u00a0")
    assert sign[0] not in shown
    assert shown.startswith("a\\")
    assert shown.endswith("b\n\tü中 é\u00a0")


def clean(text: str) -> bool:
    return not any(sign in text for sign in ("\x1b", "\x07", "\x9b", "\u202e"))


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A pipeline with estimates whose names are odd."""
    path = write_dataset(tmp_path, tracks=1, systems=("ada",))
    (tmp_path / "est" / "ada" / f"t{ODD}.lab").write_text("0 1 H:maj\n")
    return path


class TestMessages:
    def test_of_files_and_stores_and_keys(self, odd, tmp_path):
        (tmp_path / "b.yaml").write_text(f'"a{ODD.encode("unicode_escape").decode()}": 1\nstore: x\n')
        for words in (
            ["run", odd],
            ["check", tmp_path / "est"],
            ["init", tmp_path, "-o", tmp_path / "drafted.yaml"],
            ["run", tmp_path / "b.yaml"],
            ["query", tmp_path / f"no{ODD}.zarr"],
            ["evaluate", tmp_path / "ref", tmp_path / "est" / "ada", "--task", "chord"],
            ["query", f"--no{ODD}"],
        ):
            assert clean(invoke(*words).stderr), words

    def test_what_a_terminal_shows_is_clean_too(self, odd, tmp_path):
        """Also what is printed to the standard output, where errors are red."""
        main, other = pty.openpty()
        words = [sys.executable, "-m", "mirflow", "check", tmp_path / "est"]
        subprocess.run(words, stdout=other, stderr=other, env={**os.environ, "TERM": "dumb"}, timeout=120, check=False)
        os.close(other)
        seen = b""
        while True:
            try:
                data = os.read(main, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data
        os.close(main)
        shown = seen.decode().replace("\r\n", "")
        assert "\\x1b]0;evil" in shown
        assert "\x1b[31merror\x1b[0m" in shown
        assert clean(shown.replace("\x1b[31merror\x1b[0m", ""))


def test_a_label_of_a_hundred_kilobytes_is_cut_by_check(tmp_path):
    (tmp_path / "a.lab").write_text(f"0 1 {'H' * 100_000}\n")
    result = invoke("check", tmp_path / "a.lab", "--task", "chord")
    assert "HHH..." in result.stdout
    assert len(result.output) < 2_000
