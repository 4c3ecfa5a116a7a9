"""Do two ways to tell what memory delivered agree?

Where hardly a byte is read twice, the bytes that storage did not give are those that were resident before (METHOD 4.4, C3).
"""

from collections.abc import Iterable

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.cache import BYTE_BALANCE, is_one_pass, resident_share
from assay.analysis.case import Case
from assay.results import Finding


def judge(case: Case) -> Iterable[Finding]:
    """Hold the bytes that were fetched against what was in memory before."""
    if case.operation.direction != "read" or case.subject.is_direct or case.hit.method != BYTE_BALANCE:
        return
    hit, before = case.hit.value, resident_share(case.subject, events.Moment.BEFORE)
    if hit is None or before is None or not is_one_pass(case.subject):
        return
    if abs(hit - before) <= thresholds.RESIDENCY_APART:
        return
    text = (
        f"By the bytes that storage gave, {100 * hit:.0f} % came from memory; {100 * before:.0f} % of the set was there"
        " before, and hardly a byte was read twice."
    )
    cure = "See whether others read or dropped the files meanwhile, or whether memory was short."
    yield findings.note("residency-disagrees", text, cure, effect=abs(hit - before))
