"""What clients of one machine did together, with clients that had no part in a phase, were lost, or are not known."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from assay.analysis.record import SharedMachine
from assay.analysis.rows import Span
from assay.analysis.shared_machine import on_machine

DID: dict[str, float | None] = {"first": 1.0, "second": 20.0, "third": 300.0}
END_NS = 10


def of_machine(without: str, *, unheard: bool, ticks_ns: tuple[int, ...] = (0, END_NS)) -> Any:
    """Give the first client of a machine of three; one of them has no record of the phase, and the third these ticks."""
    times = {
        name: SimpleNamespace(
            is_finished=False,
            set_ns=np.array(ticks_ns if name == "third" else (0, END_NS)),
            to_set=lambda own_ns: own_ns,
            to_own=lambda set_ns: set_ns,
        )
        for name in DID
    }
    clients = {
        name: SimpleNamespace(name=name, machine=None, phases=[] if name == without else [SimpleNamespace(index=0)])
        for name in DID
    }
    clients["first"].machine = SharedMachine(
        client="first",
        clients=clients,  # type: ignore[arg-type]
        unheard=frozenset({without}) if unheard else frozenset(),
        of_set={0: SimpleNamespace(index=0, clients=times)},  # type: ignore[dict-item]
        totals={},
    )
    return clients["first"]


def together(first: Any) -> float | None:
    def pick(run: Any, _record: object, _span: Span) -> float | None:
        return DID[run.name]

    return on_machine(first, first.phases[0], Span(0, END_NS), "what", pick)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (of_machine("nobody", unheard=False), 321.0),
        (of_machine("second", unheard=False), 301.0),
        (of_machine("second", unheard=True), None),
        (of_machine("nobody", unheard=False, ticks_ns=(0, END_NS - 1)), None),
    ],
    ids=["all", "one had no part", "one was lost", "one ended before"],
)
def test_what_all_did_is_added_up_where_it_is_known_of_each(first: Any, expected: float | None) -> None:
    assert together(first) == expected
