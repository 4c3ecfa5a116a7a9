"""The same clients led by Assay, elbencho and IOR, in turns: when each began, what they had, and what a lost client costs.

Three hosts have a disk each that serves so many reads a second and writes down when each came. What the tools say of rates
is held against that, and when they began is told by it alone. Name their programs to run this: `ASSAY_ELBENCHO=PATH
ASSAY_IOR=PATH pytest -s FILE`; mpirun has to be there for IOR.
"""

import csv
import os
import re
import shutil
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.many_clients import ManyClients, shared_variables
from testbed.devices import FORCE, MIB
from testbed.host import wait_until
from testbed.netlab import LabHost, net_lab
from testbed.truth import TruthDisk, truth_disk

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.testbed,
    pytest.mark.skipif(
        not os.environ.get("ASSAY_ELBENCHO") or not os.environ.get("ASSAY_IOR"),
        reason="ASSAY_ELBENCHO and ASSAY_IOR name no programs to hold Assay against",
    ),
]

HOSTS = ("h1", "h2", "h3")
MOST_PER_S = 100
FILE_MIB = 16
SECONDS, ROUNDS = 8, 3
PORT = 1611
BURST_NS, BURST_READS = 500_000_000, 20
"""So many reads follow the first of a measured phase within so long, and no other."""
WAIT_S = 120.0
Words = list[str | Path]


