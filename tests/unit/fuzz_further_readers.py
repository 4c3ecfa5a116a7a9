"""Readers of hosts, caches and what clients send, as a fuzzer has to know them."""

import contextlib
import functools
import os
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from assay import config, xdg
from assay.analysis.device_health import DeviceHealth
from assay.bundle import RunBundle, strict_json
from assay.bundle.catalog import list_runs
from assay.bundle.client_set import Role, client_set_of
from assay.bundle.kept_list import CATALOG, RunOutcome
from assay.bundle.original import Original, original_of, write_original
from assay.campaign.mkfs_options import mkfs_options
from assay.campaign.mounted_file_system import parse_dump_super, parse_dumpe2fs, parse_xfs_info
from assay.cluster.kept_runs import PLAN, STREAM
from assay.cluster.kept_streams import list_kept, summarize_kept
from assay.cluster.wire import Card, card_of
from assay.cluster.worker_order import read_join_folder
from assay.compare.surfaces.region import parse_region, parse_weights
from assay.decode.given import read_given
from assay.errors import InputError
from assay.host.nvme_log import read_health_log
from assay.report.kept_answers import KeptAnswer, keep_answer, kept_answer
from assay.running import kept_ceilings
from assay.running.cleaning import FolderMark
from assay.time_zone import zone_name
from assay.tools.iozone.clients import clients_in
from assay.workingset.trace_question import parse_columns
from fuzzing.reader import Made, Reader
from unit.bundle_streams import begun, encoded, plan, stream
from unit.health_logs import HEALTHY, health_log
from unit.memory_run import hello
from unit.set_run import set_run
from unit.test_ceilings import DATE, MACHINE, MEASURED
from unit.test_ceilings import PLAN as NO_CEILINGS
from unit.test_kept_answers import answer_of

_FOLDER = b"/FOLDER"
LINES = encoded(stream(3)).splitlines()
CAMPAIGN = """
name = "large"
repeats = 2
scheduler = ["none", "mq-deadline"]
[loop]
folder = "/var/tmp"
size = "1GiB"
[[file_system]]
kind = "btrfs"
mkfs = ["", "-m single", "-O '^no-holes'"]
mount = { plain = "noatime" }
[[load]]
name = "read"
command = "measure {dir} --read"
"""


def text_of(data: bytes) -> str:
    return data.decode(errors="replace")


def refused_by(error: type[Exception]) -> Callable[[Callable[[bytes], object]], Callable[[bytes], object]]:
    """Take an error that the caller turns into words for a refusal."""

    def of(read: Callable[[bytes], object]) -> Callable[[bytes], object]:
        def tried(data: bytes) -> object:
            try:
                return read(data)
            except error as refused:
                raise InputError(str(refused)) from refused

        return tried

    return of


# -- campaigns ---------------------------------------------------------------------------------------------------------


def mkfs_words(data: bytes) -> object:
    """Read options of mkfs, and what file systems say of themselves."""
    kind, _, text = text_of(data).partition("\n")
    for parse in (parse_xfs_info, parse_dumpe2fs, parse_dump_super):
        parse(text)
    return mkfs_options(kind if kind in {"ext4", "xfs", "btrfs"} else "ext4", text)


# -- clients -----------------------------------------------------------------------------------------------------------


@refused_by(ValueError)
def card(data: bytes) -> object:
    """Read the card of somebody who joins."""
    found = card_of(data)
    return found.versions, msgspec.json.encode(found)


def join_folder(data: bytes) -> object:
    """Read what a worker was given to join by."""
    Path("joined").mkdir(exist_ok=True)
    (Path("joined") / "join.json").write_bytes(data)
    (Path("joined") / "run.crt").write_bytes(b"certificate")
    (Path("joined") / "run.key").write_bytes(b"key")
    return read_join_folder(Path("joined"))


def kept_stream(data: bytes) -> object:
    """Look at what a client keeps, under a name, a Plan and a stream that are another."""
    name, planned, stream = (*data.split(b"\n", 2), b"", b"")[:3]
    root = Path("kept")
    client = "".join(letter for letter in text_of(name) if letter not in "/\0")[:60].strip(".") or "a"
    with contextlib.suppress(OSError):
        folder = root / "20260101T000000Z-x-00000000" / client
        folder.mkdir(parents=True, exist_ok=True)
        (folder / PLAN).write_bytes(planned)
        (folder / STREAM).write_bytes(stream)
    found = list(list_kept(root))
    summarize_kept(root)
    for one in found:
        one.kept.digest()
        one.kept.piece(0, 100)
        one.kept.remove()
    if not found:
        raise InputError("nothing is kept")
    return [str(one) for one in found]


