"""Years of a campaign: the tables of MIREX's first four years, and those of stores."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

import mirflow
from mirflow.campaign.site.archive import LABEL_WIDTH, read_archive, years_of
from mirflow.campaign.site.build import write_site
from mirflow.errors import QueryError, StoreError, UnknownNameError
from mirflow.reports.leaderboard import leaderboard
from mirflow.store.read import read_scores

from ...commands import invoke, printed, refused
from ...groups import make_group, random_group, write_store
from .test_build import Links, crawl, files_of

# Downie et al. 2010, tables 2 and 3; of table 1 what cannot be counted.
MIREX = Path(__file__).parents[3] / "pipelines" / "published" / "mirex2005-2008.csv"


def chords(*systems, values, years=None):
    group = make_group([[[value]] for value in values], systems=list(systems))
    return group if years is None else group.assign_coords(year=("system", years))


@pytest.fixture
def stores(tmp_path):
    write_store(tmp_path / "2012.zarr", {"ACE": chords("A1", "B1", values=[0.5, 0.25])})
    write_store(tmp_path / "2013.zarr", {"ACE": chords("A2", "C1", "D1", values=[0.625, 0.75, 0.5])})
    return tmp_path


def test_the_first_table_counts_what_the_chapter_counts():
    archive = read_archive(MIREX)
    assert archive.overview().columns == ("", "2005", "2006", "2007", "2008", "growth")
    # The chapter's growth: 80 % of the task sets, and of the runs 95 %, which is 96.5 % by its own numbers.
    assert archive.overview().rows == (
        ("Task sets", 10, 13, 12, 18, 80),
        ("Individuals", 82, 50, 73, 84, 2),
        ("Countries", 19, 14, 15, 19, 0),
        ("Runs", 86, 92, 122, 169, 97),
    )


def test_categories_have_the_runs_and_shares_that_the_chapter_names():
    table = read_archive(MIREX).categories()
    assert table.columns == ("category", "tasks", "2005", "2006", "2007", "2008", "all", "share")
    assert table.rows == (
        ("classification", 6, 27, 0, 30, 72, 129, 28),
        ("low-level", 11, 52, 37, 44, 68, 201, 43),
        ("search", 5, 7, 55, 48, 29, 139, 30),
    )
    shares = {row[0]: row[-1] for row in read_archive(MIREX).runs().rows}
    assert shares["QBSH"] == 13


def test_tasks_without_a_category_are_others_and_a_single_year_does_not_grow(tmp_path):
    table = tmp_path / "years.csv"
    table.write_text("year,task,runs,category\n2020,ACD,3,low-level\n2020,AMS,1,\n2020,AKF,0,low-level\n")
    archive = read_archive(table)
    assert archive.overview().columns == ("", "2020")
    assert archive.categories().rows == (("low-level", 2, 3, 3, 75), ("others", 1, 1, 1, 25))
    rows = json.loads(printed("archive", table, "--format", "json"))
    assert [(row["task"], row["category"]) for row in rows] == [("ACD", "low-level"), ("AMS", ""), ("AKF", "low-level")]
    table.write_text("year,task,runs\n2020,ACD,\n2021,ACD,2\n")
    archive = read_archive(table)
    assert archive.categories().rows == ()
    assert archive.overview().rows == (("Task sets", 1, 1, 0), ("Runs", 0, 2, None))
    assert "category" not in printed("archive", table)


def test_the_second_table_has_runs_with_a_star_for_each_further_part():
    rows = {row[0]: row[2:-1] for row in read_archive(MIREX).runs().rows}
    assert len(rows) == 22
    assert rows["AME"] == ("10", "10*", None, "21**")
    assert rows["QBSH"] == (None, "23*", "20*", "16*")
    assert rows["SMS"] == ("7", "18**", "8", None)
    assert rows["AOD"] == ("9", "13", "17", None)


def test_the_third_table_has_the_best_of_each_year_as_it_was_published():
    rows = {row[0]: row[1:] for row in read_archive(MIREX).best().rows}
    assert rows["AKF"] == ("Average hierarchical accuracy", "0.90", None, None, None)
    assert rows["ACS"] == ("Average precision", None, "0.23", "0.52", "0.75")
    assert rows["ATC"] == ("Average F-measure", None, None, None, "0.28")


def test_the_third_table_has_a_row_for_the_second_score_of_a_part():
    rows = [row for row in read_archive(MIREX).best().rows if str(row[0]).startswith("SMS")]
    assert rows == [
        ("SMS1", "Average dynamic recall", "0.66", "0.72", None, None),
        ("SMS1", "Binary score", None, "0.73", None, None),
        ("SMS2", "Average dynamic recall", None, "0.82", None, None),
        ("SMS2", "Binary score", None, "0.44", None, None),
        ("SMS3", "Average dynamic recall", None, "0.78", None, None),
        ("SMS3", "Binary score", None, "0.83", None, None),
        ("SMS4", "Average dynamic recall", None, None, "0.72", None),
        ("SMS4", "Fine score", None, None, "0.56", None),
    ]


def test_the_command_prints_the_three_tables():
    lines = [line.split() for line in printed("archive", MIREX).splitlines()]
    assert ["Runs", "86", "92", "122", "169", "97"] in lines
    assert ["search", "5", "7", "55", "48", "29", "139", "30"] in lines
    assert ["AME", "Audio", "melody", "extraction", "10", "10*", "-", "21**", "9"] in lines
    best = lines[lines.index(["The", "best", "of", "each", "year"]) + 3 :]
    assert len(best) == 34
    assert sum(word.startswith("0.") for words in best for word in words) == 57


def test_lines_join_the_years_that_a_part_has():
    lines = {one.part: one for one in read_archive(MIREX).lines()}
    assert lines["ACS"].words == "2006: 0.23, 2007: 0.52, 2008: 0.75"
    xs, ys = ([getattr(one, axis) for one in lines["AAI"].points] for axis in "xy")
    assert xs == [34, 202, 286]
    assert ys[0] < ys[1] == ys[2]
    # Slopes can be compared: 0 and 1 are at the same heights everywhere. Nothing says that years have the same tracks.
    assert {(one.scale.low, one.scale.high) for one in lines.values()} == {(0.0, 1.0)}
    assert ys == pytest.approx([96 - 62 * point.entry.best for point in lines["AAI"].points], abs=0.1)
    assert all(one.paths == [] for one in lines.values())
    assert "AKF" not in lines


def test_years_and_values_beside_a_line_do_not_overlap(tmp_path):
    table = tmp_path / "years.csv"
    rows = [f"{year},AMS,AMS1,FINE,5,{0.4 + year / 1e4:.4f}" for year in (2005, 2006, *range(2015, 2027))]
    table.write_text("\n".join(["year,task,part,metric,runs,best", *rows]))
    (line,) = read_archive(table).lines()
    xs = [one.x for one in line.labelled]
    assert [one.entry.year for one in line.labelled] == [2006, 2018, 2022, 2026]
    assert min(after - before for before, after in pairwise(xs)) >= LABEL_WIDTH
    assert len(line.points) == 14


@pytest.mark.parametrize("suffix", ["csv", "yaml"])
def test_stores_of_several_years_make_the_same_tables_as_queries(stores, suffix):
    texts = {
        "csv": "year,store,task,name\n2012,2012.zarr,ACD,Chords\n2013,2013.zarr,ACD,\n",
        "yaml": "- {year: 2012, store: 2012.zarr, task: ACD, name: Chords}\n"
        "- {year: 2013, store: 2013.zarr, task: ACD}\n",
    }
    table = stores / f"years.{suffix}"
    table.write_text(texts[suffix])
    archive = read_archive(table)
    assert archive.overview().rows == (("Task sets", 1, 1, 0), ("Runs", 2, 3, 50))
    assert archive.runs().rows == (("ACD", "Chords", "2", "3", 100),)
    assert [(one.year, one.system, one.best) for one in archive.entries] == [(2012, "A1", 0.5), (2013, "C1", 0.75)]
    best = mirflow.query(stores / "2013.zarr").dataset
    assert archive.entries[1].best == best["value"].values[0, 0]
    rows = json.loads(printed("archive", table, "--format", "json"))
    assert [(row["year"], row["runs"], row["store"], row["evaluation"]) for row in rows] == [
        (2012, 2, "2012", "ACE"),
        (2013, 3, "2013", "ACE"),
    ]
    assert "ACE    Majmin   0.500   0.750" in printed("archive", table)


@pytest.mark.slow
def test_the_best_of_two_years_are_tested_on_one_test_set(tmp_path):
    whole = random_group(4, 30, 1, seed=4, systems=["A", "B", "C", "D"])
    years = {"2012": whole.isel(system=[0, 1]), "2013": whole.isel(system=[2, 3])}
    for year, ds in {**years, "2014": whole.isel(track=slice(0, 20))}.items():
        write_store(tmp_path / f"{year}.zarr", {"ACE": ds})
    table = tmp_path / "years.csv"
    table.write_text("year,store\n2012,2012.zarr\n2013,2013.zarr\n2014,2014.zarr\n")
    first, second, third = read_archive(table).entries
    pair = [second.system, first.system]
    found = mirflow.compare(write_store(tmp_path / "x.zarr", {"ACE": whole}), "majmin", system=pair).dataset
    cell = found.sel(system=pair[0], other=pair[1]).isel(metric=0)
    assert first.change == ""
    assert second.change.startswith(f"{float(cell['difference']):+.3f} [{float(cell['low']):+.3f}, ")
    assert f"p = {float(cell['p_corrected']):.3f}" in second.change
    assert third.change == "other test sets: 30 and 20 tracks, 20 in both"
    bounds = mirflow.query(tmp_path / "2013.zarr", ci=0.95).dataset.sel(system=second.system).isel(metric=0)
    assert (second.n, second.low, second.high) == (30, float(bounds["low"]), float(bounds["high"]))
    assert "other test sets: 30 and 20 tracks" in " ".join(printed("archive", table).split())


def test_of_low_values_the_lowest_is_the_best(tmp_path):
    group = make_group([[[2.0]], [[1.0]]], orientation=["lower"], standard=["mean"])
    write_store(tmp_path / "s.zarr", {"deviation": group})
    (tmp_path / "t.csv").write_text("year,store\n2020,s.zarr\n")
    (entry,) = read_archive(tmp_path / "t.csv").entries
    assert (entry.system, entry.best) == ("S1", 1.0)


def test_systems_with_a_year_make_an_archive_of_their_store(tmp_path):
    group = chords("A", "B", "C", values=[0.5, 0.25, 0.75], years=[2012.0, 2012.0, 2014.0])
    store = write_store(tmp_path / "s.zarr", {"ACE": group})
    archive = years_of({"s": leaderboard(read_scores(store))})
    assert [(one.year, one.runs, one.system) for one in archive.entries] == [(2012, 2, "A"), (2014, 1, "C")]
    write_site([store], tmp_path / "site")
    page = Links((tmp_path / "site" / "archive" / "index.html").read_text())
    assert "2012" in page.text
    assert "../stores/s/ACE/index.html" in page.links
    assert "svg" in page.tags
    assert len(crawl(tmp_path / "site")) == len(files_of(tmp_path / "site")) - 1


def test_a_site_shows_a_table_of_years_and_links_the_stores_that_it_has(stores):
    (stores / "years.csv").write_text("year,store\n2012,2012.zarr\n2013,2013.zarr\n")
    words = ("--archive", stores / "years.csv", "--label", "last")
    invoke("site", stores / "2013.zarr", "-o", stores / "site", *words, code=0)
    page = Links((stores / "site" / "archive" / "index.html").read_text())
    assert [link for link in page.links if "ACE" in link] == ["../stores/last/ACE/index.html"]
    assert all(text in page.text for text in ("0.500", "0.750"))
    assert "archive/index.html" in Links((stores / "site" / "index.html").read_text()).links
    invoke("site", stores / "2013.zarr", "-o", stores / "site", code=0)
    assert not (stores / "site" / "archive").exists()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("year,task\n208,AAI\n", r"t.csv:2: invalid year '208'"),
        ("year,taks\n2008,AAI\n", r"t.csv:2: unknown column 'taks'; .*task"),
        ("year,task,runs\n2008,AAI,many\n", r"t.csv:2: invalid runs 'many': expected a whole number"),
        ("year,task,best\n\n2008,AAI,nan\n", r"t.csv:3: invalid best 'nan': expected a number"),
        ("year,task\n2008,\n", r"t.csv:2: expected a store or a task"),
        ("year,task\n2008,AAI,7\n", r"t.csv:2: has 3 fields, the header 2"),
        ("year,store,runs\n2012,2012.zarr,4\n", r"t.csv:2: 'runs' is known from the store"),
        ("year,individuals\n2012,4\n", r"t.csv: no row with a store or a task"),
    ],
)
def test_rows_that_say_nothing_are_refused_with_their_line(stores, rows, message):
    (stores / "t.csv").write_text(rows)
    with pytest.raises(QueryError, match=message):
        read_archive(stores / "t.csv")


def test_what_is_not_there_is_named(stores):
    table = stores / "t.yaml"
    table.write_text("- {year: 2012, store: 2011.zarr}\n")
    with pytest.raises(StoreError, match=r"no such store; did you mean .*201"):
        read_archive(table)
    table.write_text("- {year: 2012, store: 2012.zarr, evaluation: ACD}\n")
    with pytest.raises(UnknownNameError, match=r"evaluation of .*'ACD'.*ACE"):
        read_archive(table)
    table.write_text("- {year: 2012, store: 2012.zarr, metric: sevenths}\n")
    with pytest.raises(UnknownNameError, match="metric of 2012, ACE 'sevenths'"):
        read_archive(table)
    table.write_text("years: [2012]\n")
    with pytest.raises(QueryError, match="expected a list of rows"):
        read_archive(table)
    assert "none.csv: cannot be read" in refused("archive", stores / "none.csv")
