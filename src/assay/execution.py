"""Run a Plan to its answer and exit code: run, seal, read, assess, print, write the report.

Here the parts are put together. `session` imports this module after every check of the user's words. Importing it imports
polars, numpy, analysis and the display: all of them before the engine starts, and none while it measures.
"""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.document import code_of_tool
from assay.analysis.record import RunRecord, read
from assay.analysis.set_views import sums_of
from assay.analysis.settling import Settling
from assay.bundle import RunBundle
from assay.bundle.client_set import OnLost, Share
from assay.bundle.remarks import Remarks
from assay.claims.expected import expected_document
from assay.cluster.asked import ClientsAsked
from assay.cluster.connection import Connection
from assay.cluster.group_run import run_group
from assay.cluster.reached_by import reached_by_name
from assay.cluster.relay import period_s
from assay.console import console
from assay.errors import MEASURED, NOT_TRUSTED, AssayError, BundleError, InputError, Interrupted, RunError, refusal
from assay.host.facts import ENCRYPTED_FACT, Fact
from assay.live.analysis_progress import document_with_progress
from assay.live.as_one import AsOne
from assay.live.json_lines import JsonLinesDisplay
from assay.live.line_sink import line_sink
from assay.live.several import SeveralDisplays
from assay.live.silent import SilentDisplay
from assay.live.terminal import TerminalDisplay
from assay.plan import Plan
from assay.report.head import Head, head_of
from assay.report.kept_answers import KeptAnswer, keep_answer
from assay.report.over_repeats import shown_results
from assay.report.text import render, render_answer, render_stderr_notes
from assay.results import Document, to_json
from assay.running.carrying_out import Display, run_plan
from assay.running.stopping import Stopped
from assay.tools import registry
from assay.verdicts import ExpectationVerdict, TrustLevel

if TYPE_CHECKING:
    from assay.tools.front_end import Output


