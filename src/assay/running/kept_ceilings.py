"""Keep what one thread of this machine reaches at most: measured by a run with that step, and dated.

One file in the user's XDG cache folder, of one machine as it was: another processor or kernel, another number of CPUs that
may be used, or another version of Assay, and what is kept counts for nothing. Without such a folder, or where somebody else
can change what lies there, nothing is kept.
"""

import contextlib
from collections.abc import Iterator, Sequence

import msgspec

from assay import __version__, events, own_files, xdg
from assay.bundle.strict_json import decode
from assay.errors import InputError
from assay.host.facts import CEILINGS_FACT, MACHINE_ID_FACT, Fact
from assay.plan import Ceilings, Plan

_NAME = "ceilings.json"
_MOST_BYTES = 64 << 10
_MACHINE = (MACHINE_ID_FACT, "host.cpu.model", "host.cpu.usable", "host.kernel.release")
"""Facts that have to be the same for a ceiling to be the same."""


class _Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file."""

    assay: str
    machine: tuple[str, ...]
    measured_utc: str
    ceilings: tuple[events.Ceiling, ...]


def keep(ceilings: Sequence[events.Ceiling], machine: Sequence[Fact], measured_utc: str) -> None:
    """Keep what was measured for later runs, where that can be; `machine`: the facts of the run."""
    kept = _Kept(assay=__version__, machine=_of(machine), measured_utc=measured_utc, ceilings=tuple(ceilings))
    with contextlib.suppress(OSError, InputError):
        own_files.replace_own(xdg.caches(), _NAME, msgspec.json.encode(kept))


def recalled(plan: Plan, machine: Sequence[Fact]) -> Iterator[Fact]:
    """Give what is kept of this machine as facts; none for a Plan that measures it itself."""
    if any(isinstance(step, Ceilings) for phase in plan.phases for step in phase.before):
        return
    kept = _read()
    if kept is None or kept.assay != __version__ or kept.machine != _of(machine):
        return
    source = "kept by an earlier run"
    yield Fact(key=f"{CEILINGS_FACT}.measured_utc", value=kept.measured_utc, source=source)
    for ceiling in kept.ceilings:
        of = "" if ceiling.block_size_bytes is None else f".{ceiling.block_size_bytes}_bytes"
        yield Fact(key=f"{CEILINGS_FACT}.{ceiling.name}{of}.ops_per_s", value=ceiling.ops_per_s, source=source)


def _of(machine: Sequence[Fact]) -> tuple[str, ...]:
    known = {fact.key: str(fact.value) for fact in machine}
    return tuple(known.get(key, "") for key in _MACHINE)


def _read() -> _Kept | None:
    with contextlib.suppress(OSError, ValueError, InputError):
        data = own_files.read_own(xdg.caches(), _NAME, _MOST_BYTES)
        return None if data is None else decode(data, _Kept)
    return None
