"""Do the words of `assay measure` become the load that users of fio and elbencho mean by them?"""

import itertools
from pathlib import Path
from typing import Any

import pytest

from assay import plan
from assay.errors import InputError
from assay.loads import native
from assay.loads.simple_load import simple_load
from assay.loads.simple_text import SOURCE, load_text
from assay.plan.walk import job_ops


def plan_of(**options: Any) -> plan.Plan:
    return native.parse(load_text(simple_load(**options)), SOURCE, directory=Path("/mnt"), settings={})


def only_job(**options: Any) -> plan.Job:
    ((job,),) = (phase.jobs for phase in plan_of(**options).phases)
    return job


def loop_of(job: plan.Job) -> tuple[plan.Action, ...]:
    assert isinstance(job.body, plan.Loop)
    return job.body.actions


def test_nothing_said_is_a_sequential_read_of_cold_data_for_twenty_seconds() -> None:
    made = plan_of()
    (phase,) = made.phases
    ((job,), (op,)) = (phase.jobs, job_ops(phase.jobs[0]))

    assert (op.op, op.access, op.size) == (plan.OpKind.READ, plan.Sequential(), plan.Fixed(value=4096))
    assert (job.workers, job.queue_depth, job.backend, job.arrival) == (1, 1, plan.Psync(), plan.Closed())
    assert (phase.stop.seconds, phase.cache) == (20, plan.CacheCondition.COLD)
    assert (made.file_sets[0].files, made.file_sets[0].size) == (1, plan.Fixed(value=1 << 30))


def test_the_options_of_a_random_read_are_those_of_the_job() -> None:
    job = only_job(random=True, bs="8k", depth="32", workers="4", direct=True, size="1g", time="2min", ramp="5s")
    (op,) = job_ops(job)

    assert (job.workers, job.queue_depth, job.open.direct) == (4, 32, plan.Direct.ON)
    assert job.backend == plan.IoUring(fallback=plan.Fallback.THREADS)
    assert (op.access, op.size) == (plan.RandomAccess(), plan.Fixed(value=8192))
    # Data of the size in all, and a file of its own for each worker.
    made = plan_of(workers="4", size="1g", time="2min", ramp="5s")
    assert (made.file_sets[0].files, made.file_sets[0].size) == (4, plan.Fixed(value=1 << 28))
    assert op.file == plan.FromSet(set="data", pick=plan.Own())
    assert (made.phases[0].stop.seconds, made.phases[0].ramp_s) == (120, 5)


def test_each_depth_and_each_block_size_is_a_row_of_the_same_engine() -> None:
    made = plan_of(random=True, bs="4k,64k", depth="1,8")

    assert [phase.name for phase in made.phases] == [
        f"random-read-{size}-depth-{depth}" for size in ("4KiB", "64KiB") for depth in (1, 8)
    ]
    assert {type(job.backend) for phase in made.phases for job in phase.jobs} == {plan.IoUring}
    assert [job.queue_depth for phase in made.phases for job in phase.jobs] == [1, 8, 1, 8]


@pytest.mark.parametrize(
    ("name", "backend"), [("libaio", plan.Aio()), ("sync", plan.ReadWrite()), ("mmap", plan.Mmap())]
)
def test_an_engine_has_the_name_that_fio_has_for_it(name: str, backend: plan.Backend) -> None:
    assert only_job(engine=name).backend == backend
    # Whoever names io_uring wants no other.
    assert only_job(engine="io_uring").backend == plan.IoUring(fallback=plan.Fallback.REFUSE)


def test_a_mix_draws_reads_and_writes_by_their_shares_and_flushes_count_writes() -> None:
    (choice,) = loop_of(only_job(mix="70/30", random=True, fsync_every="16"))
    assert isinstance(choice, plan.Choice)
    reads, writes = choice.branches

    assert (reads.weight, writes.weight) == (70, 30)
    write, every = writes.actions
    assert isinstance(write, plan.Do)
    assert write.op.op is plan.OpKind.WRITE
    assert isinstance(every, plan.Every)
    assert every.times == 16
    assert [action.op.op for action in every.actions if isinstance(action, plan.Do)] == [plan.OpKind.FSYNC]


def test_a_rate_is_an_open_loop_whose_arrivals_hold_their_flush_and_a_limit_is_a_closed_one() -> None:
    opened = only_job(write=True, rate="500/s", spacing="poisson", fsync_every="1")
    held = only_job(write=True, limit="100MiB/s")

    assert opened.arrival == plan.Open(rate_per_s=500, spacing=plan.Spacing.POISSON)
    (group,) = loop_of(opened)
    assert isinstance(group, plan.Group)
    assert len(group.actions) == 2
    assert (held.arrival, held.limit) == (plan.Closed(), plan.RateLimit(bytes_per_s=100 << 20))
    assert only_job(limit="500/s").limit == plan.RateLimit(ops_per_s=500)
    assert only_job(limit="500").limit == plan.RateLimit(ops_per_s=500)


def test_workers_that_share_one_file_go_through_a_part_of_it_each() -> None:
    (op,) = job_ops(only_job(workers="4", files="1"))

    assert op.access == plan.Sequential(region=plan.Slice())
    assert isinstance(op.file, plan.FromSet)
    assert op.file.pick == plan.Next()


