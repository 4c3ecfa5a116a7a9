"""Classic tools with several clients: each path prints the same numbers, those of the clients' own records.

The truth is a sum over the tables and events of the bundle, made without Assay's analysis (`client_truths.py`).
`ASSAY_CLIENTS=all` runs every tool with three clients of this machine and with two by ssh, on every path.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from e2e.client_records import NS_PER_S, ClientRecords, bounds, common_ns, interval_ns, may_have_sum, must_have_sum
from e2e.client_truths import FIO_S, TOOLS, Row, Tool, fold
from e2e.command import COMMAND, MEASURED, Assay, need_command
from e2e.many_clients import shared_variables
from testbed.netlab import NetLab, net_lab
from unit.test_worksheet import biff_cells

IS_WHOLE = os.environ.get("ASSAY_CLIENTS") == "all"
CASES = (
    [(place, tool) for place in ("local", "ssh") for tool in TOOLS]
    if IS_WHOLE
    else [("local", tool) for tool in ("iozone", "vxbench", "fio")]
)
SCALES = {"IOPS": ("iops", 1), "ops/s": ("iops", 1), "MiB/s": ("throughput_bytes_per_s", 1 << 20)}
"""Of the rates of a report."""
UNITS = {"us": Decimal(1000), "ms": Decimal(1_000_000), "s": Decimal(1_000_000_000)}
"""Of times that are written with one: the truth is in nanoseconds."""


@dataclass(frozen=True)
class Place:
    """Where clients are, and the command there."""

    hosts: str
    clients: tuple[str, ...]
    data: Path
    """What is measured, by its name on the clients."""
    folder: Path
    """The working directory and the runs, as this test sees them."""
    run: Callable[[Sequence[str]], subprocess.CompletedProcess[str]]
    """Run `assay WORDS` in the working directory."""

    def __call__(self, *words: str) -> str:
        """Run `assay WORDS`, give what it prints."""
        done = self.run(words)
        assert done.returncode in MEASURED, f"{' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@dataclass(frozen=True)
class Ran:
    """A run of a tool with several clients."""

    place: Place
    tool: Tool
    text: str

    @property
    def clients(self) -> list[ClientRecords]:
        """What each client of the last run recorded."""
        last = max(path for path in (self.place.folder / "runs").glob("*-*-*") if path.is_dir())
        return [ClientRecords(last, name) for name in self.place.clients]

    def words(self, *words: str) -> list[str]:
        """Put the clients behind."""
        return [*words, "--hosts", self.place.hosts, "--no-report", "--quiet"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetLab]:
    """Two hosts by ssh."""
    with net_lab(2, backing=tmp_path_factory.mktemp("lab"), shared=shared_variables()) as made:
        yield made


def local_place(folder: Path) -> Place:
    """Three clients of this machine."""
    assay = Assay(runs=folder / "runs")
    clients = ("local-1", "local-2", "local-3")
    return Place("local:3", clients, folder / "data", folder, lambda words: assay(*words, cwd=folder / "work"))


def ssh_place(lab: NetLab, tool: str) -> Place:
    """Two hosts; the leader's folder is its own."""
    here, there = lab.leader.folder / tool, lab.place / tool
    for host in lab.hosts:
        (host.folder / tool / "data").mkdir(parents=True)

    def run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        argv = ["sh", "-c", 'cd "$0" && exec "$@"', str(there / "work"), str(COMMAND), *words]
        return lab.run(lab.leader, argv, env={"ASSAY_RUNS": str(there / "runs")})

    return Place("h1,h2", ("h1", "h2"), there / "data", here, run)


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Each tool once in each place."""
    need_command()
    where, name = request.param
    tool = TOOLS[name]
    if where == "ssh":
        place = ssh_place(request.getfixturevalue("lab"), name)
    else:
        place = local_place(tmp_path_factory.mktemp(name))
        place.data.mkdir()
    (place.folder / "work").mkdir(parents=True)
    for file, text in tool.files.items():
        (place.folder / "work" / file).write_text(text.replace("DATA", str(place.data)))
    made = Ran(place, tool, "")
    words = [word.replace("DATA", str(place.data)) for word in tool.words]
    return Ran(place, tool, place(*made.words(*words)))


def test_the_text_has_the_clients_records_and_then_all_of_them(ran: Ran) -> None:
    assert_text(ran, ran.text)


def test_every_other_path_has_the_same(ran: Ran) -> None:
    assert ran.place("show", "last", "--classic") == ran.text
    own = {one.client: ran.place("show", "last", "--classic", "--client", one.client) for one in ran.clients[:2]}
    for one in ran.clients[:2]:
        assert_rows(ran.tool.found(own[one.client]), ran.tool.truth(one), ran.tool)
        assert ran.tool.adds_up or f"==== client {one.client}\n{own[one.client]}" in ran.text
    assert_document(ran, json.loads(ran.place("show", "last", "--json")))
    assert_files(ran)
    if ran.tool is TOOLS["vxbench"] or IS_WHOLE:
        again = ran.place(*ran.words("rerun", "last"))
        assert_text(ran, again)


@pytest.mark.skipif(not IS_WHOLE, reason="ASSAY_CLIENTS=all draws reports and reads documents of reruns")
def test_report_and_document_of_a_rerun_are_of_these_clients(ran: Ran) -> None:
    page = ran.place.folder / "work" / "page.html"
    ran.place("report", "last", "-o", "page.html")
    assert_page(page.read_text(), json.loads(ran.place("show", "last", "--json")))

    assert_document(ran, json.loads(ran.place(*ran.words("rerun", "last", "--json"))))
    assert_text(ran, ran.place("show", "last", "--classic"))


def test_a_tool_that_takes_no_clients_is_refused_before_it_prints(tmp_path: Path) -> None:
    (tmp_path / "mail").write_text("run\nquit\n")
    assay = Assay(runs=tmp_path / "runs")

    done = assay("postmark", "mail", "--hosts", "local:3", cwd=tmp_path, check=2)

    assert done.stdout == ""
    assert "lists are not handed to clients" in done.stderr
    assert not list(tmp_path.glob("runs/*-*"))


# -- what is held against the records ----------------------------------------------------------------------------------


def assert_text(ran: Ran, text: str) -> None:
    """Hold a whole text against the records of the last run."""
    clients, tool = ran.clients, ran.tool
    if tool.adds_up:
        (assert_fio if tool is TOOLS["fio"] else assert_vdbench)(clients, text)
        return
    parts = re.split(r"^==== (.*)$", text, flags=re.MULTILINE)[1:]
    found = {name: tool.found(part) for name, part in zip(parts[::2], parts[1::2], strict=True)}
    truths = {f"client {one.client}": tool.truth(one) for one in clients}
    folds = () if tool is TOOLS["iozone-t"] else ("mean", "slowest", "fastest")
    sums = [f"all {len(clients)} clients"] if tool.together else []
    assert list(found) == [*truths, *sums, *(f"{how} of {len(clients)} clients" for how in folds)]
    for name, truth in truths.items():
        assert_rows(found[name], truth, tool)
    for name in sums:
        assert tool.together is not None
        assert_rows(found[name], tool.together(clients), tool, optional=True)
        each = len(found[name]) // len(clients[0].phases)
        for index in range(len(clients[0].phases)):
            is_sum = "n/a" not in found[name][index * each : (index + 1) * each]
            assert may_have_sum(clients, index) if is_sum else not must_have_sum(clients, index)
    for how in folds:
        rows = [fold(rows, how) for rows in zip(*truths.values(), strict=True)]
        assert_rows(found[f"{how} of {len(clients)} clients"], rows, tool)


def assert_rows(found: Sequence[str], rows: Sequence[Row], tool: Tool, *, optional: bool = False) -> None:
    """Hold printed numbers against true ones, to the last digit that is printed."""
    truths = [cell for row in (*rows, *tool.closing(rows)) for cell in row.cells]
    assert len(found) == len(truths) > 0
    for number, (printed, truth) in enumerate(zip(found, truths, strict=True)):
        value = re.fullmatch(r"([\d.E+-]+?)(us|ms|s)?", printed)
        if value is None or truth is None or "++" in printed:
            is_shown = value is not None and "++" not in printed
            assert not is_shown, (number, printed, truth)
            assert truth is None or optional, (number, printed, truth)
            continue
        scale = UNITS.get(value[2], Decimal(1))
        exponent = Decimal(value[1]).as_tuple().exponent
        assert isinstance(exponent, int)
        step = float(scale * Decimal(10) ** exponent)
        allowed = step * (1.0 if tool.is_cut else 0.5) * (1 + 1e-6) + 1e-9 * abs(truth)
        assert abs(float(Decimal(value[1]) * scale) - truth) <= allowed, (number, printed, truth)


def assert_document(ran: Ran, document: dict[str, Any]) -> None:
    """Hold a result document against the records of the last run."""
    clients = {one.client: one for one in ran.clients}
    indices = {phase["name"]: index for index, phase in reversed([*enumerate(ran.clients[0].phases)])}
    results = document["results"]
    assert {result["client"] for result in results} == {None, *clients}
    own = {result["label"]: result for result in results}
    for together in document["sums"]:
        first = own[together["rates"][0]["label"]]
        assert_sums(clients, indices[first["phase"]] + first["repeat"], together, own)
    for result in results:
        one = clients.get(result["client"])
        index = indices[result["phase"]] + result["repeat"]
        assert result["errors"] == 0
        if one is not None:
            if result["operation"] != "*":
                assert_result(one, index, result)
            continue
        assert result["iops"] is None or may_have_sum([*clients.values()], index)
        assert result["iops"] is not None or not result["ops"] or not must_have_sum([*clients.values()], index)


def assert_result(one: ClientRecords, index: int, result: dict[str, Any]) -> None:
    """Hold a client's row of a document against the intervals that its window touches."""
    rows = one.of(index, [result["operation"]], result["job"])
    begin_s, end_s = (one.finished(index)["start_ns"] / NS_PER_S + at_s for at_s in result["window_s"])
    inside = rows.filter((rows["t_s"] > begin_s + 1e-6) & (rows["t_s"] - rows["dt_s"] < end_s - 1e-6))
    ops, moved, took_ns = (int(inside[column].sum()) for column in ("ops", "bytes", "latency_sum_ns"))
    assert (result["ops"], result["bytes"]) == (ops, moved)
    assert result["seconds"] == pytest.approx(end_s - begin_s, abs=2e-9)
    assert result["iops"] == pytest.approx(ops / (end_s - begin_s))
    assert result["throughput_bytes_per_s"] == (pytest.approx(moved / (end_s - begin_s)) if moved else None)
    assert result["latency_ns"]["mean"] == pytest.approx(took_ns / ops, abs=0.1)


