"""Combine the repeats of a result: value, interval and trust.

The unit is the repeat. Those that are not to be trusted are left out and named, and so are those in which others used the
device, where enough had it for themselves; from the rest comes what is typical, with its interval from three on
(`statistics/repeated.py`). There is no common number of repeats that are numbers of different things: one from storage and
one from the page cache, one flushed and one absorbed.

Trust follows from the repeats that count: none of them, no trust; it is weak where one that counts is, where those left
out leave too few for an interval, or where the rate drifts. How well a repeat knows its rate alone is no doubt where
the repeats together know it well.
"""

from collections.abc import Callable, Iterator, Sequence

from assay.analysis import thresholds
from assay.analysis.repeats_by_label import by_label, half_share
from assay.analysis.rounds_window import unsteady_trust
from assay.analysis.statistics.repeated import Typical, mean_of, stands_out, trend, typical, variation
from assay.results import Reason, RepeatedNumber, RepeatRemark, Result, RoundsOutcome, Summary, Trust
from assay.units import format_percent
from assay.verdicts import TrustLevel

DIFFER, FEW = "repeats-differ", "few-repeats"
"""Reasons that a summary has beside those of its repeats; findings of the run have more (`judgements/repeats.py`)."""
_MOST_REASONS = 2
_OF_ONE = "wide-interval"
"""Reason of a repeat whose own window leaves its numbers open."""
_COMPANY = "foreign-io"
"""Reason of a repeat in which others used the device too."""
_WRITES = frozenset({"absorbed", "device", "flushed"})
_Number = Callable[[Result], float | None]


def summaries(measured: Sequence[Result], rounds: RoundsOutcome | None = None) -> tuple[Summary, ...]:
    """Sum the repeats of each result up, in the order of the first; nothing where nothing was measured twice.

    Args:
        measured: All results.
        rounds: Where the repeats are rounds: those of the window count, all of them, with their mean.
    """
    if len({result.repeat for result in measured}) < 2:
        return ()
    return tuple(_summary(label, same, rounds) for label, same in by_label(measured).items())


def kind_words(result: Result) -> str:
    """Describe what a number is a number of; of writes also what became of them."""
    kept = f", {result.cache.verdict}" if result.cache.verdict in _WRITES else ""
    return result.measures.words + kept


def is_usable(result: Result) -> bool:
    """Whether the number may count."""
    return result.trust.level is not TrustLevel.NO and result.iops is not None and result.iops > 0


def undisturbed(usable: Sequence[Result]) -> list[int]:
    """Give the places of the repeats that nobody disturbed; of all, where these are fewer than three or than half.

    What is left out is chosen by its cause and not by its value, so that the choice moves no number. A neighbour of most
    repeats is no accident: it is where the load was measured, and stays.
    """
    alone = [i for i, result in enumerate(usable) if all(reason.id != _COMPANY for reason in result.trust.reasons)]
    is_enough = len(alone) >= thresholds.REPEATS_LEAST and 2 * len(alone) >= len(usable)
    return alone if is_enough else list(range(len(usable)))


def _counting(measured: Sequence[Result]) -> list[int]:
    """Give the places of the repeats that count."""
    usable = [place for place, result in enumerate(measured) if is_usable(result)]
    return [usable[i] for i in undisturbed([measured[place] for place in usable])]


def why_not(result: Result) -> str:
    """Explain why a number may not count, in a few words."""
    if not result.iops and not result.ops:
        return "nothing was measured"
    # A neighbour is the cause of its other reasons.
    reasons = sorted(result.trust.reasons, key=lambda reason: reason.id != _COMPANY)
    return ", ".join(reason.text for reason in reasons[:_MOST_REASONS]) or "it has no rate"


