"""Define the verdicts on results: closed lists of words."""

import enum


class TrustLevel(enum.StrEnum):
    """Whether a result may be used."""

    YES = "yes"
    WEAK = "weak"
    """True, but from too few samples, too uncertain, or of something else than it seems."""
    NO = "no"


class ServedBy(enum.StrEnum):
    """What served the operations of a result."""

    STORAGE = "storage"
    VIRTUAL_DISK = "virtual_disk"
    """The disk of a virtual machine: storage or memory of its host, which the guest cannot distinguish."""
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
        """Name it for people."""
        return _WORDS.get(self, self.value.replace("_", " "))

    @property
    def is_past_memory(self) -> bool:
        """Whether this machine's memory took no part."""
        return self in {ServedBy.STORAGE, ServedBy.VIRTUAL_DISK, ServedBy.SERVER}


class SharedStorage(enum.StrEnum):
    """What a load shares with another one that runs at the same time."""

    TARGET = "target"
    DEVICE = "device"
    """Different targets on the same block device."""
    NONE = "none"
    """No block device in common."""
    UNKNOWN = "unknown"
    """Different targets, and unknown devices."""

    @property
    def words(self) -> str:
        """Name it for people."""
        return _SHARED_WORDS[self]


_SHARED_WORDS = {
    SharedStorage.TARGET: "same target",
    SharedStorage.DEVICE: "other target, same device",
    SharedStorage.NONE: "other target, other devices",
    SharedStorage.UNKNOWN: "other target",
}


class SteadyVerdict(enum.StrEnum):
    """Whether a series reached a level and stayed there."""

    STEADY = "steady"
    DRIFTING = "drifting"
    LATE_SHIFT = "late_shift"
    TOO_SHORT = "too_short"
    NO_DATA = "no_data"


class RecoveryVerdict(enum.StrEnum):
    """Whether a rate returned to its level before a mark."""

    RECOVERED = "recovered"
    NOT_RECOVERED = "not_recovered"
    UNMOVED = "unmoved"
    """It never left that level."""
    TOO_SHORT = "too_short"
    """Too few samples after the mark."""


class ScheduleVerdict(enum.StrEnum):
    """Whether an open loop kept up with its arrivals."""

    KEPT_UP = "kept_up"
    FELL_BEHIND = "fell_behind"


class Bottleneck(enum.StrEnum):
    """What limited a result."""

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

    @property
    def words(self) -> str:
        """Name it for people: the same in tables, texts and pages."""
        return _BOTTLENECK_WORDS.get(self, self.value.replace("_", " "))


_BOTTLENECK_WORDS = {
    Bottleneck.THROTTLE_CPU: "CPU throttle",
    Bottleneck.THROTTLE_IO: "I/O throttle",
    Bottleneck.CLIENT_CPU_SINGLE: "single client CPU",
    Bottleneck.CLIENT_CPU_ALL: "all client CPUs",
    Bottleneck.CPU_CONTENTION: "CPU contention",
    Bottleneck.DEVICE_SATURATED: "saturated device",
    Bottleneck.WRITEBACK_DEVICE: "write-back device",
}


class ComparisonVerdict(enum.StrEnum):
    """Verdict of a comparison of B with A."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT_SMALL = "different_small"
    """The difference is smaller than what matters."""
    EQUIVALENT = "equivalent"
    """Any difference is smaller than what matters."""
    INCONCLUSIVE = "inconclusive"
    """More runs are needed."""
    INDICATIVE = "indicative"
    """Too few runs for an interval."""
    NOT_COMPARABLE = "not_comparable"
    """The results are of different things, or not trusted."""

    @property
    def words(self) -> str:
        """Name it for people."""
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
    """Confidence of a verdict."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


_WORDS = {ServedBy.WRITE_BACK: "write-back", ServedBy.CLIENT_CPU: "client CPU"}
