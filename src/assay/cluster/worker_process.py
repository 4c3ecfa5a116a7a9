"""The process of a client, as `assay worker` starts it: its name, its address, its signals, and its last message.

The first signal has it stop its engine, which removes data, and leave; the second ends the engine at once.
"""

import asyncio
import contextlib
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from assay import __version__
from assay.bundle.client_set import LONGEST_NAME, Role, is_client_name
from assay.cluster.addresses import own_address, towards
from assay.cluster.asked import refuse_root
from assay.cluster.dask_parts import Security
from assay.cluster.join_file import JoinFile, read_join
from assay.cluster.kept_runs import clients_folder
from assay.cluster.security import security_of
from assay.cluster.wire import Card
from assay.cluster.worker import JOINING_S, ClientSettings, ClientWorker, Departure, Why
from assay.errors import InputError, Interrupted, RunError
from assay.running.engine import capabilities
from assay.running.stopping import SIGNALS

_LOOK_S: Final = 0.2
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+|\.\.+")


def run_worker(
    join: Path, *, name: str | None, role: Role, address: str | None, idle_s: float, insecure_as_root: bool = False
) -> None:
    """Join a leader and be its client until the end.

    Args:
        join: The join file of a run, or its folder; it may be about to be made.
        name: What the client is called; None: as its machine.
        role: What it is there for.
        address: IP address or interface by which others reach this machine; None: that on the way to the leader.
        idle_s: Time for which the client stays while nothing is asked of it.
        insecure_as_root: Whether root may join a leader without keys.

    Raises:
        InputError: the join file, the name or the address cannot be meant.
        RunError: the leader cannot be reached, refuses this client, or went away.
        Interrupted: a signal ended it.
    """
    found, folder = _wait_for(join)
    if not found.is_encrypted and not insecure_as_root:
        refuse_root(f"{join}: the leader was started with --insecure; joining it")
    called = name if name is not None else _own_name()
    if not is_client_name(called):
        raise InputError(
            f"'{called[:LONGEST_NAME]}' is not a client's name: at most {LONGEST_NAME} of letters, digits and '._-', and of "
            "these three none at its ends"
        )
    host = own_address(address) if address is not None else towards(*found.leader)
    card = Card(name=called, role=role, assay_version=__version__, token=found.token, hello=capabilities())
    settings = ClientSettings(card=card, host=host, root=clients_folder(), idle_s=idle_s)
    sys.stderr.write(f"assay worker {called}: joining the leader at {found.address}\n")
    _conclude(asyncio.run(_serve(found, security_of(found, folder), settings)), settings, found)


def _wait_for(join: Path) -> tuple[JoinFile, Path]:
    """Read the join file; a leader that is started at the same time, as by srun, may be about to write it."""
    give_up_s = time.monotonic() + JOINING_S
    has_reported = False
    while True:
        try:
            return read_join(join)
        except FileNotFoundError as error:
            if time.monotonic() > give_up_s:
                raise InputError(
                    f"{error.filename or join} is not there, and did not come in {JOINING_S:g} s; the leader makes it"
                ) from None
        if not has_reported:
            sys.stderr.write(f"assay worker: {join} is not there yet; waiting for the leader to make it\n")
            has_reported = True
        time.sleep(_LOOK_S)


def _own_name() -> str:
    """Give a name from the machine's, without what no name has."""
    return _NOT_IN_NAMES.sub("-", socket.gethostname())[:LONGEST_NAME].strip("._-") or "client"


async def _serve(join: JoinFile, security: Security, settings: ClientSettings) -> Departure:
    client = ClientWorker(join, security, settings)
    with _signals(client):
        return await client.serve()


@contextlib.contextmanager
def _signals(client: ClientWorker) -> Iterator[None]:
    """Have signals end a client in order, instead of at once."""
    loop = asyncio.get_running_loop()
    came: list[signal.Signals] = []

    def take(number: signal.Signals) -> None:
        came.append(number)
        if len(came) > 1:
            client.kill_engine()
        client.depart(Departure(Why.STOPPED, f"{number.name} ended it"))

    before = {number: signal.getsignal(number) for number in SIGNALS}
    taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in taken:
        loop.add_signal_handler(number, take, number)
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])


def _conclude(departure: Departure, settings: ClientSettings, join: JoinFile) -> None:
    """Report how it ended; raises what is to be the exit code."""
    name, more = settings.card.name, f": {departure.text}" if departure.text else ""
    kept = f". What was measured and not fetched is in {settings.root}"
    match departure.why:
        case Why.LET_GO | Why.IDLE:
            sys.stderr.write(f"assay worker {name}: {departure.text or departure.why.value}\n")
        case Why.STOPPED:
            raise Interrupted(f"worker {name}: {departure.text}{kept}")
        case Why.NAME_TAKEN:
            raise InputError(f"worker: '{name}' is the name of another client of this run; give another with --name")
        case Why.REFUSED:
            raise RunError(f"worker {name}: the leader at {join.address} refused it{more}")
        case Why.UNREACHABLE:
            raise RunError(
                f"worker {name}: the leader at {join.address} did not let it in for {JOINING_S:g} s. Does it still run, is "
                "the network path open, and is this its join folder?"
            )
        case Why.LEADER_GONE:
            raise RunError(f"worker {name}: the leader at {join.address} is gone{more}{kept}")
