"""Every command that shows a run, on one of several clients that is kept in a bundle."""

import csv
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from assay import load, plan
from assay.bundle import RunBundle
from assay.bundle.client_set import Lost, Role
from assay.results import Document
from e2e.command import Assay
from unit.memory_set import LEADER_NS, Client, MemorySet, kept
from unit.synthetic import NS, SyntheticRun, one_job, one_plan, steady_stream

SECONDS = 8
RATES = {"h1": 400, "h2": 420, "h3": 100}
PLAN = one_plan(plan.Phase(name="reads", title="4 KiB random read", jobs=(one_job(),)))


def run_of(rate: int) -> SyntheticRun:
    run = SyntheticRun(PLAN)
    streams = [steady_stream(per_s=rate, seconds=SECONDS, latency_ns=500_000, bytes_each=4096)] if rate else []
    return run.phase(streams, seconds=SECONDS).end()


def measured(runs: Path, rates: dict[str, int], *, lost: Sequence[str] = ()) -> RunBundle:
    """Keep a run of clients with these rates, whose clocks are 1000 s apart, and an observer."""
    gone = Lost(heard_ns=LEADER_NS + 40 * NS, noticed_ns=LEADER_NS + 41 * NS, reason="socket closed", phase_index=None)
    clients = [
        Client(name, run_of(rate), offset_ns=1000 * NS * i, late_ns=30_000 * i, lost=gone if name in lost else None)
        for i, (name, rate) in enumerate(rates.items())
    ]
    return kept(runs, MemorySet(PLAN, [*clients, Client("s1", run_of(0), role=Role.OBSERVER)]))


# Of a session: the tests of a file with fixtures of its own would all run on one worker.
@pytest.fixture(scope="session")
def kept_once(tmp_path_factory: pytest.TempPathFactory) -> RunBundle:
    return measured(tmp_path_factory.mktemp("kept"), RATES, lost=["h2"])


@pytest.fixture
def run(assay: Assay, kept_once: RunBundle) -> str:
    shutil.copytree(kept_once.path, assay.runs / kept_once.run_id)
    return kept_once.run_id


def document(assay: Assay, *words: str) -> Document:
    return msgspec.json.decode(assay("show", *words, "--json", check=0).stdout, type=Document)


def test_the_sums_are_shown_with_what_they_are_made_of(assay: Assay, run: str) -> None:
    shown = assay("show", run, check=0).stdout

    assert "920" in shown.split()
    assert "row 1    100 (h3) to 420 IOPS (h2): 4.20 times" in shown
    assert "2 of 3 clients since 30.0 s: h2, socket closed" in shown
    assert "skew 60.0 µs" in shown
    assert "offset up to 2,000 s (h3)" in shown
    assert shown.count("4 KiB random read") == 2  # its row, and the answer


def test_the_clients_and_one_client_are_shown(assay: Assay, run: str) -> None:
    every, one = assay("show", run, "--clients", check=0).stdout, assay("show", run, "--client", "h3", check=0).stdout

    assert [line.split()[0] for line in every.splitlines() if " IOPS" not in line and line[:1] == "h"] == [
        "h3", "h1", "h2", "h2", "h1", "h3",
    ]  # fmt: skip
    assert "client   h3   h3, reached as h3.example" in one
    assert "data     data 1.00 GiB in 1 file\n" in one
    assert "100" in one.split()
    assert "920" not in one.split()
    own = document(assay, run, "--client", "h3")
    assert [result.client for result in own.results] == ["h3"]
    assert {result.client for result in document(assay, run).results} == {None, *RATES}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--client", "h9"), "has no client 'h9'; it has h1, h2, h3, s1"),
        (("--client", "s1"), "is an observer: it made no load"),
        (("--client", "h1", "--clients"), "--client and --clients: choose one"),
        (("--clients", "--json"), "--clients and --json: choose one"),
    ],
)
def test_what_cannot_be_shown_is_a_line_and_bad_input(assay: Assay, run: str, words: Sequence[str], said: str) -> None:
    done = assay("show", run, *words, check=2)

    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_run_of_one_client_has_none_to_show(assay: Assay, tmp_path: Path) -> None:
    assay("measure", tmp_path, "--time", "0.2s", "--size", "1MiB", "--no-report", "-q", check=None)

    assert "is of one client: leave --clients out" in assay("show", "last", "--clients", check=2).stderr
    assert "is of one client: leave --client out" in assay("show", "last", "--client", "h1", check=2).stderr


