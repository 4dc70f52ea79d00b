"""Plans: which cells have to be computed, why, and in which blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation
from mirflow.engine.schedule import block_graph
from mirflow.pipeline.plan import (
    COUNTS,
    SIGNATURES,
    EvaluationPlan,
    Reference,
    Stale,
    cell_stamps,
    describe,
    stale_cells,
)
from mirflow.store.cells import GroupContent, Status, no_cells


@dataclass(frozen=True)
class Held:
    label: str
    size: int = 1
    modified: int = 1

    def stat(self) -> tuple[int, int]:
        return self.size, self.modified

    def read(self) -> tuple[Annotation, str]:
        raise AssertionError("a plan reads nothing")


def make_plan(
    systems: tuple[str, ...] = ("S1", "S2"),
    tracks: tuple[str, ...] = ("a", "b", "c"),
    sizes: dict[str, int] | None = None,
    missing: tuple[str, ...] = (),
    signatures: dict[str, str] | None = None,
) -> EvaluationPlan:
    sizes = sizes or {}
    references = tuple(
        () if track in missing else (Reference(Held(f"ref/{track}", sizes.get(track, 1))),) for track in tracks
    )
    names = [[f"{system}/{track}" for track in tracks] for system in systems]
    estimates = tuple(
        tuple(None if name in missing else Held(name, sizes.get(name, 1)) for name in row) for row in names
    )
    return EvaluationPlan(
        name="chord",
        task="chord",
        convention="mir_eval",
        grid="union",
        measures=(),
        systems=systems,
        tracks=tracks,
        references=references,
        estimates=estimates,
        combine="",
        track_meta={},
        system_meta={},
        stamps=cell_stamps(references, estimates),
        signatures=signatures or {"majmin": "1", "root": "1"},
    )


def stored(plan: EvaluationPlan, status: Status = Status.ok) -> GroupContent:
    cells = replace(
        no_cells(()),
        system=tuple(system for system in plan.systems for _ in plan.tracks),
        track=plan.tracks * len(plan.systems),
        stamp=plan.stamps.ravel(),
        status=np.full(plan.stamps.size, status, dtype=np.int8),
        **dict.fromkeys(("score", "weight"), np.zeros((plan.stamps.size, 0))),
    )
    return GroupContent(plan.name, plan.systems, plan.tracks, cells, attrs={SIGNATURES: plan.signatures})


def counts(**noted: int) -> dict[str, int]:
    return {**dict.fromkeys(COUNTS, 0), **noted}


def stale_names(plan: EvaluationPlan, stale: Stale) -> set[str]:
    return {f"{plan.systems[s]}/{plan.tracks[t]}" for s, t in zip(*np.nonzero(stale.cells), strict=True)}


def test_a_store_without_cells() -> None:
    plan = make_plan()
    empty = make_plan((), ())
    assert stale_cells(plan, stored(empty)).counts == counts(new=6)
    assert stale_cells(empty, stored(plan)).counts == counts(removed=6)


@pytest.mark.parametrize(
    ("now", "outcome"),
    [
        ({"majmin": "1"}, counts(reused=6)),
        ({"majmin": "2"}, counts(changed=6)),
        ({"majmin": "1", "root": "1", "mirex": "1"}, counts(changed=6)),
    ],
    ids=["one fewer", "a new version", "one more"],
)
def test_measures_that_are_not_stored_as_they_are_now_make_all_stale(
    now: dict[str, str], outcome: dict[str, int]
) -> None:
    plan = make_plan()
    assert stale_cells(replace(plan, signatures=now), stored(plan)).counts == outcome


@pytest.mark.parametrize(
    ("status", "again"),
    [
        (Status.not_computed, True),
        (Status.ok, False),
        (Status.empty_estimate, False),
        (Status.invalid, False),
        (Status.unreadable, True),
        (Status.failed, True),
        (Status.missing_estimate, True),
    ],
)
def test_outcomes_that_may_pass_are_tried_again(status: Status, again: bool) -> None:
    plan = make_plan()
    assert stale_cells(plan, stored(plan, status)).counts == (counts(retried=6) if again else counts(reused=6))


def test_what_is_still_missing_is_not_tried_again() -> None:
    plan = make_plan(missing=("S1/a", "b"))
    previous = stored(plan)
    status = previous.cells.status.reshape(plan.shape)
    status[0, 0] = Status.missing_estimate
    status[:, 1] = Status.missing_reference
    assert stale_cells(plan, previous).counts == counts(reused=6)
    appeared = make_plan(missing=("b",))
    assert stale_names(appeared, stale_cells(appeared, previous)) == {"S1/a"}


def test_stamps_tell_names_sizes_times_and_sides_apart() -> None:
    def stamp(reference: Held, estimate: Held | None) -> int:
        return int(cell_stamps(((Reference(reference),),), ((estimate,),))[0, 0])

    held = Held("x")
    variants = [
        stamp(held, held),
        stamp(held, None),
        stamp(held, Held("y")),
        stamp(held, Held("x", 2)),
        stamp(held, Held("x", 1, 2)),
        stamp(Held("y"), held),
        stamp(Held("x", 2), held),
    ]
    assert len(set(variants)) == len(variants)
    assert 0 not in variants
    assert stamp(held, held) == stamp(Held("x"), Held("x"))


def test_blocks_of_a_plan_know_whether_annotators_are_distinguished() -> None:
    annotators = tuple(Reference(Held(f"a.jams [{name}]"), name) for name in ("A1", "A2", "A3"))
    plan = replace(make_plan(("A1", "S"), ("a",)), references=(annotators,), combine="each")
    plan = replace(plan, estimates=((Held("a.jams [A1]"),), (Held("S/a"),)))
    assert plan.annotators == ("A1", "A2", "A3")
    for some, by_annotator in ((plan, True), (make_plan(("S",), ("a",)), False)):
        (task,) = block_graph(some, np.ones(some.shape, dtype=np.bool_), "").values()
        assert task[0].by_annotator == by_annotator


def test_the_description_counts_everything() -> None:
    tracks = tuple("abcdefgh")
    plan = make_plan(tracks=tracks, missing=("S1/a", *tracks[:6]))
    text = describe(plan, stale_cells(plan, None))
    assert "2 systems x 8 tracks" in text
    assert "to compute 16 of 16 cells: 16 new" in text
    assert "tracks without a reference: 6 (a, b, c, d, e and 1 more)" in text
    assert "estimates missing: 1" in text


@given(st.integers(1, 4), st.lists(st.lists(st.booleans(), min_size=3, max_size=3), max_size=9))
def test_blocks_hold_every_stale_cell_once_and_few_tracks(size: int, cells: list[list[bool]]) -> None:
    stale = Stale(np.array(cells, dtype=np.bool_).reshape(len(cells), 3).T)
    plan = replace(make_plan(("S0", "S1", "S2"), tuple("abcdefghi"[: len(cells)])), max_block=size)
    seen: list[tuple[str, str]] = []
    last = ""
    for (task,) in block_graph(plan, stale.cells, "").values():
        work = task.work
        tracks = [track.track for track in work.tracks]
        assert 1 <= len(tracks) <= size
        assert tracks[0] > last
        assert sorted(set(tracks)) == tracks
        last = tracks[-1]
        seen += work.cells
    expected = [
        (plan.tracks[track], plan.systems[system]) for system, track in zip(*np.nonzero(stale.cells), strict=True)
    ]
    assert sorted(seen) == sorted(expected)
