"""The installed command with words, files and variables that nobody would give it, as nobody: it answers or refuses.

`ASSAY_FUZZ_PROGRAMS=5000` runs more cases, `ASSAY_FUZZ_SEED` others, `ASSAY_FUZZ_PROGRAM=N` the one of a failure.
"""

import collections
import dataclasses
import faulthandler
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.targets import DATA_FOLDER
from e2e.command import COMMAND, NOBODY, Assay
from e2e.fuzzed_programs import LOAD, Case, Cases
from e2e.peak_memory import forget_own_peak
from fuzzing.harness import SEED
from testbed.devices import MIB, tmpfs
from testbed.host import command, need_root, need_tools, wait_until
from testbed.leaks import SESSION_VARIABLE, processes_of
from unit.bundle_streams import begun
from unit.forged_bundles import sealed

CASES = int(os.environ.get("ASSAY_FUZZ_PROGRAMS", "8"))
ONLY = os.environ.get("ASSAY_FUZZ_PROGRAM")
MEASURING = {
    *(b"quick", b"run", b"rerun", b"measure", b"ab", b"matrix", b"mark"),
    *(b"iozone", b"bonnie", b"postmark", b"vxbench", b"perfpl", b"bigdir", b"fio", b"vdbench", b"filebench"),
}
"""They take as long as they are told to: one that does is interrupted."""
INTERRUPTED_AFTER_S = 1.5
MOST_CPU_S = 10.0
"""Of what answers, or ends after an interruption."""
PATIENCE_S = 300.0
"""With what uses no CPU time, and with processes that outlive a case, on a machine that is busy with other things."""
MOST_MEMORY_BYTES = 1 << 30
_MOST_ADDRESSES = 128 << 30
"""What draws pictures maps far more than it uses."""
_MOST_FILE_BYTES = 64 * MIB
_LOOK_S = 0.01
_MOST_FAULTS = 20


@dataclasses.dataclass(frozen=True)
class Ended:
    """How one run of the program ended."""

    code: int
    """Below 0: by this signal."""
    was_interrupted: bool
    hung: str
    """Why it was taken for hung, or nothing."""
    seconds: float
    peak_bytes: int
    said: bytes
    left: list[str]
    """Processes that did not end after it."""

    def faults(self) -> Iterator[str]:
        """Say what none may do."""
        if self.hung:
            yield self.hung
        # Before the program begins Python itself dies of the signal; a shell calls that 130 too.
        elif self.code not in {0, 1, 2, 3, *((130, -signal.SIGINT) if self.was_interrupted else ())}:
            yield f"exit code {self.code}{' after an interruption' if self.was_interrupted else ''}"
        for word in (b"Traceback", b"panicked", b"fault of Assay", b"Fatal Python", b"core dumped"):
            if word in self.said and self.code != -signal.SIGINT:  # Python's own words for that are a trace
                yield f"{word.decode()}: {self.said[-3000:].decode(errors='replace')}"
        if self.peak_bytes > MOST_MEMORY_BYTES:
            yield f"{self.peak_bytes} bytes of memory"
        if self.left:
            yield f"left behind: {self.left}"