@dataclass(frozen=True)
class Lab:
    """The hosts, and the disk of each."""

    many: ManyClients
    disks: Mapping[str, TruthDisk]

    @property
    def data(self) -> Path:
        """On each host, its disk."""
        return self.many.directory

    def run(self, words: Words) -> str:
        """Run a command on the host that leads, to its good end."""
        done = self.many.lab.run(self.many.lab.leader, words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout


@dataclass(frozen=True)
class Led:
    """What one tool did."""

    told_iops: float
    true_iops: float
    """Reads that the disks served, by their log, over the time in which all did."""
    skew_ns: int
    """From the first disk's first read to the last's."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Three hosts with a disk each, and the services of elbencho."""
    with net_lab(3, backing=tmp_path_factory.mktemp("beside"), shared=shared_variables()) as net, ExitStack() as undo:
        many, disks = ManyClients(net), {}
        many.make_directories()
        for name in HOSTS:
            disks[name] = undo.enter_context(truth_disk(512 * MIB, most_per_s=MOST_PER_S))
            _mount(many, net[name], disks[name].device)
            undo.callback(net.run, net[name], ["umount", many.directory])
        yield Lab(many, disks)


def _mount(many: ManyClients, host: LabHost, device: Path) -> None:
    options = ["-O", "^has_journal", "-E", "lazy_itable_init=0,nodiscard"]
    made: Words = ["mkfs.ext4", *FORCE["ext4"], *options, device]
    mounted: Words = ["mount", "-o", "noatime", device, many.directory]
    for words in (made, mounted):
        done = many.lab.run(host, words)
        assert done.returncode == 0, done.stderr


def test_who_begins_when_and_has_what(lab: Lab) -> None:
    tools: dict[str, Callable[[Lab], float]] = {"assay": _assay, "elbencho": _elbencho, "ior": _ior}
    found: dict[str, list[Led]] = {name: [] for name in tools}
    with _services(lab):
        for tool in tools.values():  # lay out, each its own files
            tool(lab)
        for _ in range(ROUNDS):
            for name, tool in tools.items():
                begun_ns = time.monotonic_ns()
                told = tool(lab)
                found[name].append(_by_the_disks(lab, told, begun_ns))

    print("\ntool     | told IOPS | by the disks | start skew")  # noqa: T201 - `pytest -s` shows it
    for name, runs in found.items():
        told, true, skew = (
            statistics.median(getattr(run, field) for run in runs) for field in ("told_iops", "true_iops", "skew_ns")
        )
        print(f"{name:<8} | {told:9.1f} | {true:12.1f} | {skew / 1e6:.2f} ms")  # noqa: T201 - as above
    of_assay = found["assay"]
    for run in of_assay:
        assert run.told_iops == pytest.approx(run.true_iops, rel=0.03)
    for name in ("elbencho", "ior"):
        others = statistics.median(run.told_iops for run in found[name])
        assert statistics.median(run.told_iops for run in of_assay) == pytest.approx(others, rel=0.05)


def test_what_is_left_when_a_client_is_killed(lab: Lab, tmp_path: Path) -> None:
    left = {}
    with _services(lab):
        for name, words, victim in (
            ("assay", _assay_words(lab), "worker"),
            ("elbencho", _elbencho_words(lab, "-r"), "elbencho"),
            ("ior", _ior_words(lab, "-r"), "ior"),
        ):
            output, errors = tmp_path / f"{name}.out", tmp_path / f"{name}.err"
            begun_ns = time.monotonic_ns()
            with lab.many.lab.popen(lab.many.lab.leader, words, output=output, errors=errors) as process:
                wait_until(lambda begun_ns=begun_ns: _has_begun(lab, begun_ns), f"{name} at work", WAIT_S)  # type: ignore[misc]
                for pid in lab.many.lab.processes(lab.many.lab["h2"], victim):
                    os.kill(pid, signal.SIGKILL)
                code = process.wait(WAIT_S)
            left[name] = (code, output.read_text(), errors.read_text())
    for name, (code, said, errors_said) in left.items():
        print(f"\n== {name}: exit code {code}\n{said[-1500:]}\n{errors_said[-800:]}")  # noqa: T201 - as above

    code, said, _ = left["assay"]
    assert code in {0, 1}
    assert "2 of 3 clients since" in said


# -- the tools -------------------------------------------------------------------------------------------------------------


def _assay_words(lab: Lab) -> Words:
    words: Words = ["assay", "measure", lab.data, "--read", "--random", "--direct", "--bs", "4k"]
    return [*words, "--size", f"{FILE_MIB}m", "--time", f"{SECONDS}s", "--hosts", ",".join(HOSTS), "--no-report"]


def _assay(lab: Lab) -> float:
    document = lab.many.measure(*map(str, _assay_words(lab)[3:-1]))
    (iops,) = (one["iops"] for one in document["results"] if one["client"] is None)
    return float(iops)


def _elbencho_words(lab: Lab, phase: str) -> Words:
    program = Path(os.environ["ASSAY_ELBENCHO"])
    hosts = ",".join(f"{lab.many.lab[name].address}:{PORT}" for name in HOSTS)
    words: Words = [program, "--hosts", hosts, phase, "--direct", "-t", "1", "-s", f"{FILE_MIB}m"]
    if phase == "-w":
        return [*words, "-b", "1m", lab.data / "elbencho"]
    reading = ["--rand", "-b", "4k", "--randamount", "1g", "--timelimit", str(SECONDS), "--nosvcshare"]
    return [*words, *reading, lab.data / "elbencho"]


def _elbencho(lab: Lab) -> float:
    if not (lab.many.lab["h1"].folder / "seen").exists():
        lab.run([*_elbencho_words(lab, "-w"), "--nosvcshare"])
        (lab.many.lab["h1"].folder / "seen").touch()
    table = lab.many.lab.place / "elbencho.csv"
    shutil.rmtree(table, ignore_errors=True)
    lab.run([*_elbencho_words(lab, "-r"), "--csvfile", table])
    rows = list(csv.DictReader((lab.many.lab.leader.folder / table.name).read_text().splitlines()))
    return float(rows[-1]["IOPS [last]"])


def _ior_words(lab: Lab, phase: str) -> Words:
    hosts = ",".join(HOSTS)
    words: Words = ["mpirun", "--allow-run-as-root", "--host", hosts, "-n", str(len(HOSTS))]
    words += ["--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0", "--mca", "btl", "tcp,self"]
    words += [Path(os.environ["ASSAY_IOR"]), "-a", "POSIX", "--posix.odirect", "-F", "-k", "-b", f"{FILE_MIB}m"]
    if phase == "-w":
        return [*words, "-w", "-t", "1m", "-o", lab.data / "ior"]
    return [*words, "-r", "-z", "-t", "4k", "-D", str(SECONDS), "-o", lab.data / "ior"]


def _ior(lab: Lab) -> float:
    if not list((lab.many.lab["h1"].folder / "seen-ior").parent.glob("seen-ior")):
        lab.run(_ior_words(lab, "-w"))
        (lab.many.lab["h1"].folder / "seen-ior").touch()
    said = lab.run(_ior_words(lab, "-r"))
    line = re.search(r"^read\s+(\S+)\s+(\S+)\s", said, re.MULTILINE)
    assert line, said
    return float(line[2])


@contextmanager
def _services(lab: Lab) -> Iterator[None]:
    """The servers of elbencho, which wait on each host for one that leads."""
    with ExitStack() as undo:
        for name in HOSTS:
            host = lab.many.lab[name]
            words = [os.environ["ASSAY_ELBENCHO"], "--service", "--foreground", "--port", str(PORT)]
            log = host.folder / "elbencho.log"
            undo.enter_context(lab.many.lab.popen(host, words, output=log, errors=log))
        time.sleep(1.0)
        yield


# -- the truth -------------------------------------------------------------------------------------------------------------


def _reads_ns(disk: TruthDisk, begun_ns: int) -> list[int]:
    """When the disk was asked for the reads of a measured phase."""
    at_ns = sorted(request.begin_ns for request in disk.log() if request.kind == "R" and request.begin_ns > begun_ns)
    for place in range(len(at_ns) - BURST_READS):
        if at_ns[place + BURST_READS] - at_ns[place] < BURST_NS:
            return at_ns[place:]
    return []


def _has_begun(lab: Lab, begun_ns: int) -> bool:
    return all(len(_reads_ns(disk, begun_ns)) > MOST_PER_S for disk in lab.disks.values())


def _by_the_disks(lab: Lab, told_iops: float, begun_ns: int) -> Led:
    reads = [_reads_ns(disk, begun_ns) for disk in lab.disks.values()]
    firsts = [at_ns[0] for at_ns in reads]
    begin_ns, end_ns = max(firsts), min(at_ns[-1] for at_ns in reads)
    together = sum(begin_ns <= t_ns <= end_ns for at_ns in reads for t_ns in at_ns)
    return Led(told_iops, together / ((end_ns - begin_ns) / 1e9), max(firsts) - min(firsts))
