"""The messages between leader and clients, besides the events themselves.

Everything is plain data: a name of Dask's for what is asked, and JSON that is checked by type where it comes in. The names
are those of handlers that `worker.py` and `host_list.py` add to Dask's own; nothing of Assay is sent as a pickle.
"""

import enum
import ipaddress
from typing import Final

import msgspec

from assay import __version__, events
from assay.bundle.client_set import LONGEST_NAME, Role, is_client_name
from assay.bundle.strict_json import decode
from assay.cluster.value_limits import check_values
from assay.host.facts import Fact

CARD: Final = "assay"
"""Under this name a client shows its card when it connects."""
_LONGEST_CARD_BYTES = 64 << 10
_LONGEST_TEXT = 1000
_MOST_FACTS: Final = 20_000
LARGEST_ANSWER_BYTES: Final = 4 << 20
"""Of what a client answers, but for pieces of its stream."""


class Question(enum.StrEnum):
    """What the leader asks of a client and waits for."""

    LOOK = "assay-look"
    BEGIN = "assay-begin"
    CLOCK = "assay-clock"
    ECHO = "assay-echo"
    PIECE = "assay-piece"
    DIGEST = "assay-digest"
    REMOVE = "assay-remove"


class LeaderMessage(enum.StrEnum):
    """What the leader sends a client, without an answer."""

    BEAT = "assay-beat"
    """The leader is there, and N clients are, which sets how often each sends."""
    CONTROL = "assay-control"
    KILL = "assay-kill"
    DISMISS = "assay-dismiss"
    """It is not wanted; with the reason."""
    LET_GO = "assay-let-go"
    """The run is over."""


class ClientMessage(enum.StrEnum):
    """What a client sends of its own accord."""

    BEAT = "assay-alive"
    EVENTS = "assay-said"
    LEAVES = "assay-leaves"
    """It ends, with the reason."""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """Who joins. Raises ValueError for what is beyond the limits."""

    name: str
    role: Role
    assay_version: str
    token: str
    hello: events.Hello

    def __post_init__(self) -> None:
        """Check the limits, since any user may have sent it."""
        if not is_client_name(self.name):
            raise ValueError(f"{self.name[:LONGEST_NAME]!r} is not a valid client name")
        machine = self.hello.machine
        texts = (self.assay_version, self.token, machine.hostname, machine.kernel, self.hello.engine.version)
        if any(len(text) > _LONGEST_TEXT for text in texts):
            raise ValueError("a text is too long")
        check_values(self.hello)

    @property
    def versions(self) -> str:
        """Of assay and engine, in words."""
        return f"assay {self.assay_version} with assay-engine {self.hello.engine.version}"


class Facts(msgspec.Struct, frozen=True, tag=True):
    """Of a client's machine and directories. Raises ValueError for what is beyond the limits."""

    facts: tuple[Fact, ...]

    def __post_init__(self) -> None:
        """Hold to the limits: all of them go into the run."""
        if len(self.facts) > _MOST_FACTS:
            raise ValueError(f"{len(self.facts)} facts")
        check_values(self)


class EchoAt(msgspec.Struct, frozen=True, tag=True):
    """Where a client's engine answers with its time, and the key of the request."""

    address: str
    port: int
    key: bytes

    def __post_init__(self) -> None:
        """Check against what the engine can ask for; raises ValueError."""
        ipaddress.ip_address(self.address)
        if not 0 < self.port < 1 << 16 or len(self.key) > _LONGEST_TEXT:
            raise ValueError("no clock can be asked there")


class RefusedByClient(msgspec.Struct, frozen=True, tag=True):
    """Why a client could not do what it was asked."""

    text: str


def card_of(data: object) -> Card:
    """Read a card; raises ValueError where it is none."""
    if not isinstance(data, bytes) or len(data) > _LONGEST_CARD_BYTES:
        raise ValueError("it is not a client of assay")
    return decode(data, Card)


def own_versions() -> str:
    """Give those of the leader: assay and its engine are always of one version."""
    return f"assay {__version__} with assay-engine {__version__}"


def is_own_version(card: Card) -> bool:
    """Return whether a client has what the leader has."""
    return card.assay_version == __version__ == card.hello.engine.version
