"""Measure a campaign slot by slot: each one once, whatever ends the program meanwhile.

Each slot has its line in the journal before anything is written, and another once its run is kept; a run that was
sealed before the program was killed, and that line written, is found again by its mark. What could not be made or
measured (a mount option that the kernel refuses) is noted and is no reason to stop.
"""

import contextlib
import functools
import secrets
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from assay.bundle import RunBundle
from assay.bundle.catalog import SEALED, list_runs
from assay.bundle.remarks import change_remarks, changed
from assay.campaign import loop_image
from assay.campaign.campaign_file import Campaign
from assay.campaign.design import CampaignCell, CampaignSlot, Design, design
from assay.campaign.journal import (
    SCHEMA,
    CampaignBegun,
    FileSystemNamed,
    Journal,
    MeasurementStarted,
    SlotBegun,
    SlotFailed,
    SlotMade,
    SlotMeasured,
)
from assay.campaign.leftovers import names_of, restore_schedulers, scheduler_found, take_away
from assay.campaign.mounted_file_system import (
    COMMANDS,
    FOR_ALL,
    WIPE,
    make_file_system,
    make_mount_point,
    mount_file_system,
    mounts_on,
    read_back,
    unmount,
)
from assay.campaign.one_measurement import measure, tags_of, words_for, write_input
from assay.campaign.recorded_process import ProcessIdentity
from assay.campaign.schedulers import scheduler_file, schedulers_of, set_scheduler
from assay.devices.device_identity import BlockNode, block_node
from assay.devices.free_device import free_device
from assay.devices.held_device import HeldDevice, held
from assay.devices.system_commands import need_commands
from assay.errors import MEASURED, NOT_TRUSTED, BundleError, InputError, RunError
from assay.running.stopping import Stops
from assay.units import format_bytes

_USUAL_CODES: Final = frozenset({None, MEASURED, NOT_TRUSTED})


class Overwritten(msgspec.Struct, frozen=True, kw_only=True):
    """A device that the user gave up, and what it may carry."""

    node: BlockNode
    over: tuple[str, ...]


