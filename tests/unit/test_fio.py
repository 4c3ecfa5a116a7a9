"""Job files and command lines of fio against the Plans and messages that they must become, and runs against fio's text."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import plan
from assay.cli.tool import take_apart
from assay.errors import InputError
from assay.plan.walk import job_ops
from assay.tools.fio import FRONT_END, option_table, plan_anywhere, values
from assay.tools.fio.command_line import gather_files
from assay.tools.fio.job_settings import Settings
from assay.tools.fio.loop import distribution
from assay.tools.fio.output import binary, decimal, number
from assay.tools.option_meaning import Refused, table
from goldens import Goldens

GOLDEN = Path(__file__).parent.parent / "golden" / "classic" / "fio"
FILES = sorted(GOLDEN.glob("*.fio"))
ERRORS = sorted((GOLDEN / "errors").glob("*.fio"))
KIB, MIB = 1 << 10, 1 << 20


def words_of(path: Path) -> list[str]:
    """The words of a job file as they are kept, under its bare name."""
    return [f"{path.name}\n{path.read_text()}"]


def with_files(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Take the lines behind the first of a word for what stands in a file of that name."""
    texts = [word.partition("\n") for word in words]
    return [name for name, _, _ in texts], {name: text for name, is_file, text in texts if is_file}


def settings(*words: str) -> Settings:
    return FRONT_END.parse(*with_files(words))


def made(*words: str) -> plan.Plan:
    return plan_anywhere(settings(*words), *with_files(words))


def only_job(*words: str) -> plan.Job:
    (phase,) = made("--name=x", *words).phases
    (job,) = phase.jobs
    return job


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_job_file_becomes_the_plan_beside_it(path: Path, goldens: Goldens) -> None:
    goldens.check_plan(path.with_suffix(".json"), made(*words_of(path)))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--filename=/dev/a:/dev/b", "--rw=read"), "several devices"),
        (("--filename=/dev/a:file", "--rw=read", "--size=1m"), "several devices"),
        (("--filename=/dev/a", "--rw=write", "--verify=crc32c"), "'verify' on a block device"),
        (("--filename=/dev/a", "--ioengine=filestat"), "works on names"),
        (("--filename=/dev/a", "--rw=trimwrite"), "trimmed just before"),
        (("--filename=/dev/a", "--rw=trim", "--bssplit=4k/50:8k/50"), "of several sizes in a row"),
        (("--filename=/dev/../etc/passwd", "--rw=read", "--size=1m"), "leads out of the directory"),
    ],
)
def test_what_a_block_device_cannot_be_used_for_is_refused(words: tuple[str, ...], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        made("--name=x", *words)


@pytest.mark.parametrize("path", ERRORS, ids=lambda path: path.stem)
def test_a_faulty_job_file_is_refused_with_line_and_what_would_be_right(path: Path, goldens: Goldens) -> None:
    with pytest.raises(InputError) as caught:
        made(*words_of(path))

    goldens.check(path.with_suffix(".txt"), f"{caught.value}\n")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_settings_can_be_read_again_from_the_plan(path: Path) -> None:
    assert FRONT_END.settings_of(made(*words_of(path))) == settings(*words_of(path))


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kb_base", "bytes_"),
    [
        ("4096", 1024, 4096), ("4k", 1024, 4096), ("4K", 1024, 4096), ("4kb", 1024, 4096), ("4kib", 1024, 4000),
        ("2m", 1024, 2 << 20), ("2MiB", 1024, 2_000_000), ("1g", 1000, 10**9), ("1gib", 1000, 1 << 30),
        ("0x10k", 1024, 16384), ("7b", 1024, 7), ("1p", 1024, 1 << 50),
    ],
)  # fmt: skip
def test_sizes_are_what_fio_takes_them_for(text: str, kb_base: int, bytes_: int) -> None:
    assert values.size(text, kb_base) == bytes_


@pytest.mark.parametrize(
    ("text", "is_seconds", "us"),
    [("10", True, 10**7), ("10", False, 10), ("5ms", True, 5000), ("2m", True, 120_000_000), ("1d", False, 86_400_000_000)],
)  # fmt: skip
def test_times_have_their_options_unit(text: str, is_seconds: bool, us: int) -> None:
    assert values.time_us(text, is_seconds=is_seconds) == us


def test_shares_without_a_number_get_what_is_left_in_whole_per_cent() -> None:
    assert values.shares("4k/50:8k/:16k/", 1024) == ((50.0, 4096), (25.0, 8192), (25.0, 16384))
    assert values.shares("4k/0:8k/100", 1024) == ((100.0, 8192),)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=3))
def test_block_sizes_are_drawn_by_their_shares(parts: list[int]) -> None:
    shares = [*parts, 100 - sum(parts)]
    split = ":".join(f"{4 * (place + 1)}k/{share}" for place, share in enumerate(shares))

    law = distribution(settings("--name=x", "--size=1g", "--rw=randwrite", f"--bssplit={split}").jobs[0].sizes[1])

    assert isinstance(law, plan.Tabular)
    assert law.rows == tuple(
        (float(share), 4096.0 * (place + 1), 4096.0 * (place + 1)) for place, share in enumerate(shares)
    )


