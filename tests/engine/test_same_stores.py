"""However the graph of a pipeline is executed, the store is the same, bit for bit."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import pytest

import mirflow
from tests.datasets import write_dataset, write_pipeline

from .test_kill import contents


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("same")
    write_dataset(folder)
    (folder / "est/bob/t03.lab").write_text("0 1 nonsense\n")
    write_pipeline(folder, metrics="[majmin, 'csr@root', 'confusion@majmin']", on_error="ignore")
    return folder / "pipeline.yaml"


@pytest.fixture(scope="module")
def serial(pipeline: Path) -> dict[str, Any]:
    return contents(Path(mirflow.run(pipeline, scheduler="serial").store))


def parts(pipeline: Path, store: Path) -> None:
    for number in (2, 1, 3):
        mirflow.run(pipeline, store=store, part=f"{number}/3")
    mirflow.publish(pipeline, store=store)


def cluster(pipeline: Path, store: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(1, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL") as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        mirflow.run(pipeline, store=store, scheduler=client)


def saved(pipeline: Path, store: Path) -> None:
    with dask.config.set(scheduler="synchronous"):
        mirflow.save(mirflow.open_pipeline(pipeline), store)


@pytest.mark.parametrize(
    "execute",
    [
        lambda pipeline, store: mirflow.run(pipeline, store=store, scheduler="threads", workers=2),
        lambda pipeline, store: mirflow.run(pipeline, store=store, scheduler="processes", workers=2),
        pytest.param(cluster, marks=pytest.mark.slow),
        parts,
        saved,
    ],
    ids=["threads", "processes", "cluster", "parts", "saved"],
)
def test_every_scheduler_parts_and_a_saved_lazy_tree_write_the_store_of_a_serial_run(
    execute: Callable[[Path, Path], object], pipeline: Path, serial: dict[str, Any], tmp_path: Path
) -> None:
    execute(pipeline, tmp_path / "store.zarr")
    stores = contents(tmp_path / "store.zarr"), serial
    assert stores[0].keys() == stores[1].keys()
    if execute is saved:
        # What is saved may have been changed: a run alone says by which pipeline and of which files scores are.
        by_runs = re.compile(r"(zarr|chord/zarr)\.json|chord/stamp/.*")
        stores = tuple({path: data for path, data in one.items() if not by_runs.fullmatch(path)} for one in stores)
    assert stores[0] == stores[1]
