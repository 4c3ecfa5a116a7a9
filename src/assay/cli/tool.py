"""`assay TOOL ...`: one command for every tool of the registry.

Everything after the tool's name is the tool's own command line, in the tool's own syntax. Assay's options are long
options that no tool has; they are removed from any position.
"""

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer
from typer.core import TyperGroup

from assay.cli import clients
from assay.cli.lazy_commands import Function, LazyCommands
from assay.cli.light_command import LightCommand, false_by_default
from assay.cli.options import TrustAsked, argv
from assay.cli.pipes import echo
from assay.errors import InputError
from assay.own_files import scratch_folder
from assay.tools import registry
from assay.tools.arguments import cut
from assay.tools.named_files import NO_FILES, Files

if TYPE_CHECKING:
    from assay.cluster.asked import ClientsAsked
    from assay.plan import Origin
    from assay.tools.front_end import FrontEnd

_Context = Any
"""Typer keeps these types to itself."""
CONTEXT: dict[str, Any] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
    "help_option_names": ["--help"],
}
"""How typer hands a command line through."""


TOOLS_GROUP = "Measure with a classic tool's own command line"


def _first_sentence(text: str) -> str:
    return " ".join(text.strip().partition("\n\n")[0].split()).removesuffix(".")


class ToolCommand(LightCommand):
    """The command of a tool, which is loaded when it is used or asked for help: the list of commands needs none."""

    def __init__(self, name: str) -> None:
        """Of a tool of the registry."""
        super().__init__(name=name, short_help=registry.TOOLS[name], context_settings=CONTEXT, rich_markup_mode=None)
        self._tool = name

    @property
    def help(self) -> str | None:
        """The tool's own."""
        return registry.front_end(self._tool).help

    @help.setter  # noqa: A003 - as above
    def help(self, _: str | None) -> None:
        """Typer has none of its own."""

    def invoke(self, ctx: _Context) -> None:
        """Hand the words after the tool's name to the tool."""
        tool = registry.front_end(self._tool)
        asked = take_apart(ctx.args, tool.own_options)
        if tool.help_words & set(asked.tool):
            echo(ctx.get_help())
            return
        if tool.not_for_clients and asked.client_options:
            raise InputError(f"{tool.name}: {tool.not_for_clients}")
        raise typer.Exit(tool.follow(asked.tool, AssayContext(tool, asked)))


class CommandsAndTools(TyperGroup):
    """Assay's commands, and one for every tool; each is made, or loaded, when it is looked at."""

    functions: ClassVar[dict[str, tuple[str, Function]]] = {}
    """The commands by name: what each is for, and its function."""

    def __init__(self, **options: Any) -> None:
        """Take what typer gives a group; its commands are `functions`."""
        super().__init__(**options)
        self.commands = LazyCommands(self.functions)

    def get_help_option(self, ctx: _Context) -> Any:
        """Give `--help`."""
        return false_by_default(super().get_help_option(ctx))

    def format_commands(self, ctx: _Context, formatter: Any) -> None:  # noqa: ARG002 - what typer gives
        """Write the commands by what they are for, with their first sentence in full."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, (group, function) in self.functions.items():
            groups.setdefault(group, []).append((name, _first_sentence(function.__doc__ or "")))
        groups[TOOLS_GROUP] = [(name, _first_sentence(words)) for name, words in registry.TOOLS.items()]
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl(rows)

    def list_commands(self, ctx: _Context) -> list[str]:  # noqa: ARG002 - what typer gives
        """Name them, tools last."""
        return [*self.functions, *registry.TOOLS]

    def get_command(self, ctx: _Context, cmd_name: str) -> Any:
        """Give the one of a name."""
        if cmd_name in registry.TOOLS:
            return ToolCommand(cmd_name)
        return super().get_command(ctx, cmd_name)


@dataclasses.dataclass(frozen=True)
class CommandWords:
    """A command line, taken apart: what is the tool's, and what is Assay's."""

    tool: tuple[str, ...]
    runs: Path | None = None
    """`--runs DIR`: where runs are kept."""
    json: bool = False
    """`--json`: the result document on standard output instead of the tool's output."""
    no_report: bool = False
    """`--no-report`: no HTML report."""
    quiet: bool = False
    """`--quiet`: no progress, and the answer alone next to the tool's output."""
    strict: bool = False
    """`--strict`: Assay's own exit code, which is 1 where a number must not be used."""
    require_trust: str | None = None
    """`--require-trust LEVEL`: the exit code is 1 where a result is trusted less."""
    wait_quiet: str | None = None
    """`--wait-quiet TIME`: how long to wait at most until the machine is at rest."""
    user: str | None = None
    """`--user NAME`: who does the work."""
    name: str | None = None
    """`--name NAME`: what the user calls the run, as are `--tag TAG`, which may be given again, and `--note TEXT`."""
    tags: tuple[str, ...] = ()
    note: str | None = None
    live_json: str | None = None
    """`--live-json FILE`: a line of JSON for each interval."""
    destroy_data: tuple[str, ...] = ()
    """`--destroy-data DEVICE`, which may be given again: block devices whose data may be destroyed."""
    over: tuple[str, ...] = ()
    """`--over TYPE`, likewise: signatures that may be on them."""
    client_options: dict[str, Any] = dataclasses.field(default_factory=dict)
    """`--hosts A,B` and its companions, as `cli/clients.py` has them."""


