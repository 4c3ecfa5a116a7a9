"""A run of several clients as a reader sees it: sums alone in tables, what they are made of, and each client by itself."""

import dataclasses
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest
from inline_snapshot import snapshot
from rich.cells import cell_len

from assay import plan
from assay.analysis.client_records import client_alone, record_of_client
from assay.analysis.document import document as work_out
from assay.analysis.record import ClientRecord, RunRecord, read
from assay.analysis.repeats import summaries, why_not
from assay.analysis.set_views import client_of, of_client, own_results, sums_of
from assay.bundle.client_set import Role
from assay.compare.arms import Arm
from assay.compare.comparison import compare
from assay.console import PlainConsole
from assay.errors import InputError
from assay.host.facts import Fact
from assay.report import comparison_text, text
from assay.report.answer import answer
from assay.report.clients.client_sheets import CLIENTS, CLIENTS_OVER_TIME, OF_CLIENTS, STARTS
from assay.report.clients.client_words import (
    clocks_words,
    in_short,
    lost_words,
    spread_words,
    starts_words,
    straggler_words,
)
from assay.report.clients.clients_table import FASTEST, SLOWEST, render_clients
from assay.report.clients.collect_words import collect_words
from assay.report.clients.own_recordings import OwnRecordings
from assay.report.clients.sum_rows import sum_rows
from assay.report.explain.row_story import row_story
from assay.report.explain.story import story
from assay.report.export import all_figures
from assay.report.figure import Figure
from assay.report.figures import client_rates, clients_figures, fairness, roofline, start_skew
from assay.report.figures.client_rates import MOST_CELLS, client_rows, done_by
from assay.report.head import head_of, head_of_client
from assay.report.html import page
from assay.report.in_one_line import outcome_of
from assay.report.limited_by import limit_words
from assay.report.page import clients_section
from assay.report.page.clients_section import MOST_ROWS
from assay.report.run_workbook import run_sheets
from assay.report.spreadsheets import OVER_TIME, RESULTS, tables
from assay.results import ClientCeilings, Document, Finding, Limiter, ThreadCeiling, Trust, WayToClient
from assay.verdicts import Bottleneck, Confidence, TrustLevel
from unit import vega
from unit.memory_set import Client, MemorySet
from unit.quick_run import quick_run
from unit.set_run import LOST_S, OBSERVER, RATES, SECONDS, TITLES, set_run
from unit.synthetic import SyntheticRun, one_job, one_plan, steady_stream

MANY = 1000


@pytest.fixture(scope="module")
def four() -> tuple[RunRecord, Document]:
    """Four clients and an observer; h4 is slow in the first phase, and h3 was lost."""
    return set_run(with_lost=True, with_observer=True)


@pytest.fixture(scope="module")
def many() -> tuple[RunRecord, Document]:
    """A thousand clients of ten kinds, the first of each ten the slowest."""
    return set_run({f"n{i:04d}": (10 + i % 10, 10) for i in range(MANY)})


def console(width: int) -> PlainConsole:
    return PlainConsole(
        file=io.StringIO(), width=width or 80, color_system=None, force_terminal=width > 0, legacy_windows=False
    )


def printed(run: RunRecord, document: Document, width: int) -> str:
    out = console(width)
    text.render(document, head_of(document, run), out)
    return out.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def block_of(shown: str) -> str:
    """The lines on clients, below the table."""
    lines = shown.splitlines()
    begin = max(i for i, line in enumerate(lines) if line.startswith("clients"))
    return "\n".join(lines[begin : lines.index("", begin)])


# -- parts of a document -----------------------------------------------------------------------------------------------


def test_the_sums_and_each_clients_own_rows_are_all_that_there_is(four: tuple[RunRecord, Document]) -> None:
    _, document = four

    sums, own = sums_of(document), [of_client(document, name) for name in RATES]

    assert {result.client for result in sums.results} == {None}
    assert [{result.client for result in one.results} for one in own] == [{name} for name in RATES]
    assert len(sums.results) + sum(len(one.results) for one in own) == len(document.results)
    assert own_results(document) == len(RATES) * len(TITLES)
    assert sums_of(sums) is sums
    assert not any(one.clients or one.sums or one.starts for one in own)


def test_a_document_of_one_client_is_as_it_was() -> None:
    _, document = quick_run()

    assert sums_of(document) is document
    with pytest.raises(InputError, match="is of one client: leave --client out"):
        of_client(document, "h1")


def test_a_client_that_is_not_there_or_made_no_load_is_said_in_a_line(four: tuple[RunRecord, Document]) -> None:
    run, document = four

    with pytest.raises(InputError, match="has no client 'h9'; it has h1, h2, h3, h4, s1"):
        of_client(document, "h9")
    names = [f"c{number}" for number in range(30)]
    many = msgspec.structs.replace(
        document, clients=tuple(msgspec.structs.replace(document.clients[0], name=name) for name in names)
    )
    with pytest.raises(InputError, match=f"it has {', '.join(names[:20])} and 10 more$"):
        of_client(many, "h9")
    with pytest.raises(InputError, match=r"'s1' of run .* is an observer: it made no load"):
        of_client(document, OBSERVER)
    with pytest.raises(InputError, match="no record of a client 'h9'"):
        record_of_client(run, "h9")


