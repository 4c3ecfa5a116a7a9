"""Runs of many clients in the lab: the command on the host that leads, and what the machine itself knows of them."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assay import events
from assay.bundle import RunBundle
from assay.bundle.client_set import ClientSet
from e2e.command import COMMAND, need_command
from e2e.processes import WAIT_S, Running
from testbed.host import wait_until
from testbed.netlab import LabHost, NetLab

OWN_VARIABLES = ("PATH", "PYTHONPATH", "ASSAY_ENGINE", "PYTHONDONTWRITEBYTECODE")
KEY = b"PRIVATE KEY-----"
LONGEST_KEY_BYTES = 1 << 16


@dataclass(frozen=True)
class ManyClients:
    """The command, on the host that leads."""

    lab: NetLab

    @property
    def directory(self) -> Path:
        """What is measured: a folder of each host's own, and of each that makes load."""
        return self.lab.place / "data"

    @property
    def runs(self) -> Path:
        """The leader's runs, on this machine."""
        return self.lab.leader.folder / "runs"

    def __call__(self, *words: str | os.PathLike[str], codes: tuple[int, ...] = (0, 1)) -> tuple[str, str]:
        """Run `assay WORDS`; give standard output and standard error."""
        done = self.lab.run(self.lab.leader, [COMMAND, *words])
        if done.returncode not in codes:
            pytest.fail(f"assay {' '.join(map(str, words))}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout, done.stderr

    def measure(self, *words: str | os.PathLike[str]) -> dict[str, Any]:
        """Run `assay measure` on the hosts' folders; give the result document."""
        document: dict[str, Any] = json.loads(self("measure", self.directory, *words, "--json", "--no-report")[0])
        return document

    @contextmanager
    def running(self, *words: str | os.PathLike[str], folder: Path) -> Iterator[Running]:
        """Run `assay WORDS` beside the test."""
        said, output = folder / "stderr", folder / "stdout"
        with self.lab.popen(self.lab.leader, [COMMAND, *words], output=output, errors=said) as process:
            yield Running(process, said)

    def bundle(self) -> RunBundle:
        """The only run that the leader keeps so far, or the last of them."""
        folders = sorted(path for path in self.runs.iterdir() if (path / "resolved.json").exists())
        return RunBundle.open(folders[-1])

    def make_directories(self, *, without: tuple[str, ...] = ()) -> None:
        """Give each host its folder, but some."""
        for host in self.lab.hosts:
            if host.name not in without:
                (host.folder / "data").mkdir(exist_ok=True)

    def engines(self, host: LabHost) -> list[int]:
        """Pids of the engines of a host that carry a run out."""
        return list(self.lab.processes(host, "assay-engine"))

    def workers(self, host: LabHost) -> list[int]:
        """Pids of the workers of a host: what is no engine, and not of ssh."""
        return [pid for pid, line in self.lab.processes(host, "worker").items() if "python" in line]

    def left(self, host: LabHost) -> list[str]:
        """What a run left on a host: processes, keys, data."""
        own = self.lab.leader.folder / "home" / ".ssh"
        keys = [path for path in host.folder.rglob("*") if own not in path.parents and _has_key(path)]
        data = [path for path in (host.folder / "data").glob("assay-data*") if any(path.iterdir())]
        processes = [f"process {pid} {line}" for pid, line in self.lab.processes(host).items()]
        return [*processes, *(f"key {path}" for path in keys), *(f"data {path}" for path in data)]

    def wait_until_nothing_is_left(self, *, but: tuple[LabHost, ...] = ()) -> None:
        """Wait until no host has anything left of a run: workers end a moment after the command."""
        hosts = [host for host in self.lab.all if host not in but]
        try:
            wait_until(lambda: not any(self.left(host) for host in hosts), "nothing left", WAIT_S)
        except TimeoutError:
            pytest.fail(f"left behind: { {host.name: self.left(host) for host in hosts} }")


def shared_variables() -> Mapping[str, str]:
    """What commands on hosts need to be those of this session."""
    need_command()
    own = {name: os.environ[name] for name in OWN_VARIABLES if name in os.environ}
    return own | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def true_starts_ns(bundle: RunBundle, lab: NetLab, phase_index: int) -> dict[str, int]:
    """When each client issued its first operation of a phase, by the one clock of the machine.

    Its own clock says it, less what its host adds to that.
    """
    starts = {}
    for name in bundle.clients:
        zero_ns = None
        for event in bundle.events(name):
            match event:
                case events.Hello():
                    zero_ns = event.clock.monotonic_at_zero_ns
                case events.PhaseFinished() if event.phase_index == phase_index and zero_ns is not None:
                    first_ns = min(one.first_op_ns for one in event.workers if one.first_op_ns is not None)
                    starts[name] = zero_ns + first_ns - lab[name].offset_ns
                case _:
                    pass
    return starts


def client_set(bundle: RunBundle) -> ClientSet:
    """Who measured; there must be somebody."""
    found = bundle.client_set()
    assert found is not None
    return found


def _has_key(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size < LONGEST_KEY_BYTES and KEY in path.read_bytes()
    except OSError:
        return False
