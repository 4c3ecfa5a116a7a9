"""The closed lists of words that a number is judged in."""

import enum


class TrustLevel(enum.StrEnum):
    """May a number be used?"""

    YES = "yes"
    WEAK = "weak"
    """It is true, but of too little, too uncertain, or not of what one may take it for."""
    NO = "no"


class ServedBy(enum.StrEnum):
    """What a number is a number of."""

    STORAGE = "storage"
    VIRTUAL_DISK = "virtual_disk"
    """The disk as a virtual machine sees it: storage or its host's memory, which cannot be told apart from here."""
    SERVER = "server"
    """A server, or another program, as a whole: its storage or its memory."""
    PAGE_CACHE = "page_cache"
    WRITE_BACK = "write_back"
    CLIENT_CPU = "client_cpu"
    LINK = "link"
    SERVER_CACHE = "server_cache"
    MIXED = "mixed"
    UNKNOWN = "unknown"

    @property
    def words(self) -> str:
        """For people."""
        return _WORDS.get(self, self.value.replace("_", " "))

    @property
    def is_past_memory(self) -> bool:
        """Whether this machine's memory had no part in it."""
        return self in {ServedBy.STORAGE, ServedBy.VIRTUAL_DISK, ServedBy.SERVER}


class SharedStorage(enum.StrEnum):
    """What a load has in common with another that works at the same time."""

    TARGET = "target"
    DEVICE = "device"
    """Their targets are two, and a block device serves both."""
    NONE = "none"
    """No block device serves both."""
    UNKNOWN = "unknown"
    """Their targets are two, and it is not known which devices serve them."""

    @property
    def words(self) -> str:
        """For people."""
        return _SHARED_WORDS[self]


_SHARED_WORDS = {
    SharedStorage.TARGET: "same target",
    SharedStorage.DEVICE: "other target, same device",
    SharedStorage.NONE: "other target, other devices",
    SharedStorage.UNKNOWN: "other target",
}


class SteadyVerdict(enum.StrEnum):
    """Whether a series came to a level and stayed there."""

    STEADY = "steady"
    DRIFTING = "drifting"
    LATE_SHIFT = "late_shift"
    TOO_SHORT = "too_short"
    NO_DATA = "no_data"


class RecoveryVerdict(enum.StrEnum):
    """Whether a rate came back to the level that it had before a mark."""

    RECOVERED = "recovered"
    NOT_RECOVERED = "not_recovered"
    UNMOVED = "unmoved"
    """It never left that level."""
    TOO_SHORT = "too_short"
    """Too few samples came after the mark to tell."""


class ScheduleVerdict(enum.StrEnum):
    """Whether the arrivals of an open loop were served as they came."""

    KEPT_UP = "kept_up"
    FELL_BEHIND = "fell_behind"


class Bottleneck(enum.StrEnum):
    """What a number could not pass."""

    OFFERED_LOAD = "offered_load"
    THROTTLE_CPU = "throttle_cpu"
    THROTTLE_IO = "throttle_io"
    CLIENT_CPU_SINGLE = "client_cpu_single"
    CLIENT_CPU_ALL = "client_cpu_all"
    CPU_CONTENTION = "cpu_contention"
    CLIENT_MEMORY = "client_memory"
    NETWORK_BANDWIDTH = "network_bandwidth"
    DEVICE_THROUGHPUT = "device_throughput"
    DEVICE_SATURATED = "device_saturated"
    WRITEBACK_DEVICE = "writeback_device"
    OPERATION_LATENCY = "operation_latency"
    NOT_OBSERVABLE = "not_observable"
    UNKNOWN = "unknown"


class ComparisonVerdict(enum.StrEnum):
    """What a comparison says of B, held against A."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT_SMALL = "different_small"
    """There is a difference, and it is smaller than what matters."""
    EQUIVALENT = "equivalent"
    """Any difference is smaller than what matters."""
    INCONCLUSIVE = "inconclusive"
    """More runs would tell."""
    INDICATIVE = "indicative"
    """Too few runs for any interval."""
    NOT_COMPARABLE = "not_comparable"
    """The two are numbers of different things, or not to be trusted."""

    @property
    def words(self) -> str:
        """For people."""
        return {"different_small": "different, but small", "not_comparable": "not comparable"}.get(self, self.value)


class ExpectationVerdict(enum.StrEnum):
    """What an expectation comes to."""

    MET = "met"
    NOT_MET = "not_met"
    UNDECIDED = "undecided"
    """The interval contains the limit, or the number cannot be used."""

    @property
    def words(self) -> str:
        """For people."""
        return self.value.replace("_", " ")


class Confidence(enum.StrEnum):
    """How sure a verdict is."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


_WORDS = {ServedBy.WRITE_BACK: "write-back", ServedBy.CLIENT_CPU: "client CPU"}
