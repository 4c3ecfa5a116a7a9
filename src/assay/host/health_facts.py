"""Record the temperature, wear and errors of disks before and after a run.

NVMe disks are asked for their SMART / Health log. Of others, and where that is refused, there is the temperature that
hwmon shows (drivetemp of SATA disks; Documentation/hwmon/sysfs-interface). A disk that shows nothing has one fact with
the reason.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from assay.host.facts import Fact
from assay.host.nvme_admin import HealthLog, ask_health_log
from assay.host.nvme_log import read_health_log
from assay.host.reading import SystemTree, absent, known

BEGIN: Final = "health.begin"
"""Begins the keys of what a disk showed before the run, below those of the disk."""
END: Final = "health.end"
"""The same after the run."""

_NAMESPACE = re.compile(r"nvme[0-9]+n[0-9]+")
_HWMON = re.compile(r"hwmon[0-9]+")
_PER_DEGREE: Final = 1000
_DEGREES: Final = (-273, 1000)
_LONGEST_NUMBER: Final = 12
"""Characters of a temperature; sysfs shows one line."""

AskLog = Callable[[SystemTree, str, str], HealthLog]


def health_facts(tree: SystemTree, name: str, *, moment: str = BEGIN, ask: AskLog = ask_health_log) -> tuple[Fact, ...]:
    """Look at a disk now.

    Args:
        tree: Where /sys and /dev are.
        name: Of the disk in /sys/class/block.
        moment: `BEGIN` or `END`, which the keys begin with.
        ask: Asks an NVMe controller.
    """
    why = ""
    if _NAMESPACE.fullmatch(name):
        log = ask(tree, name, tree.read(f"/sys/class/block/{name}/dev").text or "")
        if log.page is not None:
            try:
                fields = read_health_log(log.page)
            except ValueError as error:
                why = f"n/a: /dev/{name}: {error}"
            else:
                return tuple(known(f"{moment}.{key}", value, log.source) for key, value in fields.items())
        why = why or log.source
    if (temperature := _temperature(tree, name)) is not None:
        celsius, source = temperature
        return (known(f"{moment}.temperature_celsius", celsius, f"{source} ({why})" if why else source),)
    return (absent(moment, why or f"neither NVMe nor hwmon shows the state of {name}"),)


def health_at_end(facts: Sequence[Fact], tree: SystemTree | None = None, ask: AskLog = ask_health_log) -> list[Fact]:
    """Look again at the disks that could be looked at before the run, by the facts of then."""
    tree = tree or SystemTree()
    names = {fact.key.removesuffix(".name"): fact.value for fact in facts if fact.key.endswith(".name")}
    now: dict[str, tuple[Fact, ...]] = {}
    found = []
    for disk in disks_with_health(facts):
        name = names.get(disk)
        if isinstance(name, str):
            if name not in now:
                now[name] = health_facts(tree, name, moment=END, ask=ask)
            found += [Fact(key=f"{disk}.{own.key}", value=own.value, source=own.source) for own in now[name]]
    return found


def begin_as_end(before: Iterable[Fact], after: Iterable[Fact]) -> list[Fact]:
    """Take what facts of a later moment have of the disks that earlier ones show, as of the end."""
    disks = set(disks_with_health(before))
    return [
        Fact(key=f"{disk}.{END}{rest}", value=fact.value, source=fact.source)
        for fact in after
        for disk, found, rest in (fact.key.partition(f".{BEGIN}"),)
        if found and disk in disks
    ]


def disks_with_health(facts: Iterable[Fact]) -> Iterator[str]:
    """Give the keys of the disks that could be looked at, each once."""
    yield from dict.fromkeys(
        fact.key.partition(f".{BEGIN}.")[0] for fact in facts if f".{BEGIN}." in fact.key and fact.value is not None
    )


def _temperature(tree: SystemTree, name: str) -> tuple[float, str] | None:
    """Return degrees Celsius, and where they are shown: the folder of hwmon is the device's, or below one of its name."""
    device = f"/sys/class/block/{name}/device"
    for folder in (device, f"{device}/hwmon"):
        for entry in tree.names(folder):
            path = f"{folder}/{entry}/temp1_input"
            if _HWMON.fullmatch(entry) and (celsius := _celsius(tree.read(path, _LONGEST_NUMBER).text)) is not None:
                return celsius, path
    return None


def _celsius(text: str | None) -> float | None:
    """Return the degrees of a text of thousandths; None where it is none, or no temperature."""
    try:
        celsius = int(text or "") / _PER_DEGREE
    except ValueError:
        return None
    lowest, highest = _DEGREES
    return round(celsius, 1) if lowest <= celsius <= highest else None