def test_a_range_of_sizes_is_multiples_of_the_least_each_alike() -> None:
    law = distribution(settings("--name=x", "--size=1g", "--bsrange=1k-4k").jobs[0].sizes[0])

    assert isinstance(law, plan.Tabular)
    assert {(weight, least / KIB) for weight, least, _ in law.rows} == {(1.0, 1.0), (1.0, 2.0), (1.0, 3.0), (1.0, 4.0)}


def test_the_polling_thread_of_a_ring_has_the_cpu_of_fio() -> None:
    ring = ("--size=1m", "--ioengine=io_uring", "--sqthread_poll_cpu=3")

    assert only_job(*ring, "--sqthread_poll").backend == plan.IoUring(sqpoll=True, sqpoll_cpu=3)
    for lacking in (ring, ("--size=1m", "--sqthread_poll", "--sqthread_poll_cpu=3")):
        with pytest.raises(InputError, match="needs ioengine=io_uring and sqthread_poll"):
            only_job(*lacking)


def test_buffers_lie_in_huge_pages_where_fio_has_them_there() -> None:
    for kind in ("--mem=mmaphuge", "--iomem=mmaphuge:/mnt/huge/file", "--mem=shmhuge"):
        assert only_job("--size=1m", kind, "--hugepage-size=2m").huge_pages
    for plain in ((), ("--mem=mmap",), ("--mem=mmaphuge", "--iomem=malloc")):
        assert not only_job("--size=1m", *plain).huge_pages
    assert any(note.startswith("mem: ") for note in settings("--name=x", "--size=1m", "--mem=shm").notes)
    assert not settings("--name=x", "--size=1m", "--mem=shmhuge").notes
    with pytest.raises(InputError, match=r"hugepage-size.*must be 2m"):
        only_job("--size=1m", "--mem=mmaphuge", "--hugepage-size=1g")


# -- precedence --------------------------------------------------------------------------------------------------------


def test_the_command_line_gives_way_to_the_file_and_set_does_not() -> None:
    file = "a.fio\n[a]\nsize=2m\n[b]\nrw=write"

    plain = settings("--size=1m", file)
    pressed = settings("--size=1m", "--set", "size=3m", file)

    assert [job.size.bytes for job in plain.jobs] == [2 * MIB, MIB]
    assert [job.size.bytes for job in pressed.jobs] == [3 * MIB, 3 * MIB]


def test_a_second_job_file_begins_when_the_first_is_through() -> None:
    phases = made("a.fio\n[a]\nsize=1m", "b.fio\n[b]\nsize=1m\n[c]\nsize=1m").phases

    assert [[job.name for job in phase.jobs] for phase in phases] == [["a"], ["b", "c"]]


def test_an_option_of_the_command_line_may_have_its_value_in_the_next_word() -> None:
    job = settings("--name", "x", "--size", "1m", "--time_based", "--runtime", "5").jobs[0]

    assert (job.name, job.size.bytes, job.size.seconds, job.size.is_time_based) == ("x", MIB, 5.0, True)


def test_the_name_is_the_tools_own_option() -> None:
    asked = take_apart(["--name=x", "--quiet", "--size=1m"], FRONT_END.own_options)

    assert (asked.tool, asked.name, asked.quiet) == (("--name=x", "--size=1m"), None, True)


def test_section_takes_one_job_with_its_globals() -> None:
    found = settings("--section=b", "a.fio\n[global]\nbs=8k\n[a]\nsize=1m\n[b]\nsize=2m").jobs

    assert [(job.name, job.least_bytes) for job in found] == [("b", 8192)]


# -- what is outside ---------------------------------------------------------------------------------------------------


def test_a_variable_is_text_of_one_option_and_opens_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.fio"
    file.write_text("[a]\nsize=${SIZE}\ndescription=${TEXT}\n")

    words, files = gather_files([str(file)], {"SIZE": "1m", "TEXT": "x;[b]", "OTHER": "secret"})

    (job,) = FRONT_END.parse(words, files).jobs
    assert (job.size.bytes, job.options["description"]) == (MIB, "x;[b]")
    assert "secret" not in " ".join(words)
    with pytest.raises(InputError, match="line break"):
        FRONT_END.parse(*gather_files([str(file)], {"SIZE": "1m", "TEXT": "x\nexec_prerun=id"}))


