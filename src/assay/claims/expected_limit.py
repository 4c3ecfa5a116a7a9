"""Expectations of a command line (`--expect`): each is a claim in short, `read: p99<2ms`, and becomes its sentence.

    [NAME:] [METRIC] [<|<=|>|>=] NUMBER[UNIT] [from ... | as measured]

NAME is an operation, a phase or a label. Without a METRIC it is the rate by its unit, without a sign at least the number.
"""

import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Final

from assay.claims.sentence import Sentence, SentenceError, parse
from assay.claims.stated_units import UNITS, Dimension
from assay.errors import InputError
from assay.plan import Phase, Plan
from assay.plan.walk import job_groups, job_ops

MOST: Final = 50
"""Expectations of a run."""
MOST_CHARACTERS: Final = 300
"""Of one."""
_BOUNDS = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}
_PERCENTILES = frozenset({"p50", "p90", "p99", "p99.9"})
_TERM = re.compile(
    r"(?:(?P<name>[^:<>=]+):)?\s*(?P<metric>iops|throughput|rate|p50|p90|p99\.9|p99)?\s*(?P<sign>>=|<=|>|<)?\s*"
    r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,9})?)\s*(?P<unit>[A-Za-z/µ]*)(?P<clause>\s+(?:from|as)\s.+)?"
)
_OPERATIONS = re.compile(r"(?P<prefix>[kKM]?)(?P<unit>iops|IOPS|ops/s|/s|)")
_FACTORS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6}
_EXAMPLES = "100kiops, 500MiB/s, iops>=100k or read:p99<2ms"
_MOST_NAMED = 20


@dataclasses.dataclass(frozen=True)
class ExpectedLimit:
    """One expectation."""

    text: str
    """As it was written, without blanks at its ends."""
    name: str
    """An operation, a phase or a label; empty: every row that has the number."""
    metric: str
    sentence: Sentence
    """The claim that it is."""


def read_expected(texts: Iterable[str]) -> tuple[ExpectedLimit, ...]:
    """Read the values of `--expect`: expectations with commas between them; raises InputError for a bad one."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    if len(parts) > MOST:
        raise InputError(f"--expect: these are {len(parts)} expectations; {MOST} are the most")
    return tuple(map(read_limit, parts))


def read_limit(text: str) -> ExpectedLimit:
    """Read one expectation; raises InputError with what is wrong."""
    found = _TERM.fullmatch(text) if len(text) <= MOST_CHARACTERS else None
    if found is None:
        raise _refused(text, f"an expectation is a limit such as {_EXAMPLES}")
    metric, sign = found["metric"] or "rate", found["sign"]
    factor, unit = _unit(text, found["unit"], found["metric"] or "")
    if metric in _PERCENTILES and sign is None:
        raise _refused(text, f"write a sign, such as {metric}<{found['number']}{found['unit']}")
    value = float(found["number"]) * factor
    if value <= 0:
        raise _refused(text, "the limit is above 0")
    try:
        sentence = parse(f"{metric} is {_BOUNDS[sign or '>=']} {value:.15g} {unit}{found['clause'] or ''}")
    except SentenceError as error:
        raise _refused(text, f"'{(found['clause'] or '').strip()}': {error}") from error
    if found["clause"] and sentence.served is None and not sentence.is_as_measured:
        raise _refused(text, "at the end may stand 'from storage', 'from page cache' or 'as measured'")
    return ExpectedLimit(text, (found["name"] or "").strip(), metric, sentence)


def _unit(text: str, unit: str, metric: str) -> tuple[float, str]:
    """Give what a number is multiplied by, and the unit of a claim."""
    stated, operations = UNITS.get(unit), _OPERATIONS.fullmatch(unit)
    dimension = stated.dimension if stated else Dimension.RATE if operations else None
    wanted = {
        "": (Dimension.RATE, Dimension.THROUGHPUT),
        "rate": (Dimension.RATE, Dimension.THROUGHPUT),
        "iops": (Dimension.RATE,),
        "throughput": (Dimension.THROUGHPUT,),
    }.get(metric, (Dimension.TIME,))
    if dimension not in wanted:
        if dimension is Dimension.TIME and not metric:
            raise _refused(text, f"a time is that of a percentile, such as p99<{text.lstrip('<>= ')}")
        kinds = {Dimension.RATE: "100k or 100kiops", Dimension.THROUGHPUT: "500MiB/s", Dimension.TIME: "2ms"}
        raise _refused(text, f"'{unit}' is not its unit; write {' or '.join(kinds[kind] for kind in wanted)}")
    if stated is None and operations is not None:
        if not metric and not operations["unit"]:
            raise _refused(text, f"it has no unit; write {_EXAMPLES}")
        return _FACTORS[operations["prefix"]], "IOPS"
    return 1.0, unit


def check_names(limits: Sequence[ExpectedLimit], plan: Plan) -> None:
    """Raise InputError for an expectation of something that a load does not have."""
    known = {name for phase in plan.phases for name in _names(phase)}
    for limit in limits:
        if limit.name and limit.name not in known:
            there = sorted(name for name in known if "/" not in name)
            more = f" and {len(there) - _MOST_NAMED} more" if len(there) > _MOST_NAMED else ""
            raise _refused(
                limit.text,
                f"the load has no operation or phase '{limit.name}'; it has {', '.join(there[:_MOST_NAMED])}{more}",
            )


def is_meant(limit: ExpectedLimit, *, phase: str, job: str, operation: str) -> bool:
    """Return whether an expectation is for a row."""
    return not limit.name or limit.name in _names_of(phase, job, operation)


def _names(phase: Phase) -> Iterable[str]:
    for job in phase.jobs:
        for operation in {*(op.name for op in job_ops(job)), *(name for name, _ in job_groups(job))} - {""}:
            yield from _names_of(phase.name, job.name, operation)


def _names_of(phase: str, job: str, operation: str) -> tuple[str, ...]:
    return phase, operation, f"{phase}/{operation}", f"{phase}/{job}/{operation}"


def _refused(text: str, why: str) -> InputError:
    return InputError(f"--expect '{text[:MOST_CHARACTERS]}': {why}")
