"""`-+m`: which clients a file of lines means, what each does, and the text of the run that they make together."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import force_setattr, replace

from assay import events
from assay.analysis.record import read
from assay.bundle.client_set import Share
from assay.bundle.tables import INTERVALS, WORKERS
from assay.cluster.shares import share_plan
from assay.errors import InputError
from assay.plan import Plan, Stop, StopOf
from assay.targets import directories
from assay.tools.front_end import HostsAsked
from assay.tools.iozone import FRONT_END
from assay.tools.named_files import NO_FILES, Files
from unit.classic_runs import table
from unit.memory_run import MemoryRun, hello

FOUR = """# host directory program
one /mnt/a/x /usr/bin/iozone

two /mnt/b /usr/bin/iozone
one /mnt/a/x /opt/iozone
two /mnt/b
three /mnt/c /usr/bin/iozone
"""


def given(lines: str, *more: str) -> tuple[list[str], dict[str, str]]:
    words = more or ("-t", "4", "-s", "64", "-r", "16", "-i", "0")
    return ["-+m", "clients", *words], {"clients": lines}


def made(of: tuple[list[str], dict[str, str]]) -> Plan:
    return FRONT_END.to_plan(FRONT_END.parse(*of), FRONT_END.origin(*of), Path("/nowhere"))


def test_the_lines_that_t_reaches_are_clients_with_their_directories() -> None:
    asked = FRONT_END.hosts(FRONT_END.parse(*given(FOUR)))

    places = {"one": Path("/mnt/a/x"), "two": Path("/mnt/b")}
    assert asked == HostsAsked(by="-+m", names=("one", "two"), directories=places)
    assert FRONT_END.hosts(FRONT_END.parse(["-t", "4", "-i", "0"])) is None


def test_each_client_gets_its_children_in_its_directory() -> None:
    whole = made(given(FOUR))
    asked = FRONT_END.hosts(FRONT_END.settings_of(whole))
    assert asked is not None

    parts = share_plan(whole, Share.OWN, asked.names, directories=asked.directories)

    assert [phase.name for phase in whole.phases] == ["write-4", "rewrite-4"]
    for name, part in parts.items():
        assert [(job.name, job.workers) for phase in part.phases for job in phase.jobs] == [("children", 2)] * 2
        assert [one.files for one in part.file_sets] == [2] * len(part.file_sets)
        assert list(directories(part).values()) == [asked.directories[name] / "assay-clients" / name]  # type: ignore[index]


class LookedAt:
    """A context that keeps what it is to measure."""

    def __init__(self, seen: list[tuple[Sequence[str], Files]]) -> None:
        self._seen = seen

    def measure(self, words: Sequence[str], files: Files = NO_FILES) -> int:
        """Keep the words and the files of a run."""
        self._seen.append((words, files))
        return 0

    def write(self, text: str) -> None:
        """Print nothing."""
        raise AssertionError(text)

    def may_write(self, name: str) -> bool:
        """Write nothing."""
        raise AssertionError(name)

    def check_action(self, what: str) -> None:
        """Do nothing else."""
        raise AssertionError(what)


def test_the_file_of_clients_is_read_and_kept_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "clients"
    file.write_text(FOUR)

    for words in (["-+m", str(file), "-t", "2"], [f"-+m{file}", "-t", "2"]):
        seen: list[tuple[Sequence[str], Files]] = []
        FRONT_END.follow(words, LookedAt(seen))
        assert seen == [(words, {str(file): FOUR})]

    with pytest.raises(InputError, match="does not exist"):
        FRONT_END.follow(["-+m", str(tmp_path / "gone")], LookedAt([]))


def test_without_clients_the_words_are_not_carried_out_here() -> None:
    with pytest.raises(InputError, match=r"-\+m names one, two, and this run is one of this machine alone"):
        FRONT_END.prepare(made(given(FOUR)), has_outputs=False)


@pytest.mark.parametrize(
    ("lines", "more", "reason"),
    [
        (FOUR, ("-t", "6"), "names 5 clients, and -t asks for 6 children"),
        (FOUR, ("-t", "5"), "one has 2 of the first 5 lines, three 1"),
        (FOUR, ("-i", "0"), "spreads one number of children over its clients"),
        (FOUR, ("-l", "1", "-u", "4"), "spreads one number of children"),
        (FOUR, ("-t", "2", "-F", "a", "b"), "-F names files of this machine's children"),
        ("one /a x\ntwo /b x\n", ("-t", "2", "-i", "0", "-i", "8"), "test 8 divides 2 children otherwise than 1"),
        ("one /a x\none /b x\n", ("-t", "2"), "give its children one directory"),
        ("one a x\n", ("-t", "1"), "clients:1: 'a' is not an absolute directory"),
        ("\none\n", ("-t", "1"), "clients:2: a line is 'host directory program'"),
        ("one /a x file\n", ("-t", "1"), "names a test file"),
        ("# none\n", ("-t", "1"), "names no client"),
    ],
)
def test_what_clients_do_not_go_with_is_refused(lines: str, more: tuple[str, ...], reason: str) -> None:
    with pytest.raises(InputError) as refused:
        made(given(lines, *more))

    assert reason in str(refused.value)


def merged_run() -> MemoryRun:
    """What two clients of two children did together: 64 KiB each, in 1, 2, 4 and 8 s, and a sync of half a second."""
    whole = made(given(FOUR))
    job = whole.phases[0].jobs[0]
    force_setattr(whole, "phases", tuple(replace(phase, jobs=(replace(job, workers=4),)) for phase in whole.phases[:1]))
    seconds = (1, 2, 4, 8)
    common = {"phase_index": 0, "job": job.name, "t_s": 8.0, "dt_s": 8.0}
    rows = [
        {**common, "operation": job.timed[0], "ops": 16, "bytes": 4 << 16, "errors": 0, "latency_max_ns": 10**9,
         "latency_sum_ns": sum(seconds) * 10**9}
    ]  # fmt: skip
    workers = [{**common, "worker": number, "ops": 4, "bytes": 1 << 16} for number in range(4)]
    windows = tuple(
        events.WorkerWindow(job=job.name, worker=number, first_op_ns=0, last_op_ns=last * 10**9, started=4, completed=4,
                            failed=0, abandoned=0, stopped_by=events.StoppedBy.EXHAUSTED)
        for number, last in enumerate(seconds)
    )  # fmt: skip
    ended = events.PhaseFinished(t_ns=8 * 10**9, phase_index=0, start_ns=0, stopped_by=events.StoppedBy.EXHAUSTED,
                                 workers=windows, jobs=(), errors=())  # fmt: skip
    synced = events.StepDone(
        t_ns=9 * 10**9, phase_index=0, step="sync", subject=None, achieved=True, detail="", seconds=0.5
    )
    tables = {INTERVALS: table(INTERVALS, rows), WORKERS: table(WORKERS, workers)}
    return MemoryRun(plan=whole, lines=[hello(), ended, synced], tables=tables)


def test_the_text_of_all_clients_is_that_of_one_with_all_their_children() -> None:
    text = FRONT_END.output(read(merged_run())).text()

    # 64 KiB by 1, 2, 4 and 8 s; all of it by 8 s and the sync.
    expected = {
        "Children see throughput for  4 initial writers": 64 + 32 + 16 + 8,
        "Parent sees throughput for  4 initial writers": 256 / 8.5,
        "Min throughput per process": 8,
        "Max throughput per process": 64,
        "Avg throughput per process": 30,
        "Min xfer": 64,
    }
    found = {head: float(value) for head, value in re.findall(r"\t([A-Z][\w ]*?)\s*=\s*([\d.]+) kB", text)}
    assert found == pytest.approx(expected, abs=0.01)
    assert "Command line used: iozone -+m clients -t 4 -s 64 -r 16 -i 0\n" in text
    assert "Throughput test with 4 processes\n" in text


def test_that_the_first_of_all_does_not_end_the_others_is_said() -> None:
    whole = made(given(FOUR))

    assert whole.phases[0].stop == Stop(of=StopOf.FIRST)
    assert [note.what for note in whole.untranslated] == ["-+m"]
    assert made(given(FOUR, "-t", "4", "-i", "0", "-x")).untranslated == ()


def test_a_line_that_is_longer_than_any_is_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"clients:1: the line has more than 5000 characters"):
        FRONT_END.parse(*given("h" * 1_000_000 + " /mnt/a\n"))


def test_more_lines_than_there_are_clients_are_refused_whatever_is_in_them() -> None:
    with pytest.raises(InputError, match=r"clients: has more than 20000 lines"):
        FRONT_END.parse(*given("one /mnt/a\n" + "#\n" * 20_000))
