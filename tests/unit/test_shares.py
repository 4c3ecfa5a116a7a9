"""What each client gets of a Plan: nothing is lost or done twice, names do not meet, the rest is refused."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay import plan
from assay.bundle.client_set import Share
from assay.cluster.files_share import existing_files, split
from assay.cluster.shares import lays_out_for_all, notes, seed_of, share_plan
from assay.errors import InputError
from assay.loads import native
from assay.plan import FileSet, Job, Op, OpKind, Phase, Plan
from assay.plan.walk import job_actions
from assay.targets import directories
from unit.test_native_golden import LOADS, parse
from unit.test_seams import Check, check

__all__ = ["check"]

EXAMPLES = sorted((Path(__file__).parents[2] / "docs" / "examples").glob("*.toml"))
DIRECTORY = Path("/mnt/shared")
RUN = "0123456789abcdef"
NAMES = st.lists(
    st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,8}[A-Za-z0-9])?", fullmatch=True), min_size=1, max_size=7, unique=True
)


NEXT = plan.Next()


def read(name: str = "read", set_name: str = "data", pick: plan.Pick = NEXT) -> Op:
    size = plan.Fixed(value=4096.0)
    return Op(op=OpKind.READ, name=name, file=plan.FromSet(set=set_name, pick=pick), size=size)


def a_set(name: str = "data", files: int = 100, **fields: object) -> FileSet:
    whole = FileSet(name=name, target="target", path=name, files=files, size=plan.Uniform(min=1.0, max=9e4))
    return replace(whole, **fields)


def a_plan(*jobs: Job, sets: tuple[FileSet, ...] = (a_set(),), **phase: object) -> Plan:
    before = tuple(plan.Prepare(set=one.name) for one in sets)
    return Plan(
        name="load",
        origin=plan.Origin(front_end="native", source="load.toml", sha256=""),
        seed=7,
        targets=(plan.Target(name="target", uri=DIRECTORY.as_uri()),),
        file_sets=sets,
        phases=(replace(Phase(name="p", title="P", jobs=jobs, before=before), **phase),),
    )


def a_job(*actions: plan.Action, **fields: object) -> Job:
    body = plan.Loop(actions=actions or (plan.Do(op=read()),))
    return replace(Job(name="job", body=body), **fields)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Plans that every share can have, but for what is drawn too small to be divided."""
    counts = st.none() | st.integers(0, 10**9)
    sets = tuple(
        a_set(f"set{i}", draw(st.integers(1, 10**6)), existing_share=draw(st.floats(0, 1)))
        for i in range(draw(st.integers(1, 3)))
    )

    def stop() -> plan.Stop:
        of = draw(st.sampled_from(plan.StopOf))
        return plan.Stop(seconds=60.0, ops=draw(counts), bytes=draw(counts), passes=draw(counts), of=of)

    def job(number: int) -> Job:
        inside = plan.Do(op=read(f"read{number}", draw(st.sampled_from(sets)).name))
        finish = plan.FinishOn(op=f"read{number}", ops=draw(counts), bytes=draw(counts))
        token = plan.Token(bucket="b", rate_per_s=draw(st.floats(1, 1e9)), unit=plan.TokenUnit.EVENT)
        arrival = draw(st.just(plan.Closed()) | st.builds(lambda rate: plan.Open(rate_per_s=rate), st.floats(1, 1e9)))
        ops, data = (draw(st.none() | st.floats(1000, 1e9)) for _ in range(2))
        loop = plan.Loop(actions=(token, plan.Repeat(times=3, actions=(inside, finish))))
        limit = plan.RateLimit(ops_per_s=ops, bytes_per_s=data)
        return Job(
            name=f"job{number}", body=loop, workers=draw(st.integers(1, 9)), arrival=arrival, limit=limit, stop=stop()
        )

    jobs = tuple(job(number) for number in range(draw(st.integers(1, 3))))
    return a_plan(*jobs, sets=sets, stop=stop())


def counts_of(part: Plan) -> Iterator[int | None]:
    """Everything that is counted, in order."""
    for file_set in part.file_sets:
        yield file_set.files
        yield existing_files(file_set)
    for phase in part.phases:
        for stop in (phase.stop, *(job.stop for job in phase.jobs)):
            yield from (stop.ops, stop.bytes, stop.passes)
        for job in phase.jobs:
            finishes = (action for action in job_actions(job) if isinstance(action, plan.FinishOn))
            yield from itertools.chain.from_iterable((one.ops, one.bytes) for one in finishes)


