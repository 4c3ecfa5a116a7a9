"""List the parameters of each kind of definition, and how each is treated.

One table a kind (`tools/option_meaning.py`). As in vdbench, a word may be cut to its beginning where only one begins so.
"""

from collections.abc import Iterable, Mapping

from assay.plan import Untranslated
from assay.tools.arguments import cut
from assay.tools.option_meaning import Meaning, Noted, Refused, Table, Taken
from assay.tools.vdbench.text import COMMAND_LINE, Definition, GivenParameter

_LEAST_CHARACTERS = 2


def _take(*names: str, **others: str) -> dict[str, Meaning]:
    found: dict[str, Meaning] = {name: Taken(name) for name in names}
    return found | {name: Taken(meant) for name, meant in others.items()}


_VALIDATION = Refused(
    "data validation keeps maps and journals of its own, which are not here; a load file with content = { stamped = true }"
    " verifies every block that is read"
)
_DEDUP = Refused(
    "Assay's content has a ratio over the whole, not sets of blocks; see content.dedupe_ratio of load files"
)
_REPLAY = Refused("replay needs a trace; a load file's script takes one line for each operation with its time")
_COMMAND = Refused(
    "a parameter file starts no program here; run it separately, or use a load file with --allow-commands"
)
_STREAMS = Refused("one SD has one stream of each workload here; give each stream an sd with a range of its own")
_STRIDE = Refused(
    "strides of vdbench are not supported; access = { stride = ... } of a load file goes on by equal steps"
)
_CONCATENATE = Refused("SDs stay apart here; give one sd with the whole size")
_REPORTING = Noted(
    "it selects what vdbench prints; here all is in the run, and 'assay show' and 'assay export' give it"
)
_PLATFORM = Noted("it sets how vdbench's own processes are started; there are none")
_STATISTICS = Noted("it names a counter of Solaris")
_TAPE = Refused("tapes and device resets are not supported")