# -- the terminal ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [30, 80, 120, 160])
def test_no_line_is_wider_than_the_terminal(four: tuple[RunRecord, Document], width: int) -> None:
    lines = printed(*four, width).splitlines()
    told = [line for line in lines[lines.index("", 1) :] if not line.startswith(("kept in", "report", "notes"))]

    assert max(cell_len(line) for line in told) <= width


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (
            80,
            snapshot("""\
clients  4 clients, 1 observer (s1)
lost     3 of 4 clients since 4.00 s: h3, socket closed
         what they recorded is on their machines: 'assay collect
         20260102T030405Z-quick-0123abcd --hosts h3'
row 1    25.0 (h4) to 120 IOPS (h2): 4.80 times, Jain 0.849
         straggler h4: 22.7 % of the median of the others; its link is full
row 2    60.0 (h1) to 60.0 IOPS (h4): 1.00 times, Jain 1.000
starts   skew p50 60.0 µs, max 60.0 µs ± 10.0 µs in p0, last h4; 2 phases
clocks   offset up to 400 s (s1), bounds up to 900 µs; drift up to 12.0 ppm (s1)
each     'assay show 20260102T030405Z-quick-0123abcd --clients', --client NAME\
"""),
        ),
        (
            160,
            snapshot("""\
clients  4 clients, 1 observer (s1)
lost     3 of 4 clients since 4.00 s: h3, socket closed
         what they recorded is on their machines: 'assay collect 20260102T030405Z-quick-0123abcd --hosts h3'
row 1    25.0 (h4) to 120 IOPS (h2): 4.80 times, Jain 0.849
         straggler h4: 22.7 % of the median of the others; its link is full
row 2    60.0 (h1) to 60.0 IOPS (h4): 1.00 times, Jain 1.000
starts   skew p50 60.0 µs, max 60.0 µs ± 10.0 µs in p0, last h4; 2 phases
clocks   offset up to 400 s (s1), bounds up to 900 µs; drift up to 12.0 ppm (s1)
each     'assay show 20260102T030405Z-quick-0123abcd --clients', --client NAME\
"""),
        ),
    ],
)
def test_below_the_table_stands_what_the_sums_are_made_of(
    four: tuple[RunRecord, Document], width: int, expected: str
) -> None:
    assert block_of(printed(*four, width)) == expected


@pytest.mark.parametrize("width", [0, 80, 160])
def test_the_table_has_the_sums_alone_with_how_many_clients_each_is_of(
    four: tuple[RunRecord, Document], width: int
) -> None:
    shown = printed(*four, width)
    lines = shown.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("   operation"))
    table = lines[begin : lines.index("", begin)]

    numbered = [line for line in table if re.match(r" *[0-9]+ ", line[:3])]
    assert len(numbered) == len(TITLES)
    heading = next(line for line in table if "clients" in line)
    at = heading.index("clients") + len("clients")
    of_clients = [line[:at].split()[-1] for line in table[table.index(heading) + 1 :] if line[:at].strip()]
    assert of_clients.count("4") == len(TITLES)


def test_the_head_names_clients_and_kinds_of_machines(four: tuple[RunRecord, Document]) -> None:
    run, document = four

    pairs = dict(head_of(document, run).pairs)

    assert pairs["clients"] == "4: h1, h2, h3, h4"
    # The observer's makes no load.
    assert pairs["machines"] == "4 of 8 CPUs, 16.0 GiB RAM, Linux 6.18.1"
    assert "machine" not in pairs


def test_a_machine_of_several_clients_is_one_machine() -> None:
    job = one_plan(plan.Phase(name="p", title="reads", jobs=(one_job(),)))
    for hosts, said in (
        ("xxy", "3 clients on 2 machines: 2 of 8 CPUs, 16.0 GiB RAM, Linux 6.18.1"),
        ("xxx", "3 clients on 1 machine: 8 CPUs, 16.0 GiB RAM, Linux 6.18.1"),
        ("xyz", "3 of 8 CPUs, 16.0 GiB RAM, Linux 6.18.1"),
    ):
        clients = [
            Client(f"h{i}", SyntheticRun(job).phase([], seconds=1).end(), hostname=host) for i, host in enumerate(hosts)
        ]
        observer = Client("s1", SyntheticRun(job).phase([], seconds=1).end(), role=Role.OBSERVER)
        run = read(MemorySet(job, [*clients, observer]))

        pairs = dict(head_of(work_out(run), run).pairs)

        assert pairs["clients"] == "3: h0, h1, h2"
        assert pairs["machines"] == said


def test_the_answer_has_one_line_on_the_clients(four: tuple[RunRecord, Document]) -> None:
    _, document = four

    lines = answer(document, "synthetic")

    assert [line for line in lines if line.startswith("Sum of")] == [
        "Sum of 4 clients; observed: s1; lost: h3 at 4.00 s (socket closed); straggler: h4 (row 1)."
    ]