def rates_of(part: Plan) -> Iterator[float]:
    for job in (job for phase in part.phases for job in phase.jobs):
        if isinstance(job.arrival, plan.Open):
            yield job.arrival.rate_per_s
        yield from (rate for rate in (job.limit.ops_per_s, job.limit.bytes_per_s) if rate is not None)
        yield from (action.rate_per_s for action in job_actions(job) if isinstance(action, plan.Token))


def shape_of(part: Plan) -> object:
    """What has to be as in the whole: labels, workers, sizes, times, steps."""
    phases = [
        (one.name, one.title, one.repeat, one.before, one.after, one.stop.seconds, one.stop.of) for one in part.phases
    ]
    jobs = [
        (job.name, job.workers, job.queue_depth, job.backend, job.timed, job.stop.of)
        for phase in part.phases
        for job in phase.jobs
    ]
    sets = [(one.name, one.size, one.layout, one.file_name, one.content) for one in part.file_sets]
    return part.name, part.origin, [target.name for target in part.targets], phases, jobs, sets


# -- an equal part -----------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**15), st.integers(1, 1000))
def test_a_number_is_divided_as_evenly_as_can_be(total: int, clients: int) -> None:
    parts = [split(total, number, clients) for number in range(clients)]

    assert sum(parts) == total
    assert max(parts) - min(parts) <= 1
    assert parts == sorted(parts, reverse=True)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(plans(), NAMES)
def test_parts_add_up_to_the_whole(whole: Plan, clients: list[str]) -> None:
    smallest = min(count for count in counts_of(whole) if count)
    too_small = any(one.files < len(clients) for one in whole.file_sets) or any(
        0 < (count or 0) < len(clients)
        for index, count in enumerate(counts_of(whole))
        if index >= 2 * len(whole.file_sets)
    )
    try:
        parts = share_plan(whole, Share.FILES, clients)
    except InputError:
        assert too_small, smallest
        return

    assert not too_small
    assert list(parts) == clients
    for of_whole, *each in zip(counts_of(whole), *map(counts_of, parts.values()), strict=True):
        if of_whole is None:
            assert each == [None] * len(clients)
        else:
            assert sum(count for count in each if count is not None) == of_whole
    for of_whole, *rates in zip(rates_of(whole), *map(rates_of, parts.values()), strict=True):
        assert math.fsum(rates) == pytest.approx(of_whole, rel=1e-12)
        assert len(set(rates)) == 1
    assert [shape_of(part) for part in parts.values()] == [shape_of(whole)] * len(clients)


@pytest.mark.parametrize(
    ("whole", "reason"),
    [
        (a_plan(a_job(), sets=(a_set(files=1),)), "set 'data' has 1 file for 2 clients; take --share one-set"),
        (
            a_plan(a_job(stop=plan.Stop(passes=1))),
            "phase 'p', job 'job' ends by passes = 1, which 2 clients cannot divide",
        ),
        (a_plan(a_job(), stop=plan.Stop(ops=1)), "phase 'p' ends by ops = 1"),
        (a_plan(a_job(arrival=plan.Open(rate_per_s=1.5e-6))), "the 2th part of rate_per_s = 1.5e-06 is below 1e-06"),
        (
            a_plan(a_job(plan.Do(op=read(pick=plan.Own())), workers=8), sets=(a_set(files=8),)),
            "the 8 workers of job 'job' have a file each of set 'data', and 8 files are too few for 2 clients",
        ),
        (a_plan(a_job(), before=(plan.Fill(target="target", used_share=0.5),)), "'fill' looks at what is free"),
    ],
)
def test_what_cannot_be_divided_is_refused(whole: Plan, reason: str) -> None:
    with pytest.raises(InputError) as refused:
        share_plan(whole, Share.FILES, ["a", "b"])

    assert reason in str(refused.value)


def test_a_bound_that_is_a_rate_is_one_of_all_clients() -> None:
    def bound(of: plan.SteadyOf, *, is_percent: bool) -> float:
        rule = plan.SteadyRule(of=of, bound=100.0, is_percent=is_percent, window_s=10.0)
        part = share_plan(a_plan(a_job(), steady=rule), Share.FILES, ["a", "b"])["a"]
        steady = part.phases[0].steady
        assert steady is not None
        return steady.bound

    assert bound(plan.SteadyOf.OPS, is_percent=False) == 50
    assert bound(plan.SteadyOf.LATENCY, is_percent=False) == 100
    assert bound(plan.SteadyOf.BYTES, is_percent=True) == 100


