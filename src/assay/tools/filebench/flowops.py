"""The types of flowops: a row each. What a thread does for one of them is in `thread_plan.py`."""

import dataclasses
from typing import Final

IO, AIO, SYNC, OTHER = "io", "aio", "sync", "other"
"""Classes of flowops: the summary counts the first two."""


@dataclasses.dataclass(frozen=True)
class FlowopType:
    """What a flowop of a type is."""

    what: str
    of: str = IO
    direction: str = ""
    """`read` or `write`, where it counts as one."""
    is_on_file: bool = False
    """Whether it works on an open file, and opens one where none is."""
    opens: bool = False
    """Whether it opens a file into its fd."""
    needs_files: bool = False
    """Whether it has to name a file or fileset."""
    takes_names: bool = False
    """Whether names run out: it ends its thread when there is none."""
    refusal: str = ""
    """Why it is not supported, and the nearest alternative."""


_DATA = FlowopType("", direction="read", is_on_file=True)
_WRITE = dataclasses.replace(_DATA, direction="write")

TYPES: Final[dict[str, FlowopType]] = {
    "read": dataclasses.replace(_DATA, what="reads iosize bytes, in order or at random"),
    "readwholefile": dataclasses.replace(_DATA, what="reads a file from its start to its end, in pieces of iosize"),
    "write": dataclasses.replace(_WRITE, what="writes iosize bytes, in order without end, or at random"),
    "writewholefile": dataclasses.replace(_WRITE, what="writes a file of its size, in pieces of iosize"),
    "appendfile": dataclasses.replace(_WRITE, what="writes iosize bytes at the end"),
    "appendfilerand": dataclasses.replace(_WRITE, what="writes up to iosize bytes at the end"),
    "aiowrite": dataclasses.replace(_WRITE, of=AIO, what="has iosize bytes written while the thread goes on"),
    "aiowait": FlowopType("waits for such writes", of=AIO),
    "openfile": FlowopType("opens the next file into fd", opens=True, needs_files=True),
    "createfile": FlowopType(
        "creates the next file that does not exist", opens=True, needs_files=True, takes_names=True
    ),
    "closefile": FlowopType("closes fd"),
    "deletefile": FlowopType("removes a file", takes_names=True),
    "statfile": FlowopType("looks at a file's attributes"),
    "fsync": FlowopType("flushes the file of fd"),
    "fsyncset": FlowopType("flushes all open files of a fileset", needs_files=True),
    "makedir": FlowopType("makes a leaf directory", needs_files=True, takes_names=True),
    "removedir": FlowopType("removes a leaf directory", needs_files=True, takes_names=True),
    "listdir": FlowopType("lists a directory", needs_files=True),
    "block": FlowopType("waits for a wakeup", of=SYNC),
    "wakeup": FlowopType("wakes what blocks", of=SYNC),
    "semblock": FlowopType("waits for N posts", of=SYNC),
    "sempost": FlowopType("posts to a semblock", of=SYNC),
    "hog": FlowopType("stores N bytes", of=OTHER),
    "delay": FlowopType("sleeps N seconds", of=OTHER),
    "eventlimit": FlowopType("waits for an event", of=OTHER),
    "opslimit": FlowopType("waits for an event for each operation", of=OTHER),
    "iopslimit": FlowopType("waits for an event for each read and write", of=OTHER),
    "bwlimit": FlowopType("waits for an event for each MiB", of=OTHER),
    "finishoncount": FlowopType("ends the thread at a number of operations", of=OTHER, takes_names=True),
    "finishonbytes": FlowopType("ends the thread at a number of bytes", of=OTHER, takes_names=True),
    "print": FlowopType("", of=OTHER, refusal="it would print in each pass of each thread; write echo before run"),
    "testrandvar": FlowopType(
        "", of=OTHER, refusal="it measures nothing; 'assay filebench -c TYPE' describes the variables"
    ),
}
"""By the word in the script."""

ATTRIBUTES: Final = frozenset(
    {
        "name",
        "filename",
        "filesetname",
        "fd",
        "srcfd",
        "iosize",
        "workingset",
        "random",
        "dsync",
        "directio",
        "iters",
        "value",
        "target",
        "blocking",
        "highwater",
        "indexed",
        "opennext",
        "noreadahead",
    }
)
"""Attributes of any flowop; what its type has no use for is without effect, as in Filebench."""

UNITS: Final = {"eventlimit": "event", "opslimit": "op", "iopslimit": "data_op", "bwlimit": "mebibyte"}
"""What an event of the generator pays for, by the type of flowop that takes it."""
