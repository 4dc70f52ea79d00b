"""Drafts of pipeline files: usual layouts of folders are recognised, and what is drafted runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import mirflow
from mirflow.errors import AnnotationError
from mirflow.pipeline.draft import draft_pipeline

from ..commands import invoke, printed, refused

CHORDS = "0.0 2.0 C:maj\n2.0 4.0 G:7\n"
BEATS = "0.5 1\n1.0 2\n1.5 3\n2.0 4\n2.5 1\n"
TIMES = "0.51\n1.02\n1.48\n2.05\n6.3\n"
NOTES = "0.0 0.5 220.0\n0.5 1.0 440.0\n1.0 2.0 330.0\n"
F0 = "".join(f"{place / 100:.2f} {220 + place}\n" for place in range(20))


def evaluation(task: str, reference: Any, estimates: Any, **more: Any) -> dict[str, Any]:
    """An evaluation as it is drafted."""
    return {"task": task, "reference": reference, "estimates": estimates, **more}


LAYOUTS: dict[str, tuple[dict[str, str], list[dict[str, Any]]]] = {
    "folders of sides and systems": (
        {"gt/{t}.lab": CHORDS, "preds/oak/{t}.lab": CHORDS, "preds/elm/{t}.lab": CHORDS},
        [evaluation("chord", "gt/{track}.lab", "preds/{system}/{track}.lab")],
    ),
    "one system": (
        {"annotations/{t}.txt": NOTES, "outputs/{t}.txt": NOTES},
        [evaluation("transcription", "annotations/{track}.txt", "outputs/{track}.txt", systems=["estimate"])],
    ),
    "systems beside the references": (
        {"reference/{t}.csv": "start,end,label\n0,2,C:maj\n", "oak/{t}.lab": CHORDS, "elm/{t}.lab": CHORDS},
        [evaluation("chord", "reference/{track}.csv", "{system}/{track}.lab", systems=["elm", "oak"])],
    ),
    "columns of unusual names": (
        {
            "annotations/{t}.csv": "start_s,stop_s,chord\n0,2,C:maj\n2,4,G:7\n",
            "systems/oak/{t}.csv": "onset_ms;end_ms;chord_name\n0;2000;C:maj\n2000;4000;G:7\n",
        },
        [
            evaluation(
                "chord",
                {"path": "annotations/{track}.csv", "columns": {"start": "start_s", "end": "stop_s", "label": "chord"}},
                {
                    "path": "systems/{system}/{track}.csv",
                    "columns": {"start": "onset_ms", "end": "end_ms", "label": "chord_name"},
                    "time_unit": "ms",
                },
            )
        ],
    ),
    "a folder for each track": (
        {"{t}/reference.lab": CHORDS, "{t}/est_oak.lab": CHORDS, "{t}/est_elm.lab": CHORDS},
        [evaluation("chord", "{track}/reference.lab", "{track}/est_{system}.lab")],
    ),
    "sides in names of files": (
        {"{t}_ref.txt": F0, "{t}_est.txt": F0},
        [evaluation("melody", "{track}_ref.txt", "{track}_est.txt", systems=["estimate"])],
    ),
    "a folder for each task, names that differ by a suffix": (
        {
            "refs/beats/{t}_beats.txt": BEATS,
            "refs/chords/{t}.lab": CHORDS,
            "estimates/beats/oak/{t}.txt": TIMES,
            "estimates/chords/oak/{t}.lab": CHORDS,
        },
        [
            evaluation("beat", "refs/beats/{track}_beats.txt", "estimates/beats/{system}/{track}.txt"),
            evaluation("chord", "refs/chords/{track}.lab", "estimates/chords/{system}/{track}.lab"),
        ],
    ),
    "several annotators": (
        {f"reference/{name}/{{t}}.lab": CHORDS for name in ("anna", "ben")} | {"systems/oak/{t}.lab": CHORDS},
        [
            evaluation(
                "chord",
                {"path": "reference/{annotator}/{track}.lab", "combine": "mean"},
                "systems/{system}/{track}.lab",
            )
        ],
    ),
    "folders of runs": (
        {"ref/{t}.lab": CHORDS} | {f"est/{name}/{{t}}.lab": CHORDS for name in ("oak/seed0", "oak/seed1", "elm/seed0")},
        [evaluation("chord", "ref/{track}.lab", "est/{system}/{run}/{track}.lab")],
    ),
    "folders of parts": (
        {"ref/{t}.lab": CHORDS} | {f"est/{name}/{{t}}.lab": CHORDS for name in ("oak/x", "oak/y", "elm/x")},
        [evaluation("chord", "ref/{track}.lab", "est/{system}/{part}/{track}.lab")],
    ),
    "folders of artists on both sides": (
        {f"{side}/{artist}/{{t}}.txt": BEATS for side in ("ref", "est") for artist in ("abba", "queen")},
        [evaluation("beat", "ref/{part}/{track}.txt", "est/{part}/{track}.txt", systems=["estimate"])],
    ),
    "folders of artists and albums below systems": (
        {
            f"{side}/{album}/{{t}}.lab": CHORDS
            for side in ("ref", "est/oak", "est/elm")
            for album in ("abba/arrival", "abba/waterloo", "queen/jazz")
        },
        [evaluation("chord", "ref/{part}/{part1}/{track}.lab", "est/{system}/{part}/{part1}/{track}.lab")],
    ),
    "a file of one name in a folder for each track": (
        {f"{side}/queen/jazz/{{t}}/beats.txt": BEATS for side in ("ref", "est")},
        [
            evaluation(
                "beat", "ref/queen/jazz/{track}/beats.txt", "est/queen/jazz/{track}/beats.txt", systems=["estimate"]
            )
        ],
    ),
    "a folder for each task below that of the only system": (
        {
            "ref/beats/{t}.txt": BEATS,
            "ref/segments/{t}.txt": "0.0 10.0 A\n10.0 20.0 B\n",
            "est/net/beats/{t}.txt": BEATS,
            "est/net/segments/{t}.txt": "0.0 10.0 A\n10.0 20.0 B\n",
        },
        [
            evaluation(task, f"ref/{name}/{{track}}.txt", f"est/{{system}}/{name}/{{track}}.txt")
            for task, name in (("beat", "beats"), ("segment", "segments"))
        ],
    ),
    "several formats": (
        {"ref/{t}.lab": CHORDS, "est/oak/{t}.lab": CHORDS, "est/elm/{t}.txt": CHORDS},
        [evaluation("chord", "ref/{track}.lab", "est/{system}/{track}.{format}")],
    ),
}
TRACKS = ("first song", "second song", "third song")


def lay_out(root: Path, files: dict[str, str]) -> Path:
    """A folder with a file of each kind for each track."""
    for pattern, text in files.items():
        for track in TRACKS:
            path = root / pattern.format(t=track)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return root


@pytest.mark.parametrize(("files", "expected"), LAYOUTS.values(), ids=LAYOUTS)
def test_layouts_are_recognised_and_run(
    files: dict[str, str], expected: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = lay_out(tmp_path / "music", files)
    drafted = yaml.safe_load(printed("init", folder))["evaluations"]
    assert sorted(drafted, key=str) == sorted(expected, key=str)
    assert "Not used" not in (folder / "pipeline.yaml").read_text()
    report = mirflow.run(folder / "pipeline.yaml", scheduler="serial")
    assert report.failed == 0
    tree = mirflow.open_store("music/stores/music.zarr")
    for one in tree.children.values():
        assert {track.rpartition("/")[2] for track in one.track.values} == {*TRACKS}
        # Estimates are copies of the references, but for beats that are a little off.
        headline = {"chord": "majmin", "beat": "f_measure", "melody": "overall_accuracy"}.get(one.attrs["task"])
        if headline and TIMES not in files.values():
            assert (one.score.sel(metric=headline) == 1).all() or (one.weight.sel(metric=headline) == 0).all()


def test_what_is_uncertain_or_left_out_is_a_comment_and_tables_of_tracks_are_found(tmp_path: Path) -> None:
    lay_out(tmp_path, {"ref/{t}.txt": TIMES, "est/oak/{t}.txt": TIMES, "other/{t}.lab": CHORDS})
    (tmp_path / "songs.csv").write_text("song,genre\n" + "".join(f"{track},Rock\n" for track in TRACKS))
    text = draft_pipeline(tmp_path)
    assert "# Found: 3 references, 3 estimates of 1 system (oak)." in text
    assert "# Uncertain: the files may also be for onset." in text
    assert "tracks: {path: songs.csv, key: song}" in text
    assert "other (3)" in text


def test_times_with_a_header_may_be_beats_or_onsets(tmp_path: Path) -> None:
    times = "time\n0.5\n1.0\n1.7\n"
    text = draft_pipeline(lay_out(tmp_path, {"ref/{t}.csv": times, "est/{t}.csv": times}))
    assert "task: beat" in text
    assert "# Uncertain: the files may also be for onset.\n" in text


def test_one_song_less_on_one_side_does_not_turn_artists_into_systems(tmp_path: Path) -> None:
    root = lay_out(tmp_path, LAYOUTS["folders of artists on both sides"][0])
    (root / "est" / "queen" / f"{TRACKS[1]}.txt").unlink()
    (drafted,) = yaml.safe_load(draft_pipeline(root))["evaluations"]
    assert (drafted["reference"], drafted["estimates"]) == ("ref/{part}/{track}.txt", "est/{part}/{track}.txt")


def test_folders_that_may_be_annotators_or_artists_are_asked_about(tmp_path: Path) -> None:
    files = {f"ref/{name}/{{t}}.lab": CHORDS for name in ("anna", "ben")}
    lay_out(tmp_path, files | {f"est/{name}/{{t}}.lab": CHORDS for name in ("anna", "ben", "oak")})
    with pytest.raises(
        AnnotationError, match=r"folders named anna, ben, which may be .*: only one side has oak; write"
    ):
        draft_pipeline(tmp_path)


def test_estimates_of_one_system_may_lie_in_folders_of_artists(tmp_path: Path) -> None:
    lay_out(tmp_path, {"ref/{t}.lab": CHORDS})
    for number, track in enumerate(TRACKS):
        path = tmp_path / "est" / f"artist{number}" / f"{track}.lab"
        path.parent.mkdir(parents=True)
        path.write_text(CHORDS)
    text = draft_pipeline(tmp_path)
    (drafted,) = yaml.safe_load(text)["evaluations"]
    assert (drafted["estimates"], drafted["systems"]) == ("est/{part}/{track}.lab", ["estimate"])
    assert "# Uncertain: no track is in two folders of estimates, so they are taken for parts of one system." in text


def test_references_that_were_not_chosen_are_named(tmp_path: Path) -> None:
    files = {"reference/exact/{t}_x.txt": NOTES, "reference/rounded/{t}_r.txt": NOTES, "est/oak/{t}.txt": NOTES}
    text = draft_pipeline(lay_out(tmp_path, files))
    assert "references of the same tracks are also in reference/rounded/{track}_r.txt (3)" in text
    assert "# Not used: reference/rounded (3), files .txt: could be transcription, but no estimates are left" in text


def test_annotators_who_hardly_agree_are_a_problem(tmp_path: Path) -> None:
    files = {"ref/anna/{t}.lab": CHORDS, "ref/ben/{t}.lab": "0 4 Eb:min\n", "est/oak/{t}.lab": CHORDS}
    with pytest.raises(
        AnnotationError, match=r"annotators hardly agree \(majmin .* is 0 on a few tracks\): are these fold"
    ):
        draft_pipeline(lay_out(tmp_path, files))


def test_an_evaluation_that_cannot_run_is_a_comment_and_an_error_if_there_is_no_other(tmp_path: Path) -> None:
    lay_out(tmp_path, {"ref/chords{{1/{t}.lab": CHORDS, "est/chords/oak/{t}.lab": CHORDS})
    with pytest.raises(AnnotationError, match=r"Problem: .*braces|Problem: .*\{"):
        draft_pipeline(tmp_path)
    lay_out(tmp_path, {"ref/beats/{t}.txt": BEATS, "est/beats/oak/{t}.txt": BEATS})
    text = draft_pipeline(tmp_path)
    assert "  #   - task: chord" in text
    assert [one["task"] for one in yaml.safe_load(text)["evaluations"]] == ["beat"]


def test_a_file_that_is_there_is_kept_unless_forced(tmp_path: Path) -> None:
    lay_out(tmp_path, {"ref/{t}.lab": CHORDS, "est/oak/{t}.lab": CHORDS})
    (tmp_path / "pipeline.yaml").write_text("mine")
    assert "exists; overwrite it with --force" in refused("init", tmp_path)
    assert (tmp_path / "pipeline.yaml").read_text() == "mine"
    invoke("init", tmp_path, "--force", code=0)
    assert "task: chord" in (tmp_path / "pipeline.yaml").read_text()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no annotation files"),
        ({"a/{t}.lab": CHORDS, "b/{t}.lab": CHORDS}, "no references found: .*--reference"),
        ({"ref/{t}.lab": CHORDS}, "3 references found, but no estimates: .*--estimates"),
        ({"ref/{t}.lab": CHORDS, "est/oak/{t}.txt": NOTES}, "no estimates of the same tracks and task"),
        (
            {"ref/{t}.csv": "idx,who\n1,me\n2,you\n", "est/{t}.csv": "idx,who\n1,me\n2,you\n"},
            r"no task reads the 3 references: .*first song.csv:1: .*header and time_unit",
        ),
    ],
)
def test_a_folder_without_two_sides_is_an_error_with_a_remedy(
    files: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(AnnotationError, match=message):
        draft_pipeline(lay_out(tmp_path, files))


def test_folders_of_other_names_are_named(tmp_path: Path) -> None:
    lay_out(tmp_path, {"a/{t}.lab": CHORDS, "b/{t}.lab": CHORDS})
    drafted = yaml.safe_load(draft_pipeline(tmp_path, reference=["a"], estimates=["b"]))["evaluations"]
    assert drafted == [evaluation("chord", "a/{track}.lab", "b/{track}.lab", systems=["estimate"])]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mirex2013-ace", {"chord": ("reference/{track}.lab", "estimates/{system}/{track}.lab")}),
        ("adc2004-melody", {"melody": ("reference/{track}.txt", "estimates/{system}/{track}.txt")}),
        (
            "harmonix",
            {
                task: ("reference/beats_and_downbeats/{track}.txt", f"estimates/{task}s/{{system}}/{{track}}.txt")
                for task in ("beat", "downbeat")
            },
        ),
        (
            "jku-patterns",
            {
                name: (f"{voices}/reference/{{track}}.txt", f"{voices}/estimates/{{system}}/{{track}}.txt")
                for name, voices in (("pattern", "monophonic"), ("pattern_2", "polyphonic"))
            },
        ),
        (
            "mirex2015-su-transcription",
            {"transcription": ("reference/gt_Note/{track}_note.txt", "estimates/{system}/{track}.txt")},
        ),
    ],
)
def test_real_collections(name: str, expected: dict[str, tuple[str, str]], shared_data: Path) -> None:
    text = draft_pipeline(shared_data / name)
    drafted = yaml.safe_load(text)["evaluations"]
    assert {one.get("name", one["task"]): (one["reference"], one["estimates"]) for one in drafted} == expected
    assert "# Problem" not in text


def test_a_file_in_another_folder_names_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    songs = lay_out(tmp_path / "songs", {f"{side}/{{t}}.txt": BEATS for side in ("ref", "est")})
    (tmp_path / "plans").mkdir()
    monkeypatch.chdir(tmp_path)
    invoke("init", songs, "--output", "plans/songs.yaml", code=0)
    assert yaml.safe_load((tmp_path / "plans" / "songs.yaml").read_text())["root"] == "../songs"
    invoke("run", tmp_path / "plans" / "songs.yaml", code=0)
    invoke("init", songs, code=0)
    assert "root" not in yaml.safe_load((songs / "pipeline.yaml").read_text())


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    songs = lay_out(tmp_path / "songs", {f"{side}/{{t}}.txt": BEATS for side in ("ref", "est")})
    assert "plans: no such folder" in refused("init", songs, "--output", tmp_path / "plans" / "songs.yaml")


SNAPSHOT = [
    {
        "id": track,
        "chords": [{"start": 0.0, "end": 2.0, "label": "C:maj"}, {"start": 2.0, "end": 4.0, "label": "G:7"}],
        "sections": [{"start": 0.0, "end": 4.0, "label": "verse"}],
        "beats": [{"time": at / 2, "position": at % 4 + 1} for at in range(8)],
    }
    for track in TRACKS
]
ITEMS = [{"track": row["id"], **chord} for row in SNAPSHOT for chord in row["chords"]]


def in_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(arrow.Table.from_pylist(rows), path)


def test_parquet_files_of_many_tracks_are_recognised(tmp_path: Path) -> None:
    for shard, rows in enumerate((SNAPSHOT[:2], SNAPSHOT[2:])):
        in_parquet(tmp_path / f"hub/reference/data/test-{shard:05d}-of-00002.parquet", rows)
    lay_out(tmp_path / "hub", {"estimates/chords/oak/{t}.lab": CHORDS, "estimates/beats/oak/{t}.txt": TIMES})
    # A track is cut by the shards of one system; the table of all systems has a column of their names.
    for shard, items in enumerate((ITEMS[:3], ITEMS[3:])):
        in_parquet(tmp_path / f"tables/systems/oak/part-{shard}.parquet", items)
        in_parquet(tmp_path / f"tables/systems/elm/part-{shard}.parquet", items)
    in_parquet(tmp_path / "tables/gt.parquet", ITEMS)
    in_parquet(tmp_path / "all/reference.parquet", ITEMS)
    in_parquet(
        tmp_path / "all/estimates.parquet", [{"system": name, **one} for name in ("oak", "elm") for one in ITEMS]
    )
    for track in TRACKS:
        in_parquet(tmp_path / f"single/gt/{track}.parquet", [one for one in ITEMS if one["track"] == track])
        in_parquet(tmp_path / f"single/preds/oak/{track}.parquet", SNAPSHOT[0]["chords"])
    drafts = {}
    for name in ("hub", "tables", "all", "single"):
        printed("init", tmp_path / name)
        text = (tmp_path / name / "pipeline.yaml").read_text()
        assert "Not used" not in text
        drafts[name] = yaml.safe_load(text)["evaluations"]
    shards, of = "reference/data/test-{shard}.parquet", {"track": "id"}
    assert [(one["task"], one["reference"]) for one in drafts["hub"]] == [
        ("beat", {"path": shards, "columns": of | {"time": "beats.time", "label": "beats.position"}}),
        ("chord", {"path": shards, "columns": of | {name: f"chords.{name}" for name in ("start", "end", "label")}}),
    ]
    assert [(one["task"], one["reference"], one["estimates"]) for one in drafts["tables"] + drafts["single"]] == [
        ("chord", "gt.parquet", "systems/{system}/part-{shard}.parquet"),
        ("chord", "gt/{track}.parquet", "preds/{system}/{track}.parquet"),
    ]
    assert drafts["all"][0]["estimates"]["columns"]["system"] == "system"
    for name in ("tables", "all"):
        assert mirflow.run(tmp_path / name / "pipeline.yaml", scheduler="serial").evaluations[0].counts["new"] == 6


def test_an_empty_parquet_file_is_named(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    in_parquet(tmp_path / "estimates/oak/a.parquet", ITEMS)
    (tmp_path / "reference").mkdir()
    columns = [("track", arrow.string()), ("time", arrow.float64())]
    parquet.write_table(arrow.schema(columns).empty_table(), tmp_path / "reference/a.parquet")
    with pytest.raises(AnnotationError, match=r"no task reads the 1 reference: reference/a\.parquet is empty"):
        draft_pipeline(tmp_path)


def test_names_of_tracks_that_name_a_task_are_no_folders_of_tasks(tmp_path: Path) -> None:
    for track in ("chord_09_01", "chord_09_02"):
        for name in ("reference", "oak"):
            path = tmp_path / track / f"{name}.lab"
            path.parent.mkdir(exist_ok=True)
            path.write_text(CHORDS)
    (drafted,) = yaml.safe_load(printed("init", tmp_path))["evaluations"]
    assert (drafted["reference"], drafted["estimates"]) == ("{track}/reference.lab", "{track}/{system}.lab")


KEYS = {"a": "C major", "b": "A minor", "c": "F# major"}
"""Keys by track."""


def rows_of_keys(header: str, row: str) -> str:
    """A table with a row for each track; in `row`, ``{t}`` is the track and ``{k}`` its key."""
    return "".join([header, *(row.format(t=track, k=key) + "\n" for track, key in KEYS.items())])


KEY_TABLE = rows_of_keys("track,key\n", "{t},{k}")
AFFINITIES = "clip_id,slow,loud\na,1,0\nb,0,1\nc,1,1\n"
TABLES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "keys": (
        {"reference.csv": KEY_TABLE, "estimates/net.csv": KEY_TABLE},
        evaluation(
            "key",
            {"path": "reference.csv", "columns": {"track": "track", "key": "key"}},
            {"path": "estimates/{system}.csv", "columns": {"track": "track", "key": "key"}},
        ),
    ),
    "keys beside a file for each track": (
        {
            "annotations/set.txt": rows_of_keys("ID\tMANUAL KEY\tC\n", "{t}\t{k}\t2"),
            **{f"est/net/{track}.key": f"{key}\n" for track, key in KEYS.items()},
        },
        evaluation(
            "key",
            {"path": "annotations/set.txt", "columns": {"track": "ID", "key": "MANUAL KEY"}},
            "est/{system}/{track}.key",
        ),
    ),
    "keys without a header": (
        {"gt.csv": rows_of_keys("", "{t},{k}"), "pred.csv": rows_of_keys("", "{t},{k}")},
        evaluation(
            "key",
            {"path": "gt.csv", "columns": {"track": 0, "key": 1}},
            {"path": "pred.csv", "columns": {"track": 0, "key": 1}},
            systems=["estimate"],
        ),
    ),
    "tempi of systems in one table": (
        {
            "truth.csv": "filename,bpm\na.wav,100\nb.wav,120\n",
            "preds.csv": "filename,system,bpm\na.wav,x,100\nb.wav,x,60\na.wav,y,100\nb.wav,y,120\n",
        },
        evaluation(
            "tempo",
            {"path": "truth.csv", "columns": {"track": "filename", "tempo": "bpm"}},
            {"path": "preds.csv", "columns": {"track": "filename", "system": "system", "tempo": "bpm"}},
        ),
    ),
    "classes below unusual names, in folders whose names are two words": (
        {
            "Ground Truth/moods.csv": "audio_file,emotion\na.mp3,sad\nb.mp3,happy\n",
            "Model Outputs/net.csv": "audio_file,emotion\na.mp3,sad\nb.mp3,sad\n",
        },
        evaluation(
            "classification",
            {"path": "Ground Truth/moods.csv", "columns": {"track": "audio_file", "label": "emotion"}},
            {"path": "Model Outputs/{system}.csv", "columns": {"track": "audio_file", "label": "emotion"}},
            systems=["net"],
        ),
    ),
    "a column for each tag": (
        {"labels/tags.csv": AFFINITIES, "outputs/net.csv": AFFINITIES},
        evaluation("tagging", "labels/tags.csv", "outputs/{system}.csv"),
    ),
    "chords of many tracks": (
        dict.fromkeys(
            ("reference/chords.csv", "est/net.csv"), "song,start,end,chord\na,0,2,C:maj\na,2,4,G:7\nb,0,2,D:min\n"
        ),
        {
            "task": "chord",
            **{
                side: {"path": path, "columns": {"track": "song", "start": "start", "end": "end", "label": "chord"}}
                for side, path in (("reference", "reference/chords.csv"), ("estimates", "est/{system}.csv"))
            },
        },
    ),
}


def write_files(root: Path, files: dict[str, str]) -> Path:
    """A folder with files."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(("files", "expected"), TABLES.values(), ids=TABLES)
