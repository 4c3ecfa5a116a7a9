"""The answer of `assay quick` in words: what this storage does, what limits it, what to distrust.

A number that is not to be trusted is not told: its reason stands in its place. Of changes that memory takes, the rate up to
the end of the flush is told, where there is one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from assay.report.numbers import headline_rates
from assay.results import Document, Result
from assay.units import format_bytes, format_ns, format_number
from assay.verdicts import Bottleneck, TrustLevel

QUICK = "quick"

_LIMITS: Mapping[Bottleneck, str] = {
    Bottleneck.OPERATION_LATENCY: "the time of each operation, one after another",
    Bottleneck.DEVICE_SATURATED: "the device",
    Bottleneck.DEVICE_THROUGHPUT: "the device",
    Bottleneck.WRITEBACK_DEVICE: "the device behind memory that is full",
    Bottleneck.CLIENT_CPU_SINGLE: "one CPU of this machine",
    Bottleneck.CLIENT_CPU_ALL: "all CPUs of this machine",
    Bottleneck.NETWORK_BANDWIDTH: "the link",
    Bottleneck.THROTTLE_CPU: "the CPU limit of this control group",
    Bottleneck.THROTTLE_IO: "the I/O limit of this control group",
}


def quick_words(document: Document) -> tuple[str, ...]:
    """Say it in a few sentences; nothing where the run was cut before its first number."""
    measured = {result.phase: result for result in document.results if result.iops is not None}
    if not measured:
        return ()
    rows = {id(result): row for row, result in enumerate(document.results, start=1)}
    return tuple(line for line in (*_does(measured), *_limits(measured, rows), *_distrust(document.results)) if line)


def _does(measured: Mapping[str, Result]) -> Iterator[str]:
    parts: tuple[tuple[str, tuple[tuple[str, Callable[[Result], str]], ...]], ...] = (
        ("Streams", (("stream-write", _written), ("stream-read", _read))),
        ("Random reads of 4 KiB", (("random-read-1", _one_by_one), ("random-read-32", _at_depth))),
        ("Durable writes of 8 KiB", (("sync-write", _one_by_one),)),
        ("Files of 4 KiB", (("create-1", _created), ("stat-1", _looked_up), ("delete-1", _deleted))),
    )
    for what, phases in parts:
        told = [say(measured[name]) for name, say in phases if name in measured]
        if told:
            yield f"{what}: {', '.join(told)}."


def _unless(result: Result, text: str, what: str) -> str:
    """Give a number, or why there is none."""
    if result.trust.level is TrustLevel.NO:
        return f"no number for {what} ({result.trust.reasons[0].text})"
    return text


def _written(result: Result) -> str:
    return _unless(result, f"{format_bytes(result.throughput_bytes_per_s)}/s written", "writing")


def _read(result: Result) -> str:
    return _unless(result, f"{format_bytes(result.throughput_bytes_per_s)}/s read", "reading")


def _one_by_one(result: Result) -> str:
    text = f"{format_number(result.iops)} a second one at a time, {format_ns(result.latency_ns.p50)} each"
    return _unless(result, text, "one at a time")


def _at_depth(result: Result) -> str:
    depth = result.queue_depth * result.workers
    return _unless(result, f"{format_number(result.iops)} a second {depth} at a time", f"{depth} at a time")


def _changed(result: Result, word: str, what: str) -> str:
    if result.committed is None:
        return _unless(result, f"{format_number(result.iops)} a second {word} (in memory)", what)
    text = f"{format_number(headline_rates(result)[0])} a second {word} and flushed"
    return _unless(result, text, what)


def _created(result: Result) -> str:
    return _changed(result, "created", "creating")


def _deleted(result: Result) -> str:
    return _changed(result, "deleted", "deleting")


def _looked_up(result: Result) -> str:
    return _unless(result, f"{format_number(result.iops)} a second looked up in {result.measures.words}", "looking up")


def _limits(measured: Mapping[str, Result], rows: Mapping[int, int]) -> Iterator[str]:
    by_limit: dict[str, list[int]] = {}
    for result in measured.values():
        if result.trust.level is not TrustLevel.NO and result.limiter and result.limiter.verdict in _LIMITS:
            by_limit.setdefault(_LIMITS[result.limiter.verdict], []).append(rows[id(result)])
    if by_limit:
        told = "; ".join(f"{limit} ({_rows(found)})" for limit, found in by_limit.items())
        yield f"Limited by: {told}."


def _distrust(results: Sequence[Result]) -> Iterator[str]:
    for level, words in ((TrustLevel.NO, "Do not trust"), (TrustLevel.WEAK, "Weak")):
        by_reason: dict[str, list[int]] = {}
        for row, result in enumerate(results, start=1):
            if result.trust.level is level:
                by_reason.setdefault(result.trust.reasons[0].id.replace("-", " "), []).append(row)
        if by_reason:
            told = "; ".join(f"{_rows(found)} ({reason})" for reason, found in by_reason.items())
            yield f"{words}: {told}. 'assay explain last ROW' says more."


def _rows(found: Sequence[int]) -> str:
    return f"row {found[0]}" if len(found) == 1 else f"rows {', '.join(map(str, found))}"
