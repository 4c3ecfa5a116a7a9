"""`assay workingset`: curves against caches that are simulated here, formats, compressed and piped traces, the page."""

import gzip
import json
import os
import re
import subprocess
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from e2e.browser import CHROMIUM, Page, browser
from e2e.command import COMMAND, Assay

ROOT = Path(__file__).parents[2]
MONTH = ROOT / "docs" / "examples" / "month-end.snia.csv.gz"
TUTORIAL = (ROOT / "docs" / "how-to" / "working-set.md").read_text(encoding="utf-8")
BLOCK = 4096
Keys = npt.NDArray[np.int64]
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH (Debian: apt-get install chromium)")


def answer_of(assay: Assay, *words: str | Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(assay("workingset", *words, "--json", check=0).stdout)
    return document


def write_objects(path: Path, keys: Keys) -> Path:
    """Write a trace as libCacheSim's oracleGeneral has it: 24 bytes a request."""
    fields = np.dtype([("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
    records = np.zeros(len(keys), dtype=fields)
    records["time"], records["object"], records["size"], records["next"] = np.arange(len(keys)) // 1000, keys, BLOCK, -1
    records.tofile(path)
    return path


def lru_hits(keys: Keys, blocks: int) -> float:
    """Simulate an LRU cache."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for key in keys.tolist():
        if key in cache:
            hits += 1
            cache.move_to_end(key)
        else:
            if len(cache) == blocks:
                cache.popitem(last=False)
            cache[key] = None
    return hits / len(keys)


def hot_tenth() -> Keys:
    """90 % of 200,000 accesses are on 4,000 of 40,000 blocks."""
    chance = np.random.default_rng(1)
    return np.where(
        chance.random(200_000) < 0.9, chance.integers(0, 4000, 200_000), chance.integers(4000, 40_000, 200_000)
    )


def zipf(blocks: int, accesses: int) -> Keys:
    """Draw blocks by Zipf's law with an exponent of 0.9."""
    chance = np.random.default_rng(2)
    weights = np.cumsum(np.arange(1, blocks + 1) ** -0.9)
    ranks = np.searchsorted(weights / weights[-1], chance.random(accesses))
    return chance.permutation(blocks)[np.minimum(ranks, blocks - 1)]


@pytest.mark.parametrize(
    ("keys", "sizes", "sampled"),
    [
        (hot_tenth, (100, 1000, 4000, 6000, 20_000), False),
        (lambda: zipf(20_000, 100_000), (50, 500, 5000, 20_000), False),
        (lambda: zipf(600_000, 400_000), (5000, 20_000, 100_000), True),
    ],
    ids=["a hot tenth", "Zipf", "Zipf of many"],
)
def test_a_curve_has_the_hits_of_simulated_caches(
    assay: Assay, tmp_path: Path, keys: Callable[[], Keys], sizes: tuple[int, ...], *, sampled: bool
) -> None:
    drawn = keys()
    trace = write_objects(tmp_path / "trace.bin", drawn)
    asked = [word for size in sizes for word in ("--size", str(size * BLOCK))]

    found = answer_of(assay, trace, *asked)

    assert (found["rate"] < 1) == sampled
    errors = [abs(one["hit_ratio"] - lru_hits(drawn, size)) for one, size in zip(found["asked"], sizes, strict=True)]
    assert sum(errors) / len(errors) <= 0.01, errors
    distinct = len(np.unique(drawn))
    assert found["footprint_bytes"] == pytest.approx(distinct * BLOCK, rel=4 / 8192**0.5 if sampled else 1e-9)
    assert found["best_hit_ratio"] == pytest.approx(1 - distinct / len(drawn), abs=0.01)
    ws90 = found["ws90"]["bytes"] / BLOCK
    assert lru_hits(drawn, round(1.1 * ws90)) > 0.9 * (1 - distinct / len(drawn)) > lru_hits(drawn, round(0.9 * ws90))


def test_a_loop_has_its_cliff_at_its_length(assay: Assay, tmp_path: Path) -> None:
    trace = write_objects(tmp_path / "loop.bin", np.arange(50_000, dtype=np.int64) % 10_000)

    found = answer_of(assay, trace, "--size", str(9_900 * BLOCK), "--size", str(10_200 * BLOCK))

    assert {one["hit_ratio"] for one in found["curve"] if one["bytes"] < 10_000 * BLOCK} == {0.0}
    assert found["asked"][1]["hit_ratio"] == 0.8
    assert found["ws90"]["bytes"] == pytest.approx(10_000 * BLOCK, rel=0.02)


def test_a_trace_is_the_same_plain_compressed_piped_and_as_a_csv(assay: Assay, tmp_path: Path) -> None:
    plain = tmp_path / "month-end.snia.csv"
    plain.write_bytes(gzip.decompress(MONTH.read_bytes()))
    subprocess.run(["zstd", "-q", plain], check=True)
    subprocess.run(["xz", "-k", plain], check=True)
    wanted = answer_of(assay, MONTH)
    columns = "time=1:100ns,device=3,op=4,offset=5,length=6"

    for path in (plain, f"{plain}.zst", f"{plain}.xz"):
        assert answer_of(assay, path) == wanted
    piped = subprocess.run(
        [COMMAND, "workingset", "-", "--json"], input=plain.read_bytes(), capture_output=True, check=True
    )
    by_columns = answer_of(assay, plain, "--columns", columns)
    assert {**json.loads(piped.stdout), "traces": wanted["traces"]} == wanted
    assert by_columns["curve"] == wanted["curve"]
    assert sorted(by_columns["devices"]) == ["0", "1", "2", "3"]


def test_traces_of_single_disks_are_one_load(assay: Assay, tmp_path: Path) -> None:
    # Requests at one time are in the order of the files: each gets a time of its own.
    whole = gzip.decompress(MONTH.read_bytes()).decode().splitlines(keepends=True)
    lines = [f"{int(line[:18]) + place}{line[18:]}" for place, line in enumerate(whole)]
    one = tmp_path / "one.csv"
    one.write_text("".join(lines))
    for disk in range(4):
        (tmp_path / f"{disk}.csv").write_text("".join(line for line in lines if line.split(",")[2] == str(disk)))

    together = answer_of(assay, *(tmp_path / f"{disk}.csv" for disk in range(4)), "--tier", "0.25")

    wanted = answer_of(assay, one, "--tier", "0.25")
    assert together["curve"] == wanted["curve"]
    of = [
        [(one["accesses"], one["devices"], one["cache"]) for one in found["tiers"]["periods"]]
        for found in (together, wanted)
    ]
    assert of[0] == of[1]


def test_a_tier_misses_the_month_end_and_a_cache_of_its_size_does_not(assay: Assay) -> None:
    tiers = answer_of(assay, MONTH, "--tier", "0.25")["tiers"]

    assert [one["is_unlike"] for one in tiers["periods"]] == [False] * 5 + [True]
    usual, month_end = tiers["like_the_one_before"], tiers["unlike_the_one_before"]
    assert usual["devices"] > 0.8
    assert month_end["devices"] < 0.1
    assert min(usual["cache"], month_end["cache"]) > 0.9
    assert month_end["devices"] < month_end["extents"] < month_end["cache"]


def test_policies_are_simulated_in_the_sizes_of_the_table(assay: Assay, tmp_path: Path) -> None:
    keys = hot_tenth()[:60_000]
    trace = write_objects(tmp_path / "trace.bin", keys)

    found = answer_of(assay, trace, "--policy", "all", "--size", str(3000 * BLOCK), "--size", str(12_000 * BLOCK))

    hits = found["policies"]["hit_ratios"]
    assert set(hits) == {"lru", "fifo", "lfu", "arc", "s3-fifo", "two-q"}
    assert found["policies"]["rate"] == 1
    assert hits["lru"] == pytest.approx([lru_hits(keys, 3000), lru_hits(keys, 12_000)])
    assert hits["lfu"][0] > hits["lru"][0] > hits["fifo"][0]


@pytest.mark.parametrize("words", [("--tier", "0.25"), ("--policy", "arc", "--size", "512KiB")])
def test_the_tutorial_shows_what_the_command_prints(assay: Assay, words: tuple[str, ...]) -> None:
    done = assay("workingset", MONTH.name, *words, cwd=MONTH.parent, env={"COLUMNS": "100"}, check=0)

    begin = TUTORIAL.index(f"$ assay workingset {MONTH.name} {' '.join(words)}")
    shown = [line.rstrip() for line in TUTORIAL[begin : TUTORIAL.index("```", begin)].splitlines() if line.strip()][1:]
    printed = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
    first = printed.index(shown[0])
    assert printed[first : first + len(shown)] == shown


def test_the_text_fits_into_80_columns(assay: Assay) -> None:
    done = assay(
        "workingset", MONTH, "--tier", "0.25", "--rate", "0.5", "--policy", "all", env={"COLUMNS": "80"}, check=0
    )

    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("missing",), "there is no file 'missing'"),
        (("/etc",), "is no regular file"),
        (("/etc/passwd",), "passwd: it is of no format that is known"),
        ((str(MONTH), "--format", "csv"), "needs the meaning of its columns"),
        ((str(MONTH), "--columns", "offset=5:lots"), "the unit of offset"),
        ((str(MONTH), "--columns", "time=1"), "offset is needed"),
        ((str(MONTH), "--block", "5000"), "--block 5000"),
        ((str(MONTH), "--size", "100"), "at least one block"),
        ((str(MONTH), "--exact", "--rate", "0.1"), "one of the two"),
        ((str(MONTH), "--rate", "0.001"), "take a larger share"),
        ((str(MONTH), "--policy", "best"), "--policy 'best'"),
        (("-", "--policy", "arc"), "standard input"),
        ((str(MONTH), "--tier", "0.1", "--period", "1s"), "--period 1s"),
        ((str(MONTH), "-o", "page.pdf"), ".html"),
    ],
    ids=lambda words: " ".join(words[-2:]) if isinstance(words, tuple) else "",
)
def test_what_is_no_trace_or_no_question_is_refused(assay: Assay, words: tuple[str, ...], said: str) -> None:
    done = assay("workingset", *words, check=2)

    assert done.stdout == ""
    assert said in done.stderr


def test_a_damaged_trace_is_refused(assay: Assay, tmp_path: Path) -> None:
    cut, lines = tmp_path / "cut.gz", tmp_path / "lines.csv"
    cut.write_bytes(MONTH.read_bytes()[:-2000])
    lines.write_bytes(gzip.decompress(MONTH.read_bytes()).replace(b",Read,", b",Look,", 3))

    damaged, other = assay("workingset", cut, check=2), assay("workingset", lines, check=2)

    assert "cut.gz" in damaged.stderr
    assert re.search(r"lines\.csv: .*(no format|neither Read nor Write)", other.stderr)


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (420, True)])
def test_the_page_is_drawn_and_silent(assay: Assay, tab: Page, tmp_path: Path, width: int, *, dark: bool) -> None:
    page = tmp_path / "page.html"
    assay("workingset", MONTH, "--tier", "0.25", "--policy", "all", "--rate", "0.5", "-o", page, check=0)
    tab.show(page, width=width, dark=dark)
    tab.open_all()

    assert tab.evaluate("document.querySelectorAll('.undrawn').length") == 0
    assert tab.evaluate("document.querySelectorAll('[data-spec]').length") == 3
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.requests() == [page.as_uri()]
    assert tab.messages() == []


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


def test_fio_s_own_log_is_a_trace(assay: Assay, tmp_path: Path) -> None:
    log = tmp_path / "log"
    subprocess.run(
        [
            "fio",
            "--name=a",
            f"--filename={tmp_path / 'data'}",
            "--rw=randrw",
            "--bs=8k",
            "--size=1m",
            f"--write_iolog={log}",
        ],
        check=True,
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": "C"},
    )

    found = answer_of(assay, log)

    assert found["traces"] == [{"name": "log", "format": "fio"}]
    assert found["reads"] + found["writes"] == 128
    assert found["footprint_bytes"] == 1 << 20
    assert found["devices"] == [str(tmp_path / "data")]
