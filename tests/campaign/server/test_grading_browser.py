"""Graders in a real browser: with keys alone, without scripts, cut off, with a phone, in two windows."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mirflow.campaign.server.graders.grading_tables import StoredAssignment, StoredEvent
from mirflow.campaign.server.service import Service, open_service

from ...accessibility import PHONE, assert_accessible, assert_fits
from ...waiting import MILLISECONDS, PATIENCE
from .accounts import account
from .processes import Server
from .rounds import make_campaign
from .test_grading import Grader, rows

pytestmark = pytest.mark.slow
ROUND = "/grading/similarity/"
LISTEN = 0.4  # seconds to listen in these tests


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_campaign(tmp_path, each=4, listen=LISTEN)


@pytest.fixture
def server(path: Path, tmp_path: Path) -> Iterator[Server]:
    with Server(path, tmp_path / "server.log") as server:
        yield server
    assert "Traceback" not in server.log.read_text()


@pytest.fixture
def service(path: Path, server: Server) -> Service:
    return open_service([path])


@pytest.fixture
def enter(browser: Any, server: Server, service: Service) -> Iterator[Callable[..., Any]]:
    """Opens a page of a grader who has agreed; at the end there must have been no error of a script."""
    contexts, troubles = [], []

    def begin(name: str = "ada", agree: bool = True, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(f"{server.address}/login/{account(service, name, 'grader')}")
        page.get_by_role("button").first.click()
        page.wait_for_url(lambda address: "/login/" not in address)
        page.goto(server.address + ROUND)
        if agree and page.get_by_role("button", name="I agree").count():
            page.get_by_role("button", name="I agree").click()
        if agree and options.get("java_script_enabled", True):
            wait_for_scripts(page)
        return page

    yield begin
    for context in contexts:
        context.close()
    assert troubles == []


def wait_for_scripts(page: Any) -> None:
    page.wait_for_selector("html[data-loaded]", state="attached")


def until(page: Any, expression: str, arg: Any = None) -> None:
    """Wait until something is true in a page; what waits in the page itself would need what its policy forbids."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(expression, arg):
        assert time.monotonic() < end, f"{expression}: {page.locator('#status').text_content()}"
        page.wait_for_timeout(50)


def wait_for_saved(page: Any) -> None:
    waiting = "Object.keys(localStorage).some((key) => /^mirflow-grading:/.test(key))"
    until(page, f"/^saved/.test(document.querySelector('#status').textContent) && !{waiting}")


def wait_for_heard(page: Any, number: int) -> None:
    """Wait until a candidate was heard for as long as is asked."""
    until(page, "(number) => document.querySelectorAll('.candidate .told')[number].textContent === 'heard'", number)


def wait_for_trouble(page: Any) -> None:
    until(page, "/^not saved yet: no connection/.test(document.querySelector('#status').textContent)")


def judged(service: Service) -> list[Any]:
    return [one for one in rows(service, StoredAssignment) if one.broad is not None and one.fine is not None]


def listen(page: Any, number: int) -> None:
    """Play a candidate until it was heard."""
    page.locator(".candidate").nth(number).locator(".play").click()
    wait_for_heard(page, number)


def judge(page: Any, number: int, word: int = 1, value: str = "5.5") -> None:
    """Judge a candidate with the mouse."""
    candidate = page.locator(".candidate").nth(number)
    candidate.locator("input[type=radio]").nth(word).check()
    candidate.locator("input[type=number]").fill(value)
    candidate.locator("input[type=number]").blur()


def test_twenty_pairs_with_keys_alone(enter, service):
    page = enter(agree=False)
    page.get_by_role("button", name="I agree").focus()
    page.keyboard.press("Enter")
    wait_for_scripts(page)
    for query in range(4):
        for number in range(5):
            page.keyboard.press("j")
            assert page.locator(".candidate").nth(number).evaluate("(one) => one === document.activeElement")
            page.keyboard.press("Space")
            wait_for_heard(page, number)
            page.keyboard.press(str(1 + number % 3))
            page.keyboard.press("ArrowRight")
            page.keyboard.press("Shift+ArrowRight")
            page.keyboard.press("ArrowLeft")
        wait_for_saved(page)
        assert page.locator("#done").text_content() == "5 of 5 judged on this page"
        page.get_by_role("button", name="next query").focus()
        page.keyboard.press("Enter")
        if query < 3:
            page.wait_for_url(f"**page={query + 2}")
            wait_for_scripts(page)
    page.get_by_text("nothing more for you").wait_for()
    found = judged(service)
    assert len(found) == 20
    assert {(one.broad, one.fine) for one in found} == {("NS", 5.9), ("SS", 5.9), ("VS", 5.9)}
    assert all(one.heard >= LISTEN for one in found)
    assert {"came", "played", "paused"} <= {one.kind for one in rows(service, StoredEvent)}


