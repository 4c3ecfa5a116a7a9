"""What is asked of traces and shown of answers: columns, sizes of tables, means of windows and periods."""

import pytest

from assay.errors import InputError
from assay.workingset.cache_sizes import chosen, is_unlike, policy_rate, tier_mean, window_use
from assay.workingset.engine_answer import HitCurve, ServedShare, TierPeriod, UsedBlocks
from assay.workingset.trace_files import name_of
from assay.workingset.trace_question import parse_block, parse_columns, parse_tier


def served(blocks: int, hit: float) -> ServedShare:
    return ServedShare(blocks, hit, hit, None, hit, hit)


def period(accesses: int, alike: float | None, share: float | None) -> TierPeriod:
    return TierPeriod(0, accesses, alike, share, share, 1.0)


def test_columns_have_names_or_numbers_and_units() -> None:
    found = parse_columns("time=ts:ms,device=host:disk,op=3,offset=lba:512,length=a=b")

    assert found["time"] == {"name": "ts", "unit": 1_000_000}
    assert found["offset"] == {"name": "lba", "unit": 512}
    assert found["length"] == {"name": "a=b", "unit": 1}
    assert found["op"] == {"name": "3", "unit": 1}
    assert parse_columns("time=1,offset=2")["time"] == {"name": "1", "unit": 10**9}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "offset",
        "offset=",
        "where=1,offset=2",
        "offset=1,offset=2",
        "time=1",
        "offset=1:x",
        "offset=1:0",
        "time=1:h",
    ],
)
def test_columns_without_a_meaning_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--columns"):
        parse_columns(text)


def test_blocks_and_extents_have_bounds() -> None:
    assert parse_block("4KiB") == 4096
    assert parse_tier(0.1, "24h", "1GiB", 4096).period_s == 86_400
    for text in ("256", "3KiB", "2GiB"):
        with pytest.raises(InputError, match="--block"):
            parse_block(text)
    for extent, time, said in (("1KiB", "24h", "--extent"), ("5000", "24h", "--extent"), ("1GiB", "1s", "--period")):
        with pytest.raises(InputError, match=said):
            parse_tier(0.1, time, extent, 4096)


def test_a_table_has_doubled_sizes_and_the_largest() -> None:
    sizes = [served(blocks, blocks / 5000) for blocks in (1, 2, 3, 64, 74, 128, 512, 1024, 2048, 4096, 5000)]

    assert [one.blocks for one in chosen(sizes, 12)] == [64, 128, 512, 1024, 2048, 4096, 5000]
    assert [one.blocks for one in chosen(sizes, 4)] == [128, 1024, 4096, 5000]
    assert [one.blocks for one in chosen(sizes[:1], 4)] == [1]


def test_means_are_of_whole_windows() -> None:
    windows = UsedBlocks(60, [(0, 10.0), (2, 20.0), (3, 99.0)])

    use = window_use(windows, 200.0)

    assert use is not None
    assert (use.windows, use.mean, use.most) == (2, 15.0, 20.0)
    assert window_use(windows, 59.0) is None


def test_the_mean_of_periods_is_by_accesses_and_leaves_the_first_out() -> None:
    mean = tier_mean([period(100, None, None), period(300, 0.9, 0.8), period(100, 0.4, 0.4)])

    assert mean is not None
    assert mean.periods == 2
    assert mean.devices == pytest.approx(0.7)
    assert [is_unlike(one) for one in (period(1, None, None), period(1, 0.5, 0.1), period(1, 0.49, 0.1))] == [
        False,
        False,
        True,
    ]
    assert tier_mean([period(100, None, None)]) is None


def test_few_blocks_are_simulated_as_a_whole_and_of_many_a_part() -> None:
    def curve(footprint: float) -> HitCurve:
        return HitCurve(1.0, 1, footprint, [served(1, 0.5)], [], None, [], windows_are_cut=False)

    assert policy_rate(curve(16_384)) == 1
    assert policy_rate(curve(1_638_400)) == 0.01


def test_a_trace_is_named_without_folder_and_compression() -> None:
    assert name_of("/a/b/w.vscsi.zst") == "w.vscsi"
    assert name_of("x\udcff.csv.gz") == "x?.csv"
