"""The share of its rate that a job keeps beside others, of runs whose truth is known."""

import msgspec
import pytest

from assay import plan
from assay.report.share_words import line
from assay.results import SoloShare
from assay.verdicts import SharedStorage
from unit.memory_run import judged
from unit.synthetic import SyntheticRun, one_job, one_plan, read_op, steady_stream

READ = plan.Do(op=read_op())
WRITE = plan.Do(op=read_op("write", kind=plan.OpKind.WRITE))
ALONE = plan.Phase(name="alone", title="alone", jobs=(one_job(READ),))
BOTH = plan.Phase(name="both", title="both", jobs=(one_job(READ, name="a"), one_job(WRITE, name="b")))


def shares(*rates: tuple[int, int], alone: plan.Phase = ALONE) -> tuple[SoloShare, ...]:
    """Shares of a run of some repeats, each with the rate alone and beside the other."""
    phases = [
        plan.Phase(name=p.name, title=p.title, jobs=p.jobs, repeat=i) for i in range(len(rates)) for p in (alone, BOTH)
    ]
    run = SyntheticRun(one_plan(*phases, sample_interval_s=0.5))
    for i, (solo, beside) in enumerate(rates):
        run.phase([steady_stream(per_s=solo, seconds=15, latency_ns=1000)], seconds=15, index=2 * i)
        streams = [
            steady_stream(per_s=beside, seconds=15, latency_ns=1000, job="a"),
            steady_stream(per_s=77, seconds=15, latency_ns=1000, job="b", operation="write"),
        ]
        run.phase(streams, seconds=15, index=2 * i + 1)
    return judged(run.end()).solo_shares


def test_a_job_that_has_a_phase_of_its_own_has_a_share_and_another_has_none() -> None:
    (share,) = shares((1000, 400))

    assert (share.result, share.solo, share.method) == ("both/a/read", "alone/read", "windows")
    assert share.share == pytest.approx(0.4, rel=0.001)
    assert share.interval is not None
    assert share.interval[0] <= share.share <= share.interval[1]
    assert line(share).startswith("both/a/read: 40 % of alone/read (")


def test_repeats_give_the_interval_from_three_on() -> None:
    (two,) = shares((1000, 400), (1000, 500))
    (three,) = shares((1000, 400), (1000, 500), (1000, 450))

    assert (two.method, three.method) == ("range", "welch")
    assert list(two.interval or ()) == pytest.approx([0.4, 0.5], rel=0.001)
    assert three.share == pytest.approx((0.4 * 0.5 * 0.45) ** (1 / 3), rel=0.001)
    assert three.interval is not None
    assert three.interval[0] < 0.4
    assert three.interval[1] > 0.5


@pytest.mark.parametrize("other", [one_job(READ, workers=2), one_job(READ, queue_depth=4, backend=plan.IoUring())])
def test_another_job_is_not_the_same_alone(other: plan.Job) -> None:
    assert shares((1000, 400), alone=plan.Phase(name="alone", title="alone", jobs=(other,))) == ()


@pytest.mark.parametrize(
    ("targets", "devices", "shared"),
    [
        (("one", "one"), {"one": ("vda",)}, SharedStorage.TARGET),
        (("one", "two"), {"one": ("vda",), "two": ("vda",)}, SharedStorage.DEVICE),
        (("one", "two"), {"one": ("vda", "vdb"), "two": ("vdb", "vdc")}, SharedStorage.DEVICE),
        (("one", "two"), {"one": ("vda",), "two": ("vdb",)}, SharedStorage.NONE),
        (("one", "two"), {"one": ("vda",)}, SharedStorage.UNKNOWN),
    ],
)
def test_a_share_says_what_the_two_had_in_common(
    targets: tuple[str, str], devices: dict[str, tuple[str, ...]], shared: SharedStorage
) -> None:
    jobs = [_on(name) for name in ("a", "b")]
    phases = (
        plan.Phase(name="alone", title="alone", jobs=tuple(jobs[:1])),
        plan.Phase(name="both", title="both", jobs=tuple(jobs)),
    )
    made = plan.Plan(
        name="two",
        origin=plan.Origin(front_end="native", source="two.toml", sha256="0"),
        seed=1,
        targets=tuple(plan.Target(name=name, uri=f"file:///{name}") for name in dict.fromkeys(targets)),
        file_sets=tuple(
            plan.FileSet(name=name, target=target, path=name, files=1, size=plan.Fixed(value=1e9))
            for name, target in zip("ab", targets, strict=True)
        ),
        phases=phases,
        sample_interval_s=0.5,
    )
    run = SyntheticRun(made, facts={f"target.{name}.device.diskstats": found for name, found in devices.items()})
    run.phase([steady_stream(per_s=1000, seconds=15, latency_ns=1000, job="a")], seconds=15)
    both = [steady_stream(per_s=500, seconds=15, latency_ns=1000, job=name) for name in "ab"]

    (share,) = judged(run.phase(both, seconds=15, index=1).end()).solo_shares

    assert (share.beside, share.shared) == ("b", shared)
    assert share.share == pytest.approx(0.5, rel=0.001)
    assert line(share).endswith(f", with b, {shared.words}")


def _on(name: str) -> plan.Job:
    read = msgspec.structs.replace(read_op(), file=plan.FromSet(set=name, pick=plan.Next()))
    return one_job(plan.Do(op=read), name=name)
