"""What a verify step could not look at: is it said, and not where memory is the storage?"""

from typing import TYPE_CHECKING

import msgspec
import pytest

from assay import events, plan
from unit.memory_run import judged
from unit.synthetic import BLOCK_BACKED, DATA, Counters, SyntheticRun, one_job, one_plan, read_op, steady_stream

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


@pytest.mark.parametrize(
    ("from_storage", "file_system", "said"),
    [(1.0, "ext4", None), (0.75, "ext4", "25.0\N{NO-BREAK SPACE}%"), (0.0, "tmpfs", None)],
)
def test_reads_that_compare_in_memory_are_named(from_storage: float, file_system: str, said: str | None) -> None:
    phase = plan.Phase(name="p", title="p", jobs=(one_job(plan.Do(op=read_op())),))
    stamped = msgspec.structs.replace(DATA, content=plan.Content(stamped=True))
    facts = {**BLOCK_BACKED, "target.target.fs.type": file_system}
    run = SyntheticRun(one_plan(phase, data=stamped), facts=facts)
    fetched = round(1000 * 4096 * from_storage)
    counters = Counters(process_read_bytes=fetched, devices={"vda": (fetched, 0)})
    run.phase(
        [steady_stream(per_s=500, seconds=2, latency_ns=1_000_000, bytes_each=4096)], seconds=2, counters=counters
    )

    (result,) = judged(run.end()).results

    found = [finding.text for finding in result.findings if finding.id == "verified-in-part"]
    assert len(found) == (said is not None)
    assert said is None or said in found[0]
