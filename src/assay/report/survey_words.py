"""A survey in words and cells, for the terminal and the page."""

from collections.abc import Callable, Iterator

from assay.surveys.content_found import ContentEstimate, EstimateOfFiles
from assay.surveys.tree_survey import AgeClassCount, NotSurveyed, TreeSurvey, ValueSpread
from assay.units import BYTES_PER_UNIT, KIB, format_bytes, format_seconds, format_share

Cells = dict[str, str]
_MOST_ROWS = 14
_SHOWN_PERCENTAGES = (1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0)


def head_lines(survey: TreeSurvey) -> Iterator[str]:
    """Describe the tree in a few lines."""
    found = survey.summary
    kinds = ", ".join(
        _counted(count, word)
        for count, word in (
            (found.files, "file"),
            (found.directories, "director"),
            (found.links, "symbolic link"),
            (found.others, "other"),
        )
        if count or word == "file"
    )
    yield f"{kinds}, in {format_seconds(survey.wall_s)}."
    if not found.files:
        return
    median = dict(found.sizes.by_number)[50.0]
    yield (
        f"At least half of the files are {format_size(median)} or smaller; the mean is {format_bytes(found.sizes.mean)}."
    )
    if found.bytes:
        yield f"At least half of the bytes are in files of {format_size(dict(found.sizes.by_sum)[50.0])} or smaller."
    yield f"Sizes add up to {format_bytes(found.bytes)}; {format_bytes(found.allocated_bytes)} are allocated."
    if found.hard_linked_files:
        yield (
            f"{_counted(found.hard_linked_files, 'name')} of files with several names; with each file counted once, "
            f"sizes add up to {format_bytes(found.bytes_once)}."
        )
    if found.sparse_files:
        files = _counted(found.sparse_files, "file")
        yield f"{files} with fewer bytes allocated than the size: sparse, compressed or inline."


def percentile_rows(sizes: ValueSpread) -> list[Cells]:
    """Give a row for each percentile: of files by number, and by the bytes in them."""
    by_sum = dict(sizes.by_sum)
    return [
        {
            "percentile": f"{percent:g} %",
            "by number": format_size(value),
            "by bytes": format_size(by_sum[percent]) if percent in by_sum else "",
        }
        for percent, value in sizes.by_number
        if percent in _SHOWN_PERCENTAGES
    ]


def size_class_rows(survey: TreeSurvey) -> list[Cells]:
    """Give a row for each class of sizes that has files."""
    found = survey.summary
    rows: list[Cells] = []
    files = size = allocated = below = 0
    last = max((number for number, one in enumerate(found.size_classes) if one.files), default=-1)
    for number, one in enumerate(found.size_classes[: last + 1]):
        files, size, allocated = files + one.files, size + one.bytes, allocated + one.allocated_bytes
        if not (number == last or one.up_to_bytes == 0 or _is_shown(one.up_to_bytes)):
            continue
        below += files
        if files:
            rows.append(
                {
                    "size up to": format_size(one.up_to_bytes),
                    "files": f"{files:,}",
                    "share": format_share(files / found.files),
                    "cumulative": format_share(below / found.files),
                    "bytes": format_bytes(size),
                    "of bytes": format_share(size / found.bytes if found.bytes else None),
                    "allocated": format_bytes(allocated),
                }
            )
        files = size = allocated = 0
    return rows


def age_rows(survey: TreeSurvey) -> list[Cells]:
    """Give a row for each class of ages: by change and by access."""
    found = survey.summary
    classes = max(len(found.modified), len(found.accessed))
    rows = []
    for number in range(classes):
        changed, read = _at(found.modified, number), _at(found.accessed, number)
        known = changed or read
        if known is None or not ((changed and changed.files) or (read and read.files)):
            continue
        rows.append(
            {
                "age": age_words(known),
                "changed": format_share(_share(changed, found.files)),
                "bytes changed": format_bytes(changed.bytes if changed else 0),
                "accessed": format_share(_share(read, found.files)),
                "bytes accessed": format_bytes(read.bytes if read else 0),
            }
        )
    return rows


def depth_rows(survey: TreeSurvey) -> list[Cells]:
    """Give a row for each level; of many the last have one row."""
    found = survey.summary
    levels = list(enumerate(found.depths))
    shown = [(str(depth), one.files, one.directories) for depth, one in levels[:_MOST_ROWS]]
    if rest := [one for _, one in levels[_MOST_ROWS:]]:
        shown.append(
            (f"{_MOST_ROWS} to {len(levels) - 1}", sum(r.files for r in rest), sum(r.directories for r in rest))
        )
    return [
        {"depth": depth, "files": f"{files:,}", "directories": f"{directories:,}"}
        for depth, files, directories in shown
    ]


