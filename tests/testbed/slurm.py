"""Slurm with several nodes on this machine: a munged, a slurmctld and a slurmd for each node, all of this test's own.

Ports are those that are free; sockets, keys and spools lie in a folder of its own; nothing is installed as a service. All
nodes are this machine, so that what they run shares its name and its processors.
"""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.host import find_tool, need_root, need_tools, stop, wait_until

_CONFIGURATION = """\
ClusterName=assaytest
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CryptoType=crypto/munge
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillOnBadExit=1
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
PartitionName=all Nodes={nodes} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""
"""`KillOnBadExit=1` is what many sites have: one task that fails ends all others, unless a step says otherwise."""


@dataclass(frozen=True)
class Slurm:
    """A cluster; its commands find it by `environment`."""

    nodes: tuple[str, ...]
    environment: dict[str, str]


@contextmanager
def slurm(count: int) -> Iterator[Slurm]:
    """Run a cluster of so many nodes, n1 and on."""
    need_root()
    need_tools("munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo", "setpriv")
    folder = Path(tempfile.mkdtemp(prefix="assay-slurm-"))
    nodes = tuple(f"n{number}" for number in range(1, count + 1))
    with ExitStack() as undo:
        undo.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        for name in ("state", "munge", *(f"spool/{node}" for node in nodes)):
            (folder / name).mkdir(parents=True)
        host = socket.gethostname().partition(".")[0]
        ports = _free_ports(count + 1)
        lines = [
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 State=UNKNOWN\n"
            for node, port in zip(nodes, ports[1:], strict=True)
        ]
        text = _CONFIGURATION.format(host=host, folder=folder, port=ports[0], nodes=",".join(nodes))
        (folder / "slurm.conf").write_text(text.replace("PartitionName", f"{''.join(lines)}PartitionName"))
        found = Slurm(nodes=nodes, environment={**os.environ, "SLURM_CONF": str(folder / "slurm.conf")})
        _munge(undo, folder / "munge")
        for words in (["slurmctld", "-D", "-i"], *(["slurmd", "-D", "-N", node] for node in nodes)):
            _start(undo, words, folder / f"{words[0]}-{words[-1]}.out", found.environment)
        wait_until(lambda: _idle(found) == count, f"{count} idle nodes; logs are in {folder}")
        yield found


def _munge(undo: ExitStack, folder: Path) -> None:
    (folder / "key").write_bytes(os.urandom(1024))
    (folder / "key").chmod(0o400)
    folder.chmod(0o755)
    for path in (folder, folder / "key"):
        shutil.chown(path, "munge", "munge")
    files = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    words = [f"--{option}={folder / name}" for option, name in files.items()]
    as_munge = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups"]
    _start(undo, [*as_munge, find_tool("munged") or "munged", "-F", "-f", *words], folder.parent / "munged.out", None)
    wait_until((folder / "socket").is_socket, "the socket of munged")


def _start(undo: ExitStack, words: list[str], output: Path, environment: dict[str, str] | None) -> None:
    program = [find_tool(words[0]) or words[0], *words[1:]]
    with output.open("wb") as out:
        daemon = subprocess.Popen(
            program, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment
        )
    undo.callback(stop, daemon)


def _idle(cluster: Slurm) -> int:
    words = [find_tool("sinfo") or "sinfo", "-h", "-t", "idle", "-o", "%D"]
    done = subprocess.run(words, capture_output=True, text=True, env=cluster.environment, check=False)
    return int(done.stdout.strip() or 0) if done.returncode == 0 else 0


def _free_ports(count: int) -> list[int]:
    with ExitStack() as undo:
        asking = [undo.enter_context(socket.socket()) for _ in range(count)]
        for one in asking:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in asking]
