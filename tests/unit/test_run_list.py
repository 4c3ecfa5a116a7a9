"""The list of runs: which are wanted, and how they read on terminals of any width."""

import datetime as dt
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len

from assay.bundle.catalog import SEALED, UNFINISHED, RunSummary
from assay.bundle.chosen import chosen, moment
from assay.bundle.kept_list import HeadRate
from assay.errors import InputError
from assay.report.in_one_line import outcome_of
from assay.report.run_list import lines, shortened, when
from assay.results import Document
from assay.verdicts import ServedBy, TrustLevel
from unit import quick_run

RUN = RunSummary(
    run_id="20261121T210058Z-random-read-45b625c7",
    name="baseline",
    tags=("nvme", "old"),
    note="",
    load="random read",
    command="assay run random-read /mnt/scratch",
    target="/mnt/scratch",
    targets=("/mnt/scratch",),
    started_utc="2026-11-21T21:00:58Z",
    seconds=60.0,
    state=SEALED,
    exit_code=0,
    head=HeadRate(label="p/read", title="reads", value=8233.4, unit="ops/s", measures="storage", trust="yes"),
    trust={"yes": 7, "weak": 2, "no": 0},
)


def like(**changes: object) -> RunSummary:
    return msgspec.structs.replace(RUN, **changes)


