"""The vxbench-style text of a run: a line for each worker, and one for all.

    user N: <elapsed> sec <rate> KB/s cpu: <s> sys <s> user
    total:  the same for all workers together

Elapsed counts from the common start to the end of the worker's last I/O or flush, with the sleeps that were asked for; of
all, to the end of the last worker's. Rates are bytes / elapsed in units of 1024 (KB) or 1,048,576 bytes (MB): the total is
not the sum of the lines above it, because workers end at different times. CPU is the worker's own clock, shared out between
sys and user as the kernel's counts of 1/100 s are; work that the kernel does on its own threads is not in it.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Self

from assay.analysis.record import RunRecord
from assay.analysis.rows import NS_PER_S
from assay.targets import set_folder
from assay.tools.front_end import Output
from assay.tools.measured import totals
from assay.tools.over_clients import Fold, has_sum
from assay.tools.vxbench.plan import FSYNC, transfer_names
from assay.tools.vxbench.settings import Settings, Sharing
from assay.tools.vxbench.users import UserTotals, together, users
from assay.units import ABSENT, KIB, MIB

if TYPE_CHECKING:
    from assay.report.figure import Figure


@dataclasses.dataclass(frozen=True)
class UserLine:
    """A line of the text, of one client or folded over several."""

    label: str
    seconds: float
    rate: float | None
    """None: the clients that it is of have no sum."""
    system_cpu_ns: float | None
    user_cpu_ns: float | None


class VxBenchOutput(Output[Settings]):
    """What each worker did."""

    def text(self) -> str:
        """Print the run; of one that was cut, what was measured, and how much of it is missing."""
        run, settings = self.run, self.settings
        lines = [*_heading(run, settings)] if settings.is_verbose else []
        lines += [_line(line, settings) for line in self.lines]
        if settings.is_verbose:
            lines += _by_workload(run, settings)
        done = sum(totals(phase, name).ops for phase in run.phases for name in _transfers(settings))
        if done < settings.ios_asked:
            lines.append(f"incomplete: {done} of {settings.ios_asked} I/Os were done")
        return "\n".join(lines) + "\n"

    @property
    def lines(self) -> list[UserLine]:
        """Lines of the users that are shown, and of all."""
        _, unit_bytes = _unit(self.settings)
        lone = [] if self.settings.is_summary else users(self.run, self.settings)
        return [
            *(_line_of(f"user {user.number}:", user, unit_bytes) for user in lone),
            _line_of("total:", together(self.run, self.settings), unit_bytes),
        ]

    def of_clients(self, outputs: Sequence[Self]) -> dict[str, str]:
        """Print each line of the mean, the slowest and the fastest client, and the total of all."""
        by_client = [*zip(*(output.lines for output in outputs), strict=True)]
        is_sum = all(has_sum(self.run, phase) for phase in self.run.phases)
        total = _sum(by_client[-1], is_sum=is_sum)
        return {f"all {len(outputs)} clients": f"{_line(total, self.settings)}\n"} | {
            fold.label(len(outputs)): "".join(
                f"{_line(fold.record(lines, lambda line: line.rate or 0.0), self.settings)}\n" for lines in by_client
            )
            for fold in Fold
        }

    def figures(self) -> "Sequence[Figure]":
        """Draw who got how much."""
        # Text has to be printed where the libraries that draw are not installed.
        from assay.tools.vxbench.figures import figures  # noqa: PLC0415

        return figures(users(self.run, self.settings), *_unit(self.settings)) if self.run.phases else ()


def _line_of(label: str, user: UserTotals, unit_bytes: int) -> UserLine:
    return UserLine(label, user.seconds, user.rate(unit_bytes), user.system_cpu_ns, user.user_cpu_ns)


def _sum(lines: Sequence[UserLine], *, is_sum: bool) -> UserLine:
    """Add clients up: what all moved by the time of the longest."""
    seconds = max(line.seconds for line in lines)
    moved = sum((line.rate or 0.0) * line.seconds for line in lines)
    times = [[line.system_cpu_ns for line in lines], [line.user_cpu_ns for line in lines]]
    system, own = (None if None in each else sum(ns or 0.0 for ns in each) for each in times)
    return UserLine("total:", seconds, moved / seconds if is_sum and seconds else None, system, own)


def _line(line: UserLine, settings: Settings) -> str:
    unit, _ = _unit(settings)
    rate = ABSENT if line.rate is None else f"{line.rate:.2f}"
    system, own = _cpu(line.system_cpu_ns), _cpu(line.user_cpu_ns)
    return f"{line.label:<8} {line.seconds:9.3f} sec {rate:>12} {unit}  cpu: {system:>7} sys {own:>7} user"


def _unit(settings: Settings) -> tuple[str, int]:
    return ("MB/s", MIB) if settings.is_in_mb else ("KB/s", KIB)


def _cpu(nanoseconds: float | None) -> str:
    return ABSENT if nanoseconds is None else f"{nanoseconds / NS_PER_S:.2f}"


def _heading(run: RunRecord, settings: Settings) -> Iterator[str]:
    """List what a repetition of the run needs: command, I/O, range, seed, and where each worker's data lies."""
    yield f"command: {run.plan.origin.source}"
    names = (f"sleep {settings.sleeptime:g} s" if w.name == "sleep" else w.name for w in settings.workloads)
    often = "once" if settings.nrep == 1 else f"{settings.nrep} times"
    yield f"workloads: {', '.join(names)}; {often}, seed {settings.seed}"
    if "append" in settings.modes:
        yield f"I/O: {settings.iocount} x {settings.iosize} bytes at the end of empty files"
    else:
        place = f"bytes {settings.startoffset} to {settings.startoffset + settings.range_bytes - 1} of each file"
        yield f"I/O: {settings.iocount} x {settings.iosize} bytes in {place}{_stride(settings)}"
    folders = [set_folder(run.plan, file_set) for file_set in run.plan.file_sets for _ in range(file_set.files)]
    kind = "threads" if settings.sharing is Sharing.THREADS else "processes"
    for i, (file, folder) in enumerate(zip(settings.files, folders, strict=True)):
        one, most = i * settings.nthreads + 1, (i + 1) * settings.nthreads
        who = f"user {one}" if one == most else f"users {one}-{most}, {kind}"
        yield f"{who}: {file}, data in {folder}"


def _stride(settings: Settings) -> str:
    is_strided = settings.stride > 1 and not all(workload.is_random for workload in settings.data_workloads)
    return f", {settings.step_bytes} bytes from one to the next" if is_strided else ""


def _by_workload(record: RunRecord, settings: Settings) -> Iterator[str]:
    names = [*_transfers(settings), *([FSYNC] if settings.fsync else [])]
    for name in names:
        done = [totals(phase, name) for phase in record.phases]
        ops, moved, ns = (sum(getattr(part, key) for part in done) for key in ("ops", "bytes", "latency_sum_ns"))
        mean = f"{ns / ops / 1e6:.3f} ms each" if ops else "none"
        yield f"{name}: {ops} x, {moved} bytes, {mean}, errors {sum(part.errors for part in done)}"


def _transfers(settings: Settings) -> list[str]:
    return list(dict.fromkeys(name for workload in settings.data_workloads for name in transfer_names(workload)))


OUTPUT = VxBenchOutput
