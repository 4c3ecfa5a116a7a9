"""Which results lie on a surface, and where?"""

from pathlib import Path

from assay.analysis.two_sizes import SizePair, size_pairs
from assay.loads import native
from assay.plan import Plan
from assay.tools.iozone import FRONT_END
from assay.tools.iozone.options import parse
from assay.tools.iozone.plan import to_plan

KIB, MIB = 1 << 10, 1 << 20


def iozone(*words: str) -> Plan:
    return to_plan(parse(words), FRONT_END.origin(words), Path("/mnt"))


def load(text: str, repeat: int = 1) -> Plan:
    return native.parse(text, "load.toml", directory=Path("/mnt"), settings={}, repeat=repeat)


def test_every_cell_of_iozone_has_its_test_and_its_sizes() -> None:
    found = size_pairs(iozone("-a", "-n", "64k", "-g", "128k", "-i", "0", "-i", "1", "-i", "2", "-i", "5"))

    assert found["write-64-4/write"] == SizePair("write", 64 * KIB, 4 * KIB)
    assert found["random-read-128-32/random-read"] == SizePair("random read", 128 * KIB, 32 * KIB)
    read = {label: pair for label, pair in found.items() if label.endswith("/read")}
    assert len(read) == 5 + 6  # 64 KiB files have five record sizes, 128 KiB files six
    assert {pair.test for pair in read.values()} == {"read"}
    assert {"write", "rewrite", "read", "reread", "random read", "random write", "stride read"} <= {
        pair.test for pair in found.values()
    }
    # A first record that is not timed is in no result, and a flush moves no records.
    assert len({pair.test for pair in found.values() if "fsync" in pair.test}) == 0


SETS = """
[[file_set]]
name = "small"
files = 4
size = "1MiB"
[[file_set]]
name = "large"
files = 1
size = "16MiB"
[[file_set]]
name = "mixed"
files = 9
size = { kind = "uniform", min = "1KiB", max = "1MiB" }
"""


def phase(name: str, file_set: str, size: str, op: str = "read") -> str:
    return f"""
[[phase]]
name = "{name}"
stop = {{ bytes = "1MiB" }}
[[phase.job]]
op = {{ op = "{op}", set = "{file_set}", access = "random", size = "{size}" }}
"""


def test_phases_of_a_load_are_one_test_where_only_sizes_part_their_names() -> None:
    text = 'name = "sizes"' + SETS
    for file_set, file in (("small", "1m"), ("large", "16MiB")):
        for size in ("4KiB", "64KiB"):
            text += phase(f"scan {file} {size}", file_set, size)

    found = size_pairs(load(text, repeat=2))

    assert set(found.values()) == {
        SizePair("scan, read", file_bytes, record_bytes)
        for file_bytes in (MIB, 16 * MIB)
        for record_bytes in (4 * KIB, 64 * KIB)
    }
    # The repeats of a result are runs of one cell.
    assert len(found) == 4


def test_phases_that_differ_in_more_than_sizes_are_tests_of_their_own() -> None:
    text = 'name = "depths"' + SETS + phase("read-1", "small", "4KiB") + phase("read-32", "small", "4KiB")

    found = size_pairs(load(text))

    assert sorted(pair.test for pair in found.values()) == ["read-1: read", "read-32: read"]


def test_what_has_no_one_size_is_on_no_surface() -> None:
    text = 'name = "none"' + SETS + phase("mixed", "mixed", "4KiB")

    assert size_pairs(load(text)) == {}
