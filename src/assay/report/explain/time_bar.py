"""Draw where the workers' time went, as a bar of characters, readable without colour."""

from assay.results import TimeBudget
from assay.units import format_percent

_PARTS = (
    ("C", "on a CPU"),
    ("R", "ready, waiting for a CPU"),
    ("B", "waiting for a block device"),
    (".", "idle by the load's own schedule"),
    ("w", "other waits: network, locks, sleep"),
)


def time_bar(budget: TimeBudget, width: int) -> list[str]:
    """Give the bar and a line for each part that is known; none where nothing is."""
    shares = (budget.on_cpu, budget.run_delay, budget.block_delay, budget.idle, budget.other_wait)
    known = [(letter, words, share) for (letter, words), share in zip(_PARTS, shares, strict=True) if share is not None]
    if not known:
        return []
    counts = cells([share for _, _, share in known], width)
    bar = "".join(letter * count for (letter, _, _), count in zip(known, counts, strict=True))
    return [bar, *(f"{letter}  {format_percent(share):>5} %  {words}" for letter, words, share in known if share > 0)]


def cells(shares: list[float], width: int) -> list[int]:
    """Divide a width by shares, the largest remainders up, so that the whole of it is used."""
    total = sum(shares)
    if total <= 0:
        return [0] * len(shares)
    exact = [share / total * width for share in shares]
    counts = [int(part) for part in exact]
    by_remainder = sorted(range(len(exact)), key=lambda place: counts[place] - exact[place])
    for place in by_remainder[: width - sum(counts)]:
        counts[place] += 1
    return counts