GENERAL: Table = {
    **_take("compratio", compression_ratio="compratio"),
    "create_anchors": Noted("data lies in Assay's folder of a directory that is there, and no other is made"),
    "formatsds": Noted("each SD's file is laid out whole with data before its first use"),
    "messagescan": Noted("the system log is not read"),
    "monitor": _REPORTING,
    "report": _REPORTING,
    "report_run_totals": _REPORTING,
    "histogram": _REPORTING,
    "debug": _REPORTING,
    "fwd_thread_adjust": Noted("threads are divided and rounded up, as by default"),
    "port": _PLATFORM,
    "data_errors": Noted("operations that fail are counted and reported, and end no run"),
    "validate": _VALIDATION,
    "journal": _VALIDATION,
    "dedupratio": _DEDUP,
    "dedupunit": _DEDUP,
    "dedupsets": _DEDUP,
    "deduphotsets": _DEDUP,
    "dedupflipflop": _DEDUP,
    "pattern": Refused("written bytes are new ones each time; a size ratio is compratio="),
    "patterns": Refused("written bytes are new ones each time; a size ratio is compratio="),
    "concatenate": _CONCATENATE,
    "concatenatesds": _CONCATENATE,
    "startcmd": _COMMAND,
    "endcmd": _COMMAND,
    "start_cmd": _COMMAND,
    "end_cmd": _COMMAND,
    "rg": _REPLAY,
    "devices": _REPLAY,
    "loop": Refused("a run is done once; start it again, or write the rd several times"),
    "swat": _REPORTING,
    "showlba": Refused("no list of addresses is written"),
    "timeout": Refused("operations end no run by their time; those that take long are reported during the run"),
    "abort_failed_skew": Refused("the run has the achieved shares by operation"),
    "force_error_after": Refused("no errors are simulated"),
    "unique": _VALIDATION,
}
HD: Table = {
    **_take("system"),
    "vdbench": _PLATFORM,
    "user": _PLATFORM,
    "shell": _PLATFORM,
    "jvms": Noted("threads are the engine's own, in one process"),
    "clients": Refused("a host is one client; name each host with an hd= of its own"),
    "mount": Refused("nothing is mounted from a parameter file; mount it before"),
}
SD: Table = {
    **_take("lun", "size", "threads", "hitarea", "openflags", "range", "offset", "align", "count", "host", hd="host"),
    "replay": _REPLAY,
    "journal": _VALIDATION,
    "resetlun": _TAPE,
    "resetbus": _TAPE,
    "dedupratio": _DEDUP,
    "dedupunit": _DEDUP,
    "dedupsets": _DEDUP,
    "streams": _STREAMS,
    "instance": _STATISTICS,
    "kstat": _STATISTICS,
}
WD: Table = {
    **_take("sd", "xfersize", "rdpct", "seekpct", "skew", "iorate", "priority", "range", "rhpct", "whpct", "openflags"),
    **_take("host", hd="host", readpct="rdpct"),
    "stride": _STRIDE,
    "streams": _STREAMS,
    "hotband": Refused('the nearest is access = { kind = "random", distribution = { hot_spot ... } } of a load file'),
    "threads": Refused("threads belong to an SD; write threads= there"),
    "user": Refused("no external code is loaded"),
    "dedupratio": _DEDUP,
}
_SHAPES = ("depth", "width", "files", "sizes")
FSD: Table = {
    **_take("anchor", "depth", "width", "files", "sizes", "distribution", "openflags", "totalsize", "workingsetsize"),
    **_take("host", hd="host", size="sizes", wss="workingsetsize"),
    "count": Refused("write each fsd"),
    "shared": Noted("there is one client"),
    "journal": _VALIDATION,
    "cleanup": Refused("Assay removes only what it made; 'assay clean DIR' does"),
    "mask": Refused("names of files are Assay's own"),
    "streams": _STREAMS,
}
FWD: Table = {
    **_take(
        "fsd", "operation", "rdpct", "fileio", "fileselect", "xfersize", "threads", "skew", "stopafter", "openflags"
    ),
    **_take("host", hd="host", operations="operation", readpct="rdpct", xfersizes="xfersize"),
    "target": Refused("copy and move are not supported; see operation="),
    "depth": Refused("the shape is the fsd's; write it there"),
    "width": Refused("the shape is the fsd's; write it there"),
    "files": Refused("the shape is the fsd's; write it there"),
    "sizes": Refused("the sizes are the fsd's; write them there"),
}
LOOPS = (
    "iorate", "xfersize", "threads", "rdpct", "seekpct", "hitarea", "rhpct", "whpct", "operation", *_SHAPES
)  # fmt: skip
"""Parameters of an rd of which each value is a run, by their name without `for`; fwdrate is an iorate of files."""
RD: Table = {
    **_take(
        "wd", "sd", "fwd", "elapsed", "interval", "warmup", "pause", "curve", "distribution", "openflags", "format"
    ),
    **_take(*LOOPS, host="host", hd="host", readpct="rdpct", xfersizes="xfersize"),
    **_take(fwdrate="iorate", foriorate="iorate", forfwdrate="iorate", forxfersizes="xfersize", operations="operation"),
    **_take(foroperations="operation", size="sizes"),
    **{f"for{name}": Taken(name) for name in LOOPS},
    "stopcurve": Refused("no point is left out by what came before; give the points in curve=(...)"),
    "maxdata": Refused("a run ends by its time; a load file has stop = { bytes = ... }"),
    "replay": _REPLAY,
    "dedupratio": _DEDUP,
    "fordedupratio": _DEDUP,
    "forcompratio": Refused("content has one ratio in a run; give compratio= and a run for each"),
    "compratio": Refused("content has one ratio in a run; give compratio= before the first sd or fsd"),
    "fortotal": Refused("write an fsd with totalsize= for each"),
    "forwss": Refused("write an fsd with workingsetsize= for each"),
    "forworkingsetsize": Refused("write an fsd with workingsetsize= for each"),
    "start_cmd": _COMMAND,
    "end_cmd": _COMMAND,
    "startcmd": _COMMAND,
    "endcmd": _COMMAND,
    "validate": _VALIDATION,
    "journal": _VALIDATION,
    "monitor": _REPORTING,
    "stride": _STRIDE,
    "priority": Refused("no workload waits for another; see wd="),
}
_OF_KIND: Mapping[str, Table] = {
    "": GENERAL, "hd": HD, "sd": SD, "wd": WD, "fsd": FSD, "fwd": FWD, "rd": RD
}  # fmt: skip


