"""What `assay doctor` makes of the machine's facts and of the engine's word."""

from pathlib import Path

import pytest

from assay.doctor.check import Check, State
from assay.doctor.machine_checks import engine_check, machine_checks
from assay.host.facts import Fact
from unit.memory_run import hello

GIB = 2**30


def checks_of(**values: str | float | bool | tuple[str, ...]) -> dict[str, Check]:
    quiet: dict[str, str | float | bool | tuple[str, ...]] = {
        "host.kernel.clocksource": "tsc",
        "host.cpu.usable": 4,
        "host.load.average_1min": 0.1,
        "host.memory.total_bytes": 8 * GIB,
        "knob.kernel.io_uring_disabled": 0,
        "knob.vm.can_drop_caches": True,
        "knob.kernel.task_delayacct": True,
    }
    changed = {key.replace("__", "."): value for key, value in values.items()}
    facts = tuple(Fact(key=key, value=value, source="test") for key, value in {**quiet, **changed}.items())
    return {check.subject: check for check in machine_checks(facts, None)}


def test_on_a_quiet_machine_with_everything_nothing_is_limited() -> None:
    assert {check.state for check in checks_of().values()} == {State.OK}


@pytest.mark.parametrize(
    ("key", "value", "subject", "word"),
    [
        ("host__kernel__clocksource", "hpet", "clock", "hpet"),
        ("host__cgroup__cpu_limit_cpus", 1.5, "CPU", "1.5 of 4 CPUs"),
        ("host__load__average_1min", 3.0, "CPU", "load average 3"),
        ("host__cpu__governors", ("powersave",), "CPU", "powersave"),
        ("host__cgroup__memory_limit_bytes", GIB, "memory", "1.0 GiB of 8.0 GiB"),
        ("host__cgroup__io_limits", ("8:0 wbps=1",), "I/O limit", "8:0 wbps=1"),
        ("host__virtualisation__is_virtual", True, "virtualisation", "virtual machine"),
        ("knob__kernel__io_uring_disabled", 2, "queue depth", "io_uring_disabled is 2"),
        ("knob__vm__can_drop_caches", False, "cold caches", "metadata is never cold"),
        ("knob__powercap__can_read_energy", False, "energy", "only root can read"),
        ("knob__kernel__task_delayacct", False, "waiting for I/O", "task_delayacct"),
    ],
)
def test_each_thing_in_the_way_is_named_with_its_cure(
    key: str, value: str | float | tuple[str, ...], subject: str, word: str
) -> None:
    check = checks_of(**{key: value})[subject]

    assert check.state is State.LIMITED
    assert word in check.text
    assert check.cure


def test_what_the_engine_found_out_weighs_more_than_the_switch() -> None:
    facts = (Fact(key="knob.kernel.io_uring_disabled", value=0, source="test"),)
    refused = hello(io_uring=False, notes=("io_uring: Operation not permitted (seccomp)",))

    (check,) = [check for check in machine_checks(facts, refused) if check.subject == "queue depth"]

    assert check.state is State.LIMITED
    assert "seccomp" in check.text


def test_without_an_engine_nothing_can_be_measured() -> None:
    assert engine_check(None, None, "not found").state is State.CANNOT
    assert engine_check(Path("/bin/assay-engine"), None, "it crashed").state is State.CANNOT
    assert engine_check(Path("/bin/assay-engine"), hello(), "").state is State.OK


def test_a_debug_engine_is_not_for_real_numbers() -> None:
    assert engine_check(Path("/bin/assay-engine"), hello(profile="debug"), "").state is State.LIMITED
