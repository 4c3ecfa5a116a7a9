"""`assay doctor` and `assay diff` as a user meets them."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from assay.bundle import RunBundle
from assay.cli.diff import diff
from assay.cli.doctor import doctor
from assay.errors import RunError
from assay.host.facts import Fact
from assay.running import engine
from unit.bundle_streams import plan


def invoke(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(doctor)
    app.command()(diff)
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments)


def begun_run(runs: Path, name: str, **facts: str | float) -> RunBundle:
    run = RunBundle.create(runs, name, plan=plan(), argv=("assay", "quick", "d"))
    run.record_facts(Fact(key=key.replace("__", "."), value=value, source="test") for key, value in facts.items())
    return run


def test_diff_lists_what_differs_and_ends_with_1(tmp_path: Path) -> None:
    one = begun_run(tmp_path, "one", host__kernel__release="6.1.0", host__cpu__online=2, host__load__average_1min=0.5)
    other = begun_run(
        tmp_path, "other", host__kernel__release="6.18.0", host__cpu__online=2, host__load__average_1min=2.5
    )

    result = invoke("diff", one.run_id, other.run_id, "--runs", str(tmp_path))
    with_all = invoke("diff", one.run_id, other.run_id, "--runs", str(tmp_path), "--all")

    assert result.exit_code == 1
    assert "host.kernel.release" in result.output
    assert "6.18.0" in result.output
    assert "host.cpu.online" not in result.output
    assert "host.load" not in result.output
    assert "host.load.average_1min" in with_all.output


def test_diff_of_a_run_with_itself_finds_nothing_and_ends_with_0(tmp_path: Path) -> None:
    run = begun_run(tmp_path, "one", host__cpu__online=2)

    result = invoke("diff", run.run_id, str(run.path), "--runs", str(tmp_path))

    assert result.exit_code == 0
    assert "same Plan and the same facts" in result.output


def test_doctor_without_an_engine_says_so_with_the_cure_and_ends_with_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Path:
        raise RunError("assay-engine was not found")

    monkeypatch.setattr(engine, "find_engine", missing)

    result = invoke("doctor", str(tmp_path))

    assert result.exit_code == 3
    assert "assay-engine was not found" in result.output
    assert "Install the wheel" in result.output
    assert f"files can be made in {tmp_path}" in result.output
    assert list(tmp_path.iterdir()) == []
