"""One measuring command from Plan to exit code: run, seal, judge, print, write the report."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import typer

from assay.bundle import RunBundle
from assay.bundle.catalog import resolve, runs_directory
from assay.errors import AssayError, BundleError, InputError, Interrupted, RunError
from assay.host.facts import Fact
from assay.live.terminal import TerminalDisplay
from assay.plan import Plan
from assay.plan.walk import commands
from assay.results import Document
from assay.running.run import Gate, run_plan
from assay.running.stopping import Stopped

if TYPE_CHECKING:
    from assay.analysis.record import RunRecord


def open_run(reference: str, runs: Path | None) -> RunBundle:
    """Open a run by its folder, id, prefix or `last`; raises BundleError if there is none or its files were changed."""
    bundle = RunBundle.open(resolve(reference, runs_directory(runs)))
    bundle.verify()
    return bundle


def check_commands(plan: Plan, *, are_allowed: bool) -> None:
    """Raise InputError where a Plan from a file runs programs and nobody said that it may."""
    programs = tuple(dict.fromkeys(" ".join(argv) for argv in commands(plan.phases)))
    if programs and not are_allowed:
        raise InputError(
            f"this load runs programs: {'; '.join(programs)}\n"
            "A file is not allowed to by itself. If you trust it, add --allow-commands"
        )


def print_json(judged: Document) -> None:
    """Print a result document on standard output."""
    typer.echo(msgspec.json.format(msgspec.json.encode(judged), indent=2))


class Session:
    """What a measuring command does with its Plan."""

    def __init__(self, *, runs: Path | None, json: bool, report: bool) -> None:
        """Where runs go, and what is printed at the end."""
        self._runs = runs_directory(runs)
        self._json = json
        self._report = report

    def measure(self, plan: Plan, *, source_text: str | None = None, facts: Sequence[Fact] = ()) -> None:
        """Run the Plan, print the answer, and exit; raises the error that ended the run early after printing it."""
        _, code = self.run(plan, source_text=source_text, facts=facts)
        raise typer.Exit(code)

    def run(  # noqa: D417 - the rest is what it says
        self,
        plan: Plan,
        *,
        source_text: str | None = None,
        facts: Sequence[Fact] = (),
        gate: Gate | None = None,
        user: tuple[int, int] | None = None,
    ) -> "tuple[RunRecord, int]":
        """Run the Plan and print the answer: for a classic tool its own output, with what it could not say on stderr.

        Returns the run as it was read and the exit code; raises what ended the run early after printing what there is.

        Args:
            gate: As for `run_plan`.
            user: As for `run_plan`.
        """
        bundle, error = run_plan(
            plan,
            runs=self._runs,
            argv=("assay", *sys.argv[1:]),
            display=TerminalDisplay(),
            source_text=source_text,
            facts=facts,
            gate=gate,
            user=user,
        )
        try:
            answered = self._answer(bundle, error)
        except BundleError as unreadable:
            # What ended the run may have spoilt its record too; the first is what the user has to know.
            raise error or unreadable from None
        except Stopped as stopped:
            raise Interrupted(
                f"stopped while the answer was being written. The run is complete and kept: {bundle.path}\n"
                f"'assay show {bundle.run_id}' and 'assay report {bundle.run_id}' work it out again"
            ) from stopped
        if error is not None:
            typer.echo(f"The run is kept: {bundle.path}", err=True)
            raise error
        return answered

    def _answer(self, bundle: RunBundle, error: AssayError | None) -> "tuple[RunRecord, int]":
        from rich.console import Console

        from assay.analysis.document import document
        from assay.analysis.record import read
        from assay.report.text import render, render_beside
        from assay.tools import registry as classic

        run = read(bundle)
        judged = document(run)
        report = self._write_report(run, judged) if self._report and error is None else None
        if self._json:
            print_json(judged)
        elif classic.has_output(run):
            typer.echo(classic.text(run), nl=False)
            typer.echo(classic.beside(run), nl=False, err=True)
            render_beside(judged, Console(stderr=True), html=report)
        elif judged.results or error is None:
            render(judged, run, Console(), html=report)
        for file in classic.files(run):
            file.write()
        return run, judged.run.exit_code

    def _write_report(self, run: "RunRecord", judged: Document) -> Path | None:
        from assay.report.html import write_html
        from assay.tools import registry as classic

        try:
            return write_html(run, judged, self._runs / f"{run.run_id}.html", of_tool=classic.figures(run))
        except RunError as missing:
            typer.echo(f"No report: {missing}", err=True)
            return None