def remarks(measured: Sequence[Result], rate: _Number) -> list[RepeatRemark]:
    """Give the remarks on single repeats.

    Args:
        measured: The repeats, in order; a remark names the place of one.
        rate: What they are compared by.
    """
    usable = _counting(measured)
    found = [
        RepeatRemark(repeat=place, kind="left_out", text=why_not(result))
        for place, result in enumerate(measured)
        if place not in usable
    ]
    found += [
        RepeatRemark(repeat=usable[i], kind="weak", text=text)
        for i, text in _weak_alone([measured[place] for place in usable])
    ]
    rates = [rate(measured[place]) or 0.0 for place in usable]
    outliers = stands_out(rates)
    others = [one for i, one in enumerate(rates) if i not in outliers]
    found += [
        RepeatRemark(repeat=usable[i], kind="stands_out", text=_apart(rates[i], others, is_first=usable[i] == 0))
        for i in outliers
    ]
    return sorted(found, key=lambda remark: remark.repeat)


def _weak_alone(usable: Sequence[Result]) -> Iterator[tuple[int, str]]:
    """Name those that are weak for a reason that at most half of all have: it is of the repeat, not of the load."""
    having: dict[str, set[int]] = {}
    for i, result in enumerate(usable):
        for reason in result.trust.reasons:
            having.setdefault(reason.id, set()).add(i)
    of_repeat = {id_ for id_, places in having.items() if 2 * len(places) <= len(usable)}
    for i, result in enumerate(usable):
        if texts := [reason.text for reason in result.trust.reasons if reason.id in of_repeat]:
            yield i, ", ".join(texts[:_MOST_REASONS])


def _apart(rate: float, others: Sequence[float], *, is_first: bool) -> str:
    """Return how far a rate lies from what those that do not stand out come to."""
    by = rate / typical(others).value - 1
    text = f"{format_percent(abs(by))} % {'above' if by > 0 else 'below'} the others"
    return f"{text}; what stood before the first repeat (caches, a fresh layout) may be in it" if is_first else text


def _in_window(measured: Sequence[Result], rounds: RoundsOutcome) -> list[int]:
    """Give the places of the rounds of the window; where there is no window, of all."""
    first, last = rounds.window or (0, measured[-1].repeat)
    return [place for place, result in enumerate(measured) if first <= result.repeat <= last and result.iops]


def _summary(label: str, measured: Sequence[Result], rounds: RoundsOutcome | None) -> Summary:
    rounds = rounds if len(measured) > 1 else None
    counting = _counting(measured) if rounds is None else _in_window(measured, rounds)
    usable = [measured[place] for place in counting]
    kinds = tuple(sorted({kind_words(result) for result in usable or measured}))
    first = measured[0]
    is_with_flush = any(result.committed is not None for result in measured)
    # Where some were flushed and others not, the kinds differ, and there is no common number.
    is_one = len(kinds) == 1 and len({result.committed is None for result in usable}) <= 1
    is_response = any(result.response_ns is not None for result in measured)

    def number(of: _Number) -> RepeatedNumber:
        counted = [of(result) for result in usable] if is_one else []
        return _number([of(result) for result in measured], counted, typical if rounds is None else mean_of)

    found, drift, iops = [], None, number(_iops)
    if rounds is None:
        found = remarks(measured, _iops)
        rates = [_iops(result) if i in counting else None for i, result in enumerate(measured)]
        drift = trend(rates) if is_one else None
    trust = _unusable(measured, usable, kinds) or _of_rounds(usable, rounds)
    trust = trust or _trust(len(usable) if rounds else len(measured), usable, iops, drift)
    return Summary(
        label=label,
        phase=first.phase,
        title=first.title,
        job=first.job,
        operation=first.operation,
        repeats=tuple(result.repeat for result in measured),
        counted=tuple(result.repeat for result in usable) if is_one else (),
        is_with_flush=is_with_flush,
        is_response=is_response,
        iops=iops,
        throughput_bytes_per_s=number(_throughput) if any(result.bytes for result in measured) else None,
        p50_ns=number(lambda result: (result.response_ns or result.latency_ns).p50),
        p99_ns=number(lambda result: (result.response_ns or result.latency_ns).p99),
        measures=kinds,
        drift=drift,
        remarks=tuple(
            RepeatRemark(repeat=measured[remark.repeat].repeat, kind=remark.kind, text=remark.text) for remark in found
        ),
        trust=trust,
        trusted=trust.level is TrustLevel.YES,
    )