class Execution:
    """How the Plans of one command are measured, answered and printed."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        runs: Path,
        json: bool,
        report: bool,
        quiet: bool,
        is_strict: bool,
        require_trust: str | None,
        remarks: Remarks,
        live_json: str | None,
        clients: ClientsAsked | None,
    ) -> None:
        """Hold what `Session` was given, and the folder of runs as an absolute path."""
        self._argv = argv
        self._runs = runs
        self._json = json
        self._report = report
        self._quiet = quiet
        self._is_strict = is_strict
        self._require_trust = require_trust
        self._remarks = remarks
        self._live_json = live_json
        self._clients = clients

    def run(
        self, plan: Plan, connection: Connection | None, source_text: str | None, facts: Sequence[Fact]
    ) -> tuple[RunBundle, AssayError | None]:
        """Measure on this machine or with clients, and keep the run."""
        if connection is None or self._clients is None:
            return run_plan(
                plan,
                runs=self._runs,
                argv=self._argv,
                display=self._display(plan),
                watch=Settling(plan),
                source_text=source_text,
                facts=facts,
                remarks=self._remarks,
                prompts=sys.stderr if self._json else sys.stdout,
            )
        return run_group(
            plan,
            connection,
            share=self._clients.share or Share.OWN,
            on_lost=self._clients.on_lost or OnLost.CONTINUE,
            directories=self._clients.directories,
            listener=AsOne(lambda stderr_note: self._display(plan, stderr_note), Settling(plan), period_s=period_s),
            runs=self._runs,
            argv=self._argv,
            source_text=source_text,
            facts=(*facts, Fact(key=ENCRYPTED_FACT, value=not self._clients.is_insecure, source="user")),
            remarks=self._remarks,
            reached=reached_by_name(self._clients, connection.clients),
        )

    def answer(self, bundle: RunBundle, error: AssayError | None, *, has_outputs: bool) -> int:
        """Work the answer out and print it.

        Args:
            bundle: The run.
            error: What ended it early; None: it ended by itself.
            has_outputs: Whether the files are written that a tool's words name.

        Returns the exit code; raises what ended the run early after printing what there is.
        """
        try:
            exit_code = self._answer(bundle, error, has_outputs=has_outputs)
        except BundleError as unreadable:
            # What ended the run may have spoilt its record too; the first is what the user has to know.
            raise error or unreadable from None
        except Exception as unexpected:
            if isinstance(unexpected, AssayError) or (why := refusal(unexpected)) is None:
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

    def _display(self, plan: Plan, stderr_note: Callable[[], str] | None = None) -> Display:
        """Make what shows the run: progress where it is wanted, lines of JSON where they are asked for."""
        is_terse = registry.maker(plan) is not None
        shown: Display = SilentDisplay() if self._quiet else TerminalDisplay(stderr_note, is_terse=is_terse)
        if self._live_json is None:
            return shown
        return SeveralDisplays((shown, JsonLinesDisplay(line_sink(self._live_json))))

    def _answer(self, bundle: RunBundle, error: AssayError | None, *, has_outputs: bool) -> int:
        run = read(bundle)
        outcome = expected_document(run) if self._quiet else document_with_progress(run)
        head = head_of(outcome, run)
        keep_answer(bundle.path, self._runs, KeptAnswer(document=outcome, head=head))
        output = registry.output(run)
        report = self._write_report(run, outcome) if self._report and error is None else None
        if self._json:
            sys.stdout.write(f"{to_json(outcome)}\n")
            sys.stdout.flush()
        elif output:
            sys.stdout.write(output.text())
            sys.stdout.flush()
            self._print_stderr_notes(outcome, head, output, report)
        elif self._quiet:
            render_answer(outcome, head, console())
            sys.stdout.flush()
        elif outcome.results or error is None:
            render(outcome, head, console(), html=report)
            sys.stdout.flush()
        for file in output.files() if output else ():
            if has_outputs:
                file.write()
            else:
                sys.stderr.write(
                    f"{file.path}: not written, because a rerun writes no file that a run names; its content is in the run: "
                    f"'assay export {run.run_id} --files DIR'\n"
                )
        code = outcome.run.exit_code if self._is_strict else code_of_tool(outcome)
        return code or max(self._code_of_trust(outcome), _code_of_expectations(outcome))

    def _code_of_trust(self, outcome: Document) -> int:
        """Give 1 where results are trusted less than was asked for, and print how many."""
        if self._require_trust is None:
            return MEASURED
        results = shown_results(sums_of(outcome))
        accepted = {TrustLevel.YES} | ({TrustLevel.WEAK} if self._require_trust == TrustLevel.WEAK else set())
        below = sum(result.trust.level not in accepted for result in results)
        if results and not below:
            return MEASURED
        sys.stderr.write(f"--require-trust {self._require_trust}: {below} of {len(results)} results are trusted less\n")
        return NOT_TRUSTED

    def _print_stderr_notes(self, outcome: Document, head: Head, output: "Output[Any]", report: Path | None) -> None:
        """Print findings and answer on standard error, next to a tool's own output."""
        sys.stderr.write(output.brief())
        if self._quiet:
            render_answer(outcome, head, console(stderr=True))
            return
        render_stderr_notes(outcome, head, console(stderr=True), html=report)

    def _write_report(self, run: RunRecord, outcome: Document) -> Path | None:
        try:
            from assay.report.html import write_html  # noqa: PLC0415 - it needs the libraries that draw

            of_tool = registry.figures(run, outcome)
            return write_html(run, outcome, self._runs / f"{run.run_id}.html", of_tool=of_tool)
        except (RunError, InputError) as missing:
            sys.stderr.write(f"No report: {missing} 'assay report {run.run_id} -o FILE' makes it again\n")
            return None


def _code_of_expectations(judged: Document) -> int:
    """Give 1 unless all expectations are met, and print how many are not."""
    count = Counter(one.verdict for one in judged.expectations)
    not_met, undecided = count[ExpectationVerdict.NOT_MET], count[ExpectationVerdict.UNDECIDED]
    if not not_met and not undecided:
        return MEASURED
    sys.stderr.write(f"--expect: of {count.total()} expectations {not_met} not met, {undecided} undecided\n")
    return NOT_TRUSTED