def test_a_sum_and_a_clients_row_are_explained(assay: Assay, run: str) -> None:
    of_sum = assay("explain", run, "1", check=0).stdout
    of_label = assay("explain", run, "reads/read@h3", check=0).stdout
    of_client = assay("explain", run, "1", "--client", "h3", check=0).stdout

    assert "920 IOPS" in of_sum
    assert "100 IOPS" in of_label
    assert "100 IOPS" in of_client
    assert "client h3 of run" in of_label
    assert "has no row 2" in assay("explain", run, "2", check=2).stderr


def test_reports_are_of_the_set_and_of_one_client(assay: Assay, run: str, tmp_path: Path) -> None:
    whole = Path(assay("report", run, "-o", tmp_path / "set.html", check=0).stdout.strip()).read_text()
    one = Path(assay("report", run, "--client", "h3", "-o", tmp_path / "one.html", check=0).stdout.strip()).read_text()
    usual = assay("report", run, "--client", "h3", cwd=tmp_path, check=0).stdout.strip()

    assert whole.count('id="clients"') == 1
    assert whole.count('<details class="card"') == 1
    assert 'id="clients"' not in one
    assert usual == f"assay-{run}-h3.html"


def test_tables_have_the_clients(assay: Assay, run: str, tmp_path: Path) -> None:
    assay("export", run, "--csv", tmp_path / "numbers", "--xlsx", tmp_path / "all.xlsx", check=0)

    with (tmp_path / "numbers" / "results.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["client"] for row in rows] == ["", *RATES]
    assert [round(float(row["iops"])) for row in rows] == [920, *RATES.values()]
    assert sorted(path.name for path in (tmp_path / "numbers").iterdir()) == [
        "clients.csv", "clients_over_time.csv", "marks.csv", "over_time.csv", "results.csv", "starts.csv",
    ]  # fmt: skip
    with (tmp_path / "numbers" / "starts.csv").open(newline="") as lines:
        assert [row["late_ns"] for row in csv.DictReader(lines)] == ["0", "30000", "60000"]


def test_two_sets_are_compared_by_their_sums(assay: Assay, run: str, tmp_path: Path) -> None:
    other = measured(assay.runs, {name: 2 * rate for name, rate in RATES.items()}).run_id

    shown = assay("compare", run, other, check=0).stdout

    assert "clients  A 3, B 3: their sums are compared; 6 results of single clients are left out" in shown
    assert "2.000" in shown
    assert "@h" not in shown
    assay("compare", run, other, "--html", tmp_path / "both.html", check=0)
    assert "Clients: A 3, B 3: their sums are compared" in (tmp_path / "both.html").read_text()


def test_a_notebook_gets_the_sums_and_a_clients_own_series(assay: Assay, run: str) -> None:
    loaded = load(run, runs=assay.runs)

    assert loaded.timeline("reads/read")["ops"].sum() == 920 * SECONDS
    assert loaded.timeline("reads/read@h3")["ops"].sum() == 100 * SECONDS
    assert loaded.latency("reads/read@h3")["ops"].sum() == 100 * SECONDS
    assert len(loaded.verdicts) == 1
    assert {name for name in loaded.charts if name.startswith("clients")} == {
        "clients-fairness", "clients-01-4-kib-random-read", "clients-starts",
    }  # fmt: skip
