"""Sites about test sets that are not public: what stands in all files, compressed parts of reports included."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mirflow
from tests.datasets import write_hidden

from ...commands import printed
from ...groups import random_group, write_store
from ...reports.page.reading import block_of
from .test_build import crawl, files_of

LABEL, BROKEN = "Gb:minmaj7", "SECRET"


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    return write_hidden(tmp_path, LABEL, BROKEN)


def everything(folder: Path) -> dict[str, str]:
    """What stands in every file of a site, with the compressed parts of reports, and the names of files."""
    found = {}
    for one in files_of(folder):
        text = one.read_bytes().decode("latin-1" if one.suffix == ".png" else "utf-8")
        parts = [block_of(one, int(number)).decode("latin-1") for number in re.findall(r'id="block-(\d+)"', text)]
        found[str(one.relative_to(folder))] = "\n".join([str(one.relative_to(folder)), text, *parts])
    return found


@pytest.mark.slow
def test_without_references_no_file_holds_a_label_of_one_or_a_message_that_quotes_it(hidden, tmp_path):
    secrets = (LABEL, BROKEN, "70.123", "77.777")
    printed("site", hidden, "-o", tmp_path / "whole")
    whole = "\n".join(everything(tmp_path / "whole").values())
    assert all(secret in whole for secret in secrets[:2])
    assert "lanes.png" in whole
    printed("site", hidden, "-o", tmp_path / "site", "--without-references")
    for name, text in everything(tmp_path / "site").items():
        assert not [secret for secret in secrets if secret in text], name
        assert not name.endswith("lanes.png")
    assert crawl(tmp_path / "site")


@pytest.mark.slow
def test_with_aggregates_only_no_file_holds_a_track_or_a_score_of_one(tmp_path):
    names = [f"secret-song-{number}" for number in range(8)]
    group = random_group(3, 8, 2, tracks=names, track_meta={"artist": [f"singer-{name}" for name in names]})
    store = write_store(tmp_path / "s.zarr", {"chord": group})
    printed("site", store, "-o", tmp_path / "site", "--only-aggregates")
    score = mirflow.open_store(store)["chord"]["score"].values
    figures = {f"{one:.4f}" for one in score.ravel()} | {repr(float(one)) for one in score.ravel()}
    raw = [np.float64(one).tobytes().decode("latin-1") for one in score.ravel()]
    aggregates = {f"{one:.4f}" for one in mirflow.query(store, ci=0.95).dataset["value"].values.ravel()}
    for name, text in everything(tmp_path / "site").items():
        assert not [one for one in (*names, "singer") if one in text], name
        assert not {one for one in figures - aggregates if re.search(rf"(?<!\d){re.escape(one)}(?!\d)", text)}, name
        assert not [one for one in raw if one in text], name
    assert len(crawl(tmp_path / "site")) == len(files_of(tmp_path / "site")) - 1


def test_a_site_of_aggregates_replaces_one_with_tracks_whole(tmp_path):
    store = write_store(tmp_path / "s.zarr", {"chord": random_group(3, 8, 2, tracks=[f"song-{at}" for at in range(8)])})
    printed("site", store, "-o", tmp_path / "site")
    assert any("song-3" in text for text in everything(tmp_path / "site").values())
    printed("site", store, "-o", tmp_path / "site", "--only-aggregates")
    assert not any("song-3" in text for text in everything(tmp_path / "site").values())
