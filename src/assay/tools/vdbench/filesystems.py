"""Trees of files, and workloads on them: `fsd` and `fwd`."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from assay.tools.vdbench import values
from assay.tools.vdbench.hosts import Hosts, check_host
from assay.tools.vdbench.keywords import Known
from assay.tools.vdbench.text import Definition, GivenParameter, SourceLine
from assay.tools.vdbench.values import Transfer

OPERATIONS = ("read", "write", "create", "delete", "getattr", "setattr", "mkdir", "rmdir", "open", "close")
_NO_OPERATIONS = {
    "copy": 'vdbench reads and writes; op = "copy" of a load file copies within the kernel',
    "move": 'it goes from one fsd to another; op = "rename" of a load file renames within a set',
    "access": "the nearest is getattr",
    "rename": 'the nearest is op = "rename" of a load file',
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fsd:
    """A tree of files."""

    name: str
    anchor: str
    place: SourceLine
    depth: int
    width: int
    files: int
    sizes: tuple[tuple[int, float], ...]
    is_everywhere: bool = False
    """Whether files lie in all directories and not just in the lowest."""
    flags: frozenset[str] = frozenset()
    totalsize: int | None = None
    workingsetsize: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fwd:
    """A workload on file systems."""

    name: str
    fsds: tuple[str, ...]
    place: SourceLine
    operations: tuple[str, ...] = ("read",)
    rdpct: float | None = None
    is_random: bool = False
    fileselect: str = "random"
    transfer: Transfer = values.OF_128K
    threads: int = 1
    skew: float | None = None
    stopafter: int | None = None
    flags: frozenset[str] = frozenset()


def read_fsd(definition: Definition, own: Mapping[str, GivenParameter], hosts: Hosts) -> Fsd:
    """Read an fsd; raises FrontEndError."""
    check_host(own, hosts)
    for name in ("anchor", "depth", "width", "files", "sizes"):
        if name not in own:
            raise definition.error(f"{name}= is missing")
    distribution = own.get("distribution")
    if distribution and distribution.single not in ("bottom", "all"):
        raise distribution.error("it must be bottom or all")
    return Fsd(
        name=definition.name,
        anchor=own["anchor"].single,
        place=definition.place,
        sizes=sizes_of(own["sizes"]),
        is_everywhere=distribution is not None and distribution.single == "all",
        flags=values.flags(own.get("openflags")),
        **values.numbers(own, depth=(1, 64), width=(1, 1 << 20), files=(1, 1 << 32)),
        **values.numbers(own, totalsize=(1, values.MOST_BYTES), workingsetsize=(1, values.MOST_BYTES)),
    )


def sizes_of(parameter: GivenParameter) -> tuple[tuple[int, float], ...]:
    """Read the sizes of files: one, or pairs of size and per cent."""
    if len(parameter.values) == 1:
        return ((values.size(parameter, parameter.single), 100.0),)
    return values.pairs(parameter, values.size)


def read_fwds(
    entries: Sequence[tuple[Definition, dict[str, GivenParameter]]],
    fsds: Mapping[str, Fsd],
    hosts: Hosts,
    known: Known,
) -> tuple[int, list[Fwd]]:
    """Give the threads that lay files out, and the workloads."""
    threads, found = 8, []
    for definition, own in entries:
        if definition.name != "format":
            found.append(_fwd(definition, own, fsds, hosts))
            continue
        threads = (
            values.whole(own["threads"], own["threads"].single, least=1, most=values.MOST_WORKERS)
            if "threads" in own
            else threads
        )
        if "xfersize" in own:
            known.note(
                f"fwd=format,{own['xfersize'].written}", "files are laid out in pieces of Assay's own, before the run"
            )
    return threads, found


def _fwd(definition: Definition, own: Mapping[str, GivenParameter], fsds: Mapping[str, Fsd], hosts: Hosts) -> Fwd:
    check_host(own, hosts)
    if "fsd" not in own:
        raise definition.error("fsd= is missing: what it works on")
    found: dict[str, Any] = {}
    if "operation" in own:
        found["operations"] = tuple(operation(own["operation"], word) for word in own["operation"].values)
    if "fileio" in own:
        found["is_random"] = _fileio(own["fileio"])
    if "fileselect" in own:
        found["fileselect"] = _fileselect(own["fileselect"])
    if "xfersize" in own:
        found["transfer"] = values.transfers(own["xfersize"])
    found |= {name: values.per_cent(own[name], own[name].single) for name in ("rdpct", "skew") if name in own}
    found |= values.numbers(own, threads=(1, values.MOST_WORKERS), stopafter=(1, 1 << 40))
    fwd = Fwd(
        name=definition.name,
        fsds=values.match_names(own["fsd"], list(fsds)),
        place=definition.place,
        flags=values.flags(own.get("openflags")),
    )
    return dataclasses.replace(fwd, **found)


def operation(parameter: GivenParameter, word: str) -> str:
    """Read the name of an operation."""
    if word in _NO_OPERATIONS:
        raise parameter.error(f"'{word}' is not supported: {_NO_OPERATIONS[word]}")
    if word not in OPERATIONS:
        raise parameter.error(f"there is no operation '{word[:40]}'; there are {', '.join(OPERATIONS)}")
    return word


def _fileio(parameter: GivenParameter) -> bool:
    first, *rest = parameter.values
    for word in rest:
        if word == "delete":
            raise parameter.error("a file that was read is not removed here; give operation=delete a run of its own")
        if word != "shared" or not "random".startswith(first):
            raise parameter.error(f"'{word}' is not supported; it can be random, sequential or (random,shared)")
    if "random".startswith(first):
        return True
    if "sequential".startswith(first):
        return False
    raise parameter.error("it is random or sequential")


def _fileselect(parameter: GivenParameter) -> str:
    word = parameter.single
    found = next((name for name in ("random", "sequential", "once") if name.startswith(word)), None)
    if found is None:
        raise parameter.error(
            "it is random, sequential or once; skewed choices are not supported (pick = random in load files)"
        )
    return found
