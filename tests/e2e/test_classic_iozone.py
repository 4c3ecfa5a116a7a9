"""`assay iozone` on a real directory: its text, its files, and what is left when it is cut or the disk is full."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from e2e.command import COMMAND, TIMEOUT_S, Assay
from goldens import Goldens
from testbed.devices import MIB, small_ext4, tmpfs
from testbed.host import wait_until
from unit.test_worksheet import biff_cells

GOLDEN = Path(__file__).parent.parent / "golden" / "classic" / "iozone"
ORIGINAL = shutil.which("iozone")

OUTPUTS = {
    "matrix": "-Ra -g 256 -i 0 -i 1 -i 2 -i 3 -i 4 -i 5",
    "every-column": "-E -s 256 -r 16",
    "left-out": "-s 64 -s 128 -r 4 -r 64 -i 0 -i 3 -+n -O",
    "mapped": "-B -s 128 -r 32 -i 0 -i 1 -i 6 -R",
    "children": "-R -C -t 2 -s 256 -r 16 -i 0 -i 1 -i 2 -i 8 -x",
    "counts": "-l 1 -u 2 -T -s 128 -r 16 -i 0 -O",
}
"""Argument lists whose output was compared with that of IOzone 3.489, line by line."""


def masked(text: str) -> str:
    """Put marks of the same width in the place of measured numbers; a report's numbers have no width of their own.

    A rate that needs more than the ten characters of its field is printed in full, behind its one blank: it gets the
    mark of one that fits.
    """
    lines = text[text.index("Run began") :].splitlines()[1:]
    kept = [line for line in lines if not line.startswith(("Timer resolution", "reported inaccurate"))]
    return "".join(_masked_line(line) + "\n" for line in kept)


def _masked_line(line: str) -> str:
    if line.startswith("\t") and "=" in line and "Command line" not in line:
        fields = re.sub(r"= [0-9]{8,}\.[0-9]{2}(?![0-9])", "= 9999999.99", line)
        return re.sub(r"= +[0-9.]+", lambda found: "=" + "#" * (len(found[0]) - 1), fields)
    if line.startswith('"') and re.search(r'"  ? ?[0-9]', line):
        return re.sub(r"(?<=[ ])[0-9.]+(?=[ ])", "#", re.sub(r" +(?=[0-9])", " ", line))
    cells = re.fullmatch(r"( *[0-9]+ +[0-9]+)((?: *[0-9]+)+ *)", line)
    if cells and len(cells[1]) >= 24:
        return line[:24] + re.sub(r" *[0-9]+", lambda found: "#" * len(found[0]), line[24:])
    return line


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_output_is_the_recorded_one_but_for_the_numbers(
    name: str, assay: Assay, goldens: Goldens, tmp_path: Path
) -> None:
    done = assay("iozone", *OUTPUTS[name].split(), "--no-report", cwd=tmp_path)

    assert done.returncode in {0, 1}, done.stderr
    goldens.check(GOLDEN / f"{name}.txt", masked(done.stdout))


def test_a_rate_of_any_width_is_masked_and_a_field_of_another_form_is_not() -> None:
    line = "\tMax throughput per process \t\t\t={} kB/sec"
    marks = {rate: _masked_line(line.format(f" {rate:10.2f}")) for rate in (0.0, 9_999_999.99, 1e7, 1e12)}

    assert set(marks.values()) == {line.format("#" * 11)}
    for other in ("  10000000.00", " 10000000.000", "10000000.00", " 1.00"):
        assert _masked_line(line.format(other)) != line.format("#" * 11)


@pytest.mark.skipif(ORIGINAL is None, reason="IOzone is not in Debian's main archive; install iozone3 to compare")
@pytest.mark.parametrize("name", OUTPUTS)
def test_the_output_is_that_of_the_original_but_for_the_numbers(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(ORIGINAL), *OUTPUTS[name].split()], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert masked(done.stdout.replace(str(ORIGINAL), "iozone")) == (GOLDEN / f"{name}.txt").read_text()


def rows(text: str) -> list[list[int]]:
    return [[int(word) for word in line.split()] for line in text.splitlines() if re.fullmatch(r"( +[0-9]+)+ *", line)]


def test_every_number_is_bytes_by_time_of_the_calls(assay: Assay, tmp_path: Path) -> None:
    done = assay.measured("iozone", "-s", "4m", "-r", "64", "-i", "0", "-i", "1", "--no-report", cwd=tmp_path)
    document = json.loads(assay("show", "last", "--json").stdout)

    [[size, record, *values]] = rows(done.stdout)
    latencies = [result["ops"] * result["latency_ns"]["mean"] / 1e9 for result in document["results"]]
    assert (size, record) == (4096, 64)
    assert [result["operation"] for result in document["results"]] == ["write", "rewrite", "read", "reread"]
    assert [result["bytes"] for result in document["results"]] == [4 * MIB] * 4
    assert values == [pytest.approx(4096 / seconds, rel=1e-3, abs=2) for seconds in latencies]


def test_the_text_can_be_printed_again(assay: Assay, tmp_path: Path) -> None:
    done = assay.measured("iozone", "-s", "128", "-i", "0", "-R", "--no-report", cwd=tmp_path)

    assert assay("show", "last", "--classic", check=0).stdout == done.stdout


def test_the_worksheet_holds_what_the_report_prints(assay: Assay, tmp_path: Path) -> None:
    done = assay.measured("iozone", "-ab", "x.xls", "-g", "128", "-i", "0", "--no-report", cwd=tmp_path)

    cells = {(row, column): value for row, column, value in biff_cells((tmp_path / "x.xls").read_bytes())}
    assert cells[3, 0] == "Writer Report"
    assert [cells[4, 1 + i] for i in range(3)] == [4, 8, 16]
    assert [cells[5, i] for i in range(6)] == [64, *(row[2] for row in rows(done.stdout)[:5])]
    assert cells[7, 0] == "Re-writer Report"


def test_latency_files_have_a_line_for_each_record_and_are_appended_to(assay: Assay, tmp_path: Path) -> None:
    for _ in range(2):
        assay.measured("iozone", "-Q", "-s", "64", "-r", "16", "-i", "0", "--no-report", cwd=tmp_path)

    lines = (tmp_path / "wol.dat").read_text().splitlines()
    assert lines.count("Offset in kBytes   Latency in microseconds  Transfer size in bytes") == 2
    assert sorted(path.name for path in tmp_path.glob("*.dat")) == ["rwol.dat", "wol.dat"]
    told = [line.split() for line in lines if line.endswith(" 16384")]
    assert [int(offset_kib) for offset_kib, _, _ in told] == 2 * [0, 16, 32, 48]
    assert all(float(latency_us) >= 0 for _, latency_us, _ in told)


def test_a_file_that_was_left_serves_the_next_run_and_is_then_removed(assay: Assay, tmp_path: Path) -> None:
    assay.measured("iozone", "-w", "-s", "256", "-i", "0", "--no-report", cwd=tmp_path)
    left = tmp_path / "assay-data" / "iozone.tmp-262144"
    assert sum(path.stat().st_size for path in left.glob("f*")) == 256 << 10

    assay.measured("iozone", "-s", "256", "-i", "1", "--no-report", cwd=tmp_path)

    assert not (tmp_path / "assay-data").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-a", "-t", "2"], "exclude each other"),
        (["-i", "1"], "add -i 0"),
        (["-b", "missing/x.xls", "-i", "0"], "does not exist"),
        (["-Q", "-f", "nowhere/file", "-i", "0"], "does not exist"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_touched(
    arguments: list[str], words: str, assay: Assay, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()

    done = assay("iozone", *arguments, cwd=work, check=2)

    assert words in done.stderr
    assert done.stdout == ""
    assert list(work.iterdir()) == []
    assert not (tmp_path / "runs").exists()


def test_a_run_that_is_interrupted_prints_what_was_measured(tmp_path: Path) -> None:
    arguments = [str(COMMAND), "iozone", "-R", "-a", "-n", "64", "-+q", "2", "-g", "128", "-i", "0", "--no-report"]
    environment = {**os.environ, "ASSAY_RUNS": str(tmp_path / "runs")}
    with subprocess.Popen(
        arguments, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        wait_until(lambda: _phases_done(tmp_path / "runs") >= 2, "the first cell")
        run.send_signal(signal.SIGINT)
        printed, said = run.communicate(timeout=TIMEOUT_S)

    assert run.returncode == 130, said
    assert "iozone: interrupted" in printed
    assert "iozone test complete" not in printed
    assert rows(printed)[0][:2] == [64, 4]
    assert len(rows(printed)) < 11
    assert not (tmp_path / "assay-data").exists()


def _phases_done(runs: Path) -> int:
    return sum(stream.read_text().count('"phase_finished"') for stream in runs.glob("*/events/0.ndjson"))


def test_files_that_do_not_fit_are_refused_before_anything_is_written(assay: Assay) -> None:
    with tmpfs(440 * MIB) as memory, small_ext4(400 * MIB, backing=memory) as mount_point:
        done = assay("iozone", "-s", "1m", "-s", "1g", "-r", "1m", "-i", "0", "-f", mount_point / "file", "--no-report")
        left = [path.name for path in mount_point.iterdir() if path.name != "lost+found"]

    assert done.returncode == 3, done.stderr
    assert "free some space" in done.stderr
    assert done.stdout == ""
    assert left == []


def test_a_disk_that_fills_up_ends_the_run_with_what_was_measured(assay: Assay) -> None:
    with tmpfs(440 * MIB) as memory, small_ext4(400 * MIB, backing=memory) as mount_point:
        # Somebody else takes what is free while the second cell waits.
        hog = mount_point / "hog"
        arguments = [str(COMMAND), "iozone", "-s", "1m", "-s", "64m", "-r", "1m", "-i", "0", "-+q", "3", "--no-report"]
        environment = {**os.environ, "ASSAY_RUNS": str(assay.runs)}
        with subprocess.Popen(
            arguments, cwd=mount_point, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as run:
            wait_until(lambda: _phases_done(assay.runs) >= 2, "the first cell")
            with hog.open("wb") as file, contextlib.suppress(OSError):
                while True:
                    file.write(bytes(MIB))
                    file.flush()
            printed, said = run.communicate(timeout=TIMEOUT_S)
        left = [path.name for path in mount_point.iterdir() if path.name not in {"lost+found", "hog"}]

    assert run.returncode == 3, said
    assert "iozone: interrupted" in printed
    assert [row[:2] for row in rows(printed)] == [[1024, 1024]]
    assert left == []


def test_children_are_counted_against_their_files(assay: Assay, tmp_path: Path) -> None:
    done = assay(
        "iozone", "-x", "-C", "-t", "3", "-s", "512", "-r", "64", "-i", "0", "-i", "1", "--no-report", cwd=tmp_path
    )

    assert done.returncode in {0, 1}, done.stderr
    xfers = [float(found) for found in re.findall(r"xfer count = +([0-9.]+) kB", done.stdout)]
    rates = [float(found) for found in re.findall(r"Throughput = +([0-9.]+) kB", done.stdout)]
    sums = [float(found) for found in re.findall(r"Children see .*= +([0-9.]+) kB", done.stdout)]
    assert xfers == [512.0] * 12
    assert sums == [pytest.approx(sum(rates[at : at + 3]), abs=0.05) for at in range(0, 12, 3)]


def test_a_file_system_in_memory_is_called_one(assay: Assay) -> None:
    with tmpfs(400 * MIB) as memory:
        assay.measured("iozone", "-s", "1m", "-i", "0", "-f", memory / "file", "--no-report")

    assert "keeps its data in memory" in assay("show", "last", "--json", check=0).stdout


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_the_calls_on_the_file_are_those_of_the_original(assay: Assay, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    assay.measured(
        "iozone", "-s", "1m", "-r", "64", "-i", "0", "-i", "1", "-i", "2", "--no-report", "-f", tmp_path / "file",
        prefix=("strace", "-f", "-e", "trace=pwrite64,pread64,fsync", "-y", "-o", str(trace)),
    )  # fmt: skip

    lines = [line for line in trace.read_text().splitlines() if "assay-data/file-" in line and "/f0" in line]
    counts = {call: sum(f" {call}(" in line for line in lines) for call in ("pwrite64", "pread64")}
    # IOzone: three passes of 16 writes; three of 16 reads, each after one read of the first record.
    assert counts == {"pwrite64": 3 * 16, "pread64": 3 * 17}


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_file_is_locked_while_it_is_written_and_read(assay: Assay, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    done = assay.measured(
        "iozone", "-W", "-p", "-s", "256", "-r", "64", "-i", "0", "-i", "1", "-+n", "--no-report",
        "-f", tmp_path / "file",
        prefix=("strace", "-f", "-e", "trace=pwrite64,pread64,fcntl", "-y", "-o", str(trace)),
    ).stdout  # fmt: skip

    lines = [line for line in trace.read_text().splitlines() if "assay-data/file-" in line and "/f0" in line]
    calls = [re.search(r"F_SETLKW, {l_type=(\w+)| (pwrite64|pread64)\(", line) for line in lines]
    locked = [found[1] or found[2] for found in calls if found]
    # As IOzone: locked from before the first record until after the last.
    assert locked == ["F_WRLCK", *4 * ["pwrite64"], "F_UNLCK", "F_RDLCK", *5 * ["pread64"], "F_UNLCK"]
    assert "\tLock file when reading/writing.\n" in done
    assert "\tPurge Mode On\n" in done
    assert "does not change the load" not in done
