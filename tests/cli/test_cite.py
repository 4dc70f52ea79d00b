"""What to cite: the software, and the literature of the metrics and conventions of stores."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

from ..commands import printed


def test_of_a_store_as_text_and_as_bibtex(demo_store: Path, tmp_path: Path) -> None:
    text = printed("cite", demo_store)
    assert text.splitlines()[0].endswith(f"version {version('mirflow')}")
    assert "Raffel et al., mir_eval: A Transparent Implementation" in text
    assert re.search(r"^  chord: convention mir_eval, thirds, ", text, re.MULTILINE)
    assert re.search(r"MusOOEvaluator.*\n  chord_mirex2013: convention mirex2013", text)
    entries = printed("cite", demo_store, "--format", "bibtex")
    keys = re.findall(r"^@\w+\{(\w+),$", entries, re.MULTILINE)
    assert len(keys) == sum(not line.startswith(" ") for line in text.splitlines())
    assert {"mirflow", "raffel2014", "musoo2013", "harte2010"} <= set(keys)
    assert printed("cite", demo_store, "--format", "bibtex", "-o", tmp_path / "a.bib") == ""
    assert (tmp_path / "a.bib").read_text() == entries


def test_without_a_store_it_is_the_software() -> None:
    assert printed("cite", "--format", "bibtex").startswith("@software{mirflow,\n")
