"""Format the answer of `assay quick`: a sentence per kind of work, each within 80 columns.

A result that is not trusted is marked. The rate of writes that memory takes is the rate until the end of the flush, if
there is one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from assay.report.numbers import headline_rates
from assay.report.verdict import is_usable
from assay.results import Result
from assay.units import format_bytes, format_ns, format_number
from assay.verdicts import ServedBy

QUICK = "quick"
UNUSABLE = "(!)"
"""Mark of a number that must not be used; the answer names the cause."""


def quick_words(results: Sequence[Result]) -> tuple[str, ...]:
    """Format the answer in a few sentences; empty if the run ended before its first result."""
    measured = {result.phase: result for result in results if result.iops is not None}
    texts = []
    for what, phases in _PARTS:
        parts = [words(measured[name]) for name, words in phases if name in measured]
        if parts:
            texts.append(f"{what}: {', '.join(parts)}.")
    return (*texts, *_files(measured))


def _marked(result: Result, text: str) -> str:
    """Give a number, marked where it must not be used."""
    return text if is_usable(result) else f"{text} {UNUSABLE}"


def _written(result: Result) -> str:
    return _marked(result, f"{format_bytes(result.throughput_bytes_per_s)}/s written")


def _read(result: Result) -> str:
    return _marked(result, f"{format_bytes(result.throughput_bytes_per_s)}/s read")


def _alone(result: Result) -> str:
    latency = f" ({format_ns(result.latency_ns.p50)})" if is_usable(result) else ""
    return _marked(result, f"{format_number(result.iops)} IOPS at depth 1{latency}")


def _at_depth(result: Result) -> str:
    depth = (result.queue_depth or 1) * (result.workers or 1)
    return _marked(result, f"{format_number(result.iops)} at depth {depth}")


def _files(measured: Mapping[str, Result]) -> Iterator[str]:
    changes = [(measured[name], word) for name, word in _CHANGES if name in measured]
    parts = [_marked(result, f"{format_number(headline_rates(result)[0])}/s {word}") for result, word in changes]
    if used := [result for result, _ in changes if is_usable(result)]:
        parts[-1] += " (flushed)" if all(result.committed is not None for result in used) else " (in memory)"
    if (looked_up := measured.get("stat-1")) is not None:
        cached = "cached stat" if looked_up.measures is ServedBy.PAGE_CACHE else "stat"
        parts.append(_marked(looked_up, f"{format_number(looked_up.iops)}/s {cached}"))
    if parts:
        yield f"Files: {', '.join(parts)}."


_CHANGES = (("create-1", "created"), ("delete-1", "deleted"))
_PARTS: tuple[tuple[str, tuple[tuple[str, Callable[[Result], str]], ...]], ...] = (
    ("Streams of 1 MiB", (("stream-write", _written), ("stream-read", _read))),
    ("Random 4 KiB reads", (("random-read-1", _alone), ("random-read-32", _at_depth))),
    ("Durable 8 KiB writes", (("sync-write", _alone),)),
)
