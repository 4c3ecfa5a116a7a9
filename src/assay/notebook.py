"""Load runs and comparisons in a notebook or script: `assay.load("last")`, `assay.compare("tag:before", "tag:after")`.

Tables are polars frames with the columns and units of `assay export` (docs/reference/tables.md). Charts show themselves in
Jupyter, and are Vega-Lite for all else. What is wrong is an `AssayError`, with the words that the command line has for it.
"""

import base64
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from assay.analysis.histogram import shares_at_most
from assay.analysis.record import RunRecord, read
from assay.analysis.set_views import sums_of
from assay.bundle.catalog import open_run, resolve, runs_directory
from assay.bundle.damage import report_damage
from assay.bundle.run_sets import run_set
from assay.claims.expected import expected_document
from assay.compare.arms import Arm
from assay.compare.comparison import DEFAULT_EFFECT, Comparison, Row
from assay.compare.comparison import compare as compare_arms
from assay.errors import InputError, RunError
from assay.report import vega_lite
from assay.report.clients.own_recordings import OwnRecordings
from assay.report.comparison.compared_runs import ComparedSide, letter_of, read_sides
from assay.report.comparison.comparison_figures import comparison_figures
from assay.report.comparison.comparison_page import write_comparison
from assay.report.comparison.comparison_words import answer_lines, reason_text
from assay.report.comparison.comparison_workbook import comparison_sheets, write_comparison_workbook
from assay.report.export import PictureFormat, all_figures, render
from assay.report.figure import Figure
from assay.report.html import write_html
from assay.report.kept_answers import kept_answer
from assay.report.output import write_whole
from assay.report.run_workbook import write_run_workbook
from assay.report.sections import fact_value
from assay.report.spreadsheets import over_time_table, results_table
from assay.report.titles import titles_of
from assay.report.verdict import trust_reasons
from assay.report.workbook import Sheet
from assay.results import Document, Result

if TYPE_CHECKING:
    import altair as alt

_VEGA_LITE = f"application/vnd.vegalite.v{vega_lite.VERSION.split('.', maxsplit=1)[0]}+json"
_COMPARED = Path("one of the runs that are compared")
"""Names the run in messages about a damaged one."""
_SERIES = ("latency", "response")
_VERDICTS = {
    "label": pl.String(), "title": pl.String(), "trust": pl.String(), "reasons": pl.String(), "measures": pl.String(),
    "limiter": pl.String(), "limiter_confidence": pl.String(), "steady": pl.String(), "cache": pl.String(),
}  # fmt: skip
_LATENCY = {"low_ns": pl.Int64(), "high_ns": pl.Int64(), "ops": pl.Int64(), "share_at_most": pl.Float64()}


