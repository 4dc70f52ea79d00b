"""The helper that looks for barriers finds some where there are some, offline and under a strict policy."""

from __future__ import annotations

import pytest

from .accessibility import assert_accessible, assert_fits, assert_prints_whole

POLICY = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
GOOD = f"<!DOCTYPE html><html lang='en'><head>{POLICY}<title>Page</title></head><body><main><h1>Page</h1></main></body>"


@pytest.fixture
def show(browser):
    page = browser.new_page(offline=True)

    def show(text):
        page.set_content(text)
        return page

    yield show
    page.close()


def test_a_page_without_barriers_passes_offline_and_under_a_strict_policy(show):
    page = show(GOOD)
    assert_accessible(page)
    assert_fits(page)


def test_barriers_are_named_with_their_place(show):
    page = show(GOOD.replace("</main>", "<img src='x.png'><div>1</div></main>"))
    with pytest.raises(AssertionError, match=r"light: image-alt: .*[\s\S]*<img src=\"x.png\">"):
        assert_accessible(page)


def test_wide_pages_are_named(show):
    page = show(GOOD.replace("</main>", f"<pre>{'wide ' * 400}</pre></main>"))
    with pytest.raises(AssertionError, match="px wide on a screen of"):
        assert_fits(page)


def test_what_cannot_be_read_in_the_dark_is_named(show):
    dark = "<style>@media (prefers-color-scheme: dark) { body { background: #000; color: #111 } }</style>"
    page = show(GOOD.replace(POLICY, dark))
    with pytest.raises(AssertionError, match="dark: color-contrast"):
        assert_accessible(page)


@pytest.mark.parametrize(
    ("style", "message"),
    [
        ("div { width: 300px; overflow: auto } td { white-space: nowrap }", "cuts"),
        ("td { max-width: 50px; overflow: hidden; white-space: nowrap }", "cell cut: wide wide"),
        ("td { white-space: nowrap }", "px wide on 718 px of paper"),
    ],
)
def test_tables_that_are_cut_on_paper_are_named(show, style, message):
    table = f"<div><table><tr><td>{'wide ' * 400}</td></tr></table></div>"
    whole = show(GOOD.replace(POLICY, "").replace("</main>", f"{table}</main>"))
    assert_prints_whole(whole)
    cut = show(GOOD.replace(POLICY, f"<style>{style}</style>").replace("</main>", f"{table}</main>"))
    with pytest.raises(AssertionError, match=message):
        assert_prints_whole(cut)