@refused_by(ValueError)
def client_set(data: bytes) -> object:
    """Read who measured."""
    return client_set_of(data)


def iozone_clients(data: bytes) -> object:
    """Read a file of IOzone's clients."""
    found = clients_in("file", text_of(data))
    return found.directories(2), found.children_of_each(2)


# -- what is kept ------------------------------------------------------------------------------------------------------


class Same:
    """A judge that finds every run the same."""

    @property
    def version(self) -> str:
        """Of the judgement."""
        return "1"

    def __call__(self, folder: Path) -> RunOutcome:
        """Judge a run."""
        del folder
        return RunOutcome(exit_code=0, head=None, trust={})


def run_in(runs: str) -> Path:
    """Give the only run in a folder of runs, made once."""
    place = Path.cwd() / runs
    if not place.exists():
        begun(place).seal(0)
    return next(path for path in place.iterdir() if path.is_dir())


def catalog(data: bytes) -> object:
    """List runs by a catalog that was damaged."""
    runs = run_in("listed").parent
    for path in runs.glob(f"{CATALOG}*"):
        path.unlink()
    (runs / CATALOG).write_bytes(data)
    (found,) = list_runs(runs, Same())
    assert found.exit_code == 0
    if not data.startswith(b"SQLite format 3\0"):
        raise InputError("it is none")
    return found


def answer(data: bytes) -> object:
    """Show a run from a kept answer that is another."""
    folder = run_in("shown")
    if not (folder.parent / CATALOG).exists():
        keep_answer(folder, folder.parent, answer_given(folder))
    with contextlib.closing(sqlite3.connect(folder.parent / CATALOG)) as database, database:
        database.execute("UPDATE answers SET answer = CAST(? AS TEXT)", (data.replace(_FOLDER, bytes(folder)),))
    found = kept_answer(folder, folder.parent)
    if found is None:
        raise InputError("it is worked out again")
    return found


@functools.cache
def answer_given(folder: Path) -> KeptAnswer:
    return answer_of(RunBundle.open(folder))


@refused_by(ValueError)
def set_mark(data: bytes) -> object:
    """Read the mark of a set, which others may have written, as 'assay clean' does."""
    return strict_json.decode(data, FolderMark)


def ceilings(data: bytes) -> object:
    """Read what one thread of this machine shows, as an earlier run kept it."""
    os.environ["XDG_CACHE_HOME"] = str(Path.cwd())
    kept_ceilings.keep(MEASURED, MACHINE, DATE)
    (xdg.caches() / "ceilings.json").write_bytes(data)
    found = list(kept_ceilings.recalled(NO_CEILINGS, MACHINE))
    if not found:
        raise InputError("nothing is taken from there")
    return found


def configuration(data: bytes) -> object:
    """Read a configuration file."""
    return config.read(text_of(data), "fuzz.toml")


@refused_by(ValueError)
def foreign(data: bytes) -> object:
    """Read what a stranger's run says of the text that it is of."""
    about, _, text = data.partition(b"\n\n")
    return original_of(about, text)


# -- words -------------------------------------------------------------------------------------------------------------


def surface_words(data: bytes) -> object:
    """Read `--weights` and `--region`."""
    text = text_of(data)
    return parse_weights(text, "--weights") if "\n" in text else parse_region(text)


def trace_columns(data: bytes) -> object:
    """Read the columns of a CSV of requests."""
    return parse_columns(data.decode(errors="replace"))


def machine_words(data: bytes) -> object:
    """Read what is said of the machine of a figure, and a zone."""
    words = [*text_of(data).split("\n"), "", "", "", ""]
    zone_name(words[4] or "UTC")
    return read_given(*(word or None for word in words[:4]))


def _made(read: Callable[[], bytes]) -> Made:
    """Give a sample that has to be made in a folder of its own."""

    def make() -> bytes:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", folder)
            return read()

    return Made(make)