_VALUES = {
    "--runs": "name the folder where runs are kept",
    "--user": "name the user who is to do the work",
    "--name": "give the name of the run",
    "--tag": "give the tag",
    "--note": "give the text of the note",
    "--live-json": "name the file for a line of JSON an interval, or -",
    "--require-trust": "write yes, or weak",
    "--wait-quiet": "give the longest wait, such as 5min",
    "--destroy-data": "name the block device whose data may be destroyed",
    "--over": "name the signature that may be overwritten, such as ext4",
}
"""Options that have a value, and the message if it is missing."""
_REPEATED = {"--tag": "tags", "--destroy-data": "destroy_data", "--over": "over"}
"""Those that may be given again, with the field that has them all."""
_FLAGS = frozenset({"--json", "--no-report", "--quiet", "--strict"})
_OF_CLIENTS = {"--" + name.replace("_", "-"): name for name in clients.WORDS}
_FLAGS_OF_CLIENTS = {"--" + name.replace("_", "-"): name for name in clients.FLAGS}


def take_apart(words: Sequence[str], own: frozenset[str] = frozenset()) -> CommandWords:
    """Remove Assay's options from a tool's command line, except names that are the tool's `own`.

    Raises:
        InputError: one has no value.
    """
    tool: list[str] = []
    taken: dict[str, Any] = {}
    of_clients: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, separator, value = word.partition("=")
        if name in own:
            tool.append(word)
        elif word in _FLAGS:
            taken[word[2:].replace("-", "_")] = True
        elif word in _FLAGS_OF_CLIENTS:
            of_clients[_FLAGS_OF_CLIENTS[word]] = True
        elif name in _OF_CLIENTS:
            of_clients[_OF_CLIENTS[name]] = _value(name, separator, value, rest, "give a value")
        elif name in _VALUES:
            given = _value(name, separator, value, rest, _VALUES[name])
            if field := _REPEATED.get(name):
                taken[field] = (*taken.get(field, ()), given)
            else:
                taken[name[2:].replace("-", "_")] = Path(given) if name == "--runs" else given
        else:
            tool.append(word)
    if taken.get("require_trust", "yes") not in tuple(TrustAsked):
        raise InputError(f"--require-trust {cut(taken['require_trust'])}: write yes, or weak")
    return CommandWords(tool=tuple(tool), client_options=of_clients, **taken)


def _value(name: str, separator: str, value: str, rest: Iterator[str], missing: str) -> str:
    """Give the value of an option, after `=` or as the next word; raises InputError where there is none."""
    if given := value if separator else next(rest, ""):
        return given
    raise InputError(f"{name}: {missing}")


class AssayContext:
    """What a tool's command line may ask for: a run, and words for the user."""

    def __init__(self, tool: "FrontEnd[Any]", asked: CommandWords) -> None:
        """For one command line of a tool."""
        self._tool = tool
        self._asked = asked

    def measure(self, words: Sequence[str], files: Files = NO_FILES) -> int:
        """Execute one run; returns the exit code, raises what ended the run early."""
        asked = self._asked
        if asked.user is not None:
            words = self._tool.with_user(words, asked.user)
        settings = self._tool.parse(words, files)
        over = clients.clients_of(dict(asked.client_options), self._tool.hosts(settings))
        with clients.of_clients(over):
            return self._measure(self._tool.origin(words, files), settings, over)

    def _measure(self, origin: "Origin", settings: Any, over: "ClientsAsked | None") -> int:
        from assay.bundle.remarks import remarks
        from assay.running.destroying import DestroyAsked, with_permission
        from assay.running.users import as_user
        from assay.session import Session

        asked = self._asked
        destroy = DestroyAsked(devices=asked.destroy_data, over=asked.over)
        text = remarks(asked.name, list(asked.tags), asked.note)
        session = Session(
            argv(),
            runs=asked.runs,
            json=asked.json,
            report=not asked.no_report,
            quiet=asked.quiet,
            is_strict=asked.strict,
            require_trust=asked.require_trust,
            wait_quiet=asked.wait_quiet,
            remarks=text,
            live_json=asked.live_json,
            clients=over,
            destroy=destroy,
        )
        with scratch_folder() as folder:
            plan = with_permission(self._tool.to_plan(settings, origin, folder), destroy)
            return session.measure(as_user(plan, asked.user))

    def may_write(self, name: str) -> bool:
        """Raise InputError for a file outside of the folder that this command is confined to, if it is."""
        from assay.confinement import check_output

        check_output(name)
        return True

    def check_action(self, what: str) -> None:
        """Raise InputError for what is no measurement where this command is confined to a folder, or names clients."""
        from assay.confinement import check_action

        check_action(what)
        if self._asked.client_options:
            raise InputError(f"{self._tool.name}: {what} is done on this machine alone; leave --hosts and --join out")

    def write(self, text: str) -> None:
        """Print on standard output; with `--json` or `--live-json -` that is for JSON alone."""
        stream = sys.stderr if self._asked.json or self._asked.live_json == "-" else sys.stdout
        stream.write(text)
        stream.flush()