class Drawing:
    """A chart: it shows itself in Jupyter."""

    def __init__(self, figure: Figure) -> None:
        """Show a figure."""
        self._figure = figure
        self.title = figure.title
        self.words = figure.alt_text
        """What it shows, for those who cannot see it."""

    @property
    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification, with its data in it."""
        return self._figure.chart.to_dict()

    @property
    def table(self) -> pl.DataFrame:
        """Its numbers, printed as people read them."""
        shown = self._figure.table
        return pl.DataFrame(
            [list(row) for row in shown.rows], schema=dict.fromkeys(shown.columns, pl.String()), orient="row"
        )

    def altair(self) -> "alt.LayerChart":
        """Give it as a chart of Altair, to change it; raises RunError where Altair is not installed."""
        try:
            import altair as alt  # noqa: PLC0415 - who changes no chart does without it
        except ModuleNotFoundError as missing:
            raise RunError("chart: Altair is not installed. Install it with: pip install altair") from missing
        return alt.LayerChart.from_dict(self.spec)

    def save(self, path: str | Path) -> Path:
        """Write it as `.png` or `.svg`, by the name, and give the path; raises InputError and RunError."""
        file = Path(path)
        try:
            picture = PictureFormat(file.suffix.removeprefix("."))
        except ValueError as error:
            raise InputError(f"chart: '{file}' ends neither with .png nor with .svg") from error
        return write_whole(file, render(self._figure, picture))

    def __repr__(self) -> str:
        """Return a summary."""
        return f"<Drawing {self.title!r}>"

    def _repr_mimebundle_(self, **_wanted: object) -> dict[str, Any]:
        """Show it: Vega-Lite where the front end draws that, else a picture, else words."""
        shown: dict[str, Any] = {_VEGA_LITE: self.spec, "text/plain": self.words}
        try:
            if self._figure.is_dense:
                shown["image/png"] = base64.b64encode(render(self._figure, PictureFormat.PNG)).decode()
            else:
                shown["image/svg+xml"] = render(self._figure, PictureFormat.SVG).decode()
        except RunError:  # what draws is not installed
            return shown
        return shown


class LoadedRun:
    """A run: its tables, charts and verdicts. Everything is worked out when it is first asked for."""

    def __init__(self, folder: Path, runs: Path) -> None:
        """Read nothing yet."""
        self._folder, self._runs = folder, runs

    @property
    def id(self) -> str:
        """By which it is found again."""
        return self._folder.name

    @functools.cached_property
    def record(self) -> RunRecord:
        """What was recorded; raises BundleError where the run is damaged."""
        bundle = open_run(str(self._folder), self._runs)
        with report_damage(bundle.path):
            return read(bundle)

    @functools.cached_property
    def document(self) -> Document:
        """What `assay show --json` prints; raises BundleError where the run is damaged."""
        if kept := kept_answer(self._folder, self._runs):
            return kept.document
        with report_damage(self._folder):
            return expected_document(self.record)

    @property
    def labels(self) -> tuple[str, ...]:
        """Of its results: what `timeline` and `latency` take."""
        return tuple(result.label for result in self.document.results)

    @property
    def results(self) -> pl.DataFrame:
        """A row a result, as `results.csv` of `assay export`."""
        return results_table(self.document)

    @property
    def verdicts(self) -> pl.DataFrame:
        """A row a result, of several clients a sum: may it be trusted, what is it of, what limits it, is it steady."""
        results = sums_of(self.document).results
        rows = [_verdict(title, result) for title, result in zip(titles_of(results), results, strict=True)]
        return pl.DataFrame(rows, schema=_VERDICTS, orient="row")

    @property
    def facts(self) -> pl.DataFrame:
        """A row a fact of the machine and the storage, with its source."""
        rows = [(fact.key, _text(fact.value), fact.source) for fact in self.record.sourced_facts]
        return pl.DataFrame(rows, schema=dict.fromkeys(("fact", "value", "source"), pl.String()), orient="row")

    def timeline(self, label: str) -> pl.DataFrame:
        """Give a row an interval of a result, as `over_time.csv` of `assay export`; raises InputError: no such label."""
        result = self._result(label)
        return over_time_table(self._recordings.of(result), self.id, result)

    def latency(self, label: str, series: str = "latency") -> pl.DataFrame:
        """Give the distribution in the window of a result, a row a bucket of the histogram.

        Args:
            label: One of `labels`.
            series: `latency`, or `response` of an open loop.

        Returns:
            `low_ns` and `high_ns`, between which `ops` operations took, and which share took at most `high_ns`; no rows
            where nothing was recorded.

        Raises:
            InputError: there is no such label or series.
        """
        if series not in _SERIES:
            raise InputError(f"latency: '{series}' is none of {', '.join(_SERIES)}")
        result = self._result(label)
        found = self._recordings.of(result).latencies(result, series)
        if found is None or result.window_s is None:
            return pl.DataFrame(schema=_LATENCY)
        inside = found.in_window(result.window_s)
        half = (found.width_ns[inside] - 1) / 2
        rows = pl.DataFrame(
            {
                "low_ns": found.value_ns[inside] - half,
                "high_ns": found.value_ns[inside] + half,
                "ops": found.count[inside],
            }
        )
        summed = rows.group_by("low_ns", "high_ns").agg(pl.col("ops").sum()).sort("low_ns")
        share = pl.Series(shares_at_most(summed["ops"].to_numpy()))
        return summed.with_columns(share_at_most=share).cast(pl.Schema(_LATENCY))

    @functools.cached_property
    def charts(self) -> Mapping[str, Drawing]:
        """Every chart of the report, by its name."""
        with report_damage(self._folder):
            return _drawings(all_figures(self.record, self.document))

    def save_html(self, path: str | Path) -> Path:
        """Write the report, and give the path; raises InputError and RunError."""
        with report_damage(self._folder):
            return write_html(self.record, self.document, Path(path))

    def save_xlsx(self, path: str | Path) -> Path:
        """Write a workbook, and give the path; raises InputError and RunError."""
        return write_run_workbook(self.record, self.document, Path(path))

    def compare(self, other: "Side", *, effect: float = DEFAULT_EFFECT) -> "LoadedComparison":
        """Hold another side against this run, as `assay.compare(self, other)` does."""
        return compare(self, other, effect=effect, runs=self._runs)

    def __repr__(self) -> str:
        """Name it."""
        return f"<LoadedRun {self.id!r}>"

    @functools.cached_property
    def _recordings(self) -> OwnRecordings:
        return OwnRecordings(self.record)

    def _result(self, label: str) -> Result:
        for result in self.document.results:
            if result.label == label:
                return result
        raise InputError(f"run {self.id} has no result '{label}'; it has: {', '.join(self.labels) or 'none'}")


Side = str | LoadedRun | Sequence[str | LoadedRun]
"""Of a comparison: a run, several, or what `assay compare` takes: `last,last~1`, `tag:NAME`."""


class LoadedComparison:
    """A comparison: its answer, tables and charts."""

    def __init__(self, comparison: Comparison, arms: Sequence[Arm], runs: Path) -> None:
        """Draw nothing yet."""
        self.comparison = comparison
        """All of it, as `assay compare --json` prints it."""
        self._arms, self._runs = arms, runs

    @property
    def answer(self) -> tuple[str, ...]:
        """What is better by how much, or why there is no verdict, in sentences."""
        return tuple(
            itertools.chain.from_iterable(
                answer_lines(self.comparison, against, letter_of(place))
                for place, against in enumerate(self.comparison.against, 1)
            )
        )

    @property
    def rows(self) -> pl.DataFrame:
        """A row a number: medians, ratio with its 95 % interval, verdict. Rates a second, latencies in nanoseconds."""
        rows = [row for place, against in enumerate(self.comparison.against, 1) for row in _rows(place, against.rows)]
        return pl.DataFrame(rows, schema=_ROWS, orient="row")

    @property
    def values(self) -> pl.DataFrame:
        """A row a measurement of a result that was compared."""
        return self._sheet("Values")

    @property
    def differences(self) -> pl.DataFrame:
        """A row a field of the Plan or fact of the machine that differs, of the first run of each side."""
        return self._sheet("What differs")

    @functools.cached_property
    def charts(self) -> Mapping[str, Drawing]:
        """Every chart of the comparison's page, by its name."""
        with report_damage(_COMPARED):
            return _drawings(comparison_figures(self.comparison, self._sides))

    def save_html(self, path: str | Path) -> Path:
        """Write the page, and give the path; raises InputError and RunError."""
        with report_damage(_COMPARED):
            return write_comparison(self.comparison, self._sides, (), Path(path))

    def save_xlsx(self, path: str | Path) -> Path:
        """Write a workbook, and give the path; raises InputError and RunError."""
        return write_comparison_workbook(self.comparison, self._sides, Path(path))

    def __repr__(self) -> str:
        """Give the answer."""
        return "\n".join(self.answer)

    @functools.cached_property
    def _sides(self) -> tuple[ComparedSide, ...]:
        return read_sides(self._arms, self._runs)

    def _sheet(self, name: str) -> pl.DataFrame:
        sheet = next(sheet for sheet in comparison_sheets(self.comparison, self._sides) if sheet.name == name)
        return _frame(sheet)


