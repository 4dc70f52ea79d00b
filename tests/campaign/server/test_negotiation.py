"""What clients accept: weights, and the most specific of the ranges that fit (RFC 9110, section 12.5.1)."""

from __future__ import annotations

import pytest

from mirflow.campaign.server.cache import choose_kind, takes_gzip, weight_of, weights_of

JSON, CSV, HTML = "application/json", "text/csv", "text/html"


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("", JSON),
        ("*/*", JSON),
        (CSV, CSV),
        (f"{JSON};q=0, {CSV}", CSV),
        (f"{JSON};q=0.1, {CSV}", CSV),
        (f"{CSV};q=0.1, */*", JSON),
        (f"*/*;q=0.1, {CSV};q=0.2", CSV),
        ("text/*, */*;q=0.5", CSV),
        (f"{CSV}, {JSON}", CSV),
        (f"{CSV}; charset=utf-8 ; q=0.5, {JSON};q=0.4", CSV),
        ("TEXT/CSV", CSV),
        (f"*/*, {JSON};q=0", CSV),
        (f'image/png;a="{JSON}, {JSON}", {CSV};q=0.5', CSV),
        ("image/png", None),
        ("*/*;q=0", None),
        (f"{JSON};q=0.000, {CSV};q=0.0", None),
    ],
)
def test_the_most_welcome_kind_is_chosen(header: str, kind: str | None) -> None:
    assert choose_kind(header, [JSON, CSV]) == kind


def test_the_example_of_the_standard() -> None:
    header = "text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, */*;q=0.5"
    kinds = ("text/plain", "text/html", "image/jpeg")
    assert [weight_of(header, kind) for kind in kinds] == [0.7, 0.3, 0.5]


@pytest.mark.parametrize(
    "element", ["json/", "a b/c", "text/csv;q=2", "text/csv;q=0.1234", "text/csv;q=", "/", "\x00/x", ";q=1"]
)
def test_what_is_not_well_formed_is_left_out(element: str) -> None:
    assert weights_of(f"{element}, {HTML}") == {HTML: 1.0}


def test_codings() -> None:
    accepted = ["gzip", "br, gzip;q=0.001", "*", "GZIP"]
    refused = ["", "br", "gzip;q=0", "*;q=0", "gzip;q=0.000, *", "identity"]
    assert [takes_gzip(header) for header in accepted + refused] == [True] * 4 + [False] * 6


def test_what_follows_many_characters_is_not_looked_at() -> None:
    assert weights_of(f"{HTML}{' ' * 2000}, {JSON}") == {HTML: 1.0}
