"""Locate the further targets of a load: from its file, from the command line, or in the one directory.

A `[[target]]` with a `uri` lies there; `--target NAME=DIR` moves it. One without lies in the directory of the
command line unless `--target` names another, and is then no target of its own: its sets lie next to the others, as do those
of one that `--target` puts where another lies. So a load can be written for several targets and be measured on one.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from assay import plan
from assay.errors import InputError
from assay.loads.load_file import TARGET
from assay.targets import check_directory, directory_of, of_directory


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


def given_targets(pairs: Sequence[str]) -> dict[str, Path]:
    """Read `NAME=DIR` each; raises InputError, and RunError if it is unknown whether a directory exists."""
    found: dict[str, Path] = {}
    for pair in pairs:
        name, separator, directory = pair.partition("=")
        if not separator or not name:
            raise InputError(f"--target {pair}: write it as NAME=DIR, with the name of a [[target]] of the load")
        if name == TARGET:
            raise InputError(f"--target {pair}: '{TARGET}' is the directory on the command line")
        if name in found:
            raise InputError(f"--target {pair}: '{name}' is given twice")
        found[name] = check_directory(directory)
    return found


def placed_targets(directory: Path, further: Sequence[plan.Target], given: Mapping[str, Path]) -> PlacedTargets:
    """Place the targets of a load.

    Args:
        directory: Of the target that every load has.
        further: As the load file has them; an empty address is that of `directory`.
        given: Directories by name, instead.

    Raises:
        InputError: a name is given that the load does not have.
        PlanError: an address of the file means a directory, and no directory can have that name.
    """
    names = [target.name for target in further]
    if unknown := [name for name in given if name not in names]:
        has = f"it has {', '.join(names)}" if names else "it has none: all of it lies in one directory"
        raise InputError(f"--target {unknown[0]}: the load has no [[target]] of that name; {has}")
    targets, same = [of_directory(TARGET, directory)], dict[str, str]()
    for target in _addressed(further, given):
        lies = directory_of(target) if target.uri else directory
        there = next((one.name for one in targets if lies is not None and directory_of(one) == lies.resolve()), None)
        if there is None:
            targets.append(target)
        elif not target.uri or target.name in given:
            same[target.name] = there
        else:  # as in the file; the engine decides whether two may be in one directory
            targets.append(target)
    return PlacedTargets(tuple(targets), same)


def _addressed(further: Sequence[plan.Target], given: Mapping[str, Path]) -> Iterator[plan.Target]:
    for target in further:
        yield of_directory(target.name, given[target.name]) if target.name in given else target
