"""The figure of a vxbench-style run: who got how much."""

from collections.abc import Sequence

from assay.report.figure import Figure, Table
from assay.tools.charts import COLOURS, Axis, Bar, grouped_bars
from assay.tools.vxbench.users import UserTotals

MOST_DRAWN = 64
"""Workers in one picture."""


def figures(measured: Sequence[UserTotals], unit: str, unit_bytes: int) -> Sequence[Figure]:
    """Draw who got how much; nothing for one worker, or for more than a picture can name."""
    if not 1 < len(measured) <= MOST_DRAWN:
        return ()
    bars = [Bar(user.file, f"user {user.number}", user.rate(unit_bytes), COLOURS[0]) for user in measured]
    rows = tuple((f"user {u.number}, {u.file}", f"{u.rate(unit_bytes):,.2f}", f"{u.seconds:.3f}") for u in measured)
    rates = [user.rate(unit_bytes) for user in measured]
    return (
        Figure(
            slug="vxbench-users",
            title="Rate of each worker",
            caption=f"Its bytes by its own elapsed time, in {unit}. The workers do the same: where the bars differ, they"
            " were not served alike.",
            alt_text=f"Rates of {len(measured)} workers between {min(rates):,.2f} and {max(rates):,.2f} {unit}.",
            chart=grouped_bars(bars, Axis(unit)),
            table=Table(("Worker", unit, "Elapsed, s"), rows),
        ),
    )
