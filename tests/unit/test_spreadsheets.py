"""The tables for spreadsheets, against runs whose truth is known."""

import csv
from pathlib import Path

import msgspec
import polars as pl
import pytest

from assay import plan
from assay.analysis.document import document
from assay.analysis.record import RunRecord, read
from assay.bundle.remarks import Remarks
from assay.errors import InputError
from assay.outward import spreadsheet_text
from assay.report.recording import Recording
from assay.report.spreadsheets import OVER_TIME, RESULTS, SCHEMAS, tables, write_csv, write_parquet
from assay.results import Document
from unit.synthetic import Stream, SyntheticRun, one_job, one_plan, steady_stream

PER_S, SECONDS, LATENCY_NS = 2000, 6, 400_000


@pytest.fixture(scope="module")
def run() -> RunRecord:
    """2,000 reads of 4 KiB a second for six seconds, in which nothing is done in the third and fourth; then nothing."""
    phases = (
        plan.Phase(name="read", title="=reads", jobs=(one_job(),)),
        plan.Phase(name="none", title="never run", jobs=(one_job(),)),
    )
    made = SyntheticRun(one_plan(*phases))
    begin = steady_stream(per_s=PER_S, seconds=2, latency_ns=LATENCY_NS, bytes_each=4096)
    end = steady_stream(per_s=PER_S, seconds=SECONDS, latency_ns=LATENCY_NS, begin_s=4, bytes_each=4096)
    stream: Stream = begin.then(end)
    made.phase([stream], seconds=SECONDS)
    made.remarks = Remarks(name="baseline")
    return read(made.end())


@pytest.fixture(scope="module")
def judged(run: RunRecord) -> Document:
    return document(run)


def test_the_intervals_sum_up_to_the_run_and_a_stall_is_in_them(run: RunRecord, judged: Document) -> None:
    over_time = tables(run, judged)[OVER_TIME]

    assert over_time["t_s"].to_list() == [1, 2, 3, 4, 5, 6]
    assert over_time["ops"].to_list() == [2000, 2000, 0, 0, 2000, 2000]
    assert over_time["iops"].to_list() == [2000, 2000, 0, 0, 2000, 2000]
    assert over_time["bytes_per_s"].to_list() == [2000 * 4096.0] * 2 + [0.0] * 2 + [2000 * 4096.0] * 2
    assert set(over_time["label"]) == {"read/read"} == {result.label for result in judged.results}
    for name in ("latency_p50_ns", "latency_p99_ns", "latency_max_ns"):
        assert over_time[name].to_list()[2:4] == [None, None]
        assert over_time[name].drop_nulls().to_list() == pytest.approx([LATENCY_NS] * 4, rel=0.001)
    assert over_time["response_p50_ns"].null_count() == 6


@pytest.mark.parametrize(("begin_s", "ramp_s"), [(0.0, 0.0), (0.7, 0.0), (0.7, 2.0)])
def test_all_operations_that_a_result_counts_are_in_the_intervals_of_its_window(begin_s: float, ramp_s: float) -> None:
    """Work that begins late in the first interval is in its window, and so is that interval."""
    made = SyntheticRun(one_plan(plan.Phase(name="read", title="late", ramp_s=ramp_s, jobs=(one_job(),))))
    made.phase([steady_stream(per_s=PER_S, seconds=5.4, begin_s=begin_s, latency_ns=LATENCY_NS)], seconds=5.4)
    record = read(made.end())
    (result,) = document(record).results
    recording = Recording(record)

    over_time = tables(record, document(record))[OVER_TIME].filter(pl.col("is_in_window"))

    latencies = recording.latencies(result, "latency")
    assert latencies is not None
    assert result.window_s is not None
    assert result.ops
    assert over_time["ops"].sum() == result.ops
    assert latencies.count[latencies.in_window(result.window_s)].sum() == result.ops


