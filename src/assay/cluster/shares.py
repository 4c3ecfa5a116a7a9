"""Give each client of a group its share of a Plan.

A share is a function of Plan, share and names: Plan -> Plan for each client, with phases, jobs and operations that
are called as in the whole, so that results are of the same things. What a share cannot keep as it was meant is
refused, with an alternative; what it leaves out is listed by `notes`.

Clients never share files unless that is asked for. With OWN and FILES each has a folder in the target's
directory (`running/client_folders.py`); with TOGETHER and ONE_SET the engines use one data folder at once (`among` in the
Plan, `common_sets.py`).
"""

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from assay.bundle.client_set import Share, is_client_name
from assay.cluster import common_sets, files_share
from assay.errors import InputError
from assay.plan import ROUNDS_OF_CLIENTS, DropCaches, Fill, InputLine, Place, Plan, Script, Step, Untranslated
from assay.running.client_folders import folder_of
from assay.targets import device_of, directory_of

_OWN_FOLDERS = (Share.OWN, Share.FILES)
_WORD_BYTES = 16


def share_plan(
    plan: Plan,
    share: Share,
    clients: Sequence[str],
    *,
    directories: Mapping[str, Path] | None = None,
    run: str | None = None,
) -> dict[str, Plan]:
    """Give each client its Plan.

    Args:
        plan: The whole.
        share: What each gets.
        clients: Names of those that make load, in the order in which the user named them.
        directories: Of each client, where it does not have the Plan's: absolute, and on that client.
        run: A word that no other run has, by which the engines of this one recognize each other in a common folder;
            None: one is drawn.

    Raises:
        InputError: the share cannot be had of this Plan.
    """
    _check_clients(clients, directories)
    _check(plan, share)
    if directories is not None:
        check_directories(plan, share, directories)
    wholes = {client: _in_directory(plan, directories[client]) if directories else plan for client in clients}
    match share:
        case Share.OWN:
            parts = wholes
        case Share.FILES:
            parts = {
                client: files_share.part(wholes[client], number, len(clients)) for number, client in enumerate(clients)
            }
        case Share.TOGETHER | Share.ONE_SET:
            word = run if run is not None else secrets.token_hex(_WORD_BYTES)
            shared = common_sets.together if share is Share.TOGETHER else common_sets.one_set
            parts = {
                client: shared(wholes[client], word, client, number, len(clients))
                for number, client in enumerate(clients)
            }
    found = {}
    for number, client in enumerate(clients):
        seed = plan.seed if share is Share.ONE_SET else seed_of(plan.seed, number)
        mine = _of_first_alone(parts[client], share) if number else parts[client]
        mine = _in_own_folder(mine, client) if share in _OWN_FOLDERS else mine
        found[client] = replace(mine, seed=seed, untranslated=(*plan.untranslated, *notes(plan, share)))
    return found


def lays_out_for_all(share: Share, clients: Sequence[str]) -> str | None:
    """Name the client for whose sets the others wait, until they are stopped; None: each lays out its own.

    Where it is lost before the first phase began, no other gets ready.
    """
    return clients[0] if share is Share.ONE_SET else None


def seed_of(seed: int, number: int) -> int:
    """Give the seed of a client: that of the Plan for the first, the others' from it.

    The first client does what a run without others does. Client i has the i-th number of SplitMix64 from the Plan's seed on
    (G. L. Steele, D. Lea, C. H. Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). So files hold different
    bytes, and random choices are in step nowhere, which storage that they have in common would notice. With ONE_SET all have
    the Plan's seed, because sizes and content follow from it, and choices follow from the worker's number over all clients.

    Args:
        seed: Of the Plan, 0 to 2^64 - 1.
        number: Of the client, from 0.
    """
    if number == 0:
        return seed
    most = (1 << 64) - 1
    mixed = (seed + number * 0x9E3779B97F4A7C15) & most
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & most
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & most
    return mixed ^ (mixed >> 31)