def test_verified_writes_are_read_again_at_the_end() -> None:
    made = plan_of(write=True, verify=True, depth="1,4")

    assert made.file_sets[0].content.stamped
    assert plan.Verify(set="data") in made.phases[-1].after
    assert plan.Verify(set="data") not in made.phases[0].after


KINDS: tuple[dict[str, Any], ...] = ({}, {"write": True}, {"mix": "50"}, {"write": True, "dsync": True})
WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"workers": "3", "files": "1"},
    {"workers": "2", "files": "5"},
    {"depth": "1,16", "direct": True},
    {"rate": "0.5/s"},
    {"limit": "1GiB/s"},
    {"cache": "as_is", "extend": "1h"},
)


@pytest.mark.parametrize(("kind", "way", "random"), list(itertools.product(KINDS, WAYS, (False, True))))
def test_whatever_goes_together_is_a_load_file_that_is_read_as_any_other(
    kind: dict[str, Any], way: dict[str, Any], *, random: bool
) -> None:
    made = plan_of(**kind, **way, random=random)

    assert made.name == "measure"
    assert all(phase.stop.seconds == 20 for phase in made.phases)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"read": True, "write": True}, "give only one of --read, --write and --mix"),
        ({"mix": "70/40"}, "--mix 70/40: write 70/30 for 70 % reads"),
        ({"mix": "0/100"}, "--mix 0/100"),
        ({"bs": "4KB"}, "--bs 4KB: '4KB' means two things: write 4KiB"),
        ({"bs": "4k,"}, "--bs : '' is not a size"),
        ({"bs": "0"}, "--bs 0: 0 bytes move nothing"),
        ({"bs": "2g"}, "--bs 2g: 2147483648 is out of range"),
        ({"bs": "4k,4096"}, "has a value twice"),
        ({"bs": "1m", "size": "512k"}, "--bs 1.00 MiB is larger than a file, 512 KiB"),
        (
            {"bs": "1m", "size": "2m", "workers": "4", "files": "1"},
            "does not fit into a worker's part of the file, 512 KiB",
        ),
        ({"depth": "0"}, "--depth 0: 0 is out of range: 1 to 32768"),
        ({"depth": "deep"}, "--depth deep: a whole number is wanted"),
        ({"depth": "8", "engine": "psync"}, "use --engine io_uring, or --workers 8"),
        ({"engine": "posixaio"}, "--engine posixaio: it is one of sync, read_write, psync, io_uring"),
        ({"engine": "mmap", "direct": True}, "leave one of them out"),
        ({"cache": "warm", "direct": True}, "--cache warm fills the page cache, which --direct passes by"),
        ({"direct": True, "bs": "1000"}, "--bs 1000: --direct moves multiples of 512 bytes; use 1024B"),
        ({"workers": "1e3"}, "--workers 1e3: a whole number is wanted"),
        ({"files": "2", "workers": "4"}, "use --files 1, of which each gets a part, or --files 4"),
        ({"fsync_every": "4"}, "--fsync-every 4: reads leave nothing to flush"),
        ({"write": True, "fsync_every": "4", "fdatasync_every": "4"}, "give one of them"),
        ({"write": True, "fsync_every": "0"}, "--fsync-every 0: 0 is out of range"),
        ({"write": True, "fsync_every": "4", "files": "9"}, "flushes one file"),
        ({"write": True, "fsync_every": "4", "depth": "4", "rate": "9"}, "use --depth 1 with more --workers"),
        ({"rate": "fast"}, "--rate fast: a rate such as 500/s is wanted"),
        ({"rate": "0"}, "--rate 0: 0.0 is out of range"),
        ({"rate": "10k/s"}, "operations a second, written out"),
        ({"rate": "5", "limit": "5"}, "give one of them"),
        ({"limit": "5MB/s"}, "'5MB' means two things"),
        ({"spacing": "poisson"}, "give a rate, or leave it out"),
        ({"rate": "5", "spacing": "even"}, "--spacing even: it is one of uniform, poisson"),
        ({"cache": "hot"}, "--cache hot: it is one of as-is, cold, warm"),
        ({"time": "0"}, "--time is 0"),
        ({"time": "soon"}, "--time soon: 'soon' is not a time"),
        ({"time": "5s", "ramp": "5s"}, "--ramp 5s leaves nothing of --time 5s"),
        ({"time": "5s", "extend": "4s"}, "--extend 4s must be above --time, 5s"),
        ({"seed": "-1"}, "--seed -1: a whole number is wanted"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_in_the_words_of_the_options(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        simple_load(**options)

    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("what", [{}, {"write": True}, {"mix": "70/30"}])
def test_what_laying_out_left_in_memory_is_no_part_of_a_load_unless_it_is_wanted(what: dict[str, Any]) -> None:
    assert simple_load(**what).cache == "cold"
    assert simple_load(**what, cache="as-is").cache == "as-is"


def test_a_batch_is_said_where_there_is_a_queue() -> None:
    assert only_job(depth="8", batch="4").batch == plan.Batch(submit=4)
    assert only_job(batch="4").batch == plan.Batch()
    with pytest.raises(InputError, match="--batch 0"):
        only_job(batch="0")
