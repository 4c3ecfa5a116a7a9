"""Write `docs/proof.md`, and read it again: the page itself keeps the record of each step.

The records are lines of JSON in a comment at the end of the page, so that a fresh clone goes on where the page ends.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from suite.proof.machine import WorkTree
from suite.proof.steps import Step

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"
_BEGIN = "<!-- The records of the steps, which `make prove` reads. Do not edit.\n"
_END = "-->\n"
_HEAD = """# Proof

`make prove` runs each test at its full count: before a release, and after a change of what the test covers. `make test`
runs the same tests at small counts. This page is made by `make prove` and has the last result of each step.

"""
_TABLE = (
    "| step | what it proves | outcome | figures | took | ended (UTC) | of another commit or machine |\n"
    "| --- | --- | --- | --- | --- | --- | --- |\n"
)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What a step found."""

    step: str
    commit: str
    is_dirty: bool = False
    """Whether the work tree had uncommitted changes, or changed while the step ran."""
    machine: str
    begun_utc: str
    ended_utc: str
    seconds: float
    outcome: str
    figures: str

    def is_of(self, tree: WorkTree) -> bool:
        """Whether it proves this work tree."""
        return (self.commit, self.is_dirty) == tree


Records = Mapping[str, Record]
"""The last record of each step that has one."""


def read_records(page: Path) -> dict[str, Record]:
    """Read the records that a page keeps; a page that is not there has none."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    lines = text.partition(_BEGIN)[2].partition(_END)[0].splitlines()
    records = [msgspec.json.decode(line, type=Record) for line in lines]
    return {record.step: record for record in records}


def write_records(page: Path, steps: Sequence[Step], records: Records) -> None:
    """Write the page anew; a reader sees the old one or the new one."""
    page.parent.mkdir(parents=True, exist_ok=True)
    draft = page.with_name(f".{page.name}.new")
    try:
        draft.write_text(show(steps, records), encoding="utf-8")
        draft.replace(page)
    finally:
        draft.unlink(missing_ok=True)


def show(steps: Sequence[Step], records: Records) -> str:
    """Make the text of the page."""
    known = [records[step.id] for step in steps if step.id in records]
    last = max(known, key=lambda record: record.ended_utc, default=None)
    head = "No step has been run yet.\n" if last is None else _describe(last, steps, records)
    rows = "".join(_row(step, records.get(step.id), last) for step in steps)
    # A ">" would end the comment.
    lines = "".join(f"{msgspec.json.encode(record).decode()}\n" for record in known).replace(">", "\\u003e")
    return f"{_HEAD}{head}\n{_TABLE}{rows}\n{_BEGIN}{lines}{_END}"


def _describe(last: Record, steps: Sequence[Step], records: Records) -> str:
    """Describe what the page is of: the commit and the machine of the last step that ended."""
    tree = WorkTree(last.commit, last.is_dirty)
    of_tree = [records[step.id] for step in steps if step.id in records and records[step.id].is_of(tree)]
    passed = sum(record.outcome == PASSED for record in of_tree)
    return (
        f"- Commit: `{last.commit}`{' with uncommitted changes' if last.is_dirty else ''}\n"
        f"- Machine: {last.machine}\n"
        f"- Date: {last.ended_utc[:10]}\n"
        f"- Steps of this commit: {passed} of {len(steps)} passed, {len(of_tree) - passed} failed\n"
    )


def _row(step: Step, record: Record | None, last: Record | None) -> str:
    if record is None or last is None:
        cells = [step.id, step.proves, NOT_RUN, "", "", "", ""]
    else:
        outcome = record.outcome if record.outcome == PASSED else f"**{record.outcome}**"
        ended = f"{record.ended_utc[:10]} {record.ended_utc[11:16]}"
        cells = [
            step.id,
            step.proves,
            outcome,
            record.figures,
            describe_time(record.seconds),
            ended,
            _other(record, last),
        ]
    return f"| {' | '.join(_escape(cell) for cell in cells)} |\n"


def _other(record: Record, last: Record) -> str:
    """Name what differs from the head of the page."""
    is_of_commit = record.is_of(WorkTree(last.commit, last.is_dirty))
    changes = " with uncommitted changes" if record.is_dirty else ""
    parts = [
        *([] if is_of_commit else [f"`{record.commit[:12]}`{changes}"]),
        *([] if record.machine == last.machine else [record.machine]),
    ]
    return "; ".join(parts)


def describe_time(seconds: float) -> str:
    """Write a duration with the unit that suits it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def _escape(cell: str) -> str:
    """Keep a cell in its place, and out of what a page may show instead of it."""
    return re.sub(r"\s+", " ", cell).replace("|", "\\|").replace("<", "&lt;")
