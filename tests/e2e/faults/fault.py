"""What a row of the matrix is."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from assay.results import Document
from e2e.processes import Running
from testbed.truth import TruthDisk


class Moment(StrEnum):
    """When it happens."""

    START = "at the start"
    LAYING_OUT = "laying out"
    BETWEEN = "between phases"
    IN_PHASE = "in a phase"
    SEALING = "sealing"
    REPORTING = "reporting"


@dataclass
class Place:
    """Where a run does its work."""

    directory: Path
    """What is measured."""
    runs: Path
    """Where the run is kept."""
    data_seen: Path
    """Where what is left of the data can be looked at: the directory itself, unless the fault takes that away."""
    runs_seen: Path
    """The same of the runs."""
    device: Path | None = None
    disk: TruthDisk | None = None
    backing: Path | None = None
    """The file that the device is made of."""


@dataclass
class Scene:
    """A run under way, for what provokes a fault in it."""

    place: Place
    run: Running
    moment: Moment
    scratch: Path
    """A folder for what the fault itself needs."""
    earlier: str
    """Name of the run that was there before."""
    mending: ExitStack = field(default_factory=ExitStack)
    """What takes the fault away; done after the end, unless it was done before."""
    engines: list[int] = field(default_factory=list)
    held_ns: int | None = None
    """When the engine stood still; by the clock of the machine, as the next."""
    provoked_ns: int | None = None
    """When the fault had been provoked in a phase."""
    is_answered: bool = False
    """Whether the fault was taken away while the run was still on."""
    is_stopped_twice: bool = False

    @property
    def engine(self) -> int:
        """Pid of its engine."""
        return self.engines[0]

    @property
    def folder(self) -> Path:
        """The run's own folder."""
        (found,) = (path for path in self.place.runs.iterdir() if path.is_dir() and path.name != self.earlier)
        return found

    def mend(self) -> None:
        """Take the fault away while the run is on."""
        assert self.run.process.poll() is None, "the run had ended before the storage answered"
        self.mending.close()
        self.is_answered = True


Provoke = Callable[[Scene], None]
Storage = Callable[[Path], AbstractContextManager[Place]]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A row of the matrix."""

    name: str
    moment: Moment
    provoke: Provoke
    """While data is laid out and between phases the engine is held meanwhile, in sealing and reporting the front end."""
    storage: Storage
    follow: Provoke | None = None
    """What is done after the run goes on: a stop, or an answer of the storage."""
    load: dict[str, str] = field(default_factory=dict)
    """Parts of the load that differ from the usual ones (`load.py`)."""
    started_by: str = ""
    """What starts the command."""
    env: dict[str, str] = field(default_factory=dict)
    """Further variables; `{folder}` is the scene's scratch folder."""
    is_rare: bool = False
    """Whether `make faults` alone provokes it: another row or test goes the same way at each run of the suite."""
    check: Callable[[Document], None] | None = None
    """What else must be so, of the run that is kept."""
    unharmed: str = ""
    """Why the numbers of the phase may be trusted all the same; on the page."""
    lost: str = ""
    """Why the data, or the run, can be left behind or lost; on the page."""

    @property
    def id(self) -> str:
        """Its name in a list of tests."""
        return f"{self.moment.value}: {self.name}"
