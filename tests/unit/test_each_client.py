"""Of several clients a classic tool prints what each of them did, and no number that is of none."""

import math
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

import pytest
from typer.testing import CliRunner

from assay.analysis.document import document
from assay.analysis.record import RunRecord, read
from assay.bundle.client_set import Role
from assay.cli import app
from assay.decode.readers import read as read_captured
from assay.errors import InputError
from assay.importing import originals
from assay.report import html
from assay.tools import registry
from assay.tools.iozone import FRONT_END
from unit import classic_runs as classic
from unit.memory_set import Client, MemorySet, kept
from unit.synthetic import SyntheticRun, steady_stream
from unit.test_worksheet import biff_cells

RECORD_KIB, RECORDS = 4, 100
CALL_MS: Mapping[str, int] = {"a": 1, "b": 4}
"""How long each record takes, by client: 4,000 and 1,000 KiB/s."""


def run_of(words: str, call_ms: Mapping[str, int] = CALL_MS, *, late_ms: int = 0) -> RunRecord:
    """Read such a run."""
    return read(set_of(words, call_ms, late_ms=late_ms))


def set_of(words: str, call_ms: Mapping[str, int] = CALL_MS, *, late_ms: int = 0) -> MemorySet:
    """A run of clients, each of which wrote each file with calls of one length, the first later, and of an observer."""
    files = "-F" if "-t" in words else "-f"
    argv = shlex.split(f"{words} -s {RECORDS * RECORD_KIB}k -r {RECORD_KIB}k -i 0 {files} /mnt/scratch/file")
    plan = FRONT_END.to_plan(FRONT_END.parse(argv), FRONT_END.origin(argv), Path("/nowhere"))
    clients: list[Client] = []
    for name, ms in call_ms.items():
        run = SyntheticRun(plan)
        for index, phase in enumerate(plan.phases):
            (job,) = phase.jobs
            stream = steady_stream(
                per_s=RECORDS,
                seconds=1,
                latency_ns=ms * 1_000_000,
                bytes_each=RECORD_KIB << 10,
                job=job.name,
                operation=job.timed[0],
            )
            run.phase([stream], seconds=1 + ms / 1000, index=index)
        clients.append(Client(name, run.end(), late_ns=0 if clients else late_ms * 1_000_000))
    watched = SyntheticRun(plan)
    for index in range(len(plan.phases)):
        watched.phase([], seconds=1, index=index)
    clients.append(Client("server", watched.end(), role=Role.OBSERVER))
    return MemorySet(plan, clients, starts_s=[2.0 * index for index in range(len(plan.phases))])


def test_each_client_has_its_own_cells_below_its_name() -> None:
    text = classic.text(run_of(""))

    found = re.findall(rf"^==== (.*)$|^ +{RECORDS * RECORD_KIB} +{RECORD_KIB} +(\d+) +(\d+)", text, re.MULTILINE)
    # Size of the file by the time in its calls: 400 KiB in 0.1 s and in 0.4 s.
    assert found == [
        ("client a", "", ""), ("", "4000", "4000"),
        ("client b", "", ""), ("", "1000", "1000"),
        ("mean of 2 clients", "", ""), ("", "2500", "2500"),
        ("slowest of 2 clients", "", ""), ("", "1000", "1000"),
        ("fastest of 2 clients", "", ""), ("", "4000", "4000"),
    ]  # fmt: skip


def test_times_have_the_largest_as_the_slowest_and_a_lone_client_has_no_mean() -> None:
    cells = re.findall(rf"^ +{RECORDS * RECORD_KIB} +{RECORD_KIB} +(\d+)", classic.text(run_of("-N")), re.MULTILINE)

    # Microseconds a record: of both clients, then mean, slowest and fastest.
    assert cells == ["1000", "4000", "2500", "4000", "1000"]
    assert " of 1 clients" not in classic.text(run_of("", {"a": 1}))


def test_curves_of_all_are_mean_slowest_and_fastest_of_the_texts_of_each() -> None:
    times = ([3_000_017, 5_000_003, 40_000_000], [9_000_001, 5_000_000, 1_000_000], [2_000_000, 70_000_000, 3_000_007])
    of_bigdir = [classic.bigdir_run(("30", "10"), {"client0001": (one, one[::-1])}) for one in times]
    argv = ("4096", "8", "1000", "100", "3")
    of_perfpl = [classic.perfpl_run(argv, one) for one in ((4, 7, 2), (1, 9, 3), (6, 6, 6))]

    for runs, are_times in ((of_bigdir, (True,) * 4), (of_perfpl, (True,) * 5 + (False, False))):
        outputs = [registry.output_of(run) for run in runs]
        singles = [table_of(output.text()) for output in outputs]
        merged = {label.split()[0]: table_of(text) for label, text in outputs[0].of_clients(outputs).items()}
        assert [len(rows) for rows in (*singles, *merged.values())] == [3] * 6
        for name, rows in merged.items():
            for row, *parts in zip(rows, *singles, strict=True):
                for number, cell in enumerate(row):
                    cells = [part[number] for part in parts]
                    slowest, fastest = (max, min) if are_times[number] else (min, max)
                    wanted = {"mean": fmean(cells), "slowest": slowest(cells), "fastest": fastest(cells)}[name]
                    # As far as either prints digits.
                    assert math.isclose(cell, wanted, rel_tol=1e-9), (name, number)


