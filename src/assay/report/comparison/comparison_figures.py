"""Draw all figures of a comparison, for the page and for `assay compare --charts`."""

from collections.abc import Iterator, Sequence

from assay.compare.comparison import Comparison
from assay.report.comparison import overlaid_percentiles, overlaid_rates, paired_heat_maps, ratio_plot
from assay.report.comparison.compared_runs import ComparedSide, letter_of, shared_labels, title_of
from assay.report.figure import Figure
from assay.report.surface_maps import surface_figures
from assay.report.titles import slug_of

MOST_DRAWN = 24
"""Results that are drawn one by one, the first ones."""
_POINTS_IN_ALL = 16_000
"""Over all lines of throughput, so that a page stays a file that can be mailed."""
_CELLS_IN_ALL = 24_000
"""Over all heat maps, as for the lines."""
_MOST_STEPS = 300
_MOST_CELLS = 2500


def ratio_figures(comparison: Comparison) -> Iterator[Figure]:
    """Draw the surfaces, where files by records were compared, and the ratios of each side."""
    yield from surface_figures(comparison)
    for place, against in enumerate(comparison.against, 1):
        yield from ratio_plot.draw(comparison, against, letter_of(place))


def drawn_labels(sides: Sequence[ComparedSide]) -> list[str]:
    """Give the labels of the results that have figures of their own: of which every side has something recorded."""
    recorded = [label for label in shared_labels(sides) if all(side.measured(label) for side in sides)]
    return recorded[:MOST_DRAWN]


def result_figures(sides: Sequence[ComparedSide], labels: Sequence[str], number: int) -> Iterator[Figure]:
    """Draw one result over all sides.

    Args:
        sides: All of them.
        labels: Of all results that are drawn: they share the room.
        number: Place of the result among them.
    """
    label = labels[number]
    title, slug = title_of(sides, label), f"{number + 1:02d}-{slug_of(title_of(sides, label))}"
    lines = sum(len(side.measured(each)) for side in sides for each in labels)
    steps = min(_POINTS_IN_ALL // max(lines, 1), _MOST_STEPS)
    cells = min(_CELLS_IN_ALL // (len(labels) * len(sides)), _MOST_CELLS)
    yield from overlaid_rates.draw(sides, label, title, slug, steps)
    yield from overlaid_percentiles.draw(sides, label, title, slug)
    yield from paired_heat_maps.draw(sides, label, title, slug, cells)


def comparison_figures(comparison: Comparison, sides: Sequence[ComparedSide]) -> Iterator[Figure]:
    """Draw everything: first the ratios, then result by result."""
    yield from ratio_figures(comparison)
    labels = drawn_labels(sides)
    for number in range(len(labels)):
        yield from result_figures(sides, labels, number)