def assert_sums(clients: dict[str, ClientRecords], index: int, together: dict[str, Any], own: dict[str, Any]) -> None:
    """Hold each client's part of a sum against its intervals in the window of the sum; without one it is its own result."""
    for rate in together["rates"]:
        if together["window_s"] is None:
            assert rate["iops"] == own[rate["label"]]["iops"]
        if together["window_s"] is None or own[rate["label"]]["operation"] == "*":
            continue
        one = clients[rate["client"]]
        start_ns = min(each.zero_ns + each.finished(index)["start_ns"] for each in clients.values())
        begin, end = (start_ns + at_s * NS_PER_S for at_s in together["window_s"])
        least, most = bounds([one], index, [own[rate["label"]]["operation"]], (begin, end))
        assert least <= rate["iops"] * (end - begin) / NS_PER_S * (1 + 1e-6)
        assert rate["iops"] * (end - begin) / NS_PER_S <= most * (1 + 1e-6)


def assert_page(page: str, document: dict[str, Any]) -> None:
    """Hold the rates in a report's table of clients against those of a document."""
    tables = [
        [
            re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", row, re.DOTALL)
            for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)
        ]
        for table in re.findall(r"<table.*?</table>", page, re.DOTALL)
    ]
    (head, *rows), *_ = (table for table in tables if [*table[0][:2]] == ["Client", "Host"])
    columns = [(at, SCALES[unit]) for at, name in enumerate(head) if (unit := name.rpartition(", ")[2]) in SCALES]
    assert {row[0] for row in rows} == {client["name"] for client in document["clients"]}
    assert len(columns) == min(8, len(document["sums"]))
    for row in rows:
        of_client = [rate for each in document["sums"] for rate in each["rates"] if rate["client"] == row[0]]
        for at, (name, scale) in columns:
            value, step = written(row[at])
            rates = [(rate[name] or 0.0) / scale for rate in of_client]
            assert any(abs(rate - value) <= 0.501 * step for rate in rates), (head[at], row, rates)


