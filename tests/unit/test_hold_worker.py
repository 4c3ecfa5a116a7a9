"""The shell on a host starts nothing that somebody else could have put there: tried with a real `sh`, on this machine."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from assay import __version__
from assay.cluster import worker_shell
from assay.own_files import find_stranger
from unit.test_own_files import let_write

SCRIPT = Path(worker_shell.__file__).with_name("hold_worker.sh")
NOBODY = 65534
USUAL = "/usr/bin:/bin"


class Host:
    """A host, as the script sees it: a home, a PATH, a temporary folder, and a program that leaves a mark where it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = self.make("home")
        self.elsewhere = self.make("elsewhere")
        self.temporary = self.make("temporary")
        self.path = USUAL
        self.engine = ""

    def make(self, name: str) -> Path:
        """Make a folder that is nobody else's."""
        path = self.folder / name
        path.mkdir(mode=0o755, parents=True)
        return path

    def program(self, path: Path, *, says: str = f"assay {__version__}") -> Path:
        """Write a program that says this of itself, and leaves a mark."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n: >>{self.folder}/{path.name}-was-run\necho {says}\n")
        path.chmod(0o755)
        return path

    def was_run(self, name: str = "assay") -> bool:
        """Whether such a program was."""
        return (self.folder / f"{name}-was-run").exists()

    def says(self, *lines: str) -> list[str]:
        """Give what the script says when it is given these lines, without its mark."""
        with subprocess.Popen(
            ["/bin/sh", "-s", "MARK"],
            env={
                "HOME": str(self.home),
                "PATH": self.path,
                "TMPDIR": str(self.temporary),
                "ASSAY_ENGINE": self.engine,
            },
            cwd=self.elsewhere,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as shell:
            assert shell.stdin is not None
            assert shell.stdout is not None
            shell.stdin.write(SCRIPT.read_text())
            shell.stdin.flush()
            said = [shell.stdout.readline()]  # a shell reads ahead: the lines are for the script, and not for the shell
            shell.stdin.write("".join(f"{line}\n" for line in lines))
            shell.stdin.close()
            said += shell.stdout.readlines()
        return [line.rstrip("\n").removeprefix("MARK ") for line in said if line.startswith("MARK ")]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path / "host")


def give_away(path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root gives files to others")
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def open_to_all(path: Path) -> None:
    path.chmod(0o777)


def open_to_a_group(path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root gives files to groups of others")
    os.chown(path, 0, NOBODY)
    path.chmod(0o775)


def open_to_a_user(path: Path) -> None:
    open_to_a_group(path)
    os.chown(path, 0, 0)
    let_write(path, NOBODY)


OTHERS: tuple[Callable[[Path], None], ...] = (give_away, open_to_all, open_to_a_group, open_to_a_user)


def _program_itself(host: Host, to_others: Callable[[Path], None]) -> Path:
    program = host.program(host.folder / "bin" / "assay")
    to_others(program)
    return program


def _its_folder(host: Host, to_others: Callable[[Path], None]) -> Path:
    program = host.program(host.folder / "bin" / "assay")
    to_others(program.parent)
    return program


def _a_folder_above(host: Host, to_others: Callable[[Path], None]) -> Path:
    program = host.program(host.folder / "opt" / "assay" / "bin" / "assay")
    to_others(host.folder / "opt")
    return program


def _a_link_leads_there(host: Host, to_others: Callable[[Path], None]) -> Path:
    there = host.program(host.folder / "theirs" / "assay")
    to_others(there.parent)
    link = host.make("bin") / "assay"
    link.symlink_to(there)
    return link


def _a_link_of_theirs(host: Host, to_others: Callable[[Path], None]) -> Path:
    mine = host.program(host.folder / "mine" / "assay")
    link = host.make("theirs") / "assay"
    link.symlink_to(mine)
    to_others(link.parent)
    return link


def _a_relative_link_in_a_chain(host: Host, to_others: Callable[[Path], None]) -> Path:
    there = host.program(host.folder / "theirs" / "assay")
    to_others(there.parent)
    (host.make("one") / "two").symlink_to("../theirs")
    link = host.make("bin") / "assay"
    link.symlink_to("../one/./two/assay")
    return link


PLACES = (
    _program_itself,
    _its_folder,
    _a_folder_above,
    _a_link_leads_there,
    _a_link_of_theirs,
    _a_relative_link_in_a_chain,
)


@pytest.mark.parametrize("to_others", OTHERS)
@pytest.mark.parametrize("place", PLACES)
def test_an_assay_that_others_could_have_put_on_path_is_not_run(
    host: Host, place: Callable[[Host, Callable[[Path], None]], Path], to_others: Callable[[Path], None]
) -> None:
    program = place(host, to_others)
    host.path = f"{program.parent}:{USUAL}"

    said = host.says("")

    assert not host.was_run()
    assert said[1].startswith(f"assay refused: {program} was not run: /"), said
    assert find_stranger(program) is not None


@pytest.mark.parametrize("is_linked", [False, True])
def test_ones_own_assay_is_run_wherever_it_lies(host: Host, is_linked: bool) -> None:
    program = host.program(host.home / ".local" / "bin" / "assay")
    if is_linked:
        moved = host.make("venv") / "assay"
        program.rename(moved)
        program.symlink_to("../../../venv/assay")

    said = host.says("")

    assert said[:2] == ["ready", f"assay assay {__version__}"]
    assert find_stranger(program) is None


def test_a_folder_with_the_sticky_bit_is_no_hole(host: Host) -> None:
    program = host.program(host.folder / "shared" / "mine" / "assay")
    (host.folder / "shared").chmod(0o1777)
    host.path = f"{program.parent}:{USUAL}"

    assert host.says("")[1] == f"assay assay {__version__}"
    assert find_stranger(program) is None


@pytest.mark.parametrize(
    ("group", "user", "is_run"),
    [("staff:x:50:", "", True), ("staff:x:50:eve", "", False), ("staff:x:50:", "eve:x:1000:50::/:/bin/sh", False)],
)
def test_a_group_of_the_distribution_may_write_while_nobody_is_in_it(
    host: Host, group: str, user: str, *, is_run: bool
) -> None:
    """As `staff` may to /usr/local on Debian."""
    if os.geteuid():
        pytest.skip("only root gives folders to groups of others")
    program = host.program(host.folder / "local" / "bin" / "assay")
    os.chown(host.folder / "local", 0, 50)
    (host.folder / "local").chmod(0o2775)
    getent = host.program(host.folder / "usual" / "getent")
    getent.write_text(f"#!/bin/sh\n[ $1 = group ] && echo '{group}' || echo 'root:x:0:0::/:/bin/sh\n{user}'\n")
    host.path = f"{program.parent}:{getent.parent}:{USUAL}"

    said = host.says("")

    assert host.was_run() == is_run, said
    assert is_run or f"{host.folder / 'local'} can be written by group 50" in said[1]


@pytest.mark.parametrize("entry", [".", "", "bin", "./bin"])
def test_nothing_is_started_by_a_relative_entry_of_path(host: Host, entry: str) -> None:
    names = ("assay", "assay-engine", "uname", "stat", "dirname", "readlink", "mktemp", "sed", "tail", "rm")
    for folder in (host.elsewhere, host.elsewhere / "bin"):
        for name in names:
            host.program(folder / name)
    host.path = f"{entry}:{USUAL}"

    assert host.says("", "folder")[1] == "assay none"
    assert not any(host.was_run(name) for name in names)


@pytest.mark.parametrize("to_others", OTHERS)
def test_the_leaders_python_is_not_looked_for_at_its_path_there(host: Host, to_others: Callable[[Path], None]) -> None:
    """What was run before: `-P -m assay` of a Python at the same path, whose packages somebody else had put there."""
    python = host.program(host.folder / "venv" / "bin" / "python")
    to_others(host.folder / "venv")

    said = host.says("", str(python))

    assert not host.was_run("python")
    assert said[1] == "assay none"


@pytest.mark.parametrize("to_others", OTHERS)
@pytest.mark.parametrize("place", ["ASSAY_ENGINE", "beside assay", "on PATH"])
def test_an_engine_that_others_could_have_put_there_is_not_run(
    host: Host, place: str, to_others: Callable[[Path], None]
) -> None:
    engine = host.program(host.folder / "theirs" / "assay-engine", says=f"assay-engine {__version__}")
    python = host.program(host.folder / "mine" / "python")
    if place == "ASSAY_ENGINE":
        host.engine = str(engine)
    elif place == "on PATH":
        host.path = f"{engine.parent}:{USUAL}"
    else:
        (python.parent / "assay-engine").symlink_to(engine)
    words = str(python)
    assert f"engine assay-engine {__version__} {host.engine or engine}" in host.says(words) or place == "beside assay"
    assert host.was_run("assay-engine")
    (host.folder / "assay-engine-was-run").unlink()
    to_others(engine.parent)

    said = host.says(words)

    assert not host.was_run("assay-engine")
    assert not any(line.startswith("engine ") for line in said), said
    assert said[-1] == "looked"


@pytest.mark.parametrize("to_others", OTHERS)
def test_no_key_is_put_into_a_folder_that_others_could_replace(host: Host, to_others: Callable[[Path], None]) -> None:
    to_others(host.temporary)

    said = host.says(str(host.program(host.folder / "mine" / "python")), "folder")

    assert said[-1].startswith(f"folder {host.temporary} "), said
    assert list(host.temporary.iterdir()) == []
