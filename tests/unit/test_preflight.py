"""Room for the data on every client, before any of them lays out a file."""

import msgspec
import pytest

from assay import plan
from assay.cluster.preflight import check_room_of_clients
from assay.errors import RunError
from assay.host.facts import Fact, FactValue
from unit.synthetic import MIB, one_job, one_plan

RESERVE_BYTES = 256 * MIB
SIZED = plan.FileSet(name="data", target="target", path="d", files=4, size=plan.Fixed(value=100 * MIB))


def load(files: plan.FileSet = SIZED) -> plan.Plan:
    laid_out = plan.Phase(name="p", title="p", jobs=(one_job(),), before=(plan.Prepare(set=files.name),))
    return one_plan(laid_out, data=files)


def facts(free_bytes: int, source: str = "/dev/sda") -> tuple[Fact, ...]:
    values: dict[str, FactValue] = {
        "directory": "/data",
        "mount.source": source,
        "fs.total_bytes": 1 << 40,
        "fs.free_bytes": free_bytes,
    }
    return tuple(Fact(key=f"target.target.{name}", value=value, source="test") for name, value in values.items())


def check(
    free_bytes: dict[str, int], hostnames: dict[str, str] | None = None, its_plan: plan.Plan | None = None
) -> None:
    named = {name: (hostnames or {}).get(name, name) for name in free_bytes}
    plans = dict.fromkeys(free_bytes, its_plan or load())
    check_room_of_clients(plans, {name: facts(free) for name, free in free_bytes.items()}, named)


def test_one_client_without_room_refuses_the_run_by_its_name() -> None:
    enough = RESERVE_BYTES + 400 * MIB
    check({"h1": enough, "h2": enough})

    with pytest.raises(RunError, match=r"^h2: 400 MiB are needed, and only 399 MiB are free in /data") as refused:
        check({"h1": enough, "h2": enough - MIB, "h3": enough})

    assert "h1" not in str(refused.value)
    assert "Nothing was laid out on any client" in str(refused.value)


def test_clients_of_one_machine_share_its_room() -> None:
    enough = RESERVE_BYTES + 800 * MIB
    both = {"local-1": "m", "local-2": "m"}
    check({"local-1": enough, "local-2": enough}, both)

    with pytest.raises(RunError, match=r"^local-1, local-2: 800 MiB are needed, and only 799 MiB"):
        check({"local-1": enough, "local-2": enough - MIB}, both)


@pytest.mark.parametrize(
    "change",
    [
        {"reuse": plan.Reuse.IF_MATCHES},
        {"keep": True},
        {"allocate": plan.Allocate.SPARSE},
        {"size": plan.Uniform(min=0, max=200 * MIB)},
    ],
)
def test_what_may_be_there_already_or_be_smaller_refuses_nothing(change: dict[str, object]) -> None:
    check({"h1": 0}, its_plan=load(msgspec.structs.replace(SIZED, **change)))
