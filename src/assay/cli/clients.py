"""The options by which every measuring command is given clients: `--hosts` and its companions."""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from assay.cluster.asked import ClientsAsked
    from assay.tools.front_end import HostsAsked

PANEL = "Several clients"

WORDS = {
    "hosts": ("A,B|FILE", "Measure from these machines at once, by ssh; `local:3` is three clients on this one."),
    "observe": ("A,B|FILE", "Count what these machines do meanwhile, servers for instance, without a load."),
    "join": ("FILE", "Write FILE, by which workers join that others start: assay worker --join FILE."),
    "clients": ("N", "With --join: so many are waited for."),
    "join_wait": ("T", "With --join: wait for them this long at most [default: 30min]."),
    "share": (
        "HOW",
        "What each client gets: own, together, files or one-set [default: own, all of it in its own folder].",
    ),
    "on_lost": ("WHAT", "When a client is lost: continue, stop or abort [default: continue]."),
    "interface": ("IF|ADDR", "Network interface, or address, of this machine that clients reach."),
    "ssh_user": ("NAME", "Who to be on hosts that name no user themselves; else as ~/.ssh/config has it."),
}
"""Options with a value, by the name of their parameter: how the value is written, and the help."""
FLAGS = {
    "echo": "Read clocks by datagrams (UDP) from engine to engine as well: for bounds of a few microseconds.",
    "insecure": "Without keys and encryption, on this machine alone: each of its users can then do anything as you.",
    "insecure_as_root": "With --insecure as root, which is refused otherwise: each user can then do anything as root.",
}
"""Options without a value, in the same way."""


def _parameters() -> list[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    options: dict[str, Any] = {
        name: Annotated[
            str | None,
            typer.Option("--" + name.replace("_", "-"), metavar=metavar, help=text, rich_help_panel=PANEL),
        ]
        for name, (metavar, text) in WORDS.items()
    }
    made = [inspect.Parameter(name, kind, default=None, annotation=option) for name, option in options.items()]
    flags = {
        name: Annotated[bool, typer.Option("--" + name.replace("_", "-"), help=text, rich_help_panel=PANEL)]
        for name, text in FLAGS.items()
    }
    made += [inspect.Parameter(name, kind, default=False, annotation=flag) for name, flag in flags.items()]
    return made


def with_clients(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; it gets what they say as `clients`, None for this machine alone."""
    added = _parameters()
    signature = inspect.signature(command)
    own = [parameter for name, parameter in signature.parameters.items() if name != "clients"]

    @functools.wraps(command)
    def with_them(**given: Any) -> None:
        clients = clients_of({parameter.name: given.pop(parameter.name) for parameter in added})
        with of_clients(clients):
            command(**given, clients=clients)

    with_them.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    with_them.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *added)} | {
        "return": None
    }
    return with_them


def clients_of(said: dict[str, Any], by_tool: "HostsAsked | None" = None) -> "ClientsAsked | None":
    """Read what the options say, and what a tool's own words say of clients; raises InputError."""
    if all(value is None or value is False for value in said.values()) and by_tool is None:
        return None
    from assay.cluster.asked import clients_asked
    from assay.errors import InputError

    number = said.pop("clients", None)
    if by_tool is not None:
        from assay.cluster.hosts import hosts_of_names

        if number is not None or said.get("hosts") is not None or said.get("join") is not None:
            raise InputError(f"{by_tool.by} names clients already; leave --hosts, --join and --clients out")
        said |= {"by_tool": hosts_of_names(by_tool.names, by_tool.by), "directories": by_tool.directories}
    if number is not None and not number.isdecimal():
        raise InputError(f"--clients {number}: is no number")
    return clients_asked(**said, clients=None if number is None else int(number))


@contextlib.contextmanager
def of_clients(clients: "ClientsAsked | None") -> Iterator[None]:
    """While this is entered, directories are those of the clients, where there are any."""
    if clients is None:
        yield
        return
    from assay.targets import elsewhere

    with elsewhere():
        yield