def test_findings_of_clients_are_not_among_those_of_the_sums(four: tuple[RunRecord, Document]) -> None:
    run, document = four
    told = Finding(id="only-here", severity="warning", text="a client's own", cure="")
    own = document.results[-1]
    results = (*document.results[:-1], msgspec.structs.replace(own, findings=(*own.findings, told)))
    document = msgspec.structs.replace(document, results=results)

    assert "only-here" not in printed(run, document, 80)
    assert "only-here" in printed(run, of_client(document, "h4"), 80)


def waiting_for(document: Document, ways: dict[str, WayToClient | None]) -> list[str]:
    """The words that collect clients which were lost, by how each was reached."""
    lost = with_lost(document, dict.fromkeys(ways, (1.0, "socket closed")))
    clients = tuple(
        msgspec.structs.replace(client, reached=ways.get(client.name), address="198.51.100.1")
        for client in lost.clients
    )
    return list(collect_words(msgspec.structs.replace(lost, clients=clients)))


def by(way: str, address: str | None = None, user: str | None = None, *, needs_file: bool = False) -> WayToClient:
    return WayToClient(way=way, address=address, user=user, needs_file=needs_file)


@pytest.mark.parametrize(
    ("ways", "said"),
    [
        ({"h1": by("ssh", "h1"), "h2": by("ssh", "10.0.0.7")}, "--hosts h1,h2=10.0.0.7'"),
        ({"h1": by("local"), "h2": by("ssh", "h2")}, "--hosts h1=local,h2'"),
        ({"h1": by("ssh", "h1", "me"), "h2": by("local")}, "--hosts h1,h2=local --ssh-user me'"),
        ({"h1": None}, "--hosts h1'"),
        (
            {"h1": by("ssh", "h1", needs_file=True), "h2": by("ssh", "h2")},
            "--hosts FILE', where FILE is a hosts file with user, port and python of h1, h2",
        ),
        (
            {"h1": by("ssh", "h1", "me"), "h2": by("ssh", "h2", "you")},
            "--hosts FILE', where FILE is a hosts file with user, port and python of h1, h2",
        ),
        (
            {"h1": by("joined"), "h2": by("joined")},
            "--join FILE --clients 2', and there 'assay worker --join FILE --name NAME' by the names that they had (h1, h2)",
        ),
    ],
)
def test_the_lost_are_collected_by_the_words_by_which_they_were_reached(
    four: tuple[RunRecord, Document], ways: dict[str, WayToClient | None], said: str
) -> None:
    run = four[1].run.id

    told = waiting_for(four[1], ways)

    assert told == [f"what they recorded is on their machines: 'assay collect {run} {said}"]


def test_who_was_reached_in_two_ways_is_collected_in_two(four: tuple[RunRecord, Document]) -> None:
    told = waiting_for(four[1], {"h1": by("joined"), "h2": by("local")})

    assert ["--join" in line for line in told] == [False, True]
    assert "h2" not in told[1]


def test_one_client_is_shown_as_if_it_had_been_alone(four: tuple[RunRecord, Document]) -> None:
    run, document = four
    own = of_client(document, "h4")
    head = head_of_client(own, record_of_client(run, "h4"), client_of(document, "h4"))
    out = console(160)

    text.render(own, head, out)

    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert "client   h4   bench3, reached as 198.51.100.3" in shown
    assert "machine  bench300, 8 CPUs" in shown
    assert "\nclients" not in shown
    rates = [f"{result.iops:.1f}" for result in document.results if result.client == "h4"]
    assert [rate in shown.split() for rate in rates] == [True, True]


def clients_printed(document: Document, width: int) -> list[str]:
    out = console(width)
    render_clients(document, out)
    return out.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


def test_the_table_of_clients_has_the_slowest_first_and_says_who_they_are(four: tuple[RunRecord, Document]) -> None:
    assert "\n".join(clients_printed(four[1], 80)) == snapshot("""\
4 clients, 1 observer (s1)
3 of 4 clients since 4.00 s: h3, socket closed

row 1  4 KiB random read, sum of 4 clients
client                      IOPS    share  by median  limited by          trust
h4                          25.0    7.0 %     23.8 %  -                   weak
h1                           100   28.2 %     95.2 %  -                   weak
h3                           110   31.0 %    104.8 %  -                   weak
h2                           120   33.8 %    114.3 %  -                   weak

row 2  8 KiB random write, sum of 4 clients
client                      IOPS    share  by median  limited by          trust
h1                          60.0   25.0 %    100.0 %  -                   weak
h2                          60.0   25.0 %    100.0 %  -                   weak
h3                          60.0   25.0 %    100.0 %  -                   weak
h4                          60.0   25.0 %    100.0 %  -                   weak

client              host                 offset          ±      ppm  lost
h3                  bench2                200 s     900 µs     6.00  4.00 s
h1                  bench0                 0 ns     900 µs      n/a  -
h2                  bench1                100 s     900 µs     3.00  -
h4                  bench3                300 s     900 µs     9.00  -
s1 (observer)       bench4                400 s     900 µs     12.0  -

starts: skew p50 60.0 µs, max 60.0 µs ± 10.0 µs in p0, last h4; 2 phases\
""")


