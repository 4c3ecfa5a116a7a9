"""`assay bonnie`: bonnie++'s command line, load and output."""

import contextlib
import grp
import os
import pwd
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from assay.cli import classic

if TYPE_CHECKING:
    from assay.events import Ready
    from assay.plan import Plan
    from assay.running.run import Gate
    from assay.running.stopping import Stops
    from assay.tools.bonnie import Settings

_NO_GROUP = 65534


def bonnie(context: typer.Context) -> None:
    """Run bonnie++'s tests: one large file byte by byte and in blocks, random seeks, and many small files.

    \b
    The tool's own options:
      -d DIR       directory to work in [default: the current one]
      -s SIZE[:CHUNK[:SEEKS[:SEEKERS]]]
                   MiB (g, t) of the file, twice the RAM at least; 0: no such tests.
                   CHUNK: bytes of a transfer (k), a power of two [default: 8192]
      -n FILES[:MAX[:MIN[:DIRECTORIES[:CHUNK]]]]
                   small files / 1024 [default: 16]; 0: no such tests. Bytes of
                   each (k, m, g); MAX -1: hard links, -2: symbolic links
      -r MIB       RAM, for the check of sizes; 0: no check
      -f           no tests byte by byte; -fN: these over N MiB [default: 3]
      -b           flush after each rewritten block and each created file
      -D           direct I/O for block writes; needs -f
      -u USER[:GROUP], -g GROUP
                   who does the work; needed as root
      -m NAME      name of the machine in the output
      -c N         a label: concurrency
      -x N         measure N times; CSV lines alone
      -q           CSV alone on standard output, the table on standard error
      -p N         make semaphores for N runs; -1: remove them
      -y s|p       before each test wait for the semaphores, or for a line of input
      -z SEED, -Z FILE
                   seed of random choices: a number, or the content of a file

    \b
    Assay's options:
      --format 1.03|1.96|2.00
                   whose load and output [default: 2.00]
      --runs DIR, --json, --no-report
    """  # noqa: D301 - click wants the character
    from assay.running.session import Session
    from assay.tools import bonnie as front_end
    from assay.tools.bonnie.output import quiet_text

    arguments = classic.take_apart(context.args)
    settings = front_end.parse(arguments.tool, ram_mib=_ram_mib())
    user = _user(settings)
    if settings.semaphores is not None:
        _semaphores(settings.semaphores)
        return
    plan = _plan(settings, arguments.tool)
    for note in _notes(settings):
        typer.echo(f"assay: {note}", err=True)
    session = Session(runs=arguments.runs, json=arguments.json, report=not arguments.no_report)
    run, code = session.run(plan, gate=_gate(settings, plan), user=user)
    if not arguments.json:
        typer.echo(quiet_text(run), nl=False, err=True)
    raise typer.Exit(code)


def _ram_mib() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


def _plan(settings: "Settings", words: Sequence[str]) -> "Plan":
    from assay.targets import check_directory
    from assay.tools.bonnie import to_plan

    directory = check_directory(Path(settings.directory))
    plan = to_plan(settings, words, directory=directory, seed=_seed(settings))
    _check_room(settings, directory, plan.reserve_bytes)
    return plan


def _check_room(settings: "Settings", directory: Path, reserve_bytes: int) -> None:
    """Refuse what would fill the file system; the larger of the two parts counts, the other is removed by then."""
    from assay.errors import RunError
    from assay.units import MIB, format_bytes

    system = os.statvfs(directory)
    free_bytes = system.f_bavail * system.f_frsize
    mean_bytes = (max(settings.max_bytes, 0) + settings.min_bytes) // 2
    needed_bytes = max((settings.size_mib or 0) * MIB, settings.files * mean_bytes)
    if needed_bytes + reserve_bytes > free_bytes:
        raise RunError(
            f"{directory}: {format_bytes(needed_bytes)} are needed and {format_bytes(reserve_bytes)} must stay free, but "
            f"only {format_bytes(free_bytes)} are. Nothing was written; use a smaller -s or -n, or free some space"
        )


def _seed(settings: "Settings") -> int:
    from assay.errors import InputError

    if settings.random_file is None:
        return (os.getpid() ^ int(time.time())) if settings.seed is None else settings.seed
    try:
        return zlib.crc32(Path(settings.random_file).read_bytes())
    except OSError as error:
        raise InputError(f"bonnie -Z {settings.random_file}: cannot be read: {error.strerror}") from error


def _notes(settings: "Settings") -> list[str]:
    """What the tool's own output leaves unsaid or says wrongly."""
    notes = []
    if settings.is_direct:
        notes.append("bonnie -D: as in the original only block writes are direct; all else goes through the page cache")
    if settings.concurrency > 1:
        notes.append(f"bonnie -c {settings.concurrency}: a label, as in the original; one run is going on, not more")
    if settings.is_old and settings.size_mib and not settings.has_fsync:
        notes.append(
            "bonnie 1.03 does not flush before it closes: its write rates hold what the cache took, and are not comparable "
            "with those of later versions"
        )
    return notes


# -- who, and with whom ------------------------------------------------------------------------------------------------


def _user(settings: "Settings") -> tuple[int, int] | None:
    """User and group that the engine runs as; None for those of this process."""
    from assay.errors import InputError

    if settings.user is None and settings.group is None:
        if os.geteuid() == 0:
            raise InputError('bonnie: you must use the "-u" switch when running as root; -u root stays root')
        return None
    uid, gid = _ids(settings.user, settings.group)
    if (uid, gid) == (os.geteuid(), os.getegid()):
        return None
    if os.geteuid() != 0:
        raise InputError(f"bonnie -u: only root can work as user {uid}, group {gid}; leave -u and -g out")
    return uid, gid


def _ids(user: str | None, group: str | None) -> tuple[int, int]:
    uid, gid = os.geteuid(), os.getegid()
    if user is not None:
        uid, gid = (int(user), _NO_GROUP) if user.isascii() and user.isdigit() else _named_user(user)
    if group:
        gid = int(group) if group.isascii() and group.isdigit() else _named_group(group)
    return uid, gid


def _named_user(name: str) -> tuple[int, int]:
    from assay.errors import InputError

    with contextlib.suppress(KeyError):
        found = pwd.getpwnam(name)
        return found.pw_uid, found.pw_gid
    raise InputError(f"bonnie -u {name}: there is no user of that name")


def _named_group(name: str) -> int:
    from assay.errors import InputError

    with contextlib.suppress(KeyError):
        return grp.getgrnam(name).gr_gid
    raise InputError(f"bonnie -g {name}: there is no group of that name")


def _semaphores(processes: int) -> None:
    from assay.tools.bonnie import TESTS
    from assay.tools.bonnie import turns as bonnie_turns

    if processes < 0:
        bonnie_turns.remove(len(TESTS))
        typer.echo("Semaphore removed.")
    else:
        bonnie_turns.make(processes, len(TESTS))
        typer.echo(f"Creating semaphore for {processes} procs.")


def _gate(settings: "Settings", plan: "Plan") -> "Gate | None":
    """What each test waits for before it starts."""
    from assay.tools.bonnie import TESTS
    from assay.tools.bonnie import turns as bonnie_turns

    if not settings.waits_for:
        return None

    def wait(ready: "Ready", stops: "Stops") -> None:
        name = plan.phases[ready.phase_index].name
        if name not in TESTS:
            return
        test = TESTS.index(name)
        if settings.waits_for == "s":
            bonnie_turns.wait_for_others(test, len(TESTS), lambda: stops.count > 0)
        else:
            bonnie_turns.wait_for_line(test, lambda: stops.count > 0)

    return wait
