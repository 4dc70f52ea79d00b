"""Campaign files: what they may say, the pipelines that they mean, and whether what they name is there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mirflow
from mirflow import plugins
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.source import HeldSource
from mirflow.campaign.file import check_campaign, load_campaign, pipeline_of, plugin_addresses, reference_tracks
from mirflow.errors import PipelineError
from mirflow.pipeline.document import dump_document
from mirflow.readers.readings import write_readings
from tests.commands import printed

CAMPAIGN = """\
campaign: Chords
evaluations:
  - task: chord
    reference: reference/{track}.lab
    estimates: "{track}.lab"
splits:
  dev: dev
  test: {root: test, hidden: true, quota: 3, ladder: 0.005}
"""


def written(folder: Path, text: str = CAMPAIGN) -> Path:
    for split in ("dev", "test"):
        place = folder / split / "reference"
        place.mkdir(parents=True, exist_ok=True)
        for number in range(2):
            (place / f"{split}{number}.lab").write_text("0 1 C\n")
    path = folder / "campaign.yaml"
    path.write_text(text)
    return path


def test_the_defaults_of_a_campaign(tmp_path):
    campaign = load_campaign(written(tmp_path))
    assert campaign.splits["dev"].root == "dev"
    assert not campaign.splits["dev"].hidden
    assert campaign.splits["test"].per == "month"
    assert (campaign.visibility, campaign.folder, campaign.limits.size) == ("private", "state", 10**8)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("campaign: Chords", "campain: Chords", r"campain: unknown key; did you mean 'campaign'\? \(line 1\)"),
        ("quota: 3", "quotas: 3", r"splits\.test\.quotas: unknown key; did you mean 'quota'\?"),
        (
            "quota: 3",
            "per: year",
            r"splits\.test\.per: invalid value 'year': expected 'day', 'week', 'month' or 'campaign'",
        ),
        ("  dev: dev\n", "  dev-1: dev\n", r"splits\.dev-1: invalid name 'dev-1': expected an identifier"),
        ("splits:\n  dev: dev\n", "splts:\n  dev: dev\n", r"splts: unknown key; did you mean 'splits'"),
        ("task: chord", "task: cord", r"unknown task 'cord'; did you mean 'chord'\?"),
        ("task: chord", "task: separation", "estimates are audio, which cannot be submitted"),
        (
            '"{track}.lab"',
            '"{system}/{track}.lab"',
            r"relative to a submission, which is the \{system\}: leave out \{system\}",
        ),
        ('"{track}.lab"', '"../{track}.lab"', "must be inside the submission"),
        ('"{track}.lab"', '"all.zarr"', "packs cannot be submitted; use files"),
        ('"{track}.lab"\n', '"{track}.lab"\n    systems: [a]\n', "not allowed here: the systems are the submissions"),
        (
            "splits:",
            "opens: 2027-02-01\ncloses: 2027-01-01\nsplits:",
            "closes at 2027-01-01 23:59 UTC, before it opens",
        ),
        ("splits:", "limits: {size: 5 parsecs}\nsplits:", "invalid size '5 parsecs': expected a size such as 100 MB"),
        (
            "splits:",
            "closes: soon\nsplits:",
            "invalid time 'soon': expected a time with its zone such as .*, or a day such as 2026-12-31",
        ),
        (
            "splits:",
            "audio: x.flac\nsplits:",
            r"audio\.pattern: invalid pattern 'x\.flac': expected \{track\} in place of the name of a track",
        ),
        ("splits:", "rules: 2027\nsplits:", "rules: invalid value 2027: expected text; put it in quotes"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(old, new, message, tmp_path):
    assert old in CAMPAIGN
    with pytest.raises(PipelineError, match=message):
        load_campaign(written(tmp_path, CAMPAIGN.replace(old, new)))


def test_two_evaluations_need_two_names(tmp_path):
    entry = CAMPAIGN[CAMPAIGN.index("  - task") : CAMPAIGN.index("splits:")]
    with pytest.raises(PipelineError, match=r"evaluations\[1\]\.name: duplicate name 'chord'"):
        load_campaign(written(tmp_path, CAMPAIGN.replace(entry, entry * 2)))


def test_the_pipeline_of_a_split_scores_what_was_read_of_systems(tmp_path):
    path, systems = written(tmp_path), tmp_path / "state" / "readings"
    chords = Annotation("intervals", {"start": np.array([0.0]), "end": np.array([1.0])}, ["C"])
    for name in ("oak", "elm"):
        (systems / name / "dev").mkdir(parents=True)
        kept = [(HeldSource(chords, f"{name}/dev0.lab"), {"track": "dev0"})]
        write_readings(systems / name / "dev" / "chord.readings", "intervals", kept)
    for chosen, expected in ((None, ["elm", "oak"]), (["oak"], ["oak"])):
        pipeline = tmp_path / "pipeline.yaml"
        pipeline.write_text(dump_document(pipeline_of(path, load_campaign(path), "dev", systems, chosen)))
        report = mirflow.run(pipeline, store=tmp_path / f"{len(expected)}.zarr")
        assert sorted(report.evaluations[0].plan.systems) == expected
        assert report.evaluations[0].plan.tracks == ("dev0", "dev1")
        assert report.evaluations[0].content.cells.score[0].max() == 1.0
    assert str(systems) not in dump_document(pipeline_of(path, load_campaign(path), "dev", systems))


TAPS = """\
import mirflow

