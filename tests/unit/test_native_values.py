"""Sizes and times as texts."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.frontends.values import BYTES_PER_UNIT, parse_bytes, parse_seconds


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("4KiB", 4096),
        ("4 KiB", 4096),
        (" 1MiB ", 1048576),
        ("1.5GiB", 1610612736),
        ("2TiB", 2199023255552),
        ("512B", 512),
        ("4096", 4096),
        ("0", 0),
        (4096, 4096),
        (4096.0, 4096),
    ],
)
def test_a_size_is_read_in_binary_units(text: str | float, size_bytes: int) -> None:
    assert parse_bytes(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("4k", r"write 4KiB \(4096 bytes\), or 4000"),
        ("4K", r"write 4KiB"),
        ("4kb", r"write 4KiB"),
        ("1M", r"write 1MiB \(1048576 bytes\), or 1000000"),
        ("2GB", r"write 2GiB"),
        ("4kib", r"'4kib': write 4KiB"),
        ("4 bananas", "use one of B, KiB, MiB, GiB, TiB"),
        ("KiB", "not a size"),
        ("-1", "not a size"),
        ("1e3", "'e' is not a unit|not a size"),
        ("", "not a size"),
        ("0.3KiB", "307.2 bytes"),
        (-1, "negative"),
        (0.5, "0.5 bytes"),
    ],
)
def test_what_is_no_size_is_refused_with_the_right_spelling(text: str | float, cure: str) -> None:
    with pytest.raises(ValueError, match=cure):
        parse_bytes(text)


@given(st.integers(0, 1 << 30), st.sampled_from(sorted(BYTES_PER_UNIT)))
def test_every_whole_number_of_a_unit_is_exact(count: int, unit: str) -> None:
    assert parse_bytes(f"{count}{unit}") == count * BYTES_PER_UNIT[unit]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("5s", 5),
        ("5 s", 5),
        ("2min", 120),
        ("1.5h", 5400),
        ("100us", 1e-4),
        ("10ns", 1e-8),
        ("0.25", 0.25),
        (3, 3),
    ],
)
def test_a_time_is_read_in_seconds(text: str | float, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["5 sec", "5m", "-5s", "soon", "", -1, float("nan"), float("inf")])
def test_what_is_no_time_is_refused(text: str | float) -> None:
    with pytest.raises(ValueError, match=r"unit of time|not a time"):
        parse_seconds(text)


@given(st.integers(0, 10**9))
def test_milliseconds_become_the_nearest_number_of_seconds(count: int) -> None:
    assert parse_seconds(f"{count}ms") == float(Fraction(count, 1000))
