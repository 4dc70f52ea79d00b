"""Judgements that arrive in any order, twice and from several windows make one state."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.campaign.server.graders.judging import (
    JudgementChange,
    JudgementError,
    State,
    contradicted,
    fold,
    read_change,
    read_values,
)

FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "broad": st.sampled_from([None, "NS", "SS", "VS"]),
        "fine": st.sampled_from([None, 0.0, 3.3, 10.0]),
        "known": st.booleans(),
        "unplayable": st.booleans(),
    },
)


def in_order(changes: list[dict[str, Any]]) -> State:
    """The state after changes that came one after the other."""
    state: dict[str, Any] = {}
    for values in changes:
        state |= values
    return State(**state)


@given(st.lists(FIELDS, max_size=8), st.randoms(use_true_random=False))
def test_changes_of_a_window_make_the_same_state_in_any_order_and_twice(changes, chance):
    sent = [JudgementChange("window", number, values) for number, values in enumerate(changes, 1)]
    arrived = [*sent, *chance.sample(sent, chance.randint(0, len(sent)))]
    chance.shuffle(arrived)
    assert fold(arrived) == in_order(changes)


@given(st.lists(st.tuples(st.sampled_from("ab"), FIELDS), max_size=8), st.data())
def test_a_change_that_comes_again_undoes_nothing_that_another_window_changed(changes, data):
    sent = [JudgementChange(client, number, values) for number, (client, values) in enumerate(changes, 1)]
    again = data.draw(st.lists(st.sampled_from(sent), max_size=4)) if sent else []
    assert fold([*sent, *again]) == in_order([values for _, values in changes])


def test_of_two_windows_the_one_that_arrives_last_counts_for_each_field():
    first, second = JudgementChange("a", 7, {"broad": "NS", "fine": 1.0}), JudgementChange("b", 1, {"broad": "VS"})
    assert fold([first, second]) == State(broad="VS", fine=1.0)


def test_what_was_heard_only_grows():
    assert (
        fold([JudgementChange("a", 1, {}, 7.0), JudgementChange("b", 1, {}, 2.0), JudgementChange("a", 2, {})]).heard
        == 7.0
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"fine": 10.1}, "invalid fine: expected a number from 0 to 10 in steps of 0.1"),
        ({"fine": -0.1}, "from 0 to 10"),
        ({"fine": 5.55}, "steps of 0.1"),
        ({"fine": "nan"}, "invalid fine: expected a number"),
        ({"fine": 10**400}, "invalid fine: expected a number"),
        ({"fine": True}, "invalid fine: expected a number"),
        ({"fine": [1]}, "invalid fine: expected a number"),
        ({"broad": "XX"}, "invalid broad: choose from NS, SS, VS"),
        ({"broad": ["NS"]}, "invalid broad"),
        ({"known": "yes"}, "invalid known: expected true or false"),
        ({"heard": 3}, "unknown field of a judgement"),
    ],
)
def test_what_is_no_judgement_is_refused(values, message):
    with pytest.raises(JudgementError, match=message):
        read_values(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (b"", "expected a JSON object"),
        (b"[]", "expected a JSON object"),
        (b"\xff", "expected a JSON object"),
        (b"[" * 100_000, "expected a JSON object"),
        ({"client": "x"}, "invalid client: expected 8 to 64"),
        ({"client": "<script>alert(1)"}, "invalid client"),
        ({"number": -1}, "invalid number: expected a whole number"),
        ({"number": 2**63}, "invalid number: expected a whole number"),
        ({"assignment": "1"}, "invalid assignment: expected a whole number"),
        ({"heard": -1}, "invalid heard: expected a number of seconds"),
        ({"heard": float("nan")}, "invalid heard"),
        ({"values": []}, "invalid values: expected the changed fields"),
    ],
)
def test_what_is_no_change_is_refused(change, message):
    whole = {"assignment": 1, "client": "abcdefgh", "number": 1, "values": {}, "heard": None}
    body = change if isinstance(change, bytes) else json.dumps({**whole, **change}).encode()
    with pytest.raises(JudgementError, match=message):
        read_change(body)


def test_a_range_needs_three_judgements():
    others = [("NS", 1.0), ("NS", 2.0), ("VS", 9.0), ("NS", 0.0), (None, 9.0), ("VS", None), ("VS", 9.0)]
    assert contradicted("NS", 9.0, others) is None
    assert contradicted("NS", 9.0, [*others, ("VS", 9.0)]) == "VS"


def test_only_what_lies_in_the_range_of_another_category_and_not_in_its_own_is_asked_about():
    others = [("NS", 1.0), ("NS", 2.0), ("NS", 3.0), ("SS", 2.5), ("SS", 6.0), ("SS", 7.0), ("VS", 9.0)]
    assert contradicted("NS", 5.0, others) == "SS"
    assert contradicted("NS", 2.8, others) is None
    assert contradicted("NS", 8.0, others) is None
    assert contradicted("VS", 5.0, others) is None
    assert contradicted(None, 5.0, others) is None