@pytest.mark.long
def test_of_a_thousand_clients_the_ends_are_shown_and_how_many_lie_between(many: tuple[RunRecord, Document]) -> None:
    lines = clients_printed(many[1], 80)
    begin = next(i for i, line in enumerate(lines) if line.startswith("row 1"))
    of_first = lines[begin : lines.index("", begin)]

    assert len(of_first) == 2 + SLOWEST + 1 + FASTEST
    assert of_first[2 + SLOWEST] == f"… {MANY - SLOWEST - FASTEST} between, 10.0 to 19.0 IOPS …"
    assert len(lines) < 200
    assert max(map(cell_len, lines)) <= 80


@pytest.mark.long
def test_a_thousand_clients_take_no_more_lines_than_four(
    four: tuple[RunRecord, Document], many: tuple[RunRecord, Document]
) -> None:
    assert len(block_of(printed(*many, 80)).splitlines()) <= len(block_of(printed(*four, 80)).splitlines())


def test_a_list_of_runs_counts_sums(four: tuple[RunRecord, Document]) -> None:
    _, document = four

    assert outcome_of(document).trust == outcome_of(sums_of(document)).trust
    assert sum(outcome_of(document).trust.values()) == len(TITLES)


# -- words ---------------------------------------------------------------------------------------------------------------


def with_lost(document: Document, lost: dict[str, tuple[float, str]]) -> Document:
    clients = tuple(
        msgspec.structs.replace(
            client, lost_s=lost[client.name][0], lost_reason=lost[client.name][1], is_complete=False
        )
        if client.name in lost
        else msgspec.structs.replace(client, lost_s=None, lost_reason=None)
        for client in document.clients
    )
    return msgspec.structs.replace(document, clients=clients)


def test_the_lost_are_told_in_the_order_of_time_with_how_many_were_left(four: tuple[RunRecord, Document]) -> None:
    document = with_lost(
        four[1],
        {"h4": (-0.5, "never ready"), "h1": (9.0, "no sign for 20 s"), "s1": (3.0, "killed"), "h2": (12.5, "x")},
    )

    assert list(lost_words(document)) == [
        "3 of 4 clients since 500 ms before the first phase: h4, never ready",
        "an observer less since 3.00 s: s1, killed",
        "2 of 4 clients since 9.00 s: h1, no sign for 20 s",
        "1 more were lost; 1 of 4 clients at the end",
    ]
    assert "lost: h4 at 500 ms before the first phase (never ready) and 3 more" in in_short(document)


def test_clocks_that_were_never_read_are_named_and_nothing_is_said_where_none_was(
    four: tuple[RunRecord, Document],
) -> None:
    _, document = four
    first = msgspec.structs.replace(document.clients[0], clock=None)
    none = tuple(msgspec.structs.replace(client, clock=None) for client in document.clients)

    one_unread = clocks_words(msgspec.structs.replace(document, clients=(first, *document.clients[1:])))

    assert one_unread == "offset up to 400 s (s1), bounds up to 900 µs; drift up to 12.0 ppm (s1); never read: h1"
    assert clocks_words(msgspec.structs.replace(document, clients=none)) == ""
    assert starts_words(msgspec.structs.replace(document, starts=())) == ""


def test_a_client_that_did_nothing_makes_no_ratio(four: tuple[RunRecord, Document]) -> None:
    _, document = four
    found = document.sums[0]
    idle = msgspec.structs.replace(found.rates[3], iops=0.0, throughput_bytes_per_s=0.0, share=0.0)
    idle_set = msgspec.structs.replace(found, rates=(*found.rates[:3], idle), spread=None, jain=0.75)
    document = msgspec.structs.replace(document, sums=(idle_set, *document.sums[1:]))

    assert "0 (h4) to 120 IOPS (h2): the slowest did nothing, Jain 0.750" in spread_words(sum_rows(document)[0])
    assert "0.0 %" in "\n".join(clients_printed(document, 80))


def test_of_a_sum_in_bytes_the_ratio_is_of_the_numbers_beside_it(four: tuple[RunRecord, Document]) -> None:
    run, document = four
    first = document.sums[0]
    # As many operations as before, of 1 MiB, but those of h4 of 4 MiB: 100 MiB/s of 25 operations a second.
    rates = tuple(
        msgspec.structs.replace(rate, throughput_bytes_per_s=rate.iops * (4 if rate.client == "h4" else 1) * (1 << 20))
        for rate in first.rates
    )
    of_all = document.results[0]
    assert of_all.ops
    document = msgspec.structs.replace(
        document,
        results=(msgspec.structs.replace(of_all, bytes=of_all.ops << 20), *document.results[1:]),
        sums=(msgspec.structs.replace(first, rates=rates), *document.sums[1:]),
    )
    moved, (even,) = sum_rows(document)[0], fairness.draw(run, document)

    said = "4 clients, 100 (h1) to 120 MiB/s (h2): 1.20 times, Jain 0.849 of operations"
    assert spread_words(moved) == said
    assert straggler_words(moved).startswith("straggler h4: 22.7 % of the median of operations of the others")
    assert even.table.rows[0][5:8] == ("MiB/s", "0.849 of operations", "1.20")
    assert even.table.rows[1][5:8] == ("IOPS", "1.000", "1.00")