def _iops(result: Result) -> float | None:
    """Operations a second, of changes that memory takes up to the end of the flush."""
    return result.iops if result.committed is None else result.committed.iops


def _throughput(result: Result) -> float | None:
    """Bytes a second, as above."""
    return result.throughput_bytes_per_s if result.committed is None else result.committed.throughput_bytes_per_s


def _number(
    every: Sequence[float | None], counted: Sequence[float | None], typical_of: Callable[[Sequence[float]], Typical]
) -> RepeatedNumber:
    known = [value for value in counted if value is not None and value > 0]
    if not known or len(known) < len(counted):
        return RepeatedNumber(value=None, method=None, interval=None, range=None, variation=None, values=tuple(every))
    found = typical_of(known)
    return RepeatedNumber(
        value=found.value,
        method=found.method.value,
        interval=found.interval,
        range=(min(known), max(known)),
        variation=variation(known),
        values=tuple(every),
    )


def _unusable(measured: Sequence[Result], usable: Sequence[Result], kinds: Sequence[str]) -> Trust | None:
    """Explain why there is no number; None: there is one."""
    if not usable:
        return Trust(level=TrustLevel.NO, reasons=_reasons(measured))
    if len(kinds) > 1:
        text = f"its repeats are of different things: {' and '.join(kinds)}"
        return Trust(level=TrustLevel.NO, reasons=(Reason(id=DIFFER, text=text),))
    return None


def _of_rounds(usable: Sequence[Result], rounds: RoundsOutcome | None) -> Trust | None:
    """Explain why the mean of a window of rounds is not usable; None: it is, or there are no rounds."""
    if rounds is None:
        return None
    if not rounds.is_steady:
        return unsteady_trust(rounds.done)
    spoilt = [result for result in usable if not is_usable(result)]
    if not spoilt:
        return None
    of = f" in {len(spoilt)} of {len(usable)} rounds" if len(spoilt) < len(usable) else ""
    reasons = tuple(Reason(id=one.id, text=one.text + of) for one in _reasons(spoilt))
    return Trust(level=TrustLevel.NO, reasons=reasons)


def _trust(measured: int, usable: Sequence[Result], iops: RepeatedNumber, drift: float | None) -> Trust:
    """Judge the whole by its usable parts, of `measured` in total."""
    reasons = []
    if len(usable) < min(thresholds.REPEATS_LEAST, measured):
        reasons.append(Reason(id=FEW, text=f"only {len(usable)} of {measured} repeats"))
    if drift is not None:
        rose = "rises" if drift > 0 else "falls"
        reasons.append(Reason(id=DIFFER, text=f"{rose} {format_percent(abs(drift))} % over the repeats"))
    half = half_share(iops)
    if half is not None and half > thresholds.WIDE_INTERVAL:
        reasons.append(Reason(id=FEW, text=f"± {format_percent(half)} % over the repeats"))
    reasons += [reason for reason in _reasons(usable) if half is None or reason.id != _OF_ONE]
    return Trust(level=TrustLevel.WEAK if reasons else TrustLevel.YES, reasons=tuple(reasons))


def _reasons(measured: Sequence[Result]) -> tuple[Reason, ...]:
    """Give the reasons of repeats, each once; of those that not all have, how many do."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for result in measured:
        of_result: dict[str, list[str]] = {}
        for reason in result.trust.reasons:
            of_result.setdefault(reason.id, []).append(reason.text)
        for id_, texts in of_result.items():
            found.setdefault(id_, []).append(tuple(texts))
    reasons: list[Reason] = []
    for id_, of_results in found.items():
        same = of_results[0] if len(set(of_results)) == 1 else (id_.replace("-", " "),)
        some = "" if len(of_results) == len(measured) else f" in {len(of_results)} of {len(measured)}"
        reasons += [Reason(id=id_, text=text + some) for text in same]
    return tuple(reasons)
