"""Facts of the machine and its control groups, from laid-out trees and against the machine's own word."""

import os
import platform
from pathlib import Path

import pytest

from assay.host.cgroups import cgroup_facts
from assay.host.facts import Fact
from assay.host.knobs import knob_facts
from assay.host.machine import machine_facts
from assay.host.manifest import collect
from unit.host_trees import FakeMachine


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path)


def values(facts: tuple[Fact, ...]) -> dict[str, object]:
    return {fact.key: fact.value for fact in facts}


def test_a_v2_limit_of_a_parent_group_holds_if_it_is_the_tightest(machine: FakeMachine) -> None:
    machine.mount("0:31", "/sys/fs/cgroup", "cgroup2", "cgroup2")
    machine.file("/proc/self/cgroup", "0::/system.slice/a.service")
    machine.file("/sys/fs/cgroup/system.slice/cpu.max", "150000 100000")
    machine.file("/sys/fs/cgroup/system.slice/a.service/cpu.max", "max 100000")
    machine.file("/sys/fs/cgroup/system.slice/memory.max", "4294967296")
    machine.file("/sys/fs/cgroup/system.slice/a.service/memory.max", "max")
    machine.file("/sys/fs/cgroup/system.slice/a.service/memory.high", "1073741824")
    machine.file("/sys/fs/cgroup/system.slice/io.max", "8:0 rbps=1048576 wbps=max riops=max wiops=100")

    facts = values(cgroup_facts(machine.tree))

    assert facts["host.cgroup.cpu_limit_cpus"] == 1.5
    assert facts["host.cgroup.memory_limit_bytes"] == 2**30
    assert facts["host.cgroup.io_limits"] == (
        "8:0 rbps=1048576 of /sys/fs/cgroup/system.slice",
        "8:0 wiops=100 of /sys/fs/cgroup/system.slice",
    )


def test_v1_limits_are_read_where_each_controller_is_mounted(machine: FakeMachine) -> None:
    machine.mount("0:31", "/sys/fs/cgroup/cpu,cpuacct", "cgroup", "cgroup", "rw,cpu,cpuacct")
    machine.mount("0:32", "/sys/fs/cgroup/memory", "cgroup", "cgroup", "rw,memory")
    machine.mount("0:33", "/sys/fs/cgroup/blkio", "cgroup", "cgroup", "rw,blkio")
    machine.mount("0:34", "/sys/fs/cgroup/unified", "cgroup2", "cgroup2")
    machine.file("/proc/self/cgroup", "5:blkio:/job\n4:memory:/job\n3:cpu,cpuacct:/job\n0::/job")
    machine.file("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000")
    machine.file("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000")
    machine.file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712")
    machine.file("/sys/fs/cgroup/blkio/job/blkio.throttle.write_bps_device", "254:0 20971520")
    machine.file("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device", "254:0 1")

    facts = values(cgroup_facts(machine.tree))

    assert facts["host.cgroup.cpu_limit_cpus"] == 0.5
    assert facts["host.cgroup.memory_limit_bytes"] is None
    assert facts["host.cgroup.io_limits"] == ("254:0 wbps=20971520",)


def test_without_control_groups_the_limits_are_unknown_not_none_set(machine: FakeMachine) -> None:
    sources = {fact.key: fact.source for fact in cgroup_facts(machine.tree)}

    assert sources["host.cgroup.cpu_limit_cpus"] == "n/a: no 'cpu' controller to be seen"
    assert sources["host.cgroup.io_limits"] == "n/a: no 'io' or 'blkio' controller to be seen"


def test_hyper_threads_are_not_counted_as_cores(machine: FakeMachine) -> None:
    for cpu, core in enumerate((0, 1, 0, 1)):
        machine.file(f"/sys/devices/system/cpu/cpu{cpu}/topology/core_id", str(core))
        machine.file(f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", str(cpu // 4))
    machine.file("/sys/devices/system/cpu/online", "0-3")
    machine.file("/sys/devices/system/cpu/smt/active", "1")

    facts = values(machine_facts(machine.tree))

    assert facts["host.cpu.online"] == 4
    assert facts["host.cpu.cores"] == 2
    assert facts["host.cpu.sockets"] == 1
    assert facts["host.cpu.smt_active"] is True


def test_steal_is_the_share_of_all_cpu_time_without_counting_guests_twice(machine: FakeMachine) -> None:
    machine.file("/proc/stat", "cpu  100 0 100 700 0 0 0 100 50 50\ncpu0 1 1 1 1 1 1 1 1 1 1")

    assert values(machine_facts(machine.tree))["host.load.steal_share_since_boot"] == 0.1


def test_secrets_of_the_boot_line_and_the_machine_id_are_not_kept(machine: FakeMachine) -> None:
    secrets = "rd.iscsi.password=hunter2 netroot=iscsi:me:hunter2@10.0.0.1::3260 root=cifs://u:hun=ter2@h/s"
    machine.file("/proc/cmdline", f"quiet {secrets} systemd.mask=getty@tty1")
    machine.file("/etc/machine-id", "0123456789abcdef0123456789abcdef")

    facts = machine_facts(machine.tree)

    assert values(facts)["host.kernel.cmdline"] == (
        "quiet",
        "rd.iscsi.password=(not kept)",
        "netroot=(not kept)@10.0.0.1::3260",
        "root=(not kept)@h/s",
        "systemd.mask=getty@tty1",
    )
    assert "0123456789abcdef" not in repr(facts)


def test_a_knob_that_is_no_number_is_absent_and_quoted(machine: FakeMachine) -> None:
    machine.file("/proc/sys/vm/swappiness", "much")

    (fact,) = [fact for fact in knob_facts(machine.tree) if fact.key == "knob.vm.swappiness"]

    assert fact.value is None
    assert fact.source == "n/a: /proc/sys/vm/swappiness has 'much'"


def test_the_facts_of_this_machine_agree_with_what_python_knows_of_it(tmp_path: Path) -> None:
    facts = collect({"data": tmp_path})
    known = values(facts)

    assert known["host.kernel.release"] == platform.release()
    assert known["host.memory.total_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert known["host.cpu.online"] == os.sysconf("SC_NPROCESSORS_ONLN")
    assert known["target.data.directory"] == str(tmp_path)
    assert len(known) == len(facts), "a key occurs twice"
    assert all(fact.source.startswith("n/a: ") for fact in facts if fact.value is None)


def test_energy_meters_are_there_and_readable_or_the_fact_says_that_there_are_none(machine: FakeMachine) -> None:
    without = values(knob_facts(machine.tree))
    machine.file("/sys/class/powercap/intel-rapl:0/energy_uj", "123")
    machine.directory("/sys/class/powercap/intel-rapl")

    with_one = values(knob_facts(machine.tree))

    assert without["knob.powercap.can_read_energy"] is None
    assert with_one["knob.powercap.can_read_energy"] is True


@pytest.mark.parametrize(("text", "bytes_per_s"), [("25000", 3_125_000_000), ("-1", None), ("0", None)])
def test_a_link_carries_what_its_driver_says(machine: FakeMachine, text: str, bytes_per_s: int | None) -> None:
    machine.file("/sys/class/net/eth0/speed", text)
    machine.file("/sys/class/net/eth0/device/vendor", "0x15b3")
    machine.file("/sys/class/net/veth1/speed", "10000")

    facts = values(machine_facts(machine.tree))

    assert facts["host.network.eth0.link_bytes_per_s"] == bytes_per_s
    assert not any("veth1" in key for key in facts)
