"""Which files belong to which track and system: one stray file renames nothing, and names differ in more than form."""

from __future__ import annotations

import unicodedata
import warnings
from pathlib import Path
from typing import Any

import pytest

import mirflow
from mirflow.errors import AnnotationError, MirflowWarning, PipelineError
from mirflow.pipeline import plan_pipeline

CAFE = unicodedata.normalize("NFC", "café")
MAC_CAFE = unicodedata.normalize("NFD", "café")


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("0 1 C\n1 2 G\n")


def planned(folder: Path, reference: str, estimates: str, **more: Any) -> Any:
    pipeline = folder / "p.yaml"
    text = f"name: p\nstore: p.zarr\nevaluations: [{{task: chord, reference: '{reference}', estimates: '{estimates}'"
    pipeline.write_text(text + "".join(f", {key}: {value}" for key, value in more.items()) + "}]\n")
    (plan,) = plan_pipeline(pipeline).plans
    return plan


class TestFilesOfOneCell:
    def test_suffixes_tell_no_systems_apart(self, tmp_path: Path) -> None:
        write(tmp_path, "ref/a.jams", "ref/b.lab", "est/oak/a.lab", "est/oak/b.lab", "est/elm/a.csv", "est/elm/b.txt")
        plan = planned(tmp_path, "ref/{track}.{format}", "est/{system}/{track}.{format}")
        assert (plan.systems, plan.tracks) == (("elm", "oak"), ("a", "b"))
        assert (plan.system_meta, plan.track_meta) == ({}, {})

    def test_a_copy_in_another_format_is_an_error_that_names_both(self, tmp_path: Path) -> None:
        write(tmp_path, "ref/a.lab", "ref/b.lab", "est/oak/a.lab", "est/oak/b.lab", "est/oak/a.txt")
        message = r"two estimates of 'a' by 'oak': est/oak/a\.lab and est/oak/a\.txt; remove one, or .* \{track\}\.lab"
        with pytest.raises(PipelineError, match=message):
            planned(tmp_path, "ref/{track}.lab", "est/{system}/{track}.{format}")
        assert planned(tmp_path, "ref/{track}.lab", "est/{system}/{track}.lab").systems == ("oak",)

    def test_a_copy_of_a_reference_is_too(self, tmp_path: Path) -> None:
        write(tmp_path, "ref/a.lab", "ref/a.txt", "est/oak/a.lab")
        with pytest.raises(PipelineError, match=r"two references for track 'a': ref/a\.lab and ref/a\.txt; remove one"):
            planned(tmp_path, "ref/{track}.{format}", "est/{system}/{track}.lab")

    @pytest.mark.parametrize("name", ["a.lab.bak", "a.lab~", "a.md", "a.png", "a.pdf", "._a.lab", ".a.lab"])
    def test_what_is_no_annotation_is_left_out(self, tmp_path: Path, name: str) -> None:
        write(tmp_path, "ref/a.lab", "est/oak/a.lab", f"est/oak/{name}", f"ref/{name}")
        plan = planned(tmp_path, "ref/{track}.{format}", "est/{system}/{track}.{format}")
        assert (plan.systems, plan.tracks) == (("oak",), ("a",))

    def test_one_stray_file_in_another_folder_renames_no_system(self, tmp_path: Path) -> None:
        write(tmp_path, *(f"ref/{track}.lab" for track in "abc"), *(f"est/oak/x/{track}.lab" for track in "abc"))
        write(tmp_path, "est/oak/y/a.lab", "est/elm/x/a.lab")
        message = r"two estimates of 'a' by 'oak': .*x/a\.lab and .*y/a\.lab; .* list all systems as 'oak/y'"
        with pytest.raises(PipelineError, match=message):
            planned(tmp_path, "ref/{track}.lab", "est/{system}/{take}/{track}.lab")
        plan = planned(tmp_path, "ref/{track}.lab", "est/{system}/{take}/{track}.lab", systems="[oak/x, oak/y, elm/x]")
        assert plan.systems == ("oak/x", "oak/y", "elm/x")
        write(tmp_path, "est/oak/y/b.lab")  # most tracks have two: takes
        assert planned(tmp_path, "ref/{track}.lab", "est/{system}/{take}/{track}.lab").systems == (
            "elm/x",
            "oak/x",
            "oak/y",
        )

    def test_systems_in_the_reference_alone_are_swapped_sides(self, tmp_path: Path) -> None:
        write(tmp_path, "ref/a.lab", "est/oak/a.lab")
        with pytest.raises(
            PipelineError, match=r"names systems, and the estimates do not: 'ref/.*are both sides swapped"
        ):
            planned(tmp_path, "est/{system}/{track}.lab", "ref/{track}.lab")


