"""Do buffers lie in huge pages where a load asks for it? Held against the kernel's own counts."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.command import MEASURED, Assay
from e2e.processes import engines_of, features_of, running
from testbed.host import need_root

pytestmark = [pytest.mark.testbed, pytest.mark.xdist_group("huge pages")]

POOL = Path("/sys/kernel/mm/hugepages/hugepages-2048kB")
SYSCTL = Path("/proc/sys/vm/nr_hugepages")
LOAD = """
name = "huge"
reserve = "1MiB"
[[file_set]]
name = "data"
size = "8MiB"
content = {{ stamped = {stamped} }}
[[phase]]
name = "read"
seconds = "{seconds}"
[[phase.job]]
huge_pages = true
{job}
op = {{ op = "read", set = "data", access = "random", size = "{size}" }}
"""
WAYS = {
    "psync": ("workers = 3", "4KiB", 3),
    "processes": ('as = "process"\nworkers = 3', "4KiB", 3),
    "read_write": ('backend = "read_write"', "64KiB", 1),
    "io_uring": ('backend = "io_uring"\nqueue_depth = 33\nworkers = 2', "64KiB", 4),
    "aio": ('backend = "aio"\ndirect = "if_supported"\nqueue_depth = 8', "1MiB", 4),
    "mmap": ('backend = "mmap"', "4KiB", 1),
    "stdio": ('backend = "stdio"', "4MiB", 2),
    "null": ('backend = "null"', "4KiB", 1),
}
"""Job, block size, and the huge pages that its buffers fill."""


@pytest.mark.parametrize("way", WAYS)
def test_the_kernel_gives_as_many_huge_pages_as_the_buffers_fill(way: str, tmp_path: Path) -> None:
    job, size, pages = WAYS[way]
    load, directory = tmp_path / "load.toml", tmp_path / "target"
    directory.mkdir()
    stamped = "true" if way in {"psync", "io_uring", "aio"} else "false"
    load.write_text(LOAD.format(seconds="1h", job=job, size=size, stamped=stamped))

    with _set_aside(pages) as free, running("run", load, directory, folder=tmp_path) as run:
        engine = run.engine_of_a_run(tmp_path / "runs")
        taken = free - _count("free_hugepages")
        mapped = sum(_bytes_in_huge_pages(pid) for pid in (engine, *engines_of(engine)))
        run.stop()
        run.exit_code()

    assert (taken, mapped) == (pages, pages << 21)
    (features,) = features_of(tmp_path / "runs")
    assert features[-1] == "huge pages"


def test_more_huge_pages_than_are_free_are_refused_before_data_is_laid_out(assay: Assay, tmp_path: Path) -> None:
    load, directory = tmp_path / "load.toml", tmp_path / "target"
    directory.mkdir()
    job = 'backend = "io_uring"\nworkers = 64\nqueue_depth = 1024'
    load.write_text(LOAD.format(seconds="1s", job=job, size="1MiB", stamped="true"))
    free, there, needed = _count("free_hugepages") - _count("resv_hugepages"), _count("nr_hugepages"), 64 * 1024 // 2

    done = assay("run", load, directory, check=3)

    said = " ".join(done.stderr.split())
    assert f"needs {needed} huge pages of 2 MiB (job 'read': workers 64 x queue_depth 1024 x 1 MiB)" in said
    assert f"and {free} are free" in said
    assert f"sysctl vm.nr_hugepages={there + needed - free}." in said
    assert list(directory.iterdir()) == []


def test_repeats_reruns_and_clients_have_huge_pages_too(assay: Assay, tmp_path: Path) -> None:
    load, directory = tmp_path / "load.toml", tmp_path / "target"
    directory.mkdir()
    load.write_text(LOAD.format(seconds="1s", job="", size="4KiB", stamped="true"))

    with _set_aside(2):
        assay("run", load, directory, "--repeat", "2", "--json", check=MEASURED)
        assay("rerun", "last", "--json", check=MEASURED)
        assay("run", load, directory, "--hosts", "local:2", "--json", check=MEASURED)

    assert features_of(assay.runs) == [["huge pages"]] * (2 + 2 + 2)


@contextmanager
def _set_aside(pages: int) -> Iterator[int]:
    """Set so many more huge pages aside; give how many are free then."""
    need_root()
    before = SYSCTL.read_text()
    if not POOL.is_dir():
        pytest.skip("this kernel has no huge pages of 2 MiB")
    try:
        SYSCTL.write_text(str(int(before) + pages))
        if _count("nr_hugepages") < int(before) + pages:
            pytest.skip("no memory is left in one piece for huge pages")
        yield _count("free_hugepages")
    finally:
        SYSCTL.write_text(before)


def _count(name: str) -> int:
    return int((POOL / name).read_text())


def _bytes_in_huge_pages(pid: int) -> int:
    """Bytes of a process's mappings whose pages have 2 MiB."""
    mappings = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path(f"/proc/{pid}/smaps").read_text(), flags=re.MULTILINE)
    huge = [text for text in mappings if re.search(r"^KernelPageSize: +2048 kB$", text, re.MULTILINE)]
    sizes = [re.search(r"^Size: +(\d+) kB$", text, re.MULTILINE) for text in huge]
    return sum(int(size[1]) << 10 for size in sizes if size)
