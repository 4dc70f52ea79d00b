"""The accessor: a store at a glance, in a terminal and in a notebook, and where it is available."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.errors import AnnotationError

from .groups import make_group, random_group, write_store

ROOT = Path(__file__).parents[1]


class Reader(HTMLParser):
    """The tags and the texts of a page; raises where a tag is closed that is not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.tags, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture
def tree(tmp_path) -> xr.DataTree:
    groups = {"chord": random_group(2, 5, 2), "chord_mirex2013": random_group(3, 4, 1, convention="mirex2013")}
    return mirflow.open_store(write_store(tmp_path / "x.zarr", groups))


@pytest.fixture
def collection(tmp_path) -> xr.Dataset:
    (tmp_path / "a.lab").write_text("0\t1\tC\n1\t2\tC\n")
    (tmp_path / "b.lab").write_text("0\t1\tC\n")
    return mirflow.load_collection(tmp_path / "{track}.lab", task="chord").dataset


def test_a_collection_is_selected_with_its_values_and_refused_without(collection):
    assert collection.mirflow.sel(track="b").sizes == {"track": 1, "segment": 1, "code": 1}
    with pytest.raises(AnnotationError, match="the counts say 1"):
        collection.sel(track=["b"]).mirflow.sel(track="b")


class TestText:
    def test_of_a_store(self, tree):
        expected = (
            "<mirflow store: chord 2 systems x 5 tracks x 2 metrics; chord_mirex2013 3 systems x 4 tracks x 1 metric>"
        )
        assert repr(tree.mirflow) == expected

    def test_of_an_evaluation(self, tree):
        assert repr(tree["chord"].to_dataset().mirflow) == "<mirflow scores: 2 systems x 5 tracks x 2 metrics>"

    def test_of_a_collection(self, collection):
        assert repr(collection.mirflow) == "<mirflow collection: 2 tracks>"

    def test_of_anything_else(self, tree):
        assert repr(xr.Dataset().mirflow) == "<mirflow accessor: neither scores nor a collection>"
        assert repr(xr.DataTree().mirflow) == "<mirflow store: no scores>"


class TestPage:
    def test_systems_and_values_are_in_a_table(self, tree):
        texts = read(tree.mirflow._repr_html_()).texts
        value = tree["chord"].mirflow.query("majmin")["value"].values[0, 0]
        assert {"S0", "S1", "majmin", "root", "wcsr", f"{value:.4f}", "5"} <= set(texts)
        assert "chord_mirex2013: task chord, convention mirex2013" in texts

    def test_missing_cells_are_counted(self):
        status = [["ok", "failed"], ["ok", "ok"]]
        page = make_group(np.ones((2, 2, 1)), status=status).mirflow._repr_html_()
        assert "missing (common): 1 of 4 cells without any score" in read(page).texts

    def test_names_are_text(self):
        name = '<img src=x onerror="alert(1)">'
        page = make_group(np.ones((1, 1, 1)), systems=[name], metrics=["</td>"], task="<b>").mirflow._repr_html_()
        reader = read(page)
        assert "img" not in reader.tags
        assert {name, "</td>"} <= set(reader.texts)

    def test_nothing_to_show(self):
        assert "no scores of single numbers" in make_group(np.ones((0, 1, 1))).mirflow._repr_html_()
        assert read(xr.DataTree().mirflow._repr_html_()).texts[-1].strip() == "mirflow store: no scores"

    def test_many_metrics_and_systems_are_cut_and_counted(self):
        ds = random_group(70, 2, 8, metrics=[f"m{n}" for n in range(8)], standard=["mean"] * 8)
        texts = read(ds.mirflow._repr_html_()).texts
        assert "6 of 8 metrics shown" in texts
        assert "60 of 70 systems shown" in texts

    def test_a_value_that_cannot_be_computed_says_why(self):
        ds = random_group(2, 3, 1, standard=["wcsr_tn"]).drop_vars("duration")
        assert "needs the durations of the references" in ds.mirflow._repr_html_()


def fresh(code: str, *arguments: str | Path) -> str:
    """What a new interpreter prints; a warning is an error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


_ASKED = """
assert xr.open_datatree(sys.argv[1]).mirflow.query("majmin", group="chord", missing="skip").value.size == 3
assert xr.open_zarr(sys.argv[1], group="chord").mirflow.query("majmin", missing="skip").value.size == 3
assert "1 system x 1 track x 1 metric" in repr(xr.open_zarr(sys.argv[1], group="chord").isel(
    system=[0], track=[0], metric=[0]).mirflow)
"""


@pytest.mark.parametrize(
    "imports",
    [
        "import mirflow, xarray as xr",
        pytest.param("import xarray as xr, mirflow", marks=pytest.mark.slow),
        pytest.param("import mirflow, xarray.core.dataset as xr", marks=pytest.mark.slow),
    ],
)
def test_what_xarray_opens_has_the_accessor_after_a_bare_import_of_mirflow(demo_store: Path, imports: str) -> None:
    fresh(f"import sys\n{imports}\nimport xarray as xr{_ASKED}", demo_store)


@pytest.mark.slow
def test_a_lazy_pipeline_has_the_accessor_after_a_bare_import() -> None:
    code = "import mirflow; print(mirflow.open_pipeline('pipelines/tunes.yaml').mirflow)"
    assert fresh(code).startswith("<mirflow store: chord 3 systems x 7 tracks")


def test_the_packages_are_there_after_a_bare_import() -> None:
    code = (
        "import mirflow, sys\n"
        "assert not {'xarray', 'numpy', 'zarr', 'dask', 'scipy'} & set(sys.modules)\n"
        "assert {'metrics', 'errors', 'load'} <= set(dir(mirflow)) and 'beat' in dir(mirflow.metrics)\n"
        "import numpy as np\n"
        "times = np.arange(10.0)\n"
        "assert mirflow.metrics.beat.f_measure(times, times) == 1\n"
        "assert mirflow.annotations.annotation.Annotation('events', {'time': times}).kind == 'events'\n"
        "assert issubclass(mirflow.errors.QueryError, mirflow.errors.MirflowError)\n"
        "print({'xarray', 'zarr', 'dask', 'pandas'} & set(sys.modules), hasattr(mirflow.metrics, 'beats'))"
    )
    assert fresh(code) == "set() False\n"


def test_looking_for_xarray_does_not_lose_the_accessor() -> None:
    code = (
        "import mirflow, sys, importlib, importlib.util\n"
        "hooks = [one for one in sys.meta_path if type(one).__module__ == 'mirflow']\n"
        "assert importlib.util.find_spec('xarray') is not None and 'xarray' not in sys.modules\n"
        "import xarray as xr\n"
        "assert 'mirflow.questions._accessor' not in sys.modules\n"
        "assert importlib.resources.files('xarray').is_dir()\n"
        "print(len(hooks), hooks[0] in sys.meta_path, hasattr(xr.Dataset, 'mirflow'), hasattr(xr.DataTree, 'mirflow'))"
    )
    assert fresh(code) == "1 False True True\n"