def test_tables_of_tracks_are_recognised_and_read(
    files: dict[str, str], expected: dict[str, Any], tmp_path: Path
) -> None:
    text = draft_pipeline(write_files(tmp_path, files))
    assert yaml.safe_load(text)["evaluations"] == [expected]
    assert "# Scores: " in text
    assert "# Not used" not in text


def test_a_table_of_tracks_that_no_task_reads_is_named_with_its_columns(tmp_path: Path) -> None:
    table = "song_id,valence,arousal\n1,5.1,4.0\n2,4.9,3.2\n"
    write_files(tmp_path, {"reference.csv": table, "estimates/net.csv": table})
    message = (
        "reference.csv is a table of tracks, called 'song_id', but no task reads its columns 'valence', 'arousal' as"
    )
    assert message in refused("init", tmp_path)


@pytest.mark.parametrize(("column", "value"), [("bpm", "100,5"), ("tags", "rock,loud"), ("key", "H dur moll")])
def test_what_cannot_be_read_as_its_column_says_is_no_class(column: str, value: str, tmp_path: Path) -> None:
    table = f"track;{column}\na;{value}\nb;{value}\n"
    write_files(tmp_path, {"reference.csv": table, "estimates/net.csv": table})
    assert f"but no task reads its columns '{column}' as they are written" in refused("init", tmp_path)


