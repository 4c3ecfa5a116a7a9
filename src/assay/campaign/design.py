"""Compute the cells of a campaign, its factors and the order of measurements.

A cell is a file system as it is made, mounted and scheduled. `mkfs` and `mount` are factors of their own where every file
system is tried with choices of the same names; else they are part of the file system's level, so that the cells are always
all levels with all levels. Every repeat is a round over all cells and loads, in an order drawn anew: what changes with time
falls on all alike.
"""

import itertools
from typing import Final

import msgspec

from assay.campaign.campaign_file import Campaign, FileSystem

FILE_SYSTEM: Final = "file_system"
SCHEDULER: Final = "scheduler"


class CampaignFactor(msgspec.Struct, frozen=True, kw_only=True):
    """What is varied."""

    name: str
    levels: tuple[str, ...]


class CampaignCell(msgspec.Struct, frozen=True, kw_only=True):
    """One file system as it is made, mounted and scheduled."""

    levels: tuple[str, ...]
    """Of each factor."""
    kind: str
    mkfs: str
    mount: str
    scheduler: str | None
    """None: it is left as it is."""


class CampaignSlot(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement: a load on a cell, in a round."""

    number: int
    """From 1, in the order of time."""
    round: int
    """From 1."""
    cell: int
    load: int


class Design(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    factors: tuple[CampaignFactor, ...]
    cells: tuple[CampaignCell, ...]
    """All levels with all levels, the last factor the quickest."""
    slots: tuple[CampaignSlot, ...]

    def words_for(self, cell: CampaignCell) -> str:
        """Name a cell by the levels that differ between cells."""
        pairs = zip(self.factors, cell.levels, strict=True)
        return " ".join(level for factor, level in pairs if len(factor.levels) > 1) or cell.levels[0]


def design(campaign: Campaign) -> Design:
    """Lay a campaign out."""
    names = {
        what: tuple(dict.fromkeys(tuple(getattr(each, what)) for each in campaign.file_systems))
        for what in ("mkfs", "mount")
    }
    own = [what for what in ("mkfs", "mount") if len(names[what]) == 1]
    folded = [what for what in ("mkfs", "mount") if what not in own]
    variants = [
        (_level(each, inner), each, inner)
        for each in campaign.file_systems
        for choices in itertools.product(*(getattr(each, what) for what in folded))
        for inner in [dict(zip(folded, choices, strict=True))]
    ]
    factors = [CampaignFactor(name=FILE_SYSTEM, levels=tuple(name for name, _, _ in variants))]
    factors += [CampaignFactor(name=what, levels=names[what][0]) for what in own]
    if campaign.schedulers:
        factors.append(CampaignFactor(name=SCHEDULER, levels=campaign.schedulers))
    cells = []
    for (name, each, inner), *others in itertools.product(variants, *(factor.levels for factor in factors[1:])):
        chosen = {**inner, **dict(zip((factor.name for factor in factors[1:]), others, strict=True))}
        cells.append(_cell(each, (name, *others), chosen))
    return Design(factors=tuple(factors), cells=tuple(cells), slots=_slots(campaign, len(cells)))


def _level(file_system: FileSystem, chosen: dict[str, str]) -> str:
    """Name a level: the file system, with what was chosen of several."""
    return "/".join([file_system.name, *(name for what, name in chosen.items() if len(getattr(file_system, what)) > 1)])


def _cell(file_system: FileSystem, levels: tuple[str, ...], chosen: dict[str, str]) -> CampaignCell:
    return CampaignCell(
        levels=levels,
        kind=file_system.kind,
        mkfs=file_system.mkfs[chosen["mkfs"]],
        mount=file_system.mount[chosen["mount"]],
        scheduler=chosen.get(SCHEDULER),
    )


def _slots(campaign: Campaign, cells: int) -> tuple[CampaignSlot, ...]:
    import numpy as np  # noqa: PLC0415 - only now: a file that is refused needs none of it

    drawn = np.random.default_rng(campaign.seed)
    pairs = list(itertools.product(range(cells), range(len(campaign.loads))))
    order = [(number, *pairs[i]) for number in range(1, campaign.repeats + 1) for i in drawn.permutation(len(pairs))]
    return tuple(
        CampaignSlot(number=number, round=of, cell=cell, load=load)
        for number, (of, cell, load) in enumerate(order, start=1)
    )
