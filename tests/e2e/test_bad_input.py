"""Each thing that a user can get wrong has a message that says what, where and what to do, its exit code, no trace."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from assay import __version__
from e2e.command import COMMAND, TIMEOUT_S, Assay
from e2e.processes import load_file, nothing_in
from testbed.devices import MIB, small_ext4, tmpfs
from testbed.host import need_tools

# prctl(PR_SET_SECCOMP): io_uring_setup is answered with EPERM, as containers do; everything else goes through.
WITHOUT_IO_URING = """
import ctypes, os, struct, sys
load, is_equal, give = 0x20, 0x15, 0x06
rules = [(load, 0, 0, 0), (is_equal, 0, 1, 425), (give, 0, 0, 0x00050001), (give, 0, 0, 0x7FFF0000)]
filter = b"".join(struct.pack("HBBI", *rule) for rule in rules)
buffer = ctypes.create_string_buffer(filter, len(filter))
program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(buffer))
prctl = ctypes.CDLL(None, use_errno=True).prctl
assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("quick", "{dir}/absent"), "{dir}/absent does not exist"),
        (("quick", "{dir}/../small.toml"), "small.toml is not a directory"),
        (("quick", "{dir}/../small.toml/below"), "a part of this path is a file"),
        (("quick", "{dir}/../circle"), "lead in a circle"),
        (("quick", "/dev"), "/dev holds device nodes, and stores nothing; to measure a device"),
        (("quick", "/proc"), "/proc is on proc, which stores nothing; give a directory on the storage"),
        (("quick", "x" * 300), "File name too long"),
        (("quick", "{dir}", "--size", "0"), "a size of 0 bytes is below"),
        (("quick", "{dir}", "--size", "4GB"), "means two things: write 4GiB"),
        (("quick", "{dir}", "--time", "0"), "0 s are too short"),
        (("quick", "{dir}", "--time", "5s", "--join", "{dir}/j", "--clients", "2"), "5 s are too short"),
        (("quick", "{dir}", "--time", "soon"), "'soon' is not a time such as"),
        (("quick", "{dir}", "--fast"), "No such option"),
        (("quick",), "Missing argument 'DIR'"),
        (("measure", "{dir}/absent"), "{dir}/absent does not exist"),
        (("measure", "{dir}", "--bs", "4KB"), "--bs 4KB: '4KB' means two things: write 4KiB (4,096 bytes), or 4000B"),
        (("measure", "{dir}", "--direct", "--bs", "1000"), "use 1024B"),
        (("measure", "{dir}", "--read", "--write"), "give only one of --read, --write and --mix"),
        (("run", "nonsense", "{dir}"), "no suite 'nonsense'; there are: backup-streams"),
        (("run", "{dir}/no.toml", "{dir}"), "no load file"),
        (("run", "{load}", "{dir}", "--set", "speed"), "write it as KEY=VALUE"),
        (("run", "{load}", "{dir}", "--set", "speed=9"), "no parameter 'speed'"),
        (("show", "nothing"), "There are none yet"),
        (("clean", "{dir}/absent"), "'{dir}/absent' is no directory; run '{dir}/absent': no such run"),
    ],
)
def test_bad_words_are_refused_with_their_cure(
    args: tuple[str, ...], said: str, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    load = load_file(tmp_path)
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    words = [word.format(dir=directory, load=load) for word in args]

    done = assay(*words, check=2)

    assert said.format(dir=directory) in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert nothing_in(directory)
    assert not assay.runs.exists()


IMPOSSIBLE = """\
name = "x"
[[file_set]]
name = "data"
size = "1MiB"
[[phase]]
name = "p"
{phase}
[[phase.job]]
{job}
op = {{ op = "read", set = "data", access = "random", size = "{size}" }}
"""


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("name = ", "small.toml:1"),
        ('name = "x"\n[[phase]]\nname = "p"\nsecond = "1s"\n', "small.toml:4"),
        (
            IMPOSSIBLE.format(phase="", job="arrival = { open = 5 }", size="4k"),
            "small.toml:9: phase 'p', job 'p': arrival goes",
        ),
        (
            IMPOSSIBLE.format(phase='seconds = 1\nramp = "1s"', job="", size="4k"),
            "small.toml:8: phase 'p': ramp is 1.00 s",
        ),
        (
            IMPOSSIBLE.format(phase="seconds = 1", job="", size="2m"),
            "its size is 2.00 MiB, and its files have 1.00 MiB",
        ),
        (
            IMPOSSIBLE.format(phase="seconds = 1", job="direct = true", size="100"),
            "direct moves multiples of 512 bytes",
        ),
        (
            IMPOSSIBLE.format(phase="seconds = 1", job='direct = true\nbackend = "mmap"', size="4k"),
            "small.toml:9: phase 'p', job 'p': mmap goes through the page cache, so direct 'on' is not possible",
        ),
        ('name = "x"\n[[phase]]\nname = "p"\n[[phase.job]]\nop = { op = "read", set = "no", size = "4KiB" }\n', "'no'"),
    ],
)
def test_a_fault_in_a_load_file_is_told_with_its_place(
    text: str, where: str, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    load = tmp_path / "small.toml"
    load.write_text(text)

    done = assay("run", load, directory, check=2)

    assert where in done.stderr
    assert "laying out" not in done.stderr
    assert nothing_in(directory)


ODD_DIRECT = {
    "fio": "--name=a --directory=. --size=64k --bs=700 --direct=1 --rw=randread",
    "filebench": "-f odd.f",
}
ODD_SCRIPT = """
define file name=f,path=/tmp,size=1m,prealloc
define process name=p { thread name=t { flowop write name=w,filename=f,iosize=700,directio } }
run 1
"""


@pytest.mark.parametrize(("tool", "said"), [("fio", "bs is 700 bytes; direct=1"), ("filebench", "iosize is 700 bytes")])
def test_what_can_never_work_is_refused_in_the_tools_own_words(
    tool: str, said: str, assay: Assay, directory: Path
) -> None:
    (directory / "odd.f").write_text(ODD_SCRIPT)

    done = assay(tool, *ODD_DIRECT[tool].split(), cwd=directory, check=2)

    assert said in done.stderr
    assert done.stdout == ""
    assert [path.name for path in directory.iterdir()] == ["odd.f"]


def test_names_of_any_kind_are_measured_and_left_clean(assay: Assay, tmp_path: Path) -> None:
    load = load_file(tmp_path, seconds="0.2s")
    directory = tmp_path / "Größe 100%25 [red] 'a' $b"
    directory.mkdir()
    (tmp_path / "link").symlink_to(directory)

    for name in (directory, Path(directory.name), Path("link")):
        done = assay("run", load, name, "--json", "--no-report", cwd=tmp_path)

        assert done.returncode in {0, 1}, done.stderr
        assert json.loads(done.stdout)["results"][0]["ops"] > 0
        assert nothing_in(directory)
    assert str(directory) in assay("show", check=0).stdout.replace("\n", "")


def test_a_name_that_is_no_text_is_refused(assay: Assay, tmp_path: Path) -> None:
    directory = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    directory.mkdir()

    done = assay("run", load_file(tmp_path), directory, check=2)

    assert "is not UTF-8" in done.stderr
    assert nothing_in(directory)


def test_a_directory_that_is_not_ours_is_refused(unprivileged: Assay) -> None:
    assert unprivileged.home is not None
    load = load_file(unprivileged.home, seconds="1s")
    closed = unprivileged.home / "closed"
    closed.mkdir(mode=0o700)
    theirs = unprivileged.home / "theirs"
    theirs.mkdir(mode=0o755)

    hidden = unprivileged("run", load, closed / "below", check=2)
    unwritable = unprivileged("run", load, theirs, check=3)

    assert f"{closed / 'below'} cannot be reached: Permission denied" in hidden.stderr
    assert f"{theirs} is not writable for this user" in unwritable.stderr
    assert nothing_in(theirs)


def test_an_asked_size_that_does_not_fit_is_refused_with_the_largest_that_would(assay: Assay, directory: Path) -> None:
    done = assay("quick", directory, "--size", "900TiB", check=3)

    assert "900 TiB are needed, but only" in done.stderr
    assert re.search(r"use --size [0-9]+MiB or less", done.stderr)
    assert nothing_in(directory)


@pytest.mark.testbed
def test_too_little_space_is_refused_before_anything_is_written(assay: Assay, tmp_path: Path) -> None:
    load = load_file(tmp_path)
    load.write_text(load.read_text().replace("4MiB", "100MiB"))
    with tmpfs(80 * MIB) as memory, small_ext4(64 * MIB, backing=memory) as mount_point:
        done = assay("run", load, mount_point, check=3)
        quick = assay("quick", mount_point, check=3)

        assert f"MiB are free on {mount_point} above the reserve of 1 MiB; " in done.stderr
        assert "are needed, but only" in quick.stderr
        assert "above the reserve of 256 MiB" in quick.stderr
        assert not (mount_point / "assay-data").exists()
        assert assay("ls", check=0).stdout.count("\n") <= 1, "a refused run stays in the list"


LARGE_LOAD = """
name = "large"
[[file_set]]
name = "data"
size = "200MiB"
[[phase]]
name = "read"
seconds = 1
[[phase.job]]
op = { op = "read", set = "data", size = "4KiB" }
"""
TOO_LARGE = {
    "quick": ("{dir}", "--size", "200MiB"),
    "run": ("{load}", "{dir}"),
    "measure": ("{dir}", "--size", "200MiB"),
    "iozone": ("-s", "200m", "-r", "1m", "-i", "0", "-f", "{dir}/file"),
    "bonnie": ("-d", "{dir}", "-u", "root", "-r", "0", "-s", "200", "-n", "0"),
    "postmark": ("{asked}",),
    "vxbench": ("-w", "write", "-i", "iosize=1m,iocount=200", "{dir}/file"),
    "perfpl": ("1048576", "200", "1", "1", "1", "--dir", "{dir}"),
    # Either would fit.
    "fio": ("--directory={dir}", "--size=30m", "--rw=read", "--name=a", "--name=b", "--filename=c"),
}
"""For each command words that ask for 200 MiB, where 44 MiB are left above the reserve."""


@pytest.mark.testbed
@pytest.mark.parametrize("command", TOO_LARGE)
def test_what_does_not_fit_is_refused_alike_by_every_command(command: str, assay: Assay, tmp_path: Path) -> None:
    load, asked = tmp_path / "load.toml", tmp_path / "asked.pm"
    load.write_text(LARGE_LOAD)
    with tmpfs(300 * MIB) as memory:
        asked.write_text(f"set location {memory}\nset size 1048576 1048576\nset number 200\nrun\nquit\n")
        words = [word.format(dir=memory, load=load, asked=asked) for word in TOO_LARGE[command]]
        done = assay(command, *words, check=3)

        # The file system itself takes a little.
        assert "laying out" not in done.stderr
        assert re.search(r"only 4[34](\.\d)? MiB are free (in|on) \S+ above the reserve of 256 MiB", done.stderr)
        assert ("--size" in done.stderr) == (command == "quick")
        assert list(memory.iterdir()) == []


@pytest.mark.parametrize(("fallback", "code"), [("threads", 0), ("refuse", 3)])
def test_a_kernel_without_io_uring_is_said(
    fallback: str, code: int, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    load = load_file(tmp_path, seconds="2s")
    load.write_text(load.read_text() + f'backend = {{ kind = "io_uring", fallback = "{fallback}" }}\nqueue_depth = 4\n')

    done = assay("run", load, directory, "--json", "--no-report", prefix=(sys.executable, "-c", WITHOUT_IO_URING))

    if code:
        assert done.returncode == code
        assert "io_uring: refused, probably by a container's seccomp filter" in done.stderr
        assert "Choose the backend psync" in done.stderr
    else:
        assert done.returncode in {0, 1}
        (result,) = json.loads(done.stdout)["results"]
        assert result["ops"] > 0
        assert "engine-fallback" in {finding["id"] for finding in result["findings"]}
    assert nothing_in(directory)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", "ended with code 0 before it was done"),
        ("echo oops >&2; exit 7", "ended with code 7 before it was done: oops"),
        ("echo hello", "wrote a line that is no event"),
        # It goes on: the first line is enough to end it. Never a program that writes without end.
        ("echo hello; exec sleep 60", "wrote a line that is no event"),
        ("cat", "wrote a line that is no event"),
    ],
)
def test_what_is_no_engine_is_said_before_anything_is_done(
    script: str, said: str, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    engine = _script(tmp_path / "engine", script)

    done = assay("run", load_file(tmp_path), directory, env={"ASSAY_ENGINE": str(engine)}, check=3)

    assert said in done.stderr
    assert str(engine) in done.stderr
    assert nothing_in(directory)
    assert not assay.runs.exists()


def test_an_engine_of_another_version_or_none_is_said(assay: Assay, directory: Path, tmp_path: Path) -> None:
    real = COMMAND.with_name("assay-engine")
    other = _script(tmp_path / "engine", f'\'{real}\' | sed \'s/"version":"{__version__}"/"version":"9.9.9"/\'')
    load = load_file(tmp_path)

    wrong = assay("run", load, directory, env={"ASSAY_ENGINE": str(other)}, check=3)
    missing = assay("run", load, directory, env={"ASSAY_ENGINE": str(tmp_path / "none")}, check=3)

    assert f"assay {__version__} found assay-engine 9.9.9 at {other}" in wrong.stderr
    assert f"$ASSAY_ENGINE is '{tmp_path / 'none'}'" in missing.stderr
    assert nothing_in(directory)


def test_garbage_in_mid_run_ends_it_and_what_came_before_is_kept(assay: Assay, directory: Path, tmp_path: Path) -> None:
    real = COMMAND.with_name("assay-engine")
    # The empty Plan that asks for capabilities goes through; in the run the second interval is spoilt.
    engine = _script(
        tmp_path / "engine",
        f"exec '{real}' | sed -u '/\"event\":\"interval\"/{{x;s/^/x/;/x\\{{3\\}}/{{x;s/^/?/;x}};x}}'",
    )

    done = assay("run", load_file(tmp_path), directory, "--no-report", env={"ASSAY_ENGINE": str(engine)}, check=3)

    assert "wrote a line that is no event" in done.stderr
    document = json.loads(assay("show", "--json", check=0).stdout)
    assert document["run"]["sealed"]
    assert document["results"][0]["ops"] > 0


@pytest.mark.parametrize("place", ["file", "nobody"])
def test_runs_that_cannot_be_kept_are_said_before_anything_is_done(
    place: str, assay: Assay, directory: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if place == "nobody":
        assay = request.getfixturevalue("unprivileged")
        assert assay.home is not None
        load, directory, runs = load_file(assay.home), assay.home, Path("/proc/runs")
    else:
        load, runs = load_file(tmp_path), tmp_path / "small.toml"

    done = assay("run", load, directory, "--runs", runs, check=3)

    assert f"{runs}: a run folder cannot be made here" in done.stderr
    assert "--runs DIR" in done.stderr
    assert not (directory / "assay-data").exists()


def test_a_reader_that_leaves_is_no_error(assay: Assay, directory: Path, tmp_path: Path) -> None:
    assay("run", load_file(tmp_path, seconds="0.2s"), directory, "--no-report")

    for command in ("show", "ls", "--help", "doctor"):
        assert _into_a_closed_pipe(assay, command) == (0, ""), command


def test_a_run_whose_reader_leaves_is_measured_all_the_same(assay: Assay, directory: Path, tmp_path: Path) -> None:
    code, said = _into_a_closed_pipe(assay, "run", load_file(tmp_path, seconds="2s"), directory, "--no-report")

    assert code in {0, 1}
    assert "Traceback" not in said
    assert "Broken pipe" not in said
    assert json.loads(assay("show", "--json", check=0).stdout)["run"]["exit_code"] == code


def _into_a_closed_pipe(assay: Assay, *args: str | os.PathLike[str]) -> tuple[int, str]:
    """Run with nobody at the other end of standard output; exit code and standard error."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [COMMAND, *args],
            env={**os.environ, "ASSAY_RUNS": str(assay.runs)},
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    finally:
        os.close(writer)
    return done.returncode, done.stderr


def test_more_workers_than_the_user_may_have_threads_are_refused_and_the_data_removed(unprivileged: Assay) -> None:
    need_tools("prlimit")
    assert unprivileged.home is not None
    directory = unprivileged.home / "measured"
    directory.mkdir(mode=0o777)
    directory.chmod(0o777)
    real = COMMAND.with_name("assay-engine")
    engine = _script(unprivileged.home / "engine", f"exec prlimit --nproc=200 '{real}'")
    load = load_file(unprivileged.home, seconds="1s")
    load.write_text(load.read_text().replace("[[phase.job]]", "[[phase.job]]\nworkers = 400"))
    load.chmod(0o644)

    done = unprivileged("run", load, directory, "--no-report", env={"ASSAY_ENGINE": str(engine)}, check=3)

    assert "threads could be made for workers" in done.stderr
    assert nothing_in(directory)


def _script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path