class MeasuredCampaign:
    """Run a campaign, from the state in its journal."""

    def __init__(
        self,
        campaign: Campaign,
        journal: Journal,
        *,
        overwritten: Overwritten | None,
        runs: Path,
        report: Callable[[str], None],
        tick: Callable[[str, float | None, str], None],
    ) -> None:
        """Begin it in the journal, or go on with it.

        Args:
            campaign: What is asked for.
            journal: Open, and this process's alone.
            overwritten: The device; None: a loop file.
            runs: Where runs are kept.
            report: Prints a line about the progress.
            tick: Shows progress to the user: its text, the seconds since it began (None: it begins), and how long the
                rest will take.

        Raises:
            InputError: the journal is that of another campaign, or of another device.
        """
        self._campaign, self._journal, self._runs = campaign, journal, runs
        self._overwritten, self._report, self._tick = overwritten, report, tick
        self._fill_holes: Callable[[], None] | None = None
        """Of the loop file; None: the campaign has a device."""
        self._retried: set[int] = set()
        begun = journal.begun
        if begun is not None and begun.campaign != campaign and not journal.measured():
            # Its file was put right before anything was measured: what was begun is taken away, and forgotten.
            for line in take_away(journal, own_names(overwritten)):
                report(line)
            journal.forget()
            begun = None
        if begun is None:
            laid_out = design(campaign)
            self._first = CampaignBegun(
                schema=SCHEMA,
                campaign=campaign,
                design=laid_out,
                key=secrets.token_hex(4),
                device=None if overwritten is None else overwritten.node.identity,
            )
        else:
            self._first = begun
            check_same(begun, campaign, overwritten, journal.folder)

    @property
    def _design(self) -> Design:
        return self._first.design

    def waiting(self, *, retry: bool) -> list[CampaignSlot]:
        """Give what is still to be measured; with `retry` also what could not be."""
        done = set(self._journal.measured())
        if not retry:
            done |= set(self._journal.failed())
        return [slot for slot in self._design.slots if slot.number not in done]

    def carry_out(self, *, retry: bool = False) -> bool:
        """Measure what is not measured yet. False: the user ended it.

        Raises:
            InputError: the device is used, or carries what was not named.
            RunError: the machine cannot carry it out.
        """
        with Stops() as stops:
            self._check()
            if self._journal.begun is None:
                self._journal.append(self._first)
            for line in take_away(self._journal, own_names(self._overwritten)):
                self._report(line)
            self._adopt()
            slots = self.waiting(retry=retry)
            if not slots:
                return True
            with self._device() as device:
                self._check_schedulers(device.node.disk)
                return self._measure(slots, device, stops)

    # -- before --------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        kinds = {cell.kind for cell in self._design.cells}
        loop = ("losetup",) if self._overwritten is None else ()
        need_commands([*FOR_ALL, *loop, *(name for kind in sorted(kinds) for name in COMMANDS[kind])])

    def _own(self) -> frozenset[str]:
        return frozenset(line.uuid for line in self._journal.lines if isinstance(line, FileSystemNamed))

    def _adopt(self) -> None:
        """Note runs that were kept, and whose line was not written."""
        marks = self._journal.open_marks()
        if not marks:
            return
        for run in list_runs(self._runs, is_wanted=lambda run: bool(set(run.tags) & set(marks))):
            mark = next(tag for tag in run.tags if tag in marks)
            if run.state != SEALED or not self._is_own(run.run_id):
                continue
            if run.exit_code in _USUAL_CODES and marks[mark] not in self._journal.measured():
                slots = {slot.number: slot for slot in self._design.slots}
                self._tag(slots[marks[mark]], run.run_id)
                self._journal.append(
                    SlotMeasured(
                        slot=marks[mark], run_id=run.run_id, exit_code=run.exit_code or 0, seconds=run.seconds or 0.0
                    )
                )
                self._report(f"{run.run_id}: kept by an earlier start, and counted")

    def _is_own(self, run_id: str) -> bool:
        """Whether this user made a run: its tags anybody can have written who can write to the folder of the runs."""
        try:
            return RunBundle.open(self._runs / run_id).is_own(self._runs)
        except BundleError:
            return False

    def _check_schedulers(self, disk: str) -> None:
        offered = schedulers_of(disk)
        if absent := [each for each in self._campaign.schedulers if each not in offered]:
            raise RunError(
                f"{scheduler_file(disk)} does not offer {', '.join(absent)}, only {', '.join(offered) or 'nothing'}. Nothing"
                " was measured; 'modprobe' may add one, or take it out of the file"
            )

    # -- device --------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _device(self) -> Iterator[HeldDevice]:
        """Have a device; undo what was changed of it."""
        if self._overwritten is not None:
            with held(self._overwritten.node) as device:
                try:
                    yield device
                finally:
                    restore_schedulers(self._journal, own_names(self._overwritten))
            return
        loop = self._campaign.loop
        if loop is None:
            raise InputError("nowhere to measure: give [loop] in the file, or --destroy-data")
        with loop_image.loop_folder(loop, self._campaign.name) as folder:
            self._report(f"a file of {format_bytes(loop.size_bytes)} is made in {loop.folder}")
            image = loop_image.make_image(folder, loop, self._journal)
            self._fill_holes = functools.partial(loop_image.fill_holes, folder, image, loop)
            try:
                node = block_node(loop_image.attach(folder, image, direct_io=loop.direct_io))
                with held(node, direct_io=loop.direct_io) as device:
                    try:
                        yield device
                    finally:
                        restore_schedulers(self._journal, {node.name})
            finally:
                loop_image.detach(image)
                if not loop_image.remove_image(folder, image):
                    self._report(
                        f"{folder.path / image.name} is not the file that was made, or has further names: it stays"
                    )

    # -- slots ---------------------------------------------------------------------------------------------------------

    def _measure(self, slots: list[CampaignSlot], device: HeldDevice, stops: Stops) -> bool:
        if (found := scheduler_found(device.node.disk)) is not None:
            self._journal.append(found)
        over = () if self._overwritten is None else self._overwritten.over
        for done, slot in enumerate(slots):
            if stops.count:
                return False
            with self._free(over):
                if not self._one(slot, slots[done:], device, stops):
                    return False
            over = ()
        if self._overwritten is not None:
            with self._free(()):
                device.carry_out(WIPE)
        return True

    def _free(self, over: tuple[str, ...]) -> contextlib.AbstractContextManager[None]:
        """Have the device that was given up for this campaign alone; a loop file is its own."""
        if self._overwritten is None:
            return contextlib.nullcontext()
        return free_device(self._overwritten.node, over=over, own=self._own())

    def _one(self, slot: CampaignSlot, left: list[CampaignSlot], device: HeldDevice, stops: Stops) -> bool:
        """Measure one. False: a signal ended it."""
        cell, load = self._design.cells[slot.cell], self._campaign.loads[slot.load]
        mark = f"{self._campaign.name}.{self._first.key}.{slot.number}.{secrets.token_hex(3)}"
        of = f"{slot.number} of {len(self._design.slots)}"
        words = f"{of}: {self._design.words_for(cell)}, {load.name}, round {slot.round}"
        rest = self._words_left(left)
        self._journal.append(SlotBegun(slot=slot.number, mark=mark))
        begun_s = time.monotonic()
        place = self._journal.mount_point
        try:
            self._tick(words, None, rest)
            self._make(cell, device)
            try:
                self._journal.append(SlotMade(slot=slot.number, effective=read_back(device, cell, place)))
                if stops.count:
                    return False
                command = words_for(load, place, write_input(load, place, self._journal))
                document = measure(
                    command,
                    place,
                    mark,
                    self._runs,
                    stops,
                    record=functools.partial(self._record, slot),
                    tick=lambda since_s: self._tick(words, since_s, rest),
                )
            finally:
                unmount(place)
        except RunError as error:
            if mounts_on(place):
                raise
            self._journal.append(SlotFailed(slot=slot.number, why=str(error)))
            self._report(f"{words}: {error}")
            return True
        if document is None:
            return False
        self._tag(slot, document.run.id)
        self._journal.append(
            SlotMeasured(
                slot=slot.number,
                run_id=document.run.id,
                exit_code=document.run.exit_code,
                seconds=time.monotonic() - begun_s,
            )
        )
        return True

    def _record(self, slot: CampaignSlot, process: ProcessIdentity) -> None:
        self._journal.append(MeasurementStarted(slot=slot.number, **process._asdict()))

    def _tag(self, slot: CampaignSlot, run_id: str) -> None:
        """Tag a run as one of the campaign: only now, because a run that was interrupted is none."""
        cell, load = self._design.cells[slot.cell], self._campaign.loads[slot.load]
        tags = tags_of(self._campaign.name, self._design, cell, load, slot.round)
        change_remarks(self._runs / run_id, lambda before: changed(before, None, tags, (), None))

    def _make(self, cell: CampaignCell, device: HeldDevice) -> None:
        """Make a cell's file system anew, and mount it."""
        own = str(uuid.uuid4())
        self._journal.append(FileSystemNamed(uuid=own))
        place = make_mount_point(self._journal)
        if self._fill_holes is not None:
            self._fill_holes()
        make_file_system(device, cell, uuid=own, keeps_blocks=self._fill_holes is not None, folder=place)
        if cell.scheduler is not None:
            device.check()
            set_scheduler(device.node.disk, cell.scheduler)
        mount_file_system(device, cell, place)

    def _words_left(self, left: list[CampaignSlot]) -> str:
        """Estimate the remaining time from past measurements: loads not measured yet take as long as the longest."""
        of_slot = {slot.number: slot for slot in self._design.slots}
        took: dict[int, list[float]] = {}
        for line in self._journal.measured().values():
            took.setdefault(of_slot[line.slot].load, []).append(line.seconds)
        if not took:
            return ""
        all_ = [seconds for each in took.values() for seconds in each]
        means = {load: sum(each) / len(each) for load, each in took.items()}
        left_s = sum(means.get(slot.load, sum(all_) / len(all_)) for slot in left)
        return f"about {_rounded(left_s)} left"