def test_a_client_that_moved_nothing_though_it_did_something_makes_no_ratio(four: tuple[RunRecord, Document]) -> None:
    first = sum_rows(four[1])[0]
    rates = tuple(
        msgspec.structs.replace(rate, throughput_bytes_per_s=0.0 if rate.client == "h4" else rate.iops * (1 << 20))
        for rate in first.found.rates
    )
    assert first.result.ops
    moved = dataclasses.replace(
        first,
        found=msgspec.structs.replace(first.found, rates=rates),
        result=msgspec.structs.replace(first.result, bytes=first.result.ops << 20),
    )

    assert "0 (h4) to 120 MiB/s (h2): the slowest moved nothing, Jain 0.849 of operations" in spread_words(moved)


def test_a_sum_of_repeats_is_of_the_row_of_all_of_them(four: tuple[RunRecord, Document]) -> None:
    run, document = four
    first, second = document.results[0], document.sums[0]
    again = msgspec.structs.replace(first, label=f"{first.label}#2", repeat=1)
    own = tuple(result for result in document.results if result.client is not None)
    sums = tuple(result for result in document.results if result.client is None)
    document = msgspec.structs.replace(
        document,
        results=(*sums, again, *own),
        sums=(*document.sums, msgspec.structs.replace(second, label=again.label)),
        summaries=summaries((*sums, again)),
    )

    assert [(each.row, each.result.repeat) for each in sum_rows(document)] == [(1, 0), (2, 0), (1, 1)]
    block = block_of(printed(run, document, 120))
    assert "row 1    25.0 (h4) to 120 IOPS (h2): 4.80 times, Jain 0.849, repeat 2" in block


# -- explanations ------------------------------------------------------------------------------------------------------


def told(run: RunRecord, document: Document, about: str) -> str:
    return "\n".join(line.plain for line in story(document, run, about, 100))


def test_a_sum_and_a_clients_row_are_explained_each_from_its_own_record(four: tuple[RunRecord, Document]) -> None:
    run, document = four
    of_h2 = next(result for result in document.results if result.client == "h2")

    of_sum, own = told(run, document, "1"), told(run, document, of_h2.label)

    assert "row 1" in of_sum
    assert "355 IOPS" in of_sum
    assert "straggler h4" in of_sum
    assert "row 1" in own
    assert "120 IOPS" in own
    assert "client h2 of run" in own


ONE_THREAD = ThreadCeiling(name="cached_pread", block_size_bytes=4096, ops_per_s=1000.0, bytes_per_s=4096e3)
ROOF = ClientCeilings(
    measured_utc="2026-01-02T03:04:05Z",
    is_of_this_run=False,
    of_one_thread=(ONE_THREAD,),
    link_bytes_per_s=None,
    device_bytes_per_s=None,
)


def test_a_sum_is_under_no_roof_of_one_client_and_says_of_whose_thread_its_ceilings_are(
    four: tuple[RunRecord, Document],
) -> None:
    run, document = four
    document = msgspec.structs.replace(document, ceilings=ROOF)
    own = of_client(document, "h2")

    of_sum, of_h2 = told(run, document, "1"), "\n".join(line.plain for line in row_story(own, run, 1, 100))

    assert list(roofline.draw(document)) == []
    assert list(roofline.draw(sums_of(document))) == []
    assert [figure.slug for figure in roofline.draw(own)] == ["overview-roofline"]
    # Four clients do 355 reads a second together, h2 does 120 of them.
    assert "of one thread of one client, measured on 2026-01-02" in of_sum
    assert "35.5 % of it" in of_sum
    assert "of one thread here, measured on 2026-01-02" in of_h2
    assert "12.0 % of it" in of_h2


def test_a_client_alone_is_under_the_ceilings_of_its_own_machine(four: tuple[RunRecord, Document]) -> None:
    run, document = four
    slow = dataclasses.replace(
        run.members[1].run, sourced_facts=(Fact(key="host.ceilings.system_call.ops_per_s", value=5e5, source="test"),)
    )
    members = (run.members[0], dataclasses.replace(run.members[1], run=slow), *run.members[2:])

    own, record = client_alone(document, dataclasses.replace(run, members=members), "h2")

    assert own.ceilings is not None
    assert [(each.name, each.ops_per_s) for each in own.ceilings.of_one_thread] == [("system_call", 5e5)]
    assert {result.client for result in own.results} == {"h2"}
    assert record.facts == slow.facts


def test_a_row_beyond_the_last_is_no_row(four: tuple[RunRecord, Document]) -> None:
    run, document = four

    with pytest.raises(InputError, match="has no row 3: it has rows 1 to 2; a client's own have labels"):
        story(document, run, "3", 100)


def test_a_finding_that_only_clients_have_is_told_of_the_first_of_them(four: tuple[RunRecord, Document]) -> None:
    run, document = four
    found = Finding(id="cpu-contention", severity="warning", text="a neighbour had the CPU", cure="")
    results = tuple(
        msgspec.structs.replace(result, findings=(found,)) if result.client in {"h2", "h3"} else result
        for result in document.results
    )

    shown = told(run, msgspec.structs.replace(document, results=results), "cpu-contention")

    assert "a neighbour had the CPU" in shown
    assert "no sum has it; this is that of client h2 (and of 1 more)" in shown


