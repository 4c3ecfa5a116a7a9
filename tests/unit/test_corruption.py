"""What a verify step could not look at: is it said, and not where memory is the storage?"""

from typing import TYPE_CHECKING

import pytest

from assay import events, plan
from unit.memory_run import judged
from unit.synthetic import SyntheticRun, one_job, one_plan, read_op, steady_stream

if TYPE_CHECKING:
    from assay.host.facts import FactValue


@pytest.mark.parametrize(
    ("file_system", "share", "text"),
    [
        ("ext4", 0.0, None),
        ("ext4", 0.25, "Set 'data' was verified with 25.0\N{NO-BREAK SPACE}% of its pages in memory"),
        ("ext4", None, "Set 'data' was verified with an unknown part of its pages in memory"),
        (None, None, "Set 'data' was verified with an unknown part of its pages in memory"),
        ("tmpfs", 1.0, None),
    ],
)
def test_blocks_that_were_compared_in_memory_are_not_called_looked_at_in_storage(
    file_system: str | None, share: float | None, text: str | None
) -> None:
    phase = plan.Phase(name="p", title="p", jobs=(one_job(plan.Do(op=read_op())),))
    facts: dict[str, FactValue] = {} if file_system is None else {"target.target.fs.type": file_system}
    run = SyntheticRun(one_plan(phase), facts=facts)
    run.say(
        events.Verified(
            t_ns=1,
            phase_index=0,
            set="data",
            blocks=4,
            bytes=4 * 4096,
            generations_known=True,
            resident_share=share,
            corruption=(),
        )
    )
    run.phase([steady_stream(per_s=100, seconds=2, latency_ns=1000)], seconds=2)

    found = [finding.text for finding in judged(run.end()).findings if finding.id == "verified-in-part"]

    assert [each.split(":")[0] for each in found] == ([] if text is None else [text])
