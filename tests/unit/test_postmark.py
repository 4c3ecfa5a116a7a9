"""PostMark's language, its sequence of operations and its text, against what the original printed and did."""

import csv
import dataclasses
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import plan
from assay.errors import FrontEndError, InputError
from assay.plan.walk import job_groups, job_ops
from assay.tools.named_files import NO_FILES, Files
from assay.tools.postmark import FRONT_END, commands
from assay.tools.postmark import plan as postmark_plan
from assay.tools.postmark.conversation import Conversation
from assay.tools.postmark.output import progress_of, report_of
from assay.tools.postmark.rates import ResultRow, row_of, stderr_notes, table
from assay.tools.postmark.sequence import APPEND, CREATE, DELETE, READ, Counts, RunParts
from assay.tools.postmark.settings import Location, Settings, scale, whole_number
from assay.tools.postmark.totals import PartTotals, RunTotals
from goldens import Goldens

GOLDEN = Path(__file__).parent.parent / "golden" / "classic" / "postmark"
RECORDED = sorted(GOLDEN.glob("*.pm"))
"""Commands, each with what Debian's postmark 1.53 printed for them."""


def settings_of(path: Path) -> Settings:
    return commands.parse(path.read_text().splitlines())


def prepare(settings: Settings, locations: Sequence[Path], folder: Path) -> plan.Plan:
    return postmark_plan.to_plan(settings, FRONT_END.origin(settings.words()), locations, folder)


def counts_of(settings: Settings) -> Counts:
    """What a run will do."""
    run = RunParts(settings)
    for part in (run.create_files, run.perform_transactions, run.delete_files):
        part(lambda *_operation: None)
    return run.counts


def operations(settings: Settings) -> list[tuple[str, int, int, int, int]]:
    found: list[tuple[str, int, int, int, int]] = []
    run = RunParts(settings)
    for part in (run.create_files, run.perform_transactions, run.delete_files):
        part(lambda *operation: found.append(operation))
    return found


# -- the sequence ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(), (764, 243, 257, 528, "1.36", "4.45")),
        (Settings(files=5000, transactions=20_000), (14_928, 10_018, 9_954, 4_856, "60.28", "91.75")),
    ],
    ids=["defaults", "large"],
)
def test_the_counts_are_those_of_the_original(settings: Settings, expected: tuple[object, ...]) -> None:
    counts = counts_of(settings)

    megabytes = [f"{size / 2**20:.2f}" for size in (counts.bytes_read, counts.bytes_written)]
    assert (counts.created, counts.read, counts.appended, counts.deleted_alone, *megabytes) == expected
    assert counts.deleted == counts.created


def test_the_first_operations_are_those_of_the_original() -> None:
    # Files are numbered from 1 there and from 0 here.
    first = [
        (CREATE, 1, 1390),
        (CREATE, 2, 4732),
        (CREATE, 3, 3583),
        (APPEND, 1, 3410),
        (CREATE, 4, 2341),
        (APPEND, 3, 3427),
        (DELETE, 3, 0),
        (APPEND, 2, 910),
        (DELETE, 1, 0),
        (READ, 2, 5642),
        (CREATE, 5, 4246),
    ]

    done = operations(Settings(files=3, transactions=50))

    assert [(kind, index + 1, size) for kind, _, index, _, size in done[: len(first)]] == first


SMALL = st.builds(
    Settings,
    size_low_bytes=st.integers(1, 300),
    size_high_bytes=st.integers(300, 600),
    files=st.integers(1, 12),
    transactions=st.integers(1, 120),
    seed=st.integers(1, 2**31 - 1),
    subdirectories=st.integers(0, 4),
    locations=st.lists(st.integers(1, 3), max_size=3).map(lambda weights: tuple(Location("/", w) for w in weights)),
    bias_read=st.integers(-1, 10),
    bias_create=st.integers(-1, 10),
)


