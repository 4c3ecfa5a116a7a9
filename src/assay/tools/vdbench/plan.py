"""From a parameter file to a Plan: a phase a run, a file set an SD or an FSD.

A lun or an anchor names the directory to measure: data lies in Assay's own folder there, and the file or directory of that
name is neither read nor written. With --dir all of them lie there, and the names only distinguish them.

Without it a lun that is a block device is that device: nothing is laid out, and writes need the permission to destroy
what is on it.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay import plan
from assay.errors import FrontEndError, InputError
from assay.places import DevicePlace, Place, check_place, of_place
from assay.targets import BLOCK, check_directory
from assay.tools.vdbench import files_plan, storage_plan
from assay.tools.vdbench.filesystems import Fsd
from assay.tools.vdbench.runs import OneRun, runs
from assay.tools.vdbench.settings import NAME, Settings
from assay.tools.vdbench.storage import Sd

if TYPE_CHECKING:
    from assay.tools.vdbench.load import Load

_SEED = 1


def to_plan(settings: Settings, origin: plan.Origin) -> plan.Plan:
    """Make the Plan; looks directories up.

    Raises:
        FrontEndError: something that is not supported, or a place that does not exist.
    """
    maker = _Maker(settings)
    phases = tuple(maker.phases())
    intervals = [run.rd.interval for run in maker.runs]
    return plan.Plan(
        name=NAME,
        origin=origin,
        seed=_SEED,
        targets=tuple(of_place(name, place) for place, name in maker.targets.items()),
        file_sets=tuple(maker.file_sets.values()),
        phases=phases,
        sample_interval_s=float(math.gcd(*intervals)),
        untranslated=(*settings.load.notes, *maker.notes),
    )


class _Maker:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._load: Load = settings.load
        self.runs = runs(settings.load)
        self.targets: dict[Place, str] = {}
        self.file_sets: dict[str, plan.FileSet] = {}
        self._places: dict[str, Path] = {}
        self.notes: dict[plan.Untranslated, None] = {}
        self._laid_out: set[str] = set()

    def phases(self) -> Iterator[plan.Phase]:
        disks = {name: self._disk(sd) for name, sd in self._load.sds.items() if self._is_used(name)}
        last = self.runs[-1] if self.runs else None
        formatted: set[str] = set()
        for run in self.runs:
            if run.rd.fwds:
                yield from self._of_files(run, is_first=run.rd.name not in formatted)
                formatted.add(run.rd.name)
            else:
                jobs = storage_plan.jobs(run, disks)
                yield self._phase(run, jobs, [disk.file_set for disk in self._disks_of(run, disks)], run is last)

    def _disks_of(self, run: OneRun, disks: Mapping[str, storage_plan.Disk]) -> list[storage_plan.Disk]:
        return [disks[name] for name in dict.fromkeys(name for wd in run.rd.wds for name in wd.sds)]

    def _is_used(self, sd: str) -> bool:
        return any(sd in wd.sds for rd in self._load.rds for wd in rd.wds)

    def _phase(self, run: OneRun, jobs: tuple[plan.Job, ...], sets: list[str], is_last: bool) -> plan.Phase:
        layout = [plan.Prepare(set=name) for name in sets if name not in self._laid_out]
        self._laid_out.update(sets)
        return plan.Phase(
            name=run.name,
            title=run.name,
            jobs=jobs,
            before=tuple(layout),
            stop=plan.Stop(seconds=float(run.rd.warmup + run.rd.elapsed)),
            ramp_s=float(run.ramp_s),
            after=(plan.Sleep(seconds=float(run.rd.pause)),) if run.rd.pause and not is_last else (),
        )

    # -- storage -------------------------------------------------------------------------------------------------------

    def _disk(self, sd: Sd) -> storage_plan.Disk:
        device = self._device(sd)
        size = sd.size if sd.size is not None else self._settings.lun_size
        if device is not None:
            size = _size_on(device, sd, size)
        if size is None:
            raise sd.place.error(
                f"sd={sd.name}: size= is missing: how large its file is to be (or --size for all without)"
            )
        size = size // 512 * 512
        if sd.offset >= size:
            raise sd.place.error(f"sd={sd.name}: offset={sd.offset} lies behind its {size} bytes")
        made = plan.FileSet(
            name=sd.name,
            target=self._named(self._directory(sd.lun, sd, is_file=True) if device is None else device),
            path=f"{NAME}-{_known_by(sd.lun)}",
            files=1,
            size=plan.Fixed(value=float(size)),
            reuse=plan.Reuse.IF_MATCHES if device is None else plan.Reuse.TRUST,
            content=plan.Content(compress_ratio=self._load.compress_ratio),
            keep=device is None,
        )
        same = next((s for s in self.file_sets.values() if (s.target, s.path) == (made.target, made.path)), None)
        if same is not None and same.size != made.size:
            raise sd.place.error(f"sd={sd.name}: sd={same.name} is the same lun with another size; give both one size")
        self.file_sets.setdefault((same or made).name, made)
        return storage_plan.Disk(sd, (same or made).name, size)

    def _device(self, sd: Sd) -> DevicePlace | None:
        """Look at the device that a lun is; None: it is a file."""
        path = Path(sd.lun)
        if self._settings.directory is not None or not (_is_node(path) or sd.lun.startswith("/dev/")):
            return None
        try:
            place = check_place(f"{BLOCK}{sd.lun}")
        except InputError as error:
            raise sd.place.error(
                f"sd={sd.name}: lun={error}; or give --dir DIR, where a file takes its place"
            ) from None
        return place if isinstance(place, DevicePlace) else None

    def _named(self, place: Place) -> str:
        """Name the target of a directory or a device."""
        return self.targets.setdefault(place, "target" if not self.targets else f"target-{len(self.targets) + 1}")

    def _directory(self, path: str, owner: Sd | Fsd, *, is_file: bool) -> Path:
        if self._settings.directory is not None:
            return check_directory(self._settings.directory)
        named = Path(path)
        kind = f"sd={owner.name}: lun" if is_file else f"fsd={owner.name}: anchor"
        if "\0" in path or (is_file and path.endswith("/")):
            raise owner.place.error(f"{kind}={path!r} is not a file name")
        if is_file and named.is_dir():
            raise owner.place.error(f"{kind}={path} is a directory; name a file in it, such as {named / 'file1'}")
        folder = named if not is_file and named.is_dir() else named.parent
        try:
            return check_directory(folder)
        except FrontEndError:
            raise
        except InputError as error:
            raise owner.place.error(f"{kind}={path}: {error}") from None

    # -- file systems --------------------------------------------------------------------------------------------------

    def _of_files(self, run: OneRun, *, is_first: bool) -> Iterator[plan.Phase]:
        made = files_plan.make(run, self._load, is_first=is_first)
        for fsd, file_set in made.sets:
            target = self._named(self._directory(fsd.anchor, fsd, is_file=False))
            named = msgspec.structs.replace(
                file_set, target=target, path=f"{NAME}-{_known_by(fsd.anchor)}-{file_set.path}"
            )
            self.file_sets.setdefault(named.name, named)
        self.notes |= dict.fromkeys(made.notes)
        for phase in made.phases:
            before: list[plan.Step] = []
            for step in phase.before:
                if not isinstance(step, plan.Prepare):
                    before.append(step)
                    continue
                if step.set in self._laid_out and step.set not in made.anew:
                    continue
                if step.set in self._laid_out:
                    before.append(plan.Remove(set=step.set))
                before.append(step)
                self._laid_out.add(step.set)
            self._laid_out -= {step.set for step in phase.before if isinstance(step, plan.Remove)} - {
                step.set for step in phase.before if isinstance(step, plan.Prepare)
            }
            yield msgspec.structs.replace(phase, before=tuple(before))


def _is_node(path: Path) -> bool:
    return "\0" not in str(path) and (path.is_block_device() or path.is_char_device())


def _size_on(device: DevicePlace, sd: Sd, asked: int | None) -> int:
    """Return how much of a device is worked on: all of it, unless less is asked for."""
    if device.size_bytes is None and asked is None:
        raise sd.place.error(
            f"sd={sd.name}: size= is missing: how large {device.path} is on the clients is unknown here"
        )
    if asked is None:
        return device.size_bytes or 0
    if device.size_bytes is not None and asked > device.size_bytes:
        raise sd.place.error(f"sd={sd.name}: size={asked} is more than {device.path} has, {device.size_bytes} bytes")
    return asked


def _known_by(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]
