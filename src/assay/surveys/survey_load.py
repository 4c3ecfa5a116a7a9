"""A load file whose files have the sizes and the directories of a surveyed tree.

Sizes are a table of segments: those of the survey, a quarter of a power of two each, uniform inside. A load has fewer files
than a tree: as many as fit into `MOST_BYTES`, and what is larger than a part of that is left out, which the file states.
Directories are a tree of fixed shape with files in its leaves: as deep as half of the files are, as wide as it takes.
"""

from collections.abc import Sequence
from pathlib import Path

from assay.errors import InputError
from assay.outward import one_line
from assay.surveys.tree_survey import SizeRow, TreeSummary, TreeSurvey
from assay.units import format_bytes, format_share

MOST_FILES = 20_000
LEAST_FILES = 1_000
"""Fewer do not show the distribution."""
MOST_BYTES = 4 << 30
_MOST_LEVELS = 16


def load_text(survey: TreeSurvey, directory: Path) -> str:
    """Write the load file; raises InputError for a tree without files."""
    found = survey.summary
    if not found.files:
        raise InputError(f"{directory} has no files, so there are no sizes for a load file")
    rows = _fitting(found.sizes.rows)
    count = sum(row.count for row in rows)
    mean = sum((row.least + row.greatest) / 2 * row.count for row in rows) / count
    files = max(1, min(MOST_FILES, int(MOST_BYTES / mean) if mean else MOST_FILES))
    left = sum(row.count for row in found.sizes.rows) - count
    lines = [
        f"# The sizes and directories of {one_line(str(directory))}, as 'assay survey' found them{_partly(survey)}:",
        f"# {found.files:,} files, {format_bytes(found.bytes)}, {found.directories:,} directories.",
        *([f"# Left out are {left:,} larger files ({format_share(left / found.files)})."] if left else []),
        'name = "surveyed"',
        'description = "Create and read files of the sizes of a surveyed tree"',
        "",
        "[parameters]",
        f"files = {files}",
        "workers = 4",
        'phase_seconds = "10s"',
        "",
        *_file_set("surveyed", found, files, rows, existing_share=1.0),
        "",
        *_file_set("new", found, files, rows, existing_share=0.0),
        *_PHASES,
    ]
    return "\n".join(lines) + "\n"


def _fitting(rows: Sequence[SizeRow]) -> tuple[SizeRow, ...]:
    """Give the rows of which the fewest files that show the distribution have room; the smallest in any case."""
    fitting = list(rows)
    while len(fitting) > 1:
        count = sum(row.count for row in fitting)
        mean = sum((row.least + row.greatest) / 2 * row.count for row in fitting) / count
        if mean * LEAST_FILES <= MOST_BYTES and fitting[-1].greatest <= MOST_BYTES // 4:
            break
        fitting.pop()
    return tuple(fitting)


def _file_set(
    name: str, found: TreeSummary, files: int, rows: Sequence[SizeRow], *, existing_share: float
) -> list[str]:
    segments = ",\n".join(f"    [{row.count}, {row.least}, {row.greatest}]" for row in rows)
    return [
        "[[file_set]]",
        f'name = "{name}"',
        'files = "${files}"',
        f"existing_share = {existing_share}",
        f"layout = {_layout(found, files)}",
        "# Number of files, smallest and largest size in bytes.",
        f'size = {{ kind = "tabular", rows = [\n{segments},\n] }}',
    ]


def _layout(found: TreeSummary, files: int) -> str:
    """Describe directories as deep as half of the files are, with as many files in each as the tree has."""
    half, below, levels = found.files / 2, 0, 0
    for depth, level in enumerate(found.depths):
        below += level.files
        if below >= half:
            levels = min(depth - 1, _MOST_LEVELS)
            break
    with_files = sum(
        above.directories for above, level in zip(found.depths, found.depths[1:], strict=False) if level.files
    )
    each = max(1, round(found.files / max(1, with_files)))
    if levels == 0:
        return '"flat"'
    width = round((files / each) ** (1 / levels))
    if levels == 1 or width < 2:
        return f"{{ per_directory = {each} }}"
    return f"{{ tree = {width}, depth = {levels} }}"


def _partly(survey: TreeSurvey) -> str:
    return "" if survey.is_whole else " (not all of it)"


_PHASES = (
    "",
    "# Nothing is in memory at the start.",
    "[[phase]]",
    'name = "read"',
    'title = "read whole files, ${workers} workers"',
    'before = ["sync", { evict = "surveyed" }]',
    'seconds = "${phase_seconds}"',
    "[[phase.job]]",
    'workers = "${workers}"',
    'timed = ["read-file"]',
    "[[phase.job.loop]]",
    'group = "read-file"',
    "actions = [",
    '    { op = "open", set = "surveyed", pick = "random", slot = 0 },',
    '    { op = "read", slot = 0, access = "whole", size = "128KiB" },',
    '    { op = "close", slot = 0 },',
    "]",
    "",
    "# As many as the set has room for; then the phase ends.",
    "[[phase]]",
    'name = "create"',
    'title = "create files, no fsync, ${workers} workers"',
    'seconds = "${phase_seconds}"',
    "[[phase.job]]",
    'workers = "${workers}"',
    'timed = ["create-file"]',
    "[[phase.job.loop]]",
    'group = "create-file"',
    "actions = [",
    '    { op = "create", name = "open-new", set = "new", slot = 0 },',
    '    { op = "write", slot = 0, access = "whole", size = "128KiB" },',
    '    { op = "close", slot = 0 },',
    "]",
)
