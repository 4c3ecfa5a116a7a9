"""Sizes, times and numbers as people write and read them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InputError
from assay.units import (
    BYTES_PER_UNIT,
    format_bytes,
    format_names,
    format_ns,
    format_number,
    format_percent,
    format_share,
    parse_bytes,
    parse_seconds,
    spell_out,
)


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
        ("4k", 4096),
        ("4K", 4096),
        ("256M", 268435456),
        ("1g", 1 << 30),
        ("1.5t", 3 << 39),
        ("4 Ki", 4096),
        ("4kib", 4096),
    ],
)
def test_a_size_is_read_in_binary_units(text: str, size_bytes: int) -> None:
    assert parse_bytes(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("4kB", r"write 4KiB \(4,096 bytes\), or 4000B"),
        ("4kb", r"write 4KiB"),
        ("256MB", r"write 256MiB \(268,435,456 bytes\), or 256000000B"),
        ("2GB", r"write 2GiB"),
        ("4b", r"'b' is not a unit of size"),
        ("4Kbit", r"'Kbit' is not a unit of size"),
        ("4 bananas", "use one of B, KiB, MiB, GiB, TiB"),
        ("KiB", "not a size"),
        ("-1", "not a size"),
        ("1e3", "'e' is not a unit|not a size"),
        ("", "not a size"),
        ("0.3KiB", "307.2 bytes"),
        ("0x10", "not a size"),
        ("٤KiB", "not a size"),
        ("4 KiB MiB", "not a size"),
    ],
)
def test_what_is_no_size_is_refused_with_the_right_spelling(text: str, cure: str) -> None:
    with pytest.raises(InputError, match=cure):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("256M", "256MiB"),
        ("4k", "4KiB"),
        ("1.5 g", "1.5GiB"),
        ("4KiB", "4KiB"),
        ("4MB", "4MB"),
        ("4096", "4096"),
        ("k", "k"),
    ],
)
def test_one_letter_is_shown_with_its_unit_in_full(text: str, shown: str) -> None:
    assert spell_out(text) == shown


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
        ("3", 3),
    ],
)
def test_a_time_is_read_in_seconds(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["5 sec", "5m", "-5s", "soon", "", "-1", "nan", "inf"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"unit of time|not a time"):
        parse_seconds(text)


@given(st.integers(0, 10**9))
def test_milliseconds_become_the_nearest_number_of_seconds(count: int) -> None:
    assert parse_seconds(f"{count}ms") == float(Fraction(count, 1000))


@given(st.integers(min_value=0, max_value=1 << 50))
def test_a_printed_size_reads_back_within_its_three_digits(size_bytes: int) -> None:
    assert parse_bytes(f"{size_bytes}B") == size_bytes
    number, unit = format_bytes(size_bytes).split(" ")

    assert float(number.replace(",", "")) * BYTES_PER_UNIT[unit] == pytest.approx(size_bytes, rel=0.0051)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "n/a"),
        (float("nan"), "n/a"),
        (0.0, "0"),
        (0.0000042, "4.2e-06"),
        (0.0042, "0.00420"),
        (0.01234, "0.0123"),
        (0.9999, "1.00"),
        (9.876, "9.88"),
        (99.96, "100"),
        (12_345.6, "12,346"),
        (999_999.4, "999,999"),
        (999_999.6, "1.00M"),
        (1_234_567.0, "1.23M"),
        (-12.34, "-12.3"),
    ],
)
def test_numbers_keep_three_digits_and_are_whole_from_100_on(value: float | None, text: str) -> None:
    assert format_number(value) == text


@given(st.floats(min_value=1e-3, max_value=9.9e8))
def test_a_printed_number_fits_a_column_of_the_terminal_and_is_right_to_half_a_per_cent(value: float) -> None:
    text = format_number(value)

    assert len(text) <= 7
    million = 1e6 if text.endswith("M") else 1.0
    assert float(text.rstrip("M").replace(",", "")) * million == pytest.approx(value, rel=0.005)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (None, "n/a"),
        (12.5, "12.5 ns"),
        (850, "850 ns"),
        (999.6, "1.00 µs"),
        (12_345, "12.3 µs"),
        (999_900, "1.00 ms"),
        (1_020_000, "1.02 ms"),
        (99_960_000, "100 ms"),
        (5e9, "5.00 s"),
        (6e10, "60.0 s"),
    ],
)
def test_durations_print_three_digits_and_their_unit(nanoseconds: float | None, text: str) -> None:
    assert format_ns(nanoseconds) == text


def test_shares_print_in_per_cent_with_one_decimal() -> None:
    assert format_percent(0.1234) == "12.3"
    assert format_share(1.0) == "100.0\N{NO-BREAK SPACE}%"
    assert format_share(None) == "n/a"


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, ""),
        (1, "h1"),
        (3, "h1, h2, h3"),
        (4, "h1, h2, h3, h4"),
        (5, "h1, h2, h3 and 2 more"),
        (1203, "h1, h2, h3 and 1,200 more"),
    ],
)
def test_of_many_names_the_first_are_told_and_the_others_counted(count: int, told: str) -> None:
    assert format_names([f"h{i}" for i in range(1, count + 1)]) == told