class TestNames:
    def test_have_one_form_on_both_sides(self, tmp_path: Path) -> None:
        write(tmp_path, f"ref/{CAFE}.lab", f"est/{MAC_CAFE}/{MAC_CAFE}.lab")
        plan = planned(tmp_path, "ref/{track}.lab", "est/{system}/{track}.lab", systems=f"[{CAFE}]")
        assert (plan.systems, plan.tracks) == ((CAFE,), (CAFE,))
        assert plan.estimates[0][0] is not None
        scores = mirflow.evaluate_paths(tmp_path / "ref", tmp_path / "est" / MAC_CAFE, "chord", metrics="majmin")
        assert (scores.track.values.tolist(), scores.score.item()) == ([CAFE], 1)

    def test_two_files_whose_names_differ_in_form_are_an_error_with_the_reason(self, tmp_path: Path) -> None:
        write(tmp_path, "ref/a.lab", f"ref/{CAFE}.lab", f"ref/{MAC_CAFE}.lab", "est/oak/a.lab")
        with pytest.raises(PipelineError, match="which differ in their Unicode form; remove or rename one"):
            planned(tmp_path, "ref/{track}.lab", "est/{system}/{track}.lab")
        with pytest.raises(AnnotationError, match="which differ in their Unicode form; remove or rename one"):
            mirflow.evaluate_paths(tmp_path / "ref", tmp_path / "est" / "oak", "chord")

    @pytest.mark.parametrize(
        ("name", "other", "reason"),
        [
            ("Song b", "song b", "the names differ in case"),
            ("t1", "t01", "the names differ in leading zeros"),
            ("a-b c", "a_b_c", "the names differ in blanks or punctuation"),
            ("Dvořák", "Dvorak", "the names differ in accents"),
            ("Yesterday", "Yesterdays", "is it the same track?"),
        ],
    )
    def test_that_nearly_meet_are_told_with_the_reason(
        self, tmp_path: Path, name: str, other: str, reason: str
    ) -> None:
        write(tmp_path, "ref/x.lab", f"ref/{name}.lab", "est/oak/x.lab", f"est/oak/{other}.lab")
        message = f"'{other}' has no reference, and '{name}' has no estimate: {reason}"
        with pytest.warns(MirflowWarning, match=rf"'oak': {message}".replace("?", r"\?")):
            planned(tmp_path, "ref/{track}.lab", "est/{system}/{track}.lab")
        with pytest.warns(MirflowWarning, match=message.replace("?", r"\?")):
            mirflow.evaluate_paths(tmp_path / "ref", tmp_path / "est" / "oak", "chord")
        with pytest.warns(MirflowWarning, match=message.replace("?", r"\?")):
            mirflow.score({"x": [6.0], name: [6.0]}, {"x": [6.0], other: [6.0]}, "onset")

    def test_that_are_other_tracks_are_not(self, tmp_path: Path) -> None:
        write(tmp_path, "ref/t1.lab", "ref/t2.lab", "est/oak/t1.lab", "est/oak/t3.lab")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            planned(tmp_path, "ref/{track}.lab", "est/{system}/{track}.lab")

    def test_of_objects_in_memory_have_the_same_form(self) -> None:
        scores = mirflow.score({f"{CAFE} noir": [6.0]}, {f"{MAC_CAFE}  noir ": [6.0]}, "onset", metrics="f_measure")
        assert (scores.track.values.tolist(), scores.score.item()) == ([f"{CAFE} noir"], 1)
        with pytest.raises(
            AnnotationError, match=r"two names of one track: .* differ only in blanks or their Unicode form"
        ):
            mirflow.score({CAFE: [6.0], MAC_CAFE: [6.0]}, {CAFE: [6.0]}, "onset")


@pytest.mark.parametrize(
    "listed", ["", "  systems: [caf\u00e9 noir]\n", "  systems:\n    cafe\u0301 noir: {year: 1}\n"]
)
def test_a_system_has_one_name_in_each_form_of_text(tmp_path: Path, listed: str) -> None:
    for name in ("ref", "est/cafe\u0301  noir"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.txt").write_text("0.5\n1.0\n")
    (tmp_path / "p.yaml").write_text(
        "store: s.zarr\nevaluations:\n- task: onset\n  reference: ref/{track}.txt\n"
        f"  estimates: est/{{system}}/{{track}}.txt\n{listed}",
        encoding="utf-8",
    )
    (plan,) = plan_pipeline(tmp_path / "p.yaml").plans
    assert plan.systems == ("caf\u00e9 noir",)
