"""Report clients of a sum that did not get the same rate."""

from collections.abc import Iterable

from assay.analysis import findings, thresholds
from assay.analysis.sum_case import SumCase
from assay.results import Finding
from assay.units import format_number


def judge(at: SumCase) -> Iterable[Finding]:
    """Name the straggler, and report how fair the sum is."""
    jain = at.jain
    if not at.can_be_compared or jain is None:
        return
    is_fair = jain >= thresholds.FAIR_INDEX
    slow = at.straggler
    if is_fair and slow is None:
        return
    rates = {rate.client: rate.iops for rate in at.rates}
    least, most = min(rates, key=rates.__getitem__), max(rates, key=rates.__getitem__)
    text = (
        f"The clients did not get the same: {least} had {format_number(rates[least])} a second and {most}"
        f" {format_number(rates[most])} (Jain's index {jain:.2f} over {len(rates)})."
    )
    if slow is not None:
        text += f" {slow.client} had {100 * slow.ratio:.0f} % of what is usual for the others. Why: {slow.cause}"
        text += "" if text.endswith(".") else "."
    cure = "Compare the results of the clients: what only the slow ones have is the cause."
    if is_fair:
        yield findings.note("uneven-clients", text, cure, effect=1 - jain)
    else:
        yield findings.weak("uneven-clients", text, cure, brief="clients differ", effect=1 - jain)
