"""The helper that looks for barriers finds some where there are some, offline and under a strict policy."""

from __future__ import annotations

import pytest

from .accessibility import assert_accessible, assert_fits

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