# -- all of it ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(plans(), NAMES)
def test_clients_of_their_own_do_the_whole_in_folders_that_do_not_meet(whole: Plan, clients: list[str]) -> None:
    parts = share_plan(whole, Share.OWN, clients)

    folders = [directories(part)["target"] for part in parts.values()]
    assert folders == [DIRECTORY / "assay-clients" / client for client in clients]
    for number, part in enumerate(parts.values()):
        assert replace(part, targets=whole.targets, seed=whole.seed) == whole
        assert part.seed == seed_of(whole.seed, number)


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(plans(), NAMES)
def test_clients_together_do_the_whole_with_names_of_their_own(whole: Plan, clients: list[str]) -> None:
    parts = share_plan(whole, Share.TOGETHER, clients, run=RUN)

    for number, (client, part) in enumerate(parts.items()):
        assert part.among == plan.Among(run=RUN, part=0, parts=1, owner=client)
        assert part.seed == seed_of(whole.seed, number)
        assert replace(part, among=None, seed=whole.seed) == whole


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(plans(), NAMES)
def test_clients_on_one_set_differ_in_their_part_alone(whole: Plan, clients: list[str]) -> None:
    parts = share_plan(whole, Share.ONE_SET, clients, run=RUN)

    for number, part in enumerate(parts.values()):
        assert part.among == plan.Among(run=RUN, part=number, parts=len(clients), owner="")
        assert replace(part, among=None) == whole


@pytest.mark.long
@given(plans(), NAMES, st.sampled_from(Share))
@settings(max_examples=100, deadline=None)
def test_a_share_is_a_function_of_what_it_is_given(whole: Plan, clients: list[str], share: Share) -> None:
    try:
        first = share_plan(whole, share, clients, run=RUN)
    except InputError:
        return

    assert share_plan(whole, share, clients, run=RUN) == first
    assert all(Plan.from_json(part.to_json()) == part for part in first.values())


def test_who_lays_out_is_known_where_others_wait_for_it() -> None:
    assert lays_out_for_all(Share.ONE_SET, ["a", "b"]) == "a"
    assert {lays_out_for_all(share, ["a"]) for share in Share if share is not Share.ONE_SET} == {None}


def test_no_two_runs_have_one_word() -> None:
    among = [share_plan(a_plan(a_job()), Share.ONE_SET, ["a"])["a"].among for _ in range(2)]

    assert among[0] != among[1]


@given(st.integers(0, 2**64 - 1))
def test_seeds_are_those_of_splitmix64_and_the_first_is_the_plans(seed: int) -> None:
    seeds = [seed_of(seed, number) for number in range(100)]

    assert seeds[0] == seed
    assert len(set(seeds[1:])) == 99
    assert all(0 <= one < 2**64 for one in seeds)


def test_the_generator_gives_the_numbers_that_its_authors_give() -> None:
    # The first outputs for the seed 1234567, as in the reference implementation's published test vector.
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]

    assert [seed_of(1234567, number) for number in range(1, 5)] == expected


# -- one folder --------------------------------------------------------------------------------------------------------


def test_sets_in_one_folder_are_neither_kept_nor_reused_and_that_is_said() -> None:
    whole = a_plan(a_job(), sets=(a_set(keep=True, reuse=plan.Reuse.IF_MATCHES),))

    part = share_plan(whole, Share.TOGETHER, ["a", "b"])["b"]

    assert (part.file_sets[0].keep, part.file_sets[0].reuse) == (False, plan.Reuse.NEVER)
    assert [note.what for note in part.untranslated] == ["--share together: keep", "--share together: reuse"]
    assert part.untranslated == notes(whole, Share.TOGETHER)
    assert notes(whole, Share.OWN) == ()


