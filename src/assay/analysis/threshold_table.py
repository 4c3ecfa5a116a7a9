"""Every threshold with its value and its meaning: made from `thresholds.py` itself, so that the two cannot differ."""

import ast
import dataclasses
import functools
import inspect
import itertools
from collections.abc import Iterable, Mapping

from assay.analysis import thresholds
from assay.verdicts import Bottleneck

OF_LIMITER: Mapping[Bottleneck, tuple[str, ...]] = {
    Bottleneck.OFFERED_LOAD: ("NEGLIGIBLE_SHARE", "MOST_OF_IT"),
    Bottleneck.THROTTLE_CPU: ("SMALL_SHARE",),
    Bottleneck.THROTTLE_IO: ("SMALL_SHARE", "MOST_OF_IT", "NOTABLE_SHARE"),
    Bottleneck.CLIENT_CPU_SINGLE: ("BUSY_SHARE", "MOST_OF_IT", "USER_SHARE", "CACHED_SHARE"),
    Bottleneck.CLIENT_CPU_ALL: ("BUSY_SHARE", "USER_SHARE", "CACHED_SHARE"),
    Bottleneck.CPU_CONTENTION: ("MOST_OF_IT", "BUSY_SHARE", "SMALL_SHARE"),
    Bottleneck.NETWORK_BANDWIDTH: ("CEILING_SHARE",),
    Bottleneck.WRITEBACK_DEVICE: ("BUSY_SHARE", "MOST_OF_IT", "GROWS"),
    Bottleneck.DEVICE_THROUGHPUT: ("CEILING_SHARE",),
    Bottleneck.DEVICE_SATURATED: ("MOST_OF_IT", "QUEUED_TIMES", "STAYS"),
    Bottleneck.OPERATION_LATENCY: ("NOTABLE_SHARE", "MOST_OF_IT", "GROWS", "STAYS"),
}
"""What the rule of each limiter turns on; those without a rule turn on nothing."""


@dataclasses.dataclass(frozen=True)
class Threshold:
    """A number that a judgement turns on."""

    name: str
    value: float
    meaning: str


@functools.cache
def threshold_table() -> tuple[Threshold, ...]:
    """Give all thresholds in the order of their file; their meanings are the strings below them.

    One line may set several; the string below it is that of each.
    """
    body = ast.parse(inspect.getsource(thresholds)).body
    return tuple(
        Threshold(name, float(getattr(thresholds, name)), _string(below))
        for statement, below in itertools.pairwise([*body, None])
        if statement
        for name in _names(statement)
    )


def named(names: Iterable[str]) -> tuple[Threshold, ...]:
    """Give some of them, each once, in the order asked for."""
    by_name = {threshold.name: threshold for threshold in threshold_table()}
    return tuple(by_name[name] for name in dict.fromkeys(names))


def _names(statement: ast.stmt) -> list[str]:
    """Name the constants that a statement sets."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    parts = [part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return [part.id for part in parts if part.id.isupper()]


def _string(statement: ast.stmt | None) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return " ".join(value.split()) if isinstance(value, str) else ""
    return ""
