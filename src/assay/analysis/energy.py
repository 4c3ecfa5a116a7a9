"""What energy did the machine take while a number was measured?

By a power meter that was read beside the run (`assay.power_meter`), or else by the processors' own counters, where the
engine could read them: those of the platform, or of every package with its memory. Nothing is taken off: it is the whole of
what the meter sees, what the machine takes when idle and what other programs took included.

A meter stamps its readings by the wall clock, the run by its own: they meet in the time at which the run's clock began.
Where the two clocks are apart, so are the readings; `clock-stepped` says where the wall clock was put right in between.
"""

import dataclasses
import re

import numpy as np

from assay.analysis import thresholds
from assay.analysis.phase_tables import Counters
from assay.analysis.record import RunRecord
from assay.analysis.rows import NS_PER_S, Span
from assay.errors import InputError
from assay.events import Hello
from assay.power_meter import PowerMeter

_PLATFORM = "psys"
_PACKAGE = re.compile(r"package-[0-9]+(/dram)?")
"""The cores lie within their package; its memory does not."""
_UJ_PER_JOULE = 1e6


def with_meter(run: RunRecord, meter: PowerMeter) -> RunRecord:
    """Give a run with what a meter read beside it; raises InputError for a meter that read nothing of it."""
    zero_s = _zero_s(run)
    if zero_s is not None:
        spans = [record.whole for record in run.phases]
        begin_s = zero_s + min((span.begin_ns for span in spans), default=0) / NS_PER_S
        end_s = zero_s + max((span.end_ns for span in spans), default=0) / NS_PER_S
        first_s, last_s = float(meter.at_s[0]), float(meter.at_s[-1])
        if last_s <= begin_s or first_s >= end_s:
            way = "before the run began" if last_s <= begin_s else "after the run ended"
            apart_s = begin_s - last_s if last_s <= begin_s else first_s - end_s
            raise InputError(
                f"{meter.source}: its readings are all from {apart_s:.0f} s or more {way};"
                " they are of another run, or of another clock or zone"
            )
    return dataclasses.replace(run, meter=meter)


def joules(run: RunRecord, counters: Counters, span: Span, counted: Span) -> float | None:
    """Give the energy of a window; None where nobody measured it.

    Args:
        run: With its meter, if there was one.
        counters: Of the phase.
        span: What its rates are divided by.
        counted: The intervals that belong to it.
    """
    if run.meter is None:
        return machine_joules(counters, counted)
    zero_s = _zero_s(run)
    if zero_s is None:
        return None
    return metered_joules(run.meter, zero_s + span.begin_ns / NS_PER_S, zero_s + span.end_ns / NS_PER_S)


def metered_joules(meter: PowerMeter, begin_s: float, end_s: float) -> float | None:
    """Give the energy of a stretch of time: the difference of totals, or watts by the trapezoid rule.

    Values between two readings are interpolated linearly. None where the readings do not begin before the
    stretch and end after it, or are too far apart.
    """
    at_s, readings = meter.at_s, meter.readings
    if not at_s[0] <= begin_s < end_s <= at_s[-1]:
        return None
    first = int(np.searchsorted(at_s, begin_s, side="right")) - 1
    last = int(np.searchsorted(at_s, end_s, side="left"))
    if np.diff(at_s[first : last + 1]).max() > thresholds.METER_GAP_SHARE * (end_s - begin_s):
        return None
    edges = np.interp([begin_s, end_s], at_s, readings)
    if meter.is_total:
        return float(edges[1] - edges[0])
    inside = (at_s > begin_s) & (at_s < end_s)
    times = np.concatenate(([begin_s], at_s[inside], [end_s]))
    watts = np.concatenate((edges[:1], readings[inside], edges[1:]))
    return float(np.trapezoid(watts, times))


def machine_joules(counters: Counters, span: Span) -> float | None:
    """Give what the processors' own meters counted: the platform's, or every package's and its memory's."""
    zones = counters.instances("energy")
    counted = [_PLATFORM] if _PLATFORM in zones else [zone for zone in zones if _PACKAGE.fullmatch(zone)]
    grown = [counters.delta(span, "energy", zone, "energy_uj") for zone in counted]
    known = [value for value in grown if value is not None]
    return sum(known) / _UJ_PER_JOULE if known and len(known) == len(grown) else None


def _zero_s(run: RunRecord) -> float | None:
    """Give the wall clock's time at which the run's own began, in seconds since 1970."""
    hello = run.first(Hello)
    return None if hello is None else hello.clock.realtime_at_zero_ns / NS_PER_S
