"""Figures of stores on disk: confusion matrices, timelines, the accessor and the command."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml
from click.testing import CliRunner, Result
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.legend import Legend

import mirflow
from mirflow.annotations.schema import TASK_KINDS
from mirflow.cli import cli
from mirflow.errors import FigureError, UnknownNameError
from mirflow.metrics.base import tasks
from mirflow.reports import figures
from mirflow.reports.drawing import GREY, RIGHT, WRONG, form_of
from mirflow.reports.figures import Plots
from mirflow.reports.figures.lanes import Lanes, draw, draw_verdicts
from mirflow.reports.figures.page_pictures import draw_standings, draw_track
from mirflow.reports.standings import ALIKE, LEADER, WORSE, Standing, Standings

from ...datasets import score_files, write_dataset, write_patterns, write_pipeline
from ...groups import random_group
from ...samples import empty, sample
from .looking import cut_off, overlapping, words


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chords of two systems, with a confusion matrix."""
    folder = tmp_path_factory.mktemp("chords")
    write_dataset(folder, tracks=3)
    (folder / "est" / "bob" / "t01.lab").unlink()
    mirflow.run(write_pipeline(folder, metrics="[majmin, seg, confusion@majmin]"), scheduler="serial")
    return folder / "store.zarr"


@pytest.fixture(scope="module")
def tree(store: Path) -> xr.DataTree:
    return mirflow.open_store(store)


class TestConfusion:
    def test_rows_are_shares_of_the_reference(self, tree: xr.DataTree) -> None:
        ax = tree.mirflow.plot.confusion(system="ada")
        image = ax.images[0].get_array()
        value = tree.mirflow.query("confusion", system="ada", group="chord")["value"].squeeze()
        names = [one.get_text() for one in ax.get_yticklabels()]
        part = value.sel(ref_class=names, est_class=names).values
        assert part.sum() == pytest.approx(value.sum().item())  # every class that occurs is shown
        whole = part.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(image.filled(-1), np.where(whole > 0, part / np.where(whole > 0, whole, 1), -1))
        assert "sum over 3 tracks [s]; no score is missing; rows add up to 100 %" in words(ax)

    def test_tracks_are_counted_where_classes_are_names(self, tree: xr.DataTree) -> None:
        ds = tree.chord.to_dataset()[["score", "weight", "status", "duration"]]
        counts = np.zeros((*ds["status"].shape, 2, 3))
        counts[..., 0, 0] = counts[..., 1, 2] = 1
        ds["confusion"] = (("system", "track", "ref_class", "est_class"), counts)
        ds = ds.assign_coords(ref_class=["jazz", "rock"], est_class=["jazz", "rock", "(none)"])
        ds.attrs |= {"task": "classification", "convention": "mirex"}
        ax = figures.confusion(ds, system="ada")
        assert [one.get_text() for one in ax.get_yticklabels()] == ["jazz", "rock", "(none)"]
        np.testing.assert_array_equal(ax.images[0].get_array().filled(-1), [[1, 0, 0], [0, 0, 1], [-1, -1, -1]])
        assert "sum over 3 tracks; no score is missing" in words(ax)

    def test_small_classes_are_put_together(self, tree: xr.DataTree) -> None:
        ax = figures.confusion(tree, "confusion@majmin", system="ada", most=3)
        assert [one.get_text() for one in ax.get_yticklabels()][3] == "(rest)"
        np.testing.assert_allclose(ax.images[0].get_array().sum(axis=1)[:3], 1)
        assert cut_off(ax) == []

    def test_missing_tracks_are_reported(self, tree: xr.DataTree) -> None:
        shown = words(figures.confusion(tree, system="bob"))
        assert "sum over 2 of 3 tracks [s]; 1 track without a score (each system over" in shown

    def test_what_is_no_confusion(self, tree: xr.DataTree) -> None:
        for options, message in (
            ({}, "a confusion matrix shows one system; choose one of: ada, bob"),
            ({"system": "ada", "most": 1}, "two classes or more, not 1"),
        ):
            with pytest.raises(FigureError, match=message):
                figures.confusion(tree, **options)
        with pytest.raises(UnknownNameError, match="unknown metric 'confusoin'; did you mean 'confusion'"):
            figures.confusion(tree, "confusoin", system="ada")
        with pytest.raises(FigureError, match=r"the scores hold no confusion; ask for it in the pipeline"):
            figures.confusion(random_group(1, 2, 1))