def written(number: str) -> tuple[float, float]:
    """Give a number of a report, and what its last digit stands for."""
    found = re.fullmatch(r"([\d,.]+)(M?)", number)
    assert found is not None, number
    digits, times = Decimal(found[1].replace(",", "")), 1e6 if found[2] else 1.0
    exponent = digits.as_tuple().exponent
    assert isinstance(exponent, int)
    return float(digits) * times, 10.0**exponent * times


def assert_files(ran: Ran) -> None:
    """Hold the files of each client, or of all, against the text."""
    work = ran.place.folder / "work"
    for name in ran.tool.writes:
        if ran.tool.adds_up:
            assert_vdbench_file(ran.text, (work / name).read_text())
            continue
        assert not (work / name).exists()
        for one in ran.clients:
            stem, _, suffix = name.rpartition(".")
            cells = [value for *_, value in biff_cells((work / f"{stem}-{one.client}.{suffix}").read_bytes())]
            rates = [row.cells[0] for row in ran.tool.truth(one)]
            wanted = rates[::6] if ran.tool is TOOLS["iozone-t"] else rates
            numbers = [cell for cell in cells if isinstance(cell, float)]
            assert all(any(cell == pytest.approx(rate, abs=0.01) for cell in numbers) for rate in wanted), (
                cells,
                wanted,
            )


