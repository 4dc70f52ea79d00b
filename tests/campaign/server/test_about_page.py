"""The page about a campaign: texts of its file, of which markup is limited and nothing is run."""

from __future__ import annotations

import pytest

from mirflow.campaign.server.app import html_of
from mirflow.campaign.server.service import open_service

from .accounts import Browser
from .campaigns import BARE, write_bare_campaign

ABOUT = (
    BARE
    + """\
about:
  description: |
    Chords of folk tunes, see [the task](https://lab.org/chords?a=1&b=2).

    - majmin
    - sevenths
  terms: "<script>alert(1)</script> No *training* on the test split."
  contact: ada@lab.org
"""
)


def test_the_page_has_the_texts_of_the_file(tmp_path):
    service = open_service([write_bare_campaign(tmp_path, ABOUT)])
    nobody = Browser(service)
    page = nobody.get("/about").text
    assert '<a href="https://lab.org/chords?a=1&amp;b=2">the task</a>' in page
    assert "<li>majmin</li>" in page
    assert "<h2>Terms</h2>" in page
    assert "<script>alert" not in page
    assert "No <em>training</em>" in page
    assert "<h2>Licence</h2>" not in page
    assert '<a href="/about" aria-current="page">About</a>' in page
    assert (
        '<a href="/about">About the campaign</a>' in Browser(service, "ada", "submitter").get("/submissions/new").text
    )
    assert nobody.get("/about", headers={"Accept": "application/json"}).json()["contact"] == "ada@lab.org"


def test_a_campaign_without_texts_has_no_such_page(tmp_path):
    service = open_service([write_bare_campaign(tmp_path)])
    assert Browser(service).get("/about").status_code == 404
    assert "/about" not in Browser(service).get("/").text
    assert "/about" not in Browser(service, "ada", "submitter").get("/submissions/new").text


@pytest.mark.parametrize(
    "text",
    [
        "[a](javascript:alert(1))", "[a](JaVaScRiPt:alert(1))", "[a](data:text/html,x)", "<javascript:alert(1)>",
        "![a](https://x.org/a.png)", "<img src=x onerror=alert(1)>", "[a]: javascript:alert(1)\n\n[a]", "[a](/logout)",
        "&lt;script&gt;alert(1)", '[a](https://x.org "\\" onclick=\\"alert(1)")', "[a](//evil.org)",
    ],
)  # fmt: skip
def test_nothing_of_a_text_is_run(text):
    html = html_of(text)
    assert "<img" not in html
    assert "<script" not in html
    assert 'onclick="' not in html
    assert html.count("href=") == html.count('href="https://x.org')
