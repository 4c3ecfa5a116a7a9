"""When is a change on storage? Loops whose flushes can be counted by hand."""

import pytest

from assay import plan
from assay.plan.durability import changes_per_flush, leaves_unflushed
from unit.synthetic import one_job, read_op

SINGLE = {"data"}
WRITE = plan.Do(op=read_op("write", kind=plan.OpKind.WRITE))
FSYNC = plan.Do(op=read_op("fsync", kind=plan.OpKind.FSYNC))
BY_NAME = plan.Do(op=read_op("open", kind=plan.OpKind.CREATE))
SOMETIMES = plan.Choice(branches=(plan.Branch(weight=15, actions=()), plan.Branch(weight=1, actions=(FSYNC,))))


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (one_job(WRITE), None),
        (one_job(WRITE, open=plan.OpenFlags(dsync=True)), 0),
        (one_job(WRITE, open=plan.OpenFlags(sync=True)), 0),
        (one_job(WRITE, FSYNC), 1),
        (one_job(FSYNC, WRITE), None),
        (one_job(WRITE, SOMETIMES), None),
        (one_job(plan.Repeat(times=16, actions=(WRITE,)), FSYNC), 16),
        (one_job(plan.Repeat(times=3, actions=(plan.Repeat(times=5, actions=(WRITE,)),)), FSYNC), 15),
        (one_job(plan.Repeat(times=3, actions=(plan.Repeat(times=5, actions=(WRITE,)), FSYNC))), 5),
        (one_job(plan.Choice(branches=(plan.Branch(weight=1, actions=(WRITE, FSYNC)),))), 1),
        (one_job(WRITE, plan.Every(times=16, actions=(FSYNC,))), None),
        (one_job(WRITE, plan.Every(times=1, actions=(FSYNC,))), 1),
        (one_job(plan.Every(times=4, actions=(WRITE, FSYNC))), 1),
        (one_job(plan.Choice(branches=(plan.Branch(weight=1, actions=(WRITE,)),)), FSYNC), 1),
    ],
)
def test_a_write_waits_for_the_flush_that_always_follows_it(job: plan.Job, expected: int | None) -> None:
    assert changes_per_flush(job, (WRITE.op,), SINGLE) == expected


def test_a_group_that_holds_its_flush_is_on_storage_when_it_ends() -> None:
    whole = plan.Group(name="commit", actions=(plan.Repeat(times=8, actions=(WRITE,)), FSYNC))
    without = plan.Group(name="fill", actions=(plan.Repeat(times=8, actions=(WRITE,)),))

    assert changes_per_flush(one_job(whole), (WRITE.op, FSYNC.op), SINGLE) == 0
    assert changes_per_flush(one_job(without, FSYNC), (WRITE.op,), SINGLE) == 8


def test_a_flush_of_another_file_is_none() -> None:
    # Of several files in a set, a write and the flush after it may each take the next.
    assert changes_per_flush(one_job(WRITE, FSYNC), (WRITE.op,), ()) is None

    kept = plan.FromSet(set="data", pick=plan.Next(), slot=0)
    write, flush = (plan.Op(op=op.op.op, name=op.op.name, file=kept, size=op.op.size) for op in (WRITE, FSYNC))
    same = plan.Op(op=plan.OpKind.FSYNC, name="fsync", file=plan.Slot(slot=0))
    other = plan.Op(op=plan.OpKind.FSYNC, name="fsync", file=plan.Slot(slot=1))
    assert changes_per_flush(one_job(plan.Do(op=write), plan.Do(op=same)), (write,), ()) == 1
    assert changes_per_flush(one_job(plan.Do(op=write), plan.Do(op=other)), (write,), ()) is None
    assert changes_per_flush(one_job(plan.Do(op=write), plan.Do(op=flush)), (write,), ()) is None


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (one_job(), False),
        (one_job(WRITE), True),
        (one_job(WRITE, open=plan.OpenFlags(direct=plan.Direct.ON)), True),
        (one_job(WRITE, open=plan.OpenFlags(direct=plan.Direct.ON, dsync=True)), False),
        (one_job(BY_NAME, open=plan.OpenFlags(direct=plan.Direct.ON)), True),
        (one_job(WRITE, FSYNC), False),
        (one_job(WRITE, plan.Every(times=16, actions=(FSYNC,))), True),
    ],
)
def test_a_phase_leaves_what_no_flush_follows_to_memory_or_a_cache_of_the_device(
    job: plan.Job, *, expected: bool
) -> None:
    assert leaves_unflushed(plan.Phase(name="p", title="p", jobs=(job,)), SINGLE) is expected
