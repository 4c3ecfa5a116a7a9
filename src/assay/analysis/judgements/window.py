"""Report where the window lies and whether all workers shared it, as `analysis/window.py` found."""

from collections.abc import Iterable, Iterator

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import NS_PER_S
from assay.analysis.window import AtWork
from assay.analysis.work_times import workers_at_work
from assay.results import Finding
from assay.units import format_seconds


def judge(case: Case) -> Iterable[Finding]:
    """Judge where the window lies, and what moved its ends."""
    record, window = case.record, case.window
    if record.finished is None:
        yield _unfinished(record)
        yield from _skew(window.at_work, is_trimmed=window.is_trimmed) if window.at_work else ()
    elif window.at_work:
        yield from _skew(window.at_work, is_trimmed=window.is_trimmed)
        yield from _outstanding(record.finished, window.at_work)
        yield from _idle(record.finished)
    is_reported = record.is_sum_of_clients and window.at_work and window.at_work.overlap < thresholds.OVERLAP_SUM
    if window.lacks_interval and not is_reported:
        yield _nothing_inside(record, window.at_work)


def _unfinished(record: PhaseRecord) -> Finding:
    return findings.warning(
        "unfinished",
        f"The run ended {format_seconds(record.whole.seconds)} into this phase. The number covers the intervals recorded"
        " before; start skew and errors at the end are not known.",
        "Run it again to the end.",
    )


def _nothing_inside(record: PhaseRecord, at_work: AtWork | None) -> Finding:
    if at_work and at_work.overlap < thresholds.OVERLAP_WHOLE:
        kept = "the number covers the whole span, in which some workers were missing."
        if record.is_sum_of_clients:
            kept = "there is no sum, and each client has its own rate."
        return findings.warning(
            "workers-apart",
            f"No whole interval lies inside the time that all workers share, so {kept}",
            "Run longer, or sample more often.",
        )
    return findings.invalid(
        "ramp-not-excluded",
        f"The ramp of {record.phase.ramp_s:g} s leaves no whole interval of a phase of"
        f" {format_seconds(record.whole.seconds)}, so the number includes the ramp.",
        "Make the phase longer than its ramp.",
    )


def _skew(at_work: AtWork, *, is_trimmed: bool) -> Iterator[Finding]:
    what = (
        f"The workers started {format_seconds(at_work.skew_s)} and ended {format_seconds(at_work.tail_s)} apart; all were"
        f" at work for {100 * at_work.overlap:.0f} % of the time."
    )
    counted = " The number covers only the intervals inside that time." if is_trimmed else ""
    longer = "Run longer, so that start and end weigh less."
    if at_work.overlap < thresholds.OVERLAP_SUM:
        cure = "Bound the phase by time, or stop all workers when the first is done (stop.of = first)."
        if at_work.skew_s > at_work.tail_s:
            cure = "Run longer, with more to do if nothing was left; workers beyond the number of CPUs start late."
        yield findings.invalid("workers-apart", f"{what} A sum over workers is not valid here.", cure)
    elif at_work.overlap < thresholds.OVERLAP_WHOLE:
        yield findings.warning("workers-apart", what + counted, longer)
    elif at_work.skew_s > thresholds.NEGLIGIBLE_SHARE * at_work.span.seconds:
        yield findings.note("workers-apart", what + counted, longer)


def _outstanding(finished: events.PhaseFinished, at_work: AtWork) -> Iterator[Finding]:
    """Report operations without a result."""
    abandoned = sum(worker.abandoned for worker in finished.workers)
    if not abandoned:
        return
    whole_s = (at_work.end_ns - at_work.span.begin_ns) / NS_PER_S
    one = f"{abandoned} operation{'s' * (abandoned != 1)}"
    text = f"{one} had no result when the phase stopped; no rate and no latency includes them."
    if at_work.silent_s > thresholds.SMALL_SHARE * whole_s:
        text += (
            f" A worker waited {format_seconds(at_work.silent_s)} for an operation that never completed, so the true tail is"
            " longer than shown."
        )
        yield findings.warning("abandoned", text, "Look for a device or server that does not respond, then run again.")
    else:
        yield findings.note("abandoned", text)


def _idle(finished: events.PhaseFinished) -> Iterator[Finding]:
    idle = len(finished.workers) - len(workers_at_work(finished))
    if 0 < idle < len(finished.workers):
        yield findings.warning(
            "uneven-workers",
            f"{idle} of {len(finished.workers)} workers completed nothing, so fewer worked than requested.",
            "Give each worker something to do: more files, or a longer phase.",
            brief="idle workers",
        )
