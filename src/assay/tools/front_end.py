"""The interface of a tool: what Assay needs to read its command line and to print its output.

    words, files -> settings -> Plan -> run -> output

A `FrontEnd` makes the Plan and an `Output` reports the run. Everything that either needs is in the Plan: its origin keeps
the words and the texts of the files that they name (`named_files.py`), so that `assay rerun` and `assay show --classic` do
what the first command did. `registry.py` names the tools.
"""

import abc
import dataclasses
import hashlib
import importlib
import inspect
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, Self, TypeVar

from assay.errors import InputError
from assay.plan import Origin, Plan
from assay.targets import Need, check_room, places
from assay.tools.named_files import NO_FILES, Files
from assay.tools.output_files import OutputFile, check_folder, check_writable

if TYPE_CHECKING:
    from assay.analysis.record import RunRecord

    # Text is printed where the libraries that draw are not installed.
    from assay.report.figure import Figure
    from assay.report.verdict import Doubts
    from assay.results import Document

S = TypeVar("S")
"""Settings of a tool: a frozen value."""


class RunContext(Protocol):
    """What a command line may ask of Assay."""

    def measure(self, words: Sequence[str], files: Files = NO_FILES) -> int:
        """Execute one run and print its output; returns the exit code, raises what ended the run early."""

    def write(self, text: str) -> None:
        """Print on standard output, or where the result document goes there, on standard error."""

    def may_write(self, name: str) -> bool:
        """Return whether the words name a further output file; raises InputError where that is refused."""

    def check_action(self, what: str) -> None:
        """Raise InputError where nothing but a measurement may be done to the machine; `what` is what the words ask for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class HostsAsked:
    """Clients that a tool's own words name. Each does the Plan in a folder of its own."""

    by: str
    """What of the words names them, for messages: `-+m clients`."""
    names: tuple[str, ...]
    """Names or addresses of hosts, each once, in order. They are values: nothing in them is read as `--hosts` is."""
    directories: Mapping[str, Path] | None = None
    """The directory that each works in, absolute; None: those of the Plan."""


