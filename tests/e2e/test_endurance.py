"""Does a run of hours stay as small as it began? The kernel says what the programs hold, the bundle how it grows."""

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.bundle import RunBundle
from e2e.command import Assay
from e2e.processes import Running, engines_of, running, state_of
from testbed.devices import MIB

SECONDS = float(os.environ.get("ASSAY_ENDURE_S", "15"))
"""Length of the run; `make endure` takes two hours."""
INTERVAL_S = max(0.01, SECONDS / 7200)
"""Length of an interval: a short run has as many as one of two hours, for what grows grows with them."""
BEGINNING_S = min(300.0, SECONDS / 8)
"""What is held then is what it needs: every buffer was used, every table was filled."""
EVENTS_BYTES, SEALED_BYTES = 16_384, 2048
"""Most that an interval of this load adds, while it is measured and to the bundle (docs/reference/bundle.md)."""

# Mail that comes and goes: every part of the engine that could keep something of each operation or each file does work. Each
# turn takes as many messages away as it brings: by chance they would run out, or fill every name, within the hour.
LOAD = """
name = "lasting"
sample_interval = "{interval_s:g}s"
[[file_set]]
name = "messages"
files = 2000
size = {{ uniform = "1KiB", max = "15KiB" }}
layout = {{ per_directory = 100 }}
existing_share = 0.5
[[phase]]
name = "serve"
seconds = "{seconds:g}s"
[[phase.job]]
workers = 4
timed = ["turn", "read", "look"]
[[phase.job.loop]]
think = {{ exponential = "5ms" }}
[[phase.job.loop]]
[[phase.job.loop.choice]]
weight = 40
actions = {{ group = "turn", actions = [
    {{ op = "create", set = "messages", slot = 0 }},
    {{ op = "write", name = "write-message", slot = 0, access = "whole", size = "4KiB" }},
    {{ op = "fsync", slot = 0 }},
    {{ op = "close", slot = 0 }},
    {{ op = "unlink", name = "delete", set = "messages" }},
] }}
[[phase.job.loop.choice]]
weight = 40
actions = {{ group = "read", actions = [
    {{ op = "open", name = "open-message", set = "messages", pick = "random", slot = 0 }},
    {{ op = "read", name = "read-message", slot = 0, access = "whole", size = "16KiB" }},
    {{ op = "close", slot = 0 }},
] }}
[[phase.job.loop.choice]]
weight = 20
actions = {{ op = "readdir", name = "look", set = "messages", pick = "random" }}
"""


@dataclass(frozen=True)
class Sample:
    """What a run held at a time of its phase."""

    at_s: float
    command_bytes: int
    engine_bytes: int
    events_bytes: int


def test_a_long_run_holds_no_more_than_at_its_beginning(tmp_path: Path) -> None:
    directory, runs = tmp_path / "measured", tmp_path / "runs"
    directory.mkdir()
    load = tmp_path / "lasting.toml"
    load.write_text(LOAD.format(interval_s=INTERVAL_S, seconds=SECONDS))

    with running("run", load, directory, "--no-report", folder=tmp_path) as run:
        samples = _samples(run, runs)
        assert run.exit_code() in {0, 1}, run.said()

    beginning = [sample for sample in samples if sample.at_s <= BEGINNING_S]
    later = [sample for sample in samples if sample.at_s > BEGINNING_S]
    before, after = _most(beginning), _most(later)
    sys.stdout.write(f"command and engine hold at most {before} bytes at the beginning, {after} later\n")
    assert sum(after) <= 1.05 * sum(before)
    # The pages of a histogram come as its latencies do: a few hundred KiB, however long it lasts.
    assert after[1] <= before[1] + MIB

    (bundle,) = (path for path in runs.iterdir() if path.is_dir())
    intervals = round(SECONDS / INTERVAL_S)
    sealed_bytes = sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file())
    events_bytes = samples[-1].events_bytes
    sys.stdout.write(f"{intervals} intervals: events of {events_bytes} bytes, a bundle of {sealed_bytes} bytes\n")
    assert events_bytes / intervals < EVENTS_BYTES
    assert sealed_bytes / intervals < SEALED_BYTES
    RunBundle.open(bundle).verify()
    shown = json.loads(Assay(runs=runs)("show", bundle, "--json").stdout)
    assert {result["operation"] for result in shown["results"]} == {"*", "turn", "read", "look"}
    assert all(result["errors"] == 0 and result["ops"] > 0 for result in shown["results"])


def _most(samples: Sequence[Sample]) -> tuple[int, int]:
    """Most bytes that the command and the engine held."""
    return max(sample.command_bytes for sample in samples), max(sample.engine_bytes for sample in samples)


def _samples(run: Running, runs: Path) -> list[Sample]:
    """What is held from the first interval to the last."""
    run.engine_of_a_run(runs)
    started = time.monotonic()
    (events,) = runs.glob("*/events/*.ndjson")
    samples = []
    while (at_s := time.monotonic() - started) < SECONDS - 1 and (engine := _engine(run)) is not None:
        held = [_resident_bytes(pid) for pid in (run.process.pid, engine)]
        samples.append(Sample(at_s, held[0], held[1], events.stat().st_size))
        time.sleep(min(5.0, SECONDS / 200))
    return samples


def _engine(run: Running) -> int | None:
    """Pid of the engine; None: it is at its end, earlier than this slow a test looked again."""
    found = engines_of(run.process.pid)
    return found[0] if found and state_of(found[0]) != "Z" else None


def _resident_bytes(pid: int) -> int:
    """Memory of a process, its own and what it shares, without the pages of files: the kernel takes those as it likes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    held = [int(line.split()[1]) for line in lines if line.startswith(("RssAnon:", "RssShmem:"))]
    assert len(held) == 2
    return sum(held) * 1024