@dataclasses.dataclass(frozen=True)
class Place:
    """A small file system in memory where cases are laid out, and what lies beside them."""

    root: Path
    outputs: Path
    """Where what the program prints goes."""
    group: int
    """Of its files alone: nobody else on the machine has it."""

    @property
    def work(self) -> Path:
        """Where the case is."""
        return self.root / "work"

    @property
    def loved(self) -> Path:
        """What nothing may change."""
        return self.root / "loved"

    def fresh(self) -> Path:
        """Make the folder of a case, empty."""
        if self.work.exists():
            shutil.rmtree(self.work)
        self.work.mkdir()
        return self.work

    def give_away(self) -> None:
        """Let the folder of the case, with all that is in it, be nobody's."""
        command("chown", "--recursive", "--no-dereference", f"{NOBODY}:{self.group}", self.work)

    def loved_now(self) -> object:
        """Say what the loved folder holds."""
        return sorted((path.name, path.stat().st_mtime_ns, path.read_bytes()) for path in self.loved.iterdir())

    def strays(self, case: Case) -> list[str]:
        """Name what lies where everybody may write, and is of this group; what the words of the case name is removed."""
        found = []
        for folder in ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock", "/run"):  # noqa: S108 - looked into
            try:
                entries = [*os.scandir(folder)]
            except OSError:
                continue
            for entry in entries:
                try:
                    if entry.stat(follow_symlinks=False).st_gid != self.group:
                        continue
                except OSError:
                    continue
                if entry.name == DATA_FOLDER and os.fsencode(folder) in case.words:
                    shutil.rmtree(entry.path)
                else:
                    found.append(entry.path)
        return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Give a place for cases. Above it nobody but root can write: a path cut short leads nowhere."""
    need_root()
    need_tools("prlimit", "chown", "find")
    with tmpfs(320 * MIB, parent=Path("/run")) as root:
        root.chmod(0o755)
        made = Place(root, tmp_path, 1_000_000 + os.getpid())
        made.loved.mkdir()
        (made.loved / "file").write_text("loved")
        command("chown", "--recursive", f"{NOBODY}:{made.group}", made.loved)
        yield made


@pytest.fixture
def bundles(unprivileged: Assay, place: Place, tmp_path: Path) -> dict[str, Path]:
    """Make a run as the program makes it, one of a tool, a run that died, and a sealed one of a stranger."""
    del unprivileged  # it has made sure that nobody may run the command
    work = place.fresh()
    (work / "load.toml").write_bytes(LOAD)
    for name in ("measured", "home"):
        (work / name).mkdir()
    place.give_away()
    nobody = Assay(runs=work / "runs", user=NOBODY, home=work / "home")
    for words in ("run ../load.toml ../measured", "iozone -s 64 -r 4 -i 0 -i 1 -f ../measured/file -Q"):
        done = nobody(*words.split(), "--no-report")
        assert done.returncode in {0, 1}, done.stderr
    kept = tmp_path / "bundles"
    shutil.copytree(work / "runs", kept)
    runs = sorted(path for path in kept.iterdir() if path.is_dir())
    return {"run": runs[0], "tool": runs[1], "dead": begun(tmp_path / "dead").path, "other": sealed(tmp_path / "other")}


def test_a_changed_command_line_is_answered_or_refused(place: Place, bundles: dict[str, Path]) -> None:
    assert forget_own_peak() < MOST_MEMORY_BYTES  # the peak of a child is counted from that: it must hide nothing
    faulthandler.cancel_dump_traceback_later()  # thousands of cases take longer than a test; each has its own bound
    cases = Cases(SEED, bundles)
    loved = place.loved_now()
    codes: collections.Counter[str] = collections.Counter()
    faults: list[str] = []
    slowest = largest = 0.0

    for number in [int(ONLY)] if ONLY else range(CASES):
        case = cases.case(number, place.fresh())
        place.give_away()
        ended = run(case, place)
        found = list(ended.faults())
        found += [f"written outside: {stray}" for stray in place.strays(case)]
        if place.loved_now() != loved:
            found.append("what was loved is another")
        if found:
            faults += [f"seed {SEED}, {case}: {'; '.join(found)}"]
            sys.stdout.write(f"FAULT {faults[-1]}\n")
            if len(faults) >= _MOST_FAULTS:
                break
        codes[f"{ended.code}{' interrupted' if ended.was_interrupted else ''}"] += 1
        slowest, largest = max(slowest, ended.seconds), max(largest, ended.peak_bytes)
        if number % 100 == 99:
            sys.stdout.write(f"{number + 1} cases: {dict(codes)}\n")
            sys.stdout.flush()

    sys.stdout.write(
        f"{codes.total()} cases: {dict(codes)}; slowest {slowest:.1f} s, largest {largest / MIB:.0f} MiB\n"
    )
    assert not faults, "\n\n".join(faults)
    # What others make and remove meanwhile makes find end with an error.
    find = ["find", "/", "-xdev", "-gid", str(place.group)]
    outside = subprocess.run(find, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    assert outside == ""
    if not ONLY:
        assert {"0", "2"} <= codes.keys()  # else the cases are all of one kind


def run(case: Case, place: Place) -> Ended:
    """Run the program as nobody, within limits, and look at how it ends."""
    mark = f"fuzz-{os.getpid()}-{case.number}"
    work = place.work
    env: dict[bytes, bytes] = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    own: dict[str, str | Path] = {
        "HOME": work / "home", "XDG_DATA_HOME": work / "home" / "data", "XDG_CACHE_HOME": work / "home" / "cache",
        "ASSAY_RUNS": work / "runs", SESSION_VARIABLE: mark,
    }  # fmt: skip
    env |= {name.encode(): os.fsencode(value) for name, value in own.items()}
    for name, value in case.env.items():
        env.pop(name, None)
        if value is not None:
            env[name] = value
    asked = place.outputs / "stdin"
    asked.write_bytes(case.stdin or b"")
    limits = (f"--as={_MOST_ADDRESSES}", f"--fsize={_MOST_FILE_BYTES}", "--core=0")
    began_s = time.monotonic()
    with (
        asked.open("rb") if case.stdin is not None else Path(os.devnull).open("rb") as stdin,
        _output(case.output, place.outputs) as stdout,
        (place.outputs / "stderr").open("wb") as stderr,
    ):
        process = subprocess.Popen(
            ["/usr/bin/prlimit", *limits, COMMAND, *case.words],
            cwd=work, env=env, stdin=stdin, stdout=stdout, stderr=stderr, user=NOBODY, group=place.group, extra_groups=[],
            start_new_session=True,
        )  # fmt: skip
    is_measuring = bool(case.words) and case.words[0] in MEASURING
    code, usage, was_interrupted, hung = _watch(process, is_measuring=is_measuring)
    left = _left(mark)
    said = (place.outputs / "stderr").read_bytes()
    if (place.outputs / "stdout").exists():
        said += (place.outputs / "stdout").read_bytes()[-100_000:]
    return Ended(
        code=code, was_interrupted=was_interrupted, hung=hung, seconds=time.monotonic() - began_s,
        peak_bytes=usage.ru_maxrss << 10, said=said, left=left,
    )  # fmt: skip


def _output(kind: str, folder: Path):  # type: ignore[no-untyped-def] # noqa: ANN202 - a file, of one kind or another
    if kind == "full":
        return Path("/dev/full").open("wb")
    if kind == "closed":
        reader, writer = os.pipe()
        os.close(reader)
        return os.fdopen(writer, "wb")
    return (folder / "stdout").open("wb")


def _watch(process: "subprocess.Popen[bytes]", *, is_measuring: bool) -> tuple[int, resource.struct_rusage, bool, str]:
    """Wait for the end; interrupt what measures for long, and kill what hangs."""
    began_s = time.monotonic()
    was_interrupted, hung, cpu_before_s = False, "", 0.0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage, was_interrupted, hung
        now_s = time.monotonic() - began_s
        if is_measuring and not was_interrupted and now_s > INTERRUPTED_AFTER_S:
            process.send_signal(signal.SIGINT)
            was_interrupted, began_s, cpu_before_s = True, time.monotonic(), _cpu_s(process.pid)
        elif now_s > PATIENCE_S or (now_s > MOST_CPU_S and _cpu_s(process.pid) - cpu_before_s > MOST_CPU_S):
            hung = hung or f"hangs: {now_s:.0f} s, {_cpu_s(process.pid):.1f} s of CPU time"
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(_LOOK_S)


def _cpu_s(pid: int) -> float:
    """CPU time of a process so far."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _left(mark: str) -> list[str]:
    """Name processes of a case that do not end after it, and end them."""
    try:
        wait_until(lambda: not processes_of(mark), "all have ended", PATIENCE_S)
    except TimeoutError:
        left = processes_of(mark)
        for process in left:
            os.kill(int(process.split()[0]), signal.SIGKILL)
        return left
    return []
