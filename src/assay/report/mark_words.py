"""Describe the levels before, during and after a mark."""

from collections.abc import Iterator

from assay.report.numbers import OPS_PER_S, RateUnit, rate, rate_unit
from assay.results import Document, MarkedChanges, MarkedLevel, MarkEffect, Recovery, RunMark
from assay.units import ABSENT, format_ns, format_seconds
from assay.verdicts import RecoveryVerdict

SOURCES = {"user": "you, while it ran", "afterwards": "you, afterwards", "detected": "found"}


def when(mark: RunMark) -> str:
    """Format the time of a mark."""
    if mark.phase is None or mark.phase_s is None:
        return f"{mark.t_s:.2f} s of the run, in no phase"
    repeat = f", repeat {mark.repeat + 1}" if mark.repeat else ""
    return f"{mark.phase_s:.2f} s of '{mark.phase}'{repeat}"


def units(document: Document) -> dict[str, RateUnit]:
    """Give the unit of each result's rate, by its label."""
    return {result.label: rate_unit(result) for result in document.results}


def level_words(level: MarkedLevel | None, unit: RateUnit) -> str:
    """Write a level: its rate with half of its interval, and p50 and p99 of the latency."""
    if level is None:
        return ABSENT
    parts = [rate(unit.of(level.iops, level.throughput_bytes_per_s), unit)]
    if level.iops_interval is not None and level.iops > 0:
        low, high = level.iops_interval
        parts[0] += f" ± {_percent((high - low) / 2 / level.iops)} %"
    named = (("p50", level.p50_ns), ("p99", level.p99_ns))
    parts += [f"{name} {format_ns(value)}" for name, value in named if value is not None]
    return ", ".join(parts)


def change_words(changes: MarkedChanges) -> str:
    """Write by how much the rate and the latencies differ from before, the rate with its interval."""
    parts = []
    for name, change in (("rate", changes.iops), ("p50", changes.p50), ("p99", changes.p99)):
        if change is None:
            continue
        ends = "" if change.interval is None else f" [{', '.join(_signed(end) for end in change.interval)}]"
        parts.append(f"{name} {_signed(change.share)} %{ends}")
    return ", ".join(parts) or ABSENT


def recovery_words(recovery: Recovery | None) -> str:
    """Describe whether and when the rate recovered."""
    if recovery is None:
        return ABSENT
    band = f"± {_percent(recovery.band)} %"
    match recovery.verdict:
        case RecoveryVerdict.RECOVERED if recovery.seconds is not None:
            return (
                f"back within {band} after {format_seconds(recovery.seconds)} (to {format_seconds(recovery.within_s)})"
            )
        case RecoveryVerdict.UNMOVED:
            return f"never left {band}"
        case RecoveryVerdict.NOT_RECOVERED:
            return f"not back within {band} by the end"
    return "too short to see whether it recovered"


def effect_words(effect: MarkEffect, unit: RateUnit) -> str:
    """Format one result's levels before and after a mark, in a line."""
    parts = [f"before {level_words(effect.before, unit)}"]
    for name, level, changes in (
        ("during", effect.during, effect.during_changes),
        ("after", effect.after, effect.after_changes),
    ):
        if level is not None:
            changed = change_words(changes)
            parts.append(f"{name} {level_words(level, unit)}" + ("" if changed == ABSENT else f" ({changed})"))
    if effect.recovery is not None:
        parts.append(recovery_words(effect.recovery))
    if effect.missing:
        parts.append(effect.missing)
    return "; ".join(parts)


def rows(document: Document) -> Iterator[tuple[str, ...]]:
    """Give a row for each mark and result: number, when, what, set by, result, before, during, after, changes, back."""
    of_label = units(document)
    for mark in document.marks:
        head = (str(mark.number), when(mark), mark.label, SOURCES.get(mark.source, mark.source))
        if not mark.effects:
            yield (*head, "", "", "", "", "", "")
        for effect in mark.effects:
            unit = of_label.get(effect.result, OPS_PER_S)
            levels = (level_words(level, unit) for level in (effect.before, effect.during, effect.after))
            during, after = (change_words(changes) for changes in (effect.during_changes, effect.after_changes))
            changed = "; ".join(
                f"{name}: {words}" for name, words in (("during", during), ("after", after)) if words != ABSENT
            )
            back = "; ".join(
                part for part in (recovery_words(effect.recovery), effect.missing) if part and part != ABSENT
            )
            yield (*head, effect.result, *levels, changed, back)


COLUMNS = ("Mark", "When", "What", "Set by", "Result", "Before", "During", "After", "Change from before", "Back")


def _percent(share: float) -> str:
    return f"{100 * share:.2g}"


def _signed(share: float) -> str:
    """Write a change in per cent; what rounds to none has no sign of less."""
    return f"{round(100 * share) + 0:+d}"
