"""Fill in devices that a program leaves out of a report while they are idle."""

from assay.captures.samples import DeviceSample, Layer, SampleRows

_OF_REQUESTS = (
    *("iops", "read_iops", "write_iops", "bytes_per_s", "read_bytes_per_s", "write_bytes_per_s"),
    *("queue_depth", "utilisation"),
)
"""What is 0 without a request. A latency is not: there is none."""


class IdleDevices:
    """Keeps the reports of a run, and the devices of each."""

    def __init__(self, rows: SampleRows) -> None:
        """Add what is filled in to `rows`."""
        self._rows = rows
        self._reports: list[tuple[float, float]] = []
        self._complete = 0
        self._spoilt: set[int] = set()
        self._seen: dict[tuple[str, str, Layer], tuple[int, tuple[str, ...]]] = {}

    def begin_report(self, end_s: float, seconds: float) -> None:
        """Begin a report of an interval."""
        self._reports.append((end_s, seconds))

    def take(self, host: str, device: str, layer: Layer, sample: DeviceSample) -> None:
        """Take a device of the report; it was idle since the report that it was in before."""
        key, number = (host, device, layer), len(self._reports)
        last, names = self._seen.get(key, (0, ()))
        names = names or tuple(name for name in _OF_REQUESTS if getattr(sample, name) is not None)
        self._fill(key, names, range(last, number - 1))
        self._seen[key] = number, names

    def spoil_report(self) -> None:
        """Fill in nothing for this report: it has a line that cannot be read, of an unknown device."""
        self._spoilt.add(len(self._reports) - 1)

    def end_report(self) -> None:
        """End a report that is not cut off."""
        self._complete = len(self._reports)

    def end_run(self) -> None:
        """Fill in what was idle until the last report that is not cut off."""
        for key, (last, names) in self._seen.items():
            self._fill(key, names, range(last, self._complete))
        self._reports.clear()
        self._seen.clear()
        self._spoilt.clear()
        self._complete = 0

    def _fill(self, key: tuple[str, str, Layer], names: tuple[str, ...], numbers: range) -> None:
        for number in numbers:
            end_s, seconds = self._reports[number]
            if seconds > 0 and number not in self._spoilt:
                self._rows.add(*key, DeviceSample(end_s, seconds, **dict.fromkeys(names, 0.0)))
                self._rows.note(
                    "devices that a report leaves out (iostat -z) are taken to have been idle: samples of 0 are added"
                )
