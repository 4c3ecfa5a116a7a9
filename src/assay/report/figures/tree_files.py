"""Draw a survey: how many files have which size, how many bytes are in them, and the files by age and by depth."""

from collections.abc import Iterator, Sequence

from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, records
from assay.report.figure import Figure, Table
from assay.report.survey_words import age_words, format_size
from assay.surveys.tree_survey import SizeClassCount, TreeSurvey
from assay.units import format_bytes, format_share

HEIGHT_PX = 220
_BAR_PX = 22.0
_MOST_LEVELS = 24
_FILES, _BYTES = "share of files", "share of bytes"
_CHANGED, _READ = "by change", "by access"


def draw(survey: TreeSurvey) -> Iterator[Figure]:
    """Draw what there is; nothing of a tree without files."""
    if survey.summary.files:
        yield _histogram(survey)
        yield _cumulative(survey)
        yield _ages(survey)
        yield _depths(survey)


def _histogram(survey: TreeSurvey) -> Figure:
    classes = _met(survey)
    rows = [row for one in classes for row in _shares(survey, one, one.files, one.bytes)]
    return Figure(
        slug="size-classes",
        title="Files and bytes by size",
        caption="Each bar is a power of two: files above the size before it, up to its own.",
        alt_text=f"Two bars for each of {len(classes)} classes of sizes: the share of files and of bytes.",
        chart=Layered([_bars(rows, "size", "size up to", [_FILES, _BYTES])], HEIGHT_PX),
        table=Table(
            ("Size up to", "files", "share", "bytes", "share of bytes", "allocated"),
            tuple(
                (
                    format_size(one.up_to_bytes),
                    f"{one.files:,}",
                    format_share(one.files / survey.summary.files),
                    format_bytes(one.bytes),
                    format_share(one.bytes / max(survey.summary.bytes, 1)),
                    format_bytes(one.allocated_bytes),
                )
                for one in classes
            ),
        ),
    )


def _cumulative(survey: TreeSurvey) -> Figure:
    classes, rows = _met(survey), []
    files = size = 0
    for one in classes:
        files, size = files + one.files, size + one.bytes
        rows += _shares(survey, one, files, size)
    x = vl.X("size:N", title="size up to", sort=None, axis=vl.Axis(labelAngle=-45))
    y = vl.Y("share:Q", title="cumulative", axis=vl.Axis(format=".0%"), scale=vl.Scale(domain=[0, 1]))
    tooltip = [vl.Tooltip("size:N"), vl.Tooltip("of:N"), vl.Tooltip("share:Q", format=".1%")]
    line = (
        vl.Chart(records(rows)).mark_line(point=True).encode(x=x, y=y, color=_colour(_FILES, _BYTES), tooltip=tooltip)
    )
    return Figure(
        slug="size-so-far",
        title="Files and bytes up to a size",
        caption="Half of the files are no larger than where their line crosses 50 %.",
        alt_text="Two lines that rise to 100 %: the share of files, and of bytes, up to each size.",
        chart=Layered([line], HEIGHT_PX),
        table=Table(
            ("Size up to", "share of files", "share of bytes"),
            tuple(
                (str(of_files["size"]), format_share(_share(of_files)), format_share(_share(of_bytes)))
                for of_files, of_bytes in zip(rows[::2], rows[1::2], strict=True)
            ),
        ),
    )


def _ages(survey: TreeSurvey) -> Figure:
    found = survey.summary
    names = {age_words(one): 0 for one in (*found.modified, *found.accessed)}
    rows: list[dict[str, object]] = [
        {"age": age_words(one), "of": of, "share": one.files / found.files}
        for of, classes in ((_CHANGED, found.modified), (_READ, found.accessed))
        for one in classes
        if one.files
    ]
    return Figure(
        slug="ages",
        title="Files by age",
        caption="Since the content was changed, and since it was read as far as the file system records that.",
        alt_text="Bars: the share of files in each class of ages.",
        chart=Layered([_bars(rows, "age", "age", [_CHANGED, _READ], [*names])], HEIGHT_PX),
        table=Table(
            ("Age", "by", "share"), tuple((str(row["age"]), str(row["of"]), format_share(_share(row))) for row in rows)
        ),
    )


def _depths(survey: TreeSurvey) -> Figure:
    rows = [{"depth": depth, "files": one.files} for depth, one in enumerate(survey.summary.depths[: _MOST_LEVELS + 1])]
    chart = (
        vl.Chart(records(rows))
        .mark_bar(color=theme.MEASURED)
        .encode(
            x=vl.X("files:Q", title="files", axis=vl.Axis(tickCount=6), scale=vl.Scale(zero=True)),
            y=vl.Y("depth:O", title="depth"),
            tooltip=[vl.Tooltip("depth:O"), vl.Tooltip("files:Q", format=",")],
        )
    )
    return Figure(
        slug="depths",
        title="Files by depth",
        caption=f"Levels below the surveyed directory, which is at 0; drawn up to {_MOST_LEVELS}.",
        alt_text=f"A bar for each of {len(rows)} levels.",
        chart=Layered([chart], _BAR_PX * len(rows) + 20),
        table=Table(("Depth", "files"), tuple((str(row["depth"]), f"{row['files']:,}") for row in rows)),
    )


def _met(survey: TreeSurvey) -> Sequence[SizeClassCount]:
    """Give the classes from the first to the last that has files."""
    classes = survey.summary.size_classes
    first = next(number for number, one in enumerate(classes) if one.files)
    return classes[first:]


def _shares(survey: TreeSurvey, one: SizeClassCount, files: int, size: int) -> list[dict[str, object]]:
    found, name = survey.summary, format_size(one.up_to_bytes)
    return [
        {"size": name, "of": _FILES, "share": files / found.files},
        {"size": name, "of": _BYTES, "share": size / max(found.bytes, 1)},
    ]


def _bars(
    rows: list[dict[str, object]], field: str, title: str, kinds: list[str], order: list[str] | None = None
) -> vl.Chart:
    return (
        vl.Chart(records(rows))
        .mark_bar()
        .encode(
            x=vl.X(f"{field}:N", title=title, sort=order, axis=vl.Axis(labelAngle=-45)),
            xOffset=vl.X("of:N", sort=kinds),
            y=vl.Y("share:Q", title=None, axis=vl.Axis(format=".0%"), scale=vl.Scale(zero=True)),
            color=_colour(*kinds),
            tooltip=[vl.Tooltip(f"{field}:N"), vl.Tooltip("of:N"), vl.Tooltip("share:Q", format=".1%")],
        )
    )


def _colour(*kinds: str) -> vl.Color:
    return vl.Color("of:N", title=None, sort=None, scale=vl.Scale(domain=[*kinds], range=[*theme.SERIES][: len(kinds)]))


def _share(row: dict[str, object]) -> float:
    return float(str(row["share"]))
