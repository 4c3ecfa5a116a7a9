"""The runs of an rd in vdbench's order: one for each combination of its loops; of a curve one at most, and its points."""

import dataclasses
import itertools
from collections.abc import Iterator

from assay.tools.vdbench.definitions import CURVE, MAX, Rd
from assay.tools.vdbench.load import Load
from assay.tools.vdbench.values import Transfer
from assay.units import MIB

ENDING = frozenset({"create", "delete", "mkdir", "rmdir"})
"""Operations that use up what there is."""


@dataclasses.dataclass(frozen=True)
class OneRun:
    """One run: a phase of the Plan."""

    rd: Rd
    name: str
    """Of its phase."""
    values: dict[str, object]
    """Of its loops."""
    rate: float
    """Arrivals a second in all; `MAX`: as many as go."""
    loops: str
    """What distinguishes it from the others of its rd, as vdbench writes it; empty: nothing."""
    of: str = ""
    """Of a point of a curve: the phase that ran as fast as it went."""
    share: float = 0.0
    """And the share of its rate, in per cent."""
    leads: bool = False
    """Whether points of a curve are shares of its rate."""

    @property
    def ramp_s(self) -> int:
        """Seconds that are kept out of its mean: the warm-up, or without one the first interval, as vdbench does.

        Of runs that end when there is nothing left to do, which may be at once, nothing is.
        """
        return self.rd.warmup or (0 if self._ends_by_itself else self.rd.interval)

    @property
    def intervals(self) -> int:
        """How many it has."""
        return (self.rd.warmup + self.rd.elapsed) // self.rd.interval

    @property
    def _ends_by_itself(self) -> bool:
        asked = self.values.get("operation")
        operations = {word for fwd in self.rd.fwds for word in (asked if isinstance(asked, tuple) else fwd.operations)}
        return bool(operations & ENDING) or any(fwd.fileselect == "once" for fwd in self.rd.fwds)


def runs(load: Load) -> tuple[OneRun, ...]:
    """Give all runs of a load, in order."""
    found: list[OneRun] = []
    names: set[str] = set()
    for rd in load.rds:
        for run in _runs_of(rd):
            name = run.name
            for number in itertools.count(2):
                if name not in names:
                    break
                name = f"{run.name} #{number}"
            names.add(name)
            found.append(dataclasses.replace(run, name=name))
    return tuple(found)


def _runs_of(rd: Rd) -> Iterator[OneRun]:
    if "only" in rd.format or "clean" in rd.format:
        yield OneRun(rd, rd.name, {}, MAX, "")
        return
    keys = [name for name, _ in rd.loops]
    for combination in itertools.product(*(values for _, values in rd.loops)):
        chosen = dict(zip(keys, combination, strict=True))
        rate = float(str(chosen.pop("iorate", MAX)))
        loop_text = " ".join(_shown(name, value) for name, value in chosen.items() if len(dict(rd.loops)[name]) > 1)
        name = " ".join(filter(None, (rd.name, loop_text)))
        rates = len(dict(rd.loops).get("iorate", ()))
        if rate != CURVE:
            shown = "max" if rate == MAX else f"{rate:g}"
            unit = "fwdrate" if rd.fwds else "iorate"
            loops = " ".join(filter(None, (loop_text, f"{unit}={shown}" if rates > 1 else "")))
            yield OneRun(rd, f"{name} {unit}={shown}" if rates > 1 else name, chosen, rate, loops)
            continue
        most = f"{name} max"
        yield OneRun(rd, most, chosen, MAX, loop_text, leads=True)
        for point in rd.curve:
            yield OneRun(rd, f"{name} {point:g} %", chosen, MAX, loop_text, of=most, share=point)


def _shown(name: str, value: object) -> str:
    if isinstance(value, Transfer):
        return f"xfersize={shown_size(value.sizes[0][0])}"
    if isinstance(value, tuple):
        value = value[0] if isinstance(value[0], str) else shown_size(value[0][0])
    elif name == "hitarea" and isinstance(value, int):
        value = shown_size(value)
    elif isinstance(value, float):
        value = "eof" if value < 0 else f"{value:g}"
    return f"{name}={value}"


def shown_size(size: int) -> str:
    """Write a size as vdbench does: whole m or k, else bytes."""
    for unit, factor in (("m", MIB), ("k", 1024)):
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)
