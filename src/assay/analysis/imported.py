"""Make the result document of an imported run: the figures of another tool in the same terms, and null for the rest.

None of its numbers is trusted. What the tool counts of one operation is taken as it is. A percentile needs as many
operations as one of Assay's (`histogram.py`), where the tool says how many there were.
"""

import datetime as dt
import hashlib
from collections.abc import Sequence

from assay import results
from assay.analysis import findings
from assay.analysis.cache import DIRECT
from assay.analysis.histogram import QUANTILES, samples_needed
from assay.analysis.labels import key_of, with_distinct_labels
from assay.analysis.record import RunRecord
from assay.analysis.two_sizes import SizePair
from assay.bundle.original import ORIGINAL, Original
from assay.decode.claim import Claim
from assay.decode.readers import read as read_output
from assay.decode.readers import result_table
from assay.decode.repeated_figures import by_place, place_of, runs_of
from assay.errors import MEASURED, NOT_TRUSTED, BundleError, InputError
from assay.results import Cache, Document, Efficiency, Finding, LatencyNs, Result, TimeBudget
from assay.time_zone import UTC_NAME, in_utc, zone_of
from assay.verdicts import ServedBy

_NO_BUDGET = TimeBudget(on_cpu=None, run_delay=None, block_delay=None, idle=None, other_wait=None)
_NO_COST = Efficiency(
    cpu_seconds_per_gib=None,
    bytes_per_cpu_second=None,
    calls_per_op=None,
    device_bytes_per_byte=None,
    joules_per_op=None,
    joules_per_gib=None,
)


def imported_document(run: RunRecord, original: Original) -> Document:
    """Compute it from the tool's text; raises BundleError where that cannot be read any more."""
    figures = _figures(original, str(run.path / ORIGINAL))
    measured_results = tuple(_results(figures, original))
    info = run.info
    return Document(
        schema=results.SCHEMA,
        run=results.Run(
            id=run.run_id,
            name=run.remarks.name,
            tags=run.remarks.tags,
            note=run.remarks.note,
            bundle=str(run.path),
            sealed=run.is_sealed,
            command=info.command,
            started_utc=info.started_utc,
            seconds=None,
            exit_code=NOT_TRUSTED if any(_is_unusable(result) for result in measured_results) else MEASURED,
            repeats=max((result.repeat for result in measured_results), default=0) + 1,
            foreign=_foreign(original, figures),
        ),
        ceilings=None,
        results=measured_results,
        findings=(),
    )


def _is_unusable(result: Result) -> bool:
    return bool(result.errors) or any(finding.severity == findings.INVALID for finding in result.findings)


def _foreign(original: Original, figures: Sequence[Claim]) -> results.ForeignSource:
    text = original.text.encode()
    versions = [figure.during.version for figure in figures if figure.during.version]
    measured = [figure.during.measured for figure in figures if figure.during.measured]
    name = original.timezone or UTC_NAME
    zone = _zone(name)
    times = [in_utc(time, zone) for time in measured]
    return results.ForeignSource(
        tool=tool_name(original),
        version=versions[0] if versions else None,
        machine=original.machine,
        measured_utc=min(times).isoformat(timespec="seconds").replace("+00:00", "Z") if times else None,
        assumed_zone=name if any(time.tzinfo is None for time in measured) else None,
        zone_is_given=original.timezone is not None,
        file=results.ForeignFile(
            name=original.file_name, kept_as=ORIGINAL, bytes=len(text), sha256=hashlib.sha256(text).hexdigest()
        ),
    )


def _zone(name: str) -> dt.tzinfo:
    """Give the zone that a run names; raises BundleError where this machine does not know it."""
    try:
        return zone_of(name)
    except InputError as error:
        raise BundleError(f"the times of this run are of a zone that cannot be read: {error}") from error


def tool_name(original: Original) -> str:
    """Name the tool that measured: of a table the one that it names, if it does."""
    if original.tool != result_table.NAME:
        return original.tool
    return result_table.tool_of(original.text) or original.tool