def _rounded(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def own_names(overwritten: Overwritten | None) -> frozenset[str]:
    """Name the device that was given up, and the disk whose queue it has, as in /sys/class/block; none: loop files."""
    return frozenset() if overwritten is None else names_of(overwritten.node)


def check_same(begun: CampaignBegun, campaign: Campaign, overwritten: Overwritten | None, folder: Path) -> None:
    """Raise InputError where a folder's campaign is not the one that is asked for."""
    if begun.campaign != campaign:
        raise InputError(
            f"{folder} holds a campaign that its file has been changed since. Name another folder with --state, or take the "
            "change back; its runs stay in any case"
        )
    given = None if overwritten is None else overwritten.node.identity
    if (begun.device is None) != (given is None) or (
        begun.device is not None and given is not None and not given.is_medium_of(begun.device)
    ):
        was = (
            "a loop file"
            if begun.device is None
            else f"a device of {begun.device.size_bytes} bytes ({begun.device.number})"
        )
        raise InputError(
            f"{folder}: this campaign was begun on {was}; go on with that one, or name another folder with --state"
        )


def overwritten_device(path: str, over: tuple[str, ...]) -> Overwritten:
    """Look at the device that the user gives up; raises InputError where it is none."""
    return Overwritten(node=block_node(path), over=over)
