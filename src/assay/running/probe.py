"""Measure how fast a directory takes data, before a run without a given size.

The time to lay the data out is what bounds its size on slow storage, so a small file is laid out first and timed.
"""

from assay import events
from assay.errors import RunError
from assay.plan import FileSet, Fixed, Origin, Phase, Plan, Prepare
from assay.running.engine import run_quietly
from assay.running.users import as_user
from assay.targets import Room, of_directory

FIRST_BYTES = 32 << 20
LARGEST_BYTES = 512 << 20
PROBE_SECONDS = 0.5
"""What a probe is to take."""


def write_bytes_per_s(room: Room, user: str | None = None) -> float:
    """Lay a file out, flushed, and return bytes per second: a small one first, a larger one if that took no time.

    The files take at most half of the space that may be used; 0 where not even the small one fits in it. They are made by
    the user of `--user`.
    """
    half = room.usable_bytes // 2
    if half < FIRST_BYTES:
        return 0.0
    rate = _lay_out(room, FIRST_BYTES, user)
    larger = min(int(rate * PROBE_SECONDS), LARGEST_BYTES, half) >> 20 << 20
    return _lay_out(room, larger, user) if larger > FIRST_BYTES else rate


def _lay_out(room: Room, size_bytes: int, user: str | None) -> float:
    probe = Plan(
        name="probe",
        origin=Origin(front_end="assay", source="probe", sha256=""),
        seed=1,
        reserve_bytes=room.reserve_bytes,
        targets=(of_directory("target", room.directory),),
        file_sets=(FileSet(name="probe", target="target", path="probe", files=1, size=Fixed(value=float(size_bytes))),),
        phases=(Phase(name="probe", title="probe", jobs=(), before=(Prepare(set="probe"),)),),
    )
    for event in run_quietly(as_user(probe, user)):
        if isinstance(event, events.Prepared):
            return event.bytes / max(event.seconds, 1e-6)
    raise RunError(
        f"{room.directory}: the engine did not report how fast it writes there; 'assay doctor' looks for the cause"
    )
