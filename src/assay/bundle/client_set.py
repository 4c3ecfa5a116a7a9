"""Read and write `clients.json`: the clients of a run of several.

Each client's stream is in `events/NAME.ndjson` until the run is sealed, as that of a client that is alone is. What only
the leader knew is here: the offset of each client's clock, when each phase was to begin, who was
lost and when. Times without another word are nanoseconds of the leader's CLOCK_MONOTONIC; a client's become that by
`leader = client - offset`.

Whoever unpacks a stranger's run reads this too, so that everything has limits.
"""

import enum
import re
from pathlib import Path
from typing import Final

import msgspec

from assay.bundle.files import write_durably
from assay.bundle.strict_json import decode
from assay.clocks import ClockReading
from assay.host.facts import Fact
from assay.units import format_names

CLIENTS = "clients.json"
SCHEMA = "assay.clients/1"
MOST_CLIENTS: Final = 20_000
LONGEST_NAME: Final = 64
_LONGEST_TEXT: Final = 1000
_MOST_READINGS: Final = 10_000
_MOST_NAMED: Final = 8
_LONGEST_WORD: Final = 255
_WORD = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9._:%@-]*", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


class Role(enum.Enum):
    """What a client is there for."""

    LOAD = "load"
    OBSERVER = "observer"
    """It counts what its machine does, on the same clock, and makes no load."""


class Share(enum.Enum):
    """What each client gets of the Plan; `cluster/shares.py` describes how."""

    OWN = "own"
    """All of it, each in a folder of its own in the target's directory."""
    TOGETHER = "together"
    """All of it, in one folder, with names that cannot meet."""
    FILES = "files"
    """An equal part of the files and of the operations that are counted."""
    ONE_SET = "one-set"
    """The same files for all: the first client lays them out."""


class OnLost(enum.Enum):
    """What becomes of the run when a client is lost."""

    CONTINUE = "continue"
    STOP = "stop"
    """The phase ends for all, and the run with it; data is removed."""
    ABORT = "abort"
    """All engines are ended at once."""


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """A client that was there when the run began, and not when it ended."""

    heard_ns: int
    """The last sign of life."""
    noticed_ns: int
    reason: str
    phase_index: int | None
    """That was under way, or about to begin; None: before the first."""
    is_collected: bool = False
    """Whether what it measured was fetched all the same: later, from its machine."""


class ReachedBy(enum.Enum):
    """How a client was reached."""

    SSH = "ssh"
    LOCAL = "local"
    """It was a child of the leader, on its machine."""
    JOINED = "joined"
    """Somebody else started it."""


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """How a client was reached, as far as it takes to reach it again. Raises ValueError for what no command line holds."""

    way: ReachedBy
    address: str | None = None
    """What ssh connected to; None: it was not ssh."""
    user: str | None = None
    """User there, if given."""
    needs_file: bool = False
    """Whether more was given, such as a port or a Python, than is possible outside of a file of hosts."""

    def __post_init__(self) -> None:
        """Hold to what can be shown to be typed again: anybody may have written it."""
        if (self.address is None) != (self.way is not ReachedBy.SSH):
            raise ValueError("a client has an address of ssh if it was reached by that")
        for word in (self.address, self.user):
            if word is not None and not is_plain_word(word):
                raise ValueError(f"{word[:LONGEST_NAME]!r} is no address, or user, of ssh")


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One client, or observer."""

    name: str
    """By which it is called everywhere: letters, digits and `._-`, unique in the run, and the name of its stream."""
    role: Role
    hostname: str
    """As its machine calls itself."""
    address: str
    """By which it was reached."""
    facts: tuple[Fact, ...]
    """Of its machine and targets, with the keys that a run of one client has."""
    clock: tuple[ClockReading, ...]
    """In the order of time: before the first phase, and after each."""
    lost: Lost | None
    reached: Reached | None = None
    """None: the version that led the run did not keep it."""

    def __post_init__(self) -> None:
        """Hold to the limits; raises ValueError."""
        if not is_client_name(self.name):
            raise ValueError(f"{self.name[:LONGEST_NAME]!r} is no name of a client")
        if len(self.clock) > _MOST_READINGS:
            raise ValueError(f"{len(self.clock)} readings of one clock are too many")
        for text in (self.hostname, self.address, self.lost.reason if self.lost else ""):
            if len(text) > _LONGEST_TEXT:
                raise ValueError("a text of a client is too long")


class PhaseStart(msgspec.Struct, frozen=True, kw_only=True):
    """When a phase was to begin everywhere."""

    phase_index: int
    at_ns: int
    members: tuple[str, ...]
    """Clients that were asked to."""


class ClientSet(msgspec.Struct, frozen=True, kw_only=True):
    """The file. Raises ValueError for what is beyond the limits."""

    schema: str = SCHEMA
    share: Share
    on_lost: OnLost
    members: tuple[Member, ...]
    starts: tuple[PhaseStart, ...]

    def __post_init__(self) -> None:
        """Hold to the limits what anybody may have written."""
        if self.schema != SCHEMA:
            raise ValueError(f"the schema is {self.schema[:LONGEST_NAME]!r}, and this Assay reads {SCHEMA}")
        if not 0 < len(self.members) <= MOST_CLIENTS:
            raise ValueError(f"these are {len(self.members)} clients; 1 to {MOST_CLIENTS} are a set")
        names = {member.name for member in self.members}
        if len(names) != len(self.members):
            raise ValueError("two clients have one name")
        if any(start.phase_index < 0 or not names.issuperset(start.members) for start in self.starts):
            raise ValueError("a start is of no phase, or of a client that is not in the set")

    @property
    def named(self) -> str:
        """The first of all by name, for a sentence."""
        return format_names([member.name for member in self.members], _MOST_NAMED)

    @property
    def loads(self) -> tuple[Member, ...]:
        """Those that make load."""
        return tuple(member for member in self.members if member.role is Role.LOAD)

    @property
    def observers(self) -> tuple[Member, ...]:
        """Those that only count."""
        return tuple(member for member in self.members if member.role is Role.OBSERVER)


def is_client_name(name: str) -> bool:
    """Whether a client can be called so: it is the name of a file, too."""
    return len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None and ".." not in name


def is_plain_word(word: str) -> bool:
    """Whether an address or a user of ssh is safe in a command line: no option, nothing that a shell interprets."""
    return len(word) <= _LONGEST_WORD and _WORD.fullmatch(word) is not None


def write_client_set(folder: Path, found: ClientSet) -> None:
    """Write the file, durably, in the place of an older one; raises RunError."""
    write_durably(folder / CLIENTS, msgspec.json.format(msgspec.json.encode(found), indent=2))


def client_set_of(data: bytes) -> ClientSet:
    """Read the file's content; raises ValueError where it is not one."""
    return decode(data, ClientSet)
