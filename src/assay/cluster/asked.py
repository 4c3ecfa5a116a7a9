"""Which clients a command line asks for."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from assay.bundle.client_set import OnLost, Share
from assay.cluster.hosts import HostSpec, parse_hosts
from assay.cluster.join_file import JOIN
from assay.errors import InputError
from assay.units import parse_seconds

JOIN_BY_HAND_S = 1800.0
"""Workers that a person or a queue starts may take as long to join."""

_E = TypeVar("_E", Share, OnLost)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientsAsked:
    """The values of `--hosts` and its companions."""

    hosts: tuple[HostSpec, ...] = ()
    """Where workers are started by this command."""
    observers: tuple[HostSpec, ...] = ()
    join: Path | None = None
    """Folder in which `join.json` is written for workers that this command does not start; None: it waits for none."""
    clients: int = 0
    """How many of those are waited for."""
    join_wait_s: float = JOIN_BY_HAND_S
    directories: Mapping[str, Path] | None = None
    """The directory that each works in, by name, where it is not that of the load."""
    share: Share | None = None
    on_lost: OnLost | None = None
    """None: not given."""
    interface: str | None = None
    """Address, or name of the network interface, by which clients reach this machine."""
    ssh_user: str | None = None
    """Who to be on hosts that ssh reaches; None: as the host, or the configuration of ssh, has it."""
    is_insecure: bool = False
    has_echo: bool = False
    """Whether clocks are asked of the engines, too."""


def clients_asked(  # noqa: D417 - the rest are the options of these names
    *,
    hosts: str | None = None,
    observe: str | None = None,
    join: str | None = None,
    clients: int | None = None,
    join_wait: str | None = None,
    share: str | None = None,
    on_lost: str | None = None,
    interface: str | None = None,
    ssh_user: str | None = None,
    insecure: bool = False,
    insecure_as_root: bool = False,
    echo: bool = False,
    by_tool: tuple[HostSpec, ...] = (),
    directories: Mapping[str, Path] | None = None,
) -> ClientsAsked | None:
    """Read the options; None: this machine alone is meant.

    Args:
        by_tool: Hosts that a tool's own words name, instead of `hosts` and `join`.
        directories: Of these, where each has its own.

    Raises:
        InputError: they do not go together, or a host's name is none.
    """
    if hosts is None and join is None and not by_tool:
        given = {
            "--observe": observe,
            "--clients": clients,
            "--join-wait": join_wait,
            "--share": share,
            "--on-lost": on_lost,
            "--interface": interface,
            "--ssh-user": ssh_user,
            "--insecure": insecure or None,
            "--insecure-as-root": insecure_as_root or None,
            "--echo": echo or None,
        }
        if alone := [name for name, value in given.items() if value is not None]:
            raise InputError(
                f"{', '.join(alone)}: is an option for runs of several clients; name them with --hosts, or --join FILE"
            )
        return None
    if not by_tool:
        _check_together(hosts, join, clients)
    _check_companions(observe, join, ssh_user)
    named = by_tool or (parse_hosts(hosts) if hosts else ())
    observers = parse_hosts(observe, option="--observe") if observe else ()
    if twice := {host.name for host in named} & {host.name for host in observers}:
        raise InputError(f"--observe: {', '.join(sorted(twice))} makes load already, and has counters of its own")
    if insecure_as_root and not insecure:
        raise InputError("--insecure-as-root allows --insecure as root; give both, or none")
    if insecure and not insecure_as_root:
        refuse_root("--insecure")
    if insecure and (far := [host.name for host in (*named, *observers) if host.address is not None]):
        raise InputError(f"--insecure is for this machine alone, and {far[0]} is another")
    return ClientsAsked(
        hosts=tuple(named),
        observers=tuple(observers),
        join=_join_folder(join),
        clients=clients or 0,
        join_wait_s=JOIN_BY_HAND_S if join_wait is None else _seconds(join_wait, is_joined=join is not None),
        directories=directories,
        share=_one_of(Share, "--share", share),
        on_lost=_one_of(OnLost, "--on-lost", on_lost),
        interface=interface,
        ssh_user=ssh_user,
        is_insecure=insecure,
        has_echo=echo,
    )


def refuse_root(what: str) -> None:
    """Raise InputError as root, who has more to lose by what is not encrypted."""
    if os.geteuid() == 0:
        raise InputError(
            f"{what} as root: without keys each user of this machine can do anything as root. Leave it out, be another "
            "user, or add --insecure-as-root"
        )


def _check_together(hosts: str | None, join: str | None, clients: int | None) -> None:
    """Raise InputError for words that do not define the clients."""
    if empty := [name for name, value in {"--hosts": hosts, "--join": join}.items() if value == ""]:
        raise InputError(f"{empty[0]}: is empty")
    if hosts is not None and join is not None:
        raise InputError("--hosts starts the workers, with --join others do: give one of them")
    if (join is None) != (clients is None):
        raise InputError("--join FILE and --clients N go together: the run begins when N workers have joined")
    if clients is not None and clients < 1:
        raise InputError(f"--clients {clients}: a run needs at least one")


def _check_companions(observe: str | None, join: str | None, ssh_user: str | None) -> None:
    """Raise InputError for options that do not go with how the clients are reached."""
    if observe == "":
        raise InputError("--observe: is empty")
    if join is not None and observe is not None:
        raise InputError(
            "--observe names hosts that are started here; with --join start 'assay worker --observer' there"
        )
    if join is not None and ssh_user is not None:
        raise InputError("--ssh-user is for hosts on which workers are started; with --join others start them")


def _seconds(text: str, *, is_joined: bool) -> float:
    if not is_joined:
        raise InputError("--join-wait applies to workers that others start; give it with --join")
    try:
        seconds = parse_seconds(text)
    except InputError as error:
        raise InputError(f"--join-wait {text}: {error}") from error
    if not seconds > 0:
        raise InputError(f"--join-wait {text}: is not a time to wait")
    return seconds


def _join_folder(join: str | None) -> Path | None:
    """Give the folder, of which the file may be named, too."""
    if not join:
        return None
    path = Path(join).absolute()
    if path.name == JOIN:
        return path.parent
    if path.suffix == ".json":
        raise InputError(
            f"--join {join}: the file is called {JOIN}; name the folder that is to hold it, or FOLDER/{JOIN}"
        )
    return path


def _one_of(kind: type[_E], option: str, word: str | None) -> _E | None:
    if word is None:
        return None
    try:
        return kind(word)
    except ValueError:
        raise InputError(f"{option} {word}: is one of {', '.join(one.value for one in kind)}") from None