def test_letters_may_be_classes_as_well_as_keys(tmp_path: Path) -> None:
    table = "filename,label\na.wav,a\nb.wav,b\n"
    write_files(tmp_path, {"gt/labels.csv": table, "preds/cnn/x.csv": table})
    (drafted,) = yaml.safe_load(draft_pipeline(tmp_path))["evaluations"]
    assert (drafted["task"], drafted["estimates"]["path"]) == ("classification", "preds/{system}/x.csv")


def test_rows_with_an_identifier_are_no_table_of_tracks(tmp_path: Path) -> None:
    lay_out(tmp_path, {f"{side}/{{t}}.csv": "id,start,end,chord\n1,0,2,C\n2,2,4,G\n" for side in ("ref", "est/net")})
    (drafted,) = yaml.safe_load(draft_pipeline(tmp_path))["evaluations"]
    assert (drafted["reference"], drafted["estimates"]) == ("ref/{track}.csv", "est/{system}/{track}.csv")


def test_a_table_of_scores_is_no_metadata(tmp_path: Path) -> None:
    lay_out(tmp_path, {"ref/{t}.lab": CHORDS, "est/net/{t}.lab": CHORDS})
    (tmp_path / "scores.csv").write_text("track,majmin\n" + "".join(f"{track},0.5\n" for track in TRACKS))
    assert "tracks:" not in draft_pipeline(tmp_path)


