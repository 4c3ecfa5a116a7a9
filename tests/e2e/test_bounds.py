"""What asks for more than there may be is refused in a line, with a bound on the memory and the time of each try.

Every command here runs with 1 GiB of address space (assay) and a limit of patience, so that what is not refused takes no
machine with it.
"""

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from assay.units import format_number
from bench.terminal import Printed, printed
from e2e.command import COMMAND, Assay, need_command
from e2e.processes import load_file
from testbed.host import need_tools

PATIENCE_S = 120.0
MOST_BYTES = 4 << 30
"""Of address space: the libraries that read tables map 2 GiB of it."""


def bounded(
    assay: Assay,
    *words: str | bytes | Path,
    env: Mapping[str, str | bytes | None] | None = None,
    stdin: int | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run the command within bounds; a variable of None is not set."""
    need_tools("prlimit")
    environment: dict[bytes, bytes] = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    environment[b"ASSAY_RUNS"] = os.fsencode(assay.runs)
    for name, value in (env or {}).items():
        environment.pop(os.fsencode(name), None)
        if value is not None:
            environment[os.fsencode(name)] = os.fsencode(value)
    return subprocess.run(
        ["prlimit", f"--as={MOST_BYTES}", COMMAND, *words],
        env=environment,
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PATIENCE_S,
        check=False,
    )


def check_refused(done: "subprocess.CompletedProcess[str]", code: int, said: str) -> None:
    """One line, the exit code, no trace."""
    assert (done.returncode, said in done.stderr) == (code, True), (done.returncode, done.stderr[:2000])
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 1000


# -- load files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('backend = "io_uring"\nqueue_depth = 4294967295', "small.toml:17: phase.job.queue_depth: 4294967295 is out"),
        ("workers = 16385", "small.toml:16: phase.job.workers: 16385 is out of range"),
        ("arrival = { open = 1e12 }", "small.toml:16: phase.job.arrival.open: 1000000000000.0 is out of range"),
        (f"workers = {'9' * 5000}", "small.toml:16: a word of 5000 characters"),
        (f"cpus = {'[' * 3000}{']' * 3000}", "small.toml:16: values are nested more than 40 deep"),
    ],
)
def test_a_load_file_beyond_the_limits_is_refused_with_its_line(
    line: str, said: str, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    load = load_file(tmp_path)
    lines = [*load.read_text().rstrip().splitlines()]
    text = "\n".join(lines)
    at = text.count("\n") + 2
    load.write_text(f"{text}\n{line}\n")

    done = bounded(assay, "run", load, directory)

    check_refused(
        done, 2, said.replace("small.toml:16", f"small.toml:{at}").replace("small.toml:17", f"small.toml:{at + 1}")
    )
    assert list(directory.iterdir()) == []
    assert not assay.runs.exists()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            "queue_depth = 32768",
            "32.0 GiB of it for the buffers of phase 'read', job 'read' (workers 1 x queue_depth 32768",
        ),
        (
            "queue_depth = 4\nworkers = 4097",
            "16.0 GiB of it for the buffers of phase 'read', job 'read' (workers 4097 x",
        ),
    ],
)
def test_memory_that_is_not_there_is_said_before_anything_is_made(
    asked: str, said: str, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    load = load_file(tmp_path)
    text = load.read_text().replace('size = "4KiB" }', 'size = "1MiB" }')
    load.write_text(f'{text}backend = {{ kind = "io_uring", fallback = "threads" }}\n{asked}\n')

    done = bounded(assay, "run", load, directory, "--no-report")

    check_refused(done, 3, "of memory are needed")
    assert said in done.stderr
    assert "Lower workers, queue_depth or size" in done.stderr
    assert list(directory.iterdir()) == []


def test_what_the_engine_refuses_of_a_load_file_is_told_with_its_line(
    assay: Assay, directory: Path, tmp_path: Path
) -> None:
    load = load_file(tmp_path)
    text = load.read_text().replace('size = "4KiB" }', "size = { uniform = 9, max = 5 } }")
    load.write_text(text)
    line = next(number for number, line in enumerate(text.splitlines(), start=1) if "max = 5" in line)

    done = bounded(assay, "run", load, directory, "--no-report")

    check_refused(done, 2, f"{load}:{line}: phase ")
    assert "min 9 is above max 5" in done.stderr


@pytest.mark.parametrize("kind", ["pipe", "device", "directory", "large", "link to a device"])
def test_what_is_no_load_file_is_not_read(kind: str, assay: Assay, directory: Path, tmp_path: Path) -> None:
    load = tmp_path / "load.toml"
    said = "a load file is a regular file"
    match kind:
        case "pipe":
            os.mkfifo(load)
        case "device":
            load = Path("/dev/zero")
        case "directory":
            load.mkdir()
        case "link to a device":
            load.symlink_to("/dev/zero")
        case _:
            said = "has more than 4 MiB"
            load.write_bytes(b"#" * (5 << 20))

    check_refused(bounded(assay, "run", load, directory), 2, said)


def test_a_load_file_comes_through_a_pipe_that_was_handed_on(assay: Assay, directory: Path, tmp_path: Path) -> None:
    text = load_file(tmp_path, seconds="0.2s").read_bytes()
    reader, writer = os.pipe()
    try:
        os.write(writer, text)
        os.close(writer)
        done = bounded(assay, "run", "/dev/stdin", directory, "--no-report", stdin=reader)
    finally:
        os.close(reader)

    assert done.returncode in {0, 1}, done.stderr


# -- tools -------------------------------------------------------------------------------------------------------------


DIGITS = "9" * 5000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bonnie", "-d", "{dir}", "-u", "root", "-x", "100000000"), "bonnie -x '100000000': the limit is 1538"),
        (("bonnie", "-d", "{dir}", "-u", "root", "-n", "0", "-s", DIGITS), "characters)': it must be a whole number"),
        (("bonnie", "-d", "{dir}", "-u", DIGITS), "there is no user of that name"),
        (("postmark", "{postmark}"), "the limit is 10000000"),
        (("vxbench", "-w", "read", "-i", f"nrep={DIGITS}", "{dir}/f"), "give a whole number between 1 and"),
        (("vxbench", "-w", "sleep,read", "-i", "sleeptime=9e18", "{dir}/f"), "give seconds above 0, up to a year"),
        (("iozone", "-s", DIGITS, "-f", "{dir}/f"), "write a number of KiB"),
        (("iozone", "-H", "32769", "-s", "64", "-f", "{dir}/f"), "write a whole number from 0 to 32768"),
        (("perfpl", "4096", "1", DIGITS, "1", "1", "--dir", "{dir}"), "TOTALFILES is"),
        (("quick", "{dir}", "--time", "99999999h"), "--time 99999999h: 359999996400.0 is out of range: 0 to 31622400"),
        (("bigdir", "4294967297", "--dir", "{dir}"), "COUNT is 4294967297; the limit is 4294967296"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_tools_words_beyond_the_limits_are_refused(
    words: tuple[str, ...], said: str, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    commands = tmp_path / "commands.pm"
    commands.write_text(f"set location {directory}\nset number 2000000000\nrun\nquit\n")

    done = bounded(assay, *(word.format(dir=directory, postmark=commands) for word in words))

    # The words themselves are long, and some are said again.
    assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr[:500]
    assert list(directory.iterdir()) == []


# -- words, users, homes -----------------------------------------------------------------------------------------------


def test_words_that_are_no_texts_are_refused_wherever_they_stand(assay: Assay, directory: Path, tmp_path: Path) -> None:
    load = load_file(tmp_path)
    for words in (
        ("run", b"\xff.toml", directory),
        ("run", load, directory, "--set", b"a=\xff"),
        ("iozone", "-f", b"\xff"),
        ("show", b"\xff"),
        (b"\xff",),
        ("ls", "--runs", b"/tmp/\xff"),
    ):
        check_refused(bounded(assay, *words), 2, "is not UTF-8")
    check_refused(bounded(assay, "ls", env={"ASSAY_RUNS": b"/tmp/\xff"}), 2, "$ASSAY_RUNS is '/tmp/\\xff'")


def test_more_words_than_a_command_line_has_are_refused(assay: Assay) -> None:
    check_refused(
        bounded(assay, "ls", *["x"] * 30_000), 2, "the command line: these are 30001 words; 20000 are the most"
    )


def test_a_user_without_a_home_is_told_what_to_set_and_measures_without_one(unprivileged: Assay) -> None:
    assert unprivileged.home is not None
    load = load_file(unprivileged.home, seconds="0.2s")
    load.chmod(0o644)
    stranger = [
        "setpriv",
        "--reuid=54321",
        "--regid=54321",
        "--clear-groups",
        "env",
        "-u",
        "HOME",
        "-u",
        "XDG_DATA_HOME",
    ]
    need_tools("setpriv")
    directory = unprivileged.home / "measured"
    directory.mkdir()
    directory.chmod(0o777)
    runs = unprivileged.home / "open"
    runs.mkdir()
    runs.chmod(0o777)
    unprivileged.home.chmod(0o755)

    def strange(*words: str | Path) -> "subprocess.CompletedProcess[str]":
        # What draws the report reserves more address space than there is memory.
        return subprocess.run(
            [*stranger, COMMAND, *words],
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    check_refused(strange("ls"), 2, "$HOME is not set, and the user is not known here. Set XDG_DATA_HOME")
    check_refused(strange("ls", "--runs", "~nobody-of-that-name/runs"), 2, "needs the home of a user")
    measured = strange("run", load, directory, "--runs", runs)
    assert measured.returncode in {0, 1}, measured.stderr
    assert list(runs.glob("*.html"))


# -- terminals ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Assay:
    """With a run to show, which has findings."""
    need_command()
    place = tmp_path_factory.mktemp("measured")
    (place / "directory").mkdir()
    assay = Assay(runs=place / "runs")
    load = load_file(place, seconds="0.2s")
    assert assay("run", load, place / "directory", "--no-report").returncode in {0, 1}
    return assay


def on_a_terminal(measured: Assay, command: str, width: int) -> Printed:
    words: list[str | Path] = ["prlimit", f"--as={MOST_BYTES}", COMMAND, command]
    return printed(words, (width, 24), env={"ASSAY_RUNS": str(measured.runs)})


@pytest.fixture(scope="module")
def wide(measured: Assay) -> Printed:
    """The run as a wide terminal shows it."""
    need_tools("prlimit")
    return on_a_terminal(measured, "show", 200)


@pytest.mark.parametrize("columns", range(4))
def test_a_run_is_shown_on_a_terminal_of_hardly_any_columns(columns: int, measured: Assay, wide: Printed) -> None:
    document = json.loads(measured("show", "last", "--json").stdout)
    narrow, listed = on_a_terminal(measured, "show", columns), on_a_terminal(measured, "ls", columns)

    assert (narrow.code, narrow.beside) == (wide.code, "")
    # Wherever lines end, each result with its rate, and each finding but notes, is there.
    shown = _characters(narrow.text)
    assert document["run"]["id"] in shown
    for result in document["results"]:
        assert _characters(result["title"]) in shown
        assert format_number(result["iops"]) in shown
        named = {finding["id"] for finding in result["findings"] if finding["severity"] != "note"}
        assert named <= set(narrow.text.split())
    assert (listed.code, listed.beside) == (0, "")
    assert document["run"]["id"] in listed.text.split()


def _characters(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("columns", [0, 1, 3])
def test_a_run_is_measured_on_a_terminal_of_hardly_any_columns(
    columns: int, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    load = load_file(tmp_path, seconds="0.5s")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", columns, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    process = subprocess.Popen(
        ["prlimit", f"--as={MOST_BYTES}", COMMAND, "run", load, directory, "--no-report"],
        env={**environment, "ASSAY_RUNS": str(assay.runs), "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        said = b""
        while part := _read(ours):
            said += part
        assert process.wait(PATIENCE_S) in {0, 1}, said[-2000:]
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert b"Traceback" not in said


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # EIO: nobody has the other end any more
        return b""


ALL_COMMANDS = (("show",), ("show", "--json"), ("ls",), ("doctor",), ("suites",), ("--help",))


# In the first two, Python makes UTF-8 of it by itself: one command shows that it is taken as that.
@pytest.mark.parametrize(
    ("env", "commands"),
    [
        ({"LC_ALL": "C", "LANG": None}, ALL_COMMANDS[:1]),
        ({"LC_ALL": None, "LANG": None}, ALL_COMMANDS[:1]),
        ({"PYTHONIOENCODING": "ascii"}, ALL_COMMANDS),
        ({"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, ALL_COMMANDS),
    ],
)
def test_every_locale_can_hold_what_is_printed(
    env: dict[str, str | None], commands: Sequence[Sequence[str]], measured: Assay
) -> None:
    for words in commands:
        directories = [measured.runs.parent / "directory"] if words == ("doctor",) else []
        done = bounded(measured, *words, *directories, env=env)

        assert done.returncode in {0, 1, 3}, done.stderr
        assert done.stdout
        assert "Traceback" not in done.stderr
