"""From a Plan to an answer and an exit code: look, run, seal, read, judge, print, write the report.

Here the parts are put together; what a command line says has become values before.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.document import document
from assay.analysis.record import RunRecord, read
from assay.analysis.settling import Settling
from assay.bundle import RunBundle
from assay.bundle.catalog import check_free, runs_directory
from assay.bundle.client_set import OnLost, Share
from assay.bundle.remarks import NOTHING, Remarks
from assay.bundle.run_folder import later_run
from assay.cluster.asked import ClientsAsked
from assay.cluster.crew import Crew
from assay.cluster.relay import period_s
from assay.cluster.set_run import run_set
from assay.cluster.ways import ways_of
from assay.console import console
from assay.errors import AssayError, BundleError, InputError, Interrupted, RunError, refusal
from assay.host.facts import Fact
from assay.live.as_one import AsOne
from assay.live.json_lines import JsonLinesDisplay
from assay.live.judging_told import document_told
from assay.live.line_sink import STANDARD_OUTPUT, line_sink
from assay.live.several import SeveralDisplays
from assay.live.silent import SilentDisplay
from assay.live.terminal import TerminalDisplay
from assay.plan import Plan
from assay.report.head import Head, head_of
from assay.report.kept_answers import KeptAnswer, keep_answer
from assay.report.text import render, render_answer, render_beside
from assay.results import Document, to_json
from assay.running import waiting
from assay.running.carrying_out import Display, run_plan
from assay.running.stopping import Stopped
from assay.tools import registry

if TYPE_CHECKING:
    from assay.tools.front_end import Output


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
        remarks: Remarks = NOTHING,
        live_json: str | None = None,
        clients: ClientsAsked | None = None,
    ) -> None:
        """Begin.

        Args:
            argv: The command line, for the record.
            runs: Where runs are kept; None: the usual place.
            json: Print the result document, and nothing else, on standard output.
            report: Write an HTML report beside the run.
            quiet: Show no progress, and of the answer its last lines alone.
            remarks: What the user calls the runs.
            live_json: Where a line of JSON goes for each interval; with `-`, standard output, the answer goes beside.
            clients: Who measures; None: this machine alone.

        Raises:
            InputError: a run has their name for its id, or two things would go to standard output.
        """
        self._argv = argv
        self._runs = runs_directory(runs)
        self._json = json
        self._report = report
        self._quiet = quiet
        self._remarks = remarks
        self._live_json = live_json
        self._clients = clients
        self._crew: Crew | None = None
        if json and live_json == STANDARD_OUTPUT:
            raise InputError("--json and --live-json -: both want standard output; give --live-json a file")
        if remarks.name is not None:
            check_free(remarks.name, self._runs)

    @contextlib.contextmanager
    def crew(self) -> Iterator[Crew | None]:
        """Have the clients that were asked for, until this is left; None: this machine alone measures."""
        if self._clients is None or self._crew is not None:
            yield self._crew
            return
        from assay.cluster.gathering import gathered  # noqa: PLC0415 - one machine needs none of it

        with gathered(self._clients, self._tell) as crew:
            self._crew = crew
            try:
                yield crew
            finally:
                self._crew = None

    def _tell(self, text: str) -> None:
        if not self._quiet:
            sys.stderr.write(f"{text}\n")

    def measure(
        self, plan: Plan, *, source_text: str | None = None, facts: Sequence[Fact] = (), has_outputs: bool = True
    ) -> int:
        """Run the Plan and print the answer: of a tool its own output, with what it could not say on standard error.

        Args:
            plan: What to do.
            source_text: The load file as it was read, where there is one.
            facts: Facts beyond those of the host.
            has_outputs: Whether the files are written that a tool's words name; else it is said where they can be had.

        Returns the exit code; raises what ended the run early after printing what there is.
        """
        if tool := registry.maker(plan):
            tool.prepare(plan, has_outputs=has_outputs, has_clients=self._clients is not None)
        if self._live_json is not None:
            line_sink(self._live_json)
        beside = (
            contextlib.redirect_stdout(sys.stderr) if self._live_json == STANDARD_OUTPUT else contextlib.nullcontext()
        )
        with waiting.told(self._runs), beside:
            return self._measure(plan, source_text, facts, has_outputs=has_outputs)

    def _measure(self, plan: Plan, source_text: str | None, facts: Sequence[Fact], *, has_outputs: bool) -> int:
        if newest := later_run(self._runs):
            sys.stderr.write(
                f"The wall clock is behind the run {newest}: by that clock 'last' and 'assay ls' put it ahead of this\n"
            )
        with self.crew() as crew:
            bundle, error = self._run(plan, crew, source_text, facts)
        try:
            exit_code = self._answer(bundle, error, has_outputs=has_outputs)
        except BundleError as unreadable:
            # What ended the run may have spoilt its record too; the first is what the user has to know.
            raise error or unreadable from None
        except Exception as untold:
            if isinstance(untold, AssayError) or (why := refusal(untold)) is None:
                raise
            kept = f"The run is kept: {bundle.path}"
            raise error or RunError(f"{why}. {kept}\n'assay show {bundle.run_id}' prints the answer again") from None
        except Stopped as stopped:
            raise Interrupted(
                f"stopped while the answer was being written. The run is complete and kept: {bundle.path}\n"
                f"'assay show {bundle.run_id}' and 'assay report {bundle.run_id}' work it out again"
            ) from stopped
        if error is not None:
            if not bundle.is_gone:
                sys.stderr.write(f"The run is kept: {bundle.path}\n")
            raise error
        if bundle.is_gone:
            raise RunError(
                f"{bundle.path} is not there any more: removed, moved away or unmounted while the answer was made"
            )
        return exit_code

    def _run(
        self, plan: Plan, crew: Crew | None, source_text: str | None, facts: Sequence[Fact]
    ) -> tuple[RunBundle, AssayError | None]:
        """Measure, here or with a crew, and keep it."""
        if crew is None or self._clients is None:
            return run_plan(
                plan,
                runs=self._runs,
                argv=self._argv,
                display=self._display(),
                watch=Settling(plan),
                source_text=source_text,
                facts=facts,
                remarks=self._remarks,
                prompts=sys.stderr if self._json else sys.stdout,
            )
        return run_set(
            plan,
            crew,
            share=self._clients.share or Share.OWN,
            on_lost=self._clients.on_lost or OnLost.CONTINUE,
            directories=self._clients.directories,
            listener=AsOne(self._display, Settling(plan), period_s=period_s),
            runs=self._runs,
            argv=self._argv,
            source_text=source_text,
            facts=facts,
            remarks=self._remarks,
            reached=ways_of(self._clients, crew.stations),
        )

    def _display(self, beside: Callable[[], str] | None = None) -> Display:
        """Make what shows the run: progress where it is wanted, lines of JSON where they are asked for."""
        shown: Display = SilentDisplay() if self._quiet else TerminalDisplay(beside)
        if self._live_json is None:
            return shown
        return SeveralDisplays((shown, JsonLinesDisplay(line_sink(self._live_json))))

    def _answer(self, bundle: RunBundle, error: AssayError | None, *, has_outputs: bool) -> int:
        run = read(bundle)
        judged = document(run) if self._quiet else document_told(run)
        head = head_of(judged, run)
        keep_answer(bundle.path, self._runs, KeptAnswer(document=judged, head=head))
        output = registry.output(run)
        report = self._write_report(run, judged) if self._report and error is None else None
        if self._json:
            sys.stdout.write(f"{to_json(judged)}\n")
            sys.stdout.flush()
        elif output:
            sys.stdout.write(output.text())
            sys.stdout.flush()
            self._say_beside(judged, head, output, report)
        elif self._quiet:
            render_answer(judged, head, console())
            sys.stdout.flush()
        elif judged.results or error is None:
            render(judged, head, console(), html=report)
            sys.stdout.flush()
        for file in output.files() if output else ():
            if has_outputs:
                file.write()
            else:
                sys.stderr.write(
                    f"{file.path}: not written, because a rerun writes no file that a run names; its content is in the run: "
                    f"'assay export {run.run_id} --files DIR'\n"
                )
        return judged.run.exit_code

    def _say_beside(self, judged: Document, head: Head, output: "Output[Any]", report: Path | None) -> None:
        """Say on standard error what stands beside a tool's own output."""
        sys.stderr.write(output.beside())
        if self._quiet:
            render_answer(judged, head, console(stderr=True))
            return
        render_beside(judged, head, console(stderr=True), html=report)

    def _write_report(self, run: RunRecord, judged: Document) -> Path | None:
        try:
            from assay.report.html import write_html  # noqa: PLC0415 - it needs the libraries that draw

            of_tool = registry.figures(run, judged)
            return write_html(run, judged, self._runs / f"{run.run_id}.html", of_tool=of_tool)
        except (RunError, InputError) as missing:
            sys.stderr.write(f"No report: {missing} 'assay report {run.run_id} -o FILE' makes it again\n")
            return None