# -- figures -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["four", "many"])
def test_every_figure_of_clients_is_one_of_vega_lite(which: str, request: pytest.FixtureRequest) -> None:
    run, document = request.getfixturevalue(which)

    figures = list(clients_figures(run, document))

    assert {figure.slug for figure in figures} == {
        "clients-fairness", "clients-starts", "clients-01-4-kib-random-read", "clients-02-8-kib-random-write",
    }  # fmt: skip
    for figure in figures:
        vega.check(figure)
        assert figure.caption
        assert figure.alt_text
        assert figure.table.rows


def test_a_run_of_one_client_has_no_such_figure(four: tuple[RunRecord, Document]) -> None:
    run, document = four
    own = record_of_client(run, "h1")

    assert list(clients_figures(own, of_client(document, "h1"))) == []
    assert not any(figure.slug.startswith("clients") for figure in all_figures(own, of_client(document, "h1")))


def test_pictures_are_of_the_sums_and_the_clients_together(four: tuple[RunRecord, Document]) -> None:
    run, document = four

    slugs = [figure.slug for figure in all_figures(run, document)]

    assert slugs[:4] == [
        "clients-fairness", "clients-01-4-kib-random-read", "clients-02-8-kib-random-write", "clients-starts",
    ]  # fmt: skip
    assert len(slugs) - 4 == len(list(all_figures(record_of_client(run, "h1"), of_client(document, "h1"))))


def test_the_map_of_clients_holds_all_that_each_did_on_one_clock(four: tuple[RunRecord, Document]) -> None:
    run, document = four
    for index, sum_row in enumerate(sum_rows(document)):
        found = client_rows(run, sum_row)

        assert found is not None
        assert found.names == tuple(RATES)
        done = (found.rates * np.diff(found.edges_s)).sum(axis=1)
        assert done.tolist() == pytest.approx([rates[index] * SECONDS for rates in RATES.values()])
        assert found.rates == pytest.approx(np.array([[rates[index]] * SECONDS for rates in RATES.values()]), rel=0.02)


def test_a_stall_of_a_client_stays_empty_in_its_row() -> None:
    begins, ends = np.array([0, 10, 40]), np.array([10, 20, 50])

    done = done_by(begins, ends, np.array([5, 5, 8]), np.array([0, 10, 15, 20, 30, 40, 45, 60]))

    assert done.tolist() == [0, 5, 7.5, 10, 10, 10, 14, 18]


def test_operations_that_end_in_the_same_interval_count_together() -> None:
    begins, ends = np.array([0, 0, 10]), np.array([10, 10, 20])

    assert done_by(begins, ends, np.array([5, 6, 1]), np.array([0, 5, 10, 20])).tolist() == [0, 5.5, 11, 12]


@pytest.mark.long
def test_a_map_of_a_thousand_clients_has_bounded_cells_and_keeps_the_sum(many: tuple[RunRecord, Document]) -> None:
    run, document = many
    first = sum_rows(document)[0]

    found = client_rows(run, first)

    assert found is not None
    assert found.rates.shape[0] == client_rates.MOST_ROWS
    assert found.rates.size <= MOST_CELLS
    assert found.most_of_a_row == MANY // client_rates.MOST_ROWS
    done = (found.rates * np.diff(found.edges_s)).sum() * found.most_of_a_row
    assert done == pytest.approx(sum(10 + i % 10 for i in range(MANY)) * SECONDS)
    assert (np.diff(found.rates.mean(axis=1)) >= -1e-9).all()  # the slowest on top


def test_a_lost_client_has_a_cross_where_it_was_lost(four: tuple[RunRecord, Document]) -> None:
    run, document = four
    first, second = (figure for figure in client_rates.draw(run, document))

    assert f"{LOST_S:g},2" in str(first.chart.to_dict()["datasets"])
    assert "h3 was lost" in first.alt_text
    assert "A cross: the client was lost." in first.caption
    assert "was lost" not in second.alt_text + second.caption


def test_who_shares_a_row_with_others_has_a_cross_in_it(many: tuple[RunRecord, Document]) -> None:
    run, document = many
    # By their rates n0000 is in the first row of five, and n0999 in the last.
    document = with_lost(document, {"n0000": (2.0, "x"), "n0999": (3.0, "y")})
    first, _ = client_rates.draw(run, document)

    assert "t_s,row\n2,0\n3,199" in str(first.chart.to_dict()["datasets"]).replace("\\n", "\n")
    assert "A cross: a client of that row was lost." in first.caption
    assert "n0000, n0999 were lost" in first.alt_text


def test_words_of_the_figures_name_the_slow_and_the_late(four: tuple[RunRecord, Document]) -> None:
    run, document = four
    (even,), (starts,) = fairness.draw(run, document), start_skew.draw(run, document)

    assert "25.0 (h4) to 120 IOPS (h2): 4.80 times, Jain 0.849; straggler h4" in even.alt_text
    assert "skew p50 60.0 µs, max 60.0 µs ± 10.0 µs in p0, last h4; 2 phases" in starts.alt_text
    assert starts.table.rows[0] == (
        "p0", "4", "60.0 µs", "± 10.0 µs", "h1, 20.0 µs ± 5.00 µs", "h4, 80.0 µs ± 5.00 µs",
    )  # fmt: skip