def assert_vdbench_file(text: str, file: str) -> None:
    """Hold a file of vdbench against its text: the whole text, or each number of it with the digits that the text has."""
    if "reqrate" not in file:
        assert text.strip() in file
        return
    (head,) = (line.split() for line in file.splitlines() if "reqrate " in line and not line.startswith("*"))
    columns = [head.index(name) for name in ("rate", "MB/sec", "bytes/io", "read%", "resp", "read_resp", "write_resp")]
    rows = [line.split() for line in file.splitlines() if re.match(r" *\d\d:", line)]
    cells = iter(TOOLS["vdbench"].found(text))
    for row in rows:
        for cell in [row[at] for at in (*columns, head.index("resp_max"))]:
            printed = next(cells)
            digits = len(printed.partition(".")[2])
            assert printed == cell or abs(float(printed) - float(cell)) <= 0.5001 * 10.0**-digits, (printed, row)
    assert rows
    assert not list(cells)


def assert_fio(clients: Sequence[ClientRecords], text: str) -> None:
    """Hold the sum of fio's job against what all clients did, and by the time that it gives."""
    (job,) = json.loads(text)["jobs"]
    begin, end, share = common_ns(clients, 0)
    # A window of whole intervals begins and ends at most two of them inside of the common time.
    edge = 2 * interval_ns(clients, 0)
    for name in ("read", "write"):
        part = job[name]
        if part["iops"] is None:
            assert not must_have_sum(clients, 0)
            continue
        assert may_have_sum(clients, 0)
        assert part["iops"] == pytest.approx(part["total_ios"] / part["runtime"] * 1000, rel=1e-2)
        assert part["bw_bytes"] == pytest.approx(part["iops"] * 4096, rel=1e-3)
        for column, found in (
            ("ops", part["total_ios"]),
            ("latency_sum_ns", part["lat_ns"]["mean"] * part["total_ios"]),
        ):
            least, _ = bounds(clients, 0, [name], (begin + edge, end - edge), column)
            assert least <= found * (1 + 1e-6) <= sum(one.sum(0, name, column) for one in clients) * (1 + 2e-6)
        longest_ns = max((end - begin) / share, FIO_S * NS_PER_S)
        assert end - begin - 2 * edge <= part["runtime"] * 1e6 <= longest_ns + edge


def assert_vdbench(clients: Sequence[ClientRecords], text: str) -> None:
    """Hold the sum in each line against what all clients did between its time and that of the line before."""
    lines = re.findall(r"^([\d:.]+) +(\d+|avg_\d+-\d+) +(\S+)", text, re.MULTILINE)
    (started,) = re.findall(r"^([\d:.]+) Starting", text, re.MULTILINE)
    start_ns = min(one.zero_ns + one.finished(0)["start_ns"] for one in clients)

    def since_start_ns(clock: str) -> float:
        then, now = (
            sum(float(part) * 60.0**at for at, part in enumerate(reversed(one.split(":")))) for one in (started, clock)
        )
        return float(start_ns + (now - then) % 86_400 * NS_PER_S)

    ends = {label: since_start_ns(clock) for clock, label, _ in lines}
    assert len(lines) >= 3
    for _, label, rate in lines:
        first, _, last = label.removeprefix("avg_").partition("-")
        begin = ends.get(str(int(first) - 1), start_ns)
        end = ends[last or first]
        if rate == "n/a":
            assert not must_have_sum(clients, 0)
            continue
        least, most = bounds(clients, 0, ["wd1 read", "wd1 write"], (begin, end))
        seconds = (end - begin) / NS_PER_S
        assert 0.99 * least <= float(rate) * seconds <= 1.01 * most, label
