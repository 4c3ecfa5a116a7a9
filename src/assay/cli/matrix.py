"""`assay matrix FILE`: measure all combinations of file systems, options, schedulers and loads."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Json, Runs
from assay.cli.pipes import echo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.campaign.campaign_file import Campaign
    from assay.campaign.journal import AnyLine
    from assay.compare.campaign_outcome import CampaignOutcome


def matrix(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Campaign file; docs/how-to/matrix.md lists its keys.")],
    destroy_data: Annotated[
        str | None,
        typer.Option(
            "--destroy-data",
            metavar="DEVICE",
            help="Measure on this block device; all its data is lost [default: the file's loop devices].",
        ),
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="TYPE",
            help="Signature that may be overwritten: ext4, gpt, … Repeatable.",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume a campaign; never start a new one.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Retry what could not be measured.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Print the results so far; measure nothing.")] = False,
    undo: Annotated[
        bool,
        typer.Option("--undo", help="Undo what a killed campaign left: mounts, loops, schedulers."),
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="DIR",
            help="State directory; only root may write there [default: FILE with .campaign].",
        ),
    ] = None,
    result: Annotated[
        list[str] | None,
        typer.Option(
            "--result",
            metavar="PATTERN",
            help="Print results whose label or title matches. Repeatable [default: one per load].",
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Print all results of all loads.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print results and effects as CSV.")] = False,
    json: Json = False,
    runs: Runs = None,
) -> None:
    """Measure file systems x mkfs x mount options x schedulers x loads, with effects.

    Each measurement gets a new file system, on loop files or, with --destroy-data, on a device. Each is a run, tagged with
    the campaign's name. The same command resumes an interrupted campaign. Needs root.
    """
    from assay.bundle.catalog import runs_directory
    from assay.campaign.campaign_file import parse
    from assay.campaign.journal import read_only
    from assay.cli.cells_of_loads import check_cells
    from assay.errors import INTERRUPTED, InputError
    from assay.input_text import read_text

    if json and csv:
        raise InputError("--json and --csv: choose one")
    if over and destroy_data is None:
        raise InputError("--over needs --destroy-data, which names the device")
    folder = _state_folder(file, state)
    if undo:
        if destroy_data is not None or resume or retry or show or json or csv:
            raise InputError("--undo takes FILE and --state only; the journal names the device")
        _undone(folder)
        return
    try:
        campaign = parse(read_text(file, "campaign file"), file)
    except FileNotFoundError:
        raise InputError(f"{file} does not exist; docs/how-to/matrix.md has one to start from") from None
    place = runs_directory(runs)
    is_whole = True
    if not show:
        check_cells(campaign, context.find_root())
        is_whole = _measured(campaign, folder, place, destroy_data, tuple(over or ()), resume=resume, retry=retry)
    shown = read_only(folder)
    if not shown.is_own:
        echo(
            f"{folder}: this journal was not written with your key: it is shown, and nothing is ever done by it",
            err=True,
        )
    lines = shown.lines
    _need_runs(lines, place)
    outcome = _outcome(lines, place)
    _print(outcome, json=json, csv=csv, patterns=["*"] if all_ and outcome.rows else result or [])
    if not is_whole:
        echo(f"stopped; run the same command to resume. Results are kept in {folder}", err=True)
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(int(bool(outcome.failed) or _has_doubtful(lines)))


def _state_folder(file: str, state: Path | None) -> Path:
    """Name the folder that a campaign is kept in."""
    from assay.errors import InputError

    if not Path(file).name:
        raise InputError(f"'{file}' is no name of a file; docs/how-to/matrix.md has one to start from")
    named = (state or Path(file).with_suffix(".campaign")).absolute()
    if named.name in {"", ".."}:
        raise InputError(f"--state {state}: name the folder itself")
    # The kernel names mount points without symbolic links; the folder itself may be none.
    return named.parent.resolve() / named.name


def _measured(
    campaign: "Campaign",
    folder: Path,
    runs: Path,
    device: str | None,
    over: tuple[str, ...],
    *,
    resume: bool,
    retry: bool,
) -> bool:
    """Carry the campaign out. False: the user ended it."""
    from assay.campaign.carried_out import MeasuredCampaign, overwritten_device
    from assay.campaign.journal import opened
    from assay.errors import InputError

    _need_root()
    if device is None and campaign.loop is None:
        raise InputError("nowhere to measure: give [loop] in the file, or --destroy-data")
    overwritten = None if device is None else overwritten_device(device, over)
    progress = _Progress()
    with opened(folder, must_be_there=resume) as journal:
        _need_runs(journal.lines, runs)
        campaign_run = MeasuredCampaign(
            campaign, journal, overwritten=overwritten, runs=runs, report=progress.report, tick=progress.tick
        )
        try:
            return campaign_run.carry_out(retry=retry)
        finally:
            progress.end()


def _need_runs(lines: "Sequence[AnyLine]", runs: Path) -> None:
    """Refuse a folder that has none of the runs: what is still to come would be kept apart from them."""
    from assay.campaign.journal import SlotMeasured
    from assay.errors import InputError

    ids = [line.run_id for line in lines if isinstance(line, SlotMeasured)]
    if ids and not any((runs / run_id).is_dir() for run_id in ids):
        raise InputError(
            f"{runs} has none of the {len(ids)} runs of this campaign; --runs names the folder that has them"
        )


def _undone(folder: Path) -> None:
    """Undo what the campaign of a directory left, and print each step."""
    from assay.campaign.journal import opened, read_only
    from assay.campaign.leftovers import put_back
    from assay.running.stopping import Stops

    _need_root()
    read_only(folder)  # a folder that is none is not made
    is_any = False
    with Stops(), opened(folder, must_be_there=True) as journal:
        for line in put_back(journal):
            echo(line)
            is_any = True
    if not is_any:
        echo("nothing to undo")


def _need_root() -> None:
    import os

    from assay.errors import RunError

    if os.geteuid() != 0:
        raise RunError("a campaign makes file systems and mounts them: run it as root ('--show' needs no root)")


class _Progress:
    """Show progress: on a terminal once a second on one line, else once per measurement."""

    def __init__(self) -> None:
        import sys

        from assay.live.progress_line import ProgressLine

        self._line = ProgressLine(sys.stderr)

    def tick(self, words: str, since_s: float | None, left: str) -> None:
        rest = f", {left}" if left else ""
        if self._line.is_terminal:
            self._line.show(f"{words}, {'mkfs' if since_s is None else f'{since_s:.0f} s'}{rest}")
        elif since_s is None:
            echo(f"{words}{rest}", err=True)

    def report(self, words: str) -> None:
        self.end()
        echo(words, err=True)

    def end(self) -> None:
        self._line.clear()


def _outcome(lines: "Sequence[AnyLine]", runs: Path) -> "CampaignOutcome":
    """Compute the outcome of the runs of a journal."""
    from assay.campaign.journal import CampaignBegun, SlotFailed, SlotMade, SlotMeasured
    from assay.cli.answers import answer_of
    from assay.compare.campaign_outcome import (
        OUTCOME_SCHEMA,
        CampaignOutcome,
        CampaignRun,
        CellFacts,
        OutcomeFactor,
        outcome_rows,
    )
    from assay.errors import AssayError, InputError

    begun = next((line for line in lines if isinstance(line, CampaignBegun)), None)
    if begun is None:
        raise InputError("this campaign has not begun")
    slots = {slot.number: slot for slot in begun.design.slots}
    measured = {line.slot: line for line in lines if isinstance(line, SlotMeasured)}
    failed = {line.slot: line for line in lines if isinstance(line, SlotFailed) and line.slot not in measured}
    effective = {slots[line.slot].cell: line.effective for line in lines if isinstance(line, SlotMade)}
    factors = [OutcomeFactor(name=each.name, levels=each.levels) for each in begun.design.factors]
    found = []
    for number, line in sorted(measured.items()):
        slot = slots[number]
        try:
            document = answer_of(line.run_id, runs, sums_will_do=True).document
        except AssayError as error:
            echo(f"{line.run_id} is left out: {error}", err=True)
            continue
        load = begun.campaign.loads[slot.load].name
        found.append(CampaignRun(cell=slot.cell, load=load, round=slot.round, document=document))
    cells = []
    for index, cell in enumerate(begun.design.cells):
        there = effective.get(index)
        why = [line.why for number, line in failed.items() if slots[number].cell == index]
        cells.append(
            CellFacts(
                levels=cell.levels,
                mkfs=cell.mkfs,
                mount=cell.mount,
                mount_options=() if there is None else there.mount_options,
                scheduler=None if there is None else there.scheduler,
                direct_io=None if there is None else there.direct_io,
                super_block={} if there is None else there.super_block,
                not_taken=() if there is None else there.not_taken,
                failed=tuple(dict.fromkeys(why)),
            )
        )
    return CampaignOutcome(
        schema=OUTCOME_SCHEMA,
        name=begun.campaign.name,
        seed=begun.campaign.seed,
        rounds=begun.campaign.repeats,
        factors=tuple(factors),
        cells=tuple(cells),
        loads=tuple(load.name for load in begun.campaign.loads),
        slots=len(slots),
        measured=len(measured),
        failed=len(failed),
        rows=outcome_rows(factors, [cell.levels for cell in begun.design.cells], found),
    )


def _has_doubtful(lines: "Sequence[AnyLine]") -> bool:
    """Whether a run has a number that must not be used."""
    from assay.campaign.journal import SlotMeasured

    return any(isinstance(line, SlotMeasured) and line.exit_code != 0 for line in lines)


def _print(outcome: "CampaignOutcome", *, json: bool, csv: bool, patterns: "Sequence[str]") -> None:
    from assay.outward import json_text
    from assay.report import matrix_text

    if json:
        import msgspec

        echo(json_text(msgspec.json.format(msgspec.json.encode(outcome), indent=2).decode()))
    elif csv:
        echo(matrix_text.csv_text(outcome), end="")
    else:
        echo("\n".join(matrix_text.lines(outcome, matrix_text.chosen_rows(outcome.rows, patterns))))
