"""Frame every run: begin its bundle, measure, and seal the bundle however that ends."""

import contextlib
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from assay.bundle import RunBundle, tables
from assay.bundle.catalog import take_name
from assay.bundle.held import held
from assay.bundle.remarks import NOTHING, Remarks, change_remarks
from assay.errors import AssayError, Interrupted, RunError, refusal
from assay.host.facts import Fact
from assay.plan import Plan
from assay.running.stopping import Stopped, Stops

RUN_ERROR = "run.error"
"""Fact with what ended a run early."""

Work = Callable[[RunBundle, Stops], None]
"""What measures: it raises what ends the run early."""


def keep_run(  # noqa: D417 - the other names are clear
    plan: Plan,
    work: Work,
    *,
    runs: Path,
    argv: Sequence[str],
    source_text: str | None = None,
    remarks: Remarks = NOTHING,
    was_refused: Callable[[RunBundle], bool] = lambda _: False,
) -> tuple[RunBundle, AssayError | None]:
    """Begin a bundle, let the work be done, and return the sealed bundle, with the error that ended it early, if one did.

    Whatever goes wrong once the run has begun comes back as that error, after the bundle was sealed.

    Args:
        was_refused: Whether nothing was done, by the record of a run that an error ended: nothing is kept then.

    Raises:
        RunError: the folder for runs cannot be used; nothing was done then.
        AssayError: the run was refused.
    """
    _be_able_to_seal()
    error: AssayError | None = None
    with Stops() as stops, contextlib.ExitStack() as holding:
        bundle = RunBundle.create(runs, plan.name, plan=plan, argv=argv, source_text=source_text, remarks=remarks)
        holding.enter_context(held(bundle.path))
        try:
            named: list[str] = []
            try:
                named = _take_name(bundle)
                work(bundle, stops)
            except Exception as caught:  # noqa: BLE001 - whatever it is, the run is sealed with it
                error = _as_assay_error(caught)
            if error is not None and _is_nothing(bundle, was_refused):
                _give_name_back(bundle, named)
                bundle.discard()
                raise error
            error = _seal(bundle, error)
        except Stopped as stopped:
            if not bundle.is_sealed:
                stopped.add_note(
                    f"the run was not sealed. What was measured is in {bundle.path}, and opens all the same"
                )
            raise
    if error is None and stops.count:
        error = Interrupted("stopped after the last phase; everything that was measured is kept")
    return bundle, error


def _take_name(bundle: RunBundle) -> list[str]:
    """Give a run its name alone, and return the runs that had it; if one cannot be changed, both have it, with a warning."""
    if (name := bundle.remarks.name) is None:
        return []
    try:
        named = take_name(name, bundle.path)
    except AssayError as error:
        sys.stderr.write(f"'{name}' is the name of another run, too, and selects neither: {error}\n")
        return []
    for before in named:
        sys.stderr.write(f"'{name}' was the name of the run {before}, and is this run's now\n")
    return named


def _give_name_back(bundle: RunBundle, named: Sequence[str]) -> None:
    for before in named:
        change_remarks(
            bundle.path.parent / before, lambda text: msgspec.structs.replace(text, name=bundle.remarks.name)
        )
        sys.stderr.write(f"'{bundle.remarks.name}' is the name of the run {before} again\n")


def _is_nothing(bundle: RunBundle, was_refused: Callable[[RunBundle], bool]) -> bool:
    """Whether a run was refused; one whose record cannot be read is kept."""
    try:
        return was_refused(bundle)
    except AssayError:
        return False


def _be_able_to_seal() -> None:
    """Let what makes the tables start its threads now; raises RunError if it cannot, before anything was measured."""
    try:
        tables.warm_up()
    except Exception as error:
        raise RunError(f"{_as_assay_error(error)}. Nothing was measured") from error
    except BaseException as panic:
        if (text := refusal(panic)) is None:
            raise
        raise RunError(f"{text}. Nothing was measured") from panic


def _as_assay_error(caught: BaseException) -> AssayError:
    """Give what went wrong as an error with its text and exit code."""
    if isinstance(caught, AssayError):
        return caught
    text = refusal(caught)
    if text is None:
        traceback.print_exception(caught)
        text = f"{type(caught).__name__}: {caught}. This is a fault of Assay; please report it"
    return RunError(text)


def _seal(bundle: RunBundle, error: AssayError | None) -> AssayError | None:
    """Seal the bundle with what ended the run; a bundle that cannot be sealed still opens, with a warning."""
    try:
        if error is not None:
            bundle.record_facts((Fact(key=RUN_ERROR, value=str(error), source="assay"),))
        bundle.seal(error.exit_code if error else None)
    except (Stopped, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as caught:  # noqa: BLE001 - a panic of polars, for want of threads, is no Exception
        unsealed = f"The run could not be sealed: {_as_assay_error(caught)}"
        if bundle.is_gone:
            unsealed = (
                f"{bundle.path} is not there any more, so the run could not be sealed. Unless somebody removed it, what was "
                "measured is in it, and opens all the same"
            )
        if error is None:
            return RunError(unsealed)
        error.add_note(unsealed)
    return error
