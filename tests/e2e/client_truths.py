"""What each classic tool has to print of a client, from that client's own records.

A tool's text is a list of rows. A row of all clients is that of the slowest or fastest by `Row.rate`, or the mean of each
number. What a tool does not show (`n/a`, `+++++`) is None, and so is a mean with it.
"""

import json
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from e2e.client_records import NS_PER_S, ClientRecords

KIB, MIB = 1 << 10, 1 << 20
Cells = tuple[float | None, ...]


@dataclass(frozen=True)
class Row:
    """The numbers of a line that are of one client together."""

    cells: Cells
    rate: float
    """By which clients are ranked: of a time the negative."""
    range_at: int | None = None
    """Where a smallest and a largest stand, which a mean has of all."""


def fold(rows: Sequence[Row], how: str) -> Row:
    """Give the row of several clients."""
    if how != "mean":
        return (min if how == "slowest" else max)(rows, key=lambda row: row.rate)
    cells = [
        None if None in each else statistics.fmean(value for value in each if value is not None)
        for each in zip(*(row.cells for row in rows), strict=True)
    ]
    if (at := rows[0].range_at) is not None:
        cells[at] = min(row.cells[at] or 0.0 for row in rows)
        cells[at + 1] = max(row.cells[at + 1] or 0.0 for row in rows)
    return Row(tuple(cells), rows[0].rate)


@dataclass(frozen=True)
class Tool:
    """A command line, and what its text is held against."""

    words: Sequence[str]
    """`DATA` is the directory that is measured."""
    truth: Callable[[ClientRecords], list[Row]]
    line: str = ""
    """Lines with numbers, each in a group."""
    cells: Callable[[str], list[str]] | None = None
    """What finds the numbers where `line` does not."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What has to lie in the working directory."""
    writes: Sequence[str] = ()
    """Files that it writes there."""
    is_cut: bool = False
    """Whether numbers are cut at their last digit, not rounded."""
    closing: Callable[[Sequence[Row]], list[Row]] = lambda _: []
    """Rows that follow from those above."""
    together: Callable[[Sequence[ClientRecords]], list[Row]] | None = None
    """What is printed of all clients together where a sum means something."""
    adds_up: bool = False
    """Whether its text is of all clients at once."""

    def found(self, text: str) -> list[str]:
        """Give the numbers of a text as printed."""
        if self.cells is not None:
            return self.cells(text)
        lines = re.finditer(self.line, text, re.MULTILINE)
        return [cell for line in lines for cell in line.groups() if cell is not None]


# -- IOzone ------------------------------------------------------------------------------------------------------------

BLOCKS, BLOCK_KIB = 64, 4
_CHILD = [
    rf"\t{head}[^=\n]*= +(\S+) kB" for head in ("Children see", "Parent sees", "Min through", "Max", "Avg", "Min xfer")
]


def iozone(of: ClientRecords) -> list[Row]:
    """Size of the file by the time in the calls, cut to a whole number."""
    found = []
    for index, name in enumerate(("write", "rewrite", "read", "reread")):
        rate = math.floor(BLOCKS * BLOCK_KIB / (of.sum(index, name, "latency_sum_ns") / NS_PER_S))
        found.append(Row((rate,), rate))
    return found


def iozone_children(of: ClientRecords) -> list[Row]:
    """Each test of two children: sum, the parent's, smallest, largest, mean rate and the smallest amount."""
    return [
        Row((value,), 0.0) for index in range(2) for value in _of_children(_children(of, index), _parent_s(of, index))
    ]


def iozone_all_children(clients: Sequence[ClientRecords]) -> list[Row]:
    """The same of the children of all clients."""
    found = []
    for index in range(2):
        children = [child for one in clients for child in _children(one, index)]
        found += [Row((value,), 0.0) for value in _of_children(children, max(_parent_s(one, index) for one in clients))]
    return found


def _children(of: ClientRecords, index: int) -> list[tuple[float, float]]:
    """KiB and seconds of each child: from its first to its last record, less the children's share of what was no call."""
    name = ("write", "rewrite")[index]
    windows = of.finished(index)["workers"]
    spans = [(one["last_op_ns"] - one["first_op_ns"]) / NS_PER_S for one in windows]
    in_calls = min(1.0, of.sum(index, name, "latency_sum_ns") / NS_PER_S / sum(spans))
    amounts = [sample["bytes"] / KIB for sample in of.samples(index)]
    return [(amount, span * in_calls) for amount, span in zip(amounts, spans, strict=True)]


