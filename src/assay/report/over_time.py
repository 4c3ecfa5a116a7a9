"""Draw what all figures over time share: the time since the start of the phase, and the marks."""

from collections.abc import Sequence
from typing import Any

from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import linear_ticks, records
from assay.report.recording import NumberedMark

_LEAST_SHARE = 0.002
"""Of the axis: less is not seen."""
_LABEL_ROOM = 1.07
"""The time axis is longer than the phase by this factor: end labels are in the room that this leaves."""
SAME_LEFT_EDGE: dict[str, Any] = {"minExtent": 52, "maxExtent": 52, "titlePadding": 2}
"""Of the axes of values: pictures one upon the other have one axis of time."""


def outside_window(window_s: tuple[float, float], end_s: float, x: vl.X) -> list[vl.Chart]:
    """Make pale what lies outside the window that the numbers are from, and draw its ends."""
    start_s, stop_s = window_s
    sides = [{"t_s": a, "end_s": b} for a, b in ((0.0, start_s), (stop_s, end_s)) if b - a > _LEAST_SHARE * end_s]
    if not sides:
        return []
    pale = vl.Chart(records(sides)).mark_rect(color=theme.PAPER, opacity=0.6).encode(x=x, x2="end_s:Q")
    ends = [{"t_s": t} for t in (start_s, stop_s) if _LEAST_SHARE * end_s < t < (1 - _LEAST_SHARE) * end_s]
    rule = vl.Chart(records(ends)).mark_rule(color=theme.MUTED_INK, strokeDash=[3, 3]).encode(x=x)
    return [pale, rule]


def time_axis(end_s: float) -> vl.X:
    """Go from the start of the phase to its end, with room for labels."""
    return vl.X(
        "t_s:Q",
        title="seconds since the start of the phase",
        scale=vl.Scale(domain=[0, end_s * _LABEL_ROOM], nice=False),
        axis=vl.Axis(values=linear_ticks(end_s), grid=False),
    )


def mark_lines(marks: Sequence[NumberedMark], x: vl.X) -> list[vl.Chart]:
    """Draw a numbered line at each mark."""
    if not marks:
        return []
    base = vl.Chart(records({"t_s": mark.t_s, "label": str(mark.number)} for mark in marks)).encode(x=x)
    rule = base.mark_rule(color=theme.MARK, strokeWidth=1.2)
    place: dict[str, Any] = {"align": "left", "baseline": "top", "dx": 3, "y": 2, "fontWeight": "bold"}
    halo = base.mark_text(stroke=theme.PAPER, strokeWidth=3, **place).encode(text=vl.Text("label:N"))
    return [rule, halo, base.mark_text(color=theme.MARK, **place).encode(text=vl.Text("label:N"))]
