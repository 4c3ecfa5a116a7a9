"""What a thread does with files, again and again: the loop of a workload's operation."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from assay import plan
from assay.tools.vdbench.filesystems import Fsd, Fwd
from assay.tools.vdbench.storage_plan import size_of

STOP_AFTER = 100
"""I/Os at random in a file before it is closed, by default."""
_SLOT = 0
_PICKS: dict[str, plan.Pick] = {"random": plan.RandomFile(), "sequential": plan.Next(), "once": plan.Listed()}


class Sets(Protocol):
    """Makes the file sets that loops work on."""

    def set_of(self, fsd: Fsd, *, existing: float = 1.0, suffix: str = "") -> str:
        """Name the set of an FSD; `suffix` distinguishes those in the same folder."""

    def note(self, what: str, why: str) -> None:
        """List what has no exact equivalent and does not change the load."""


class Body:
    """The loop of a thread: its file set, what of it was asked for by name, and its actions."""

    def __init__(self, fwd: Fwd, fsd: Fsd, operation: str, sets: Sets) -> None:
        self._fwd, self._fsd, self._operation = fwd, fsd, operation
        self.asked: tuple[str, ...] = (operation,)
        match operation:
            case "create":
                self.set = sets.set_of(fsd, existing=0.0, suffix="new")
            case "mkdir" | "rmdir":
                if fsd.depth > 1:
                    raise fwd.place.error(
                        f"fwd={fwd.name}: operation={operation} in a tree of depth {fsd.depth} is not supported; use an"
                        " fsd of depth 1"
                    )
                flat = dataclasses.replace(fsd, files=fsd.width, width=1, sizes=((0, 100.0),), totalsize=None)
                self.set = sets.set_of(flat, existing=0.0, suffix="directories")
            case _:
                self.set = sets.set_of(fsd)
        if operation == "setattr":
            sets.note(
                "operation=setattr", "vdbench sets the time of a file, here it is the mode: one change of the inode too"
            )
        if fwd.fileselect == "once":
            sets.note("fileselect=once", "the files are taken each once in the order of their directories")

    def actions(self, flushes: bool) -> Iterator[plan.Action]:
        """Give them in order; `flushes`: each file before it is closed."""
        kinds = {"delete": plan.OpKind.UNLINK, "mkdir": plan.OpKind.MKDIR, "rmdir": plan.OpKind.RMDIR}
        match self._operation:
            case "delete" | "rmdir":
                yield self._name_op(kinds[self._operation], plan.Existing())
            case "mkdir":
                yield self._name_op(plan.OpKind.MKDIR, plan.New())
            case "getattr":
                yield self._name_op(plan.OpKind.STAT, self._pick())
            case "setattr":
                yield self._name_op(plan.OpKind.CHMOD, self._pick())
            case "open":
                yield self._open()
                yield _close()
            case "create":
                new = plan.FromSet(set=self.set, pick=plan.New(), slot=_SLOT)
                yield plan.Do(op=plan.Op(op=plan.OpKind.CREATE, name="create", file=new))
                yield from self._in_order(lambda size: self._transfer(size, 0.0))
                yield _close()
            case _:
                yield self._open()
                yield from self._transfers()
                if flushes:
                    yield plan.Do(op=plan.Op(op=plan.OpKind.FSYNC, name="fsync", file=plan.Slot(slot=_SLOT)))
                yield _close()

    def _name_op(self, kind: plan.OpKind, pick: plan.Pick) -> plan.Action:
        return plan.Do(op=plan.Op(op=kind, name=self._operation, file=plan.FromSet(set=self.set, pick=pick)))

    def _open(self) -> plan.Action:
        file = plan.FromSet(set=self.set, pick=self._pick(), slot=_SLOT)
        return plan.Do(op=plan.Op(op=plan.OpKind.OPEN, name="open", file=file))

    def _pick(self) -> plan.Pick:
        wanted = self._fsd.workingsetsize
        if wanted is None:
            return _PICKS[self._fwd.fileselect]
        if self._fwd.fileselect != "random":
            raise self._fwd.place.error(f"fwd={self._fwd.name}: workingsetsize goes with fileselect=random here")
        whole = self._fsd.files * self._fsd.width**self._fsd.depth * mean_size(self._fsd)
        return plan.RandomFile(distribution=plan.Uniform(min=0.0, max=min(1.0, wanted / max(1.0, whole))))

    def _transfers(self) -> Iterator[plan.Action]:
        reads = 100.0 if self._operation == "read" else 0.0
        if self._fwd.rdpct is not None:
            reads = self._fwd.rdpct
            self.asked = ("read", "write")
        if self.asked == ("read", "write") and reads in (0.0, 100.0):
            self.asked = ("read",) if reads else ("write",)
        if self._fwd.is_random:
            times = self._fwd.stopafter or STOP_AFTER
            yield plan.Repeat(times=times, actions=(self._at_random(reads),))
            return
        yield from self._in_order(lambda size: self._transfer(size, reads))

    def _in_order(self, transfer: Callable[[int], plan.Action]) -> Iterator[plan.Action]:
        fwd, fsd = self._fwd, self._fsd
        if len(fsd.sizes) > 1 or len(fwd.transfer.sizes) > 1:
            raise fwd.place.error(
                f"fwd={fwd.name}: to go through a file in order takes files of one size and I/O of one size here; use"
                " fileio=random, or an fsd and a fwd for each size"
            )
        (size, _), (piece, _) = fsd.sizes[0], fwd.transfer.sizes[0]
        whole, rest = divmod(size, piece)
        if fwd.stopafter is not None and fwd.stopafter < whole + bool(rest):
            raise fwd.place.error(
                f"fwd={fwd.name}: stopafter={fwd.stopafter} in a file of {size} bytes in order is not supported"
            )
        if whole:
            yield plan.Repeat(times=whole, actions=(transfer(piece),))
        if rest:
            yield transfer(rest)

    def _transfer(self, size: int, reads: float, weight: float = 1.0) -> plan.Action:
        return _choice([(weight * share, kind, float(size), None) for share, kind in _kinds(reads)])

    def _at_random(self, reads: float) -> plan.Action:
        fwd = self._fwd
        access = plan.RandomAccess(align_bytes=fwd.transfer.align)
        if fwd.transfer.align:
            size_distribution = size_of(fwd.transfer)
            return _choice([(share, kind, size_distribution, access) for share, kind in _kinds(reads)])
        return _choice(
            [
                (share * part, kind, float(size), access)
                for share, kind in _kinds(reads)
                for size, part in fwd.transfer.sizes
                if part > 0
            ]
        )


def _kinds(reads: float) -> list[tuple[float, plan.OpKind]]:
    kinds = ((reads, plan.OpKind.READ), (100 - reads, plan.OpKind.WRITE))
    return [(share, kind) for share, kind in kinds if share > 0]


_Leaf = tuple[float, plan.OpKind, float | plan.Distribution, plan.Access | None]
"""Weight, kind, size and place of an I/O; without a place it goes on behind the one before."""


def _choice(leaves: Sequence[_Leaf]) -> plan.Action:
    if len(leaves) == 1:
        return _op(leaves[0])
    return plan.Choice(branches=tuple(plan.Branch(weight=leaf[0], actions=(_op(leaf),)) for leaf in leaves))


def _op(leaf: _Leaf) -> plan.Do:
    _, kind, size, access = leaf
    size_distribution = plan.Fixed(value=size) if isinstance(size, float) else size
    where = plan.Sequential() if access is None else access
    return plan.Do(
        op=plan.Op(op=kind, name=kind.value, file=plan.Slot(slot=_SLOT), access=where, size=size_distribution)
    )


def _close() -> plan.Action:
    return plan.Do(op=plan.Op(op=plan.OpKind.CLOSE, name="close", file=plan.Slot(slot=_SLOT)))


def mean_size(fsd: Fsd) -> float:
    """Mean bytes of a file."""
    return sum(size * share for size, share in fsd.sizes) / 100