def _parent_s(of: ClientRecords, index: int) -> float:
    ended = of.finished(index)
    return float((ended["t_ns"] - ended["start_ns"]) / NS_PER_S) + of.synced_s(index)


def _of_children(children: Sequence[tuple[float, float]], parent_s: float) -> list[float]:
    rates, amounts = [amount / span for amount, span in children], [amount for amount, _ in children]
    return [sum(rates), sum(amounts) / parent_s, min(rates), max(rates), statistics.fmean(rates), min(amounts)]


# -- Bonnie++ ----------------------------------------------------------------------------------------------------------

IO_TESTS = ("putc_write", "block_write", "rewrite", "getc_read", "block_read", "random_seeks")
_FILE_TESTS = ("seq_create", "seq_stat", "seq_delete", "ran_create", "ran_stat", "ran_delete")
_COUNTED = ("chunk", "write", "read", "seek", "create", "stat", "delete")


def bonnie(of: ClientRecords) -> list[Row]:
    """Each test: rate with the CPU; and the slowest operation, which goes by itself."""
    tests = [_bonnie_test(of, name) for name in (*IO_TESTS, *_FILE_TESTS)]
    return [row for row, _ in tests] + [Row((longest_ns,), -longest_ns) for _, longest_ns in tests]


def bonnie_cells(text: str) -> list[str]:
    """Give rate and CPU of each test, then the slowest operations, from the CSV line."""
    (line,) = re.findall(r"^1\.98,2\.00a,(.*)$", text, re.MULTILINE)
    fields = line.split(",")
    rates, sizes = 2 * len(IO_TESTS), 5
    return [*fields[7 : 7 + rates], *fields[7 + rates + sizes :]]


def _bonnie_test(of: ClientRecords, name: str) -> tuple[Row, float]:
    index = of.named(name)
    counted = next(each for each in _COUNTED if of.sum(index, each))
    outside_s = sum(of.sum(index, each, "latency_sum_ns") for each in ("open", "unlink")) / NS_PER_S
    seconds = of.span_s(index) - outside_s + of.synced_s(index)
    cpu_ns = sum(sample["on_cpu_ns"] for sample in of.samples(index))
    if name == "random_seeks":
        seconds += of.span_s(index + 1)
        cpu_ns += sum(sample["on_cpu_ns"] for sample in of.samples(index + 1))
    moved = of.sum(index, counted, "bytes") / KIB / (2 if name == "rewrite" else 1)
    is_bytes = name in IO_TESTS[:-1]
    rate = (moved if is_bytes else of.sum(index, counted)) / seconds
    longest_ns = float(of.of(index, [counted])["latency_max_ns"].max())  # type: ignore[arg-type]
    shown = (rate, 100 * cpu_ns / NS_PER_S / seconds) if seconds >= 0.5 else (None, None)
    return Row(shown, rate), longest_ns


# -- Filebench ---------------------------------------------------------------------------------------------------------

_MAIL = """
define fileset name=box,path=/tmp,entries=40,size=4k,prealloc=50
define process name=server { thread name=session,memsize=1m,instances=2 {
  flowop createfile name=make,filesetname=box,fd=1
  flowop writewholefile name=fill,fd=1
  flowop closefile name=shut,fd=1
  flowop deletefile name=drop,filesetname=box
} }
"""
_FLOWOPS = ("drop", "shut", "fill", "make")


def filebench(of: ClientRecords) -> list[Row]:
    """Each flowop, by the time from the start of the run to the end of its last interval; then all of them."""
    start_s = of.finished(0)["start_ns"] / NS_PER_S
    seconds = float(of.table("intervals", 0)["t_s"].max()) - start_s  # type: ignore[arg-type]
    found, ops, moved, spent = [], 0, 0, 0
    for name in _FLOWOPS:
        did, data, took_ns = (of.sum(0, name, column) for column in ("ops", "bytes", "latency_sum_ns"))
        ends = (of.least_ns(0, name) / 1e6, float(of.of(0, [name])["latency_max_ns"].max()) / 1e6)  # type: ignore[arg-type]
        cells = (did, did / seconds, data / MIB / seconds, took_ns / did / 1e6, *ends)
        found.append(Row(cells, did / seconds, range_at=4))
        ops, moved, spent = ops + did, moved + data, spent + took_ns
    reads, writes = 0.0, of.sum(0, "fill") / seconds
    summary = (ops, ops / seconds, reads, writes, moved / MIB / seconds, spent / ops / 1e6)
    return [*found, Row(summary, ops / seconds)]