def test_percentiles_of_an_interval_have_as_many_operations_behind_them_as_any() -> None:
    made = SyntheticRun(one_plan(plan.Phase(name="read", title="slow", jobs=(one_job(),))))
    made.phase([steady_stream(per_s=500, seconds=3, latency_ns=LATENCY_NS)], seconds=3)
    run = read(made.end())

    over_time = tables(run, document(run))[OVER_TIME]

    assert over_time["latency_p99_ns"].to_list() == [None] * 3
    assert None not in over_time["latency_p50_ns"].to_list()
    assert None not in over_time["latency_max_ns"].to_list()


def test_a_row_of_the_results_is_what_the_document_says(run: RunRecord, judged: Document) -> None:
    (row,) = tables(run, judged)[RESULTS].to_dicts()
    (result,) = judged.results

    assert row["run_id"] == judged.run.id
    assert row["run_name"] == "baseline"
    assert (row["label"], row["ops"], row["iops"]) == (result.label, result.ops, result.iops)
    assert result.throughput_bytes_per_s is not None
    assert row["throughput_mib_per_s"] == result.throughput_bytes_per_s / 2**20
    assert row["latency_p99_9_ns"] == result.latency_ns.p99_9
    assert row["response_p50_ns"] is None
    assert (row["trust"], row["measures"]) == (result.trust.level.value, result.measures.value)
    assert row["trust_reasons"] == "; ".join(reason.text for reason in result.trust.reasons)


def test_csv_and_parquet_have_the_same_columns_and_numbers(run: RunRecord, judged: Document, tmp_path: Path) -> None:
    made = tables(run, judged)

    paths = [*write_csv(made, tmp_path / "a"), *write_parquet(made, tmp_path / "b")]

    assert [path.name for path in paths] == [f"{name}.{kind}" for kind in ("csv", "parquet") for name in SCHEMAS]
    for name, schema in SCHEMAS.items():
        of_parquet = pl.read_parquet(tmp_path / "b" / f"{name}.parquet")
        of_csv = pl.read_csv(tmp_path / "a" / f"{name}.csv", schema=dict(schema))
        assert of_parquet.equals(made[name])
        numbers = [column for column, kind in schema.items() if kind != pl.String()]
        assert of_csv.select(numbers).equals(of_parquet.select(numbers))


def test_a_run_without_results_has_tables_without_rows(run: RunRecord, judged: Document, tmp_path: Path) -> None:
    nothing = msgspec.structs.replace(judged, results=())

    paths = write_csv(tables(run, nothing), tmp_path)

    for path, columns in zip(paths, SCHEMAS.values(), strict=True):
        assert path.read_text() == f"{','.join(columns)}\n"


def test_no_text_of_a_table_is_a_formula(run: RunRecord, judged: Document, tmp_path: Path) -> None:
    (result,) = judged.results
    hostile = [
        '=HYPERLINK("http://x","y")',
        "+1+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        " =1",
        'a,"b"\n=c',
        "\x1b[2J",
    ]
    results = tuple(msgspec.structs.replace(result, label=f"p/{i}", title=text) for i, text in enumerate(hostile))

    path, *_ = write_csv(tables(run, msgspec.structs.replace(judged, results=results)), tmp_path)

    with path.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == len(hostile)
    assert [row["title"].lstrip()[:1] for row in rows[:6]] == ["'"] * 6
    assert rows[6]["title"] == hostile[6]
    assert "\x1b" not in path.read_text()


def test_the_page_names_every_column() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/tables.md").read_text()

    assert [name for schema in SCHEMAS.values() for name in schema if f"`{name}`" not in page] == []


@pytest.mark.parametrize(("text", "cell"), [("-5", "-5"), ("+1.5e3", "+1.5e3"), ("-5 GiB", "'-5 GiB"), ("a=b", "a=b")])
def test_a_number_stays_one(text: str, cell: str) -> None:
    assert spreadsheet_text(text) == cell


def test_a_file_in_the_place_of_the_folder_is_bad_input(run: RunRecord, judged: Document, tmp_path: Path) -> None:
    made = tables(run, judged)
    (tmp_path / "file").write_text("")

    with pytest.raises(InputError, match="is to be a folder"):
        write_csv(made, tmp_path / "out.csv")
    with pytest.raises(InputError, match="is a file"):
        write_csv(made, tmp_path / "file")