@pytest.mark.parametrize("draw", [fairness.draw, start_skew.draw])
def test_of_a_thousand_clients_some_are_drawn_with_both_ends(
    many: tuple[RunRecord, Document], draw: Callable[[RunRecord, Document], Iterator[Figure]]
) -> None:
    run, document = many
    (figure,) = draw(run, document)
    rows = [row for data in figure.chart.to_dict()["datasets"].values() for row in data]
    points = [row for row in rows if row.get("row") == 0 and "client" in row]

    assert len(points) == 50
    if draw is start_skew.draw:
        assert {"n0000", "n0999"} <= {point["client"] for point in points}
    else:
        assert (min(p["by"] for p in points), max(p["by"] for p in points)) == pytest.approx((10 / 14.5, 19 / 14.5))


# -- the page ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_page_has_cards_of_the_sums_and_one_section_of_clients(four: tuple[RunRecord, Document]) -> None:
    html = page(*four)

    assert html.count('<details class="card"') == len(TITLES)
    section = html[html.index('id="clients"') :]
    section = section[: section.index("</section>")]
    rows = re.findall(r'<tr><th scope="row">(\w+)', section)
    assert rows[: len(RATES) + 1] == [*RATES, OBSERVER]
    assert "Lost: 3 of 4 clients since 4.00 s: h3, socket closed." in section
    assert 'data-by="25"' in section
    assert '<a href="#clients">' in html


