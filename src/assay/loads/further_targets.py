"""Locate the further targets of a load: from its file, from the command line, or in the one directory.

A `[[target]]` with a `uri` lies there; `--target NAME=DIR` moves it. One without lies in the directory of the
command line unless `--target` names another, and is then no target of its own: its sets lie next to the others, as do those
of one that `--target` puts where another lies. So a load can be written for several targets and be measured on one.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from assay import plan
from assay.errors import InputError
from assay.loads.load_file import TARGET
from assay.places import Place, check_place, of_place
from assay.targets import BLOCK, device_of, directory_of


class PlacedTargets(msgspec.Struct, frozen=True):
    """The targets of a Plan."""

    targets: tuple[plan.Target, ...]
    same: dict[str, str]
    """Targets that lie where another does, each with the name of that one."""

    def of_set(self, file_set: plan.FileSet) -> plan.FileSet:
        """Give a set the target that it lies on."""
        return _moved(file_set, self.same)

    def of_phase(self, phase: plan.Phase) -> plan.Phase:
        """Give the steps of a phase the targets that they are about."""
        return msgspec.structs.replace(phase, before=self._steps(phase.before), after=self._steps(phase.after))

    def _steps(self, steps: Sequence[plan.Step]) -> tuple[plan.Step, ...]:
        return tuple(_moved(step, self.same) for step in steps)


_Part = TypeVar("_Part", bound=msgspec.Struct)


def _moved(part: _Part, same: Mapping[str, str]) -> _Part:
    name = same.get(getattr(part, "target", ""))
    return part if name is None else msgspec.structs.replace(part, target=name)


def given_targets(pairs: Sequence[str], destroy: Collection[str] = ()) -> dict[str, Place]:
    """Read `NAME=DIR` each; raises InputError, and RunError if it is unknown whether a directory exists.

    Args:
        pairs: As the user wrote them.
        destroy: Names of devices whose data may be destroyed.
    """
    found: dict[str, Place] = {}
    for pair in pairs:
        name, separator, directory = pair.partition("=")
        if not separator or not name:
            raise InputError(f"--target {pair}: write it as NAME=DIR, with the name of a [[target]] of the load")
        if name == TARGET:
            raise InputError(f"--target {pair}: '{TARGET}' is the directory on the command line")
        if name in found:
            raise InputError(f"--target {pair}: '{name}' is given twice")
        found[name] = check_place(directory, destroy=destroy)
    return found


def placed_targets(
    place: Place, further: Sequence[plan.Target], given: Mapping[str, Place], destroy: Collection[str] = ()
) -> PlacedTargets:
    """Place the targets of a load.

    Args:
        place: Of the target that every load has.
        further: As the load file has them; an empty address is that of `place`.
        given: Places by name, instead.
        destroy: Names of block devices whose data may be destroyed.

    Raises:
        InputError: a name is given that the load does not have.
        PlanError: an address of the file means a directory, and no directory can have that name.
    """
    names = [target.name for target in further]
    if unknown := [name for name in given if name not in names]:
        has = f"it has {', '.join(names)}" if names else "it has none: all of it lies in one directory"
        raise InputError(f"--target {unknown[0]}: the load has no [[target]] of that name; {has}")
    targets, same = [of_place(TARGET, place)], dict[str, str]()
    for target in _addressed(further, given, destroy):
        lies = _path_of(target) if target.uri else _path_of(targets[0])
        there = next((one.name for one in targets if lies is not None and _path_of(one) == lies), None)
        if there is None:
            targets.append(target)
        elif not target.uri or target.name in given:
            same[target.name] = there
        else:  # as in the file; the engine decides whether two may be in one directory
            targets.append(target)
    return PlacedTargets(tuple(targets), same)


def _addressed(
    further: Sequence[plan.Target], given: Mapping[str, Place], destroy: Collection[str]
) -> Iterator[plan.Target]:
    for target in further:
        if target.name in given:
            yield of_place(target.name, given[target.name])
        elif destroy and (device := device_of(target)):
            yield of_place(target.name, check_place(f"{BLOCK}{device}", destroy=destroy))
        else:
            yield target


def _path_of(target: plan.Target) -> Path | None:
    directory = directory_of(target)
    return device_of(target) if directory is None else directory.resolve()


def on_device(file_set: plan.FileSet, targets: Sequence[plan.Target]) -> plan.FileSet:
    """Give a set on a block device what is there, unless that may be destroyed: then it is written first, like a file.

    A load that writes by itself what it then measures has `reuse = "trust"`, so that nothing is written before.
    """
    target = next((one for one in targets if one.name == file_set.target), None)
    if target is None or device_of(target) is None:
        return file_set
    is_written = target.destroy_data and file_set.reuse is not plan.Reuse.TRUST
    return msgspec.structs.replace(file_set, reuse=plan.Reuse.NEVER if is_written else plan.Reuse.TRUST)