def imported_size_pairs(original: Original) -> dict[str, SizePair]:
    """Give the place of every result on a surface, by its label without the number of the repeat.

    Of several results in one place the first has it.

    Raises:
        BundleError: the text cannot be read any more.
    """
    found: dict[SizePair, str] = {}
    for same in by_place(_figures(original, original.file_name)):
        if (cell := same[0].cell) is not None:
            place = SizePair(cell.test, cell.file_bytes, cell.record_bytes)
            found.setdefault(place, key_of(place_of(same[0]), 0))
    return {label: place for place, label in found.items()}


# -- figures -----------------------------------------------------------------------------------------------------------


def _figures(original: Original, place: str) -> list[Claim]:
    try:
        _, found = read_output(original.text, original.file_name, original.tool)
    except InputError as error:
        raise BundleError(f"{place}: {error}") from error
    return [figure for figure in found if figure.during.machine == original.machine]


def _results(figures: Sequence[Claim], original: Original) -> tuple[Result, ...]:
    tool = tool_name(original)
    return with_distinct_labels(
        _result(figure, repeat, tool) for same in by_place(figures) for repeat, figure in enumerate(runs_of(same))
    )


# -- results -----------------------------------------------------------------------------------------------------------


def _result(figure: Claim, repeat: int, tool: str) -> Result:
    place = place_of(figure)
    found = findings.ranked(_findings(figure, tool))
    return Result(
        label=key_of(place, repeat),
        phase=place[0],
        title=figure.test,
        job=place[1] if len(place) > 2 else tool,
        operation=place[-1],
        target="",
        targets=(),
        client=None,
        repeat=repeat,
        workers=figure.workers,
        queue_depth=figure.queue_depth,
        ops=figure.ops,
        bytes=figure.moved_bytes,
        errors=figure.errors,
        seconds=figure.seconds,
        window_s=None,
        iops=figure.ops_per_s or None,
        iops_interval=None,
        throughput_bytes_per_s=figure.bytes_per_s or None,
        committed=None,
        measures=ServedBy.UNKNOWN,
        latency_ns=_latency(figure),
        latency_intervals_ns=None,
        response_ns=None,
        schedule=None,
        cpu_ns_per_op=None,
        time_budget=_NO_BUDGET,
        efficiency=_NO_COST,
        cache=Cache(
            condition=DIRECT if figure.is_direct else "unknown",
            hit_ratio=None,
            hit_ratio_of=None,
            resident_before=None,
            resident_after=None,
            verdict="unknown",
            method=None,
        ),
        device_bytes=None,
        steady=None,
        limiter=None,
        findings=found,
        trust=findings.trust(found),
        trusted=False,
    )


def _latency(figure: Claim) -> LatencyNs:
    latency = figure.latency

    def known(name: str, ns: float | None) -> float | None:
        is_of_too_few = figure.ops is not None and figure.ops < samples_needed(QUANTILES[name])
        return None if is_of_too_few else ns

    return LatencyNs(
        mean=latency.mean_ns,
        p50=known("p50", latency.p50_ns),
        p90=known("p90", latency.p90_ns),
        p99=known("p99", latency.p99_ns),
        p99_9=known("p99_9", latency.p99_9_ns),
        max=latency.max_ns,
    )


def _findings(figure: Claim, tool: str) -> list[Finding]:
    text = (
        f"{tool} measured this, not Assay: caches, errors and load were not observed, so it is unknown what the rate"
        " measures."
    )
    cure = "'assay decode RUN' explains it from facts of the machine. To trust a result, measure it with Assay."
    found = [findings.warning("foreign", text, cure, brief="not measured by Assay")]
    if figure.objection:
        text = f"{tool} itself reports a fault: {figure.objection}."
        found.append(findings.invalid("foreign", text, "Run the tool again.", brief="the tool reports a fault"))
    if figure.is_too_quick:
        text = f"{tool} gives no figure: the test took less than half a second."
        found.append(findings.note("foreign", text, "Run the tool again with more to do."))
    return found