def whole_catalog() -> bytes:
    """Give a whole catalog, with a kept answer in it."""
    folder = run_in("shown")
    list_runs(folder.parent, Same())
    keep_answer(folder, folder.parent, answer_given(folder))
    with contextlib.closing(sqlite3.connect(folder.parent / CATALOG)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
    return (folder.parent / CATALOG).read_bytes()


def whole_answer() -> bytes:
    """Give the answer of a run, with another word for its folder."""
    folder = run_in("shown")
    return msgspec.json.encode(answer_given(folder)).replace(bytes(folder), _FOLDER)


def whole_ceilings() -> bytes:
    """Give what an earlier run kept."""
    kept_ceilings.keep(MEASURED, MACHINE, DATE)
    return (xdg.caches() / "ceilings.json").read_bytes()


def whole_foreign() -> bytes:
    write_original(Path(), Original(tool="dd", machine=None, file_name="f", text="x"))
    return Path("foreign.json").read_bytes() + b"\n\n" + Path("original.txt").read_bytes()


CARD = Card(name="h1", role=Role.LOAD, assay_version="1.0.0", token="", hello=hello())


def disk_health(data: bytes) -> object:
    """A log page that a disk answers with, before and after a run, up to the words of a report."""
    pages = [data[at : at + 512] for at in (0, 512)]
    try:
        begin, end = map(read_health_log, pages)
    except ValueError as error:
        raise InputError(str(error)) from error
    return DeviceHealth("nvme0n1", begin, end).in_words()


READERS = [
    Reader("disk health", [health_log(HEALTHY) * 2, bytes(1024), b"\xff" * 1024], disk_health),
    Reader("mkfs", [b"ext4\n-b 4096 -O ^has_journal", b"xfs\n-m reflink=0", b"btrfs\n-m single"], mkfs_words),
    Reader("card", [msgspec.json.encode(CARD)], card, [b'"role"', b"observer", b"null", b"1e999"]),
    Reader(
        "join folder",
        [b'{"certificate": "run.crt", "key": "run.key"}', b'{"certificate": null, "key": null}'],
        join_folder,
        [b"..", b"/etc/passwd", b"null"],
    ),
    Reader("kept stream", [b"h1\n{}\n" + LINES[0] + b"\n"], kept_stream, [b"h2", b"../x", b"."], share=0.2),
    Reader("client set", [msgspec.json.encode(set_run()[0].client_set)], client_set, [b'"role"', b"null", b"1e999"]),
    Reader("IOzone's clients", [b"h1 /mnt/a iozone\nh2 /mnt/b\n# x\n"], iozone_clients, [b"/", b"local:2"]),
    Reader("catalog", _made(whole_catalog), catalog, [b"SQLite format 3", b"CREATE VIEW runs", b"sealed"], share=0.2),
    Reader("kept answer", _made(whole_answer), answer, [b'"document"', b"null", b"1e999"], share=0.05),
    Reader("ceilings", _made(whole_ceilings), ceilings, [b"null", b"1e999", b"cached_pread"]),
    Reader("configuration", [b'runs = "/srv"\ntime = "2min"\n', b'runs = "~/x"\ntime = 3\n'], configuration),
    Reader("set mark", [b'{"set": ' + msgspec.json.encode(plan().file_sets[0]) + b"}"], set_mark, [b'"keep"', b"null"]),
    Reader("foreign", _made(whole_foreign), foreign, [b'"tool"', b"table", b"null"]),
    Reader(
        "surface words",
        [b"small: file<=64K & record<1M", b"64K:0.5\n1M:30%\n16M:2"],
        surface_words,
        [b":", b"&", b"1e999"],
    ),
    Reader(
        "trace columns",
        [b"time=ts:ms,device=disk,op=type,offset=lba:512,length=4", b"offset=1", b"time=1:100ns,offset=5,length=6:1"],
        trace_columns,
        [b":", b"=", b",", b"offset", b"99999999999999999999"],
    ),
    Reader(
        "machine words",
        [b"1Gbit\n4GiB\n128GiB\n640MB/s\n+02:00", b"100Mbit\n\n\n\nEurope/Berlin"],
        machine_words,
        share=0.1,  # where there is no such zone, all that there are are looked for
    ),
]