def test_keys_are_left_to_the_control_that_has_the_focus(enter, service):
    page = enter()
    first = page.locator(".candidate").first
    first.locator("input[type=number]").click()
    page.keyboard.type("2")
    page.keyboard.press("Tab")
    wait_for_saved(page)
    [one] = [one for one in rows(service, StoredAssignment) if one.saved]
    assert (one.broad, one.fine) == (None, 2.0)
    first.locator("input[type=checkbox]").first.focus()
    page.keyboard.press("Space")
    assert first.locator("input[type=checkbox]").first.is_checked()
    assert page.evaluate("[...document.querySelectorAll('audio')].every((one) => one.paused)")
    page.get_by_label("Keys").uncheck()
    first.focus()
    page.keyboard.press("3")
    assert not first.locator("input[type=radio]").nth(2).is_checked()


def test_a_slider_says_its_value_and_has_none_before_it_is_touched(enter, service):
    page = enter()
    slider = page.locator(".candidate input[type=range][aria-label^=Fine]").first
    assert slider.get_attribute("aria-valuetext") == "not judged"
    # A thumb in the middle would suggest 5.
    assert slider.evaluate("slider => getComputedStyle(slider).appearance") == "none"
    ends = page.locator(".candidate .ends").first.inner_text().split("\n")
    assert ends == ["0", "not similar", "5", "somewhat similar", "10", "very similar"]
    assert page.locator(".time").all_inner_texts() == ["0:00 / 0:08"] * 6, "lengths are known before anything is loaded"
    slider.focus()
    page.keyboard.press("ArrowRight")
    wait_for_saved(page)
    assert slider.get_attribute("aria-valuetext") == "5.1 of 10"
    assert page.locator(".kept").all_inner_texts() == ["saved", "", "", "", ""]
    assert slider.evaluate("slider => getComputedStyle(slider).appearance") == "auto"
    assert [one.fine for one in rows(service, StoredAssignment) if one.saved] == [5.1]
    second = page.locator(".candidate input[type=range][aria-label^=Fine]").nth(1)
    second.focus()
    page.keyboard.press("Enter")  # takes the middle
    until(page, "document.querySelectorAll('.kept')[1].textContent === 'saved'")
    assert second.get_attribute("aria-valuetext") == "5.0 of 10"
    assert sorted(one.fine for one in rows(service, StoredAssignment) if one.saved) == [5.0, 5.1]


def test_one_recording_plays_at_a_time(enter):
    page = enter()
    playing = "[...document.querySelectorAll('audio')].map((one) => !one.paused)"
    page.locator(".candidate .play").nth(1).click()
    until(page, f"{playing}[2]")
    page.locator(".query .play").click()
    until(page, f"{playing}[0]")
    assert page.evaluate(playing) == [True, *[False] * 5]
    page.locator(".query .play").click()
    until(page, f"!{playing}.includes(true)")


def test_keys_play_the_first_the_middle_and_the_last_third(enter):
    page = enter()
    # Where each recording is moved to, in thirds of its 8 s, and whether it plays then; slowly, so that none ends here.
    page.evaluate("""[...document.querySelectorAll('audio')].forEach((one, place) => {
        one.defaultPlaybackRate = one.playbackRate = 0.1;
        one.addEventListener('seeking', () =>
            (window.moved ??= []).push([place, Math.round(one.currentTime / 8 * 3), !one.paused]));
    })""")
    moves = []

    def press(key: str, *move: int) -> None:
        page.keyboard.press(key)
        moves.append([*move, True])
        until(page, "(moves) => JSON.stringify(window.moved) === JSON.stringify(moves)", moves)

    # Nothing is loaded yet, so that the length is not known when the key is pressed.
    press("m", 0, 1)
    page.keyboard.press("j")
    press("l", 0, 2)
    page.keyboard.press("Space")
    until(page, "!document.querySelectorAll('audio')[1].paused")
    press("l", 1, 2)
    press("f", 1, 0)
    press("m", 1, 1)
    page.keyboard.press("Space")
    press("f", 1, 0)
    # A tablet has no keys.
    page.get_by_role("button", name="Last third of candidate B").click()
    moves.append([2, 2, True])
    until(page, "(moves) => JSON.stringify(window.moved) === JSON.stringify(moves)", moves)
    assert page.evaluate("document.querySelectorAll('audio')[0].paused")