_ROWS = {
    "side": pl.String(), "label": pl.String(), "title": pl.String(), "metric": pl.String(), "unit": pl.String(),
    "a_median": pl.Float64(), "a_runs": pl.Int64(), "b_median": pl.Float64(), "b_runs": pl.Int64(),
    "ratio": pl.Float64(), "ratio_low": pl.Float64(), "ratio_high": pl.Float64(), "p": pl.Float64(),
    "verdict": pl.String(), "reason": pl.String(),
}  # fmt: skip


def load(run: str | Path = "last", *, runs: str | Path | None = None) -> LoadedRun:
    """Find a run.

    Args:
        run: Its folder, id, any part of one id alone, its name, `last`, or `last~1` for the one before.
        runs: Where runs are kept; None: where the command line keeps them.

    Raises:
        InputError: there is no such run.
    """
    place = _place(runs)
    return LoadedRun(resolve(str(run), place), place)


def compare(
    a: Side, b: Side, *more: Side, effect: float = DEFAULT_EFFECT, runs: str | Path | None = None
) -> LoadedComparison:
    """Compare runs, or sets of runs, the others with the first.

    Args:
        a: The side that the others are held against.
        b: Another.
        more: Further ones.
        effect: Difference that matters, as a share: 0.03 is 3 %.
        runs: Where runs are kept; None: where the command line keeps them.

    Raises:
        InputError: a run is not there, two sides are the same, or the effect is not above 0.
        BundleError: a run is damaged.
    """
    if not 0 < effect < 1:
        raise InputError(f"compare: effect is {effect:g}; it is a share above 0 and below 1, such as 0.03")
    place = _place(runs)
    arms = [_arm(side, place) for side in (a, b, *more)]
    if len({arm.name for arm in arms}) < len(arms):
        raise InputError("compare: two sides are the same; the ratio of a thing to itself is 1")
    return LoadedComparison(compare_arms(arms, effect), arms, place)