def test_bigdir_draws_the_band_over_the_clients_of_all_machines() -> None:
    times = ([1_000_000, 4_000_000], [3_000_000, 2_000_000])
    runs = [classic.bigdir_run(("20", "10"), {"client0001": (one, one)}) for one in times]
    outputs = [registry.output_of(run) for run in runs]

    create, listing = outputs[0].figures_of_clients(outputs)

    # Fastest, mean and slowest of a create, of ten in each step, and of an entry listed, of ten and twenty.
    assert create.table.rows == (("10", "100 µs", "200 µs", "300 µs"), ("20", "200 µs", "300 µs", "400 µs"))
    assert listing.table.rows == (("10", "100 µs", "200 µs", "300 µs"), ("20", "100 µs", "150 µs", "200 µs"))


def table_of(text: str) -> list[list[float]]:
    """Rows of a table that begin with a number and have several cells."""
    lines = [re.split(r"[|,]", line) for line in text.splitlines()]
    return [[float(cell) for cell in line] for line in lines if len(line) > 1 and line[0].strip().isdigit()]


def test_children_of_all_clients_are_added_up_where_they_worked_together() -> None:
    together, apart = (children_of(late_ms) for late_ms in (0, 700))

    # 100 records of 4 KiB in so many ms each.
    rates = [4000 / ms for ms in (1, 4, 5)]
    of_each = [f"{min(rates):.2f}", f"{max(rates):.2f}", f"{sum(rates) / 3:.2f}"]
    assert together[0] == f"{sum(rates):.2f}"
    assert apart[:2] == ["n/a", "n/a"]
    assert together[2:5] == apart[2:5] == of_each


def children_of(late_ms: int) -> list[str]:
    """Numbers of the writers of all clients: sum, the parent's, smallest, largest, mean."""
    text = classic.text(run_of("-t 1 -+n", {"a": 1, "b": 4, "c": 5}, late_ms=late_ms))
    of_all = text.partition("==== all 3 clients\n")[2]
    assert "Children see throughput for  3 initial writers" in of_all
    return re.findall(r"= +(\S+) kB", of_all)


def test_the_text_of_one_client_can_be_shown_alone(tmp_path: Path) -> None:
    bundle = kept(tmp_path, set_of(""))

    shown = CliRunner().invoke(app, ["show", str(bundle.path), "--classic", "--client", "b", "--runs", str(tmp_path)])

    assert re.findall(rf"^ +{RECORDS * RECORD_KIB} +{RECORD_KIB} +(\d+)", shown.stdout, re.MULTILINE) == ["1000"]
    assert "==== client" not in shown.stdout


def test_each_client_has_its_own_files_and_figures() -> None:
    run = run_of("-R -b x.csv")

    assert [str(file.path) for file in classic.files(run)] == ["x-a.csv", "x-b.csv"]
    of_a, of_b = ([value for _, _, value in biff_cells(file.content)] for file in classic.files(run))
    assert [4000.0 in of_a, 1000.0 in of_a] == [True, False]
    assert [4000.0 in of_b, 1000.0 in of_b] == [False, True]
    figures = registry.figures(run, document(run))
    assert figures
    assert {figure.title.rpartition(" ")[2] for figure in figures} == {"(a)", "(b)"}
    page = html.page(run, document(run), figures)
    assert all(figure.title in page for figure in figures)


def test_what_is_said_of_all_clients_alike_is_said_once() -> None:
    alike, apart = (classic.stderr_notes(run_of("-+q 2", times)) for times in ({"a": 1, "b": 1}, CALL_MS))

    assert "==== client" not in alike
    assert apart.count("==== client") in {0, 2}


@pytest.mark.parametrize("words", ["", "-t 1"])
def test_decode_and_import_read_the_figures_of_each_client_and_no_folded_one(words: str, tmp_path: Path) -> None:
    text = classic.text(run_of(words))
    _, figures = read_captured(text, "x")

    rates = [(figure.during.machine, figure.bytes_per_s) for figure in figures]
    # As in the table above; each has written its file twice.
    assert rates == [("a", 4000 * 1024), ("a", 4000 * 1024), ("b", 1000 * 1024), ("b", 1000 * 1024)]
    # A log of two runs has each client twice.
    assert [figure.during.machine for figure in read_captured(text + text, "x")[1]] == ["a", "a", "b", "b"] * 2
    (tmp_path / "x").write_text(text)
    assert [original.machine for original in originals(str(tmp_path / "x"))] == ["a", "b"]
    with pytest.raises(InputError, match="that of client b is not"):
        read_captured(text.replace("Command line", "Words", 2).replace("Words", "Command line", 1), "x")


def test_what_is_no_measurement_is_not_taken_for_one_of_clients() -> None:
    done = CliRunner().invoke(app, ["bonnie", "-u", "root", "-p", "2", "--hosts", "local:2"])

    assert isinstance(done.exception, InputError)
    assert "making and removing semaphores is done on this machine alone" in str(done.exception)
    assert done.output == ""
