"""A worker as a child of this process, without ssh: for `--hosts local:3`, and for a leader that measures, too.

It is held by the same shell as one far away, in a session of its own: Ctrl-C reaches this process alone, and the worker ends
with it, however it ends.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys

from assay.cluster.hosts import HostSpec
from assay.cluster.worker_order import WorkerOrder, check_version
from assay.cluster.worker_shell import END_S, HostError, ShellChannel, WorkerShell
from assay.errors import reason_of
from assay.running.engine import find_engine


class LocalWorker:
    """A worker on this machine."""

    def __init__(self, host: HostSpec) -> None:
        """Start with the workers of a launch."""
        self._host = host
        self._shell = WorkerShell()
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, order: WorkerOrder) -> None:
        """Start it; raises HostError."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._shell.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise HostError(f"/bin/sh could not be started: {reason_of(error)}") from error
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None  # noqa: S101 - a pipe, as asked above
        assert stdout is not None  # noqa: S101 - same
        assert stderr is not None  # noqa: S101 - same
        await self._shell.open(
            ShellChannel(read_output=stdout.read, read_errors=stderr.read, write=stdin.write, end_input=stdin.close)
        )
        look = await self._shell.look(self._host.python or sys.executable)
        check_version(look.assay)
        self._shell.use_engine(str(find_engine().absolute()))
        await self._shell.start(order.arguments(str(order.folder)))

    async def ended(self) -> str:
        """Wait until it has ended, and return how."""
        return await self._shell.ended()

    async def close(self) -> str:
        """End it; return what could not be ended, or nothing."""
        self._shell.end()
        process, self._process = self._process, None
        if process is None:
            return ""
        left = ""
        try:
            await asyncio.wait_for(process.wait(), END_S)
        except TimeoutError:
            left = f"its shell (process {process.pid}) did not end"
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        await self._shell.close()
        return left or self._shell.left
