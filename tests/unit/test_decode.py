"""What do figures of other tools measure? Against what was found out about them by other means."""

import csv
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from assay.decode.attribution import attribute
from assay.decode.claim import Claim, Doing
from assay.decode.decodings import Decoded, decodings
from assay.decode.given import Given, read_given
from assay.decode.readers import read
from assay.errors import InputError
from assay.verdicts import Bottleneck, ServedBy

# Published with what the server and the system calls showed meanwhile: a client of 4 GB with two processors on a link of
# 1 Gb/s, a server of 128 GB, a set of 8 GB.
PUBLISHED = (
    "v2c01,8G,81160,92,109588,38,89987,67,69763,88,113613,36,2635.7,67,"
    "16,687,10,+++++,+++,1517,9,647,10,+++++,+++,1569,8"
)
ITS_MACHINE = read_given("1Gbit", "4GiB", "128GiB", None)
ITS_LIMITS = {
    "write by character": "client_cpu_single",
    "block write": "network_bandwidth",
    "rewrite": "network_bandwidth",
    "read by character": "client_cpu_single",
    "block read": "network_bandwidth",
    "sequential create": "operation_latency",
    "sequential stat": "not_observable",
    "sequential delete": "operation_latency",
    "random create": "operation_latency",
    "random stat": "not_observable",
    "random delete": "operation_latency",
}
BONNIE_2 = (
    "1.98,2.00a,host,1,1795450257,64M,,8192,5,351,99,200000,60,+++++,+++,470,22,+++++,+++,+++++,+++,1,,,,,834,15,+++++,+++,"
    "+++++,+++,638,17,+++++,+++,+++++,+++,59627us,14441us,18681us,43245us,24067us,64141us,24322us,88us,24093us,139ms,2956us,"
    "18284us"
)


def decoded(text: str, given: Given | None = None) -> dict[str, Decoded]:
    tool, figures = read(text, "captured")
    return {figure.test: figure for figure in decodings(tool, figures, given or Given()).figures}


