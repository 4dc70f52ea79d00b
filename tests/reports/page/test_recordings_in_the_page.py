"""Recordings of the visitor's own in a timeline: seen, heard, slowed, repeated; and links to the worst place."""

from __future__ import annotations

import shlex
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirflow
from tests.audio_files import RATE, write
from tests.commands import printed
from tests.datasets import score_files

from .reading import let_draw

REFERENCE = "0\t2\tC\n2\t4\tG\n4\t6\tF\n"
ESTIMATE = "0\t2\tC\n2\t3.5\tA:min\n3.5\t5.5\tF\n5.5\t6\tG\n"


@pytest.fixture(scope="module")
def chords(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page about one track, 6 s long; wrong from 2 to 4 s, and from 5.5 s on."""
    folder = tmp_path_factory.mktemp("chords")
    for name, text in (("ref", REFERENCE), ("est/ada", ESTIMATE)):
        (folder / name).mkdir(parents=True)
        (folder / name / "t.lab").write_text(text)
    store = score_files(folder, "chord", "ref/{track}.lab", "est/{system}/{track}.lab")
    mirflow.report(store, folder / "page.html")
    return folder / "page.html"


@pytest.fixture(scope="module")
def song(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tone of 440 Hz for 3 s, then one of 880 Hz, twice as loud, until 8 s."""
    time = np.arange(8 * RATE) / RATE
    tone = np.where(time < 3, 0.4 * np.sin(880 * np.pi * time), 0.8 * np.sin(1760 * np.pi * time))
    return write(tmp_path_factory.mktemp("audio") / "song.wav", tone)


def opened(visit: Any, page: Path, at: str = "", **options: Any) -> Any:
    found = visit(page, f"#track=t{at}", **options)
    found.wait_for_selector("dialog canvas[tabindex]")
    return found


def give(page: Any, path: Path) -> None:
    """Choose a recording, and wait until its spectrum is there."""
    page.set_input_files("dialog input[type=file]", path)
    page.wait_for_function(
        "() => parseFloat(document.querySelector('dialog .lanes').style.getPropertyValue('--sound')) > 100"
    )
    page.wait_for_timeout(100)
    let_draw(page)


def pixels(page: Any, time: float, top: int, height: int) -> np.ndarray:
    """The colours of a column of the canvas above the lanes at a time: uint8 (height, 4)."""
    return np.array(
        page.locator("dialog canvas.axis").evaluate(
            """(canvas, [share, top, height]) => {
              const x = Math.round(5 + share * (canvas.clientWidth - 10));
              const copy = new OffscreenCanvas(1, height).getContext("2d", { willReadFrequently: true });
              copy.drawImage(canvas, -x, -top);
              return Array.from(copy.getImageData(0, 0, 1, height).data); }""",
            [time / 6, top, height],
        )
    ).reshape(height, 4)


def test_a_recording_stays_on_the_machine_and_is_drawn_by_loudness_and_semitones_where_it_begins(chords, song, visit):
    page = opened(visit, chords, "&seen=0-6")
    give(page, song)
    note = page.locator("dialog .recorded").inner_text()
    assert note.startswith("“song.wav” stays on this machine: nothing of it is sent.")
    assert "It lasts 0:08.0, 2.0 s more than this track (0:06.0)." in note
    loud = [int((pixels(page, time, 26, 44)[:, 3] > 128).sum()) for time in (1.37, 4.63)]
    assert loud[1] == pytest.approx(2 * loud[0], abs=4)
    # From C2 at the bottom to B7: a semitone is a 72nd of the height.
    for time, midi in ((1.37, 69), (4.63, 81)):
        column = pixels(page, time, 70, 83)[:, 0].astype(int)
        assert 36 + 72 * (1 - (column.argmax() + 0.5) / 83) == pytest.approx(midi + 0.5, abs=1.2)
        # The note under the pointer is beside the time.
        box = page.locator("dialog canvas.axis").bounding_box()
        page.mouse.move(box["x"] + 5 + time / 6 * (box["width"] - 10), box["y"] + 70 + 83 * (1 - (midi - 35.5) / 72))
        assert page.locator("dialog .clock").inner_text().endswith(f" · A{midi // 12 - 1}")
    # It begins two seconds later.
    before = pixels(page, 1.1, 70, 83)
    page.locator("dialog input[name=begin]").fill("2")
    page.locator("dialog input[name=begin]").press("Tab")
    let_draw(page)
    assert (pixels(page, 1.1, 70, 83)[:, 3] == 0).any()
    np.testing.assert_array_equal(pixels(page, 3.1, 70, 83)[10:70].argmax(axis=0), before[10:70].argmax(axis=0))


def test_files_can_be_dropped_and_what_is_no_audio_is_refused_in_words(chords, visit):
    page = opened(visit, chords)
    data = b64encode(b"no audio").decode()
    transfer = page.evaluate_handle(
        """data => { const transfer = new DataTransfer();
        transfer.items.add(new File([atob(data)], "notes.txt"));
        return transfer; }""",
        data,
    )
    page.dispatch_event("dialog .lanes", "drop", {"dataTransfer": transfer})
    page.wait_for_function("() => document.querySelector('.recorded')?.textContent.includes('cannot be')")
    assert page.locator("dialog button.play").is_enabled()


def test_the_longest_wrong_stretch_is_a_key_away_and_in_the_link(chords, visit):
    page = opened(visit, chords)
    page.keyboard.press("w")
    page.wait_for_function("() => location.hash.includes('time=2')")
    assert page.locator("dialog .mixer .status").inner_text() == "ada: wrong for 2.0 s, from 0:02.00"
    assert {"loop=2-4", "seen=0-6"} < set(page.evaluate("() => location.hash").split("&"))


def test_the_second_with_most_wrong_events_is_the_worst_of_events(tmp_path, visit):
    for name, text in (("ref", "1\n2\n3\n5\n6\n"), ("est/ada", "1.3\n3\n5.2\n5.5\n6\n")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "t.txt").write_text(text)
    store = score_files(tmp_path, "onset", "ref/{track}.txt", "est/{system}/{track}.txt")
    mirflow.report(store, tmp_path / "page.html")
    page = opened(visit, tmp_path / "page.html")
    page.locator("dialog button[name=worst]").click()
    assert page.locator("dialog .mixer .status").inner_text() == "ada: 3 wrong within a second, from 0:05.00"


def test_a_command_draws_the_visible_lanes(chords, visit, monkeypatch):
    page = opened(visit, chords, "&seen=1-5")
    page.evaluate("() => { navigator.clipboard.writeText = async text => { window.copied = text; }; }")
    menu = page.locator("dialog details.take")
    menu.locator("summary").click()
    menu.get_by_role("button", name="Command").click()
    page.wait_for_function("() => window.copied")
    monkeypatch.chdir(chords.parent)
    words = shlex.split(page.evaluate("() => window.copied"))
    assert words[:-2] == shlex.split("mirflow plot s.zarr timeline -g chord -m majmin -t t --from 1 --to 5")
    printed(*words[1:])
    assert (chords.parent / "t.pdf").stat().st_size > 1000


@pytest.mark.slow
def test_a_span_is_repeated_at_half_speed_with_the_recording(chords, song, visit):
    page = opened(visit, chords, "&seen=0-6&speed=half")
    give(page, song)
    canvas = page.locator("dialog canvas[tabindex]")
    canvas.focus()
    box = canvas.bounding_box()
    at = [box["x"] + 5 + share * (box["width"] - 10) for share in (1 / 6, 1.5 / 6)]
    page.keyboard.down("Shift")
    page.mouse.move(at[0], box["y"] + 20)
    page.mouse.down()
    page.mouse.move(at[1], box["y"] + 20, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_function("() => /loop=(0.9|1)[.0-9]*-1[.]/.test(location.hash)")
    assert page.locator("dialog button[name=loop]").inner_text() == "Loop 0:01.0\N{EN DASH}0:01.5"
    page.evaluate(
        """() => { window.times = [];
        const play = HTMLMediaElement.prototype.play;
        HTMLMediaElement.prototype.play = function () {
          window.times.push([this.currentTime, this.playbackRate]); return play.call(this); }; }"""
    )
    canvas.focus()
    page.keyboard.press("Space")
    page.wait_for_function("() => window.times.length > 1")
    page.keyboard.press("Space")
    for began, speed in page.evaluate("() => window.times")[:2]:
        assert began == pytest.approx(1, abs=0.02)
        assert speed == 0.5
    canvas.focus()
    page.keyboard.press("l")
    page.wait_for_function("() => !location.hash.includes('loop')")


def test_volumes_are_muted_by_keys_and_remembered_in_the_link(chords, visit):
    page = opened(visit, chords, "&mix=100-40-100")
    page.keyboard.press("r")
    page.wait_for_function("() => location.hash.includes('mix=100-0-100')")
    page.keyboard.press("r")
    page.wait_for_function("() => location.hash.includes('mix=100-40-100')")
    assert page.get_by_label("Reference", exact=True).input_value() == "40"
    assert page.get_by_label("Music").is_disabled()
