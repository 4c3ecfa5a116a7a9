"""Files in place of devices, and workloads on them: `sd` and `wd`."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

from assay.tools.vdbench import values
from assay.tools.vdbench.hosts import Hosts, check_host
from assay.tools.vdbench.text import Definition, GivenParameter, SourceLine
from assay.tools.vdbench.values import Transfer
from assay.units import MIB


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sd:
    """A file in place of a device."""

    name: str
    lun: str
    place: SourceLine
    size: int | None = None
    threads: int = 8
    hitarea: int = MIB
    flags: frozenset[str] = frozenset()
    range: tuple[float, float] | None = None
    offset: int = 0
    align: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wd:
    """A workload on SDs."""

    name: str
    sds: tuple[str, ...]
    place: SourceLine
    transfer: Transfer = values.OF_4K
    rdpct: float = 100.0
    seekpct: float = 100.0
    """Below 0: in order, and at the end of the SD it is over."""
    skew: float | None = None
    iorate: float | None = None
    range: tuple[float, float] | None = None
    rhpct: float = 0.0
    whpct: float = 0.0
    flags: frozenset[str] = frozenset()


def read_sds(definition: Definition, own: Mapping[str, GivenParameter], hosts: Hosts) -> Iterable[Sd]:
    """Read an sd, which count= makes many of; raises FrontEndError."""
    check_host(own, hosts)
    if "lun" not in own:
        raise definition.error("lun= is missing: the file of this storage definition")
    sd = Sd(
        name=definition.name,
        lun=own["lun"].single,
        place=own["lun"].place,
        flags=values.flags(own.get("openflags")),
        range=values.part(own.get("range")),
        **values.numbers(
            own, size=(512, values.MOST_BYTES), threads=(1, values.MOST_WORKERS), hitarea=(512, values.MOST_BYTES)
        ),
        **values.numbers(own, offset=(0, values.MOST_BYTES), align=(512, 1 << 30)),
    )
    if sd.offset % 512 or sd.align % 512:
        raise definition.error("offset and align are multiples of 512 bytes")
    if "count" not in own:
        return [sd]
    first, last = (
        values.whole(own["count"], text, least=0, most=100_000) for text in values.two(own["count"], "(first,how many)")
    )
    if last > values.MOST_VALUES:
        raise own["count"].error(f"the limit is {values.MOST_VALUES}")
    return [
        dataclasses.replace(sd, name=f"{sd.name}{first + i}", lun=_number_lun(sd, own["count"], first + i))
        for i in range(last)
    ]


def _number_lun(sd: Sd, count: GivenParameter, number: int) -> str:
    made, found = re.subn(r"%0?([0-9]?)d", lambda match: f"{number:0{match[1] or 1}d}", sd.lun)
    if found > 1:
        raise count.error("lun= has more than one place for the number")
    return made if found else f"{sd.lun}{number}"


def seekpct(parameter: GivenParameter, word: str) -> float:
    """Read seekpct: 0 in order, 100 at random, below 0 in order up to the end."""
    lower = word.lower()
    if lower in {"eof", "-1"}:
        return -1.0
    for name, meant in (("sequential", 0.0), ("random", 100.0)):
        if len(lower) > 1 and name.startswith(lower):
            return meant
    if "poisson".startswith(lower):
        raise parameter.error(
            "Poisson-distributed offsets are not supported; see distribution= of random access in load files"
        )
    return values.per_cent(parameter, word)


def read_wd(definition: Definition, own: Mapping[str, GivenParameter], sds: Mapping[str, Sd], hosts: Hosts) -> Wd:
    """Read a wd; raises FrontEndError."""
    check_host(own, hosts)
    if "sd" not in own:
        raise definition.error("sd= is missing: what it works on")
    if "priority" in own and "iorate" not in own:
        values.whole(own["priority"], own["priority"].single, least=1, most=1 << 30)
        raise own["priority"].error("no workload waits for another here; leave it out, or give each workload an sd")
    seek = own.get("seekpct")
    if seek and len(seek.values) > 1:
        raise seek.error("it takes one value here: 0, 100, seq, random, eof, or what lies between")
    shares = ("rdpct", "rhpct", "whpct", "skew")
    given: dict[str, Any] = {name: values.per_cent(own[name], own[name].single) for name in shares if name in own}
    if "xfersize" in own:
        given["transfer"] = values.transfers(own["xfersize"])
    return Wd(
        name=definition.name,
        sds=values.match_names(own["sd"], list(sds)),
        place=definition.place,
        seekpct=seekpct(seek, seek.single) if seek else 100.0,
        range=values.part(own.get("range")),
        flags=values.flags(own.get("openflags")),
        iorate=_rate_of_wd(own.get("iorate")),
        **given,
    )


def _rate_of_wd(parameter: GivenParameter | None) -> float | None:
    if parameter is None:
        return None
    return values.real(parameter, parameter.single, least=1e-3, most=1e9)
