"""Is what a disk shows before and after a run in the run, and in what is printed of it?"""

import json
import os
from pathlib import Path

import pytest

from assay.bundle import RunBundle
from assay.host.block import whole_disk
from assay.host.reading import SystemTree
from e2e.command import MEASURED, Assay
from testbed.host import need_root, need_tools

pytestmark = [pytest.mark.testbed, pytest.mark.xdist_group("mount namespaces")]

WORDS = ("--size", "4m", "--time", "0.5s")


def disk_below(folder: Path) -> Path:
    """The folder in sysfs that has the folder of the disk that a folder lies on, as a child of `block`."""
    number = folder.stat().st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    name = whole_disk(SystemTree(), device.resolve().name) if device.exists() else ""
    found = Path(f"/sys/class/block/{name}/device")
    if not name or not (found / "block" / name).is_dir():
        pytest.skip("needs a folder on a disk of this machine")
    return found


def test_the_temperature_before_and_after_a_run_is_recorded_and_printed(assay: Assay, tmp_path: Path) -> None:
    need_root()
    need_tools("unshare", "mount")
    device = disk_below(tmp_path)
    (planted := tmp_path / "device" / "hwmon7").mkdir(parents=True)
    (planted / "temp1_input").write_text("41500\n")
    (planted.parent / "block").mkdir()
    (folder := tmp_path / "here").mkdir()
    # In a mount namespace of its own, the disk has a sensor.
    fake, own = planted.parent, device.resolve()
    script = f'mount --bind {own}/block {fake}/block && mount --rbind {fake} {own} && exec "$@"'

    prefix = ("unshare", "--mount", "sh", "-c", script, "sh")
    done = assay("measure", folder, *WORDS, "--json", "--no-report", prefix=prefix, check=MEASURED)

    name = device.parent.name
    bundle = RunBundle.open(Path(json.loads(done.stdout)["run"]["bundle"]))
    shown = {fact.key.partition("health.")[2]: fact.value for fact in bundle.facts if ".health." in fact.key}
    assert shown == {"begin.temperature_celsius": 41.5, "end.temperature_celsius": 41.5}
    for command in ("show", "explain"):
        assert f"{name}: 41.5 °C" in assay(command, "last", check=MEASURED).stdout
    assay("report", "last", "--output", tmp_path / "page.html", check=0)
    assert f"{name}: 41.5 °C" in (tmp_path / "page.html").read_text()


def test_a_disk_that_shows_nothing_is_a_fact_with_the_reason(assay: Assay, tmp_path: Path) -> None:
    assay("measure", tmp_path, *WORDS, "--no-report", check=MEASURED)

    done = assay("show", "last", "--json", check=0)
    bundle = RunBundle.open(Path(json.loads(done.stdout)["run"]["bundle"]))
    disks = {
        fact.key.removesuffix(".kind") for fact in bundle.facts if fact.key.endswith(".kind") and fact.value == "disk"
    }
    for disk in disks:
        health = [fact for fact in bundle.facts if fact.key.startswith(f"{disk}.health.")]
        is_shown = any(fact.value is not None for fact in health)
        assert is_shown or [(fact.value, fact.source[:5]) for fact in health] == [(None, "n/a: ")]
