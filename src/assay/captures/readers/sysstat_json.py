"""Documents of sysstat: `iostat -o JSON`, and `sadf -j` with devices (`-d`) and the system in one (`-b`)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from assay.captures.clock import Clock
from assay.captures.cut_json import parse_json, text_of
from assay.captures.idle_devices import IdleDevices
from assay.captures.linux_devices import is_vague, layer_of
from assay.captures.match import Match
from assay.captures.report_times import Interval, ReportTimes
from assay.captures.samples import DeviceSample, Layer, SampleRows
from assay.captures.stated_facts import Asked
from assay.captures.sysstat_columns import ALL_DEVICES, DISCARDS_COUNTED, DISK_FIELDS, KIB, SECTOR, Fields

NAME: Final = "sysstat JSON"
_DISK: Final[Fields] = {
    **DISK_FIELDS,
    "rkB": ("read_bytes_per_s", KIB),
    "wkB": ("write_bytes_per_s", KIB),
    "rd_sec": ("read_bytes_per_s", SECTOR),
    "wr_sec": ("write_bytes_per_s", SECTOR),
    "util": ("utilisation", 1e-2),
    "util-percent": ("utilisation", 1e-2),
}
_NAMES: Final = ("disk_device", "disk-device")


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by its first key."""
    begin = "".join(head[:5]).replace(" ", "").replace("\t", "")[:100]
    return Match.CERTAIN if begin.startswith('{"sysstat":') else None


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the samples of all hosts."""
    document, is_cut = parse_json(text_of(lines, rows.source), rows.note)
    hosts = _list(_map(_map(document).get("sysstat")).get("hosts"))
    for number, host in enumerate(hosts):
        _Host(asked, rows, _map(host)).read(is_cut=is_cut and number == len(hosts) - 1)


class _Host:
    """Reads what one host recorded."""

    def __init__(self, asked: Asked, rows: SampleRows, document: Mapping[str, Any]) -> None:
        self._document = document
        self._rows = rows
        self._name = str(document.get("nodename", ""))
        self._times = ReportTimes(asked, rows, "iostat -t")
        self._clock = Clock(asked, rows.note)
        self._idle = IdleDevices(rows)
        self._unread = 0

    def read(self, *, is_cut: bool) -> None:
        """Add its samples; the last report may be cut off."""
        statistics = _list(self._document.get("statistics"))
        for number, statistic in enumerate(map(_map, statistics)):
            time = statistic.get("timestamp")
            try:
                interval = self._recorded(time) if isinstance(time, Mapping) else self._printed(time)
                self._take(statistic, interval, is_printed=not isinstance(time, Mapping))
            except ValueError:
                self._unread += 1
            else:
                if not (is_cut and number == len(statistics) - 1):
                    self._idle.end_report()
        self._idle.end_run()
        if self._unread:
            self._rows.note(f"parts that cannot be read are left out: {self._unread}")

    def _printed(self, time: Any) -> Interval | None:
        """Give the interval of a report of iostat."""
        if isinstance(time, str):
            self._times.read_time(time)
        return self._times.next_report()

    def _recorded(self, time: Mapping[str, Any]) -> Interval | None:
        """Give the interval of a record of sar."""
        if "date" not in time:
            return None
        is_utc = str(time.get("utc")) in {"1", "True"}
        end_s = self._clock.read(f"{time['date']} {time.get('time')}{' UTC' if is_utc else ''}")
        return end_s, _number(time.get("interval"))

    def _take(self, statistic: Mapping[str, Any], interval: Interval | None, *, is_printed: bool) -> None:
        if interval is None:
            return
        if is_printed:
            self._idle.begin_report(*interval)
        for disk in map(_map, _list(statistic.get("disk"))):
            try:
                self._take_disk(disk, interval, is_printed=is_printed)
            except ValueError:
                self._unread += 1
                self._idle.spoil_report()
        io = _map(statistic.get("io"))
        if io:
            reads, writes = _map(io.get("io-reads")), _map(io.get("io-writes"))
            sample = DeviceSample(*interval)
            sample.read_iops, sample.write_iops = _number(reads.get("rtps")), _number(writes.get("wtps"))
            sample.read_bytes_per_s = _number(reads.get("bread")) * SECTOR
            sample.write_bytes_per_s = _number(writes.get("bwrtn")) * SECTOR
            self._rows.add(self._name, ALL_DEVICES, Layer.SYSTEM, sample)

    def _take_disk(self, disk: Mapping[str, Any], interval: Interval, *, is_printed: bool) -> None:
        device = next((disk[name] for name in _NAMES if isinstance(disk.get(name), str)), None)
        if device is None:
            raise ValueError("a device has no name")
        sample = DeviceSample(*interval)
        for key, value in disk.items():
            if key in _DISK:
                name, unit = _DISK[key]
                setattr(sample, name, _number(value) * unit)
        if "tps" in disk and any(_number(disk[key]) > 0 for key in ("dkB", "kB_dscd/s", "dkB/s") if key in disk):
            self._rows.note(DISCARDS_COUNTED)
        layer = layer_of(device)
        if is_vague(device):
            self._rows.note(f"{device} is taken for a disk: sadf -j -- -d -p records names")
        self._rows.add(self._name, device, layer, sample)
        if is_printed:
            self._idle.take(self._name, device, layer, sample)


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number is missing")  # noqa: TRY004 - the document is wrong, not the call
    return float(value)
