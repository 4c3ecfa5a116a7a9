"""Run definitions: `rd`, with the loops that make several runs of one."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.tools.vdbench import values
from assay.tools.vdbench.filesystems import Fwd, operation
from assay.tools.vdbench.hosts import Hosts, check_host
from assay.tools.vdbench.keywords import LOOPS
from assay.tools.vdbench.storage import Sd, Wd, seekpct
from assay.tools.vdbench.text import Definition, GivenParameter, SourceLine
from assay.tools.vdbench.values import Transfer

MAX = math.inf
_TIMES = ("elapsed", "interval", "warmup", "pause")
CURVE = -1.0
DEFAULT_CURVE = (10.0, 50.0, 70.0, 80.0, 90.0, 100.0)


@dataclasses.dataclass(frozen=True)
class Override:
    """What the command line sets for every rd."""

    elapsed: int | None = None
    interval: int | None = None
    warmup: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rd:
    """A run definition; one run for each combination of its loops."""

    name: str
    place: SourceLine
    wds: tuple[Wd, ...] = ()
    fwds: tuple[Fwd, ...] = ()
    loops: tuple[tuple[str, tuple[object, ...]], ...] = ()
    """Outermost first: a name of `LOOPS`, and its values."""
    elapsed: int = 30
    interval: int = 1
    warmup: int = 0
    pause: int = 0
    curve: tuple[float, ...] = DEFAULT_CURVE
    is_even: bool = False
    """Whether arrivals come at equal times; else at exponential ones."""
    flags: frozenset[str] | None = None
    format: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class SharedDefinitions:
    """The definitions before the rds of a file, and what the command line sets for them."""

    wds: Sequence[Wd]
    fwds: Sequence[Fwd]
    sds: Mapping[str, Sd]
    hosts: Hosts
    override: Override


def read_rd(definition: Definition, own: Mapping[str, GivenParameter], shared: SharedDefinitions) -> Rd:
    """Read an rd; raises FrontEndError."""
    check_host(own, shared.hosts)
    times: dict[str, Any] = {name: values.seconds(own[name]) for name in _TIMES if name in own}
    if "curve" in own:
        times["curve"] = _curve(own["curve"])
    times |= {name: value for name, value in dataclasses.asdict(shared.override).items() if value is not None}
    rd = Rd(
        name=definition.name,
        place=definition.place,
        wds=_wds_of(definition, own, shared.wds, shared.sds),
        fwds=tuple(
            fwd for fwd in shared.fwds if fwd.name in values.match_names(own["fwd"], [f.name for f in shared.fwds])
        )
        if "fwd" in own
        else (),
        loops=tuple((name, _loop(own[name], name)) for name in own if name in LOOPS),
        is_even=_is_even(own.get("distribution")),
        flags=values.flags(own["openflags"]) if "openflags" in own else None,
        format=_format(own.get("format")),
        **times,
    )
    _check_rd(definition, rd)
    return rd


def _wds_of(
    definition: Definition, own: Mapping[str, GivenParameter], wds: Sequence[Wd], sds: Mapping[str, Sd]
) -> tuple[Wd, ...]:
    if "fwd" in own:
        if "wd" in own or "sd" in own:
            raise definition.error("it has fwd= and also wd= or sd=; a run is of one of them")
        return ()
    if "sd" in own and "wd" not in own:
        return (
            Wd(name="wd_for_" + definition.name, sds=values.match_names(own["sd"], list(sds)), place=definition.place),
        )
    if "wd" not in own:
        raise definition.error("wd= or fwd= is missing: the workloads that it runs")
    names = values.match_names(own["wd"], [wd.name for wd in wds])
    chosen = tuple(wd for wd in wds if wd.name in names)
    only = values.match_names(own["sd"], list(sds)) if "sd" in own else None
    return tuple(wd if only is None else dataclasses.replace(wd, sds=only) for wd in chosen)


def _check_rd(definition: Definition, rd: Rd) -> None:
    if rd.interval < 1:
        raise definition.error("interval is 1 second or more")
    if rd.elapsed < 2 * rd.interval:
        raise definition.error(f"elapsed={rd.elapsed} is less than two intervals of {rd.interval} s")
    if rd.elapsed % rd.interval or rd.warmup % rd.interval:
        raise definition.error("elapsed and warmup are whole intervals")
    runs = math.prod(len(each) for _, each in rd.loops)
    if runs > values.MOST_VALUES:
        raise definition.error(f"its loops make {runs} runs; the limit is {values.MOST_VALUES}")
    if "limited" in rd.format:
        raise definition.error("format=limited ends a format by time; it is done whole here")


def _loop(parameter: GivenParameter, name: str) -> tuple[object, ...]:
    if name == "operation":
        words = tuple(operation(parameter, word) for word in parameter.values)
        return tuple((word,) for word in words) if parameter.name.startswith("for") else (words,)
    return _each(parameter, name)


def _each(parameter: GivenParameter, name: str) -> tuple[object, ...]:
    if name == "iorate":
        return tuple(_rate(parameter, word) for word in values.expand(parameter))
    words = values.expand(parameter)
    read: dict[str, Callable[[str], object]] = {
        "xfersize": lambda word: Transfer(((values.transfer(parameter, word), 100.0),)),
        "threads": lambda word: values.whole(parameter, word, least=1, most=values.MOST_WORKERS),
        "seekpct": lambda word: seekpct(parameter, word),
        "hitarea": lambda word: values.size(parameter, word, least=512),
        "sizes": lambda word: ((values.size(parameter, word), 100.0),),
        "depth": lambda word: values.whole(parameter, word, least=1, most=64),
        "width": lambda word: values.whole(parameter, word, least=1, most=1 << 20),
        "files": lambda word: values.whole(parameter, word, least=1, most=1 << 32),
    }
    one: Callable[[str], object] = read.get(name) or (lambda word: values.per_cent(parameter, word))
    return tuple(one(word) for word in words)


def _rate(parameter: GivenParameter, word: str) -> float:
    if word == "max":
        return MAX
    return CURVE if word == "curve" else values.real(parameter, word, least=1e-3, most=1e9)


def _curve(parameter: GivenParameter) -> tuple[float, ...]:
    return tuple(values.real(parameter, word, least=0.1, most=1000) for word in values.expand(parameter))


def _is_even(parameter: GivenParameter | None) -> bool:
    if parameter is None:
        return False
    word = parameter.values[0]
    if len(parameter.values) > 1:
        raise parameter.error("bursts are not supported; it is exponential or deterministic here")
    if "exponential".startswith(word):
        return False
    if "deterministic".startswith(word):
        return True
    raise parameter.error(
        "times between arrivals are exponential or deterministic (equal) here; the nearest is deterministic"
    )


def _format(parameter: GivenParameter | None) -> frozenset[str]:
    known = ("yes", "no", "restart", "only", "clean", "once", "limited")
    if parameter is None:
        return frozenset()
    for word in parameter.values:
        if word not in (*known, "y", "n"):
            raise parameter.error(f"'{word[:40]}' is not supported; use one of {', '.join(known)}")
    return frozenset({"y": "yes", "n": "no"}.get(word, word) for word in parameter.values)
