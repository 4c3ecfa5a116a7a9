"""Is the page about fio that of the pairs which the bench compares, and is a ratio what it says?"""

import math
import shlex

import pytest

from assay.loads.simple_load import simple_load
from bench.fio_pairs import PAIRS, Pair, assay_words, fio_words
from bench.from_fio import PAGE
from bench.from_fio_page import SEARCH
from bench.ratios import ratio


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_page_has_both_command_lines_and_what_was_measured(pair: Pair) -> None:
    page = PAGE.read_text()

    assert shlex.join(fio_words(pair, "/mnt/scratch", 20, compared=False)) in page
    assert shlex.join(assay_words(pair, "/mnt/scratch", 20)) in page
    assert f"\n| {pair.title} | " in page
    assert " ".join(pair.differs.split()) in " ".join(page.split())


def test_the_page_has_what_there_is_for_a_latency_target() -> None:
    assert f"\n{SEARCH}\n" in PAGE.read_text()


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_both_ask_for_the_same_block_depth_and_direction(pair: Pair) -> None:
    of_fio = dict(word.removeprefix("--").partition("=")[::2] for word in shlex.split(pair.fio))
    words = shlex.split(pair.assay)
    load = simple_load(
        read="--read" in words,
        write="--write" in words,
        mix=words[words.index("--mix") + 1] if "--mix" in words else None,
        random="--random" in words,
        bs=words[words.index("--bs") + 1],
        depth=words[words.index("--depth") + 1] if "--depth" in words else "1",
        workers=words[words.index("--workers") + 1] if "--workers" in words else "1",
        direct="--direct" in words,
    )

    assert load.is_random == ("rand" in of_fio["rw"])
    shares = {"read": 100, "randread": 100, "write": 0, "randwrite": 0, "randrw": int(of_fio.get("rwmixread", 50))}
    assert load.reads == shares[of_fio["rw"]]
    assert load.blocks_bytes == simple_load(bs=of_fio["bs"]).blocks_bytes
    assert load.depths == (int(of_fio.get("iodepth", 1)),)
    assert load.workers == int(of_fio.get("numjobs", 1))
    assert load.is_direct == (of_fio.get("direct") == "1")


def test_a_ratio_is_the_geometric_mean_with_students_interval() -> None:
    found = ratio([2.0, 4.0, 8.0], [1.0, 1.0, 1.0])

    # The logarithms to base 2 are 1, 2 and 3: mean 2, deviation 1, t(0.975, 2) = 4.3027.
    half = 4.302653 / math.sqrt(3)
    assert found.mean == pytest.approx(4)
    assert found.low == pytest.approx(2 ** (2 - half), rel=1e-5)
    assert found.high == pytest.approx(2 ** (2 + half), rel=1e-5)
