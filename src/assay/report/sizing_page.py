"""Write a sizing as one HTML file: the answer, the load over time, the candidates, what if, and what was assumed."""

from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path

from assay.outward import markup
from assay.report.figure import Table
from assay.report.figures import sized_load as figures
from assay.report.output import check_file, write_whole
from assay.report.page.drawn_figure import figure_markup, script_json
from assay.report.page.whole_page import whole_page
from assay.report.sections import table
from assay.report.sizing_words import assumption_lines, candidate_cells, candidate_warnings, load_lines
from assay.sizing.candidate import DISKS_PER_SPARE
from assay.sizing.disks import QueuedDisk
from assay.sizing.size_answer import SizeAnswer

_TITLE = "How many disks"
_SLIDER = (
    '<label>{name} <b></b><input type="range" name="{key}" data-unit="{unit}" min="{least}" max="{most}" step="{step}"'
    ' value="{value}"></label>'
)


def write_sizing(answer: SizeAnswer, notes: Sequence[str], path: Path) -> Path:
    """Write a sizing to `path`, replacing a file of that name; raises InputError and RunError."""
    check_file(path)
    return write_whole(path, sizing_page(answer, notes).encode())


def sizing_page(answer: SizeAnswer, notes: Sequence[str]) -> str:
    """Make the text of the page."""
    lines = "".join(f"<p>{markup(line)}</p>" for line in load_lines(answer))
    warned = "".join(f'<p class="warn">{markup(line)}</p>' for line in candidate_warnings(answer))
    assumed = "".join(f"<li>{markup(line)}</li>" for line in (*assumption_lines(answer), *notes))
    drawn = "".join(figure_markup(figure) for figure in figures.draw(answer))
    return whole_page(
        f"{_TITLE} · Assay",
        [
            f'<header><h1>{_TITLE}</h1><div class="verdict">{lines}{warned}</div></header><main>',
            f"<section><h2>Candidates</h2>{_candidates(answer)}{drawn}</section>",
            _what_if(answer),
            f"<section><h2>Assumed</h2><ul>{assumed}</ul></section></main>",
        ],
    )


def _candidates(answer: SizeAnswer) -> str:
    rows = [candidate_cells(one) for one in answer.candidates]
    shown = [name for name in rows[0] if any(row[name] for row in rows)]
    words = {place for place, name in enumerate(shown) if name in {"level", "set by"}}
    return table(
        Table(tuple(shown), tuple(tuple(row[name] for name in shown) for row in rows)), "Candidates", words=words
    )


def _what_if(answer: SizeAnswer) -> str:
    """Give sliders that compute the number of disks anew; of disks with a queue each, for which the page has the formula."""
    disks = {one.disk.name: one.disk for one in answer.candidates if isinstance(one.disk, QueuedDisk)}
    disks = {name: disk for name, disk in disks.items() if not disk.is_declustered}
    if not disks:
        return ""
    levels = {one.raid.name: one.raid for one in answer.candidates}
    data = {
        "disks": [{"service_s": disk.service_s, "burstiness": disk.burstiness} for disk in disks.values()],
        "levels": [
            {"penalty": level.penalty, "least": level.rounded(1), "unit": level.unit} for level in levels.values()
        ],
        "spares_per": DISKS_PER_SPARE,
    }
    grown = answer.load.iops * (1 + answer.changes.growth_per_year) ** answer.changes.years
    sliders = "".join(
        _SLIDER.format(name=name, key=key, unit=unit, least=least, most=most, step=step, value=value)
        for name, key, unit, least, most, step, value in (
            ("IOPS of the hosts", "iops", "IOPS", 1, max(round(4 * grown), 10), 1, max(round(grown), 1)),
            ("writes", "writes", "%", 0, 100, 0.1, round(100 * answer.load.write_share, 1)),
            ("mean response time", "latency", "ms", 1, 100, 0.5, 1000 * answer.latency_s),
            ("headroom", "headroom", "%", 0, 90, 1, round(100 * answer.changes.headroom)),
        )
    )
    program = (resources.files("assay.report") / "what_if.js").read_text(encoding="utf-8")
    return (
        '<section aria-labelledby="if"><h2 id="if">What if</h2><form id="what-if" class="what-if">'
        f"{_choice('disk', disks)}{_choice('raid', levels)}{sliders}<output></output></form>"
        "<p>Requests that caches serve are not taken off here, and capacity is not looked at.</p>"
        f'<script type="application/json" id="what-if-data">{script_json(data)}</script><script>{program}</script></section>'
    )


def _choice(key: str, names: Iterable[str]) -> str:
    options = "".join(f"<option>{markup(name)}</option>" for name in names)
    return f'<label>{key} <select name="{key}">{options}</select></label>'