def test_trust_and_limits_of_a_client_are_of_all_that_it_did(
    four: tuple[RunRecord, Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, document = four
    monkeypatch.setattr(clients_section, "MOST_SUMS", 1)
    bad = Trust(level=TrustLevel.NO, reasons=())
    full = Limiter(
        verdict=Bottleneck.NETWORK_BANDWIDTH, confidence=Confidence.HIGH, evidence=(), headroom=None, remedy=""
    )
    results = tuple(
        msgspec.structs.replace(result, trust=bad, limiter=full)
        if (result.client, result.phase) == ("h2", "p1")
        else result
        for result in document.results
    )

    section = clients_section.clients_section(run, msgspec.structs.replace(document, results=results))

    table = section[section.index("<tbody>") : section.index("</tbody>")]
    rows = {name: row for row in table.split("<tr>") for name in re.findall(r'^<th scope="row">(\w+)', row)}
    assert TITLES[1] not in section[section.index("<thead>") : section.index("</thead>")]
    assert f">{TrustLevel.NO.value}<" in rows["h2"]
    assert f">{limit_words(next(r for r in results if r.limiter is full))}<" in rows["h2"]
    assert f">{TrustLevel.NO.value}<" not in rows["h1"]


def test_the_page_of_one_client_has_no_section_of_clients(four: tuple[RunRecord, Document]) -> None:
    run, document = four

    html = page(record_of_client(run, "h1"), of_client(document, "h1"))

    assert 'id="clients"' not in html
    assert 'href="#clients"' not in html


def test_the_page_of_a_thousand_clients_is_bounded(many: tuple[RunRecord, Document]) -> None:
    html = page(*many)
    section = html[html.index('id="clients"') :]
    table = section[section.index("<tbody>") : section.index("</tbody>")]

    assert table.count("<tr>") == MOST_ROWS
    assert f"{MOST_ROWS} of 1,000 clients" in section
    assert len(html.encode()) < 2_500_000


def test_nothing_that_a_client_says_is_markup(four: tuple[RunRecord, Document]) -> None:
    run, document = four
    evil = "<script>alert(1)</script>\x1b[2J"
    clients = tuple(
        msgspec.structs.replace(client, hostname=evil, address=evil, lost_s=1.0, lost_reason=evil)
        for client in document.clients
    )
    document = msgspec.structs.replace(document, clients=clients)

    html, shown = page(run, document), printed(run, document, 80)
    table = "\n".join(clients_printed(document, 80))

    assert "<script>alert" not in html
    assert "\x1b" not in html + shown + table


# -- tables ------------------------------------------------------------------------------------------------------------


def test_exported_results_have_every_client_and_the_series_are_the_clients_own(
    four: tuple[RunRecord, Document],
) -> None:
    made = tables(*four)

    assert made[RESULTS]["client"].to_list() == [None, None, *(name for name in RATES for _ in TITLES)]
    assert made[OVER_TIME]["label"].unique().sort().to_list() == ["p0/read", "p1/read"]
    for name, schema in OF_CLIENTS.items():
        assert dict(made[name].schema) == dict(schema)
    done = made[CLIENTS_OVER_TIME].group_by("client", "label", maintain_order=True).agg(pl.col("ops").sum())
    assert done["ops"].to_list() == [rate * SECONDS for rates in RATES.values() for rate in rates]
    # On one clock: the clients' own are 100 s apart.
    assert made[CLIENTS_OVER_TIME]["t_s"].min() == 1.0
    assert made[CLIENTS_OVER_TIME]["t_s"].max() == SECONDS
    lost = made[CLIENTS].filter(pl.col("lost_s").is_not_null())
    assert lost.select("client", "lost_s", "lost_reason").rows() == [("h3", LOST_S, "socket closed")]
    assert made[STARTS].select("phase", "client", "late_ns").row(1) == ("p0", "h2", 40_000)


class Scanned(tuple[ClientRecord, ...]):
    """Members that count how often somebody goes through them."""

    __slots__ = ()
    times = 0

    def __iter__(self) -> Iterator[ClientRecord]:
        """Count it."""
        type(self).times += 1
        return super().__iter__()


def test_nobody_goes_through_all_clients_for_each_of_their_results(many: tuple[RunRecord, Document]) -> None:
    run, document = many
    recordings = OwnRecordings(dataclasses.replace(run, members=Scanned(run.members)))
    own = [result for result in document.results if result.client is not None]

    later_s = [recordings.later_s(result) for result in own]

    assert len(own) == MANY * len(TITLES)
    assert set(later_s) == {0.0}
    assert Scanned.times == 1


def test_a_run_of_one_client_has_no_tables_of_clients(four: tuple[RunRecord, Document]) -> None:
    run, document = four

    made = tables(record_of_client(run, "h1"), of_client(document, "h1"))

    assert not made.keys() & OF_CLIENTS.keys()


def test_the_workbook_has_a_sheet_of_clients_and_a_summary_of_sums(four: tuple[RunRecord, Document]) -> None:
    sheets = {sheet.name: sheet for sheet in run_sheets(*four)}

    assert len(sheets["Summary"].rows) == len(TITLES)
    assert len(sheets["Clients"].rows) == len(RATES) + 1


def test_the_page_of_the_tables_names_every_column_of_clients() -> None:
    words = (Path(__file__).parents[2] / "docs/reference/tables.md").read_text()

    assert [name for schema in OF_CLIENTS.values() for name in schema if f"`{name}`" not in words] == []
    assert [name for name in OF_CLIENTS if name not in words] == []


# -- clients that did not work together --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def apart() -> tuple[RunRecord, Document]:
    """Two clients, the second of which was done after half of the time of the first."""
    job = one_plan(plan.Phase(name="p", title="reads", jobs=(one_job(),)))
    runs = [
        SyntheticRun(job).phase([steady_stream(per_s=per_s, seconds=s, latency_ns=10**6)], seconds=s).end()
        for per_s, s in ((100, 10), (400, 5))
    ]
    run = read(MemorySet(job, [Client(f"h{i}", one) for i, one in enumerate(runs, 1)]))
    return run, work_out(run)


def test_where_there_is_no_sum_no_rate_of_all_is_shown(apart: tuple[RunRecord, Document]) -> None:
    run, document = apart
    out = console(160)

    shown = printed(run, document, 160)
    render_clients(document, out)
    each = out.file.getvalue()  # type: ignore[attr-defined]
    html = page(run, document)

    assert "no sum   row 1: all were at work together for too short a time" in shown
    assert not re.search(r"Jain|straggler|times", shown[shown.index("clients ") :].split("starts")[0])
    assert "no sum, each by itself of 2 clients" in each
    rows = [line.split()[:4] for line in each.splitlines() if re.match(r"h[12] +\d+\.?\d* +n/a", line)]
    assert rows == [["h1", "100", "n/a", "n/a"], ["h2", "400", "n/a", "n/a"]]
    assert "Jain" not in html
    assert "no sum" in html
    assert all(figure.slug != "clients-fairness" for figure in clients_figures(run, document))
    for figure in clients_figures(run, document):
        vega.check(figure)
    assert tables(run, document)[RESULTS]["iops"].to_list()[0] is None
    assert "no sum" in "\n".join(line.plain for line in story(document, run, "1", 100))
    assert in_short(document) == "Sum of 2 clients; no sum in row 1: no common time."
    assert why_not(document.results[0]).startswith("workers apart")
    found = compare([Arm.of("a", [document]), Arm.of("b", [document])])
    assert not any(row.metric == "iops" and row.a.values for row in found.against[0].rows)
    assert run_sheets(run, document)


# -- comparisons -------------------------------------------------------------------------------------------------------


def test_comparisons_are_of_sums_and_say_what_they_leave_out(four: tuple[RunRecord, Document]) -> None:
    _, document = four
    faster = set_run({name: (2 * first, second) for name, (first, second) in RATES.items()})[1]
    again = msgspec.structs.replace(faster, run=msgspec.structs.replace(faster.run, id="another"))

    found = compare([Arm.of("a", [document]), Arm.of("b", [again])])

    (against,) = found.against
    rates = [row for row in against.rows if row.metric == "iops"]
    assert [row.label for row in rates] == ["p0/read", "p1/read"]
    assert [len(row.a.values) for row in rates] == [1, 1]
    assert found.clients == {"a": (4,), "b": (4,)}
    assert found.own_left_out == 2 * len(RATES) * len(TITLES)
    lines = list(comparison_text.lines(found, [[]], []))
    assert "clients  A 4, B 4: their sums are compared; 16 results of single clients are left out" in lines


def test_a_comparison_of_runs_of_one_client_says_nothing_of_clients() -> None:
    _, document = quick_run()
    again = msgspec.structs.replace(document, run=msgspec.structs.replace(document.run, id="another"))

    found = compare([Arm.of("a", [document]), Arm.of("b", [again])])

    assert not any(line.startswith("clients") for line in comparison_text.lines(found, [[]], []))
