"""Sizes, times and rates as people write and read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import units
from assay.errors import InputError


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("4KiB", 4096), ("1 MiB", 1048576), ("2GiB", 2147483648), ("1.5KiB", 1536), ("512B", 512), ("4096", 4096)],
)
def test_sizes_are_binary(text: str, size_bytes: int) -> None:
    assert units.parse_bytes(text) == size_bytes


@pytest.mark.parametrize("text", ["4k", "4K", "4KB", "4kb"])
def test_a_size_that_could_mean_1000_or_1024_is_refused_with_the_spelling_that_is_meant(text: str) -> None:
    with pytest.raises(InputError, match=r"write 4KiB \(binary: 1 KiB is 1024 bytes\)"):
        units.parse_bytes(text)


@pytest.mark.parametrize("text", ["", "KiB", "-1", "1e3", "4 KiB MiB", "0x10", "٤KiB", "1.1B"])
def test_what_is_no_size_is_refused_by_name(text: str) -> None:
    with pytest.raises(InputError, match=f"'{text}'"):
        units.parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("5s", 5.0), ("2min", 120.0), ("1h", 3600.0), ("250us", 0.00025), ("0.1s", 0.1), ("3", 3.0)],
)
def test_durations_are_exact(text: str, seconds: float) -> None:
    assert units.parse_seconds(text) == seconds


def test_a_month_is_no_unit_of_time() -> None:
    with pytest.raises(InputError, match="use ns, us, ms, s, min or h"):
        units.parse_seconds("1m")


def test_rates_are_per_second() -> None:
    assert units.parse_rate_per_s("1000/s") == 1000.0
    assert units.parse_rate_per_s("90/min") == 1.5
    assert units.parse_bytes_per_s("100MiB/s") == 104857600.0


@pytest.mark.parametrize("text", ["1000/", "1000/day", "10KiB/s"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=f"'{text}'"):
        units.parse_rate_per_s(text)


@given(st.integers(min_value=0, max_value=1 << 50))
def test_a_printed_size_reads_back_within_its_three_digits(size_bytes: int) -> None:
    assert units.parse_bytes(f"{size_bytes}B") == size_bytes
    number, unit = units.format_bytes(size_bytes).split(" ")

    assert float(number) * units.parse_bytes(f"1{unit}") == pytest.approx(size_bytes, rel=0.0051)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (850, "850 ns"),
        (999.6, "1.00 µs"),
        (12_345, "12.3 µs"),
        (1_020_000, "1.02 ms"),
        (5e9, "5.00 s"),
        (99_960_000, "100 ms"),
    ],
)
def test_durations_print_three_digits_and_their_unit(nanoseconds: float, text: str) -> None:
    assert units.format_ns(nanoseconds) == text


def test_rates_print_without_losing_small_ones() -> None:
    assert units.format_count(12_345) == "12.3k"
    assert units.format_count(998) == "998"
    assert units.format_count(0.25) == "0.25"
    assert units.format_mib_per_s(4096) == "0.004"
    assert units.format_mib_per_s(1023 * units.MIB) == "1023"
