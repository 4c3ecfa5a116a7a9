"""Which results of a Plan are cells of a surface: one test with files of one size and records of one size?

A cell is an operation that moves records of one size, of a job whose operations work on files of one size. Cells whose
operations are called alike, and whose phases are but for the sizes in their names (`write-64-4` and `write-128-4`, `read 1M
64k` and `read 1M 128k`), are of one test. Where that puts two results in one place, their phases differ in more than sizes,
and each phase is a test of its own.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from assay.analysis.labels import label_of
from assay.plan import FileSet, Fixed, Job, Op, Plan
from assay.plan.op_rules import MOVES_DATA
from assay.plan.walk import job_ops, touched_sets

_SIZE = re.compile(r"\d{1,12}(\.\d{1,6})?([kmgt]i?)?b?", re.IGNORECASE | re.ASCII)
_PARTS = re.compile(r"[\s,;:_/-]+")


@dataclass(frozen=True)
class SizePair:
    """Where a result lies on a surface."""

    test: str
    """What the surface is of."""
    file_bytes: int
    record_bytes: int


def size_pairs(plan: Plan) -> dict[str, SizePair]:
    """Give the place of every result that has one, by its label without the number of the repeat."""
    found = dict(_pairs(plan))
    shared = {name for name, count in Counter(pair for _, pair in found.values()).items() if count > 1}
    split = {pair.test for pair in shared}
    return {
        label: replace(pair, test=f"{phase}: {pair.test}") if pair.test in split else pair
        for label, (phase, pair) in found.items()
    }


def _pairs(plan: Plan) -> Iterator[tuple[str, tuple[str, SizePair]]]:
    sets = {file_set.name: file_set for file_set in plan.file_sets}
    for phase in plan.phases:
        for job in phase.jobs:
            for name, pair in _of_job(job, sets):
                stem = " ".join(part for part in _PARTS.split(phase.name) if part and not _SIZE.fullmatch(part))
                words = [stem] if stem not in {"", name, name.replace("-", " ")} else []
                words += [job.name] if len(phase.jobs) > 1 else []
                label = label_of(phase, job.name, name).split("#", maxsplit=1)[0]
                yield label, (phase.name, replace(pair, test=", ".join([*words, name.replace("-", " ")])))


def _of_job(job: Job, sets: dict[str, FileSet]) -> Iterator[tuple[str, SizePair]]:
    by_name: dict[str, list[Op]] = {}
    for op in job_ops(job):
        if op.op in MOVES_DATA:
            by_name.setdefault(op.name, []).append(op)
    for name, ops in by_name.items():
        records = {_fixed(op.size) for op in ops}
        files = {_fixed(sets[file_set].size) if file_set in sets else None for file_set in touched_sets(job, ops)}
        record_bytes, file_bytes = (sizes.pop() if len(sizes) == 1 else None for sizes in (records, files))
        if record_bytes and file_bytes:
            yield name, SizePair(name, file_bytes, record_bytes)


def _fixed(size: object) -> int | None:
    """Give a size that is always the same, in bytes; None for any other."""
    return round(size.value) if isinstance(size, Fixed) else None
