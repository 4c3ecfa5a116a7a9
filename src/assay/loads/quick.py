"""`assay quick`: choose the size of the data from RAM, free space and time, and make the Plan of the suite `quick`.

The time to lay the data out is what bounds its size on slow storage, so a small file is laid out first and timed.
"""

from pathlib import Path

from assay import events
from assay.errors import RunError
from assay.host.facts import Fact
from assay.host.storage import storage_path
from assay.loads import native, suites
from assay.loads.parameters import format_phase_seconds
from assay.loads.sizing import Sizing, choose_size
from assay.plan import FileSet, Fixed, Origin, Phase, Plan, Prepare, Target
from assay.running.engine import capabilities, run_quietly
from assay.running.run import check_directory

DEFAULT_SECONDS = 60.0
RESERVE_BYTES = 256 << 20
FIRST_PROBE_BYTES = 32 << 20
LARGEST_PROBE_BYTES = 512 << 20
PROBE_SECONDS = 0.5


def source_text() -> str:
    """The load file of the suite."""
    return suites.text("quick")


def plan(directory: Path, *, seconds: float, size_bytes: int | None) -> tuple[Plan, tuple[Fact, ...]]:
    """Make the Plan for a directory, and the facts that say how its size was chosen.

    Args:
        directory: A directory on the storage to measure; raises InputError if it is none.
        seconds: Measuring time of all phases together.
        size_bytes: Size of the data set, or None to choose one; raises InputError if it does not fit.
    """
    directory = check_directory(directory)
    sizing = _size(directory, seconds, size_bytes)
    values = {
        "size": str(sizing.size_bytes),
        "files": str(sizing.files),
        "phase_seconds": format_phase_seconds(sizing.phase_seconds),
        "metadata_seconds": format_phase_seconds(sizing.metadata_seconds),
    }
    facts = (
        Fact(key="quick.size_bytes", value=sizing.size_bytes, source=sizing.reason),
        Fact(key="quick.size_reason", value=sizing.reason, source="assay"),
    )
    return native.parse(source_text(), "quick.toml", directory=directory, settings=values), facts


def _size(directory: Path, seconds: float, asked: int | None) -> Sizing:
    storage = storage_path(directory)
    hello = capabilities(Target(name="target", uri=directory.as_uri()))
    rate = probe_write_bytes_per_s(directory, storage.free_bytes) if asked is None else 0.0
    return choose_size(
        ram_bytes=hello.machine.ram_bytes,
        free_bytes=storage.free_bytes,
        free_inodes=storage.free_inodes,
        reserve_bytes=RESERVE_BYTES,
        probe_write_bytes_per_s=rate,
        probe_seconds=PROBE_SECONDS,
        total_seconds=seconds,
        asked=asked,
    )


def probe_write_bytes_per_s(directory: Path, free_bytes: int) -> float:
    """Lay a file out, flushed, and return bytes per second: a small one first, a larger one if that took no time.

    The files take at most half of the space that may be used; 0 where not even the small one fits in it.
    """
    room = (free_bytes - RESERVE_BYTES) // 2
    if room < FIRST_PROBE_BYTES:
        return 0.0
    rate = _lay_out(directory, FIRST_PROBE_BYTES)
    larger = min(int(rate * PROBE_SECONDS), LARGEST_PROBE_BYTES, room) >> 20 << 20
    return _lay_out(directory, larger) if larger > FIRST_PROBE_BYTES else rate


def _lay_out(directory: Path, size_bytes: int) -> float:
    probe = Plan(
        name="probe",
        origin=Origin(front_end="assay", source="probe", sha256=""),
        seed=1,
        reserve_bytes=RESERVE_BYTES,
        targets=(Target(name="target", uri=directory.as_uri()),),
        file_sets=(FileSet(name="probe", target="target", path="probe", files=1, size=Fixed(value=float(size_bytes))),),
        phases=(Phase(name="probe", title="probe", jobs=(), before=(Prepare(set="probe"),)),),
    )
    for event in run_quietly(probe):
        if isinstance(event, events.Prepared):
            return event.bytes / max(event.seconds, 1e-6)
    raise RunError(f"{directory}: the engine did not say how fast it writes there; 'assay doctor' looks for the cause")
