"""`assay size`: how many disks does a load need?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import capture_options
from assay.cli.options import Json, Runs

if TYPE_CHECKING:
    from assay.sizing.size_answer import SizeAnswer


def size(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE...]", help="Captures of the load: iostat, sar, perfmon, esxtop, ..."),
    ] = None,
    iops: Annotated[
        float | None, typer.Option("--iops", min=0.001, metavar="N", help="The load, instead of captures.")
    ] = None,
    writes: Annotated[
        str | None,
        typer.Option("--writes", metavar="SHARE", help="Share of writes: 30% [default: as captured]."),
    ] = None,
    latency: Annotated[
        str, typer.Option("--latency", metavar="T", help="Mean response time not to be exceeded.")
    ] = "20ms",
    raid: Annotated[
        list[str] | None,
        typer.Option("--raid", metavar="LEVEL", help="0, 1, 10, 5, 6, dp; 5:8 in groups of 8. Repeatable."),
    ] = None,
    disk: Annotated[
        list[str] | None,
        typer.Option("--disk", metavar="KIND", help="15k, 10k, 7.2k, or NAME=IOPS@LATENCY. Repeatable."),
    ] = None,
    disks: Annotated[
        int | None,
        typer.Option("--disks", min=1, max=100_000, metavar="N", help="Assess this number of disks instead."),
    ] = None,
    capacity: Annotated[
        str | None, typer.Option("--capacity", metavar="S", help="Data to be stored, such as 20TiB.")
    ] = None,
    disk_size: Annotated[
        list[str] | None,
        typer.Option("--disk-size", metavar="KIND=S", help="Capacity of a disk: 15k=600GB. Repeatable."),
    ] = None,
    price: Annotated[
        list[str] | None, typer.Option("--price", metavar="KIND=N", help="Price of a disk: 15k=320. Repeatable.")
    ] = None,
    spares: Annotated[
        int | None,
        typer.Option("--spares", min=0, max=1000, metavar="N", help="Spare disks [default: 1 for each 30]."),
    ] = None,
    policy: Annotated[
        str,
        typer.Option("--policy", metavar="WHICH", help="Size by steady, mean-steady, p95 or peak."),
    ] = "steady",
    spike: Annotated[
        str, typer.Option("--spike", metavar="T", help="Shorter is a spike, which a cache takes.")
    ] = "5min",
    growth: Annotated[str, typer.Option("--growth", metavar="SHARE", help="Growth in a year: 20%.")] = "0%",
    years: Annotated[
        float, typer.Option("--years", min=0, max=50, metavar="N", help="For how many years it grows.")
    ] = 0.0,
    headroom: Annotated[
        str, typer.Option("--headroom", metavar="SHARE", help="Share of the requests to be kept free.")
    ] = "0%",
    read_hits: Annotated[
        str, typer.Option("--read-hits", metavar="SHARE", help="Share of reads that a cache serves.")
    ] = "0%",
    coalesced: Annotated[
        str, typer.Option("--coalesced", metavar="SHARE", help="Share of writes that a cache combines.")
    ] = "0%",
    full_stripes: Annotated[
        str,
        typer.Option("--full-stripes", metavar="SHARE", help="Share of writes that fill whole stripes."),
    ] = "0%",
    declustered: Annotated[bool, typer.Option("--declustered", help="All disks share one queue (M/M/c).")] = False,
    burstiness: Annotated[
        float,
        typer.Option("--burstiness", min=0, max=1000, metavar="CA2", help="Of arrivals; 1: at random."),
    ] = 1.0,
    disks_now: Annotated[
        int | None,
        typer.Option("--disks-now", min=1, max=100_000, metavar="N", help="Disks of the captured system."),
    ] = None,
    only: capture_options.Only = None,
    format_: capture_options.Format = None,
    timezone: capture_options.Timezone = None,
    date_order: capture_options.DateOrderAsked = None,
    begin: capture_options.Begin = None,
    interval: capture_options.Interval = None,
    host: capture_options.HostAsked = None,
    columns: capture_options.Columns = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write a page (.html) or a workbook (.xlsx)."),
    ] = None,
    json: Json = False,
    runs: Runs = None,
) -> None:
    """Work out how many disks a captured load needs, and whether an offer is enough.

    Of the captured rates, what lasts is for disks, and short spikes are for a cache. RAID multiplies writes, a queue adds
    waiting time, and each assumption is printed with the answer. With several --disk and --raid, all combinations are
    compared. Exit code 1: no combination is enough.
    """
    from assay.errors import InputError
    from assay.sizing.stated_share import MOST_FREE, parse_share

    if bool(files) == (iops is not None):
        raise InputError("give captures of the load, or its rate with --iops" + (", not both" if files else ""))
    if iops is not None:
        of_captures: dict[str, object] = {
            "--only": only, "--format": format_, "--timezone": timezone, "--date-order": date_order, "--begin": begin,
            "--interval": interval, "--host": host, "--columns": columns, "--disks-now": disks_now,
            "--policy": policy != "steady", "--spike": spike != "5min",
        }  # fmt: skip
        if unused := [name for name, value in of_captures.items() if value]:
            raise InputError(f"{unused[0]} is for captures; leave it out with --iops")
    if output is not None:
        _check_output(output)
    captured = capture_options.asked_of(timezone, date_order, begin, interval, host, columns)
    from assay.sizing.candidate import Requirement
    from assay.sizing.need import Changes
    from assay.sizing.policy import Policy
    from assay.sizing.raid import Requests, parse_raid
    from assay.units import parse_bytes, parse_seconds

    if policy not in list(Policy):
        raise InputError(f"--policy '{policy[:20]}': write {', '.join(Policy)}")
    stripes = parse_share(full_stripes, "--full-stripes")
    levels = [parse_raid(one, stripes) for one in raid or ("5",)]
    latency_s, spike_s = parse_seconds(latency), parse_seconds(spike)
    if latency_s <= 0 or spike_s <= 0:
        raise InputError("--latency and --spike are above 0")
    changes = Changes(
        parse_share(growth, "--growth", most=10.0),
        years,
        parse_share(headroom, "--headroom", most=MOST_FREE),
        parse_share(read_hits, "--read-hits", most=MOST_FREE),
        parse_share(coalesced, "--coalesced", most=MOST_FREE),
    )
    share = None if writes is None else parse_share(writes, "--writes")
    from assay.cli.answers import answer_of
    from assay.sizing.kinds import kinds_of

    kinds = kinds_of(
        disk or ["15k"],
        disk_size or [],
        price or [],
        lambda run: answer_of(run, runs).document,
        is_declustered=declustered,
        burstiness=burstiness,
    )
    room = None if capacity is None else parse_bytes(capacity)
    if room is not None and (missing := [kind.name for kind, size_bytes, _ in kinds if size_bytes is None]):
        raise InputError(f"--capacity needs the size of each disk; give --disk-size {missing[0]}=S, too")
    from assay.sizing.size_answer import LoadOfToday, load_of
    from assay.sizing.size_answer import size as sized

    notes: tuple[str, ...] = ()
    if files:
        from assay.captures.gathered import gather

        gathered = gather(files, captured, format_, only or ())
        notes = gathered.notes
        load = load_of(gathered, Policy(policy), spike_s, write_share=share, latency_s=latency_s, disks_now=disks_now)
    else:
        if share is None:
            raise InputError("--iops needs the share of writes, which cost several requests to disks: --writes 30%")
        load = LoadOfToday(iops or 0.0, "as given", share, "as given")
    asked = Requirement(Requests(0.0, 0.0), latency_s, room, offered=disks, spares=spares)
    answer = sized(load, changes, asked, kinds, levels)
    _give(answer, notes, output, json=json)
    raise typer.Exit(int(not any(one.is_enough for one in answer.candidates)))


def _check_output(path: Path) -> None:
    from assay.errors import InputError
    from assay.report.output import check_file

    if path.suffix not in {".html", ".xlsx"}:
        raise InputError(f"--output {path}: write a name that ends with .html or .xlsx")
    check_file(path)


def _give(answer: "SizeAnswer", notes: tuple[str, ...], output: Path | None, *, json: bool) -> None:
    if output is not None:
        _write(answer, notes, output)
    if json:
        from assay.cli.pipes import echo
        from assay.sizing.size_json import to_json

        echo(to_json(answer, notes))
    else:
        from assay.console import console
        from assay.report.sizing_text import render_sizing

        render_sizing(answer, notes, console())


def _write(answer: "SizeAnswer", notes: tuple[str, ...], path: Path) -> None:
    if path.suffix == ".html":
        from assay.report.sizing_page import write_sizing

        write_sizing(answer, notes, path)
    else:
        from assay.report.sizing_workbook import write_sizing_workbook

        write_sizing_workbook(answer, notes, path)
