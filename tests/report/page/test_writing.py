"""What goes into a page, and what it does without."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import mirflow
from mirflow.analysis.inference import compare
from mirflow.analysis.scores import as_scores, names_of
from mirflow.analysis.selection import Question
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.schema import KINDS
from mirflow.cli import cli
from mirflow.errors import QueryError, StoreError, UnknownNameError
from mirflow.report.page import write_page
from mirflow.report.page.data import main_metrics, order_tracks, standings
from mirflow.report.page.embed import ITEMS, TIMELESS, CompressedParts, PageLabels, encode, encode_evidence
from mirflow.report.page.html import order_modules, read_asset, script
from tests.datasets import write_dataset, write_lab
from tests.groups import make_group, random_group, write_store

from .reading import block_of, contents_of, figures


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    mirflow.run(write_dataset(tmp_path))
    return tmp_path / "store.zarr"


class TestPage:
    def test_it_needs_nothing_else(self, stored, tmp_path):
        write_page(stored, tmp_path / "p.html")
        text = (tmp_path / "p.html").read_text()
        assert re.findall(r'(?:src|href)="([^"]*)"', text.split('<script type="module">')[0]) == ["#leaderboard"]
        assert "default-src 'none'" in text
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")

    def test_its_title_says_what_was_evaluated_and_the_tab_of_which_store(self, stored, tmp_path):
        write_page(stored, tmp_path / "p.html")
        contents = contents_of(tmp_path / "p.html")
        assert (contents["title"], contents["name"]) == ("Chord estimation: 2 systems, 6 tracks", "store")
        text = (tmp_path / "p.html").read_text()
        assert "<title>Chord estimation: 2 systems, 6 tracks (store)</title>" in text

    def test_the_same_store_gives_the_same_page(self, stored, tmp_path):
        for name in ("a", "b"):
            write_page(stored, tmp_path / f"{name}.html")
        assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()

    def test_the_page_itself_is_small(self, tmp_path):
        store = write_store(tmp_path / "s.zarr", {"chord": make_group(np.ones((1, 1, 1)))})
        assert write_page(store, tmp_path / "p.html").size < 300_000

    def test_scores_are_exact_to_the_bit(self, tmp_path):
        group = random_group(3, 5, 2)
        write_page(write_store(tmp_path / "s.zarr", {"chord": group}), tmp_path / "p.html")
        metric = contents_of(tmp_path / "p.html")["evaluations"][0]["metrics"][1]
        planes = np.frombuffer(block_of(tmp_path / "p.html", metric["score"]), np.uint8).reshape(8, -1)
        back = np.ascontiguousarray(planes.T).view("<f8").reshape(3, 5)
        assert np.array_equal(back, group.score.values[..., 1])

    def test_a_store_that_is_none_is_an_error(self, tmp_path):
        with pytest.raises(StoreError):
            write_page(tmp_path / "nothing.zarr", tmp_path / "p.html")
        assert not (tmp_path / "p.html").exists()

    def test_an_unknown_metric_is_an_error_with_a_suggestion(self, stored, tmp_path):
        with pytest.raises(UnknownNameError, match="did you mean 'majmin'"):
            write_page(stored, tmp_path / "p.html", metrics=["majmim"])

    def test_the_metric_that_is_asked_for_comes_first(self, stored, tmp_path):
        write_page(stored, tmp_path / "p.html", metrics=["root"])
        one = contents_of(tmp_path / "p.html")["evaluations"][0]
        assert one["metrics"][one["main"][0]]["name"] == "root"
        assert one["timeline"]["rules"] == ["root"]

    def test_one_system_and_one_track_are_enough(self, tmp_path, visit):
        group = make_group(np.full((1, 1, 1), 0.25))
        write_page(write_store(tmp_path / "s.zarr", {"chord": group}), tmp_path / "p.html")
        page = visit(tmp_path / "p.html")
        assert "1 system  ·  1 track  ·" in page.locator("header").inner_text()
        assert page.locator("#leaderboard td.strong").inner_text() == "0.2500"


class TestTimelines:
    def test_all_tracks_of_a_small_store(self, stored, tmp_path):
        assert write_page(stored, tmp_path / "p.html").tracks == 6

    @pytest.mark.parametrize(("wanted", "tracks"), [("all", 6), ("worst", 6), ("none", 0), (2, 2), ("0", 0)])
    def test_as_many_as_are_asked_for(self, stored, tmp_path, wanted, tracks):
        assert write_page(stored, tmp_path / "p.html", timelines=wanted).tracks == tracks

    @pytest.mark.parametrize("wanted", ["some", "-1", "1.5", ""])
    def test_other_wishes_are_errors(self, stored, tmp_path, wanted):
        with pytest.raises(QueryError, match="choose one of auto, all, worst, none, or a number"):
            write_page(stored, tmp_path / "p.html", timelines=wanted)

    def test_where_the_annotations_are_gone_the_page_says_so(self, stored, tmp_path, visit):
        shutil.rmtree(tmp_path / "ref")
        report = write_page(stored, tmp_path / "p.html")
        assert report.tracks == 0
        assert "matches nothing" in report.notes[0]
        page = visit(tmp_path / "p.html")
        page.locator("#tracks button.link").first.click()
        page.wait_for_selector("dialog[open]")
        assert "cannot be found" in page.locator("dialog").inner_text()
        assert page.locator("dialog tbody tr").count() == 2

    def test_where_they_were_moved_the_root_tells(self, stored, tmp_path):
        moved = tmp_path / "moved"
        moved.mkdir()
        for name in ("ref", "est"):
            shutil.move(tmp_path / name, moved / name)
        assert write_page(stored, tmp_path / "p.html").tracks == 0
        assert write_page(stored, tmp_path / "p.html", root=moved).tracks == 6
        gone = write_page(stored, tmp_path / "p.html", root=tmp_path / "nowhere")
        assert gone.notes == ("The folder of the annotations is gone; name the one where they are now with --root.",)

    def test_a_store_without_a_pipeline_has_none(self, tmp_path):
        report = write_page(write_store(tmp_path / "s.zarr", {"chord": random_group(2, 3, 1)}), tmp_path / "p.html")
        assert report.notes == ("The store does not say which pipeline made it.",)

    def test_a_file_that_broke_since_is_said_and_nothing_else_suffers(self, stored, tmp_path):
        (tmp_path / "est" / "ada" / "t00.lab").write_bytes(b"\xff\xfe\x00")
        write_page(stored, tmp_path / "p.html")
        contents = contents_of(tmp_path / "p.html")
        track = json.loads(block_of(tmp_path / "p.html", dict(contents["timelines"])["t00"]))
        (_, told), *_ = track["evaluations"]
        assert isinstance(told["estimates"][0], str)
        assert told["evidence"][0][0] == []
        assert told["evidence"][0][1][0] is not None


class TestWithoutReferences:
    """Pages about test sets that are not public."""

    @pytest.fixture
    def hidden(self, tmp_path: Path) -> Path:
        """Labels and times that only the references have, one of them in a message."""
        pipeline = write_dataset(tmp_path, tracks=3)
        for track in range(3):
            file = tmp_path / "ref" / f"t{track:02d}.lab"
            file.write_text(file.read_text() + "70.123\t77.777\tGb:minmaj7\n")
        (tmp_path / "ref" / "t01.lab").write_text("0.0\t4.0\tSECRET\n")
        pipeline.write_text(pipeline.read_text().replace("store:", "    on_error: ignore\nstore:"))
        mirflow.run(pipeline)
        return tmp_path / "store.zarr"

    @staticmethod
    def everything(page: Path) -> str:
        blocks = re.findall(r'id="block-(\d+)"', page.read_text())
        parts = [block_of(page, int(number)).decode("latin-1") for number in blocks]
        return "\n".join([json.dumps(contents_of(page)), *parts])

    def test_no_reference_annotation_is_in_the_file(self, hidden, tmp_path):
        whole, page = tmp_path / "whole.html", tmp_path / "p.html"
        write_page(hidden, whole)
        assert all(secret in self.everything(whole) for secret in ("Gb:minmaj7", "SECRET"))
        result = CliRunner().invoke(cli, ["report", str(hidden), "-o", str(page), "--without-references"])
        assert result.exit_code == 0
        assert not any(secret in self.everything(page) for secret in ("Gb:minmaj7", "SECRET"))
        for name, number in contents_of(page)["timelines"]:
            track = json.loads(block_of(page, number))
            (_, told), *_ = track["evaluations"]
            assert (told["references"], told["evidence"]) == ([], [])
            assert len(track["annotations"]) == 2, name

    def test_estimates_are_shown_and_heard_and_it_is_said_why_nothing_is_judged(self, hidden, tmp_path, visit):
        write_page(hidden, tmp_path / "p.html", references=False)
        page = visit(tmp_path / "p.html")
        page.locator("#tracks button.link").first.click()
        page.wait_for_selector("dialog[open]")
        assert sorted(page.locator("dialog .lanename b").all_inner_texts()) == ["ada", "bob"]
        assert "nothing is judged, as this page was written without references" in page.locator(".marks").inner_text()
        page.locator("dialog button.play").click()
        assert page.locator("dialog button.play").inner_text() == "Stop"

    def test_annotators_who_are_scored_against_each_other_are_references_too(self, tmp_path):
        rng = np.random.default_rng(2)
        for name in ("ann", "ben"):
            write_lab(tmp_path / "by" / name / "t.lab", rng)
        (tmp_path / "p.yaml").write_text(
            "name: x\nevaluations:\n  - task: chord\n"
            "    reference: {path: 'by/{annotator}/{track}.lab', combine: each}\n"
            f"    estimates: 'by/{{system}}/{{track}}.lab'\nstore: {tmp_path / 's.zarr'}\n"
        )
        mirflow.run(tmp_path / "p.yaml")
        write_page(tmp_path / "s.zarr", tmp_path / "p.html", references=False)
        contents = contents_of(tmp_path / "p.html")
        track = json.loads(block_of(tmp_path / "p.html", contents["timelines"][0][1]))
        (_, told), *_ = track["evaluations"]
        assert told["estimates"] == ["left out: it is a reference"] * 2
        assert track["annotations"] == []


class TestSize:
    def test_a_track_that_is_too_large_is_left_out_and_the_others_are_not(self, stored, tmp_path, monkeypatch):
        rng = np.random.default_rng(1)
        for side in ("ref", "est/ada", "est/bob"):
            write_lab(tmp_path / side / "t01.lab", rng, segments=2_000)
        whole = write_page(stored, tmp_path / "whole.html", timelines="all")
        monkeypatch.setattr("mirflow.report.page.html.BYTES", 10_000)
        report = write_page(stored, tmp_path / "p.html")
        assert (whole.tracks, report.tracks) == (6, 5)
        assert report.notes[-1] == "The timeline of 1 more track would make the page larger than it should be."
        places = dict(contents_of(tmp_path / "p.html")["timelines"])
        assert set(places) == {"t00", "t02", "t03", "t04", "t05"}
        assert all(json.loads(block_of(tmp_path / "p.html", place))["annotations"] for place in places.values())
        assert whole.size - report.size > 10_000


def empty(kind: str) -> Annotation:
    """An annotation of a kind without anything in it."""
    schema = KINDS[kind]
    columns = {one.name: np.zeros(0) for one in schema.variables if one.dtype == "float64"}
    labels = [] if any(one.name == "label" for one in schema.variables) else None
    inner = tuple(np.zeros(0, dtype=np.int64) for _ in schema.dims[1:])
    return Annotation(kind, columns, labels, inner)


class TestEncoding:
    def test_the_evidence_is_that_of_explain(self):
        from mirflow.metrics.base import get_task

        times = np.array([0.0, 2.0, 3.0, 5.0])
        reference = Annotation("intervals", {"start": times[:-1], "end": times[1:]}, ["C", "G", "N"])
        estimate = Annotation("intervals", {"start": times[:1], "end": times[-1:]}, ["C"])
        rules = get_task("chord").convention()
        found = rules.explain(reference, estimate, *rules.select(["majmin"]))
        verdicts: dict[str, int] = {}
        packed = encode_evidence(found, "intervals", verdicts)
        assert packed == {"s": [0, 2000], "n": [2000, 3000], "v": [0, 1]}
        assert list(verdicts) == ["right", "wrong"]

    def test_marks_keep_what_is_missing(self):
        columns = {
            "reference": np.array([1.0, np.nan]),
            "estimate": np.array([1.0204, 3.0]),
            "verdict": np.array(["hit", "extra"]),
        }
        assert encode_evidence(columns, "events", {}) == {"r": [1000, None], "e": [1020, 3000], "v": [0, 1]}

    def test_without_a_time_axis_evidence_is_text(self):
        columns = {"reference": np.array([120.0]), "verdict": np.array(["right"])}
        assert encode_evidence(columns, "tempo", {}) == {"x": [[["reference", "120"], ["verdict", "right"]]]}

    def test_pitches_are_cents_with_a_sign_for_voicing(self):
        series = Annotation(
            "series", {"time": np.array([0.0, 0.01, 0.02]), "frequency": np.array([440.0, 0.0, -880.0])}
        )
        assert encode(series, "melody", PageLabels()) == {"k": "series", "t": [0, 10, 10], "p": [6900, 0, -8100]}

    def test_nested_counts_fit_after_something_was_left_out(self):
        columns = {"start": np.array([0.0, np.nan, 1.0]), "end": np.array([1.0, 1.0, np.inf])}
        levels = Annotation("hierarchy", columns, ["a", "b", "c"], (np.array([2, 1]),))
        assert encode(levels, "hierarchy", PageLabels()) == {
            "k": "hierarchy",
            "s": [0],
            "n": [1000],
            "c": [[1, 0]],
            "l": [0],
        }

    def test_frames_of_several_pitches(self):
        frames = Annotation(
            "multipitch",
            {"time": np.array([0.0, 0.1]), "frequency": np.array([440.0, 220.0])},
            None,
            (np.array([2, 0]),),
        )
        assert encode(frames, "multipitch", PageLabels()) == {
            "k": "multipitch",
            "t": [0, 100],
            "c": [[2, 0]],
            "p": [6900, 5700],
        }

    def test_a_ranking_shows_its_first_items_and_says_how_many_more_there_are(self):
        names = [f"item {place}" for place in range(ITEMS + 30)]
        ranking = Annotation("ranking", {"value": np.linspace(1, 0, len(names))}, names)
        found = encode(ranking, "retrieval", PageLabels())
        assert (len(found["l"]), len(found["v"]), found["o"]) == (ITEMS, ITEMS, 30)
        assert "o" not in encode(Annotation("labels", {}, names[:3]), "tagging", PageLabels())

    def test_a_kind_without_a_drawing_of_its_own_is_drawn_as_moments(self):
        notes = Annotation("following", {"time": np.array([0.5, 1.5]), "position": np.array([0.0, 1.0])})
        assert encode(notes, "score_following", PageLabels()) == {"k": "events", "t": [500, 1000]}

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_kind_has_a_place_in_the_page(self, kind):
        found = encode(empty(kind), KINDS[kind].tasks[0], PageLabels())
        assert ("t" in found or "s" in found) == (kind not in TIMELESS)

    def test_keys_and_chords_sound_and_other_labels_do_not(self):
        vocabulary = PageLabels()
        for label, task in (
            ("A minor", "key"),
            ("A:min", "chord"),
            ("H:moll", "chord"),
            ("X", "key"),
            ("chorus", "segment"),
        ):
            vocabulary.codes([label], task)
        assert vocabulary.entries() == [
            ["A minor", 9, 0b10001001, 0],
            ["A:min", 9, 0b10001001, 0],
            ["H:moll", -1, 0, -1],
            ["X", -1, 0, -1],
            ["chorus"],
        ]


class TestOrder:
    def test_the_worst_and_the_most_disputed_take_turns(self):
        score = np.array([[0.9, 0.1, 0.5, 0.0], [0.9, 0.2, 0.5, 1.0]])[..., np.newaxis]
        assert order_tracks(as_scores(make_group(score)), 0) == [1, 3, 2, 0]

    def test_lower_may_be_better(self):
        score = np.array([[1.0, 9.0, 5.0]])[..., np.newaxis]
        board = as_scores(make_group(score, orientation=["lower"], standard=["mean"]))
        assert order_tracks(board, 0)[0] == 1

    def test_tracks_without_any_score_come_last(self):
        score = np.array([[np.nan, 0.5]])[..., np.newaxis]
        assert order_tracks(as_scores(make_group(score)), 0)[0] == 1

    def test_the_main_metric_is_the_one_that_the_field_looks_at(self):
        board = as_scores(random_group(2, 2, 3, metrics=["root", "f_measure@0.5", "majmin"]))
        assert names_of(board, "metric")[main_metrics(board)[0]] == "majmin"
        assert names_of(board, "metric")[main_metrics(board, ["root"])[0]] == "root"


class TestStanding:
    @pytest.mark.parametrize("systems", [3, 12])
    def test_letters_come_from_the_same_test_however_many_systems_there_are(self, systems):
        board = as_scores(random_group(systems, 20, 1))
        found = standings(board, [0])[0]
        compared = compare(board, Question("majmin", exact=True), replicates=2000, sizes=False)
        assert list(found.letters) == compared.letters[:, 0].tolist()
        assert "not told apart at 0.05 (permutation test, max-T, n = 20)" in found.how
        assert np.isfinite([found.low, found.high]).all()

    def test_few_tracks_have_neither_intervals_nor_letters_and_two_sentences(self):
        found = standings(as_scores(random_group(3, 5, 1)), [0])[0]
        assert found.letters == ()
        assert np.isnan([found.low, found.high]).all()
        assert found.how == (
            "No interval: at 95 % it takes 6 tracks or more. "
            "No letters: so few units cannot give a corrected p-value below 0.05 (permutation test, max-T, n = 5)."
        )


class TestScript:
    def test_modules_come_after_those_that_they_need(self):
        order = order_modules({name: read_asset(f"{name}.js") for name in _module_names()})
        assert order.index("dom") < order.index("timeline") < order.index("main")
        assert sorted(order) == sorted(_module_names())

    def test_circles_are_refused(self):
        with pytest.raises(ValueError, match="import each other: main -> a -> main"):
            order_modules({"main": 'import { a } from "./a.js";\n', "a": 'import { b } from "./main.js";\n'})

    def test_no_import_or_export_is_left(self):
        assert not re.search(r"^(import|export) ", script(), re.MULTILINE)

    def test_every_module_is_short(self):
        assert max(len(read_asset(f"{name}.js").splitlines()) for name in _module_names()) <= 300


def _module_names() -> list[str]:
    from importlib.resources import files

    folder = files("mirflow.report.page").joinpath("assets")
    return [one.name.removesuffix(".js") for one in folder.iterdir() if one.name.endswith(".js")]


class TestCommand:
    def test_it_says_what_it_wrote(self, stored, tmp_path):
        path = tmp_path / "page.html"
        result = CliRunner().invoke(cli, ["report", str(stored), "-o", str(path)], catch_exceptions=False)
        assert result.exit_code == 0
        assert re.fullmatch(
            rf"{re.escape(str(path))} written: 0\.\d MB, 6 tracks with a timeline \(\d+\.\d s\)\n", result.stderr
        )

    def test_options_reach_the_page(self, stored, tmp_path):
        path = tmp_path / "page.html"
        options = ["--timelines", "2", "-m", "root", "--title", "Autumn", "--root", str(tmp_path)]
        CliRunner().invoke(cli, ["report", str(stored), "-o", str(path), *options], catch_exceptions=False)
        contents = contents_of(path)
        assert contents["title"] == "Autumn"
        assert len(contents["timelines"]) == 2
        assert "2 of 6 tracks" in contents["evaluations"][0]["timeline"]["note"]


def test_equal_blocks_stand_once():
    blocks = CompressedParts()
    ones = np.ones(5)
    assert [blocks.add_floats(ones), blocks.add_floats(ones * 2), blocks.add_floats(ones)] == [0, 1, 0]


class TestSomeTracks:
    """A page about the tracks for which an expression holds."""

    @pytest.fixture
    def campaign(self, tmp_path: Path) -> Path:
        about = {"genre": ["Rock", "Pop", "Rock", "Pop", "Rock", "Pop"]}
        chords = random_group(3, 6, 2, seed=1, track_meta=about)
        return write_store(tmp_path / "c.zarr", {"chord": chords, "key": random_group(3, 6, 2, seed=2)})

    def test_has_these_alone_and_says_so(self, campaign, tmp_path, visit):
        made = write_page(campaign, tmp_path / "p.html", where="genre == 'Rock'")
        contents = contents_of(tmp_path / "p.html")
        (chord,) = contents["evaluations"]
        assert chord["tracks"] == ["t0", "t2", "t4"]
        assert contents["where"] == "genre == 'Rock'"
        (note,) = made.notes[:1]
        assert note.startswith("key: left out: ")
        page = visit(tmp_path / "p.html")
        assert "only tracks where genre == 'Rock'" in page.inner_text("#head")
        assert "3 tracks" in page.inner_text("#head")
        assert "where genre == 'Rock'" in page.inner_text("#provenance")
        assert "where genre == 'Rock'" in page.title()

    def test_figures_are_those_of_a_query(self, campaign, tmp_path, visit):
        write_page(campaign, tmp_path / "p.html", where="genre == 'Rock'")
        with xr.open_datatree(campaign, engine="zarr", chunks=None) as tree:
            asked = tree.mirflow.query("majmin", group="chord", where="genre == 'Rock'")
        shown = figures(visit(tmp_path / "p.html"))
        names = asked["system"].values.tolist()
        assert {name: shown[name][0] for name in names} == {
            name: pytest.approx(asked["value"].sel(system=name).item(), rel=1e-12) for name in names
        }

    def test_of_tracks_that_are_not_there_is_refused(self, campaign, tmp_path):
        for where, message in [
            ("genre == 'Jazz'", "no track"),
            ("gener == 'Rock'", "did you mean 'genre'"),
            ("genre ==", "not an expression"),
        ]:
            with pytest.raises((QueryError, UnknownNameError), match=message):
                write_page(campaign, tmp_path / "p.html", where=where)
        assert not (tmp_path / "p.html").exists()

    def test_is_made_on_the_command_line(self, campaign, tmp_path):
        words = ["report", str(campaign), "-o", str(tmp_path / "p.html"), "--where", "genre == 'Pop'"]
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == 0, result.output
        assert len(contents_of(tmp_path / "p.html")["evaluations"][0]["tracks"]) == 3
