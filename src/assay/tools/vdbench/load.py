"""What a parameter file asks for, complete after defaults: storage, workloads, file systems and runs."""

import dataclasses
from collections.abc import Mapping, Sequence

from assay.errors import FrontEndError
from assay.plan import Untranslated
from assay.tools.vdbench import values
from assay.tools.vdbench.definitions import MAX, Override, Rd, SharedDefinitions, read_rd
from assay.tools.vdbench.filesystems import Fsd, read_fsd, read_fwds
from assay.tools.vdbench.hosts import Hosts, read_hosts
from assay.tools.vdbench.keywords import Known, merge
from assay.tools.vdbench.storage import Sd, Wd, read_sds, read_wd
from assay.tools.vdbench.text import Definition, GivenParameter

_NO_OVERRIDE = Override()
_NO_PRIORITY = "each workload has its own rate, and where not all can be held, none goes before another"


@dataclasses.dataclass(frozen=True)
class Load:
    """A whole parameter file."""

    sds: Mapping[str, Sd]
    fsds: Mapping[str, Fsd]
    rds: tuple[Rd, ...]
    compress_ratio: float
    format_threads: int
    notes: tuple[Untranslated, ...]
    hosts: tuple[str, ...] = ()
    """Other machines that do it, each all of it; empty: this one does."""


def load(
    general: Sequence[GivenParameter], definitions: Sequence[Definition], source: str, override: Override = _NO_OVERRIDE
) -> Load:
    """Read definitions.

    Args:
        general: Parameters before the first of them.
        definitions: In order.
        source: Name of the file, for what is missing.
        override: From the command line.

    Raises:
        FrontEndError: something that is wrong or not supported.
    """
    known = Known()
    whole = known.take("", general)
    hosts = read_hosts(definitions, known)
    sds = {sd.name: sd for entry in merge(definitions, "sd", known) for sd in read_sds(*entry, hosts)}
    of_wds = list(merge(definitions, "wd", known))
    wds = [read_wd(*entry, sds, hosts) for entry in of_wds]
    for _, own in of_wds:
        if "priority" in own:
            known.note(own["priority"].written, _NO_PRIORITY)
    fsds = {entry[0].name: read_fsd(*entry, hosts) for entry in merge(definitions, "fsd", known)}
    formats, fwds = read_fwds(merge(definitions, "fwd", known), fsds, hosts, known)
    shared = SharedDefinitions(wds, fwds, sds, hosts, override)
    rds = [read_rd(*entry, shared) for entry in merge(definitions, "rd", known)]
    if not rds:
        raise FrontEndError(
            source, None, "there is no rd=, so nothing would run; add one, such as rd=rd1,wd=*,iorate=max"
        )
    if bool(fsds) == bool(sds):
        what = "sd= and fsd= together: a run is of one of them" if sds else "there is neither an sd= nor an fsd="
        raise FrontEndError(source, None, what)
    if hosts.systems:
        _check_rates(wds, rds)
    ratio = whole.get("compratio")
    return Load(
        sds=sds,
        fsds=fsds,
        rds=tuple(rds),
        compress_ratio=values.real(ratio, ratio.single, least=1, most=10) if ratio else 1.0,
        format_threads=formats,
        notes=(*known.notes, *_notes_of(hosts)),
        hosts=hosts.systems,
    )


def _check_rates(wds: Sequence[Wd], rds: Sequence[Rd]) -> None:
    """Refuse a rate of several hosts: vdbench divides it among them, and each client does all of it here."""
    cure = "with several hosts; write max, or give one host the file and clients with --share files"
    for wd in wds:
        if wd.iorate is not None:
            raise wd.place.error(
                f"wd={wd.name}: iorate= is a rate of all hosts together, which is not supported {cure}"
            )
    for rd in rds:
        rates = next((found for name, found in rd.loops if name == "iorate"), ())
        if any(rate != MAX for rate in rates):
            raise rd.place.error(f"rd={rd.name}: its rate is one of all hosts together, which is not supported {cure}")


def _notes_of(hosts: Hosts) -> tuple[Untranslated, ...]:
    if not hosts.systems:
        return ()
    why = "each host does all of it, with files and threads of its own; in vdbench they have the luns together"
    return (Untranslated(what="hd=", why=why),)