def _place(runs: str | Path | None) -> Path:
    return runs_directory(None if runs is None else Path(runs))


def _arm(side: Side, runs: Path) -> Arm:
    if isinstance(side, str):
        return Arm.of(side, [load(run, runs=runs).document for run in run_set(side, runs)])
    members: Iterable[str | LoadedRun] = (side,) if isinstance(side, LoadedRun) else side
    found = [member if isinstance(member, LoadedRun) else load(member, runs=runs) for member in members]
    if not found:
        raise InputError("compare: a side has no runs")
    return Arm.of(",".join(run.id for run in found), [run.document for run in found])


def _drawings(figures: Iterable[Figure]) -> dict[str, Drawing]:
    return {figure.slug: Drawing(figure) for figure in figures}


def _verdict(title: str, result: Result) -> tuple[str | None, ...]:
    limiter, steady = result.limiter, result.steady
    return (
        result.label, title, result.trust.level.value, trust_reasons(result), result.measures.value,
        limiter.verdict.value if limiter else None, limiter.confidence.value if limiter else None,
        steady.verdict.value if steady else None, result.cache.verdict,
    )  # fmt: skip


def _rows(place: int, rows: Iterable[Row]) -> Iterator[tuple[object, ...]]:
    for row in rows:
        low, high = row.interval or (None, None)
        yield (
            letter_of(place), row.label, row.title, row.metric, row.unit, row.a.median, len(row.a.values), row.b.median,
            len(row.b.values), row.ratio, low, high, row.p, row.verdict.value, reason_text(row, letter_of(place)),
        )  # fmt: skip


def _frame(sheet: Sheet) -> pl.DataFrame:
    columns = {name: [row[i] for row in sheet.rows] for i, name in enumerate(sheet.columns)}
    return pl.DataFrame(columns, strict=False)


def _text(value: object) -> str | None:
    return None if value is None else fact_value(value)