def test_an_include_lies_beside_its_file_behind_no_link(tmp_path: Path) -> None:
    (tmp_path / "more.fio").write_text("bs=8k\n")
    (tmp_path / "link.fio").symlink_to(tmp_path / "more.fio")
    file = tmp_path / "a.fio"

    file.write_text("[a]\ninclude more.fio\nsize=1m\n")
    assert FRONT_END.parse(*gather_files([str(file)], {})).jobs[0].least_bytes == 8192
    for name in ("/etc/passwd", "../x.fio", "link.fio"):
        file.write_text(f"[a]\ninclude {name}\nsize=1m\n")
        with pytest.raises(InputError, match=r"leaves the folder|over a link"):
            gather_files([str(file)], {})


def test_files_that_include_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b.fio").write_text("include b.fio\n")
    file = tmp_path / "a.fio"
    file.write_text("[a]\ninclude b.fio\n")

    with pytest.raises(InputError, match="include each other"):
        FRONT_END.parse(*gather_files([str(file)], {}))


# -- options -----------------------------------------------------------------------------------------------------------


def test_every_option_has_one_meaning() -> None:
    assert not set(option_table.ALIASES) & set(option_table.OPTIONS)
    assert set(option_table.ALIASES.values()) <= set(option_table.OPTIONS)
    with pytest.raises(ValueError, match="two meanings"):
        table(["bs"], {"bs": "no number depends on it"}, {})


@pytest.mark.parametrize("name", sorted(name for name, one in option_table.OPTIONS.items() if isinstance(one, Refused)))
def test_a_refused_option_is_named_with_its_place(name: str) -> None:
    with pytest.raises(InputError, match=rf"^fio: a\.fio:3: '{re.escape(name)}=17' is not supported: ."):
        settings(f"a.fio\n[a]\nsize=1m\n{name}=17")


def test_what_is_left_out_is_said() -> None:
    found = settings("--name=x", "--size=1m", "--write_lat_log=x", "--eta=never")

    assert [note.partition(":")[0] for note in found.notes] == ["--eta", "write_lat_log"]


def test_a_job_is_a_process_unless_it_is_told_to_be_a_thread() -> None:
    assert only_job("--size=1m").kind is plan.WorkerKind.PROCESS
    assert only_job("--size=1m", "--thread").kind is plan.WorkerKind.THREAD


def test_random_io_visits_each_block_once_unless_there_is_no_map() -> None:
    def coverage(*words: str) -> plan.Coverage:
        (op,) = job_ops(only_job("--size=1m", "--rw=randread", *words))
        assert isinstance(op.access, plan.RandomAccess)
        return op.access.coverage

    assert coverage() is plan.Coverage.ROUNDS
    assert coverage("--norandommap") is plan.Coverage.WITH_REPEATS


# -- text --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "as_fio"),
    [
        (number(9428.57), "9429"), (number(28_400), "28.4k"), (number(331_000), "331k"),
        (binary(38_619_428), "36.8MiB"), (decimal(38_619_428), "38.6MB"), (binary(540_672), "528KiB"),
        (decimal(540_672), "541kB"), (binary(2 << 20), "2048KiB"),
    ],
)  # fmt: skip
def test_numbers_have_fios_width(written: str, as_fio: str) -> None:
    assert written == as_fio


def test_a_plan_has_the_files_and_variables_that_its_words_name() -> None:
    words, files = (
        ["dir/a.fio", "${X}=é"],
        {"dir/a.fio": "[a]\ninclude b.fio\ndescription=${X}", "dir/b.fio": "size=1m"},
    )

    whole = plan_anywhere(FRONT_END.parse(words, files), words, files)

    assert whole.origin.source == "dir/a.fio '${X}=é'"
    assert FRONT_END.settings_of(plan.Plan.from_json(whole.to_json())).jobs[0].options["description"] == "é"


@pytest.mark.parametrize(
    ("options", "is_kept"),
    [
        (("--refill_buffers=0",), True),
        ((), False),
        (("--refill_buffers",), False),
        (("--refill_buffers=0", "--verify=crc32c"), False),
        (("--refill_buffers=0", "--zero_buffers"), False),
        (("--refill_buffers=0", "--buffer_compress_percentage=50"), False),
        (("--refill_buffers=0", "--buffer_compress_percentage=0", "--dedupe_percentage=0"), True),
    ],
)
def test_buffers_that_are_not_to_be_refilled_are_written_again(options: tuple[str, ...], *, is_kept: bool) -> None:
    whole = made("--name=x", "--rw=randrw", "--size=1m", "--ioengine=io_uring", "--iodepth=8", *options)

    kept = {op.op: op.flags.keeps_buffer for op in job_ops(whole.phases[0].jobs[0])}

    assert kept == {plan.OpKind.READ: False, plan.OpKind.WRITE: is_kept}


def test_zero_buffers_are_zeroes_and_nothing_else() -> None:
    (files,) = made("--name=x", "--rw=write", "--size=1m", "--zero_buffers").file_sets
    assert files.content == plan.Content(zeros=True)
    with pytest.raises(InputError, match="all alike"):
        made("--name=x", "--rw=write", "--size=1m", "--zero_buffers", "--verify=crc32c")
