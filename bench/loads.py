"""What is measured: a few loads as the engine's Plans. Files stay when a run ends, so no removal is in any figure."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay import plan

BLOCK_BYTES = 4096
QUEUE_DEPTH = 32
FILES_PER_DIRECTORY = 1000
SAMPLE_INTERVAL_S = 600.0
"""Never during a run: what the engine does once a second to look at the machine costs by time, not by operation, and
would cost the more the slower valgrind makes the run."""


@dataclass(frozen=True)
class Load:
    """One load: a set of files and a job on it.

    `calls` is the number of engine operations that one operation of the load consists of. `ends_by_bytes`: not a number of
    passes ends it, but that many blocks.
    """

    name: str
    files: plan.FileSet
    job: plan.Job
    calls: int = 1
    ends_by_bytes: bool = False

    def measured(self, directory: Path, ops: int) -> plan.Plan:
        """Lay the files out where they are not there yet, and do `ops` operations."""
        stop = plan.Stop(bytes=ops * BLOCK_BYTES) if self.ends_by_bytes else plan.Stop(passes=ops)
        return self._plan(directory, msgspec.structs.replace(self.job, stop=stop))

    def preparation(self, directory: Path) -> plan.Plan:
        """Lay the files out and do nothing with them: what a measured run finds done."""
        return self._plan(directory)

    def _plan(self, directory: Path, *jobs: plan.Job) -> plan.Plan:
        prepare = plan.Prepare(set=self.files.name)
        return plan.Plan(
            name=self.name,
            origin=plan.Origin(front_end="assay", source="bench", sha256=""),
            seed=1,
            targets=(plan.Target(name="target", uri=directory.as_uri()),),
            file_sets=(self.files,),
            sample_interval_s=SAMPLE_INTERVAL_S,
            phases=(plan.Phase(name=self.name, title=self.name, before=(prepare,), jobs=jobs),),
        )


def do(
    kind: plan.OpKind, file: plan.FileRef, *, access: plan.Access | None = None, keeps_buffer: bool = False
) -> plan.Do:
    """One operation, named as its kind; with `access`, of one block."""
    if access is None:
        return plan.Do(op=plan.Op(op=kind, name=kind.value, file=file))
    size = plan.Fixed(value=float(BLOCK_BYTES))
    flags = plan.OpFlags(keeps_buffer=keeps_buffer)
    return plan.Do(op=plan.Op(op=kind, name=kind.value, file=file, access=access, size=size, flags=flags))


def random_read(data_bytes: int) -> Load:
    """4 KiB psync reads at random places of one file, from the page cache."""
    return Load("read", _one_file(data_bytes), plan.Job(name="read", body=_random_reads()))


def random_read_of_bytes(data_bytes: int) -> Load:
    """The same, ended by a number of bytes, which the engine asks before each read."""
    load = random_read(data_bytes)
    return Load("read_of_bytes", load.files, load.job, ends_by_bytes=True)


def direct_random_read(data_bytes: int) -> Load:
    """4 KiB O_DIRECT io_uring reads at random places of one file, 32 in flight."""
    return Load("uring", _one_file(data_bytes), _in_flight("read", _random_reads()))


def direct_random_write(data_bytes: int, *, keeps_buffer: bool) -> Load:
    """4 KiB O_DIRECT io_uring writes at random places of one file that is there, 32 in flight.

    With `keeps_buffer` a write has the content of its buffer, of which one byte changes; without, new content.
    """
    file = plan.FromSet(set="data", pick=plan.Own())
    write = do(plan.OpKind.WRITE, file, access=plan.RandomAccess(), keeps_buffer=keeps_buffer)
    name = "uring_kept" if keeps_buffer else "uring_new"
    return Load(name, _one_file(data_bytes), _in_flight("write", plan.Loop(actions=(write,))))


def stat(files: int) -> Load:
    """Look at files of a tree by name, drawn at random."""
    look = do(plan.OpKind.STAT, plan.FromSet(set="files", pick=plan.RandomFile()))
    return Load("stat", _tree(files, existing_share=1.0), plan.Job(name="stat", body=plan.Loop(actions=(look,))))


def create(files: int) -> Load:
    """Create, write 4 KiB, close: timed as one, as in docs/examples/create-stat-delete.toml."""
    slot = plan.Slot(slot=0)
    actions = (
        do(plan.OpKind.CREATE, plan.FromSet(set="files", pick=plan.New(), slot=0)),
        do(plan.OpKind.WRITE, slot, access=plan.Whole()),
        do(plan.OpKind.CLOSE, slot),
    )
    body = plan.Loop(actions=(plan.Group(name="file", actions=actions),))
    job = plan.Job(name="create", body=body, timed=("file",))
    return Load("create", _tree(files, existing_share=0.0), job, calls=len(actions))


def delete(files: int) -> Load:
    """Remove files one after the other."""
    remove = do(plan.OpKind.UNLINK, plan.FromSet(set="files", pick=plan.Existing()))
    return Load("delete", _tree(files, existing_share=1.0), plan.Job(name="delete", body=plan.Loop(actions=(remove,))))


def budgets() -> dict[str, int]:
    """The user instructions that an operation is to cost at most, by name of the load; not every load has a budget."""
    found: dict[str, dict[str, int]] = tomllib.loads(Path(__file__).with_name("budgets.toml").read_text())
    return found["instructions_per_op"]


def _in_flight(name: str, body: plan.Loop) -> plan.Job:
    return plan.Job(
        name=name,
        body=body,
        backend=plan.IoUring(),
        queue_depth=QUEUE_DEPTH,
        batch=plan.Batch(submit=16),
        open=plan.OpenFlags(direct=plan.Direct.ON),
    )


def _random_reads() -> plan.Loop:
    file = plan.FromSet(set="data", pick=plan.Own())
    return plan.Loop(actions=(do(plan.OpKind.READ, file, access=plan.RandomAccess()),))


def _one_file(data_bytes: int) -> plan.FileSet:
    size = plan.Fixed(value=float(data_bytes))
    return plan.FileSet(
        name="data", target="target", path="data", files=1, size=size, keep=True, reuse=plan.Reuse.IF_MATCHES
    )


def _tree(files: int, *, existing_share: float) -> plan.FileSet:
    return plan.FileSet(
        name="files",
        target="target",
        path="tree",
        files=files,
        size=plan.Fixed(value=float(BLOCK_BYTES)),
        layout=plan.PerDirectory(files=FILES_PER_DIRECTORY),
        existing_share=existing_share,
        keep=True,
        reuse=plan.Reuse.IF_MATCHES,
    )
