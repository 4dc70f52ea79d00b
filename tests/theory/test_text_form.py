"""Normal forms of names and labels."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.theory.text_form import are_normal, normal_form

TEXTS = st.text(st.sampled_from("aÉé\u0301 \t\n\u00a0ß\uac00\u1100\u1161b"), max_size=8)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("E\u0301lectro", "Électro"),
        (" hip\u00a0 hop\t", "hip hop"),
        ("Rock", "Rock"),
        ("\u1100\u1161", "\uac00"),
        ("", ""),
    ],
)
def test_normal_form_is_nfc_with_single_blanks(text, normal):
    assert normal_form(text) == normal


@given(TEXTS)
def test_a_normal_form_is_its_own_and_that_of_all_equivalent_texts(text):
    normal = normal_form(text)
    assert normal_form(normal) == normal
    assert normal_form(unicodedata.normalize("NFD", text)) == normal
    assert normal_form(f"  {text} ") == normal


@given(st.lists(TEXTS, max_size=4))
def test_texts_are_normal_if_each_of_them_is(texts):
    assert are_normal(texts) == all(normal_form(text) == text for text in texts)
