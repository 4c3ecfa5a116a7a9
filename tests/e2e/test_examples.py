"""Does every example run? Those that scale are run by test_suites.py, and the suite of `assay quick` by test_quick.py."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from assay.loads import native, suites
from e2e.command import Assay, Measure


@pytest.mark.parametrize("example", suites.examples())
def test_an_example_runs_for_a_third_of_a_second_a_phase(example: str, measure: Measure, tmp_path: Path) -> None:
    document = _run_briefly(suites.text(example), measure, tmp_path / "data")

    _has_rates(document)


def test_an_example_runs_by_its_name_and_is_listed(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "sequential-read.toml").write_text("name = 'mine'")
    words = ("sequential-read", tmp_path, "--size", "4m", "--no-report", "--json")

    done = assay("run", *words, cwd=tmp_path)

    assert done.returncode in {0, 1}, done.stderr
    assert "for the file here write ./sequential-read.toml" in done.stderr
    assert json.loads(done.stdout)["results"][0]["ops"] > 0
    listed = assay("suites", check=0).stdout
    assert all(f"  {name} " in listed for name in (*suites.names(), *suites.examples()))


def _run_briefly(load: str, measure: Measure, directory: Path) -> dict[str, Any]:
    directory.mkdir()
    # Where the tests are bound to other CPUs, the one that an example names may not be used.
    load = load.replace("cpus = [0]", f"cpus = [{min(os.sched_getaffinity(0))}]")
    document = measure(load, directory, *_options(load))
    assert list(directory.iterdir()) == []
    return document


def _options(load: str) -> list[str]:
    """A third of a second for each phase that has a length, little data, few files: as far as there are parameters."""
    options = ["--no-report"]
    if '"spawn"' in load:
        options += ["--allow-commands"]
    if "${phase_seconds}" in load:
        options += ["--time", f"{native.phase_count(load, 'load.toml') / 3:g}s"]
    if "${size}" in load:
        options += ["--size", "16MiB"]
    values = {"files": "1000", "metadata_seconds": "0.3s"}
    return options + [f"--set={name}={value}" for name, value in values.items() if "${" + name + "}" in load]


def _has_rates(document: dict[str, Any]) -> None:
    assert document["results"]
    for result in document["results"]:
        # With RWF_NOWAIT a page that the kernel took out of the cache meanwhile is EAGAIN.
        may_fail = "nowait" in result["phase"]
        assert result["errors"] <= (0.01 * result["ops"] if may_fail else 0), result
        said = [finding["text"] for finding in result["findings"] if finding["id"] == "errors"]
        assert all(f"(EAGAIN {result['errors']} times)" in text for text in said), said
        assert result["iops"] > 0, result
        assert result["latency_ns"]["mean"] > 0, result