def missing(reference, estimate):
    return max(len(reference) - len(estimate), 0) / len(reference), len(reference)

mirflow.declare_task(mirflow.pair_task("{task}", kind="events", metrics=[missing], title="Taps"))
"""


def test_a_task_of_a_file_beside_the_campaign_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "_declared", {group: dict(names) for group, names in plugins._declared.items()})
    path = written(tmp_path, CAMPAIGN.replace("task: chord", "task: taps_beside"))
    with pytest.raises(PipelineError, match="unknown task 'taps_beside'"):
        load_campaign(path)
    path.write_text("plugins: [taps.py]\n" + path.read_text())
    with pytest.raises(PipelineError, match=r"plugins\[0\]: .*taps\.py: cannot be read: No such file"):
        load_campaign(path)
    (tmp_path / "taps.py").write_text(TAPS.format(task="taps_beside") + "1 / 0\n")
    with pytest.raises(PipelineError, match=r"plugins\[0\]: .*ZeroDivisionError.*\(taps\.py:7\) \(line 1\)"):
        load_campaign(path)
    (tmp_path / "taps.py").write_text(TAPS.format(task="taps_beside"))
    assert load_campaign(path).evaluations[0].task == "taps_beside"
    assert pipeline_of(path, load_campaign(path), "dev", tmp_path / "systems")["plugins"] == ["taps.py"]
    assert plugin_addresses(path, load_campaign(path)) == [str(tmp_path / "taps.py")]


def test_the_references_of_a_split_are_found_without_estimates(tmp_path):
    path = written(tmp_path)
    found = reference_tracks(path, load_campaign(path), "test")
    assert found == {"chord": [{"track": "test0"}, {"track": "test1"}]}


def test_a_whole_campaign_is_checked(tmp_path):
    path = written(tmp_path)
    assert check_campaign(path)[1] == {"dev": {"chord": 2}, "test": {"chord": 2}}
    assert printed("check", str(path)) == "dev: chord: 2 tracks\ntest: chord: 2 tracks\n"
    bare = written(tmp_path, CAMPAIGN.replace(", quota: 3, ladder: 0.005", ""))
    assert [note.partition(":")[0] for note in check_campaign(bare)[2]] == ["splits.test", "splits.test"]
    (tmp_path / "dev" / "dev0.ogg").write_bytes(b"")
    heard = written(tmp_path, f'{CAMPAIGN}audio: "{{track}}.ogg"\n')
    assert check_campaign(heard)[2] == [
        "audio: 1 of 2 tracks of dev have no recording on this host: 'dev1'",
        "audio: 2 of 2 tracks of test have no recording on this host: 'test0', 'test1'",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("root: test", "root: tset", r"splits\.test\.root: folder '.*tset' does not exist"),
        ("reference/{track}", "refs/{track}", r"evaluations\[0\]\.reference.*matches nothing.*\(split dev\)"),
        (
            "reference/{track}",
            "s3://bucket/{track}",
            r"\.reference.*is a URL, and campaigns read files from disk; down",
        ),
        (
            "root: test",
            "root: dev",
            "has 2 tracks in common with the split dev: 'dev0', 'dev1'; use each track in one split",
        ),
        ("splits:", "stores: [old.zarr]\nsplits:", r"stores\[0\]: store 'old.zarr' does not exist"),
        ("splits:", "archive: years.yaml\nsplits:", "archive: file 'years.yaml' does not exist"),
        (
            "splits:",
            "grading:\n  - {name: like, queries: q.csv, candidates: c.csv, audio: '{piece}.ogg'}\nsplits:",
            r"grading\[0\]\.queries: file 'q.csv' does not exist .*\n +grading\[0\]\.candidates: file 'c.csv' does not",
        ),
        (
            "splits:",
            "planning: {pieces: [p.csv], audio: '{piece}.ogg'}\nsplits:",
            r"planning\.pieces\[0\]: file 'p.csv' does not exist",
        ),
        ("splits:", "folder: dev/reference/dev0.lab/x\nsplits:", "folder: cannot write to .*"),
    ],
)
def test_what_is_not_there_is_said_with_its_place(old, new, message, tmp_path):
    with pytest.raises(PipelineError, match=message):
        check_campaign(written(tmp_path, CAMPAIGN.replace(old, new)))


def test_editors_get_a_schema():
    schema = json.loads(printed("schema", "--campaign"))
    assert {"campaign", "splits", "limits", "grading"} <= set(schema["properties"])
