"""Path patterns: what they find, what they leave alone, and what is said when they find nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirflow.errors import AnnotationError
from mirflow.readers.content import file_stat
from mirflow.readers.patterns import Pattern, describe_otherwise


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("0 1 C\n")


def found(pattern: str, root: Path) -> list[tuple[str, ...]]:
    return [match.values for match in Pattern(pattern).find(root)]


def test_placeholders_stay_within_a_folder_level(tmp_path: Path) -> None:
    make(tmp_path, "e/S1/b.lab", "e/S1/a.lab", "e/S2/a.lab", "e/S1/deep/c.lab", "e/S1/a.txt", "e/x.lab")
    assert found("e/{system}/{track}.lab", tmp_path) == [("S1", "a"), ("S1", "b"), ("S2", "a")]


def test_unless_they_say_path(tmp_path: Path) -> None:
    make(tmp_path, "r/a.lab", "r/x/b.lab", "r/x/y/c.lab")
    assert found("r/{track:path}.lab", tmp_path) == [("a",), ("x/b",), ("x/y/c",)]
    assert found("r/{fold}/{track:path}.lab", tmp_path) == [("x", "b"), ("x", "y/c")]


@pytest.mark.parametrize(
    ("pattern", "names", "way"),
    [
        ("{track}.lab", ("a.lab", "b.LAB"), ": rename it, or write {track}.{format}"),
        ("{track:path}.lab", ("a.lab", "x/b.Lab"), ": rename it, or write {track:path}.{format}"),
        ("{system}/beats/{track}.lab", ("x/beats/a.lab", "y/Beats/b.lab"), ": rename it"),
        ("{track}_ref.lab", ("a_ref.lab", "b_REF.lab"), ": rename it"),
    ],
)
def test_files_in_another_case_are_told(pattern: str, names: tuple[str, str], way: str, tmp_path: Path) -> None:
    make(tmp_path, *names)
    other = names[1].removesuffix("/b.lab")
    matches = Pattern(pattern).find(tmp_path)
    assert [match.values[-1] for match in matches] == ["a"]
    assert describe_otherwise(matches, pattern).endswith(f"such as {other!r}{way}")


def test_a_placeholder_that_stands_twice_agrees(tmp_path: Path) -> None:
    make(tmp_path, "a/a.lab", "a/b.lab", "b-b.lab", "b-c.lab")
    assert found("{track}/{track}.lab", tmp_path) == [("a",)]
    assert found("{track}-{track}.lab", tmp_path) == [("b",)]


def test_several_placeholders_in_one_name(tmp_path: Path) -> None:
    make(tmp_path, "12/textfile1_functions.txt", "12/textfile2_functions.txt", "12/textfile1_uppercase.txt")
    assert found("{track}/textfile{annotator}_functions.txt", tmp_path) == [("12", "1"), ("12", "2")]


@pytest.mark.parametrize("name", ["a[1]*?.lab", "a b+(c).lab", "日本.lab", "a.b.c.lab", "..lab", "$x^.lab"])
def test_every_other_character_stands_for_itself(tmp_path: Path, name: str) -> None:
    make(tmp_path, f"[x] {name}", "x other.lab")
    assert found("[x] {track}.lab", tmp_path) == [(name.removesuffix(".lab"),)]


def test_hidden_files_are_left_alone(tmp_path: Path) -> None:
    make(tmp_path, "a.lab", ".b.lab", "._a.lab", ".git/c.lab")
    assert found("{track}.lab", tmp_path) == [("a",)]
    assert found("{track:path}.lab", tmp_path) == [("a",)]


def test_sizes_times_and_links(tmp_path: Path) -> None:
    make(tmp_path, "a.lab", "elsewhere/c.txt")
    (tmp_path / "b.lab").symlink_to("nowhere")
    (tmp_path / "linked").symlink_to("elsewhere")
    first, second = Pattern("{track}.lab").find(tmp_path)
    assert (first.path, first.name, first.size) == (str(tmp_path / "a.lab"), "a.lab", 6)
    assert first.version == file_stat(tmp_path / "a.lab")[1]
    assert (second.size, second.version) == (-1, 0)
    assert [*Pattern("b.lab").find(tmp_path)] == [second._replace(values=())], "with or without a placeholder"
    assert found("{folder}/{track}.txt", tmp_path) == [("elsewhere", "c"), ("linked", "c")]


def test_no_value_leads_out_of_the_root(tmp_path: Path) -> None:
    make(tmp_path, "secret/a.lab", "root/in/a.lab")
    for pattern in ("{x}/{track}.lab", "{x}/{y}/{track}.lab", "{track:path}.lab"):
        assert all(".." not in value for match in Pattern(pattern).find(tmp_path / "root") for value in match.values)
    assert found("{x}/{y}/{track}.lab", tmp_path / "root") == []


def test_folders_are_packs_and_files_are_not(tmp_path: Path) -> None:
    make(tmp_path, "refs.zarr/zarr.json", "KO1.zarr/zarr.json", "file.zarr")
    assert found("refs.zarr", tmp_path) == [()]
    assert found("{system}.zarr", tmp_path) == [("KO1",), ("refs",)]


def test_absolute_patterns_and_patterns_beside_the_root(tmp_path: Path) -> None:
    make(tmp_path, "refs/a.lab", "root/x")
    assert found(f"{tmp_path}/refs/{{track}}.lab", tmp_path / "root") == [("a",)]
    assert found("../refs/{track}.lab", tmp_path / "root") == [("a",)]


@pytest.mark.parametrize("text", ["{}.lab", "{a b}.lab", "{track", "track}.lab", "{track:int}", "{{track}}", "{1}"])
def test_what_is_no_pattern(text: str) -> None:
    with pytest.raises(AnnotationError, match=r"invalid placeholder|unbalanced braces"):
        Pattern(text)


def test_hints_name_the_nearest_folder(tmp_path: Path) -> None:
    make(tmp_path, "est/S1/a.lab", "est/S2/a.lab")
    assert Pattern("est/{system}/{track}.txt").hint(tmp_path).endswith("est'; it holds S1/, S2/")
    assert Pattern("estimates/{track}.lab").hint(tmp_path).endswith("it holds est/")
    assert Pattern("{track}.lab").hint(tmp_path / "nowhere").endswith("does not exist")