# -- perf.pl and bigdir ------------------------------------------------------------------------------------------------

PERFPL_FILES, PERFPL_ITERATIONS = 200, 2
_BIGDIR_STEP = 20


def perfpl(of: ClientRecords) -> list[Row]:
    """Each iteration by a clock of whole seconds."""
    (hello,) = of.events("hello")
    epoch_ns = hello["clock"]["realtime_at_zero_ns"]
    found = []
    for index in range(PERFPL_ITERATIONS):
        begin, end = of.span_ns(index)
        end += round(of.synced_s(index) * NS_PER_S)
        seconds = int((epoch_ns + end) // NS_PER_S) - int((epoch_ns + begin) // NS_PER_S)
        moved = of.sum(index, "file", "bytes") / MIB
        rate = moved / seconds if seconds else None
        found.append(Row((index + 1, seconds, rate, None if rate is None else 8 * rate), -seconds))
    return found


def perfpl_mean(rows: Sequence[Row]) -> list[Row]:
    """Mean of the columns, whose first cell has no number."""
    return [Row(fold(rows, "mean").cells[1:], 0.0)] if rows else []


def bigdir(of: ClientRecords) -> list[Row]:
    """Each step: entries; mean create time until then; time of a listing, and by entry: means over the two clients here."""
    jobs = [job["name"] for job in of.phases[0]["jobs"]]
    making, listing = ([_laps(of, job, group) for job in jobs] for group in ("making a step", "listing all"))
    found = []
    for step, (made, listed) in enumerate(zip(zip(*making, strict=True), zip(*listing, strict=True), strict=True), 1):
        entries, mean_ms = step * _BIGDIR_STEP, [statistics.fmean(each) / 1e6 for each in (made, listed)]
        times = (mean_ms[0] / entries, mean_ms[1], mean_ms[1] / entries)
        found += [Row((entries,), 0.0), *(Row((value,), -value) for value in times)]
    return found


def _laps(of: ClientRecords, job: str, group: str) -> list[int]:
    """Times of a job's laps: running sums of those of making."""
    times: dict[int, int] = {}
    for one in of.events("laps"):
        if (one["job"], one["group"]) == (job, group):
            times |= dict(zip(one["number"], one["latency_ns"], strict=True))
    in_order = [times[number] for number in sorted(times)]
    return [*accumulate(in_order)] if group.startswith("making") else in_order


# -- vxbench -----------------------------------------------------------------------------------------------------------


def vxbench(of: ClientRecords) -> list[Row]:
    """Each worker, and all: bytes by the time from the start to the end of the last write, and the CPU."""
    ended, samples = of.finished(0), of.samples(0)
    seconds = [(one["last_op_ns"] - ended["start_ns"]) / NS_PER_S for one in ended["workers"]]
    whole = [sum(sample[key] for sample in samples) for key in ("system_cpu_ns", "user_cpu_ns")]
    rows = []
    for sample, took in zip(samples, seconds, strict=True):
        own = (sample["system_cpu_ns"], sample["user_cpu_ns"])
        system, user = own if sum(own) else whole
        part = user / (system + user) if system + user else 0.0
        cpu_s = sample["on_cpu_ns"] / NS_PER_S if system + user else 0.0
        rate = sample["bytes"] / KIB / took
        rows.append(Row((took, rate, cpu_s * (1 - part), cpu_s * part), rate))
    system_s, user_s = (sum(row.cells[at] or 0.0 for row in rows) for at in (2, 3))
    rate = sum(sample["bytes"] for sample in samples) / KIB / max(seconds)
    return [*rows, Row((max(seconds), rate, system_s, user_s), rate)]


def vxbench_all(clients: Sequence[ClientRecords]) -> list[Row]:
    """All bytes by the time of the longest, and the CPU of all."""
    totals = [vxbench(one)[-1].cells for one in clients]
    longest = max(seconds or 0.0 for seconds, *_ in totals)
    moved = sum((cells[0] or 0.0) * (cells[1] or 0.0) for cells in totals)
    return [Row((longest, moved / longest, *(sum(cells[at] or 0.0 for cells in totals) for at in (2, 3))), 0.0)]


# -- those that add their clients up -----------------------------------------------------------------------------------

VDBENCH_S, FIO_S = 3, 1


def vdbench(of: ClientRecords) -> list[Row]:
    """Each interval, and the mean over those behind the first that are whole."""
    rows, start_ns = of.table("intervals", 0), of.finished(0)["start_ns"]
    spans: dict[int, list[tuple[float, float]]] = {}
    for end_s, length_s in rows.select("t_s", "dt_s").unique().sort("t_s").rows():
        middle_s = end_s - length_s / 2 - start_ns / NS_PER_S
        spans.setdefault(min(VDBENCH_S, max(1, math.ceil(middle_s))), []).append((end_s - length_s, end_s))
    whole = [number for number in spans if number > 1 and spans[number][-1][1] - spans[number][0][0] >= 0.5]
    wanted = [*([number] for number in sorted(spans)), whole or [max(spans)]]
    return [_vdbench_line(of, spans[part[0]][0][0], spans[part[-1]][-1][1]) for part in wanted]


def _vdbench_line(of: ClientRecords, begin_s: float, end_s: float) -> Row:
    rows = of.table("intervals", 0)
    inside = rows.filter((rows["t_s"] > begin_s + 1e-6) & (rows["t_s"] <= end_s + 1e-6))
    did = {name: inside.filter(inside["operation"] == f"wd1 {name}") for name in ("read", "write")}
    ops, data = float(inside["ops"].sum()), float(inside["bytes"].sum())
    took_ms = {name: float(part["latency_sum_ns"].sum()) / 1e6 for name, part in did.items()}
    reads, writes = (float(did[name]["ops"].sum()) for name in ("read", "write"))
    seconds = end_s - begin_s
    means = (sum(took_ms.values()) / ops, took_ms["read"] / reads, took_ms["write"] / writes)
    longest = max(of.largest_ns(0, f"wd1 {name}", begin_s, end_s) for name in did) / 1e6
    return Row((ops / seconds, data / MIB / seconds, data / ops, 100 * reads / ops, *means, longest), 0.0)


FIO_PERCENTILES = (50, 90, 99)


def fio(of: ClientRecords) -> list[Row]:
    """Of each direction: IOPS, bytes a second, bytes, milliseconds, latencies; and the job's user and system CPU."""
    ended = of.finished(0)
    ended_ns = max(ended["start_ns"] + FIO_S * NS_PER_S, *(one["last_op_ns"] for one in ended["workers"]))
    seconds = (ended_ns - ended["start_ns"]) / NS_PER_S
    found = []
    for name in ("read", "write"):
        ops, moved, took_ns = (of.sum(0, name, column) for column in ("ops", "bytes", "latency_sum_ns"))
        most_ns = float(of.of(0, [name])["latency_max_ns"].max())  # type: ignore[arg-type]
        ranked = (min(most_ns, math.floor(of.ranked_ns(0, name, each / 100))) for each in FIO_PERCENTILES)
        times = (of.least_ns(0, name), most_ns, took_ns / ops, *ranked)
        found.append(Row((ops / seconds, moved / seconds, moved, seconds * 1000, *times), 0.0))
    cpu_ns = (sum(sample[key] for sample in of.samples(0)) for key in ("user_cpu_ns", "system_cpu_ns"))
    return [*found, Row(tuple(100 * each / NS_PER_S / seconds for each in cpu_ns), 0.0)]


def fio_cells(text: str) -> list[str]:
    """Give the same of fio's JSON."""
    (job,) = json.loads(text)["jobs"]
    cells = []
    for part in (job["read"], job["write"]):
        times = part["clat_ns"]
        ranked = [times["percentile"][f"{each:.6f}"] for each in FIO_PERCENTILES]
        cells += [part[key] for key in ("iops", "bw_bytes", "io_bytes", "runtime")]
        cells += [times["min"], times["max"], times["mean"], *ranked]
    return ["n/a" if cell is None else str(cell) for cell in (*cells, job["usr_cpu"], job["sys_cpu"])]


# -- the table ---------------------------------------------------------------------------------------------------------

TOOLS = {
    "iozone": Tool(
        words=("iozone", "-R", "-s", f"{BLOCKS * BLOCK_KIB}k", "-r", f"{BLOCK_KIB}k", "-i", "0", "-i", "1", "-f",
               "DATA/file", "-b", "x.xls"),
        line=rf"^ +{BLOCKS * BLOCK_KIB} +{BLOCK_KIB} +(\d+) +(\d+) +(\d+) +(\d+)",
        truth=iozone,
        writes=("x.xls",),
        is_cut=True,
    ),
    "iozone-t": Tool(
        words=("iozone", "-t", "2", "-s", "4m", "-r", "16k", "-i", "0", "-x", "-F", "DATA/a", "DATA/b",
               "-R", "-b", "x.xls"),
        line="|".join(_CHILD),
        truth=iozone_children,
        writes=("x.xls",),
        together=iozone_all_children,
    ),
    "bonnie": Tool(
        words=("bonnie", "-d", "DATA", "-u", "root", "-r", "0", "-s", "4", "-n", "1", "-m", "box"),
        truth=bonnie,
        cells=bonnie_cells,
        is_cut=True,
    ),
    "filebench": Tool(
        words=("filebench", "-f", "mail.f", "--time", "1", "--dir", "DATA"),
        line=r"^(?:drop|shut|fill|make) +(\d+)ops +(\d+)ops/s +([\d.]+)mb/s +([\d.]+)ms/op \[ *([\d.]+)ms - +([\d.]+)ms\]"
             r"|IO Summary: +(\d+) ops +([\d.]+) ops/s (\d+)/(\d+) rd/wr +([\d.]+)mb/s +([\d.]+)ms/op",
        truth=filebench,
        files={"mail.f": _MAIL},
    ),
    "perfpl": Tool(
        words=("perfpl", "4096", "2", str(PERFPL_FILES), "100", str(PERFPL_ITERATIONS), "--fsync", "--dir", "DATA"),
        line=rf"^4096 \| {2 * PERFPL_FILES} \| 1\.5625 \| (\d+) \| (\S+) \| (\S+) \| (\S+)$"
             r"|^Average[ |]+(\S+) \| (\S+) \| (\S+)$",
        truth=perfpl,
        closing=perfpl_mean,
    ),
    "bigdir": Tool(
        words=("bigdir", "100", str(_BIGDIR_STEP), "--clients", "2", "--dir", "DATA"),
        line=r"^(\d+), ([\d.E-]+), ([\d.E-]+), ([\d.E-]+)$",
        truth=bigdir,
    ),
    "vxbench": Tool(
        words=("vxbench", "-w", "write", "-i", "iosize=4k,iocount=64", "DATA/file"),
        line=r"^(?:user 1|total): +([\d.]+) sec +(\S+) KB/s  cpu: +(\S+) sys +(\S+) user",
        truth=vxbench,
        together=vxbench_all,
    ),
    "vdbench": Tool(
        words=("vdbench", "-f", "load", "-o", "."),
        line=r"^[\d:.]+ +[\d\w-]+ +(\d+\.\d+|n/a) +" + r"([\d.]+|n/a) +" * 6 + r"([\d.]+)",
        truth=vdbench,
        files={"load": "sd=sd1,lun=DATA/disk,size=1m,threads=2\nwd=wd1,sd=sd1,rdpct=50,xfersize=4k\n"
                       f"rd=rd1,wd=wd1,iorate=max,elapsed={VDBENCH_S},interval=1\n"},
        writes=("summary.html", "flatfile.html"),
        adds_up=True,
    ),
    "fio": Tool(
        words=("fio", "--name=a", "--rw=randrw", "--size=1m", f"--runtime={FIO_S}", "--time_based", "--directory=DATA",
               "--output-format=json"),
        truth=fio,
        cells=fio_cells,
        is_cut=True,
        adds_up=True,
    ),
}  # fmt: skip
