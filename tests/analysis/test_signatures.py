"""What a signature says of its numbers: how many scores count, and which references they were scored against."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import xarray as xr

from mirflow.analysis.queries import evaluate_query
from mirflow.analysis.query_options import Query
from mirflow.analysis.signatures import Signature, digest_references, sign
from mirflow.errors import SignatureError

from ..groups import make_group


def digest_of(*lines: str) -> str:
    """The digest of references by its definition."""
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=6).hexdigest()


def scored(status: list[list[str]]) -> xr.Dataset:
    """Two systems on three tracks, of whose references those that were read have digests 1, 2 and 3."""
    ds = make_group(np.full((2, 3, 1), 0.5), status=np.array(status), systems=["x", "y"], tracks=["a", "b", "c"])
    read = np.array([["1:", "2:", "3:"], ["1:", "2:", "3:"]])
    return ds.assign(digest=(("system", "track"), read))


class TestReferences:
    def test_one_system_that_was_not_computed_takes_no_reference_away(self) -> None:
        whole = scored([["ok"] * 3, ["ok"] * 3])
        short = scored([["ok"] * 3, ["ok", "not_computed", "ok"]])
        assert digest_references(short, ["a", "b", "c"]) == digest_of("a\0" + "1", "b\0" + "2", "c\0" + "3")
        assert digest_references(short, ["a", "b", "c"]) == digest_references(whole, ["a", "b", "c"])

    @pytest.mark.parametrize("status", ["not_computed", "missing_reference"])
    def test_a_track_that_no_system_was_scored_on_has_no_line(self, status: str) -> None:
        ds = scored([["ok", status, "ok"], ["ok", status, "ok"]])
        assert digest_references(ds, ["a", "b", "c"]) == digest_of("a\0" + "1", "c\0" + "3")

    def test_only_the_tracks_of_the_numbers_are_digested(self) -> None:
        assert digest_references(scored([["ok"] * 3, ["ok"] * 3]), ["c"]) == digest_of("c\0" + "3")


class TestCounts:
    def test_a_group_in_which_no_score_counts_is_counted(self) -> None:
        score = np.array([[[0.5], [0.7], [np.nan]]])
        ds = make_group(score, standard=["mean"], track_meta={"genre": ["rock", "rock", "jazz"]})
        query = Query(by="genre", missing="skip")
        (result,) = evaluate_query(ds, query)
        (signed,) = sign(ds, query, result)
        assert signed["n"] == "0-2"
        assert signed.span == (0, 2)

    def test_groups_without_tracks_are_not(self) -> None:
        meta = {"genre": ["rock", "rock", "jazz"], "year": [1970, 1980, 1980]}
        query = Query(by=["genre", "year"], missing="skip")  # no jazz of 1970
        ds = make_group(np.full((1, 3, 1), 0.5), standard=["mean"], track_meta=meta)
        (result,) = evaluate_query(ds, query)
        assert sign(ds, query, result)[0]["n"] == "1"


class TestTexts:
    def test_the_evaluation_is_named_as_its_task_unless_it_has_a_name(self) -> None:
        fields = {"agg": "mean", "miss": "skip", "n": "4", "mirflow": "0.1.0"}
        assert Signature("chord", ("majmin",), fields).group == "chord"
        assert Signature("chord", ("majmin",), {**fields, "group": "strict"}).group == "strict"

    def test_a_very_long_one_is_refused_unread(self) -> None:
        with pytest.raises(SignatureError, match="not a signature: longer than 20000 characters"):
            Signature.parse("chord/majmin;" + "x" * 20_000)