def test_without_scripts_a_page_is_a_form(enter, service):
    page = enter(java_script_enabled=False)
    assert page.locator("audio[controls]").count() == 6
    for number in range(5):
        judge(page, number)
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state()
    assert re.match(r"saved \d\d:\d\d UTC", page.locator("#status").text_content())
    page.get_by_role("button", name="Save and go to the next query").click()
    page.wait_for_url("**page=2")
    assert [(one.broad, one.fine, one.heard) for one in judged(service)] == [("SS", 5.5, None)] * 5


def test_changes_off_line_are_kept_and_sent_when_the_network_is_back(enter, service):
    page = enter()
    page.context.set_offline(True)
    judge(page, 0, 0, "1.5")
    judge(page, 1, 2, "9")
    judge(page, 0, 1, "4")
    wait_for_trouble(page)
    assert not judged(service)
    page.context.set_offline(False)
    wait_for_saved(page)
    assert [(one.broad, one.fine) for one in judged(service)] == [("SS", 4.0), ("VS", 9.0)]


def test_a_recording_is_not_called_broken_while_the_line_is_down(enter):
    page = enter()
    candidate = page.locator(".candidate").first
    flag, shown = candidate.get_by_label("cannot hear this one"), candidate.locator(".time")
    page.context.set_offline(True)
    candidate.get_by_role("button", name="Play").click()
    candidate.locator(".time:has-text('no connection: it is tried again')").wait_for()
    assert flag.is_disabled()
    page.context.set_offline(False)
    candidate.locator(".time:has-text('/ 0:08')").wait_for()
    assert flag.is_enabled()
    assert "no connection" not in shown.text_content()


def test_changes_of_a_window_that_was_closed_off_line_are_sent_by_the_next(enter, service):
    page = enter()
    page.context.set_offline(True)
    judge(page, 0, 0, "1.5")
    wait_for_trouble(page)
    address, context = page.url, page.context
    page.close()
    context.set_offline(False)
    page = context.new_page()
    page.goto(address)
    wait_for_scripts(page)
    wait_for_saved(page)
    assert page.locator(".candidate input[type=number]").first.input_value() == "1.5"
    assert [(one.broad, one.fine) for one in judged(service)] == [("NS", 1.5)]


def test_nothing_is_lost_when_the_server_is_killed(enter, service, server):
    page = enter()
    judge(page, 0)
    wait_for_saved(page)
    server.kill()
    for number in range(1, 5):
        judge(page, number, 2, "8.5")
    wait_for_trouble(page)
    server.start()
    wait_for_saved(page)
    assert [(one.broad, one.fine) for one in judged(service)] == [("SS", 5.5), *[("VS", 8.5)] * 4]


def test_a_window_says_that_another_has_changed_a_judgement(enter, service):
    first = enter()
    second = first.context.new_page()
    second.goto(first.url)
    wait_for_scripts(second)
    judge(first, 0, 0, "1")
    wait_for_saved(first)
    second.locator(".candidate").first.locator("input[type=radio]").nth(2).check()
    second.get_by_text("candidate A was changed in another window").wait_for()
    assert second.locator(".candidate input[type=number]").first.input_value() == "1.0"
    assert [(one.broad, one.fine) for one in judged(service)] == [("VS", 1.0)]


