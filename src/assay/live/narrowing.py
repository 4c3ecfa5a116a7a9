"""Compute the interval of a rate while repeats are running.

It uses the rates of progress lines: of whole phases, before the analysis.
"""

from assay.analysis.statistics.repeated import typical
from assay.units import format_percent

_SEVERAL = 2


class Narrowing:
    """Of the phases of one run."""

    def __init__(self) -> None:
        """Nothing was measured yet."""
        self._rates: dict[str, list[float]] = {}

    def add(self, phase: str, rate_per_s: float | None) -> str:
        """Add the rate of a repeat of a phase, and format the interval of all: `5 repeats ± 2.1 %`.

        Returns nothing for the first repeat.
        """
        rates = self._rates.setdefault(phase, [])
        if rate_per_s is not None and rate_per_s > 0:
            rates.append(rate_per_s)
        if len(rates) < _SEVERAL:
            return ""
        found = typical(rates)
        if found.interval is None:
            return f"{len(rates)} repeats {format_percent(max(rates) / min(rates) - 1)} % apart"
        half = (found.interval[1] - found.interval[0]) / 2 / found.value
        return f"{len(rates)} repeats ± {format_percent(half)} %"
