"""Does `assay fio` give what fio gives for the same words? IOPS, p50 and p99 of the same jobs, in turn.

    python -m bench.fio_jobs DIR [--rounds 5] [--seconds 4] [--only NAME]

Both get one command line and run in DIR, fio in a folder of its own; the CPUs are kept from idling (`bench/from_fio.py` says
why). fio's percentiles are those of its `lat`, from the call to the end, as Assay's are. Given is the geometric mean over
the rounds of Assay's value by fio's with its 95 % interval, and beside it that of two runs of fio.
"""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.from_fio import cpus_awake
from bench.ratios import ratio

ASSAY = Path(sys.executable).parent / "assay"
JOBS = {
    "randread-32": "--rw=randread --bs=4k --direct=1 --ioengine=io_uring --iodepth=32 --size=256m",
    "seq-write": "--rw=write --bs=128k --direct=1 --ioengine=io_uring --iodepth=4 --size=256m --overwrite=1"
    " --refill_buffers=1",
    "mix-bssplit": "--rw=randrw --rwmixread=70 --bssplit=4k/60:8k/30:64k/10 --direct=1 --ioengine=io_uring --iodepth=16"
    " --size=256m --norandommap --refill_buffers=1",
    "rate-500": "--rw=randread --bs=4k --direct=1 --rate_iops=500 --size=256m",
}
"""Time, directory and name are added. `--overwrite` and `--refill_buffers` have fio do the work that Assay does."""
FIGURES = ("iops", "p50", "p99")


def fio(words: Sequence[str], directory: Path) -> dict[str, float]:
    """Run fio."""
    with tempfile.TemporaryDirectory(prefix="assay-fio-jobs-", dir=directory) as own:
        return _figures(["fio", "--name=x", f"--directory={own}", "--lat_percentiles=1", *words], own, "lat_ns")


def assay(words: Sequence[str], directory: Path) -> dict[str, float]:
    """Run Assay."""
    with (
        tempfile.TemporaryDirectory(prefix="assay-fio-jobs-", dir=directory) as own,
        tempfile.TemporaryDirectory() as runs,
    ):
        command = [str(ASSAY), "fio", "--name=x", f"--directory={own}", *words]
        return _figures([*command, "--runs", runs, "--no-report", "--quiet"], own, "clat_ns")


def _figures(command: Sequence[str], own: str, latency: str) -> dict[str, float]:
    done = subprocess.run([*command, "--output-format=json"], capture_output=True, text=True, check=False, cwd=own)
    if done.returncode not in {0, 1} or "{" not in done.stdout:
        raise SystemExit(f"{shlex.join(command)}: {done.stderr[-500:]}")
    (job,) = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    ways: list[dict[str, Any]] = [job[name] for name in ("read", "write") if job[name]["total_ios"]]
    # Of a mix the percentiles are those of its reads.
    at = ways[0][latency]["percentile"]
    return {
        "iops": sum(float(way["iops"]) for way in ways),
        "p50": float(at["50.000000"]),
        "p99": float(at["99.000000"]),
    }


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--only", choices=JOBS, action="append")
    asked = parser.parse_args()
    directory = asked.directory.resolve()
    with cpus_awake():
        for name, options in JOBS.items():
            if asked.only and name not in asked.only:
                continue
            words = [*shlex.split(options), f"--runtime={asked.seconds:g}", "--time_based"]
            turns: list[tuple[str, Callable[[Sequence[str], Path], dict[str, float]]]] = [
                ("first", fio), ("assay", assay), ("second", fio),
            ]  # fmt: skip
            by: dict[str, list[dict[str, float]]] = {turn: [] for turn, _ in turns}
            for number in range(asked.rounds):
                for turn, run in turns if number % 2 == 0 else turns[::-1]:
                    by[turn].append(run(words, directory))
            for figure in FIGURES:
                values = {turn: [one[figure] for one in found] for turn, found in by.items()}
                middle = [(one * other) ** 0.5 for one, other in zip(values["first"], values["second"], strict=True)]
                both, alone = ratio(values["assay"], middle), ratio(values["first"], values["second"])
                typical = sorted(values["assay"])[asked.rounds // 2]
                sys.stdout.write(f"{name:12} {figure:5} {typical:12,.0f}  Assay / fio {both}  fio / fio {alone}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
