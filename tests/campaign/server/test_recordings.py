"""Recordings are heard by those who may, in ranges of bytes, under ids that tell nothing."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest
import soundfile
from starlette.testclient import TestClient

from mirflow.campaign.server.accounts import Viewer, add_user, issue
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.service import Service, open_service

from .campaigns import write_bare_campaign

CAMPAIGN = """\
campaign: Chords
evaluations:
  - {{task: chord, reference: "reference/{{track}}.jams", estimates: "{{track}}.lab"}}
splits: {{dev: dev, test: {{root: test, hidden: true}}}}
audio: {{pattern: "audio/{{track:path}}.{{format}}", who: {who}}}
"""
ADA = Viewer(1, "ada", "submitter", 1)
EVE = Viewer(3, "eve", "organiser", 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("dev/audio/pop/one.wav", "dev/audio/two.wav", "test/audio/one.wav"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.linspace(-0.5, 0.5, 400), 8000)
    (tmp_path / "dev/audio/three.html").write_text("<script>alert(1)</script>")
    return tmp_path


def make_service(folder: Path, who: str = "members") -> Service:
    return open_service([write_bare_campaign(folder, CAMPAIGN.format(who=who))])


def token(service: Service, role: str) -> dict[str, str]:
    with service.database.write() as session:
        user = add_user(session, f"a {role}", role, service.clock())
        return {"Authorization": f"Bearer {issue(session, user, 'token', service.clock(), None)}"}


def test_a_recording_is_read_whole_in_part_or_as_headers_alone(folder):
    service = make_service(folder, "public")
    client = TestClient(create_app(service))
    data = (folder / "dev/audio/pop/one.wav").read_bytes()
    address = f"/audio/{service.recordings.of_track('dev', 'pop/one', None)}"
    answer = client.get(address)
    assert (answer.content, answer.headers["content-type"]) == (data, "audio/wav")
    assert answer.headers["accept-ranges"] == "bytes"
    part = client.get(address, headers={"Range": "bytes=100-199"})
    assert (part.status_code, part.content) == (206, data[100:200])
    assert part.headers["content-range"] == f"bytes 100-199/{len(data)}"
    assert client.get(address, headers={"Range": "bytes=-10"}).content == data[-10:]
    assert client.get(address, headers={"Range": f"bytes={len(data)}-"}).status_code == 416
    tag = answer.headers["etag"]
    assert client.get(address, headers={"Range": "bytes=0-1", "If-Range": tag}).status_code == 206
    assert client.get(address, headers={"Range": "bytes=0-1", "If-Range": '"old"'}).status_code == 200
    assert client.get(address, headers={"If-None-Match": tag}).status_code == 304
    head = client.head(address)
    assert (head.content, head.headers["content-length"]) == (b"", str(len(data)))


@pytest.mark.parametrize(("who", "hear"), [("public", [None, ADA, EVE]), ("members", [ADA, EVE]), ("organiser", [EVE])])
def test_those_hear_tracks_whom_the_campaign_names(folder, who, hear):
    recordings = make_service(folder, who).recordings
    for viewer in (None, ADA, EVE):
        found = recordings.of_track("dev", "two", viewer)
        assert (found is not None) == (viewer in hear)


def test_ids_tell_nothing_and_differ_by_split(folder):
    service = make_service(folder, "public")
    ids = {service.recordings.of_track("dev", "pop/one", None), service.recordings.of_track("test", "one", None)}
    assert all(id is not None and len(id) == 32 and int(id, 16) for id in ids)
    assert len(ids) == 2
    (folder / "state/secret.key").unlink()
    assert make_service(folder, "public").recordings.of_track("test", "one", None) not in ids


def test_other_files_and_names_are_not_found(folder):
    service = make_service(folder, "public")
    client = TestClient(create_app(service))
    assert service.recordings.of_track("dev", "three", None) is None
    for name in ("dev/audio/two.wav", "..%2Fcampaign.yaml", "two.wav", "0" * 32, "%00"):
        assert client.get(f"/audio/{name}").status_code == 404


def test_what_people_sent_is_not_played(folder):
    service = make_service(folder, "public")
    sent = service.folder_of("submissions") / "dev/draft/two.wav"
    sent.parent.mkdir(parents=True)
    soundfile.write(sent, np.zeros(8), 8000)
    (folder / "dev/audio/sent.wav").symlink_to(sent)
    assert service.recordings.of_track("dev", "sent", None) is None


def test_the_waveform_is_the_lowest_and_highest_samples_of_equal_steps_for_those_who_may_hear(folder):
    service = make_service(folder, "members")
    rng = np.random.default_rng(3)
    written = np.rint(rng.uniform(-1, 1, (10_000, 2)) * 30_000) / 32_768
    soundfile.write(folder / "dev/audio/two.wav", written, 8000)
    (folder / "dev/audio/three.mp3").write_bytes(b"no sound")
    client = TestClient(create_app(service))
    reader = token(service, "reader")
    addresses = [f"/audio/{service.recordings.of_track('dev', name, ADA)}/peaks" for name in ("two", "three")]
    found = client.get(addresses[0], headers=reader).json()
    low, high = np.frombuffer(base64.b64decode(found["peaks"]), np.int8).reshape(2, -1)
    steps = np.array_split(written, np.arange(3, len(written), 3))
    assert found["step"] == pytest.approx(3 / 8000)
    np.testing.assert_array_equal(low, [np.rint(127 * one.min()) for one in steps])
    np.testing.assert_array_equal(high, [np.rint(127 * one.max()) for one in steps])
    assert client.get(addresses[1], headers=reader).json() is None
    assert client.get(addresses[0]).status_code == 401


def test_a_recording_that_is_laid_there_later_is_found_after_a_while(folder):
    service, now = make_service(folder, "public"), 0.0
    recordings = service.recordings
    recordings.clock = lambda: now
    recordings._looked = -100.0
    assert recordings.of_track("dev", "late", None) is None
    soundfile.write(folder / "dev/audio/late.wav", np.zeros(8), 8000)
    assert recordings.of_track("dev", "late", None) is None
    now = 11.0
    assert recordings.of_track("dev", "late", None) is not None
