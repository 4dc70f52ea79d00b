"""YAML as plain values: lines, variables, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.pipeline.document import MAX_BYTES, parse_document, read_document, without_folders


def problems(text: str) -> list[str]:
    return [str(problem) for problem in parse_document(text).problems]


def test_values_and_lines() -> None:
    document = parse_document("name: x\nlist:\n  - {a: 1, b: 2.5}\n  - [true, null, 2013-05-01]\n")
    assert document.data == {"name": "x", "list": [{"a": 1, "b": 2.5}, [True, None, "2013-05-01"]]}
    assert document.problems == []
    assert document.lines["list", 0, "b"] == 3
    assert str(document.problem(("list", 1, "nothing"), "is wrong")) == "list[1].nothing: is wrong (line 4)"


def test_aliases_and_merges() -> None:
    text = "base: &base {task: chord, name: a}\nother: {<<: *base, name: b}\nsame: *base\n"
    assert parse_document(text).data == {
        "base": {"task": "chord", "name": "a"},
        "other": {"task": "chord", "name": "b"},
        "same": {"task": "chord", "name": "a"},
    }


def test_variables_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA", "/d")
    assert parse_document("root: ${DATA}/x$\n").data == {"root": "/d/x$"}
    monkeypatch.delenv("DATA")
    (problem,) = parse_document("root: ${HOME}", foreign=True).problems
    assert problem.message == "the environment variable HOME is not looked up for a store from elsewhere (line 1)"
    assert problems("a:\n  root: ${DATA}\n") == ["a.root: the environment variable DATA is not set (line 2)"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "a: occurs twice (line 3)"),
        (
            "a: !!python/object:os.system {}\n",
            "a: YAML tags are not allowed: tag:yaml.org,2002:python/object:os.system (line 1)",
        ),
        ("a: !mine 1\n", "a: YAML tags are not allowed: !mine (line 1)"),
        ("a: !!binary aGk=\n", "a: YAML tags are not allowed: tag:yaml.org,2002:binary (line 1)"),
        ("[1]: 2\n", "a key must be text (line 1)"),
        ("a: [1\nb: 2\n", "is not YAML: expected ',' or ']', but got ':' (line 2)"),
        (
            "a: {path: x/{track}.lab}\n",
            "is not YAML: expected ',' or '}', but got '{'; within { } put values that have braces in quotes (line 1)",
        ),
        ("a: *nothing\n", "is not YAML: found undefined alias 'nothing' (line 1)"),
        ("a: 1\n---\nb: 2\n", "is not YAML: but found another document (line 2)"),
    ],
)
def test_what_is_wrong_has_its_place_and_line(text: str, message: str) -> None:
    assert message in problems(text)


def test_aliases_that_explode_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert problems("\n".join(lines)) == ["expands to more than 20000 values: do its aliases multiply?"]


def test_text_that_is_too_long_is_not_parsed() -> None:
    """A megabyte, even of comments, takes a second, and a store of others may hold any text."""
    long = "name: demo  #" + "x" * MAX_BYTES
    assert problems(long) == ["has more than 1048576 characters: not a pipeline"]
    assert without_folders(long) == ""
    assert problems(long[:1000]) == []


def test_aliases_that_contain_themselves_are_refused() -> None:
    assert problems("a: &a [*a]\n") == ["is nested more than 40 levels deep: does an alias contain itself?"]


def test_deep_nesting_is_refused() -> None:
    assert problems("[" * 2000)[0] in ("is nested too deeply", "is nested more than 40 levels deep")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    assert [str(p) for p in read_document(file).problems] == ["cannot be read: No such file or directory"]
    file.write_bytes(b"name: \xff")
    assert [str(p) for p in read_document(file).problems] == ["is not UTF-8 (byte 6)"]
    file.write_bytes(b"x" * (2**20 + 1))
    assert [str(p) for p in read_document(file).problems] == ["is larger than 1 MB: not a pipeline file"]


@given(st.text(max_size=60))
def test_any_text_gives_values_or_problems(text: str) -> None:
    document = parse_document(text)
    assert document.data is None or not isinstance(document.data, set | tuple | bytes)
