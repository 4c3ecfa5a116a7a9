"""Lay out the table in a terminal: one line per result if all columns fit, and in a pipe; else two lines per result.

The first of two lines has what served the result and its trust, the second has the numbers. `assay explain RUN ROW` prints
the columns that a narrow terminal leaves out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from assay.report.limited_by import marked_limit
from assay.report.numbers import MIB_PER_S, OPS_PER_S, half_words, headline_rates, is_with_flush, percentile_words
from assay.report.titles import titles_of
from assay.report.verdict import trust_reasons
from assay.report.wrapping import cut, fill, wrap
from assay.results import Cache, LatencyNs, Result
from assay.units import format_joules, format_ns, format_number, format_percent, format_seconds, format_share
from assay.verdicts import TrustLevel

STYLES = {TrustLevel.YES: "green", TrustLevel.WEAK: "magenta", TrustLevel.NO: "yellow"}

_ROW_WIDTH = 3
_SERVED_WIDTH = 13
_TRUST_WIDTH = 6
_TITLE_WIDTH = 40
_NARROWEST = 80
_FLUSHED = "*"
_CLIENTS = "clients"


@dataclass(frozen=True)
class _Column:
    heading: str
    width: int
    """With the blank that parts it from the one before."""
    cell: Callable[[Result], str]
    is_words: bool = False

    def fitted(self, text: str) -> str:
        """Pad a text to the column: numbers to the right, words to the left."""
        if self.is_words:
            return "  " + fill(cut(text, self.width - 2), self.width - 2)
        return f"{text:>{self.width}}"


def table(measured: Sequence[Result], width: int | None, clients: Mapping[str, int] | None = None) -> list[Text]:
    """Lay results out.

    Args:
        measured: The results; their rows are numbered from 1.
        width: Columns of the terminal; None: a line a result, as long as it is.
        clients: Of how many clients a result is the sum, by its label; nothing where one client measured.
    """
    if not measured:
        return [Text("Nothing was measured.", style="bold")]
    titles, columns = titles_of(measured), _columns(measured, clients or {})
    title_width = max(map(cell_len, (*titles, "operation"))) + 2
    in_full = _ROW_WIDTH + title_width + sum(c.width for c in columns) + 2 + _SERVED_WIDTH + _TRUST_WIDTH
    reasons = max(cell_len(trust_reasons(result)) for result in measured)
    if width is None or in_full + reasons <= width:
        lines = _on_one_line(titles, measured, columns, title_width)
    elif width >= _NARROWEST:
        columns = _that_fit(columns, width)
        lines = _on_two_lines(titles, measured, columns, width)
    else:
        lines = _as_lists(titles, measured, columns, width)
    legend = _legend(columns, measured)
    text = wrap(legend, width) if width else [legend]
    return [*lines, Text(), *(Text(line, style="dim") for line in text)]


def _on_one_line(
    titles: Sequence[str], measured: Sequence[Result], columns: Sequence[_Column], title_width: int
) -> list[Text]:
    heading = " " * _ROW_WIDTH + fill("operation", title_width) + _headings(columns)
    lines = [Text(f"{heading}  {fill('served by', _SERVED_WIDTH)}trust", style="bold")]
    for row, (title, result) in enumerate(zip(titles, measured, strict=True), start=1):
        start = _numbered(row) + fill(title, title_width) + _cells(columns, result)
        lines.append(_trusted(f"{start}  {fill(result.measures.words, _SERVED_WIDTH)}", result, None))
    return lines


def _on_two_lines(
    titles: Sequence[str], measured: Sequence[Result], columns: Sequence[_Column], width: int
) -> list[Text]:
    longest = max(map(cell_len, titles)) + 1
    title_width = (
        min(longest, width - _ROW_WIDTH - _SERVED_WIDTH - _TRUST_WIDTH - 20) if longest > _TITLE_WIDTH else _TITLE_WIDTH
    )
    heading = (
        " " * _ROW_WIDTH
        + fill("operation", title_width)
        + fill("served by", _SERVED_WIDTH)
        + fill("trust", _TRUST_WIDTH)
    )
    numbers = (" " * _ROW_WIDTH + _headings(columns)).rstrip()
    lines = [Text(heading.rstrip(), style="bold"), Text(numbers, style="bold")]
    for row, (title, result) in enumerate(zip(titles, measured, strict=True), start=1):
        start = _numbered(row) + fill(cut(title, title_width - 1), title_width)
        start += fill(result.measures.words, _SERVED_WIDTH)
        lines.append(_trusted(start, result, width))
        lines.append(Text((" " * _ROW_WIDTH + _cells(columns, result)).rstrip()))
    return lines


def _as_lists(titles: Sequence[str], measured: Sequence[Result], columns: Sequence[_Column], width: int) -> list[Text]:
    lines = []
    for row, (title, result) in enumerate(zip(titles, measured, strict=True), start=1):
        parts = [f"{column.heading} {text}" for column in columns if (text := column.cell(result))]
        parts += [f"served by {result.measures.words}", f"trust {result.trust.level}"]
        if result.trust.reasons:
            parts[-1] += f": {trust_reasons(result)}"
        first, *others = wrap(title, width - _ROW_WIDTH)
        lines.append(Text(_numbered(row) + first, style="bold"))
        lines += [Text(" " * _ROW_WIDTH + part) for part in (*others, *wrap(" · ".join(parts), width - _ROW_WIDTH))]
    return lines


def _numbered(row: int) -> str:
    return f"{row:>{_ROW_WIDTH - 1}} "


def _trusted(start: str, result: Result, width: int | None) -> Text:
    """End a line with the word of trust, and why it is not yes."""
    level = result.trust.level
    why = trust_reasons(result)
    word = fill(level.value, _TRUST_WIDTH) if why else level.value
    if width is not None:
        why = cut(why, width - cell_len(start) - _TRUST_WIDTH)
    return Text.assemble(start, (word, STYLES[level]), why)


def _headings(columns: Sequence[_Column]) -> str:
    return "".join(column.fitted(column.heading) for column in columns)


def _cells(columns: Sequence[_Column], result: Result) -> str:
    return "".join(column.fitted(column.cell(result)) for column in columns)


def _that_fit(columns: Sequence[_Column], width: int) -> list[_Column]:
    """Choose columns, the most wanted first, in their order."""
    room, chosen = width - _ROW_WIDTH, []
    for column in sorted(columns, key=lambda column: _WANTED.index(column.heading)):
        if column.width <= room:
            chosen.append(column)
            room -= column.width
    return [column for column in columns if column in chosen]


# -- columns -----------------------------------------------------------------------------------------------------------


def _columns(measured: Sequence[Result], clients: Mapping[str, int]) -> list[_Column]:
    """Give the columns that these results have anything for, from left to right."""
    left_out = set()
    if not any(result.response_ns for result in measured):
        left_out |= {"resp p50", "resp p99"}
    if not any(result.efficiency.joules_per_op for result in measured):
        left_out |= {"J/op"}
    if not any(result.efficiency.joules_per_gib for result in measured):
        left_out |= {"J/GiB"}
    if not any(map(_is_only_timed, measured)):
        left_out |= {"took"}
    summed = [_Column(_CLIENTS, 9, lambda result: f"{clients[result.label]:,}" if result.label in clients else "-")]
    return [*(summed if clients else []), *(column for column in _ALL if column.heading not in left_out)]


def _is_only_timed(result: Result) -> bool:
    """Whether the other tool reports nothing but the time."""
    return (
        result.seconds is not None
        and result.iops is None
        and result.throughput_bytes_per_s is None
        and result.ops is None
    )


def _took(result: Result) -> str:
    return format_seconds(result.seconds) if result.seconds is not None else "n/a"


def _rate(result: Result) -> str:
    return format_number(OPS_PER_S.of(*headline_rates(result))) + (_FLUSHED if is_with_flush(result) else "")


def _bytes_rate(result: Result) -> str:
    value = MIB_PER_S.of(*headline_rates(result))
    return "-" if value is None else format_number(value)


def _response(name: str) -> Callable[[Result], str]:
    def cell(result: Result) -> str:
        spread: LatencyNs | None = result.response_ns
        if spread is None:
            return "-"
        return percentile_words(result, name, getattr(spread, name))

    return cell


def _latency(name: str) -> Callable[[Result], str]:
    def cell(result: Result) -> str:
        value_ns: float | None = getattr(result.latency_ns, name)
        # Of an open loop the response time has the mark.
        return percentile_words(result, name, value_ns) if result.response_ns is None else format_ns(value_ns)

    return cell


def _limit(result: Result) -> str:
    return marked_limit(result, "-")


def _joules(name: str) -> Callable[[Result], str]:
    def cell(result: Result) -> str:
        joules = getattr(result.efficiency, name)
        return "-" if joules is None else format_joules(joules)

    return cell


def _share(name: str) -> Callable[[Result], str]:
    def cell(result: Result) -> str:
        return format_percent(getattr(result.time_budget, name))

    return cell


def _cache(result: Result) -> str:
    """Format the cache state: condition and hit ratio of reads, or whether writes reached storage."""
    cache: Cache = result.cache
    condition = cache.condition.replace("_", "-")
    if cache.hit_ratio is not None:
        return f"{'phase' if cache.hit_ratio_of == 'phase' else condition} {format_share(cache.hit_ratio)}"
    return cache.verdict if cache.verdict in ("absorbed", "device", "flushed") else condition


_ALL = (
    _Column("IOPS", 9, _rate),
    _Column("MiB/s", 8, _bytes_rate),
    _Column("took", 9, _took),
    _Column("±95 %", 8, half_words),
    _Column("resp p50", 9, _response("p50")),
    _Column("resp p99", 9, _response("p99")),
    _Column("p50", 8, _latency("p50")),
    _Column("p99", 8, _latency("p99")),
    _Column("max", 8, lambda result: format_ns(result.latency_ns.max)),
    _Column("CPU/op", 8, lambda result: format_ns(result.cpu_ns_per_op)),
    _Column("limited by", 20, _limit, is_words=True),
    _Column("cache hit", 16, _cache, is_words=True),
    _Column("cpu", 6, _share("on_cpu")),
    _Column("run", 6, _share("run_delay")),
    _Column("block", 6, _share("block_delay")),
    _Column("idle", 6, _share("idle")),
    _Column("wait", 6, _share("other_wait")),
    _Column("J/op", 9, _joules("joules_per_op")),
    _Column("J/GiB", 9, _joules("joules_per_gib")),
)
_WANTED = (
    *(
        _CLIENTS,
        "IOPS",
        "MiB/s",
        "took",
        "±95 %",
        "resp p50",
        "resp p99",
        "p50",
        "p99",
        "limited by",
        "max",
        "CPU/op",
        "J/op",
        "J/GiB",
    ),
    *("cache hit", "cpu", "run", "block", "idle", "wait"),
)
"""What a narrow terminal has first."""


def _legend(columns: Sequence[_Column], measured: Sequence[Result]) -> str:
    shown = {column.heading for column in columns}
    parts = [
        "±95 %: half of the 95 % confidence interval of the rate. p50, p99, max: latency from issue to completion."
    ]
    if _CLIENTS in shown:
        parts.append("clients: number of clients in the sum.")
    if "resp p99" in shown:
        parts.append("resp: response time, from the scheduled arrival.")
    if any(map(is_with_flush, measured)):
        parts.append(f"{_FLUSHED}: the time includes the closing flush.")
    if "limited by" in shown and any(_limit(result).endswith("?") for result in measured):
        parts.append("limited by with ?: confidence is not high.")
    if any(
        "?" in cell(each)(result) for cell in (_latency, _response) for each in ("p50", "p99") for result in measured
    ):
        parts.append("p50 or p99 with ?: the 95 % interval spans more than a factor of 1.5.")
    if "CPU/op" in shown:
        parts.append(
            "CPU/op: CPU time of all clients per operation." if _CLIENTS in shown else "CPU/op: CPU time per operation."
        )
    if "wait" in shown:
        parts.append(
            "cpu run block idle wait: % of the workers' time on a CPU, waiting for a CPU, waiting for a block device, idle"
            " by the load's own schedule, other waits."
        )
    if "cache hit" in shown:
        parts.append("cache hit: share of the bytes read that came from memory.")
    return " ".join(parts)