class Known:
    """Looks parameters up, and keeps notes on those that do not change the load."""

    def __init__(self) -> None:
        """Start without notes."""
        self._notes: dict[str, str] = {}

    @property
    def notes(self) -> tuple[Untranslated, ...]:
        """What is not supported and does not change the load."""
        return tuple(Untranslated(what=what, why=why) for what, why in self._notes.items())

    def note(self, what: str, why: str) -> None:
        """Add a note on a parameter."""
        self._notes.setdefault(what, why)

    def take(self, kind: str, parameters: Iterable[GivenParameter]) -> dict[str, GivenParameter]:
        """Give the parameters of a definition by their usual names, in order.

        Raises:
            FrontEndError: one that is unknown, not supported, or given twice.
        """
        found: dict[str, GivenParameter] = {}
        for parameter in parameters:
            meaning = self._meaning(kind, parameter)
            if isinstance(meaning, Refused):
                raise parameter.error(meaning.why)
            if isinstance(meaning, Noted):
                self.note(parameter.written, meaning.why)
                continue
            if parameter.place.file == COMMAND_LINE:
                found.pop(meaning.name, None)
            if meaning.name in found:
                raise parameter.error(
                    f"{meaning.name} is given twice for one {kind or 'file'}; kinds of definitions follow one another as hd,"
                    " sd, wd, rd or hd, fsd, fwd, rd"
                )
            found[meaning.name] = parameter
        return found

    def _meaning(self, kind: str, parameter: GivenParameter) -> Meaning:
        known = _OF_KIND[kind]
        if parameter.name in known:
            return known[parameter.name]
        begun = {known[name] for name in known if name.startswith(parameter.name)}
        if len(begun) == 1 and len(parameter.name) >= _LEAST_CHARACTERS:
            return begun.pop()
        where = f"{kind} parameter" if kind else "parameter before the first definition"
        if len(begun) > 1 and len(parameter.name) >= _LEAST_CHARACTERS:
            names = ", ".join(name for name in known if name.startswith(parameter.name))
            raise parameter.error(f"'{parameter.name}' is ambiguous: {names}; write more of it")
        near = ", ".join(name for name in known if isinstance(known[name], Taken))
        raise parameter.error(f"unknown {where} '{cut(parameter.name)}'; supported: {near}")


def merge(
    definitions: Iterable[Definition], kind: str, known: Known
) -> list[tuple[Definition, dict[str, GivenParameter]]]:
    """Give the definitions of a kind but its defaults, each with its own parameters over those of the defaults before it.

    Raises:
        FrontEndError: as for `Known.take`, or a name that two have.
    """
    defaults: dict[str, GivenParameter] = {}
    found: dict[str, tuple[Definition, dict[str, GivenParameter]]] = {}
    for definition in definitions:
        if definition.kind != kind:
            continue
        own = known.take(kind, definition.parameters)
        if definition.name == "default":
            defaults = _over(defaults, own)
        elif definition.name in found:
            raise definition.error("a definition of that name is above; names are unique")
        else:
            found[definition.name] = (definition, _over(defaults, own))
    return list(found.values())


def _over(defaults: dict[str, GivenParameter], own: dict[str, GivenParameter]) -> dict[str, GivenParameter]:
    # What is given anew goes to its new place: loops are done in the order in which they were written.
    return {name: value for name, value in defaults.items() if name not in own} | own