def notes(plan: Plan, share: Share) -> tuple[Untranslated, ...]:
    """List what the share leaves out of a Plan, and why."""
    return common_sets.together_notes(plan) if share is Share.TOGETHER else ()


def check_directories(plan: Plan, share: Share, directories: Mapping[str, Path]) -> None:
    """Refuse directories of clients that the load or the share does not go with; raises InputError."""
    if len(plan.targets) != 1:
        raise InputError(
            f"the clients have a directory each, and the load has {len(plan.targets)}; name one directory, on all of them"
        )
    for client, directory in directories.items():
        if not directory.is_absolute():
            raise InputError(f"client '{client}': '{directory}' is not an absolute directory")
    if share not in _OWN_FOLDERS and len(set(directories.values())) > 1:
        raise InputError(
            f"--share {share.value} has all clients in one directory, and they have {len(set(directories.values()))}; take"
            " --share own or files, or name the same directory"
        )


def _check_clients(clients: Sequence[str], directories: Mapping[str, Path] | None) -> None:
    if not clients:
        raise InputError("no client makes load; name one with --hosts")
    if len(set(clients)) != len(clients):
        raise InputError("two clients have one name; names are unique in a run")
    for client in clients:
        if not is_client_name(client):
            raise InputError(f"{client[:80]!r} is not a client name: letters, digits and '._-'")
        if directories is not None and client not in directories:
            raise InputError(f"client '{client}' has no directory, and others have; name one for each")


def _check(plan: Plan, share: Share) -> None:
    """Refuse what no client but the leader has, and what several do to one file system."""
    if plan.rounds is not None:
        raise InputError(ROUNDS_OF_CLIENTS)
    for phase in plan.phases:
        if phase.gate is not None:
            awaited = "a line of input" if isinstance(phase.gate, InputLine) else "a semaphore"
            raise InputError(
                f"phase '{phase.name}' waits for {awaited} of this machine, and clients are other machines: their"
                " phases start together anyway; leave it out"
            )
        for job in phase.jobs:
            if isinstance(job.body, Script):
                raise InputError(
                    f"phase '{phase.name}', job '{job.name}': its operations are a list in a file of this machine, and"
                    " lists are not handed to clients; run it on each, or use a load that defines its operations by rules"
                )
        for step in (*phase.before, *phase.after):
            if isinstance(step, Fill) and share in _OWN_FOLDERS:
                raise InputError(
                    f"phase '{phase.name}': 'fill' looks at what is free, and clients that fill one storage at the same"
                    " time would fill it up; take --share together or one-set, where the first client fills it alone"
                )


def _of_first_alone(plan: Plan, share: Share) -> Plan:
    """Take away what one client does for all: filling the storage, and the caches of the server."""

    def is_done(step: Step) -> bool:
        is_server = isinstance(step, DropCaches) and step.place is Place.SERVER
        return not is_server and not (isinstance(step, Fill) and share not in _OWN_FOLDERS)

    phases = tuple(
        replace(
            phase,
            before=tuple(step for step in phase.before if is_done(step)),
            after=tuple(step for step in phase.after if is_done(step)),
        )
        for phase in plan.phases
    )
    return replace(plan, phases=phases)


def _in_directory(plan: Plan, directory: Path) -> Plan:
    (target,) = plan.targets
    return replace(plan, targets=(replace(target, uri=directory.as_uri()),))


def _in_own_folder(plan: Plan, client: str) -> Plan:
    targets = []
    for target in plan.targets:
        if device_of(target) is not None:
            # Each client has the device of that name.
            targets.append(target)
            continue
        directory = directory_of(target)
        if directory is None:
            raise InputError(
                f"target '{target.name}' is not a directory, so that clients have no folder of their own in it"
            )
        # The directory is on another machine: no link is looked up here.
        targets.append(replace(target, uri=folder_of(directory, client).as_uri()))
    return replace(plan, targets=tuple(targets))
