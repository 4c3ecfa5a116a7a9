"""Words of a tool that no run could carry out are refused, and the largest that one could make a Plan in little memory."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.errors import InputError
from assay.tools import registry

DIGITS = "9" * 5000
MOST_BYTES = 3 << 30


@pytest.fixture(autouse=True)
def _bounded() -> Iterator[None]:
    """What is not refused runs out of address space, and takes no machine with it."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MOST_BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize(
    ("tool", "words", "said"),
    [
        ("bonnie", ["-x", "100000000"], "bonnie -x '100000000': the limit is 1538"),
        ("bonnie", ["-x", DIGITS], "it must be a whole number"),
        ("bonnie", ["-s", "4398046511105"], "the limit is 4398046511104"),
        ("bonnie", ["-s", "100:8k:10:16385"], "the limit is 16384"),
        ("bonnie", ["-n", "4194305"], "the limit is 4194304"),
        ("bonnie", ["-p", "32768"], "the limit is 32767"),
        ("bonnie", ["-z", DIGITS], "it must be a whole number"),
        ("bonnie", [f"-f{DIGITS}"], "it must be a whole number"),
        ("postmark", ["set number 2000000000"], "invalid number of files (2000000000; the limit is 10000000)"),
        ("postmark", [f"set number {DIGITS}"], "invalid number of files"),
        ("postmark", ["set transactions 2000000000"], "the limit is 100000000"),
        ("postmark", ["set subdirectories 2000000000"], "the limit is 1000000"),
        ("postmark", ["set location /a 2000000000"], "the limit is 10000"),
        ("vxbench", ["-w", "read", "-i", f"iocount={DIGITS}", "f"], "give a whole number between 1 and"),
        ("vxbench", ["-w", "read", "-i", f"iosize={DIGITS}k", "f"], "give a size in bytes"),
        ("vxbench", ["-w", "sleep,read", "-i", "sleeptime=9e18", "f"], "up to a year"),
        ("vxbench", ["-w", "sleep,read", "-i", "sleeptime=inf", "f"], "up to a year"),
        ("iozone", ["-s", DIGITS], "write a number of KiB"),
        ("iozone", ["-s", "9999999999999g"], "the limit is 4 EiB"),
        ("iozone", ["-H", "32769"], "write a whole number from 0 to 32768"),
        ("iozone", ["-P", "8192"], "write a whole number from 0 to 8191"),
        ("iozone", ["-+q", "31622401"], "write a whole number from 0 to 31622400"),
        ("iozone", ["-J", DIGITS], "write a whole number from 0 to"),
        ("perfpl", ["4096", "1", "4294967297", "1", "1"], "TOTALFILES is 4294967297; the limit is 4294967296"),
        ("perfpl", ["1073741824", "4611686018427387904", "1", "1", "1"], "the limit is 4 EiB"),
        ("perfpl", ["4096", DIGITS, "1", "1", "1"], "BLOCKSPERFILE is"),
        ("vdbench", ["-t", "--size", DIGITS], "write bytes, or with k, m, g or t behind them"),
        ("vdbench", ["-t", "+", "forthreads=(1-99999999,1)"], "the range has more than 1000 values"),
        (
            "vdbench",
            ["-t", "+", "forthreads=(1-999,1)", "foriorate=(1-9,1)"],
            "its loops make 8991 runs; the limit is 1000",
        ),
        ("vdbench", ["-tf", "+", f"forfiles={DIGITS}"], "write a whole number from 1 to 4294967296"),
        ("vdbench", ["-t", "-e", DIGITS], "write whole seconds up to a year"),
        ("bigdir", ["4294967297"], "COUNT is 4294967297; the limit is 4294967296"),
        ("bigdir", [DIGITS], "COUNT is"),
    ],
)
def test_what_is_beyond_the_limits_is_refused_in_a_line(tool: str, words: list[str], said: str) -> None:
    with pytest.raises(InputError) as refused:
        registry.front_end(tool).parse(words)

    assert said in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("vxbench", ["-w", "read", "-i", "nrep=1073741824", "f"]),
        ("bigdir", ["4294967296"]),
        ("perfpl", ["1", "1", "4294967296", "1", "1000"]),
        ("iozone", ["-t", "16384", "-s", "4503599627370495k"]),
        ("bonnie", ["-d", ".", "-u", "root", "-r", "0", "-s", "4398046511104", "-n", "0"]),
        ("bonnie", ["-d", ".", "-u", "root", "-r", "0", "-s", "100t", "-n", "0", "--format", "1.03"]),
        ("bonnie", ["-d", ".", "-u", "root", "-r", "0", "-s", "0", "-n", "4194304:1073741824:0:99999"]),
        ("postmark", ["set subdirectories 1000000", "set number 10"]),
        ("postmark", ["set read 2147483647", "set write 2147483647"]),
    ],
)
def test_the_largest_words_make_a_plan(
    tool: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    front_end = registry.front_end(tool)

    made = front_end.to_plan(front_end.parse(words), front_end.origin(words), tmp_path)

    assert made.phases
    assert front_end.settings_of(made) is not None


@pytest.mark.parametrize("tool", [name for name in registry.TOOLS if name != "postmark"])
@pytest.mark.parametrize("word", ["1", "-1", "--sync", "-i"])
def test_thousands_of_words_are_refused_before_they_are_taken_apart(tool: str, word: str) -> None:
    with pytest.raises(InputError, match=r"these are 30000 words; \d+ are the most"):
        registry.front_end(tool).parse([word] * 30_000)
