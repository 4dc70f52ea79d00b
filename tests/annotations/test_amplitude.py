"""Sound as a labelled array: nothing is read before it is looked at, and every array can be sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation, as_items
from mirflow.annotations.audio import HeldSignal, Signal
from mirflow.annotations.labelled import from_dataset, to_dataset
from mirflow.errors import AnnotationError
from mirflow.ragged import Float
from tests.audio_files import RATE, noise, write, write_stems

SHAPE = (3, 2, 11)
WHOLE = np.arange(66.0).reshape(SHAPE)


class Watched:
    """A signal that notes what is read of it."""

    rate, channels, frames = 8000.0, 2, 11

    def __init__(self, amplitude: Float, log: list[tuple[int, int]]) -> None:
        self.amplitude, self.log = amplitude, log

    def read(self, start: int, stop: int) -> Float:
        self.log.append((start, stop))
        return self.amplitude[:, start:stop].copy()


def watched() -> tuple[Annotation, list[tuple[int, int]]]:
    log: list[tuple[int, int]] = []
    signals: list[Signal] = [Watched(one, log) for one in WHOLE]
    return Annotation("audio", {"signal": as_items(signals)}, ["bass", "drums", "voice"]), log


def test_a_dataset_of_sound_reads_what_is_looked_at() -> None:
    annotation, log = watched()
    ds = to_dataset(annotation)
    assert ds.amplitude.dims == ("source", "channel", "sample")
    assert (ds.sizes["sample"], ds.amplitude.dtype, ds.attrs["rate"], ds.attrs["kind"]) == (11, float, 8000.0, "audio")
    assert (ds.amplitude.attrs, ds.attrs["rate_units"]) == ({"long_name": "amplitude", "units": "1"}, "Hz")
    part = ds.amplitude.sel(source="drums").isel(sample=slice(3, 6))
    assert "amplitude" in repr(ds)
    assert log == []
    np.testing.assert_array_equal(part.values, WHOLE[1, :, 3:6])
    assert log == [(3, 6)]


def keys(size: int) -> st.SearchStrategy[Any]:
    places = st.integers(-size, size - 1)
    # xarray itself fails on a lazy array where a slice that goes backwards is empty.
    slices = st.slices(size).filter(lambda one: (one.step or 1) > 0 or len(range(size)[one]) > 0)
    return st.one_of(places, slices, st.lists(places, max_size=4).map(lambda one: np.array(one, dtype=np.int64)))


@given(keys(3), keys(2), keys(11))
def test_every_way_to_choose_gives_what_numpy_gives(source: Any, channel: Any, sample: Any) -> None:
    chosen = {"source": source, "channel": channel, "sample": sample}
    lazy = to_dataset(watched()[0]).amplitude
    whole = xr.DataArray(WHOLE, dims=lazy.dims)
    np.testing.assert_array_equal(lazy.isel(chosen).values, whole.isel(chosen).values)
    np.testing.assert_array_equal(
        lazy.isel(sample=sample).isel(source=source).values, whole.isel(sample=sample, source=source)
    )


def test_there_and_back_without_reading() -> None:
    annotation, log = watched()
    back = from_dataset(to_dataset(annotation).isel(source=[2, 0]))
    assert (back.kind, back.labels, back.attrs) == ("audio", ["voice", "bass"], {})
    signal = back.columns["signal"][0]
    assert isinstance(signal, Signal)
    assert (signal.rate, signal.channels, signal.frames) == (8000.0, 2, 11)
    assert log == []
    np.testing.assert_array_equal(signal.read(4, 7), WHOLE[2, :, 4:7])
    assert log == [(4, 7)]


def test_a_dataset_of_ones_own() -> None:
    samples = noise(1).reshape(4, 1000).astype(np.float32)
    own = xr.Dataset({"amplitude": (("sample", "source"), samples.T)}, attrs={"kind": "audio", "rate": 22050})
    annotation = from_dataset(own)
    assert (annotation.labels, len(annotation)) == (None, 4)
    signal = annotation.columns["signal"][3]
    assert (signal.rate, signal.channels, signal.frames) == (22050.0, 1, 1000)
    read = signal.read(10, 20)
    assert (read.dtype, read.shape) == (np.float64, (1, 10))
    np.testing.assert_array_equal(read[0], samples[3, 10:20])
    chunked = from_dataset(own.chunk(sample=100)).columns["signal"][3]
    np.testing.assert_array_equal(chunked.read(90, 120), signal.read(90, 120))


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (xr.Dataset({"sound": ("sample", np.zeros(3))}), "needs a variable 'amplitude'"),
        (xr.Dataset({"amplitude": ("sample", np.zeros(3))}), "amplitude has the dims sample, not source"),
        (xr.Dataset({"amplitude": (("source", "sample"), np.zeros((2, 3)))}), "invalid rate None: expected"),
        (
            xr.Dataset({"amplitude": (("source", "sample"), np.zeros((2, 3)))}, attrs={"rate": "fast"}),
            "invalid rate 'fast': expected the sampling rate in Hz",
        ),
        (
            xr.Dataset({"amplitude": (("source", "sample"), np.zeros((2, 3), np.int16))}, attrs={"rate": 8000}),
            "invalid dtype int16 of amplitude: expected floating point",
        ),
    ],
)
def test_what_is_no_sound(dataset: xr.Dataset, message: str) -> None:
    with pytest.raises(AnnotationError, match=message):
        from_dataset(dataset.assign_attrs(kind="audio"))


def test_sources_that_are_unlike_make_no_array() -> None:
    signals = [HeldSignal(np.zeros((1, 5)), 8000.0), HeldSignal(np.zeros((1, 6)), 8000.0)]
    with pytest.raises(AnnotationError, match="bass has 5 samples, voice has 6 samples"):
        to_dataset(Annotation("audio", {"signal": as_items(signals)}, ["bass", "voice"]))
    with pytest.raises(AnnotationError, match="has no sources"):
        to_dataset(Annotation("audio", {"signal": as_items([])}))


def test_load_reads_headers_only(tmp_path: Path) -> None:
    folder = write_stems(tmp_path / "x", ("bass", "voice"))
    ds = mirflow.load(folder / "{source}.wav", task="separation")
    assert (ds.source.values.tolist(), ds.attrs["task"], ds.attrs["rate"]) == (["bass", "voice"], "separation", RATE)
    write(folder / "voice.wav", noise(7))  # what is read is what is there when somebody looks
    np.testing.assert_array_equal(ds.amplitude.sel(source="voice").values, noise(7).T)
    np.testing.assert_array_equal(mirflow.load(folder, task="separation").amplitude[0], noise(0).T)


def test_a_collection_of_sound_holds_no_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, track in enumerate("xy"):
        write_stems(tmp_path / "ref" / track, seed=seed)
    monkeypatch.chdir(tmp_path)
    songs = mirflow.load_collection("ref/{track}/{source}.wav", task="separation", sources=["voice", "bass"])
    assert list(songs) == ["x", "y"]
    assert songs["y"].source.values.tolist() == ["voice", "bass"]
    np.testing.assert_array_equal(songs["y"].amplitude.sel(source="bass").values, noise(100).T)
    with pytest.raises(AnnotationError, match="audio is not loaded at once"):
        _ = songs.dataset
    lazy = mirflow.load_collection("ref/{track}/{source}.wav", task="separation", lazy=True)
    assert lazy.sel(track="y").compute()["y"].sizes["source"] == 2
    with pytest.raises(AnnotationError, match="audio stays in its files: it cannot be packed"):
        mirflow.pack("ref/{track}/{source}.wav", "p.zarr", task="separation")
    assert not Path("p.zarr").exists()
    with pytest.raises(AnnotationError, match=r"on time grids are .*, not audio"):
        mirflow.align(songs, {"hop": 0.01})
    with pytest.raises(AnnotationError, match=r"on time grids are .*, not audio"):
        mirflow.align([songs["x"], songs["y"]])