class TestTimeline:
    def test_the_band_is_right_as_long_as_the_score_says(self, tree: xr.DataTree) -> None:
        ax = figures.timeline(tree, "t00", "majmin")
        bands = [one for one in ax.collections if isinstance(one, PolyCollection) and one.get_paths()]
        lengths = {colour: self.seconds(bands, colour) for colour in (RIGHT, WRONG)}
        cell = tree.chord.to_dataset().sel(track="t00", metric="majmin")
        right = (cell.score * cell.weight).sum().item()
        assert lengths[RIGHT] == pytest.approx(right)
        assert lengths[WRONG] == pytest.approx(cell.weight.sum().item() - right)

    @staticmethod
    def seconds(bands: list[PolyCollection], colour: str) -> float:
        from matplotlib.colors import to_rgba

        of_colour = [one for one in bands if tuple(one.get_facecolor()[0]) == to_rgba(colour)]
        return sum(np.ptp(path.vertices[:, 0]) for one in of_colour for path in one.get_paths())

    def test_lanes_are_the_reference_and_the_systems_best_first(self, tree: xr.DataTree) -> None:
        ax = tree.mirflow.plot.timeline("t00", "majmin")
        score = tree.chord.to_dataset().score.sel(track="t00", metric="majmin")
        best = [str(name) for name in score.system.values[np.argsort(-score.values)]]
        assert [one.get_text() for one in ax.get_yticklabels()] == ["reference", *best]
        shown = words(ax)
        assert all(f"{value:.3f}" in shown for value in score.values.tolist())
        assert "Major/minor: right (blue), wrong (vermilion, hatched), thin where nothing is judged" in shown
        assert cut_off(ax) == []

    def test_several_metrics_are_beside_each_system_and_the_first_judges(self, tree: xr.DataTree) -> None:
        ax = figures.timeline(tree, "t00", ["seg", "majmin"])
        cell = tree.chord.to_dataset().sel(track="t00")
        shown = words(ax)
        for metric in ("seg", "majmin"):
            assert all(f"{value:.3f}" in shown for value in cell.score.sel(metric=metric).values.tolist())
        assert {"seg", "majmin"} <= {text.get_text().lower() for text in ax.texts}
        bands = [one for one in ax.collections if isinstance(one, PolyCollection) and one.get_paths()]
        own = cell.sel(metric="seg")
        assert self.seconds(bands, RIGHT) == pytest.approx((own.score * own.weight).sum().item())
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["right", "wrong", "not judged"]
        assert cut_off(ax) == []

    def test_segments_may_lie_below_and_the_expected_system_is_bold(self, tree: xr.DataTree, tmp_path: Path) -> None:
        (tmp_path / "form.lab").write_text("0 4 intro\n4 9 verse\n")
        ax = figures.timeline(tree, "t00", "majmin", below=str(tmp_path / "form.lab"), expected="seg")
        names = ax.get_yticklabels()
        assert names[-1].get_text() == "form"
        assert {"intro", "verse"} <= {text.get_text() for text in ax.texts}
        seg = tree.chord.to_dataset().score.sel(track="t00", metric="seg")
        bold = [one.get_text() for one in names if one.get_fontweight() == "bold"]
        assert bold == [str(seg.system.values[seg.values.argmax()])]
        assert "bold: expected to be the best by seg" in words(ax)
        assert figures.timeline(tree, "t00", "majmin", below="chord").get_yticklabels()[-1].get_text() == "chord"
        with pytest.raises(FigureError, match="below 'form': neither a file nor an evaluation of this store"):
            figures.timeline(tree, "t00", below="form")

    def test_systems_of_labelled_stores_are_drawn_together(self, store: Path) -> None:
        ax = figures.timeline({"old": store, "new": store}, "t00", "majmin", system="*/ada")
        assert [one.get_text() for one in ax.get_yticklabels()] == ["reference", "old/ada", "new/ada"]

    def test_notes_stand_above_the_band_of_their_verdicts(self, tmp_path: Path) -> None:
        for side, end in (("r", 1.0), ("e", 0.5)):
            rows = "".join(f"{start},{start + end},{pitch}\n" for start, pitch in enumerate((110, 220, 440, 880)))
            (tmp_path / f"{side}.csv").write_text(f"start,end,pitch\n{rows}")
        evaluation = {"task": "transcription", "reference": "r.csv", "estimates": "e.csv", "systems": ["ours"]}
        pipeline = {
            "name": "n",
            "store": str(tmp_path / "n.zarr"),
            "evaluations": [evaluation | {"metrics": ["frame_f_measure"]}],
        }
        (tmp_path / "n.yaml").write_text(yaml.safe_dump(pipeline))
        mirflow.run(tmp_path / "n.yaml")
        ax = figures.timeline(tmp_path / "n.zarr", None, "frame_f_measure")
        drawn = [one for one in ax.collections if isinstance(one, LineCollection)]
        lowest = max(float(line[:, 1].max()) for one in drawn for line in one.get_segments())
        bands = [one for one in ax.collections if isinstance(one, PolyCollection) and one.get_paths()]
        assert bands
        assert lowest < min(float(path.vertices[:, 1].min()) for one in bands for path in one.get_paths())

    def test_an_estimate_that_is_not_there_is_noted_to_be_missing(self, tree: xr.DataTree) -> None:
        assert "no estimate" in words(figures.timeline(tree, "t01", "majmin"))

    def test_a_dataset_of_the_store_knows_its_files_too(self, tree: xr.DataTree) -> None:
        assert figures.timeline(tree["chord"].to_dataset(), system="ada", start=1, end=5).get_xlim() == (1, 5)

    def test_notes_have_a_legend_and_the_reference_no_colour_of_a_verdict(self, tmp_path: Path) -> None:
        for name, rows in (("ref", "0 1 220\n1 2 330\n"), ("est/x", "0 1 220\n3 4 440\n")):
            (tmp_path / name).mkdir(parents=True)
            (tmp_path / name / "a.txt").write_text(rows)
        ax = figures.timeline(
            score_files(tmp_path, "transcription", "ref/{track}.txt", "est/{system}/{track}.txt"), "a"
        )
        legend = ax.get_legend()
        assert [text.get_text() for text in legend.get_texts()] == ["hit", "extra", "missed", "reference"]
        colours = {
            text.get_text(): line.get_color() for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True)
        }
        drawn = [one for one in ax.collections if isinstance(one, LineCollection) and len(one.get_segments())]
        lanes = {round(float(one.get_segments()[0][0, 1])): to_hex(one.get_color()[0]) for one in drawn}
        assert lanes[0] == colours["reference"] not in (colours["hit"], colours["extra"])
        # Beside the title of the axis, on nothing else.
        assert not cut_off(ax)

    def test_matched_patterns_share_a_colour_and_unmatched_ones_are_grey(self, tmp_path: Path) -> None:
        write_patterns(tmp_path)
        store = score_files(tmp_path, "pattern", "ref/{track}.txt", "est/{system}/{track}.txt")
        ax = figures.timeline(store, "a", width="column")
        reference, estimate = (
            dict(zip(one.get_offsets()[:, 0].tolist(), map(to_hex, one.get_facecolor()), strict=True))
            for one in ax.collections
        )
        assert len({reference[0.0], reference[4.0]}) == 2
        # The first estimated pattern is the second of the reference; the other is none of them.
        assert estimate == {4.0: reference[4.0], 5.0: reference[5.0], 20.0: GREY.lower(), 22.0: GREY.lower()}
        legend = ax.get_legend()
        assert [text.get_text() for text in legend.get_texts()] == ["match: same colour", "no match"]
        assert overlapping(ax) == cut_off(ax) == []
        assert not cut_off(ax)

    def test_patterns_that_a_named_metric_does_not_match_are_grey(self, tmp_path: Path) -> None:
        write_patterns(tmp_path)
        store = score_files(tmp_path, "pattern", "ref/{track}.txt", "est/{system}/{track}.txt")
        _, estimate = figures.timeline(store, "a", "three_layer_f_measure").collections
        assert {to_hex(colour) for colour in estimate.get_facecolor()} == {GREY.lower()}

    def test_labels_without_room_are_in_the_legend_below_a_narrow_timeline(self, tmp_path: Path) -> None:
        for side, text in (("ref", "0 1 introduction\n1 60 verse\n60 61 interlude\n"), ("est/x", "0 61 verse\n")):
            (tmp_path / side).mkdir(parents=True)
            (tmp_path / side / "a.lab").write_text(text)
        store = score_files(tmp_path, "segment", "ref/{track}.lab", "est/{system}/{track}.lab")
        ax = figures.timeline(store, "a", width="column")
        legends = [one for one in ax.get_children() if isinstance(one, Legend)]
        ax.figure.canvas.draw()
        legends.sort(key=lambda one: -one.get_window_extent().y0)
        entries = [text.get_text() for one in legends for text in one.get_texts()]
        assert entries == ["hit", "extra", "missed", "introduction", "interlude"]
        assert len(legends) > 1
        assert cut_off(ax) == overlapping(ax) == []

    def test_type_is_never_smaller_than_six_points(self, tmp_path: Path) -> None:
        (tmp_path / "ref").mkdir()
        for side in ("ref", "est/x"):
            (tmp_path / side).mkdir(parents=True, exist_ok=True)
            for level, count in (("coarse", 2), ("fine", 9)):
                rows = [f"{20 * at / count} {20 * (at + 1) / count} {'ABCDEFGHI'[at]}" for at in range(count)]
                (tmp_path / side / f"a_{level}.lab").write_text("\n".join(rows) + "\n")
        levels = ["coarse", "fine"]
        reference, estimates = (
            {"path": f"{side}/{{track}}_{{level}}.lab", "levels": levels} for side in ("ref", "est/{system}")
        )
        ax = figures.timeline(score_files(tmp_path, "hierarchy", reference, estimates), "a")
        sizes = {text.get_text(): text.get_fontsize() for text in ax.texts}
        assert set("ABI") <= set(sizes)
        assert min(sizes.values()) >= 6

    def test_what_has_no_timeline(self, tree: xr.DataTree, store: Path, tmp_path: Path) -> None:
        with pytest.raises(UnknownNameError, match="unknown track 't99'"):
            figures.timeline(tree, "t99")
        with pytest.raises(FigureError, match="nothing to show from 5 to 5 s"):
            figures.timeline(tree, "t00", start=5, end=5)
        with pytest.raises(FigureError, match="The store does not say which pipeline made it"):
            figures.timeline(random_group(2, 3, 1))
        with pytest.raises(FigureError, match="The folder of the annotations is gone"):
            figures.timeline(tree, "t00", root=tmp_path / "gone")

    def test_annotations_that_were_moved_are_found_under_their_new_root(self, store: Path, tmp_path: Path) -> None:
        shutil.copytree(store.parent / "ref", tmp_path / "ref")
        shutil.copytree(store.parent / "est", tmp_path / "est")
        assert figures.timeline(store, "t00", root=tmp_path)

    @pytest.mark.parametrize("chosen", [sample, lambda task, _: empty(task)], ids=["some", "empty"])
    @pytest.mark.parametrize("task", [task for task in tasks() if TASK_KINDS[task] != "audio"])
    def test_the_annotations_of_every_task_can_be_drawn(self, task: str, chosen: Any) -> None:
        from matplotlib import pyplot

        annotation = chosen(task, np.random.default_rng(1))
        ax = pyplot.figure().add_subplot()
        names = {name: place for place, name in enumerate(dict.fromkeys(annotation.labels or []))}
        before = len(ax.get_children())
        draw(Lanes(ax, 0.0, 100.0, 300.0, (5.0, 10.0), names, task == "chord"), annotation, 0.0)
        assert len(ax.get_children()) > before or not len(annotation)


