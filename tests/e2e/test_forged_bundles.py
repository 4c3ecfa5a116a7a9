"""Forged bundles by the installed command: one line, exit code 2, little memory, and the list of runs goes on."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from e2e.command import Assay
from e2e.peak_memory import PeakMemory
from unit.forged_bundles import change_json, change_manifest, entry, forge, sealed

MOST_BYTES = 300 << 20
"""Of memory that a command may take of which a forged bundle asks for more: the bomb would unpack to 458 MiB."""


def bomb(folder: Path) -> None:
    """Put a table of 5 million rows in place, next to nothing in the file."""
    one = pl.read_parquet(folder / "hist.parquet").head(1)
    part = folder / "part.parquet"
    one.select(pl.all().repeat_by(5_000_000).explode()).write_parquet(part, compression="zstd")
    data = part.read_bytes()
    part.unlink()
    forge(folder, "hist.parquet", data)


def linked(folder: Path) -> None:
    (folder / "hist.parquet").unlink()
    (folder / "hist.parquet").symlink_to("/dev/zero")


def fifo(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")


def shadow(folder: Path) -> None:
    change_manifest(folder, lambda manifest: manifest["files"].update({"/etc/shadow": entry(b"")}))


def nested(folder: Path) -> None:
    forge(folder, "resolved.json", b"[" * 1_000_000)


def out_of_range(folder: Path) -> None:
    change_json(folder, "events/0.json", lambda events: events[2].update(phase_index=10**6))


FORGERIES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a Parquet bomb": (bomb, "would unpack to"),
    "a link to /dev/zero": (linked, "hist.parquet cannot be read|hist.parquet: is a link"),
    "a FIFO": (fifo, "manifest.json: is a FIFO"),
    "/etc/shadow": (shadow, "names the file '/etc/shadow'"),
    "JSON nested deep": (nested, "is no Plan that this Assay reads"),
    "a phase that there is not": (out_of_range, "an event is of phase 1000000"),
}


READING = ("show", "report", "rerun", "diff")
BY_ALL = {"a Parquet bomb", "JSON nested deep"}
"""What every command that reads a run is given; the rest of the forgeries one of them."""


@pytest.mark.parametrize("what", FORGERIES)
def test_it_is_refused_in_one_line_and_listed_as_damaged(assay: Assay, tmp_path: Path, what: str) -> None:
    forged, good = sealed(assay.runs, "forged"), sealed(assay.runs, "good")
    forge_it, words = FORGERIES[what]
    forge_it(forged)
    peak = PeakMemory(tmp_path / "peak")

    for command in READING if what in BY_ALL else READING[:1]:
        done = assay(command, forged, *([good] if command == "diff" else []), cwd=tmp_path, check=2, prefix=peak.prefix)
        sys.stdout.write(f"{what}: assay {command}: {peak.taken_bytes() >> 20} MiB: {done.stderr}")
        assert peak.taken_bytes() < MOST_BYTES
        assert done.stderr.count("\n") == 1
        assert any(word in done.stderr for word in words.split("|"))
        assert done.stdout == ""
    listed = json.loads(assay("ls", "--json", check=0, prefix=peak.prefix).stdout)

    assert peak.taken_bytes() < MOST_BYTES
    assert {run["run_id"]: run["state"] for run in listed} == {forged.name: "damaged", good.name: "sealed"}
    assert "damaged" in assay("ls", check=0).stdout


def test_a_table_that_breaks_its_reader_is_one_line_too(assay: Assay, tmp_path: Path) -> None:
    forged = sealed(assay.runs, "forged")
    data = (forged / "host.parquet").read_bytes()
    said = set()
    for place in range(4, len(data) // 2, 200):
        forge(forged, "host.parquet", data[:place] + bytes([data[place] ^ 0x2A]) + data[place + 1 :])
        done = assay("show", forged, cwd=tmp_path)
        assert done.returncode in {0, 1, 2}
        assert done.stderr.count("\n") == (1 if done.returncode == 2 else 0), done.stderr
        said.add(done.returncode)
    assert 2 in said


def test_an_archive_of_a_strangers_run_holds_no_link_and_no_file_of_this_machine(assay: Assay, tmp_path: Path) -> None:
    forged = sealed(assay.runs, "forged")
    (forged / "secret").symlink_to("/etc/shadow")
    os.mkfifo(forged / "pipe")

    assay("export", forged, "-o", tmp_path / "run.tar.gz", cwd=tmp_path, check=0)

    listed = subprocess.run(
        ["tar", "-tvzf", tmp_path / "run.tar.gz"], capture_output=True, text=True, check=True
    ).stdout
    sys.stdout.write(listed)
    assert {line[0] for line in listed.splitlines()} == {"-"}
    assert "secret" not in listed
    assert "manifest.sha256" in listed
