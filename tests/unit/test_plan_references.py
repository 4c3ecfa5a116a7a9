"""A Plan in which a name has no object is refused, and the refusal says which."""

from pathlib import Path

import msgspec
import pytest

from assay import plan
from assay.errors import FrontEndError, PlanError
from assay.loads import native
from assay.plan import Plan

READ = plan.Op(op=plan.OpKind.READ, name="read", file=plan.FromSet(set="data", pick=plan.Next(), slot=1))
CLOSE = plan.Op(op=plan.OpKind.CLOSE, name="close", file=plan.Slot(slot=1))


def job(*actions: plan.Action, **fields: object) -> plan.Job:
    return plan.Job(**{"name": "j", "body": plan.Loop(actions=actions), **fields})  # type: ignore[arg-type]


def phase(*jobs: plan.Job, **fields: object) -> plan.Phase:
    return plan.Phase(**{"name": "p", "title": "p", "jobs": jobs, **fields})  # type: ignore[arg-type]


def whole(*phases: plan.Phase, target: str = "disk") -> Plan:
    return Plan(
        name="whole",
        origin=plan.Origin(front_end="native", source="", sha256=""),
        seed=1,
        targets=(plan.Target(name="disk", uri="file:///data"),),
        file_sets=(plan.FileSet(name="data", target=target, path="data", files=1, size=plan.Fixed(value=1.0)),),
        phases=phases,
    )


WORK = job(
    plan.Do(op=READ),
    plan.Wait(semaphore="turn"),
    plan.Group(name="end", actions=(plan.Do(op=CLOSE), plan.Post(semaphore="turn"))),
    plan.FinishOn(op="close", ops=3),
    timed=("read", "end"),
)
STEPS = (plan.Prepare(set="data"), plan.Fill(target="disk", used_share=0.5), plan.Sync())


def test_a_plan_whose_names_all_have_objects_is_taken_also_from_json() -> None:
    made = whole(phase(WORK, before=STEPS))

    assert Plan.from_json(made.to_json()) == made


@pytest.mark.parametrize(
    ("faulty", "said"),
    [
        (phase(WORK, before=(plan.Evict(set="dta"),)), "phase 'p': step 'evict': there is no file set 'dta'; .*: data"),
        (phase(WORK, after=(plan.Remove(set="dta"),)), "step 'remove': there is no file set 'dta'"),
        (phase(WORK, before=(plan.Remount(target="dsk"),)), "step 'remount': there is no target 'dsk'; .*: disk"),
        (
            phase(job(plan.Do(op=msgspec.structs.replace(READ, file=plan.FromSet(set="dta", pick=plan.Own()))))),
            "phase 'p': job 'j': there is no file set 'dta'",
        ),
        (phase(job(plan.Do(op=CLOSE))), "job 'j': there is no operation that fills slot '1'; known here: none"),
        (phase(job(plan.Do(op=READ), plan.FinishOn(op="raed", ops=1))), "there is no operation 'raed'; .*: read"),
        (phase(job(plan.Do(op=READ), timed=("raed",))), "there is no operation or group 'raed'; .*: read"),
        (
            phase(job(plan.Do(op=READ), plan.Wait(semaphore="trun")), job(plan.Post(semaphore="turn"), name="k")),
            "phase 'p': job 'j': there is no post to semaphore 'trun'; known here: turn",
        ),
        (
            phase(job(body=plan.Script(path="x", groups=(plan.ScriptGroup(name="g", ops=(CLOSE,)),)))),
            "there is no operation that fills slot '1'",
        ),
    ],
)
def test_a_name_without_an_object_is_refused_and_named(faulty: plan.Phase, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        whole(phase(WORK, name="good"), faulty)


def test_a_file_set_on_an_unknown_target_is_refused() -> None:
    with pytest.raises(PlanError, match="file set 'data': there is no target 'dsk'; known here: disk"):
        whole(target="dsk")


@pytest.mark.parametrize(
    ("loop", "said"),
    [
        ('[{op = "close", slot = 3}]', "load.toml:8: phase.job: job 'p': there is no operation that fills slot '3'"),
        ('[{wait = "turn"}]', "load.toml:8: phase.job: phase 'p': job 'p': there is no post to semaphore 'turn'"),
    ],
)
def test_a_load_file_says_on_which_line(loop: str, said: str, tmp_path: Path) -> None:
    text = f"""name = "l"
[[file_set]]
name = "s"
size = "1MiB"

[[phase]]
name = "p"
[[phase.job]]
loop = {loop}
"""

    with pytest.raises(FrontEndError, match=said):
        native.parse(text, "load.toml", directory=tmp_path, settings={})


def test_a_share_is_of_a_job_of_the_same_name_in_an_earlier_phase() -> None:
    work = plan.Do(op=plan.Op(op=plan.OpKind.READ, name="read", file=plan.FromSet(set="data", pick=plan.Own())))
    most = phase(job(work), name="most")
    share = phase(job(work, arrival=plan.OpenShare(phase="most", rate_share=0.5)), name="half")
    later = msgspec.structs.replace(share, repeat=1)

    whole(most, share)
    for phases in ((share, most), (phase(job(work, name="k"), name="most"), share), (most, later)):
        with pytest.raises(PlanError, match="phase 'half': job 'j': there is no earlier phase 'most'"):
            whole(*phases)
