"""Common time grids, of boundaries and of frames: every kind as plain loops and pretty_midi have it, and back."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import mir_eval
import numpy as np
import pretty_midi
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.collection import collect
from mirflow.annotations.grids import codes_at
from mirflow.annotations.labelled import to_dataset
from mirflow.annotations.schema import KINDS, TASK_KINDS
from mirflow.errors import AnnotationError
from mirflow.readers import read, read_all
from mirflow.theory.general_midi import PEDALS, pedal_of
from mirflow.theory.pitch import midi_to_hz
from tests.annotation_strategies import annotations


def chords(*rows: tuple[float, float, str], **attrs: str) -> Annotation:
    start, end = np.array([[a, b] for a, b, _ in rows], dtype=np.float64).reshape(-1, 2).T
    return Annotation("intervals", {"start": start, "end": end}, [label for _, _, label in rows], attrs=attrs)


def _notes(*rows: tuple[float, float, float, float]) -> Annotation:
    columns = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return Annotation("notes", dict(zip(("start", "end", "pitch", "velocity"), columns, strict=True)))


REFERENCE = chords((0, 1, "C"), (1, 3, "G"), annotator="A1")
ESTIMATE = chords((0.5, 2, "C"), (2, 4, "G"), annotator="A2")


def test_the_union_holds_every_boundary_of_both() -> None:
    both = mirflow.align([REFERENCE, ESTIMATE])
    assert both.annotation.values.tolist() == ["A1", "A2"]
    assert both.time.values.tolist() == [0, 0.5, 1, 2, 3]
    assert both.end.values.tolist() == [0.5, 1, 2, 3, 4]
    assert both.label.values.tolist() == [["C", "C", "G", "G", ""], ["", "C", "C", "G", "G"]]
    np.testing.assert_array_equal(both.covered, both.label != "")
    assert both.time.attrs["units"] == "s"
    assert both.attrs["grid"] == "union"


def test_frames_start_at_zero_and_end_before_the_last_end() -> None:
    both = mirflow.align([REFERENCE, ESTIMATE], {"hop": 0.5})
    np.testing.assert_allclose(both.time, np.arange(8) * 0.5)
    assert both.label.sel(annotation="A1").values.tolist() == ["C", "C", "G", "G", "G", "G", "", ""]
    assert both.attrs["grid"] == "hop 0.5 s"


def test_on_the_reference_s_grid_the_label_at_the_middle_counts() -> None:
    both = mirflow.align([REFERENCE, ESTIMATE], "reference")
    assert both.time.values.tolist() == [0, 1]
    assert both.label.values.tolist() == [["C", "G"], ["C", "G"]]


def test_events_are_counted() -> None:
    beats = [Annotation("events", {"time": np.array(times)}) for times in ([0.0, 0.5, 1.0], [0.1, 0.5, 0.5])]
    union = mirflow.align(beats)
    assert union.time.values.tolist() == [0.0, 0.1, 0.5, 1.0]
    assert union["count"].values.tolist() == [[1, 0, 1, 1], [0, 1, 2, 0]]
    frames = mirflow.align(beats, {"hop": 0.5}, names=["x", "y"])
    assert frames["count"].sel(annotation="y").values.tolist() == [1, 2, 0]
    assert int(frames["count"].sum()) == 6


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=6),
    st.lists(st.integers(-2, 22), min_size=1, max_size=6).map(sorted),
)
def test_the_label_in_force_is_that_of_the_last_interval_to_start(
    spans: list[tuple[int, int]], times: list[int]
) -> None:
    rows = [(min(span), max(span), f"label{number}") for number, span in enumerate(spans)]
    found = codes_at(to_ragged([chords(*rows)]), np.array(times, dtype=np.float64))[0]
    for time, code in zip(times, found, strict=True):
        candidates = [row for row in rows if row[0] < row[1] and row[0] <= time]
        latest = max(candidates, key=lambda row: (row[0], rows.index(row)), default=None)
        expected = latest[2] if latest is not None and time < latest[1] else None
        assert (f"label{code}" if code >= 0 else None) == expected


@pytest.mark.parametrize(
    "grid",
    [
        "unin",
        {"hop": 0},
        {"hop": -1},
        {"hop": np.inf},
        {"hop": "x"},
        {"step": 1},
        3,
        [0.5],
        [[0, 1], [1, 2]],
        ["a", "b"],
    ],
)
def test_what_is_no_grid_is_refused(grid: object) -> None:
    with pytest.raises(AnnotationError, match="invalid grid"):
        mirflow.align([REFERENCE], grid)  # type: ignore[arg-type]


def test_a_mapping_names_the_annotations_and_one_alone_has_no_name() -> None:
    both = mirflow.align({"ref": REFERENCE, "est": ESTIMATE}, {"hop": 0.5})
    assert both.annotation.values.tolist() == ["ref", "est"]
    alone = mirflow.align(to_dataset(REFERENCE), {"hop": 0.5})
    assert alone.label.dims == ("time",)
    assert alone.label.values.tolist() == both.label.values[0, :6].tolist()


def test_only_like_with_like() -> None:
    beats = Annotation("events", {"time": np.zeros(1)})
    with pytest.raises(AnnotationError, match="not events, intervals"):
        mirflow.align([REFERENCE, beats])
    with pytest.raises(AnnotationError, match="nothing to align"):
        mirflow.align([])
    with pytest.raises(AnnotationError, match="nothing to align: the collection has no tracks"):
        mirflow.align(collect({"x": REFERENCE}).isel(track=[]), {"hop": 1.0})
    with pytest.raises(AnnotationError, match="not an annotation: NoneType; "):
        mirflow.align(None, "union")  # type: ignore[arg-type]
    with pytest.raises(AnnotationError, match="not an annotation: str; "):
        mirflow.align("chords.lab")
    with pytest.raises(AnnotationError, match="the grid union or"):
        mirflow.align([beats, beats], "reference")
    with pytest.raises(AnnotationError, match=r"of kind events, .*, not key"):
        mirflow.align(Annotation("key", {}, ["C major"]))
    with pytest.raises(AnnotationError, match="width is that of events, and intervals have none"):
        mirflow.align(REFERENCE, {"hop": 1.0}, width=2)
    with pytest.raises(AnnotationError, match="resampling is that of series, not of events"):
        mirflow.align(beats, {"hop": 1.0}, resampling="hold")
    with pytest.raises(AnnotationError, match="1 names for 2 annotations"):
        mirflow.align([beats, beats], names=["x"])


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (chords((0, np.nan, "C")), "time is not finite: 0.0 to nan s"),
        (Annotation("events", {"time": np.array([0.0, np.inf])}), "line 2: .*time is not finite: inf"),
        (_notes((0.0, 1.0, 1.0, 60.0)), "pitch is not from MIDI 0 to 127: 1.0 Hz"),
        (_notes((1.0, 0.5, 440.0, 60.0)), "ends before it starts"),
        (_notes((0.0, 4e6, 440.0, 60.0)), "are more than"),
    ],
)
def test_values_that_do_not_fit_are_refused(annotation: Annotation, message: str) -> None:
    with pytest.raises(AnnotationError, match=message):
        mirflow.align(annotation, {"hop": 1.0})


def test_one_long_label_among_many_takes_no_more_than_itself() -> None:
    rows = [(float(one), one + 1.0, "A" * 10**6 if one == 7 else f"s{one}") for one in range(3000)]
    both = mirflow.align([chords(*rows, annotator="A1"), chords(*rows, annotator="A2")])
    assert both.label.dtype == object  # as texts of one width they would take 24 GB
    assert both.label.values[0, [6, 7, 8]].tolist() == ["s6", "A" * 10**6, "s8"]
    dataset = to_dataset(chords(*rows))
    assert dataset.label.values[7] == "A" * 10**6


GRIDDED = ("chord", "beat", "onset", "hierarchy", "melody", "multipitch", "transcription", "pedal")
_HOPS = st.sampled_from((0.5, 0.1, 1 / 3, 2.0))
_TIMES = st.lists(st.integers(0, 60), min_size=2, max_size=8, unique=True).map(lambda one: np.sort(one) / 4)


def _frame(grid: Any, time: float) -> int:
    """The last stretch that begins at or, but for rounding, before a time; -1 for none, the number of all behind."""
    slack = 1e-9 if str(grid.attrs["grid"]).startswith("hop") else 0.0
    times = grid.time.values.tolist()
    last = 2 * times[-1] - times[-2] if grid.attrs["grid"] == "times" else np.inf
    starts = [*times, grid.end.values[-1] if "end" in grid.coords else last] if times else []
    return max((place for place, start in enumerate(starts) if start - slack <= time), default=-1)


def _labels_at(rows: list[tuple[float, float, str]], times: list[float]) -> list[str]:
    found = []
    for time in times:
        label = ""
        for start, end, text in sorted(rows, key=lambda row: row[0]):
            if start < end and start <= time:
                label = text if time < end else ""
        found.append(label)
    return found


def _intervals(one: Annotation, grid: Any) -> dict[str, Any]:
    rows = list(zip(one.columns["start"], one.columns["end"], one.labels or (), strict=True))
    return {"label": _labels_at(rows, grid.time.values.tolist())}


def _hierarchy(one: Annotation, grid: Any) -> dict[str, Any]:
    rows = list(zip(one.columns["start"], one.columns["end"], one.labels or (), strict=True))
    ends = np.cumsum(one.inner_counts[0])
    levels = [rows[end - size : end] for end, size in zip(ends, one.inner_counts[0], strict=True)]
    levels += [[]] * (grid.sizes["level"] - len(levels))
    labels = [_labels_at(level, grid.time.values.tolist()) for level in levels]
    return {"label": np.reshape(labels, grid.label.shape)}


def _events(one: Annotation, grid: Any) -> dict[str, Any]:
    count, label = [0] * grid.sizes["time"], [""] * grid.sizes["time"]
    for place in np.argsort(one.columns["time"], kind="stable").tolist():
        frame = _frame(grid, one.columns["time"][place])
        if 0 <= frame < len(count):
            count[frame] += 1
            label[frame] = one.labels[place] if one.labels is not None else ""
    filled = [frame for frame, number in enumerate(count) if number]
    reach = grid.attrs["width"] + 1
    levels = [max([1 - abs(frame - other) / reach for other in filled] + [0.0]) for frame in range(len(count))]
    found = {"count": count, "activation": np.array(levels, dtype=np.float32)}
    return found | ({"label": label} if "label" in grid else {})


def _rolls_of_notes(one: Annotation, grid: Any) -> dict[str, Any]:
    active, onset, velocity = np.zeros((3, grid.sizes["time"], 128))
    for place in np.argsort(one.columns["start"], kind="stable").tolist():
        start, end, pitch = (one.columns[name][place] for name in ("start", "end", "pitch"))
        if end == start:
            continue
        key = round(69 + 12 * np.log2(pitch / 440))
        first, stop = _frame(grid, start), _frame(grid, end)
        if 0 <= first < len(onset):
            onset[first, key] = 1
        for frame in range(first, max(stop, first + 1)):
            if 0 <= frame < len(active):
                active[frame, key] = 1
                velocity[frame, key] = one.columns.get("velocity", np.full(len(one), np.nan))[place]
    found = {"active": active, "onset": onset}
    return found | ({"velocity": velocity.astype(np.float32)} if "velocity" in grid else {})


def _series(one: Annotation, grid: Any) -> dict[str, Any]:
    order = np.argsort(one.columns["time"], kind="stable")
    times = [round(float(time), 10) for time in one.columns["time"][order]]
    found = []
    for time in grid.time.values.tolist():
        before = [place for place, own in enumerate(times) if own <= round(time, 10)]
        inside = times and min(times[0], 0.0) <= round(time, 10) <= times[-1]
        place = (before[-1] if before else 0) if inside else None
        found.append(0.0 if place is None else abs(one.columns["frequency"][order[place]]))
    return {"frequency": found}


def _multipitch(one: Annotation, grid: Any) -> dict[str, Any]:
    starts = np.append(0, np.cumsum(one.inner_counts[0]))
    order = np.argsort(one.columns["time"], kind="stable").tolist()
    times = [float(one.columns["time"][place]) for place in order]
    active = np.zeros((grid.sizes["time"], 128))
    for frame, time in enumerate(grid.time.values.tolist()):
        if not times or not times[0] - 1e-9 <= time <= times[-1] + 1e-9:
            continue
        time = min(max(time, times[0]), times[-1])
        near = order[min(range(len(times)), key=lambda place: (abs(times[place] - time), place))]
        for frequency in one.columns["frequency"][starts[near] : starts[near + 1]]:
            if frequency:
                active[frame, round(69 + 12 * np.log2(frequency / 440))] = 1
    return {"active": active}


def _pedals(one: Annotation, grid: Any) -> dict[str, Any]:
    rows = list(zip(one.columns["start"], one.columns["end"], one.labels or (), strict=True))
    own = [[row for row in rows if pedal_of(row[2]) == number] for number in range(3)]
    times = grid.time.values.tolist()
    return {"down": np.array([[bool(label) for label in _labels_at(_named(some), times)] for some in own]).T}


def _named(rows: list[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    return [(start, end, "down") for start, end, _ in rows]


_LOOPS = {
    "events": _events,
    "intervals": _intervals,
    "hierarchy": _hierarchy,
    "notes": _rolls_of_notes,
    "series": _series,
    "multipitch": _multipitch,
    "pedals": _pedals,
}


def check(several: list[Annotation], grid: Any, **options: Any) -> None:
    """All annotations of a grid are what a loop has for each."""
    found = mirflow.align(several, grid, names=[str(place) for place in range(len(several))], **options)
    assert found.valid.dtype == np.bool_
    for one, row in zip(several, (found.isel(annotation=place) for place in range(len(several))), strict=True):
        for name, expected in _LOOPS[one.kind](one, row).items():
            np.testing.assert_array_equal(row[name].values, expected, err_msg=f"{name} of {one.attrs.get('source')}")


def test_every_kind_with_times_has_a_grid() -> None:
    assert (
        {kind.name for kind in KINDS.values() if kind.gridded_as} == set(_LOOPS) == {TASK_KINDS[one] for one in GRIDDED}
    )


def _options(kind: str) -> dict[str, Any]:
    return {"series": {"resampling": "hold"}, "events": {"width": 2}}.get(kind, {})


@pytest.mark.parametrize("task", GRIDDED)
@given(data=st.data())
def test_a_plain_loop_agrees(task: str, data: st.DataObject) -> None:
    kind = TASK_KINDS[task]
    several = data.draw(st.lists(annotations(task), min_size=1, max_size=3))
    grid = data.draw(st.one_of(st.just("union"), _HOPS.map(lambda hop: {"hop": hop}), _TIMES))
    every = np.concatenate([one.columns[name] for one in several for name in KINDS[kind].times] or [np.zeros(0)])
    assume(bool((np.abs(np.nan_to_num(every)) < 100).all()))
    try:
        mirflow.align(several, grid)
    except AnnotationError:
        return
    check(several, grid, **_options(kind))


_REAL: dict[str, tuple[str, str, dict[str, Any]]] = {
    "casd": ("chord", "casd/**/*.jams", {}),
    "mirex2013-ace": ("chord", "mirex2013-ace/**/*.lab", {}),
    "harmonix beats": ("beat", "harmonix/reference/beats_and_downbeats/*.txt", {}),
    "harmonix segments": ("segment", "harmonix/reference/jams/*.jams", {}),
    "salami": ("segment", "salami/**/*functions.txt", {"columns": {"start": 0, "label": 1}}),
    "adc2004-melody": ("melody", "adc2004-melody/reference/*.txt", {}),
    "giantsteps-key": ("segment", "giantsteps-key/**/*.jams", {"namespace": "key_mode"}),
    "mirex2015-su": ("transcription", "mirex2015-su-transcription/*/SY1/*.txt", {}),
    "fixtures onset": ("onset", "mir_eval-fixtures/onset/*.txt", {}),
    "fixtures multipitch": ("multipitch", "mir_eval-fixtures/multipitch/*.txt", {}),
    "fixtures transcription": ("transcription", "mir_eval-fixtures/transcription/*.txt", {}),
    "fixtures hierarchy": ("hierarchy", "mir_eval-fixtures/hierarchy/*.lab", {}),
}


@pytest.mark.parametrize("name", _REAL)
def test_a_plain_loop_agrees_on_real_data(name: str, shared_data: Path) -> None:
    task, pattern, options = _REAL[name]
    if "namespace" in options:
        task = None  # type: ignore[assignment]
    files = sorted(shared_data.glob(pattern))
    assert files
    for file in files[:: len(files) // 3 or 1]:
        several = read_all(file, task=task, **options) if file.suffix == ".jams" else [read(file, task=task, **options)]
        for grid in ({"hop": 0.2}, np.arange(5.0, 30.0, 0.37)):
            check(several, grid, **_options(several[0].kind))


def test_frames_at_the_reference_s_times_are_those_that_mir_eval_compares(shared_data: Path) -> None:
    folder = shared_data / "mir_eval-fixtures" / "multipitch"
    for file in sorted(folder.glob("ref*.txt"))[:4]:
        paths = file, file.with_name(file.name.replace("ref", "est"))
        (times, _), estimate = (mir_eval.io.load_ragged_time_series(str(path)) for path in paths)
        frames = mirflow.align([read(path, task="multipitch") for path in paths], "reference").active.values[1]
        expected = mir_eval.multipitch.resample_multipitch(*estimate, times)
        for found, frequencies in zip(frames, expected, strict=True):
            assert np.flatnonzero(found).tolist() == sorted(
                {round(69 + 12 * np.log2(one / 440)) for one in frequencies}
            )


def test_labels_of_frames_are_those_of_mir_eval(shared_data: Path) -> None:
    """Whose intervals hold their ends, too: so none lies on a frame."""
    for file in sorted((shared_data / "mirex2013-ace").rglob("*.lab"))[::400]:
        one = read(file, task="chord")
        one = Annotation("intervals", {name: column + 1e-4 for name, column in one.columns.items()}, one.labels)
        found = mirflow.align(one, {"hop": 0.1})
        intervals = np.column_stack([one.columns["start"], one.columns["end"]])
        assert found.label.values.tolist() == mir_eval.util.interpolate_intervals(
            intervals, one.labels, found.time.values, ""
        )


def _played(one: Annotation, fs: int, velocities: np.ndarray) -> np.ndarray:
    """The piano roll of pretty_midi, in which velocities add up."""
    player = pretty_midi.Instrument(0)
    rows = zip(velocities, *(one.columns[name] for name in ("start", "end", "pitch")), strict=True)
    player.notes = [
        pretty_midi.Note(int(velocity), round(69 + 12 * np.log2(pitch / 440)), start, end)
        for velocity, start, end, pitch in rows
    ]
    return np.asarray(player.get_piano_roll(fs=fs)).T


def test_rolls_are_those_of_pretty_midi(shared_data: Path) -> None:
    """But for notes within one frame, which it leaves out, and overlapping ones, whose velocities it adds."""
    files = sorted((shared_data / "oracles").rglob("*.mid"))[::6]
    notes = [read(file, task="transcription", drums=True) for file in files]
    assert sum(map(len, notes)) > 100
    for one in notes:
        found = mirflow.align(one, {"hop": 1 / 64}).isel(time=slice(0, 20000))
        expected, number = (np.zeros((found.sizes["time"], 128)), np.zeros((found.sizes["time"], 128)))
        for into, velocities in ((expected, one.columns["velocity"]), (number, np.ones(len(one)))):
            played = _played(one, 64, velocities)[: len(into)]
            into[: len(played)] = played
        np.testing.assert_array_equal(found.velocity.values[number == 1], expected[number == 1])
        assert found.active.values[number > 0].all()
        assert (found.active.values[number == 0] <= found.onset.values[number == 0]).all()


def _spans(frames: list[int]) -> list[tuple[int, int]]:
    ordered = sorted(set(frames))
    return list(pairwise(ordered))


_PLACES = st.lists(st.integers(0, 50), max_size=8)


@st.composite
def _sections(draw: st.DrawFn, hop: float) -> Annotation:
    spans = _spans(draw(_PLACES))
    spans = [span for span in spans if draw(st.booleans())]
    labels = [f"{'ab'[place % 2]}{draw(st.integers(0, 2))}" for place in range(len(spans))]
    columns = {name: np.array([span[side] for span in spans]) * hop for side, name in enumerate(("start", "end"))}
    return Annotation("intervals", columns, labels)


@st.composite
def _on_grid(draw: st.DrawFn, kind: str, hop: float) -> Annotation:
    """An annotation whose times lie on frames."""
    if kind == "intervals":
        return draw(_sections(hop))
    if kind == "hierarchy":
        levels = [one for one in draw(st.lists(_sections(hop), max_size=3)) if len(one)]
        columns = {
            name: np.concatenate([np.zeros(0), *(one.columns[name] for one in levels)]) for name in ("start", "end")
        }
        counts = np.array([len(one) for one in levels], dtype=np.int64)
        return Annotation("hierarchy", columns, [label for one in levels for label in one.labels or ()], (counts,))
    if kind == "events":
        places = sorted(draw(_PLACES))
        return Annotation("events", {"time": np.array(places) * hop}, [str(place % 4) for place in places])
    if kind == "notes":
        pitches = draw(st.lists(st.integers(0, 127), max_size=3, unique=True))
        rows = sorted((start, pitch, end) for pitch in pitches for start, end in _spans(draw(_PLACES)))
        start, pitch, end = np.array(rows, dtype=np.float64).reshape(-1, 3).T
        columns = {"start": start * hop, "end": end * hop, "pitch": midi_to_hz(pitch), "velocity": 1 + start % 127}
        return Annotation("notes", columns)
    if kind == "pedals":
        some = sorted((start, name, end) for name in (0, 2) for start, end in _spans(draw(_PLACES))[::2])
        columns = {name: np.array([row[side] for row in some]) * hop for side, name in ((0, "start"), (2, "end"))}
        return Annotation("pedals", columns, [tuple(PEDALS)[name] for _, name, _ in some])
    size = draw(st.integers(1, 30))
    time = np.arange(size) * hop
    if kind == "series":
        pool = st.sampled_from((0.0, 440.0, -440.0, 123.4))
        frequency = np.array(draw(st.lists(pool, min_size=size, max_size=size)))
        return Annotation("series", {"time": time, "frequency": frequency})
    pitches = draw(st.lists(st.sets(st.integers(16, 110), max_size=3), min_size=size, max_size=size))
    flat = np.array([float(pitch) for some in pitches for pitch in sorted(some)])
    counts = np.array([len(some) for some in pitches], dtype=np.int64)
    return Annotation("multipitch", {"time": time, "frequency": midi_to_hz(flat)}, None, (counts,))


@pytest.mark.parametrize("kind", _LOOPS)
@settings(max_examples=25)
@given(data=st.data(), hop=st.sampled_from((0.01, 0.1, 0.25, 256 / 22050)))
def test_there_and_back(kind: str, data: st.DataObject, hop: float) -> None:
    one, other = data.draw(_on_grid(kind, hop)), data.draw(_on_grid(kind, hop))
    pair = {"one": one, "other": other}
    expected = {name: to_dataset(annotation) for name, annotation in pair.items()}
    found = mirflow.from_grid(mirflow.align(pair, {"hop": hop}, **_options(kind)))
    for name in pair:
        _same(found[name], expected[name])
    _same(mirflow.from_grid(mirflow.align(one, {"hop": hop})), expected["one"])
    tracks = mirflow.from_grid(mirflow.align(collect(pair), {"hop": hop}))
    for name in pair:
        _same(tracks[name], expected[name])


def _same(found: Any, expected: Any) -> None:
    empty = [name for name, variable in expected.variables.items() if not variable.size]
    assert found.drop_vars(empty, errors="ignore").equals(expected.drop_vars(empty)), f"{found}\n{expected}"


def test_the_output_of_a_system_is_scored() -> None:
    notes = Annotation(
        "notes", {"start": np.array([0.0, 0.5]), "end": np.array([0.5, 1.0]), "pitch": np.full(2, 440.0)}
    )
    frames = mirflow.align(notes, {"hop": 0.125})
    probability = np.where(frames.active, 0.9, 0.2)
    output = frames.assign(active=frames.active.copy(data=probability > 0.5))
    without = mirflow.from_grid(output.drop_vars("onset"))
    for one in (output, output.sel(pitch=slice(60, 72))):
        assert mirflow.evaluate(notes, mirflow.from_grid(one), metrics=["f_measure"]).score.item() == 1.0
    assert without.start.values.tolist() == [0.0]


def test_what_is_not_on_a_grid_is_no_annotation() -> None:
    frames = mirflow.align(Annotation("events", {"time": np.zeros(1)}, ["1"]), {"hop": 1.0})
    with pytest.raises(AnnotationError, match="the attribute 'kind' is None"):
        mirflow.from_grid(frames.assign_attrs(kind=None))
    with pytest.raises(AnnotationError, match="events on a grid need count"):
        mirflow.from_grid(frames.drop_vars("count"))
    with pytest.raises(AnnotationError, match="count lies over frame, not time"):
        mirflow.from_grid(frames.assign(count=("frame", [1])))
    rolls = xr.Dataset({"active": (("time", "pitch"), np.ones((2, 88), dtype=bool))}, {"time": [0.0, 1.0]})
    with pytest.raises(AnnotationError, match="notes on a grid need pitch"):
        mirflow.from_grid(rolls.assign_attrs(kind="notes"))
    with pytest.raises(AnnotationError, match="code 7 is not in the vocabulary, which has 1 labels"):
        mirflow.from_grid(frames.assign(code=frames.code + 7))
