"""Stores at s3://, gs:// and az:// in services of other makers, where these are installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mirflow

from .. import emulators
from ..commands import invoke, printed

pytestmark = pytest.mark.slow
pytest.importorskip("icechunk", reason="the extra 'cloud' is not installed")
obstore = pytest.importorskip("obstore", reason="the extra 'cloud' is not installed")
_SERVICES = {"s3": emulators.ceph, "az": emulators.azurite, "gs": emulators.fake_gcs}
_PIPELINE = """
name: lab
root: {root}
evaluations:
  - task: onset
    reference: {reference}/{{track}}.csv
    estimates: {systems}/{{system}}/{{track}}.csv
store: x.zarr
"""


@pytest.fixture(scope="module", params=_SERVICES)
def service(request, tmp_path_factory) -> Iterator[tuple[str, dict[str, str]]]:
    """The kind of address, and the environment that leads to the service."""
    with _SERVICES[request.param](tmp_path_factory.mktemp("service")) as environment:
        yield request.param, environment


@pytest.fixture
def lab(service, monkeypatch, tmp_path_factory) -> str:
    """Start of addresses in the service."""
    kind, environment = service
    for name, value in {**environment, "XDG_STATE_HOME": str(tmp_path_factory.mktemp("state"))}.items():
        monkeypatch.setenv(name, value)
    return f"{kind}://{emulators.BUCKET}"


@pytest.fixture
def pipelines(tmp_path) -> list[Path]:
    for number, folder in enumerate(["ref", "one/A", "one/B", "two/C", "two/D"]):
        (tmp_path / folder).mkdir(parents=True)
        for track in range(5):
            (tmp_path / folder / f"{track}.csv").write_text(f"1.0\n{2 + 0.02 * number * track:.2f}\n")
    paths = [tmp_path / f"{systems}.yaml" for systems in ("one", "two")]
    for path in paths:
        path.write_text(_PIPELINE.format(root=tmp_path, reference="ref", systems=path.stem))
    return paths


def _commits(store: str) -> list[str]:
    return printed("history", store, "--format", "csv").splitlines()[1:]


def test_its_answers_are_those_of_a_folder(lab, pipelines, tmp_path):
    store = f"{lab}/stores/whole"
    for path in pipelines:
        printed("run", path, "--store", store)
        assert f"@{path.stem}\n" in printed("history", store, "--tag", path.stem)
    mirflow.run(pipelines[0], progress=False, store=tmp_path / "one.zarr")
    for words in (["query", "--ci"], ["compare", "-m", "f_measure"]):
        assert printed(*words, f"{store}@one") == printed(*words, tmp_path / "one.zarr")
    assert mirflow.open_store(store)["onset"].system.values.tolist() == ["A", "B", "C", "D"]
    assert [line.split(",")[4] for line in _commits(store)] == ["two", "one"]
    printed("report", store, "--root", tmp_path, "--output", tmp_path / "report.html")
    assert "0.8" in (tmp_path / "report.html").read_text()


def test_two_runs_at_once_both_land(lab, pipelines):
    for trial in range(3):
        store = f"{lab}/stores/both{trial}"
        command = [sys.executable, "-m", "mirflow", "run", "--store", store, "--quiet"]
        runs = [subprocess.Popen([*command, str(path)], stderr=subprocess.PIPE, text=True) for path in pipelines]
        assert [run.communicate(timeout=120)[1] for run in runs] == ["", ""]
        assert sorted(mirflow.open_store(store)["onset"].system.values) == ["A", "B", "C", "D"]
        assert len(_commits(store)) == 2


def test_references_in_it_are_read(lab, pipelines, tmp_path):
    client = obstore.store.from_url(lab, client_options={"allow_http": True})
    for file in (tmp_path / "ref").iterdir():
        obstore.put(client, f"references/{file.name}", file.read_bytes())
    text = _PIPELINE.format(root=tmp_path, reference=f"{lab}/references", systems="one")
    pipelines[0].write_text(text)
    (report,) = mirflow.run(pipelines[0], progress=False).evaluations
    assert report.counts["new"] == 10
    assert mirflow.open_store(tmp_path / "x.zarr")["onset"].status.values.tolist() == [[1] * 5] * 2


def test_what_is_wrong_is_said(lab, pipelines, monkeypatch):
    container = "container" if lab.startswith("az") else "bucket"
    if not lab.startswith("gs"):  # fake-gcs-server answers with an internal error
        message = f"{lab[:2]}://elsewhere/x: there is no such {container}; make it, or name another one"
        assert message in invoke("run", pipelines[0], "--store", f"{lab[:2]}://elsewhere/x").output
    assert "no such store; `mirflow run` makes one" in invoke("query", f"{lab}/none").output
    wrong = {
        "s3": ("AWS_SECRET_ACCESS_KEY", "x", "the secret key is wrong; check the credentials"),
        "az": ("AZURE_STORAGE_ACCOUNT_KEY", "x y", "the account key is not valid; check AZURE_STORAGE_ACCOUNT_KEY"),
        "gs": ("GOOGLE_SERVICE_ACCOUNT", "none.json", "credentials cannot be read; check the file that GOOGLE_APPL"),
    }
    name, value, message = wrong[lab[:2]]
    monkeypatch.setenv(name, value)
    assert message in invoke("query", f"{lab}/none").output