def entries_line(survey: TreeSurvey) -> str:
    """Describe how many entries directories have; empty: none was read."""
    entries = survey.summary.entries
    at = dict(entries.by_number)
    if entries.mean is None or not at:
        return ""
    return (
        f"Entries per directory: mean {entries.mean:,.1f}, median {at[50.0]:,}, p90 {at[90.0]:,}, p99 {at[99.0]:,}, "
        f"most {at[100.0]:,}."
    )


def content_lines(content: ContentEstimate | None) -> Iterator[str]:
    """Describe what was found in the files that were looked into."""
    if content is None:
        return
    ratio, extents, cut = content.compression_ratio, content.extents_per_file, content.fragmented_share
    if ratio is not None:
        between = _between(ratio, lambda value: f"{value:.2f}")
        yield f"Compression by zlib level 1: {ratio.value:.2f} : 1{between}, from blocks of {_counted(ratio.files, 'file')}."
    if extents is not None and cut is not None:
        yield (
            f"Extents per file: mean {extents.value:.2f}{_between(extents, lambda value: f'{value:.2f}')}; "
            f"{format_share(cut.value)} of files have more than one, from {_counted(extents.files, 'file')}."
        )
    if content.not_read:
        yield (
            f"Not looked into: {_counted(content.not_read, 'chosen file')} that could not be read, or that have no block "
            "on storage."
        )


def _between(estimate: EstimateOfFiles, spell: Callable[[float], str]) -> str:
    if estimate.interval is None:
        return " (too few files for an interval)"
    low, high = map(spell, estimate.interval)
    return f" (95 % interval {low} to {high})"


def basis_lines(survey: TreeSurvey) -> Iterator[str]:
    """State what the figures are of."""
    sizes = survey.summary.sizes
    if sizes.is_exact:
        yield f"Percentiles of size are exact: all {sizes.distinct:,} different sizes were counted."
    else:
        yield (
            "Percentiles of size are lower bounds, and true ones are up to "
            f"{format_share(sizes.bound)} above: there are too many different sizes to count each."
        )
    yield "A file with several names counts at each of them; links are not followed."


def survey_warnings(survey: TreeSurvey, *, is_resumable: bool = False) -> Iterator[str]:
    """State what is missing."""
    found = survey.summary
    if survey.directories_left:
        more = "go on with --resume" if is_resumable else "with -o FILE.json it can be resumed"
        yield f"Stopped: {_counted(survey.directories_left, 'known director')} left; this is no count of the tree ({more})."
    for part, word, what in (
        (found.unreadable, "director", "could not be read"),
        (found.unseen, "name", "could not be looked at"),
        (found.left_out, "director", "left out: more waited, or they lay deeper, than the survey has memory for"),
    ):
        if part.count:
            yield f"{_counted(part.count, word)} {what}{_named(part)}."
    if found.vanished:
        yield f"{_counted(found.vanished, 'name')} vanished, or changed kind, during the survey."


def mounts_line(survey: TreeSurvey) -> str:
    """Name the file systems that were not surveyed; empty: there is none."""
    mounts = survey.summary.mounts
    if not mounts.count:
        return ""
    return f"{_counted(mounts.count, 'mount')} not crossed ({_first(mounts)}); --cross-mounts surveys them too."


def format_size(size_bytes: int) -> str:
    """Print a size so that powers of two are short: `64 KiB`, `1.50 GiB`, `0 B`."""
    for unit, factor in reversed(BYTES_PER_UNIT.items()):
        if size_bytes >= factor and size_bytes % factor == 0 and size_bytes // factor < KIB:
            return f"{size_bytes // factor} {unit}"
    return format_bytes(size_bytes)


def age_words(one: AgeClassCount) -> str:
    """Name a class of ages."""
    if one.up_to_days is None:
        return "older"
    if one.up_to_days == 0:
        return "in the future"
    years, days = divmod(one.up_to_days, 365)
    if years and not days:
        return f"up to {years} year{'s' * (years > 1)}"
    return f"up to {one.up_to_days} day{'s' * (one.up_to_days > 1)}"


def _is_shown(bound: int) -> bool:
    return bound >= 4 * KIB and (bound.bit_length() - 1) % 2 == 0


def _at(classes: tuple[AgeClassCount, ...], number: int) -> AgeClassCount | None:
    return classes[number] if number < len(classes) else None


def _share(one: AgeClassCount | None, files: int) -> float:
    return one.files / files if one is not None and files else 0.0


def _counted(count: int, word: str) -> str:
    """Count things: `1 directory`, `2 directories`; words that end in `director` get their ending."""
    ending = ("y" if count == 1 else "ies") if word.endswith("director") else "s" * (count != 1)
    return f"{count:,} {word}{ending}"


def _named(part: NotSurveyed) -> str:
    return f" ({_first(part)})" if part.first else ""


def _first(part: NotSurveyed, most: int = 3) -> str:
    names = [f"{path}: {reason}" for path, reason in part.first[:most]]
    more = part.count - len(names)
    return "; ".join(names) + (f"; and {more:,} more" if more else "")
