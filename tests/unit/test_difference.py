"""What two runs do not have in common."""

from assay.analysis.difference import Difference, diff_facts, diff_plans
from assay.host.facts import Fact
from assay.plan import Job, Loop, Origin, Phase, Plan


def known(key: str, value: str | float | bool | tuple[str, ...] | None, source: str = "test") -> Fact:
    return Fact(key=key, value=value, source=source)


def test_only_facts_whose_values_differ_are_listed() -> None:
    a = (known("host.cpu.online", 2), known("host.kernel.release", "6.1"), known("only.a", True))
    b = (known("host.cpu.online", 2, "elsewhere"), known("host.kernel.release", "6.18"), known("only.b", 1))

    assert diff_facts(a, b) == (
        Difference(key="host.kernel.release", before="6.1", after="6.18"),
        Difference(key="only.a", before="yes", after="(not recorded)"),
        Difference(key="only.b", before="(not recorded)", after="1"),
    )


def test_a_fact_that_one_side_could_not_read_differs_and_says_why() -> None:
    a, b = (known("x", None, "n/a: no rights"),), (known("x", "value"),)

    assert diff_facts(a, b) == (Difference(key="x", before="(n/a: no rights)", after="value"),)
    assert diff_facts(a, (known("x", None, "n/a: not there"),)) == ()


def test_what_changes_from_moment_to_moment_is_listed_only_when_asked() -> None:
    a = (known("host.load.average_1min", 0.1), known("target.d.fs.free_bytes", 1), known("target.d.fs.total_bytes", 1))
    b = (known("host.load.average_1min", 9.9), known("target.d.fs.free_bytes", 2), known("target.d.fs.total_bytes", 2))

    assert [difference.key for difference in diff_facts(a, b)] == ["target.d.fs.total_bytes"]
    assert len(diff_facts(a, b, with_volatile=True)) == 3


def test_of_two_lists_only_what_the_other_has_not_is_shown() -> None:
    a, b = (known("options", ("rw", "noatime", "discard")),), (known("options", ("rw", "relatime", "discard")),)

    assert diff_facts(a, b) == (Difference(key="options", before="noatime", after="relatime"),)


def test_the_order_of_a_list_is_a_difference_shown_whole() -> None:
    a, b = (known("layers", ("x", "y")),), (known("layers", ("y", "x")),)

    assert diff_facts(a, b) == (Difference(key="layers", before="x, y", after="y, x"),)


def test_a_switch_and_a_number_are_not_the_same() -> None:
    assert diff_facts((known("x", True),), (known("x", 1),)) == (Difference(key="x", before="yes", after="1"),)


def plan(*phases: Phase, seed: int = 1) -> Plan:
    origin = Origin(front_end="test", source="test", sha256="")
    return Plan(name="test", origin=origin, seed=seed, targets=(), file_sets=(), phases=phases)


def phase(name: str, *, queue_depth: int = 1, repeat: int = 0) -> Phase:
    job = Job(name="job", body=Loop(actions=()), queue_depth=queue_depth)
    return Phase(name=name, title=name, jobs=(job,), repeat=repeat)


def test_fields_of_the_plan_are_named_by_their_dotted_path() -> None:
    assert diff_plans(plan(phase("read")), plan(phase("read", queue_depth=32), seed=2)) == (
        Difference(key="seed", before="1", after="2"),
        Difference(key="phases[read].jobs[job].queue_depth", before="1", after="32"),
    )


def test_a_phase_put_in_between_is_one_difference() -> None:
    a, b = plan(phase("write"), phase("read")), plan(phase("write"), phase("mix"), phase("read"))

    (difference,) = diff_plans(a, b)

    assert difference.key == "phases[mix]"
    assert difference.before == "(not recorded)"


def test_phases_in_another_order_differ() -> None:
    a, b = plan(phase("write"), phase("read")), plan(phase("read"), phase("write"))

    assert diff_plans(a, b) == (Difference(key="phases (order)", before="write, read", after="read, write"),)


def test_equal_plans_do_not_differ() -> None:
    assert diff_plans(plan(phase("a"), phase("b")), plan(phase("a"), phase("b"))) == ()


def test_repeats_of_a_phase_are_told_apart() -> None:
    a = plan(phase("read"), phase("read", repeat=1))
    b = plan(phase("read"), phase("read", repeat=1, queue_depth=2))

    assert [difference.key for difference in diff_plans(a, b)] == ["phases[read repeat 1].jobs[job].queue_depth"]
