"""What the figures of one result share: the time since the start of its phase, and the marks."""

from collections.abc import Sequence
from typing import Any

from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import linear_ticks, records
from assay.report.recording import NumberedMark

_LABEL_ROOM = 1.07
"""The time axis is longer than the phase by this factor: end labels stand in the room that this leaves."""


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