@pytest.mark.parametrize(
    ("file_set", "reason"),
    [
        (a_set(reuse=plan.Reuse.TRUST), "is to be used as it is"),
        (a_set(content=plan.Content(stamped=True)), "is stamped"),
    ],
)
def test_sets_that_cannot_be_in_one_folder_are_refused(file_set: FileSet, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        share_plan(a_plan(a_job(), sets=(file_set,)), Share.TOGETHER, ["a", "b"])


def test_the_first_client_alone_fills_the_storage_and_drops_the_caches_of_its_server() -> None:
    steps = (
        plan.Prepare(set="data"),
        plan.Fill(target="target", used_share=0.5),
        plan.DropCaches(place=plan.Place.SERVER),
        plan.DropCaches(place=plan.Place.CLIENT),
        plan.Evict(set="data"),
    )

    parts = share_plan(a_plan(a_job(), before=steps), Share.TOGETHER, ["a", "b"])

    assert parts["a"].phases[0].before == steps
    assert parts["b"].phases[0].before == (steps[0], steps[3], steps[4])


def op_of(kind: OpKind, **fields: object) -> Op:
    return replace(read(kind.value), op=kind, **fields)


@pytest.mark.parametrize(
    ("whole", "reason"),
    [
        (a_plan(a_job(plan.Do(op=op_of(OpKind.UNLINK)))), "operation 'unlink': 'unlink' changes names or lengths"),
        (a_plan(a_job(plan.Do(op=op_of(OpKind.TRUNCATE)))), "'truncate' changes names or lengths"),
        (a_plan(a_job(plan.Do(op=op_of(OpKind.WRITE, access=plan.Append())))), "clients that append to one file"),
        (
            a_plan(a_job(plan.Do(op=op_of(OpKind.WRITE)), open=plan.OpenFlags(append=True))),
            "clients that append to one file",
        ),
        (a_plan(a_job(), sets=(a_set(content=plan.Content(stamped=True)),)), "is stamped"),
        (a_plan(a_job(), before=(plan.Prepare(set="data"), plan.Age(set="data"))), "ageing set 'data'"),
        (
            a_plan(a_job(), before=(plan.Prepare(set="data"), plan.Prepare(set="data"))),
            "lays set 'data' out a second time",
        ),
        (a_plan(a_job(), before=(plan.Prepare(set="data"), plan.Remove(set="data"))), "after the load removed it"),
    ],
)
def test_what_clients_would_spoil_for_each_other_is_refused(whole: Plan, reason: str) -> None:
    with pytest.raises(InputError) as refused:
        share_plan(whole, Share.ONE_SET, ["a", "b"])

    assert reason in str(refused.value)


def test_what_a_load_removes_at_its_end_goes_when_all_have_left() -> None:
    whole = a_plan(a_job(), sets=(a_set(keep=True),), after=(plan.Sync(), plan.Remove(set="data")))

    for part in share_plan(whole, Share.ONE_SET, ["a", "b"]).values():
        assert part.phases[0].after == (plan.Sync(),)
        assert not part.file_sets[0].keep


# -- what no client has ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", Share)
@pytest.mark.parametrize(
    ("whole", "reason"),
    [
        (a_plan(a_job(), gate=plan.Semaphore(key=1, number=0, of=1)), "waits for a semaphore of this machine"),
        (a_plan(a_job(), gate=plan.InputLine(number=1)), "waits for a line of input of this machine"),
        (a_plan(a_job(body=plan.Script(ops=(read(),), path="/x/list"))), "its operations are a list in a file of this"),
    ],
)
def test_what_only_this_machine_has_is_refused(share: Share, whole: Plan, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        share_plan(whole, share, ["a", "b"])


@pytest.mark.parametrize(
    ("clients", "reason"),
    [
        ([], "no client makes load"),
        (["a", "a"], "two clients have one name"),
        (["a/b"], "is not a client name"),
        ([".."], "is not a client name"),
    ],
)
def test_names_are_held_to_what_names_are(clients: list[str], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        share_plan(a_plan(a_job()), Share.OWN, clients)


def test_each_client_may_have_a_directory_of_its_own() -> None:
    places = {"a": Path("/mnt/a b"), "b": Path("/mnt/b")}

    parts = share_plan(a_plan(a_job()), Share.OWN, ["a", "b"], directories=places)

    found = {client: directories(part)["target"] for client, part in parts.items()}
    assert found == {client: place / "assay-clients" / client for client, place in places.items()}


@pytest.mark.parametrize(
    ("share", "places", "reason"),
    [
        (Share.TOGETHER, {"a": Path("/a"), "b": Path("/b")}, "has all clients in one directory, and they have 2"),
        (Share.OWN, {"a": Path("/a"), "b": Path("b")}, "'b' is not an absolute directory"),
        (Share.OWN, {"a": Path("/a")}, "client 'b' has no directory, and others have"),
    ],
)
def test_directories_that_do_not_go_with_a_share_are_refused(
    share: Share, places: dict[str, Path], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        share_plan(a_plan(a_job()), share, ["a", "b"], directories=places)


# -- loads that there are ----------------------------------------------------------------------------------------------


def loads() -> list[Plan]:
    examples = [native.parse(path.read_text(), str(path), directory=DIRECTORY, settings={}) for path in EXAMPLES]
    return [*examples, *(parse(path) for path in LOADS)]


@pytest.mark.parametrize("share", Share)
def test_a_load_is_shared_out_or_refused_in_a_line_and_the_engine_takes_every_part(share: Share, check: Check) -> None:
    shared, lines = 0, []
    for whole in loads():
        try:
            parts = share_plan(whole, share, ["node-1", "node-2", "node-3"], run=RUN)
        except InputError as refused:
            lines.append(str(refused))
            continue
        shared += 1
        for part in parts.values():
            assert Plan.from_json(check("--check-plan", part.to_json())) == part

    assert shared >= 3, lines
    assert not any("\n" in line for line in lines)