def fio(rw: str, *, io_bytes: int, **options: str) -> str:
    way = {"total_ios": io_bytes // 4096, "bw_bytes": io_bytes // 2, "iops": io_bytes / 8192, "io_bytes": io_bytes}
    job = {"jobname": "job", "usr_cpu": 2.0, "sys_cpu": 10.0, "job options": {"rw": rw, "size": "32m", **options}}
    directions = {"read": way if "read" in rw else {}, "write": way if "write" in rw else {}}
    return "fio: a warning first\n" + json.dumps({"fio version": "fio-3.33", "jobs": [{**job, **directions}]})


def test_the_published_run_gives_the_limits_that_were_found_by_tracing_it() -> None:
    found = decoded(PUBLISHED + "\n", ITS_MACHINE)

    assert {test: found[test].limiter for test in ITS_LIMITS} == ITS_LIMITS
    assert found["block read"].of == "link"
    assert "its disks had nothing to do" in found["block read"].why
    assert not [figure for figure in found.values() if figure.of == "storage"]


def test_the_rates_that_the_server_saw_give_the_same_limits() -> None:
    seen = (
        "v2c01,8G,84961,92,110352,38,97656,67,71289,88,115234,36,2635.7,67,"
        "16,744,10,+++++,+++,1591,9,744,10,+++++,+++,1591,8"
    )
    found = decoded(seen, ITS_MACHINE)

    assert {test: found[test].limiter for test in ITS_LIMITS} == ITS_LIMITS


def test_a_line_of_bonnie_2_is_read_with_its_flushes() -> None:
    found = decoded(f"a table above\n{BONNIE_2}\n", read_given(None, "24GiB", None, None))

    assert found["write by character"].of == "client CPU"
    # Flushed within the time: memory of 24 GiB says nothing about it.
    assert found["block write"].of == "unknown"
    assert found["block write"].bytes_per_s == 200_000 * 1024
    assert found["sequential create"].of == "storage"
    assert found["sequential create"].limiter == "operation_latency"
    assert "1.20 ms each" in found["sequential create"].why


def test_rates_above_the_buses_are_called_memory() -> None:
    # Published for two file systems on twelve disks behind two buses of 320 MB/s each; eighteen cells are above.
    writes = [426.78, 544.29, 594.61, 628.45, 662.49, 664.56, 700.33, 12.55, 8.8]
    writes += [327.59, 467.6, 362.57, 587.71, 606.35, 619.54, 666.51, 13.6, 10.77]
    reads = [627.4, 733.93, 878.66, 883.71, 886.44, 846.31, 933.96, 664.16, 600.13]
    reads += [560.92, 672.68, 725.4, 754.75, 748.12, 815.49, 769.15, 660.76, 592.36]
    rows = [
        f"{1048576:16d}{4 << i:8d}{round(w * 1e6 / 1024):9d}{round(w * 1e6 / 1024):9d}{round(r * 1e6 / 1024):9d}{1:9d}"
        for i, (w, r) in enumerate(zip(writes, reads, strict=True))
    ]
    text = "\n".join(
        ["\tCommand line used: iozone -a -i 0 -i 1", "\tOutput is in kBytes/sec", *rows, "iozone test complete."]
    )

    _, figures = read(text, "captured")
    found = [attribute(figure, read_given(None, None, None, "640MB/s")) for figure in figures]

    wrong = [
        verdict
        for figure, verdict in zip(figures, found, strict=True)
        if verdict.limiter is Bottleneck.CLIENT_MEMORY and not figure.test.startswith("rewrite")
    ]
    assert len(wrong) == 18
    assert {verdict.of for verdict in wrong} == {ServedBy.PAGE_CACHE, ServedBy.WRITE_BACK}


def test_a_rate_above_the_link_is_called_memory_with_the_arithmetic() -> None:
    text = (
        "Command line used: iozone -i 0 -i 1 -s 16m -r 32k\nOutput is in kBytes/sec\n"
        f"{16384:16d}{32:8d}{6602:9d}{6602:9d}{292715:9d}{292715:9d}\n"
    )

    found = decoded(text, read_given("1Gbit", None, None, None))

    assert found["read, 16384 KiB by 32"].of == "page cache"
    assert "300 MB/s is 2.40 times what the link carries (125 MB/s)" in found["read, 16384 KiB by 32"].why
    assert found["write, 16384 KiB by 32"].of == "unknown"


@pytest.mark.parametrize(("each_kib", "of"), [(100 * 1024, "server cache"), (200 * 1024, "unknown")])
def test_a_set_within_the_servers_memory_is_its_caches(each_kib: int, of: str) -> None:
    # Published: twenty files of 100 MB were read ten times as fast as twenty of 200 MB from a server with 2.8 GB of cache.
    text = (
        "\tCommand line used: iozone -t 20 -s 100m\n\tOutput is in kBytes/sec\n"
        f"\tEach process writes a {each_kib} kByte file in 4 kByte records\n\n"
        "\tChildren see throughput for 20 random readers \t=   17039.82 kB/sec\n"
        "\tChildren see throughput for 20 random writers \t=    7289.34 kB/sec\n"
    )

    found = decoded(text, read_given("1Gbit", None, "2.8125GiB", None))

    assert found["20 random readers"].of == of
    assert found["20 random writers"].of == "unknown"


@pytest.mark.parametrize(
    ("text", "of"),
    [
        (fio("randread", io_bytes=1 << 30, direct="1", iodepth="8", ioengine="libaio"), "storage"),
        (fio("read", io_bytes=32 << 20), "unknown"),  # once, from an emptied cache: read-ahead hides what it waited for
        (fio("randread", io_bytes=64 << 20), "mixed"),
        (fio("randread", io_bytes=32 << 30), "page cache"),
        (fio("randread", io_bytes=32 << 30, invalidate="0"), "unknown"),
        (fio("write", io_bytes=32 << 20), "write-back"),
        (fio("write", io_bytes=32 << 20, end_fsync="1"), "unknown"),
    ],
)
def test_what_fio_did_with_the_cache_decides(text: str, of: str) -> None:
    (figure,) = decoded(text, read_given(None, "4GiB", None, None)).values()

    assert figure.of == of, figure.why


def test_columns_of_elbencho_are_found_by_name() -> None:
    header = (
        "ISO date,label,hosts,threads,direct IO,IO depth,operation,entries/s [last],IOPS [last],MiB/s [last],MiB [last]"
    )
    rows = ["2026-05-22T16:09:38,,1,8,0,4,WRITE,11,2941,2941,8192", "2026-05-22T16:09:40,,1,8,1,4,SYNC,,,,"]

    found = decoded("\n".join([header, *rows]), read_given("10Gbit", None, None, None))

    assert list(found) == ["WRITE"]
    assert found["WRITE"].bytes_per_s == 2941 << 20
    assert found["WRITE"].of == "write-back"
    assert "2.47 times what the link carries" in found["WRITE"].why


def elbencho(phase: str, last_done: dict[str, Any], **config: str) -> str:
    """Write a phase as elbencho's `--jsonfile` has it: on a line, every value a string, no name of what it did not do."""
    usual = {
        "path_type": "file",
        "paths": "1",
        "hosts": "1",
        "threads": "8",
        "file_size": "1073741824",
        "block_size": "4096",
        "direct_io": "false",
        "random_offsets": "true",
        "random_aligned": "true",
        "io_depth": "4",
        "truncate_files": "false",
        "version": "3.1-10",
        "command": '"elbencho" "-r" "/mnt/file" ',
    }
    document = {
        "phase_type": phase,
        "phase_id": "11e6b1d8-9f2b-4b1c-9d3a-2f7e9d1c7a10",
        "iso_start_date": "2026-05-22T16:09:38.123+0000",
        "config": {**usual, **config},
        "first_done": {"elapsed_time_ms": "900", "iops": "1", "bytes/s": "1", "bytes": "1", "cpu%": "50"},
        "last_done": {"elapsed_time_ms": "1000", **last_done, "cpu%": "99"},
    }
    return json.dumps(document, separators=(",", ":")).replace("/", "\\/") + "\n"


def elbencho_done(iops: int, size_bytes: int = 4096, seconds: int = 1) -> dict[str, Any]:
    return {"iops": f"{iops}", "bytes/s": f"{iops * size_bytes}", "bytes": f"{iops * size_bytes * seconds}"}


def test_json_of_elbencho_has_one_document_after_another() -> None:
    text = (
        elbencho("MKDIRS", {"entries/s": "1500", "entries": "12"}, path_type="dir", dirs="3", files="2")
        + elbencho("WRITE", elbencho_done(3000, 1 << 20), block_size="1048576")
        + elbencho("SYNC", {})
        + elbencho("READ", elbencho_done(20_000), direct_io="true")
    )

    tool, figures = read(text, "captured")

    assert tool == "elbencho"
    assert [(figure.test, figure.action) for figure in figures] == [
        ("MKDIRS", Doing.CREATE),
        ("WRITE", Doing.WRITE),
        ("READ", Doing.READ),
    ]
    assert [figure.ops_per_s for figure in figures] == [1500, 3000, 20_000]
    assert [figure.bytes_per_s for figure in figures] == [None, 3000 << 20, 20_000 * 4096]
    assert [figure.outstanding for figure in figures] == [32, 32, 32]
    assert [figure.is_direct for figure in figures] == [False, False, True]
    assert figures[1].is_flushed is False
    assert decoded(text, read_given("10Gbit", None, None, None))["WRITE"].of == "write-back"


def test_random_reads_of_elbencho_have_no_larger_a_set_than_the_files_that_they_read() -> None:
    moved = elbencho_done(100_000, 65536)  # 6.1 GiB of a file of 1 GiB
    texts = {
        "one file": elbencho("READ", moved),
        "two files": elbencho("READ", moved, paths="2"),
        "four hosts, each its own": elbencho("READ", moved, hosts="4", shared_service_paths="false"),
        "four hosts, all the same": elbencho("READ", moved, hosts="4", shared_service_paths="true"),
        "a tree": elbencho("READ", moved, path_type="dir"),
    }

    sizes = {name: read(text, "captured")[1][0].set_bytes for name, text in texts.items()}

    assert sizes == {
        "one file": 1 << 30,
        "two files": 2 << 30,
        "four hosts, each its own": 4 << 30,
        "four hosts, all the same": 1 << 30,
        "a tree": 6_553_600_000,
    }


def test_a_mix_of_elbencho_is_a_figure_of_its_writes_and_one_of_its_reads() -> None:
    text = elbencho("RWMIX70", {**elbencho_done(300), "rwmix_read": elbencho_done(700)})
    header = "ISO date,threads,operation,IOPS [last],MiB/s [last],rwmix read IOPS [last],rwmix read MiB/s [last]\n"

    of_json, of_csv = (read(captured, "captured")[1] for captured in (text, f"{header}x,8,RWMIX70,300,1,700,2\n"))

    for figures in (of_json, of_csv):
        assert [(figure.test, figure.action, figure.ops_per_s, figure.outstanding) for figure in figures] == [
            ("RWMIX70: write", Doing.WRITE, 300, None),
            ("RWMIX70: read", Doing.READ, 700, None),
        ]


def test_objects_are_not_in_the_page_cache() -> None:
    (found,) = decoded(
        elbencho("READ", elbencho_done(3000, 1 << 20), path_type="object"), read_given("10Gbit", "4GiB", None, None)
    ).values()

    assert (found.of, found.limiter) == ("unknown", "unknown")
    assert "a fact is wrong" in found.why


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (elbencho("READ", elbencho_done(1))[:-9], "its JSON is broken after 0 phases"),
        (elbencho("READ", elbencho_done(1)) + "{", "its JSON is broken after 1 phases"),
        (elbencho("READ", elbencho_done(1)) + "[]", "document 2 of its JSON is not a phase"),
        (elbencho("SYNC", {}), "without a result"),
        (
            '{"phase_type": ["READ"], "last_done": {"iops": {}, "bytes/s": 1e999}, "config": {"path_type": []}}',
            "without",
        ),
    ],
)
def test_what_is_not_whole_of_elbenchos_json_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(text, "captured")