def test_a_window_says_that_what_waited_in_it_was_sent_by_another(enter, service):
    first = enter()
    second = first.context.new_page()
    second.goto(first.url)
    wait_for_scripts(second)
    second.route("**/judgements", lambda route: route.abort())
    judge(second, 1, 2, "9")
    wait_for_trouble(second)
    judge(first, 0, 0, "1")
    wait_for_saved(first)
    assert [(one.broad, one.fine) for one in judged(service)] == [("NS", 1.0), ("VS", 9.0)]
    second.unroute("**/judgements")
    wait_for_saved(second)


def test_an_answer_does_not_put_back_what_is_being_typed(enter, service):
    page, held = enter(), []
    candidate = page.locator(".candidate").first
    page.route("**/judgements", lambda route: held.append(route))
    candidate.locator("input[type=radio]").first.check()
    while not held:
        page.wait_for_timeout(20)
    candidate.locator("input[type=number]").fill("6.1")
    held[0].continue_()
    page.unroute("**/judgements")
    wait_for_saved(page)
    assert candidate.locator("input[type=number]").input_value() == "6.1"
    candidate.locator("input[type=number]").press("Tab")
    while not judged(service):
        page.wait_for_timeout(50)
    assert [one.fine for one in judged(service)] == [6.1]


def test_the_next_query_waits_for_what_is_not_saved(enter, service):
    page = enter()
    for number in range(5):
        listen(page, number)
    page.context.set_offline(True)
    for number in range(5):
        judge(page, number)
    page.get_by_role("button", name="next query").click()
    page.get_by_text("not everything is saved yet").or_(page.get_by_text("not saved yet")).first.wait_for()
    assert "page=2" not in page.url
    page.context.set_offline(False)
    page.wait_for_url("**page=2")
    assert len(judged(service)) == 5


def test_what_waits_here_is_forgotten_on_logging_out(enter, server):
    page = enter()
    for path in (ROUND, f"/elsewhere{ROUND}"):
        page.evaluate("(path) => localStorage.setItem(`mirflow-grading:${path}judgements:1:2`, '{}')", path)
    page.goto(f"{server.address}/account")
    page.get_by_role("button", name="Log out on this device").click()
    page.get_by_text("not saved yet").wait_for()
    page.get_by_role("button", name="Log out on this device").click()
    page.wait_for_url(lambda address: "/account" not in address)
    # Another server of the host keeps what is its own.
    left = page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('mirflow-grading:'))")
    assert left == [f"mirflow-grading:/elsewhere{ROUND}judgements:1:2"]


def test_what_waits_for_another_server_or_round_of_the_host_is_not_sent(enter, service):
    page = enter()
    page.context.set_offline(True)
    judge(page, 0)
    wait_for_trouble(page)
    own = page.evaluate("Object.keys(localStorage).find((key) => key.startsWith('mirflow-grading:'))")
    assert own.startswith(f"mirflow-grading:{ROUND}judgements:")
    moved = own.replace(ROUND, f"/elsewhere{ROUND}")
    move = "([from, to]) => { localStorage.setItem(to, localStorage[from]); localStorage.removeItem(from); }"
    for key in page.evaluate("Object.keys(localStorage)"):
        page.evaluate(move, [key, key.replace(ROUND, f"/elsewhere{ROUND}")])
    page.context.set_offline(False)
    page.reload()
    wait_for_scripts(page)
    page.wait_for_timeout(300)
    assert rows(service, StoredAssignment)
    assert not judged(service)
    assert page.evaluate("(key) => key in localStorage", moved)


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 900}, PHONE])
def test_pages_are_without_barriers(enter, server, service, viewport):
    page = enter(agree=False, viewport=viewport)
    assert_accessible(page)
    assert_fits(page)
    page.get_by_role("button", name="I agree").click()
    wait_for_scripts(page)
    judge(page, 0)
    wait_for_saved(page)
    assert_accessible(page)
    assert_fits(page)
    for address in ("/grading/", f"{ROUND}withdraw"):
        page.goto(server.address + address)
        assert_accessible(page)
        assert_fits(page)
    Grader(service, "bob").finish_page()
    page.context.clear_cookies()
    page.goto(f"{server.address}/login/{account(service, 'olga', 'organiser')}")
    page.get_by_role("button").first.click()
    page.wait_for_url(lambda address: "/login/" not in address)
    page.goto(f"{server.address}{ROUND}overview")
    page.get_by_role("heading", name="Ranks without the middle category").wait_for()
    assert_accessible(page)
    assert_fits(page)
