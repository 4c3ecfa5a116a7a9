"""Define the options that give a measuring command its clients: `--hosts` and others."""

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
    "hosts": ("A,B|FILE", "Measure from these machines by ssh; local:3 is 3 clients."),
    "observe": ("A,B|FILE", "Record counters of these machines (servers) without a load."),
    "join": ("FILE", "Write FILE for workers: `assay worker --join FILE`."),
    "clients": ("N", "With --join: wait for N workers."),
    "join_wait": ("T", "With --join: wait at most this time [default: 30min]."),
    "share": (
        "HOW",
        "Split of data: own, together, files, one-set [default: own, a full copy for each client].",
    ),
    "on_lost": ("WHAT", "If a client is lost: continue, stop or abort [default: continue]."),
    "interface": ("IF|ADDR", "Network interface or address that the clients connect to."),
    "ssh_user": ("NAME", "User for hosts without one [default: as in ~/.ssh/config]."),
}
"""Options with a value, by the name of their parameter: how the value is written, and the help."""
FLAGS = {
    "echo": "Compare clocks over UDP too, to within microseconds.",
    "insecure": "No keys, this machine only; its users can act as you.",
    "insecure_as_root": "Allow --insecure as root; all users can then act as root.",
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
    """Add these options to a command, which gets them as `clients`: None for this machine alone."""
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


def clients_of(options: dict[str, Any], by_tool: "HostsAsked | None" = None) -> "ClientsAsked | None":
    """Read the clients from the options and from a tool's own arguments; raises InputError."""
    if all(value is None or value is False for value in options.values()) and by_tool is None:
        return None
    from assay.cluster.asked import clients_asked
    from assay.errors import InputError

    number = options.pop("clients", None)
    if by_tool is not None:
        from assay.cluster.hosts import hosts_of_names

        if number is not None or options.get("hosts") is not None or options.get("join") is not None:
            raise InputError(f"{by_tool.by} names clients already; leave --hosts, --join and --clients out")
        options |= {"by_tool": hosts_of_names(by_tool.names, by_tool.by), "directories": by_tool.directories}
    if number is not None and not number.isdecimal():
        raise InputError(f"--clients {number}: is not a number")
    return clients_asked(**options, clients=None if number is None else int(number))


@contextlib.contextmanager
def of_clients(clients: "ClientsAsked | None") -> Iterator[None]:
    """Treat directories as those of the clients while entered, if there are clients."""
    if clients is None:
        yield
        return
    from assay.targets import remote_directories

    with remote_directories():
        yield
