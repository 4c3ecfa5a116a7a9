"""Arms whose runs have a surface each, with rates that are known, and the tables of 2006 as such."""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from assay.analysis.two_sizes import SizePair
from assay.compare.arms import Arm
from assay.compare.comparison import Comparison, compare
from assay.compare.surfaces.cell_runs import CellRuns
from assay.compare.surfaces.questions import Questions
from assay.compare.surfaces.surface import ComparedSurface
from assay.compare.surfaces.survey import with_surfaces
from assay.results import Document, Result
from unit.quick_run import LOADS, quick_run

KIB, MIB, MB = 1 << 10, 1 << 20, 1e6
NTFS_FAT32 = Path(__file__).parents[1] / "golden/classic/charts/ntfs_fat32.csv"
TEST = "write"
Rates = Mapping[tuple[int, int], Sequence[float]]
"""Bytes a second of each run, by file and record size."""


def label(file_bytes: int, record_bytes: int, test: str = TEST) -> str:
    return f"{test}-{file_bytes}-{record_bytes}/{test}"


def places(rates: Rates, test: str = TEST) -> dict[str, SizePair]:
    return {label(*sizes, test): SizePair(test, *sizes) for sizes in rates}


def arm(
    name: str,
    rates: Rates,
    *,
    begin: int = 0,
    step: int = 2,
    changed: Mapping[tuple[int, int], Mapping[str, object]] | None = None,
) -> Arm:
    """Make an arm of runs that have these rates; `changed` are fields of the result of a cell."""
    document, result = _measured()
    runs = len(next(iter(rates.values())))
    documents = []
    for i in range(runs):
        told = msgspec.structs.replace(
            document.run,
            id=f"{name}-{i}",
            started_utc=f"2026-11-25T{(begin + step * i) // 60:02d}:{(begin + step * i) % 60:02d}:00Z",
        )
        results = tuple(
            msgspec.structs.replace(
                result, label=label(*sizes), bytes=(result.ops or 0) * sizes[1], throughput_bytes_per_s=values[i],
                iops=values[i] / sizes[1], committed=None, **(changed or {}).get(sizes, {}),
            )
            for sizes, values in rates.items()
        )  # fmt: skip
        documents.append(msgspec.structs.replace(document, run=told, results=results))
    return Arm.of(name, documents)


_KEPT: list[tuple[Document, Result]] = []


def _measured() -> tuple[Document, Result]:
    if not _KEPT:
        _, document = quick_run(LOADS[:1])
        result = document.results[0]
        # Without a tail, which would be compared as well.
        _KEPT.append(
            (document, msgspec.structs.replace(result, latency_ns=msgspec.structs.replace(result.latency_ns, p99=None)))
        )
    return _KEPT[0]


def compared(a: Arm, b: Arm, rates: Rates, **asked: object) -> tuple[Comparison, ComparedSurface]:
    """Compare two arms, and give the one surface."""
    questions = Questions(places=places(rates), **asked)  # type: ignore[arg-type]
    found = with_surfaces(compare([a, b]), [a, b], questions)
    (surface,) = found.against[0].surfaces
    return found, surface


def ntfs_fat32(operation: str) -> tuple[Rates, Rates]:
    """Give the rates of NTFS and of FAT32 of the table, single runs, a file of 1 GB."""
    text = [line for line in NTFS_FAT32.read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(text))
    of = [
        {(1 << 30, int(row["io_size_kb"]) * KIB): [float(row[f"{system}_{operation}"]) * MB] for row in rows}
        for system in ("ntfs", "fat")
    ]
    return of[0], of[1]


def grid(files: int, records: int) -> list[tuple[int, int]]:
    """File and record sizes, each twice the one before, of files from 64 KiB and records from 4 KiB on."""
    return [(64 * KIB << i, 4 * KIB << j) for i in range(files) for j in range(records)]


def noisy(
    random: np.random.Generator,
    means: Mapping[tuple[int, int], float],
    runs: int,
    *,
    cell_cv: Mapping[tuple[int, int], float] | float = 0.03,
    run_cv: float = 0.0,
) -> dict[tuple[int, int], list[float]]:
    """Draw runs around known rates: what a run does to all its cells, and what each does by itself."""
    of_runs = random.normal(0, run_cv, runs)
    cv = cell_cv if isinstance(cell_cv, Mapping) else dict.fromkeys(means, cell_cv)
    return {
        sizes: (mean * np.exp(of_runs + random.normal(0, cv[sizes], runs))).tolist() for sizes, mean in means.items()
    }


def cell_runs(a: Rates, b: Rates) -> list[CellRuns]:
    """Give cells as the tests of cells take them."""
    return [CellRuns(label(*sizes), SizePair(TEST, *sizes), _logs(a[sizes]), _logs(b[sizes]), "") for sizes in a]


def _logs(values: Sequence[float]) -> dict[str, float]:
    return {str(i): math.log(value) for i, value in enumerate(values)}