@given(SMALL)
def test_every_operation_finds_its_file_as_it_expects_it(settings: Settings) -> None:
    low, high = settings.size_low_bytes, settings.size_high_bytes
    sizes: dict[tuple[int, int], int] = {}
    names: set[tuple[int, int]] = set()

    for kind, location, index, offset, size in operations(settings):
        file = (location, index)
        if kind == CREATE:
            assert file not in names
            assert low <= size <= max(low, high - 1)
            names.add(file)
            sizes[file] = size
        elif kind == APPEND:
            assert offset == sizes[file]
            sizes[file] += size
            assert sizes[file] <= high
        elif kind == READ:
            assert size == sizes[file]
        else:
            del sizes[file]
        assert len(sizes) <= 2 * settings.files

    assert sizes == {}


def test_what_the_files_take_at_most_is_known_before() -> None:
    run = RunParts(Settings(files=4, transactions=40, size_low_bytes=5000, size_high_bytes=5000))
    held, most = 0, 0

    def follow(kind: str, *_rest: int) -> None:
        nonlocal held, most
        held += {CREATE: 8192, DELETE: -8192}.get(kind, 0)
        most = max(most, held)

    for part in (run.create_files, run.perform_transactions, run.delete_files):
        part(follow)

    assert run.peak_bytes == [most]


# -- the language ------------------------------------------------------------------------------------------------------


def lines(text: str) -> Settings:
    return commands.parse(text.splitlines())


def test_commands_are_found_by_the_beginning_of_the_line() -> None:
    settings = lines("set size 10 20\nset sizes 7\nset read 100\nset bias read 10\nset bias create -1\nset number 9\n")

    assert (settings.size_low_bytes, settings.size_high_bytes, settings.files) == (7, 7, 9)
    assert (settings.read_block_bytes, settings.bias_read, settings.bias_create) == (100, 10, -1)


def test_an_upper_size_below_the_lower_is_the_lower() -> None:
    assert lines("set size 200 100").size_high_bytes == 200


