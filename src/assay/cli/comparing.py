"""Share options and output between the commands that compare."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.pipes import echo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.analysis.difference import Difference
    from assay.analysis.two_sizes import SizePair
    from assay.compare.arms import Arm
    from assay.compare.comparison import Comparison
    from assay.compare.gate import Gate, Gated
    from assay.compare.surfaces.questions import Questions

Effect = Annotated[
    float,
    typer.Option(
        "--effect", metavar="PERCENT", help="Smallest difference that matters, in percent.", min=0.01, max=1000
    ),
]
Gates = Annotated[
    list[str] | None,
    typer.Option(
        "--gate",
        metavar="BOUND",
        help="Exit with 1 unless proven, such as '[LABEL:] iops >= -3 %'.",
    ),
]
AllowUndecided = Annotated[
    bool, typer.Option("--allow-undecided", help="Exit with 0 if a gate needs more runs to be decided.")
]
Headline = Annotated[
    str | None,
    typer.Option(
        "--headline",
        metavar="LABEL",
        help="Test rows whose label matches separately from the others.",
    ),
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]

Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write one HTML file that needs no network.")]
Charts = Annotated[
    Path | None, typer.Option("--charts", metavar="DIR", help="Write each figure as a picture into this directory.")
]
Pictures = Annotated[Literal["png", "svg"], typer.Option("--format", help="Format of pictures.")]
Xlsx = Annotated[
    Path | None, typer.Option("--xlsx", metavar="FILE", help="Write a workbook: summary, values, facts, runs.")
]


@dataclass(frozen=True)
class ComparisonFiles:
    """Files to write."""

    html: Path | None
    charts: Path | None
    pictures: Literal["png", "svg"]
    xlsx: Path | None

    def check(self, sides: int) -> None:
        """Check before the work that the files can be written; raises InputError and RunError."""
        from assay.report.output import check_file, check_place
        from assay.report.stack import check_stack

        for path in (self.html, self.xlsx):
            if path is not None:
                check_file(path)
        if self.charts is not None:
            check_place(self.charts.parent)
        if self.html is not None or self.charts is not None:
            check_stack()
        if self.is_any:
            from assay.report.comparison.compared_runs import check_sides

            check_sides(sides)

    @property
    def is_any(self) -> bool:
        """Whether any file is to be written."""
        return any(path is not None for path in (self.html, self.charts, self.xlsx))

    def write(
        self, found: "Comparison", arms: "Sequence[Arm]", gated: "Sequence[Gated]", runs: Path | None
    ) -> "Iterator[Path]":
        """Write them, and give their paths."""
        if not self.is_any:
            return
        from assay.bundle.damage import report_damage

        with report_damage(Path("one of the runs that are compared")):
            yield from self._written(found, arms, gated, runs)

    def _written(
        self, found: "Comparison", arms: "Sequence[Arm]", gated: "Sequence[Gated]", runs: Path | None
    ) -> "Iterator[Path]":
        from assay.report.comparison.compared_runs import read_sides

        sides = read_sides(arms, runs, on_run=lambda number, of: _show_progress(f"reading run {number} of {of}"))
        _show_progress("drawing")
        if self.html is not None:
            from assay.report.comparison.comparison_page import write_comparison

            yield write_comparison(found, sides, gated, self.html)
        if self.xlsx is not None:
            from assay.report.comparison.comparison_workbook import write_comparison_workbook

            yield write_comparison_workbook(found, sides, self.xlsx)
        if self.charts is not None:
            from assay.report.comparison.comparison_figures import comparison_figures
            from assay.report.export import PictureFormat, write_pictures

            yield from write_pictures(comparison_figures(found, sides), self.charts, PictureFormat(self.pictures))


def _show_progress(words: str) -> None:
    """Show progress on one line of a terminal; an empty text removes it."""
    import sys

    from assay.live.progress_line import ProgressLine

    ProgressLine(sys.stderr).show(words)


Regions = Annotated[
    list[str] | None,
    typer.Option(
        "--region",
        metavar="BOX",
        help="Sum up cells of surfaces: 'sweet: file<=2M & record<=32K'.",
    ),
]
FileWeights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="W",
        help="Weights of file sizes: '64K:0.5,1M:0.5', or a file of them.",
    ),
]
Ceiling = Annotated[
    str | None,
    typer.Option(
        "--ceiling",
        metavar="RATE",
        help="Exclude cells of surfaces above this rate, such as 640MB/s.",
    ),
]


def asked_of_surfaces(regions: list[str] | None, weights: str | None, ceiling: str | None) -> "Questions":
    """Read the options for surfaces; raises InputError."""
    from assay.compare.surfaces.questions import Questions
    from assay.compare.surfaces.region import MOST_REGIONS, parse_region, parse_weights
    from assay.errors import InputError
    from assay.input_text import read_text
    from assay.units import parse_transfer_rate

    if len(regions or ()) > MOST_REGIONS:
        raise InputError(f"--region: these are more than {MOST_REGIONS}")
    spread = None
    if weights is not None:
        # A colon parts a size from its share; what has none is the name of a file.
        is_inline = ":" in weights and not os.path.isfile(weights)  # noqa: PTH113 - one that is too long is no name
        try:
            text = weights if is_inline else read_text(weights, "weights")
        except FileNotFoundError as error:
            raise InputError(
                f"--weights: there is no file '{weights}', and it is no list such as 64K:0.5,1M:0.5"
            ) from error
        spread = parse_weights(text, "--weights" if is_inline else weights)
    return Questions(
        regions=tuple(parse_region(text) for text in regions or ()),
        weights=spread,
        ceiling_bytes_per_s=None if ceiling is None else parse_transfer_rate(ceiling),
    )


def surveyed(found: "Comparison", arms: "Sequence[Arm]", questions: "Questions", runs: Path | None) -> "Comparison":
    """Add the surfaces; the sizes are those of the first run of each side, where all have the same."""
    from dataclasses import replace

    from assay.compare.surfaces.survey import with_surfaces

    by_side = [_places(arm, runs) for arm in arms]
    same = {label: pair for label, pair in by_side[0].items() if all(side.get(label) == pair for side in by_side)}
    return with_surfaces(found, arms, replace(questions, places=same))


def _places(arm: "Arm", runs: Path | None) -> "dict[str, SizePair]":
    """Return the place of each result of the first run: from its Plan, or from the output of another tool."""
    from assay.analysis.imported import imported_size_pairs
    from assay.analysis.two_sizes import size_pairs
    from assay.bundle.catalog import open_run
    from assay.bundle.damage import report_damage

    first = open_run(arm.documents[0].run.bundle, runs)
    with report_damage(first.path):
        original = first.original()
        return size_pairs(first.plan) if original is None else imported_size_pairs(original)


def check_answered(found: "Comparison", questions: "Questions") -> None:
    """Raise InputError if an option is for surfaces and there are none."""
    from assay.errors import InputError

    if questions.is_any and not any(against.surfaces for against in found.against):
        raise InputError(
            "--region, --weights and --ceiling are of surfaces: a test with three file or record sizes and more that both"
            " sides have, such as of 'assay iozone -a'; these runs have none"
        )


def print_comparison(
    found: "Comparison",
    arms: "Sequence[Arm]",
    gates: "Sequence[Gate]",
    *,
    allow_undecided: bool,
    json: bool,
    markdown: bool,
    files: ComparisonFiles,
    runs: Path | None,
) -> int:
    """Print a comparison, write its files, and give the exit code.

    It is 1 where a gate is violated, and unless `allow_undecided` where one is undecided.
    """
    from assay.compare.gate import GateState, check_gates
    from assay.outward import json_text
    from assay.report import comparison_text

    gated = check_gates(gates, found)
    _check_headline(found)
    if json:
        import msgspec

        echo(json_text(msgspec.json.format(msgspec.json.encode(found), indent=2).decode()))
    else:
        write = comparison_text.markdown if markdown else comparison_text.lines
        differ = [_differences(arms[0], arm, runs) for arm in arms[1:]]
        echo("\n".join(write(found, differ, gated)).rstrip("\n"))
    for path in files.write(found, arms, gated, runs):
        _show_progress("")
        echo(path, err=json or markdown)
    failing = {GateState.VIOLATED} if allow_undecided else {GateState.VIOLATED, GateState.UNDECIDED}
    return int(any(one.state in failing for one in gated))


def _check_headline(found: "Comparison") -> None:
    """Raise InputError where no label matches the headline."""
    from fnmatch import fnmatchcase

    from assay.errors import InputError

    labels = sorted({row.label for against in found.against for row in against.rows})
    if found.headline is not None and not any(fnmatchcase(label, found.headline) for label in labels):
        raise InputError(
            f"--headline '{found.headline}': no result has that label; there are {', '.join(labels) or 'none'}"
        )


def _differences(a: "Arm", b: "Arm", runs: Path | None) -> "tuple[Difference, ...]":
    """Describe which facts and Plan fields differ between the first runs of the sides."""
    from assay.analysis.difference import diff_runs
    from assay.bundle.catalog import open_run
    from assay.bundle.damage import report_damage

    if a.is_foreign or b.is_foreign:  # nobody recorded what it was, nor on what machine
        return ()
    one, other = (open_run(arm.documents[0].run.bundle, runs) for arm in (a, b))
    with report_damage(other.path):
        return diff_runs(one.plan, one.facts, other.plan, other.facts)