MIREX = Path(__file__).parents[3] / "pipelines" / "mirex-demo.yaml"
LISTS = {"AMS": "similarity", "SMS": "similarity", "QBSH": "retrieval"}
WORDS = ("AMC", "ATC", "AKF", "ATE")


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What has no figure of its own elsewhere, of the miniature of a campaign."""
    folder = tmp_path_factory.mktemp("campaign")
    whole = yaml.safe_load(MIREX.read_text())
    chosen = [one for one in whole["evaluations"] if one["name"] in ("SF", *LISTS, *WORDS)]
    (folder / "some.yaml").write_text(yaml.safe_dump({**whole, "evaluations": chosen}))
    mirflow.run(folder / "some.yaml", root=MIREX.with_suffix(""), store=folder / "store.zarr", scheduler="serial")
    return folder / "store.zarr"


class TestTimelinesOfMirex:
    @pytest.mark.slow
    def test_a_followed_score_is_drawn_by_time_and_position(self, campaign: Path) -> None:
        ax = figures.timeline(campaign, "piece2", group="SF", system="alder")
        played, reported = (one.get_offsets() for one in ax.collections)
        assert len(played) > 50
        assert len(reported) > 50
        assert 30 < played[:, 0].max() <= ax.get_xlim()[1] < 40  # the axis ends with the music
        assert (np.diff(played[:, 1]) <= 0).all()  # the y-axis points down: later in the score is higher

    def test_an_aligned_note_is_no_error(self, campaign: Path) -> None:
        ax = figures.timeline(campaign, "piece2", "overall_precision", group="SF", system="alder")
        marks = {line.get_marker(): line.get_xdata() for line in ax.lines}
        score = mirflow.open_store(campaign).SF.score.sel(track="piece2", system="alder", metric="overall_precision")
        notes = len(marks["|"]) + len(marks["x"]) + len(marks["o"])
        assert notes == len(ax.collections[0].get_offsets())
        assert len(marks["|"]) / notes == pytest.approx(score.item(), abs=1e-3)
        assert "aligned (blue), misaligned or of no note (vermilion crosses), missed (circles)" in words(ax)

    @pytest.mark.parametrize(("group", "task"), LISTS.items())
    def test_lists_have_no_time(self, group: str, task: str, campaign: Path) -> None:
        message = f"{group}: {task} compares lists, which have no time and so no timeline; `mirflow report` writes"
        with pytest.raises(FigureError, match=message):
            figures.timeline(campaign, group=group)

    @pytest.mark.parametrize("group", WORDS)
    def test_what_is_noted_in_words_has_no_axis(self, group: str, campaign: Path) -> None:
        ax = figures.timeline(campaign, group=group)
        assert ax.get_xticks().tolist() == []
        assert ax.get_xlabel() == ""


class TestPagePictures:
    STANDINGS = Standings(
        [
            Standing("oak", 0.9, 0.85, 0.95, LEADER),
            Standing("elm", 0.88, 0.8, 0.93, ALIKE),
            Standing("fir", 0.5, 0.4, 0.6, WORSE),
            Standing("ash", float("nan"), float("nan"), float("nan"), ""),
        ],
        *("", 1, 0.95, 9, 9),
    )

    def test_the_lanes_of_a_track_are_text_in_svg_and_as_wide_as_previews_in_png(self, tree: xr.DataTree) -> None:
        ds = tree.chord.to_dataset()
        drawn = draw_track(ds, "chord", "t00", "svg")
        assert drawn is not None
        assert {">reference<", ">ada<", ">bob<", ">t00<"} <= set(re.findall(r">\w+<", drawn.decode()))
        png = draw_track(ds, "chord", "t00")
        assert png is not None
        assert int.from_bytes(png[16:20], "big") == 1200

    def test_standings_are_drawn_with_intervals_and_systems_without_a_score_left_out(self) -> None:
        drawn = draw_standings(self.STANDINGS, "Chords", "Major/minor", "svg")
        assert drawn is not None
        text = drawn.decode()
        assert "0.880 " in text
        assert "Major/minor; oak leads with 0.900. elm is not told apart from it; fir is worse." in text
        assert ">ash<" not in text

    def test_there_is_no_picture_of_what_has_none(self, tree: xr.DataTree) -> None:
        ds = tree.chord.to_dataset()
        assert draw_track(ds, "chord", "gone") is None
        ds.attrs["pipeline"] = ""
        assert draw_track(ds, "chord", "t00") is None
        assert draw_standings(Standings([], "", 1, 0.95, 0, 0), "Nothing") is None

    def test_without_matplotlib_there_is_no_picture_and_no_error(
        self, tree: xr.DataTree, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        assert draw_track(tree.chord.to_dataset(), "chord", "t00") is None
        assert draw_standings(self.STANDINGS, "Chords") is None


class TestVerdicts:
    def evidence(self, **columns: Any) -> dict[str, np.ndarray]:
        return {name: np.asarray(values) for name, values in columns.items()}

    @pytest.mark.parametrize(
        ("kind", "names", "form"),
        [
            ("intervals", "start end reference estimate verdict", "band"),
            ("events", "reference estimate verdict", "marks"),
            ("series", "start end reference_frequency estimate_frequency verdict", "band"),
            ("multipitch", "start end reference_frequency estimate_frequency verdict", "pitches"),
            ("notes", "reference estimate reference_end estimate_end reference_pitch estimate_pitch verdict", "notes"),
            ("tempo", "reference estimate verdict", "words"),
            ("key", "reference estimate relation", "words"),
            ("events", "reference estimate deviation", "nothing"),
        ],
    )
    def test_columns_say_how_evidence_is_drawn(self, kind: str, names: str, form: str) -> None:
        from matplotlib import pyplot

        numbers = np.array([220.0, 330.0, np.nan])
        columns = dict.fromkeys(names.split(), numbers)
        if "start" in columns:
            columns |= {"start": np.array([0.0, 1.0, 2.0]), "end": np.array([1.0, 2.0, 3.0])}
        if "verdict" in columns:
            columns["verdict"] = np.array(["hit", "missed", "extra"])
        if "relation" in columns:
            columns["relation"] = np.array(["fifth"])
        assert form_of(kind, columns) == form
        ax = pyplot.figure().add_subplot()
        before = len(ax.get_children())
        draw_verdicts(Lanes(ax, 0.0, 500.0, 300.0, (5.0, 10.0), {}, False), kind, columns, 0.0)
        assert (len(ax.get_children()) > before) == (form != "nothing")

    def test_hits_misses_and_extra_notes_differ_without_colour(self) -> None:
        from matplotlib import pyplot

        numbers = np.array([1.0, 2.0, 3.0])
        names = ("reference", "estimate", "reference_end", "estimate_end", "reference_pitch", "estimate_pitch")
        columns = dict.fromkeys(names, numbers) | {"reference_end": numbers + 1, "estimate_end": numbers + 1}
        evidence = columns | {"verdict": np.array(["hit", "missed", "extra"])}
        ax = pyplot.figure().add_subplot()
        draw_verdicts(Lanes(ax, 0.0, 9.0, 9.0, (0.0, 10.0), {}, False), "notes", evidence, 0.0)
        styles = {(str(one.get_linestyle()), float(one.get_linewidth()[0])) for one in ax.collections}
        assert len({style for style, _ in styles}) == len({width for _, width in styles}) == 3

    def test_marks_tell_aligned_from_misaligned_and_leave_out_what_nobody_knows(self) -> None:
        from matplotlib import pyplot

        ax = pyplot.figure().add_subplot()
        nan = np.nan
        columns = self.evidence(
            reference=[1.0, 2.0, 3.0, nan, 5.0],
            estimate=[1.1, 2.9, nan, 4.0, 5.0],
            verdict=["aligned", "misaligned", "missed", "extra", "a word of tomorrow"],
        )
        draw_verdicts(Lanes(ax, 0.0, 9.0, 300.0, (0.0, 1.0), {}, False), "following", columns, 0.0)
        shown = {line.get_marker(): line.get_xdata().tolist() for line in ax.lines}
        assert shown == {"|": [1.1], "x": [2.9, 4.0], "o": [3.0]}

    def test_neighbours_with_one_verdict_are_one_stretch(self) -> None:
        from matplotlib import pyplot

        ax = pyplot.figure().add_subplot()
        columns = self.evidence(
            start=[0.0, 1.0, 3.0], end=[1.0, 2.0, 4.0], verdict=["right", "right", "right"], reference=["C"] * 3
        )
        draw_verdicts(Lanes(ax, 0.5, 10.0, 300.0, (0.0, 1.0), {}, False), "intervals", columns, 0.0)
        paths = ax.collections[0].get_paths()
        assert [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in paths] == [(0.5, 2.0), (3.0, 4.0)]


class TestAccessor:
    def test_every_figure_hangs_on_trees_nodes_and_datasets(self, tree: xr.DataTree) -> None:
        every = {kind.draw.__name__ for kind in figures.kinds()}
        assert every == set(figures.__all__) - {
            "FigureKind",
            "Plots",
            "figure",
            "graders",
            "kinds",
            "plot",
            "save",
            "save_caption",
        }
        assert every <= set(vars(Plots))
        for scores in (tree, tree.chord, tree["chord"].to_dataset()):
            assert isinstance(scores.mirflow.plot, Plots)
            assert "Major/minor" in words(scores.mirflow.plot.distributions("majmin"))

    def test_methods_say_what_the_functions_say(self) -> None:
        assert Plots.heatmap.__doc__ == figures.heatmap.__doc__


class TestCommand:
    def plot(self, *arguments: str | Path) -> Result:
        return CliRunner().invoke(cli, ["plot", *map(str, arguments)])

    @pytest.mark.parametrize(
        "kind",
        [
            "distributions --style box",
            "critical-difference --level 0.9",
            "heatmap --order stored",
            "scatter --tie 0.01 --width page",
            "scatter -m majmin -m seg",
            "groups --by track --missing skip",
            "confusion --system ada --most 5 --no-caption",
            "timeline --track t00 --from 1 --to 4",
        ],
    )
    def test_writes_each_kind(self, kind: str, store: Path, tmp_path: Path) -> None:
        name, *options = kind.split()
        found = self.plot(store, name, "-o", tmp_path / "a.svg", *options)
        assert (found.exit_code, found.stdout) == (0, "")
        assert found.stderr == f"{tmp_path / 'a.svg'} written\n"
        assert (tmp_path / "a.svg").read_text().startswith("<?xml")

    @pytest.mark.slow
    def test_the_caption_of_a_pdf_is_in_a_file_beside_it(self, store: Path, tmp_path: Path) -> None:
        found = self.plot(store, "distributions", "-m", "majmin", "-o", tmp_path / "a.pdf")
        assert found.stderr == f"{tmp_path / 'a.pdf'} written, its caption in {tmp_path / 'a.caption.tex'}\n"
        signed, begin, _, included, caption, label, end = (tmp_path / "a.caption.tex").read_text().splitlines()
        assert signed.startswith("% mirflow: chord/majmin;agg=wcsr;")
        assert (begin, included, end) == (r"\begin{figure}", r"\includegraphics{a.pdf}", r"\end{figure}")
        assert caption.startswith(
            r"\caption{Major/minor of each track. Chord estimation, rules of mir\_eval; WCSR over"
        )
        assert "Points: tracks" in caption
        assert "grid" not in caption
        assert label == r"\label{fig:a}"
        for name, option in (("b.pdf", "--caption"), ("c.pdf", "--no-caption"), ("d.png", "--caption")):
            self.plot(store, "distributions", "-m", "majmin", "-o", tmp_path / name, option)
        assert not list(tmp_path.glob("[bcd].caption.tex"))

    def test_only_tracks_for_which_an_expression_holds(self, store: Path, tmp_path: Path) -> None:
        found = self.plot(store, "distributions", "-o", tmp_path / "a.pdf", "--where", "track == 't00'")
        assert found.exit_code == 0, found.output
        message = (tmp_path / "a.caption.tex").read_text()
        assert "where track == 't00'" in message
        assert "over 1 track;" in message

    @pytest.mark.parametrize(("venue", "width"), [("ieee", 3.5), ("ismir", 82 / 25.4), ("tismir", 82 / 25.4)])
    def test_columns_are_those_of_the_venue(self, venue: str, width: float, store: Path, tmp_path: Path) -> None:
        assert self.plot(store, "distributions", "-o", tmp_path / "a.svg", "--for", venue).exit_code == 0
        points = re.search(r'<svg [^>]*?width="([\d.]+)pt"', (tmp_path / "a.svg").read_text())
        assert points is not None
        assert float(points[1]) == pytest.approx(72 * width, abs=0.1)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("scatter -o a.pdf -m majmin -m root -m mirex", "scatter shows 2 metrics at most, not 3 (majmin, root"),
            ("scatter -o a.pdf -m majmin -m MAJMIN", "'majmin' and 'MAJMIN' are the same metric, majmin"),
            ("scatter -o a.pdf -m majmin -m seg --tie 0.1", "not for two metrics"),
            *(
                (f"{kind} -o a.pdf -m majmin -m root", f"{kind} shows one metric, not 2 (majmin, root)")
                for kind in ("distributions", "critical-difference", "heatmap", "tolerance", "groups")
            ),
            ("timeline -o a.pdf" + " -m majmin -m root -m seg" * 3, "timeline shows 8 metrics at most, not 9"),
            ("timeline -o a.pdf --where track=='t00'", "a timeline shows one track: give it with --track"),
            ("scatter -o a.pdf --by genre", "scatter has no option --by; besides the common ones it has: --metric"),
            ("heatmap -o a.jpg", "a.jpg: cannot write .jpg; known: .pdf, .png, .svg"),
            ("timeline -o a.pdf -t t00 -t t01", "a timeline shows one track, not 2"),
            ("heatmap -o a.pdf -m majmim", "unknown metric 'majmim'; did you mean 'majmin'?"),
            ("heatmap -o a.pdf --width wide", "not a width: 'wide'"),
            ("heat -o a.pdf", "unknown kind 'heat'; did you mean 'heatmap'?"),
            (f"{Path(__file__).parent} -o a.pdf", f"no kind follows {str(Path(__file__).parent)!r}; known: agreement"),
        ],
    )
    def test_wrong_options_are_errors(self, arguments: str, message: str, store: Path) -> None:
        found = self.plot(store, *arguments.split())
        assert found.exit_code != 0
        assert message in found.stderr + str(found.exception)


@pytest.mark.slow
def test_the_figures_of_mirex_2013_hold_its_published_ranks(mirex2013_store: Path) -> None:
    scores = mirflow.open_store(mirex2013_store).chord_mirex2013
    ax = scores.mirflow.plot.distributions("majmin")
    order = [one.get_text() for one in ax.get_yticklabels()]
    assert order == ["CB4", "KO1", "CB3", "NMSD2", "NMSD1", "KO2", "CF2", "NG1", "PP3"]
    shown = words(scores.mirflow.plot.critical_difference("majmin", test="friedman"))
    assert "CB4 3.35" in shown
    assert "within 217 tracks" in shown
