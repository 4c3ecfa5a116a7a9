"""Which files a thread has open, in which slots, and who opens them how.

A flowop's fd is a slot of the same number. Where a flowop works on an fd that nothing in the thread opens, Filebench opens
the next file at its first turn and keeps it.
"""

from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from assay.errors import FrontEndError
from assay.tools.arguments import cut
from assay.tools.filebench.flowops import TYPES
from assay.tools.filebench.personality import Flowop, Note

_FIRST_EXTRA_SLOT: Final = 128
"""Files that are named without an fd, after the first of them."""
_MOST_SLOT: Final = 1023


class OpenFiles:
    """The open files of a thread."""

    def __init__(self, flowops: Sequence[Flowop], source: str) -> None:
        """Make the files for the flowops of a thread, in order; raises FrontEndError for those that contradict."""
        self._flowops = flowops
        self._source = source
        self.notes: dict[Note, None] = {}
        self._slots: dict[tuple[int, str], int] = {}
        self.opened = self._explicitly_opened()
        """Name of the file or fileset by fd, of those that a flowop opens or creates."""
        self.implied = self._implicitly_opened()
        """By slot: the flowop that opens a file there at its first turn."""
        self.closed = {self.slot_of(flowop) for flowop in flowops if flowop.kind == "closefile"}
        """Slots that are closed in each pass."""

    def _refuse(self, line: int, text: str) -> NoReturn:
        raise FrontEndError(self._source, line, text)

    def _note(self, what: str, why: str) -> None:
        self.notes[Note(what, why)] = None

    def source_of(self, fd: int) -> str:
        """Name of the file or fileset that is open in an fd; empty: none is."""
        return self.opened.get(fd) or next((files for of, files in self._slots if of == fd), "")

    def all(self) -> dict[int, str]:
        """Name of the file or fileset by slot."""
        return {**self.opened, **{slot: flowop.files for slot, flowop in self.implied.items()}}

    # -- how they are opened -------------------------------------------------------------------------------------------

    def is_direct(self) -> bool:
        """Return whether they bypass the page cache."""
        return self._all_agree(self._openers(), "directio", lambda flowop: flowop.is_direct)

    def is_sync(self) -> bool:
        """Return whether writes wait for the storage."""
        writers = [flowop for flowop in self._openers() if self._is_written(flowop)]
        return self._all_agree(writers, "dsync", lambda flowop: flowop.is_dsync)

    def reads_ahead(self) -> bool:
        """Return whether the kernel may read ahead."""
        return not self._all_agree(self._openers(), "noreadahead", lambda flowop: not flowop.reads_ahead)

    def _openers(self) -> list[Flowop]:
        return [flowop for flowop in self._flowops if self._is_opener(flowop)]

    def _all_agree(self, openers: Sequence[Flowop], word: str, has: Callable[[Flowop], bool]) -> bool:
        for flowop in openers:
            if has(flowop) != has(openers[0]):
                self._refuse(
                    flowop.line,
                    f"near '{word}': this thread opens files with and without it (see line {openers[0].line}); put them into"
                    " threads of their own",
                )
        return bool(openers) and has(openers[0])

    def _is_opener(self, flowop: Flowop) -> bool:
        kind = TYPES[flowop.kind]
        if kind.opens or (kind.is_on_file and (flowop.opens_next or flowop.kind == "aiowrite")):
            return True
        if not kind.is_on_file:
            return False
        if flowop in self.implied.values():
            return True
        first = None if flowop.fd in self.opened else self.implied.get(self.slot_of(flowop))
        for word, is_set in (("directio", flowop.is_direct), ("dsync", flowop.is_dsync)):
            had = first is not None and (first.is_direct if word == "directio" else first.is_dsync)
            if is_set and not had:
                self._note(
                    f"{word} of '{flowop.name}' (line {flowop.line})",
                    f"the file of fd {flowop.fd} is opened by another flowop, without it: as in Filebench, it has no effect",
                )
        return False

    def _is_written(self, flowop: Flowop) -> bool:
        if TYPES[flowop.kind].is_on_file and TYPES[flowop.kind].direction == "write":
            return True
        fd = flowop.fd
        return any(
            other.fd == fd and TYPES[other.kind].direction == "write" and not other.opens_next
            for other in self._flowops
        )

    # -- who opens what ------------------------------------------------------------------------------------------------

    def _explicitly_opened(self) -> dict[int, str]:
        opened: dict[int, str] = {}
        for flowop in self._flowops:
            if TYPES[flowop.kind].opens:
                if not flowop.files:
                    self._refuse(flowop.line, f"near 'flowop {flowop.kind}': it opens no file; give it filesetname=...")
                if flowop.opens_next:
                    self._refuse(
                        flowop.line,
                        f"near 'opennext': {flowop.kind} takes one fd; give it the fd, and leave opennext out",
                    )
                opened.setdefault(flowop.fd, flowop.files)
        return opened

    def _implicitly_opened(self) -> dict[int, Flowop]:
        """Give by slot the flowop that opens a file there at its first turn."""
        implied: dict[int, Flowop] = {}
        for flowop in self._flowops:
            kind = TYPES[flowop.kind]
            if not kind.is_on_file or flowop.fd in self.opened or flowop.opens_next or flowop.kind == "aiowrite":
                continue
            if not flowop.files or (flowop.fd, flowop.files) in self._slots:
                continue
            slot = flowop.fd
            if slot in implied:
                if flowop.fd:
                    before = implied[slot]
                    self._refuse(
                        flowop.line,
                        f"near 'filename={cut(flowop.files)}': fd {flowop.fd} has '{cut(before.files)}' open, from line"
                        f" {before.line}; give one of them another fd, fd=...",
                    )
                slot = _FIRST_EXTRA_SLOT + len(self._slots)
                self._note(
                    f"the one fd of files without any, for '{flowop.files}' (line {flowop.line})",
                    "each file that is named without an fd is open by itself; Filebench stays with the first one, whatever"
                    " is named later",
                )
            if slot > _MOST_SLOT:
                self._refuse(flowop.line, "this thread has too many files open at a time")
            self._slots[flowop.fd, flowop.files] = slot
            implied[slot] = flowop
        return implied

    def slot_of(self, flowop: Flowop) -> int:
        """Give the slot of the file that a flowop works on; refuses where nothing opens it."""
        if flowop.fd in self.opened:
            return flowop.fd
        of_fd = [slot for (fd, files), slot in self._slots.items() if fd == flowop.fd and flowop.files in {"", files}]
        if not of_fd:
            self._refuse(
                flowop.line,
                f"near 'flowop {flowop.kind} name={cut(flowop.name)}': nothing opens its fd {flowop.fd}; open it before, or"
                " give it filename=...",
            )
        return of_fd[0]

    def files_of(self, flowop: Flowop) -> str:
        """Name of the set whose file is open in a flowop's fd."""
        slot = self.slot_of(flowop)
        return self.opened[slot] if slot in self.opened else self.implied[slot].files