def test_what_cannot_have_stayed_in_memory_is_not_put_there() -> None:
    link = read_given("100Mbit", None, None, None)
    (direct,) = decoded(fio("randread", io_bytes=1 << 30, direct="1"), link).values()
    flushed = decoded(BONNIE_2, link)["block write"]

    assert (direct.of, flushed.of) == ("unknown", "unknown")
    assert "a fact is wrong" in direct.why
    assert "a fact is wrong" in flushed.why


def test_each_client_has_a_link_and_a_memory() -> None:
    header = "ISO date,hosts,threads,direct IO,IO depth,operation,IOPS [last],MiB/s [last],MiB [last]\n"
    given = read_given("10Gbit", "4GiB", None, None)

    of = {n: decoded(f"{header}x,{n},8,0,1,READ,9000,2941,16384\n", given)["READ"].of for n in (1, 4)}

    assert of == {1: "page cache", 4: "unknown"}  # 24.7 Gbit/s of 10, of 40


def test_a_group_of_fio_has_the_depth_the_cpus_and_the_files_of_all_its_workers() -> None:
    group = {"numjobs": "4", "group_reporting": "", "iodepth": "8", "ioengine": "libaio", "direct": "1"}
    figures = [
        read(fio("randread", io_bytes=1 << 30, **options), "captured")[1][0]
        for options in (group, {**group, "ioengine": "psync"}, {**group, "filename": "/dev/x"}, {"numjobs": "4"})
    ]

    assert [figure.outstanding for figure in figures] == [32, 4, 32, 1]
    assert [figure.set_bytes for figure in figures] == [128 << 20, 128 << 20, 32 << 20, 32 << 20]
    assert [figure.cpu_share for figure in figures] == pytest.approx([0.48, 0.48, 0.48, 0.12])