class FrontEnd(abc.ABC, Generic[S]):
    """A tool. The docstring of the class is what `assay TOOL --help` prints."""

    name: ClassVar[str]
    """Word after `assay`, name of the tool's folder, and name of the front end in the Plan's origin."""
    shims: ClassVar[tuple[str, ...]] = ()
    """Names that scripts call the tool by. None unless a shim is wanted: it hides the program of that name."""
    help_words: ClassVar[frozenset[str]] = frozenset({"--help"})
    """Words that ask for help in any position."""
    own_options: ClassVar[frozenset[str]] = frozenset()
    """Options of the tool that have the name of one of Assay's: they are the tool's."""
    not_for_clients: ClassVar[str] = ""
    """Why no run of the tool can be one of several clients, and what to do instead; empty: it can."""
    own_programs: ClassVar[frozenset[str]] = frozenset()
    """Programs that the tool itself runs as a part of its load; those of a script are none."""
    option_names: ClassVar[Mapping[str, str]] = {}
    """What the tool calls `size`, `direct` and so on of an operation, for refusals."""
    room_cure: ClassVar[str] = "ask for fewer or smaller files"
    """What to do where the room does not suffice."""

    # -- from words to a Plan ------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def parse(self, words: Sequence[str], files: Files = NO_FILES) -> S:
        """Read the words of one run and the files that they name, nothing else: neither the machine nor a clock.

        Raises:
            InputError: they are not supported; the text has the fault and the cure.
        """

    @abc.abstractmethod
    def to_plan(self, settings: S, origin: Origin, folder: Path) -> Plan:
        """Make the Plan; what it depends on besides the settings is read here, and is in the Plan.

        Args:
            settings: What is asked for.
            origin: Of the Plan.
            folder: Where lists of operations may be written that the Plan refers to; they are in the run's bundle later.

        Raises:
            InputError: what the settings name is not there.
        """

    def measured_places(self, settings: S, folder: Path) -> Iterable[Path]:
        """Name what the Plan would measure, without long work on its lists; raises as `to_plan` does."""
        return places(self.to_plan(settings, self.origin(()), folder)).values()

    def hosts(self, settings: S) -> HostsAsked | None:
        """Name the clients that the words ask for, where the tool has a form for several; None: they name none."""
        return None

    def adds_clients_up(self, settings: S) -> bool:
        """Return whether the tool prints sums of several clients; else its output is that of each (`each_client.py`)."""
        return self.hosts(settings) is not None

    def with_user(self, words: Sequence[str], user: str) -> Sequence[str]:
        """Put the user who does the work into the words, if the tool has an option for it; else it is in the Plan alone."""
        return words

    def follow(self, words: Sequence[str], context: RunContext) -> int:
        """Execute the words after `assay TOOL`, and return the exit code: one run, unless a tool has more commands."""
        return context.measure(words)

    # -- back from a Plan ----------------------------------------------------------------------------------------------

    def origin(self, words: Sequence[str], files: Files = NO_FILES) -> Origin:
        """Keep words and files."""
        source = self.source(words)
        digest = hashlib.sha256("\0".join((source, *(text for pair in files.items() for text in pair))).encode())
        return Origin(front_end=self.name, source=source, sha256=digest.hexdigest(), files=dict(files))

    def source(self, words: Sequence[str]) -> str:
        """Write words as one text."""
        return shlex.join(words)

    def words(self, source: str) -> Sequence[str]:
        """Read what `source` wrote."""
        return shlex.split(source)

    def settings_of(self, plan: Plan) -> S:
        """Read the settings of a Plan again; raises InputError where another front end made it."""
        if plan.origin.front_end != self.name:
            raise InputError(f"the Plan is one of '{plan.origin.front_end}', not of {self.name}")
        return self.parse(self.words(plan.origin.source), plan.origin.files)

    # -- before a run --------------------------------------------------------------------------------------------------

    def output_names(self, settings: S) -> Sequence[str]:
        """Name the output files that the words ask for."""
        return ()

    def check_outputs(self, settings: S) -> None:
        """Look whether these files can be written; raises InputError."""
        for name in self.output_names(settings):
            check_writable(Path(name))

    def check(self, settings: S, plan: Plan) -> None:
        """Check what a run needs besides its targets and the files that it writes; raises InputError or RunError."""

    def needs(self, settings: S, plan: Plan) -> Iterable[Need]:
        """Compute the most that the run makes in each directory at a time, beyond what the engine computes itself."""
        return ()

    def prepare(self, plan: Plan, *, has_outputs: bool, has_clients: bool = False) -> None:
        """Look before a run, the first or a repeated one.

        Args:
            plan: What will be done.
            has_outputs: Whether output files are written.
            has_clients: Whether clients do it, and not this machine alone.

        Raises:
            InputError: something that it needs is not there, or the words name clients and there are none.
            RunError: there is no room for it.
        """
        settings = self.settings_of(plan)
        if (asked := self.hosts(settings)) is not None and not has_clients:
            named = ", ".join(asked.names[:5]) + (" ..." if len(asked.names) > 5 else "")
            raise InputError(f"{self.name}: {asked.by} names {named}, and this run is one of this machine alone")
        self.check(settings, plan)
        if has_outputs and (not has_clients or self.adds_clients_up(settings)):
            self.check_outputs(settings)
        elif has_outputs:
            # Each client's files have its name in theirs.
            for name in self.output_names(settings):
                check_folder(Path(name).parent)
        check_room(self.needs(settings, plan), reserve_bytes=plan.reserve_bytes, cure=self.room_cure)

    # -- after it ------------------------------------------------------------------------------------------------------

    @property
    def help(self) -> str:
        """What `assay TOOL --help` prints."""
        return inspect.cleandoc(type(self).__doc__ or "")

    def output(self, run: "RunRecord") -> "Output[S]":
        """Give the output of a run, from `output.py` of the tool's folder."""
        # Only now: it needs libraries that a command line does not.
        made: Output[S] = importlib.import_module(f"assay.tools.{self.name}.output").OUTPUT(
            run, self.settings_of(run.plan)
        )
        return made


class Output(abc.ABC, Generic[S]):
    """A tool's output for a run, a function of the run alone; of an interrupted run, what it had measured."""

    def __init__(self, run: "RunRecord", settings: S) -> None:
        """Make the output of a run, whole or cut, by its settings."""
        self.run = run
        self.settings = settings

    @abc.abstractmethod
    def text(self) -> str:
        """Print what the tool prints on standard output, byte for byte but for the measured numbers."""

    def of_clients(self, outputs: Sequence[Self]) -> dict[str, str]:
        """Print the summary of several clients, in the tool's shape; this is the output of their run.

        Args:
            outputs: Of each client by itself.

        Returns:
            Texts, by what their numbers are of all clients.
        """
        return {}

    def figures_of_clients(self, outputs: Sequence[Self]) -> "Sequence[Figure]":
        """Draw the summary of several clients; this is the output of their run, and these are those of each."""
        return ()

    def stderr_notes(self) -> str:
        """Report what the tool's text cannot show, or shows wrongly, in lines for standard error."""
        return ""

    def brief(self) -> str:
        """Report the same after a run, in two lines where nothing is wrong; `assay show --classic` prints `stderr_notes`."""
        return self.stderr_notes()

    def files(self) -> Sequence[OutputFile]:
        """Make the output files that the words ask for."""
        return ()

    def figures(self) -> Sequence["Figure"]:
        """Draw what the readers of the tool look at."""
        return ()

    def figures_of(self, document: "Document") -> Sequence["Figure"]:
        """Draw it for a report, with what is less than trusted marked."""
        from assay.report.verdict import doubts_of  # noqa: PLC0415 - only drawings need it

        return self.marked_figures(doubts_of(document))

    def marked_figures(self, doubts: "Doubts") -> Sequence["Figure"]:
        """Draw it with those numbers marked that are less than trusted."""
        return self.figures()