def test_locations_are_replaced_added_and_taken_away() -> None:
    settings = lines("set location /a\nset location +/b 3\nset location +/with blank\nset location -/a\n")

    assert settings.locations == (Location("/b", 3), Location("/with blank"))
    assert commands.parse(settings.words()) == settings


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("set size", "Error: no file size low or high bounds specified"),
        ("set size 0", "Error: no file size low or high bounds specified"),
        ("set size 500k", "'500k' is not one or two whole numbers"),
        ("set number x", "Error: invalid number of files"),
        ("set number 10x", "'10x' is not a whole number above 0"),
        ("set seed 0", "Error: invalid seed for random numbers"),
        ("set transactions -5", "Error: no transactions specified"),
        ("set transactions 3000000000", "Error: no transactions specified"),
        ("set location", "Error: no directory name specified"),
        ("set location /a 0", "Error: ignoring invalid weight '0'"),
        ("set location -/a", "Error: cannot find location '/a'"),
        ("set subdirectories 0", "Error: invalid number of subdirectories"),
        ("set read 0", "Error: invalid read block size"),
        ("set write", "Error: invalid write block size"),
        ("set buffering yes", "Error: no buffering mode (true/false) specified"),
        ("set bias read 11", "Error: no bias specified (0-10 for greater chance,-1 to disable)"),
        ("set bias create", "Error: no bias specified (0-10 for greater chance,-1 to disable)"),
        ("set report short", "Error: either 'verbose' or 'terse' required"),
        ("set", "Eh?"),
        (" show", "Eh?"),
    ],
)
def test_what_cannot_be_followed_is_refused_in_the_words_of_the_original(line: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        commands.follow(line, Settings())


def test_help_lists_what_begins_so_or_everything() -> None:
    some, everything = (commands.follow(line, Settings()) for line in ("help set b", "help zzz"))

    assert isinstance(some, commands.Help)
    assert isinstance(everything, commands.Help)
    assert [line.split(" - ")[0] for line in some.text.splitlines()] == [
        "set buffering",
        "set bias read",
        "set bias create",
    ]
    assert everything.text.count("\n") == len(commands.COMMANDS)


SETTINGS = st.builds(
    Settings,
    size_low_bytes=st.integers(1, 1000),
    size_high_bytes=st.integers(1000, 2**31 - 1),
    files=st.integers(1, commands.MOST_FILES),
    seed=st.integers(1, 2**31 - 1),
    locations=st.lists(
        st.builds(Location, directory=st.from_regex(r"/[a-z]+( [a-z]+)?", fullmatch=True), weight=st.integers(1, 9)),
        max_size=3,
    ).map(tuple),
    subdirectories=st.integers(0, 9),
    is_buffered=st.booleans(),
    bias_read=st.integers(-1, 10),
    is_terse=st.booleans(),
)


@given(SETTINGS)
def test_settings_say_themselves_in_commands(settings: Settings) -> None:
    assert commands.parse(settings.words()) == settings


def test_sizes_are_shown_in_the_unit_that_they_reach() -> None:
    assert [scale(size) for size in (500, 1024, 10_000, 1 << 20)] == [
        "500 bytes",
        "1.00 kilobytes",
        "9.77 kilobytes",
        "1.00 megabytes",
    ]


def test_settings_are_shown_with_their_directories() -> None:
    shown = lines("set location /a\nset location +/b 3\nset subdirectories 1\nset size 1000\nset buffering false").show(
        "/"
    )

    assert "Files are 1000 bytes in size\n" in shown
    assert "Working directories: \n\t/a (weight=1)\n\t/b (weight=3)\n1 subdirectory will be used\n" in shown
    assert "Not using Unix buffered file I/O\n" in shown


# -- the Plan ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["small", "locations"])
def test_commands_become_the_plan_beside_them(name: str, goldens: Goldens, tmp_path: Path) -> None:
    path = GOLDEN / f"{name}.pm"
    settings = settings_of(path) if path.exists() else dataclasses.replace(LOCATIONS, transactions=60, bias_create=-1)
    places = [Path(place.directory) for place in settings.locations] or [Path("/mnt/a directory")]

    made = prepare(settings, places, tmp_path)

    goldens.check_plan(GOLDEN / f"{name}.json", made, leave_out=f"{tmp_path}/")


LOCATIONS = Settings(
    files=6,
    locations=(Location("/a", 2), Location("/b"), Location("/a")),
    subdirectories=3,
    is_buffered=False,
    read_block_bytes=2048,
    write_block_bytes=1024,
)


def test_the_lists_of_operations_are_those_beside_the_commands(goldens: Goldens, tmp_path: Path) -> None:
    prepare(settings_of(GOLDEN / "small.pm"), [Path("/mnt")], tmp_path)

    for path in tmp_path.iterdir():
        goldens.check(GOLDEN / f"small-{path.name}", path.read_text())


def test_lines_refer_to_the_operation_and_the_place_that_they_mean(tmp_path: Path) -> None:
    settings = dataclasses.replace(LOCATIONS, transactions=200)

    made = prepare(settings, [Path("/a"), Path("/b"), Path("/a")], tmp_path)

    done = []
    for phase in made.phases:
        (job,) = phase.jobs
        assert isinstance(job.body, plan.Script)
        ops = [(op.name, op) for op in job.body.ops]
        groups = [(name, members[0]) for name, members in job_groups(job)]
        for line in Path(job.body.path).read_text().splitlines():
            number, index, offset, size, due_ns = msgspec.json.decode(line)
            name, op = [*ops, *groups][number]
            assert isinstance(op.file, plan.FromSet)
            done.append((name, int(op.file.set.removeprefix("files")) - 1, index, offset, size))
            assert due_ns == 0
            assert index < made.file_set(op.file.set).files
    assert done == operations(settings)
    assert [target.uri for target in made.targets] == ["file:///a", "file:///b"]


def test_a_half_of_the_transactions_that_is_left_out_has_no_operation(tmp_path: Path) -> None:
    made = prepare(settings_of(GOLDEN / "only-reads.pm"), [Path("/mnt")], tmp_path)

    kinds = [{op.name.split(":")[0] for op in job_ops(phase.jobs[0])} for phase in made.phases]
    assert kinds == [{CREATE}, {READ, APPEND}, {DELETE}]


def test_a_phase_with_nothing_to_do_is_left_out(tmp_path: Path) -> None:
    made = [
        prepare(settings_of(GOLDEN / f"{name}.pm"), [Path("/mnt")], tmp_path) for name in ("nothing", "out-of-files")
    ]

    assert [[phase.name for phase in one.phases] for one in made] == [["create", "delete"], ["create", "transactions"]]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Settings(size_high_bytes=2**31 - 1), "at most 1 GiB"),
        (Settings(transactions=2**31 - 1, subdirectories=3), "2\\^32"),
    ],
)
def test_more_than_can_be_done_is_refused(settings: Settings, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        prepare(settings, [Path("/mnt")], tmp_path)


# -- the text ----------------------------------------------------------------------------------------------------------


def totals_for(settings: Settings, *, begin_s: float = 0.0, seconds: tuple[float, float, float]) -> RunTotals:
    """A run that did what the settings ask for, in so many seconds a phase."""
    counts = counts_of(settings)
    made, gone = settings.files, counts.deleted_alone
    size = dict.fromkeys((CREATE, READ, APPEND), 0)
    made_bytes = sum(done[4] for done in itertools.islice(operations(settings), made))
    ops = (
        {CREATE: made},
        {CREATE: counts.created - made, READ: counts.read, APPEND: counts.appended, DELETE: counts.deleted - gone},
        {DELETE: gone},
    )
    moved: tuple[dict[str, int], ...] = (
        {CREATE: made_bytes},
        size | {READ: counts.bytes_read, APPEND: counts.bytes_written - made_bytes},
        {},
    )
    names = ("create", "transactions", "delete")
    parts = {
        name: PartTotals(seconds=took, ops=ops[i], bytes=moved[i], is_complete=True)
        for i, (name, took) in enumerate(zip(names, seconds, strict=True))
        if sum(ops[i].values())
    }
    return RunTotals(
        settings=settings,
        begin_s=begin_s,
        parts=parts,
        planned=frozenset(parts),
        counts={
            postmark_plan.TRANSACTIONS_DONE: counts.transactions,
            postmark_plan.SINGLE_BYTES_READ: counts.single_read,
            postmark_plan.SINGLE_BYTES_WRITTEN: counts.single_written,
        },
    )


SECONDS = {"large": (0.5, (0.2, 1.4, 0.1))}
"""When a recorded run began after a whole second, and how long its phases took; others took next to nothing."""


@pytest.mark.parametrize("path", [path for path in RECORDED if path.stem != "twice"], ids=lambda path: path.stem)
def test_the_text_is_that_of_the_original_byte_for_byte(path: Path) -> None:
    settings = settings_of(path)
    begin_s, seconds = SECONDS.get(path.stem, (0.0, (0.01, 0.02, 0.01)))
    totals = totals_for(settings, begin_s=begin_s, seconds=seconds)

    said = f"PostMark v1.51 : 8/14/01\nReading configuration from file '{path.name}'\n"
    said += settings.show("DIRECTORY") if "show\n" in path.read_text() else ""

    assert said + progress_of(totals) + report_of(totals) == path.with_suffix(".txt").read_text()


def test_spans_are_differences_of_whole_seconds_of_the_day() -> None:
    def seconds_in(begin_s: float, seconds: tuple[float, float, float]) -> list[int]:
        text = report_of(totals_for(Settings(files=20, transactions=20), begin_s=begin_s, seconds=seconds))
        return [int(found) for found in re.findall(r"\t([0-9]+) seconds", text)]

    assert seconds_in(7.0, (0.2, 0.9, 0.2)) == [1, 1]
    assert seconds_in(7.9, (0.2, 0.1, 0.1)) == [1, 1]
    assert seconds_in(7.5, (0.6, 3.0, 0.2)) == [4, 3]
    assert seconds_in(7.9, (0.0, 2.2, 0.0)) == [3, 3]


def test_a_report_of_kilobytes_says_so_up_to_a_whole_megabyte() -> None:
    part = PartTotals(seconds=0.1, ops={CREATE: 1}, bytes={CREATE: 1 << 20}, is_complete=True)
    totals = RunTotals(settings=Settings(), begin_s=0.0, parts={"create": part}, planned=frozenset({"create"}))

    text = report_of(totals)

    assert "\t1024.00 kilobytes written (1024.00 kilobytes per second)\n" in text
    assert "\t0.000000 bytes read (0.000000 bytes per second)\n" in text


def test_a_run_that_was_cut_shows_how_far_it_came_and_what_it_had_measured() -> None:
    whole = totals_for(Settings(), seconds=(0.1, 0.1, 0.1))
    cut = PartTotals(
        seconds=3.0, ops={READ: 70, APPEND: 50, CREATE: 60, DELETE: 55}, bytes={READ: 7000}, is_complete=False
    )
    totals = dataclasses.replace(whole, parts={"create": whole.parts["create"], "transactions": cut})

    assert progress_of(totals) == "Creating files...Done\nPerforming transactions...\n"
    report = report_of(totals)
    assert "\t3 seconds of transactions (40 per second)\n" in report
    assert "\t560 created (186 per second)\n" in report
    assert "\t6.84 kilobytes read (2.28 kilobytes per second)\n" in report
    assert progress_of(dataclasses.replace(whole, parts={})) == "Creating files...\n"


def test_rates_are_of_the_transactions_that_there_were_files_for(tmp_path: Path) -> None:
    settings = Settings(files=10, transactions=100_000, bias_create=0, bias_read=-1)
    made = prepare(settings, [Path("/mnt")], tmp_path)
    # Ten files are deleted in 10 / 16,359 s; nobody is there for the other 99,990 transactions.
    mixed = PartTotals(seconds=10 / 16_359, ops={DELETE: 10}, bytes={}, is_complete=True)
    totals = RunTotals(
        settings=settings,
        begin_s=0.0,
        parts={
            "create": PartTotals(seconds=0.001, ops={CREATE: 10}, bytes={}, is_complete=True),
            "transactions": mixed,
        },
        planned=frozenset(phase.name for phase in made.phases),
        counts=made.origin.counts,
    )

    assert totals.ran_out
    assert row_of(totals).iops == 16_359
    assert "The files ran out after 10 of 100000 transactions" in stderr_notes(totals)
    assert "out of files!" in progress_of(totals)


# -- the table ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("published/*.csv")), ids=lambda path: path.stem)
def test_published_results_make_the_table_that_they_were_published_as(path: Path, goldens: Goldens) -> None:
    records = csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#"))
    rows = []
    for record in records:
        names = [record[name] for name in ("config", "filesystem", "scheduler") if name in record]
        numbers = {
            name: float(value)
            for name, value in record.items()
            if name in ResultRow.__dataclass_fields__ and name != "config"
        }
        rows.append(ResultRow(config=" ".join(names), **numbers))

    goldens.check(path.with_suffix(".txt"), table(rows))


@pytest.mark.parametrize("blank", ["\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u3000"])
def test_a_number_with_a_rare_blank_behind_it_is_a_number(blank: str) -> None:
    assert whole_number(f"4{blank}") == 4


class Silent:
    """Runs nothing, and says nothing."""

    def measure(self, words: Sequence[str], files: Files = NO_FILES) -> int:
        """Take the words of a run."""
        del words, files
        return 0

    def write(self, text: str) -> None:
        """Take a text."""
        del text

    def may_write(self, name: str) -> bool:
        """Write nothing."""
        del name
        return False

    def check_action(self, what: str) -> None:
        """Do nothing else."""
        raise AssertionError(what)


@pytest.mark.parametrize("is_loaded", [False, True])
def test_more_lines_than_anybody_writes_are_refused_also_in_files_that_load_files(
    tmp_path: Path, is_loaded: bool
) -> None:
    (tmp_path / "0").write_text("\n" * (100 if is_loaded else 100_001))
    for depth in range(1, 5):
        (tmp_path / str(depth)).write_text(f"load {tmp_path / str(depth - 1)}\n" * 50)

    with pytest.raises(FrontEndError, match="more than 100000 lines"):
        Conversation(Silent()).read(str(tmp_path / ("4" if is_loaded else "0")))


def test_a_long_line_is_cut_in_what_is_said_of_it(tmp_path: Path) -> None:
    (tmp_path / "commands").write_text("x" * 100_000)

    with pytest.raises(FrontEndError) as refused:
        Conversation(Silent()).read(str(tmp_path / "commands"))

    assert len(str(refused.value)) < 300


def test_loads_that_fail_at_the_prompt_keep_no_later_one_from_being_read(tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("no such command\n")
    (tmp_path / "right").write_text("set number 7\n")
    typed = Conversation(Silent())

    for _ in range(20):
        with pytest.raises(FrontEndError):
            typed.follow(f"load {tmp_path / 'wrong'}")
    typed.follow(f"load {tmp_path / 'right'}")

    assert typed.settings.files == 7