def test_a_report_of_postmark_is_read_in_its_units(request: pytest.FixtureRequest) -> None:
    text = (Path(request.config.rootpath) / "tests/golden/classic/postmark/defaults.txt").read_text()

    found = decoded(text, read_given(None, "4GiB", None, None))

    assert found["transactions"].ops_per_s == 500
    assert found["data written"].bytes_per_s == pytest.approx(4.45 * (1 << 20))
    assert found["data written"].of == "write-back"


def test_dd_does_not_say_what_it_did() -> None:
    text = "64+0 records in\n64+0 records out\n67108864 bytes (67 MB, 64 MiB) copied, 0.0621798 s, 1.1 GB/s\n"

    assert decoded(text)["copy"].bytes_per_s == pytest.approx(67108864 / 0.0621798)
    assert decoded(text, read_given(None, "4GiB", None, None))["copy"].of == "unknown"
    assert decoded(text, read_given("1Gbit", None, None, None))["copy"].of == "page cache"


def test_a_fact_moves_a_verdict_only_from_unknown() -> None:
    """More facts never turn storage into a cache and back: what is not known is not guessed."""
    facts = [Given(link_bytes_per_s=125e6), Given(ram_bytes=4 << 30), Given(server_ram_bytes=8 << 30)]
    for action, rate, size in itertools.product(Doing, (1e6, 1e9), (1 << 20, 64 << 30)):
        figure = Claim(test="", action=action, bytes_per_s=rate, set_bytes=size, cpu_share=0.6, ops_per_s=None)
        assert attribute(figure, Given()).of is ServedBy.UNKNOWN
        assert all(attribute(figure, given).of is not ServedBy.STORAGE for given in facts)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not an output in a supported format"),
        ("hello\n", "is not an output in a supported format"),
        ('{"fio version": "fio-3.33", "jobs": [', "is an output of fio, but its JSON is broken"),
        ('{"fio version": "fio-3.33", "jobs": [{"jobname": "\\ud800"}]}', "its JSON is broken"),
        ('{"fio version": "fio-3.33", "jobs": 7}', "but it has no jobs"),
        ('{"fio version": "fio-3.33", "jobs": []}', "without a result"),
        ("Command line used: iozone -a -O\nOutput is in ops/sec\n", "is not in kBytes/sec"),
        ("Command line used: iozone -i 0\nOutput is in kBytes/sec\n  64  4  1  2  3\n", "a row has 3 rates where"),
        ("ISO date,label\n", "its column 'operation' is missing"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(text, "captured")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (("1GB", None, None, None), "--link: '1GB' is not a rate such as 1Gbit"),
        (("0Gbit", None, None, None), "--link: a rate is above 0"),
        ((None, "4GB", None, None), "--ram: '4GB' means two things"),
        ((None, "0", None, None), "--ram: 0 is not a memory size"),
        ((None, None, "lots", None), "--server-ram: 'lots' is not a size"),
        ((None, None, None, "1e9"), "--device: '1e9' is not a rate such as 640MB/s"),
    ],
)
def test_facts_that_are_none_are_refused(facts: tuple[str | None, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_given(*facts)


def test_a_published_line_decodes_to_what_was_printed_beside_it() -> None:
    _, figures = read(PUBLISHED, "captured")
    fields = next(csv.reader([PUBLISHED]))

    assert [figure.bytes_per_s for figure in figures[:5]] == [float(fields[place]) * 1024 for place in (2, 4, 6, 8, 10)]
    assert figures[5].ops_per_s == 2635.7
    assert [figure.is_too_quick for figure in figures[6:]] == [False, True, False, False, True, False]