@pytest.fixture(autouse=True)
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[dt.datetime]:
    """Be nine hours ahead of UTC."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield dt.datetime(2026, 11, 24, 12, 0).astimezone()
    time.tzset()


# -- how they read -----------------------------------------------------------------------------------------------------


def test_a_pipe_gets_one_line_a_run_with_all_of_it(tokyo: dt.datetime) -> None:
    head, line = lines([RUN], None, tokyo)

    assert head.split() == ["RUN", "NAME", "TAGS", "LOAD", "TARGET", "WHEN", "RATE", "TRUST"]
    assert line == (
        "20261121T210058Z-random-read-45b625c7  baseline  nvme old  random read  /mnt/scratch  Nov 22 06:00  8,233 ops/s"
        "  7 yes 2 weak"
    )


def test_what_is_as_usual_has_no_column_and_the_rest_is_said(tokyo: dt.datetime) -> None:
    failed, died = like(exit_code=3), like(state=UNFINISHED, exit_code=None, head=None, trust=None)
    cached = like(head=HeadRate(label="r", title="r", value=8e3, unit="ops/s", measures="page_cache", trust="yes"))

    head, *rest = lines([failed, died, cached], None, tokyo)

    assert head.endswith("STATE")
    assert [line.split()[-1] for line in rest[:2]] == ["3", "unfinished"]
    assert "8,000 ops/s (page cache)" in rest[2]


LONG = like(
    run_id=f"20261121T210058Z-{'x' * 40}-45b625c7",
    name="n" * 64,
    tags=tuple(f"tag-{number}" for number in range(10)),
    load="l" * 60,
    target="/mnt/" + "directory/" * 20,
    exit_code=130,
)
WIDE = like(load="負荷" * 20, target="/mnt/" + "目録/" * 20)


@pytest.mark.parametrize("width", [80, 100])
def test_a_narrow_terminal_gets_two_lines_a_run_that_fit(tokyo: dt.datetime, width: int) -> None:
    for runs in ([LONG], [WIDE], [RUN, LONG, WIDE]):
        made = list(lines(runs, width, tokyo))

        assert len(made) == 2 * (1 + len(runs))
        assert max(map(cell_len, made)) <= width
        assert all(line == line.rstrip() for line in made)
        for run, first, second in zip(runs, made[2::2], made[3::2], strict=True):
            assert first.split()[0] == run.run_id
            assert "7 yes 2 weak" in second
            assert second.startswith("  ")


def test_a_wide_terminal_gets_one_line(tokyo: dt.datetime) -> None:
    assert len(list(lines([RUN, like(name=None)], 160, tokyo))) == 3


def test_the_middle_of_a_directory_gives_way() -> None:
    assert shortened("/mnt/scratch/very/long/data", 15) == "/mnt/sc…ng/data"
    assert shortened("/mnt/scratch", 12) == "/mnt/scratch"
    assert cell_len(shortened("目録目録目録", 7)) <= 7


def test_text_that_others_wrote_is_one_line_and_obeyed_by_nobody(tokyo: dt.datetime) -> None:
    hostile = like(load="a\nb\x1b[2J", target="x" * 100_000)

    made = list(lines([hostile, RUN], None, tokyo))

    assert len(made) == 3
    assert "\x1b" not in "".join(made)
    assert max(map(cell_len, made)) < 400


def test_when_is_local_time_and_as_short_as_it_can_be(tokyo: dt.datetime) -> None:
    assert when("2026-11-23T20:30:00Z", tokyo) == "05:30"
    assert when("2026-11-23T10:30:00Z", tokyo) == "Nov 23 19:30"
    assert when("2025-12-31T10:30:00Z", tokyo) == "2025-12-31"
    assert when("", tokyo) == ""


# -- which are wanted --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "is_wanted"),
    [
        ({}, True),
        ({"load": "random read"}, True),
        ({"load": "random*"}, True),
        ({"load": "random"}, False),
        ({"name": "base*"}, True),
        ({"name": "other"}, False),
        ({"tags": ["nvme", "o?d"]}, True),
        ({"tags": ["nvme", "new"]}, False),
        ({"target": "/mnt/scratch"}, True),
        ({"target": "/mnt/"}, True),
        ({"target": "/"}, True),
        ({"target": "/mnt/scr"}, False),
        ({"target": "/mnt/scratch/below"}, False),
        ({"since": "2026-11-22"}, True),
        ({"since": "2026-11-22T06:00:59"}, False),
        ({"since": "2026-11-21T21:00:59Z"}, False),
        ({"since": "3d"}, True),
        ({"since": "2d"}, False),
        ({"since": "54h"}, True),
        ({"since": "53h"}, False),
        ({"load": "random read", "since": "1min"}, False),
    ],
)
def test_a_run_is_wanted_where_it_is_all_that_was_asked_for(
    tokyo: dt.datetime, asked: dict[str, object], is_wanted: bool
) -> None:
    assert chosen(now=tokyo, **asked)(RUN) is is_wanted  # type: ignore[arg-type]


def test_a_directory_is_meant_by_a_link_to_it_too(
    tokyo: dt.datetime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)

    assert chosen(target="link", now=tokyo)(like(targets=("/other", str(tmp_path / "real"))))


def test_a_run_that_nobody_can_date_is_not_since_anything(tokyo: dt.datetime) -> None:
    assert not chosen(since="2000-01-01", now=tokyo)(like(started_utc=""))


@pytest.mark.parametrize("text", ["", "x", "2d3h", "-1d", "2m", "2026-13-01", "999999w", "٣d"])
def test_a_time_that_is_none_is_bad_input(tokyo: dt.datetime, text: str) -> None:
    with pytest.raises(InputError, match="is not a time; give a date such as 2026-11-24 or"):
        moment(text, tokyo)


# -- what stands for a run ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged() -> Document:
    """A run of many results."""
    return quick_run.quick_run()[1]


def with_results(judged: Document, *changes: dict[str, object]) -> Document:
    """Make of the first result one for each set of changes."""
    first = judged.results[0]
    made = (msgspec.structs.replace(first, label=f"p/{number}", **one) for number, one in enumerate(changes))
    return msgspec.structs.replace(judged, results=tuple(made))


def trust(level: str) -> object:
    from assay.results import Trust  # noqa: PLC0415

    return Trust(level=TrustLevel(level), reasons=())


MEMORY, STORAGE = ServedBy.PAGE_CACHE, ServedBy.STORAGE


@pytest.mark.parametrize(
    ("changes", "meant"),
    [
        ([("no", STORAGE, 9.0), ("weak", STORAGE, 1.0)], "p/1"),
        ([("weak", STORAGE, 9.0), ("yes", MEMORY, 1.0)], "p/1"),
        ([("yes", MEMORY, 9.0), ("yes", STORAGE, 1.0)], "p/1"),
        ([("yes", STORAGE, 1.0), ("yes", STORAGE, 9.0)], "p/1"),
        ([("no", STORAGE, 1.0)], "p/0"),
    ],
)
def test_the_rate_that_stands_for_a_run_is_the_most_trusted_and_of_storage(
    judged: Document, changes: list[tuple[str, ServedBy, float]], meant: str
) -> None:
    made = with_results(
        judged,
        *(
            {"trust": trust(level), "measures": measures, "throughput_bytes_per_s": rate, "committed": None}
            for level, measures, rate in changes
        ),
    )

    short = outcome_of(made)

    assert short.head is not None
    assert short.head.label == meant
    assert short.trust == {word: sum(level == word for level, *_ in changes) for word in ("yes", "weak", "no")}


def test_where_nothing_was_measured_no_rate_stands_for_the_run(judged: Document) -> None:
    assert outcome_of(with_results(judged)).head is None
    assert (
        outcome_of(with_results(judged, {"iops": None, "throughput_bytes_per_s": None, "committed": None})).head is None
    )
