"""Run the Plans of a measuring command: refuse what cannot be measured, then call `execution`.

This module is light to import. It imports `execution` after the last check and before the engine starts: `execution` imports
polars and numpy. That takes longer than any check, must not happen while the engine measures, and can end the program
where memory or threads are short, which is better before a run than after it.
"""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.bundle.catalog import check_free, runs_directory
from assay.bundle.remarks import NOTHING, Remarks
from assay.bundle.run_folder import later_run
from assay.confinement import check_action, check_plan, is_confined
from assay.errors import InputError, PlanError
from assay.invariants import invariant_table
from assay.live.line_sink import STANDARD_OUTPUT, line_sink
from assay.live.progress_line import StatusLines
from assay.loads import impossible
from assay.running import waiting
from assay.running.destroying import NOTHING as NOTHING_DESTROYED
from assay.running.destroying import DestroyAsked, destroyable
from assay.running.quiet import check_alone, wait_for_rest
from assay.targets import check_room, laid_out, places
from assay.tools import registry
from assay.units import parse_seconds

if TYPE_CHECKING:
    from assay.cluster.asked import ClientsAsked
    from assay.cluster.connection import Connection
    from assay.host.facts import Fact
    from assay.plan import Plan


class Session:
    """What a measuring command does with its Plans."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        runs: Path | None,
        json: bool,
        report: bool,
        quiet: bool = False,
        is_strict: bool = True,
        require_trust: str | None = None,
        wait_quiet: str | None = None,
        remarks: Remarks = NOTHING,
        live_json: str | None = None,
        clients: "ClientsAsked | None" = None,
        destroy: DestroyAsked = NOTHING_DESTROYED,
    ) -> None:
        """Begin.

        Args:
            argv: The command line, for the record.
            runs: Where runs are kept; None: the usual place.
            json: Print the result document, and nothing else, on standard output.
            report: Write an HTML report next to the run.
            quiet: Show no progress, and of the answer its last lines alone.
            is_strict: Whether a number that must not be used makes the exit code 1; else only what failed does.
            require_trust: `weak` or `yes`: a result that is trusted less makes the exit code 1; None: none does.
            wait_quiet: How long to wait at most until the machine is at rest, as a time; None: not at all.
            remarks: What the user calls the runs.
            live_json: Where a line of JSON goes for each interval; with `-`, standard output, the answer goes to standard
                error.
            clients: Who measures; None: this machine alone.
            destroy: Block devices whose data may be destroyed.

        Raises:
            InputError: a run has their name for its id, two things would go to standard output, clients would measure where
                this command is confined to a folder, or the user's table of invariants cannot be read.
        """
        self._argv = argv
        self._runs = runs_directory(runs)
        self._json = json
        self._report = report
        self._quiet = quiet
        self._is_strict = is_strict
        self._require_trust = require_trust
        self._wait_quiet_s = None if wait_quiet is None else parse_seconds(wait_quiet)
        check_alone(self._wait_quiet_s, has_clients=clients is not None)
        self._remarks = remarks
        self._live_json = live_json
        self._clients = clients
        self._destroy = destroy
        self._connection: Connection | None = None
        if clients is not None:
            check_action("measuring with clients")
        invariant_table.load()
        if json and live_json == STANDARD_OUTPUT:
            raise InputError("--json and --live-json -: both want standard output; give --live-json a file")
        if remarks.name is not None:
            check_free(remarks.name, self._runs)

    @contextlib.contextmanager
    def connection(self) -> "Iterator[Connection | None]":
        """Have the clients that were asked for, until this is left; None: this machine alone measures."""
        if self._clients is None or self._connection is not None:
            yield self._connection
            return
        import assay.execution  # noqa: F401, PLC0415 - before the clients connect, who would have to wait for it
        from assay.cluster.gathering import connect  # noqa: PLC0415 - one machine needs none of it

        lines = StatusLines(sys.stderr)
        write_line, progress = (_ignore, _ignore) if self._quiet else (lines.write_line, lines.progress)
        with contextlib.closing(lines), connect(self._clients, write_line, progress) as connection:
            self._connection = connection
            try:
                yield connection
            finally:
                self._connection = None

    def measure(
        self, plan: "Plan", *, source_text: str | None = None, facts: "Sequence[Fact]" = (), has_outputs: bool = True
    ) -> int:
        """Run the Plan and print the answer: of a tool its own output, and the rest on standard error.

        Args:
            plan: What to do.
            source_text: The load file as it was read, where there is one.
            facts: Facts beyond those of the host.
            has_outputs: Whether the files are written that a tool's words name; else a message names where they can be had.

        Returns the exit code; raises what ended the run early after printing what there is.
        """
        tool = registry.maker(plan)
        if is_confined():
            outputs = tool.output_names(tool.settings_of(plan)) if tool else ()
            check_plan(plan, outputs, own_programs=tool.own_programs if tool else frozenset())
        if tool:
            try:
                impossible.check(plan, tool.option_names)
            except PlanError as cannot:
                raise InputError(f"{tool.name}: {cannot}") from cannot
            tool.prepare(plan, has_outputs=has_outputs, has_clients=self._clients is not None)
        check_room(laid_out(plan), reserve_bytes=plan.reserve_bytes, cure=tool.room_cure if tool else "use less")
        if self._live_json is not None:
            line_sink(self._live_json)
        with destroyable(plan, self._destroy, has_clients=self._clients is not None) as permitted:
            return self._carry_out(permitted, source_text, facts, has_outputs=has_outputs)

    def _carry_out(self, plan: "Plan", source_text: str | None, facts: "Sequence[Fact]", *, has_outputs: bool) -> int:
        from assay.execution import Execution  # noqa: PLC0415 - nothing is refused from here on

        execution = Execution(
            self._argv,
            runs=self._runs,
            json=self._json,
            report=self._report,
            quiet=self._quiet,
            is_strict=self._is_strict,
            require_trust=self._require_trust,
            remarks=self._remarks,
            live_json=self._live_json,
            clients=self._clients,
        )
        output_context = (
            contextlib.redirect_stdout(sys.stderr) if self._live_json == STANDARD_OUTPUT else contextlib.nullcontext()
        )
        with waiting.warn_if_blocked(self._runs), output_context:
            if newest := later_run(self._runs):
                sys.stderr.write(
                    f"The wall clock is behind the run {newest}: by that clock 'last' and 'assay ls' put it ahead of this\n"
                )
            if self._wait_quiet_s is not None:
                self._wait(plan, self._wait_quiet_s)
            with self.connection() as connection:
                bundle, error = execution.run(plan, connection, source_text, facts)
            return execution.answer(bundle, error, has_outputs=has_outputs)

    def _wait(self, plan: "Plan", most_s: float) -> None:
        lines = StatusLines(sys.stderr)
        with contextlib.closing(lines):
            wait_for_rest(places(plan).values(), most_s, lines.write_line, _ignore if self._quiet else lines.progress)


def _ignore(_: str) -> None:
    """Print nothing."""
