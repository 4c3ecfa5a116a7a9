"""`assay.load` and `assay.compare` on runs that were measured, and the example notebooks cell by cell."""

import json
import os
import subprocess
import sys
from pathlib import Path

import altair as alt
import msgspec
import polars as pl
import pytest

import assay as package
from assay.errors import AssayError, InputError, RunError
from assay.notebook import Drawing, LoadedRun
from assay.results import Document
from e2e.command import Assay, need_command
from e2e.notebooks import code_cells

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
WORDS = ("--read", "--random", "--bs", "4k", "--size", "4m", "--time", "0.4s", "--no-report", "-q")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Assay:
    """Two runs of three repeats, tagged: all that is done with them is to read them."""
    need_command()
    place = tmp_path_factory.mktemp("notebooks")
    (place / "measured").mkdir()
    assay = Assay(runs=place / "runs")
    for tag in ("before", "after"):
        assay("measure", place / "measured", *WORDS, "--repeat", "3", "--tag", tag)
    return assay


@pytest.fixture(scope="module")
def run(measured: Assay) -> LoadedRun:
    return package.load("last", runs=measured.runs)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_of_an_example_runs_and_shows_something(notebook: Path, measured: Assay, tmp_path: Path) -> None:
    place = {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])])}
    done = subprocess.run(
        [sys.executable, "-m", "e2e.notebooks", notebook],
        env={**os.environ, **place, "ASSAY_RUNS": str(measured.runs)},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(shown) == len(code_cells(notebook))
    assert all(each["text/plain"] for each in shown)
    assert any("application/vnd.vegalite.v6+json" in each for each in shown)


def test_there_are_two_examples_and_they_keep_no_outputs() -> None:
    assert len(NOTEBOOKS) == 2
    for notebook in NOTEBOOKS:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


def test_the_tables_of_a_run_are_those_that_are_exported(run: LoadedRun, measured: Assay, tmp_path: Path) -> None:
    measured("export", "last", "--parquet", tmp_path / "out", check=0)

    document = msgspec.json.decode(measured("show", "last", "--json").stdout, type=Document)
    assert run.document == document
    assert run.results.equals(pl.read_parquet(tmp_path / "out/results.parquet"))
    exported = pl.read_parquet(tmp_path / "out/over_time.parquet")
    assert pl.concat([run.timeline(label) for label in run.labels]).equals(exported)
    assert run.verdicts["trust"].to_list() == [result.trust.level.value for result in document.results]
    assert run.labels == tuple(result.label for result in document.results)


def test_the_distribution_has_every_operation_of_the_window_and_its_percentiles(run: LoadedRun) -> None:
    label, result = run.labels[0], run.document.results[0]

    found = run.latency(label)

    inside = run.timeline(label).filter(pl.col("is_in_window"))
    assert found["ops"].sum() == inside["ops"].sum()
    assert found["share_at_most"][-1] == 1.0
    assert (found["low_ns"] <= found["high_ns"]).all()
    p50 = found.filter(pl.col("share_at_most") >= 0.5)
    assert result.latency_ns.p50 is not None
    # Below 500 ns, the next bucket is further than 0.2 % away.
    assert p50["low_ns"][0] * 0.998 - 1 <= result.latency_ns.p50 <= p50["high_ns"][0] * 1.002 + 1
    assert run.latency(label, "response").is_empty()


def test_a_chart_shows_itself_and_is_altair_s_where_that_is_wanted(run: LoadedRun, tmp_path: Path) -> None:
    chart = next(chart for name, chart in run.charts.items() if name.endswith("throughput"))

    assert isinstance(chart, Drawing)
    shown = chart._repr_mimebundle_()
    assert shown["application/vnd.vegalite.v6+json"] == chart.spec
    assert shown["image/svg+xml"].startswith("<svg")
    assert shown["text/plain"] == chart.words
    assert isinstance(chart.altair(), alt.LayerChart)
    assert chart.altair().to_dict()["layer"]
    assert chart.save(tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="neither with"):
        chart.save(tmp_path / "chart.gif")
    dense = next(chart for name, chart in run.charts.items() if name.endswith("latency") and name.startswith("01"))
    assert "image/png" in dense._repr_mimebundle_()
    assert chart.table.height > 0


def test_a_comparison_is_that_of_the_command_line(measured: Assay, tmp_path: Path) -> None:
    told = json.loads(measured("compare", "tag:before", "tag:after", "--json", check=0).stdout)

    found = package.compare("tag:before", "tag:after", runs=measured.runs)

    assert json.loads(msgspec.json.encode(found.comparison)) == told
    row = told["against"][0]["rows"][0]
    assert found.rows["ratio"][0] == row["ratio"]
    assert found.rows["verdict"].to_list() == [each["verdict"] for each in told["against"][0]["rows"]]
    assert found.values.height == 6
    assert found.answer
    assert repr(found) == "\n".join(found.answer)
    assert found.save_html(tmp_path / "c.html").read_text().startswith("<!DOCTYPE html>")
    assert found.save_xlsx(tmp_path / "c.xlsx").read_bytes().startswith(b"PK")
    before, after = package.load("last~1", runs=measured.runs), package.load("last", runs=measured.runs)
    assert before.compare(after).rows["ratio"].to_list() == found.rows["ratio"].to_list()
    assert package.compare([before], [after.id], runs=measured.runs).comparison.against[0].name == after.id


def test_the_folder_of_that_name_stays_one_that_is_imported_from_and_called(measured: Assay) -> None:
    code = (
        "import assay.compare.arms, assay, sys; from assay.compare.arms import Arm;"
        "print(assay.compare('tag:before', 'tag:after').answer)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "ASSAY_RUNS": str(measured.runs)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr


def test_what_is_wrong_is_an_error_in_the_words_of_the_command_line(run: LoadedRun, measured: Assay) -> None:
    with pytest.raises(AssayError, match="no such run"):
        package.load("nobody", runs=measured.runs)
    with pytest.raises(InputError, match="has no result 'nothing'; it has: random-read"):
        run.timeline("nothing")
    with pytest.raises(InputError, match="none of latency, response"):
        run.latency(run.labels[0], "service")
    with pytest.raises(InputError, match="two sides are the same"):
        package.compare(run, run, runs=measured.runs)
    with pytest.raises(InputError, match="has the tag 'x'"):
        package.compare(run, "tag:x", runs=measured.runs)
    with pytest.raises(InputError, match="a side has no runs"):
        package.compare(run, [], runs=measured.runs)
    with pytest.raises(InputError, match="share above 0"):
        package.compare(run, "last~1", effect=3, runs=measured.runs)
    with pytest.raises(AttributeError, match="no attribute 'loaded'"):
        getattr(package, "loaded")  # noqa: B009 - a checker of types knows it, too
    assert issubclass(RunError, AssayError)


def test_the_package_alone_loads_nothing_that_reads_runs() -> None:
    code = "import assay, sys; print([name for name in ('polars', 'numpy', 'assay.notebook') if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