def test_whole_numbers_for_pitches_are_declared(tmp_path: Path) -> None:
    lay_out(tmp_path, {f"{side}/{{t}}.csv": "onset,offset,pitch\n0,1,60\n1,2,62\n2,3,64\n" for side in ("ref", "est")})
    (drafted,) = yaml.safe_load(draft_pipeline(tmp_path))["evaluations"]
    assert drafted["reference"] == {"path": "ref/{track}.csv", "pitch_unit": "MIDI"}
    assert drafted["estimates"] == {"path": "est/{track}.csv", "pitch_unit": "MIDI"}


WORDS = {"time": "word_start", "label": "word"}
FOLDERS: dict[str, tuple[dict[str, str], tuple[Any, ...]]] = {
    "words with their times": (
        {f"{side}/{{t}}.csv": "word_start,word_end,word\n1,1.5,oh\n1.7,2,my\n" for side in ("ref/words", "est/net")},
        (
            "alignment",
            {"path": "ref/words/{track}.csv", "columns": WORDS},
            {"path": "est/{system}/{track}.csv", "columns": WORDS},
        ),
    ),
    "two words": (
        {"Reference Annotations/{t}.lab": CHORDS, "My System/{t}.lab": CHORDS},
        ("chord", "Reference Annotations/{track}.lab", "{system}/{track}.lab"),
    ),
    "folders of both sides that name no system": (
        {f"{side}/System of a Down/{{t}}.lab": CHORDS for side in ("labels", "output")},
        ("chord", "labels/System of a Down/{track}.lab", "output/System of a Down/{track}.lab"),
    ),
    "labels": (
        {"labels/{t}.lab": CHORDS, "output/{t}.lab": CHORDS},
        ("chord", "labels/{track}.lab", "output/{track}.lab"),
    ),
    "the folder beside the estimates": (
        {"anything/{t}.lab": CHORDS, "est/net/{t}.lab": CHORDS},
        ("chord", "anything/{track}.lab", "est/{system}/{track}.lab"),
    ),
    "folders of two tasks that no name of a task separates": (
        {
            "annotations/chordlab/abba/{t}.lab": CHORDS,
            "annotations/seglab/abba/{t}.lab": "0 2 verse\n2 4 chorus\n",
            "estimates/net/abba/{t}.lab": CHORDS,
        },
        ("chord", "annotations/chordlab/abba/{track}.lab", "estimates/{system}/abba/{track}.lab"),
    ),
    "hits of drums": (
        {f"{side}/{{t}}.txt": "0.5\tKD\n1.0\tSD\n1.5\tHH\n" for side in ("annotations", "estimates/net")},
        ("drums", "annotations/{track}.txt", "estimates/{system}/{track}.txt"),
    ),
    "words": (
        {f"{side}/{{t}}.txt": "oh my love, wait for me\ntonight, tonight\n" for side in ("ref", "est/net")},
        ("lyrics", "ref/{track}.txt", "est/{system}/{track}.txt"),
    ),
}


@pytest.mark.parametrize(("files", "expected"), FOLDERS.values(), ids=FOLDERS)
def test_folders_and_contents_without_usual_names_are_recognised(
    files: dict[str, str], expected: tuple[Any, ...], tmp_path: Path
) -> None:
    (drafted,) = yaml.safe_load(draft_pipeline(lay_out(tmp_path, files)))["evaluations"]
    assert (drafted["task"], drafted["reference"], drafted["estimates"]) == expected


def test_the_only_track_may_be_a_file_named_as_its_side(tmp_path: Path) -> None:
    write_files(tmp_path, {"ref.lab": CHORDS, "est.lab": CHORDS})
    (drafted,) = yaml.safe_load(draft_pipeline(tmp_path))["evaluations"]
    assert (drafted["reference"], drafted["estimates"]) == ("ref.lab", "est.lab")
