"""Classic tools with three clients: each path prints the same numbers, those of the clients' own records.

The truth is a sum over the tables and events of the bundle, made here without Assay's analysis.
"""

import json
import math
import re
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from e2e.command import MEASURED, Assay, need_command

CLIENTS = ("local-1", "local-2", "local-3")
HOSTS = ("--hosts", "local:3", "--no-report", "--quiet")
BLOCKS, BLOCK_KIB = 64, 4
LINES = {
    "iozone": rf"^ +{BLOCKS * BLOCK_KIB} +{BLOCK_KIB} +(\d+) +(\d+)",
    "vxbench": r"^(?:user 1|total): +[\d.]+ sec +([\d.]+) KB/s",
}
"""The numbers of a tool's text that are held against the records."""

Numbers = dict[str, list[tuple[float, ...]]]


@dataclass(frozen=True)
class Ran:
    """A run of a tool with three clients."""

    assay: Assay
    folder: Path
    text: str

    @property
    def bundle(self) -> Path:
        """Where it is kept."""
        (found,) = self.assay.runs.glob("*-*-*")
        return found

    def intervals(self, client: str) -> pl.DataFrame:
        """What a client recorded."""
        return pl.read_parquet(self.bundle / "intervals.parquet").filter(pl.col("client") == client)

    def events(self, client: str, kind: str) -> list[dict[str, Any]]:
        """What happened to a client."""
        told = json.loads((self.bundle / "events" / f"{client}.json").read_text())
        return [event for event in told if event["event"] == kind]


def iozone_truth(ran: Ran, client: str) -> list[tuple[float, ...]]:
    """Size of the file by the time in the calls, of the first two tests."""
    spent = [
        ran.intervals(client).filter(pl.col("operation") == name)["latency_sum_ns"].sum()
        for name in ("write", "rewrite")
    ]
    return [tuple(math.floor(BLOCKS * BLOCK_KIB / (int(ns) / 1e9)) for ns in spent)]


def vxbench_truth(ran: Ran, client: str) -> list[tuple[float, ...]]:
    """Bytes by the time from the start to the end of the last write; one worker is all."""
    (ended,) = ran.events(client, "phase_finished")
    (worker,) = ended["workers"]
    rate = int(ran.intervals(client)["bytes"].sum()) / 1024 / ((worker["last_op_ns"] - ended["start_ns"]) / 1e9)
    return [(rate,), (rate,)]


TRUTHS: Mapping[str, Callable[[Ran, str], list[tuple[float, ...]]]] = {
    "iozone": iozone_truth,
    "vxbench": vxbench_truth,
}


@pytest.fixture(scope="module", params=TRUTHS)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Ran]:
    """Each tool once."""
    need_command()
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "data").mkdir()
    data = folder / "data"
    words = {
        "iozone": ("-s", f"{BLOCKS * BLOCK_KIB}k", "-r", f"{BLOCK_KIB}k", "-i", "0", "-b", folder / "x.csv"),
        "vxbench": ("-w", "write", "-i", f"iosize={BLOCK_KIB}k,iocount={BLOCKS}", data / "file"),
    }[request.param]
    assay = Assay(runs=folder / "runs")
    done = assay(request.param, *words, *HOSTS, cwd=data, check=MEASURED)
    return request.param, Ran(assay, folder, done.stdout)


def numbers_of(tool: str, text: str) -> Numbers:
    """Numbers of a text by the words above them: `client local-1`, `mean`, ..."""
    parts = re.split(r"^==== (.*)$", text, flags=re.MULTILINE)[1:]
    named = {name.removesuffix(" of 3 clients"): part for name, part in zip(parts[::2], parts[1::2], strict=True)}
    found = {}
    for name, part in named.items():
        lines = re.findall(LINES[tool], part, re.MULTILINE)
        found[name] = [tuple(map(float, (line,) if isinstance(line, str) else line)) for line in lines]
    return found


def test_the_text_has_the_clients_records_and_then_all_of_them(ran: tuple[str, Ran]) -> None:
    tool, of = ran
    truths = {client: TRUTHS[tool](of, client) for client in CLIENTS}

    found = numbers_of(tool, of.text)
    sums = ["all 3 clients"] if tool == "vxbench" else []
    assert list(found) == [*(f"client {client}" for client in CLIENTS), *sums, "mean", "slowest", "fastest"]
    for client, truth in truths.items():
        assert_equal(found[f"client {client}"], truth)
    for name, fold in (("mean", statistics.fmean), ("slowest", min), ("fastest", max)):
        by_row = zip(*(found[f"client {client}"] for client in CLIENTS), strict=True)
        truth = [tuple(fold(cells) for cells in zip(*rows, strict=True)) for rows in by_row]
        assert_equal(found[name], truth)


def assert_equal(found: list[tuple[float, ...]], truth: list[tuple[float, ...]]) -> None:
    """Hold printed numbers against true ones, to the last digit that is printed: of whole numbers one, else a tenth."""
    assert len(found) == len(truth) > 0
    for row, wanted in zip(found, truth, strict=True):
        assert row == pytest.approx(wanted, abs=1 if all(float(cell).is_integer() for cell in row) else 0.06)


def test_every_other_path_has_the_same(ran: tuple[str, Ran]) -> None:
    tool, of = ran

    assert of.assay("show", "last", "--classic", check=MEASURED).stdout == of.text
    alone = of.assay("show", "last", "--classic", "--client", "local-2", check=MEASURED).stdout
    lines = re.findall(LINES[tool], alone, re.MULTILINE)
    assert len(lines) == len(TRUTHS[tool](of, "local-2"))
    results = json.loads(of.assay("show", "last", "--json", check=MEASURED).stdout)["results"]
    assert {result["client"] for result in results} == {None, *CLIENTS}
    if tool == "vxbench":
        assert bool(numbers_of(tool, of.text)["all 3 clients"]) == (results[0]["iops"] is not None)
    assert all(f"x-{client}.csv" in os_names(of.folder) for client in CLIENTS) is (tool == "iozone")
    if tool == "vxbench":
        again = of.assay("rerun", "last", *HOSTS, check=MEASURED).stdout
        assert list(numbers_of(tool, again)) == list(numbers_of(tool, of.text))


def os_names(folder: Path) -> set[str]:
    """Names in a folder."""
    return {path.name for path in folder.iterdir()}
