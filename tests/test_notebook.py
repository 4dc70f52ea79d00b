"""A notebook: each result is shown once, as a table that people read; in a real Jupyter kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import nbclient
import nbformat
import pytest

import mirflow
from mirflow.notebook import html_table, in_notebook

from .datasets import write_dataset, write_pipeline
from .waiting import PATIENCE

pytestmark = pytest.mark.slow  # a kernel takes seconds to start, and longer on a busy machine
Run = Callable[[str], Sequence[Any]]


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Run the code of a cell in a kernel and return its outputs; the folder has a pipeline and its store."""
    folder = tmp_path_factory.mktemp("notebook")
    write_dataset(folder)
    mirflow.run(write_pipeline(folder), store=folder / "x.zarr")
    notebook = nbformat.v4.new_notebook()
    client = nbclient.NotebookClient(
        notebook,
        resources={"metadata": {"path": str(folder)}},
        kernel_name="python3",
        startup_timeout=int(PATIENCE),
        timeout=int(PATIENCE),
        iopub_timeout=int(PATIENCE),
    )

    def run(code: str) -> Sequence[Any]:
        notebook.cells.append(nbformat.v4.new_code_cell(code))
        client.execute_cell(notebook.cells[-1], len(notebook.cells) - 1)
        return notebook.cells[-1].outputs

    with client.setup_kernel():
        run("import mirflow")
        yield run


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("mirflow.query('x.zarr', 'majmin')", "ada"),
        ("mirflow.compare('x.zarr', 'majmin')", "bob"),
        ("mirflow.show('x.zarr')", "chord"),
        ("mirflow.run('pipeline.yaml', store='x.zarr')", "x.zarr unchanged"),
        ("mirflow.load_collection('ref/{track}.lab', task='chord')", "Collection: 6 tracks of intervals"),
        ("mirflow.load_collection('ref/{track}.lab', task='chord', lazy=True)", "LazyCollection: 6 tracks"),
    ],
)
def test_a_result_is_one_output_with_text_and_html(cell: Run, code: str, shown: str) -> None:
    (output,) = cell(code)
    assert output.output_type == "execute_result"
    assert shown in output.data["text/plain"]
    assert "<table>" in output.data["text/html"]
    assert "array(" not in output.data["text/plain"]


def test_an_opened_store_shows_its_name_and_leaders_and_no_folder(cell: Run) -> None:
    (output,) = cell("tree = mirflow.open_store('x.zarr'); tree")
    page = output.data["text/html"]
    assert "mirflow store test: chord 2 systems x 6 tracks" in page
    assert "has the best value" in page or "have the best value" in page
    (folder,) = cell("print(tree.attrs['root'])")
    assert folder.text.strip() not in page


def test_trees_that_are_no_stores_are_shown_by_xarray(cell: Run) -> None:
    (output,) = cell("import xarray; xarray.DataTree()")
    assert "xarray.DataTree" in output.data["text/html"]


def test_intervals_are_charts_and_notes_are_folded(cell: Run) -> None:
    page = cell("mirflow.query('x.zarr', 'majmin', ci=0.95)")[0].data["text/html"]
    assert page.count('class="whisker"') == page.count("<circle") == 2
    assert page.index("<details>") < page.index("95 % confidence interval")


def test_text_of_a_result_is_its_table_and_displays_nothing(cell: Run) -> None:
    assert cell("text = repr(mirflow.query('x.zarr', 'majmin'))") == []
    (output,) = cell("print(text)")
    assert [line.split()[0] for line in output.text.splitlines()[3:5]] in (["ada", "bob"], ["bob", "ada"])


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("mirflow.run('pipeline.yaml', store='x.zarr', force=True, progress=True);", "6/6 tracks"),
        (
            "beats = {str(i): [0.5, 1.0] for i in range(9)}; s = mirflow.score(beats, beats, 'onset', progress=True)",
            "9/9 t",
        ),
    ],
)
def test_progress_is_one_bar_that_stays(cell: Run, code: str, text: str) -> None:
    (output,) = cell(code)
    assert output.output_type == "display_data"
    assert output.data["text/plain"].startswith(text)
    assert "<progress value=" in output.data["text/html"]


def test_work_that_takes_no_time_shows_no_progress_unless_asked(cell: Run) -> None:
    assert cell("s = mirflow.score({'a': [0.5]}, {'a': [0.5]}, 'onset')") == []
    assert cell("s = mirflow.score({'a': [0.5]}, {'a': [0.5]}, 'onset', progress=False)") == []


def test_a_timeline_is_a_frame_that_plays_and_reaches_nothing(cell: Run, browser: Any) -> None:
    files = "'ref/t01.lab', {'ada': 'ref/t01.lab', 'bob': 'ref/t02.lab'}"
    code = f"mirflow.timeline({files}, 'chord', 'majmin', track='t<1')"
    (output,) = cell(code)
    assert output.data["text/plain"].startswith("Timeline of 't<1' by majmin: ada 1.0000, bob ")
    page = browser.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.set_content(f"<script>secret = 1</script>{output.data['text/html']}")
    frame = page.frame_locator("iframe")
    frame.locator("html[data-loaded]").wait_for(state="attached")
    assert frame.locator("h2").inner_text() == "t<1"
    assert frame.locator(".lanename b").all_inner_texts() == ["reference", "ada", "bob"]
    frame.locator("canvas[tabindex]").press("Escape")
    assert frame.locator("canvas[tabindex]").is_visible(), "there is nothing behind it"
    assert page.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    assert [url for url in requests if not url.startswith("about:")] == []
    page.close()


def test_names_are_escaped() -> None:
    assert "<script>" not in html_table(["<script>"], [["<script>"]], "<script>", ["<script>"])


def test_a_process_without_a_kernel_is_no_notebook() -> None:
    assert not in_notebook()
