"""Every reader of what others wrote takes it or refuses it in words: 500 changed inputs each, more by `make prove`.

The files of a forged bundle get 500 together, those of one that was never sealed as well: what is not refused is worked
out as far as a command would.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzzing.harness import LONGEST_CASE_S, FaultError, Fuzzer
from unit.fuzz_readers import READERS


@pytest.fixture(scope="module")
def fuzzer() -> Iterator[Fuzzer]:
    """Processes that every reader is tried in."""
    with Fuzzer("unit.fuzz_readers") as made:
        yield made


@pytest.mark.parametrize("name", READERS)
@pytest.mark.long
def test_a_changed_input_is_taken_or_refused_in_words(name: str, fuzzer: Fuzzer) -> None:
    tally = fuzzer.fuzz(name)

    sys.stdout.write(f"{name}: {tally.tried} tried, {tally.taken} taken, {tally.peak_bytes >> 20} MiB\n")
    # Else nothing but the first refusal would have been tried, or nothing been changed.
    assert 0 < tally.taken < tally.tried


@pytest.mark.parametrize("name", READERS)
def test_what_is_changed_is_taken_as_it_is(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader = READERS[name]

    for sample in reader.samples:
        reader.read(sample)


# -- what the fuzzer itself can find -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted() -> Iterator[Fuzzer]:
    """Processes for the readers with faults."""
    with Fuzzer("unit.planted_readers") as made:
        yield made


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raises", "OverflowError: planted"),
        ("dies", "the process died: SIGABRT"),
        ("hangs", "no answer within 0.2 s"),
        ("swells", "bytes of memory"),
    ],
)
def test_a_planted_fault_is_found_with_its_input(name: str, said: str, planted: Fuzzer) -> None:
    with pytest.raises(FaultError) as found:
        planted.fuzz(name, cases=5000, seed=1, longest_case_s=0.2 if name == "hangs" else LONGEST_CASE_S)

    first, _, shown = str(found.value).partition("\n")
    sys.stdout.write(f"{first}\n{shown[:200]}\n")
    assert said in first
    word = {"raises": "4294967296", "dies": "ud800", "hangs": "${x}", "swells": "18446744073709551615"}[name]
    assert word in shown


def test_a_fault_leaves_the_fuzzer_able_to_work_on(planted: Fuzzer) -> None:
    with pytest.raises(FaultError):
        planted.fuzz("dies", cases=5000, seed=1)

    assert planted.fuzz("sound", cases=100).taken == 100


def test_the_same_seed_gives_the_same_cases_and_another_one_others() -> None:
    reader = READERS["load file"]

    def cases(seed: int) -> list[bytes]:
        return [reader.case(number, seed) for number in range(50)]

    assert cases(1) == cases(1)
    assert len({*cases(1), *cases(2)}) > 80
