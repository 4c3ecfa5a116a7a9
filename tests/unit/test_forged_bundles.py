"""What a stranger's bundle can hold: each is one clear line, and nothing outside of it is opened or made."""

import os
import re
import shutil
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from assay.analysis.document import document
from assay.analysis.record import read
from assay.bundle import RunBundle
from assay.bundle.catalog import DAMAGED, SEALED, list_runs
from assay.bundle.contents import MOST_UNPACKED, read_table
from assay.bundle.damage import report_damage
from assay.bundle.inside import LIMITS_BYTES, limit_bytes
from assay.bundle.kept_list import RunOutcome
from assay.bundle.parquet_pages import unpacked_bytes
from assay.bundle.strict_json import decode
from assay.bundle.tables import COLUMNS
from assay.errors import BundleError
from unit.bundle_streams import begun, encoded, interval
from unit.forged_bundles import change_json, change_manifest, change_table, entry, forge, sealed, write_manifest
from unit.memory_run import hello

Forgery = Callable[[Path], object]


def look(folder: Path) -> None:
    """Do what every reader does with a run."""
    bundle = RunBundle.open(folder)
    bundle.verify()
    with report_damage(folder):
        document(read(bundle))


def refusal(folder: Path) -> str:
    """Say in which words a run is refused."""
    with pytest.raises(BundleError) as refused:
        look(folder)
    words = str(refused.value)
    sys.stdout.write(f"{words}\n")
    assert "\n" not in words.strip()
    assert refused.value.exit_code == 2
    return words


def names(name: str, data: bytes = b"x") -> Forgery:
    """Let the manifest name a file."""
    return lambda folder: change_manifest(folder, lambda manifest: manifest["files"].update({name: entry(data)}))


def instead(name: str, make: Callable[[Path], object]) -> Forgery:
    """Put something else in the place of a file."""

    def change(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return change


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's name has at most 107 bytes
        one.bind(path.name)
        os.chdir(here)


def sparse(folder: Path) -> None:
    name = "hist.parquet"
    os.truncate(folder / name, limit_bytes(name) + 1)


def client(name: str) -> Forgery:
    def rename(manifest: dict[str, Any]) -> None:
        manifest["clients"] = {name: manifest["clients"]["0"]}

    return lambda folder: change_manifest(folder, rename)


FORGERIES: dict[str, tuple[Forgery, str]] = {
    "an absolute path": (names("/etc/shadow"), "names the file '/etc/shadow', which is none of a run"),
    "a path out of it": (names("../../secret"), "names the file '../../secret'"),
    "a path out of its folder": (names("events/../../secret"), r"names the file 'events/\.\./\.\./secret'"),
    "a device": (names("/dev/zero"), "names the file '/dev/zero'"),
    "a hidden file": (names(".bashrc"), r"names the file '\.bashrc'"),
    "a name of escapes": (names("\x1b]0;owned\x07"), r"names the file '\\x1b\]0;owned\\x07'"),
    "a client out of it": (client("../../secret"), r"names the client '\.\./\.\./secret'"),
    "no client": (
        lambda folder: change_manifest(folder, lambda manifest: manifest["clients"].clear()),
        "names no client",
    ),
    "many files": (
        lambda folder: change_manifest(
            folder, lambda manifest: manifest["files"].update({f"f{i}": entry(b"") for i in range(33_000)})
        ),
        "names 330[0-9][0-9] files",
    ),
    "a link": (
        instead("hist.parquet", lambda path: path.symlink_to("/etc/passwd")),
        "hist.parquet: is a link, not a file",
    ),
    "a link to zeros": (instead("hist.parquet", lambda path: path.symlink_to("/dev/zero")), "is a link, not a file"),
    "a link for the manifest": (instead("manifest.json", lambda path: path.symlink_to("/dev/zero")), "json: is a link"),
    "a FIFO": (instead("hist.parquet", os.mkfifo), "hist.parquet: is a FIFO, not a file"),
    "a FIFO for the manifest": (instead("manifest.json", os.mkfifo), "manifest.json: is a FIFO"),
    "a FIFO for the Plan": (instead("resolved.json", os.mkfifo), "resolved.json: is a FIFO"),
    "a socket": (instead("resolved.json", a_socket), "resolved.json: is a socket"),
    "a directory": (instead("resolved.json", Path.mkdir), "resolved.json: is a directory"),
    "more than there can be": (sparse, r"hist.parquet: has 512 MiB; a run has at most 512 MiB there"),
    "no Plan": (lambda folder: (folder / "resolved.json").unlink(), "resolved.json: cannot be read: No such file"),
    "a Plan that the manifest leaves out": (
        lambda folder: change_manifest(folder, lambda manifest: manifest["files"].pop("resolved.json")),
        "resolved.json is not in it",
    ),
    "no table": (
        lambda folder: change_manifest(folder, lambda manifest: manifest["files"].pop("host.parquet")),
        "host.parquet is not in it",
    ),
    "a wrong hash": (
        lambda folder: change_manifest(
            folder, lambda manifest: manifest["files"]["host.parquet"].update(sha256="0" * 64)
        ),
        "host.parquet has other content",
    ),
    "another version": (
        lambda folder: change_manifest(folder, lambda manifest: manifest.update(schema="assay.bundle/9")),
        "made by another version of Assay: its schema is 'assay.bundle/9'",
    ),
    "a manifest without its hash": (
        lambda folder: (folder / "manifest.sha256").unlink(),
        "does not match manifest.sha256",
    ),
    "a manifest that was changed": (
        lambda folder: (folder / "manifest.json").write_bytes((folder / "manifest.json").read_bytes() + b" "),
        "manifest.json: does not match manifest.sha256",
    ),
    "a manifest cut short": (
        lambda folder: write_manifest(folder, (folder / "manifest.json").read_bytes()[:-9]),
        "is no assay.bundle/3",
    ),
    "a manifest that is not UTF-8": (
        lambda folder: write_manifest(folder, b'{"schema": "assay.bundle/3", "info": "\xff\xfe"}'),
        "is no assay.bundle/3",
    ),
    "JSON without end": (lambda folder: write_manifest(folder, b"[" * 1_000_000), "is no assay.bundle/3"),
    "JSON nested deep": (
        lambda folder: write_manifest(folder, b'{"schema": "assay.bundle/3", "x": ' + b"[" * 3000 + b"]" * 3000 + b"}"),
        "nested more than 100 deep",
    ),
    "a number of 5,000 digits": (
        lambda folder: write_manifest(folder, b'{"schema": "assay.bundle/3", "x": ' + b"9" * 5000 + b"}"),
        "a number of more than 24 digits",
    ),
    "a Plan nested deep": (
        lambda folder: change_json(folder, "resolved.json", nest),
        "nested more than 100 deep",
    ),
    "a Plan of another kind": (
        lambda folder: forge(folder, "resolved.json", b"[]"),
        "is no Plan that this Assay reads",
    ),
    "a script elsewhere": (
        lambda folder: change_json(folder, "resolved.json", script("/etc/shadow")),
        "names the script '/etc/shadow', which is none inside a run",
    ),
    "a script out of it": (
        lambda folder: change_json(folder, "resolved.json", script("../script-0123456789abcdef.ndjson")),
        r"names the script '\.\./script",
    ),
    "a script of zeros": (
        lambda folder: change_json(folder, "resolved.json", script("/dev/zero")),
        "names the script '/dev/zero'",
    ),
    "events that are none": (
        lambda folder: forge(folder, "events/0.json", b'[{"event": "rest"}]'),
        "is not what a run writes",
    ),
    "events that are not UTF-8": (
        lambda folder: forge(folder, "events/0.json", b'["\xff"]'),
        "is not what a run writes",
    ),
    "an event of a phase that there is not": (
        lambda folder: change_json(folder, "events/0.json", lambda events: events[2].update(phase_index=7)),
        "an event is of phase 7, and the Plan has 1",
    ),
    "an event at no time": (
        lambda folder: change_json(folder, "events/0.json", lambda events: events[2].update(t_ns=-1)),
        "an event is at -1 ns",
    ),
    "a table that is none": (
        lambda folder: forge(folder, "hist.parquet", b"PAR1" * 10),
        "its footer is longer than the file",
    ),
    "a table cut short": (
        lambda folder: forge(folder, "hist.parquet", (folder / "hist.parquet").read_bytes()[:-30]),
        "it is no Parquet file",
    ),
    "a table without a column": (
        lambda folder: change_table(folder, "intervals", lambda table: table.drop("ops")),
        "column 'ops' is missing",
    ),
    "a table with a foreign column": (
        lambda folder: change_table(folder, "intervals", lambda table: table.with_columns(pl.lit(1).alias("more"))),
        "other columns than a run has",
    ),
    "a column of another type": (
        lambda folder: change_table(
            folder, "intervals", lambda table: table.with_columns(pl.col("ops").cast(pl.String))
        ),
        "column 'ops' is of another type",
    ),
    "a column of lists": (
        lambda folder: change_table(folder, "intervals", lambda table: table.with_columns(pl.concat_list("ops"))),
        "other columns than a run has",
    ),
    "counts below zero": (
        lambda folder: change_table(folder, "intervals", lambda table: table.with_columns(-pl.col("ops") - 1)),
        "'ops' goes from -",
    ),
    "no time": (
        lambda folder: change_table(folder, "intervals", lambda table: table.with_columns(t_s=pl.lit(float("nan")))),
        "'t_s' is no number",
    ),
    "an unknown phase": (
        lambda folder: change_table(folder, "host", lambda table: table.with_columns(phase_index=pl.lit(9, pl.Int32))),
        "'phase_index' goes from 9 to 9",
    ),
    "a bucket beyond the last": (
        lambda folder: change_table(
            folder, "hist", lambda table: table.with_columns(bucket=pl.lit(4_000_000_000, pl.UInt32))
        ),
        "'bucket' goes from 4000000000",
    ),
    "a row without a job": (
        lambda folder: change_table(folder, "hist", lambda table: table.with_columns(job=pl.lit(None, pl.String))),
        "'job' is unknown in a row",
    ),
}


def nest(plan: dict[str, Any]) -> None:
    body: dict[str, Any] = {"kind": "think", "seconds": 1}
    for _ in range(200):
        body = {"kind": "repeat", "times": 1, "actions": [body]}
    plan["phases"][0]["jobs"][0]["body"] = {"kind": "loop", "actions": [body]}


def script(path: str) -> Callable[[dict[str, Any]], None]:
    def change(plan: dict[str, Any]) -> None:
        plan["phases"][0]["jobs"][0]["body"] = {"kind": "script", "ops": [], "path": path}

    return change


@pytest.fixture(scope="module")
def two_sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two sealed runs, to be copied and not to be changed; the first is to be forged."""
    runs = tmp_path_factory.mktemp("sealed")
    for name in ("forged", "good"):
        sealed(runs, name)
    return runs


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_bundle_is_refused_in_one_line_and_keeps_no_other_from_the_list(
    tmp_path: Path, two_sealed: Path, name: str
) -> None:
    shutil.copytree(two_sealed, tmp_path, dirs_exist_ok=True)
    forged, good = (next(tmp_path.glob(f"*-{name}-*")) for name in ("forged", "good"))
    change, words = FORGERIES[name]
    change(forged)

    said = refusal(forged)

    assert re.search(words, said), said

    class Looking:
        version = "1"

        def __call__(self, folder: Path) -> RunOutcome:
            look(folder)
            return RunOutcome(exit_code=0, head=None, trust={})

    assert {run.run_id: run.state for run in list_runs(tmp_path, Looking())} == {
        forged.name: DAMAGED,
        good.name: SEALED,
    }


def test_a_forged_bundle_that_died_is_refused_too(tmp_path: Path) -> None:
    for put, words in (
        (os.mkfifo, "is a FIFO"),
        (lambda path: path.symlink_to("/dev/zero"), "is a link"),
        (lambda path: path.write_bytes(encoded([hello()]) + b'{"event":' + b"[" * 5000 + b"\n"), "nested too deep"),
        (
            lambda path: path.write_bytes(
                encoded([hello(), interval(1)]).replace(b'"ops":2', b'"ops":99999999999999999999')
            ),
            "no run comes to",
        ),
    ):
        folder = begun(tmp_path).path
        (folder / "events" / "0.ndjson").unlink()
        put(folder / "events" / "0.ndjson")

        assert words in refusal(folder)


# -- what a table unpacks to -------------------------------------------------------------------------------------------


def bomb(folder: Path, rows: int) -> bytes:
    """Make a table of one row again and again: next to nothing in a file."""
    one = pl.read_parquet(folder / "hist.parquet").head(1)
    path = folder / "bomb.parquet"
    pl.concat([one]).select(pl.all().repeat_by(rows).explode()).write_parquet(path, compression="zstd")
    data = path.read_bytes()
    path.unlink()
    return data


@pytest.mark.long
def test_a_table_that_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    folder = sealed(tmp_path)
    data = bomb(folder, 4_000_000)
    forge(folder, "hist.parquet", data)

    needed = unpacked_bytes(data, COLUMNS["hist"])

    assert needed > 4_000_000 * 80 > MOST_UNPACKED * len(data)
    assert "would unpack to" in refusal(folder)


def test_what_a_table_unpacks_to_is_what_it_takes_in_memory(tmp_path: Path) -> None:
    folder = sealed(tmp_path)
    data = bomb(folder, 300_000)

    table = read_table(data, "hist")

    assert table.height == 300_000
    # Its pages come on top, and a text is counted by its view alone.
    assert table.estimated_size() * 0.4 < unpacked_bytes(data, COLUMNS["hist"]) < table.estimated_size() * 4


def test_a_table_of_an_older_version_reads_with_what_it_did_not_have_as_null(tmp_path: Path) -> None:
    path = sealed(tmp_path) / "workers.parquet"
    whole, older, lesser = pl.read_parquet(path), tmp_path / "older.parquet", tmp_path / "lesser.parquet"
    whole.drop("idle_ns").write_parquet(older)
    whole.drop("idle_ns", "children_cpu_ns").write_parquet(lesser)

    table = read_table(older.read_bytes(), "workers")

    assert whole["idle_ns"].null_count() == 0
    assert table.equals(whole.with_columns(idle_ns=pl.lit(None, pl.Int64)))
    with pytest.raises(ValueError, match="column 'children_cpu_ns' is missing"):
        read_table(lesser.read_bytes(), "workers")


@pytest.mark.long
def test_a_table_of_any_bytes_is_a_table_or_refused_as_one(tmp_path: Path) -> None:
    data = (sealed(tmp_path) / "intervals.parquet").read_bytes()
    (length,) = struct.unpack("<I", data[-8:-4])
    outcomes = set()

    for place in range(4, len(data), 3):
        changed = bytearray(data)
        changed[place] ^= 0x55
        try:
            read_table(bytes(changed), "intervals")
        except ValueError as error:
            outcomes.add(str(error).partition("'")[0])
        else:
            outcomes.add("read")

    sys.stdout.write(f"footer of {length} bytes: {sorted(outcomes)}\n")
    assert {"read", "its footer is broken", "its footer contradicts itself"} <= outcomes


# -- JSON --------------------------------------------------------------------------------------------------------------


def test_brackets_and_digits_in_texts_are_no_nesting_and_no_numbers() -> None:
    text = "[" * 500 + "9" * 500 + '\\"' + "{" * 500

    assert decode(f'["{text}"]'.encode(), list[str]) == [text.replace('\\"', '"')]


@pytest.mark.parametrize("quotes", [b'"\\' * 100_000, b'"' * 100_001, b'"\\"' * 100_000, b'{"a":"' * 50_000])
def test_quotes_without_end_take_no_time_without_end(quotes: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|Expected|Input|object|array"):
        decode(quotes, list[str])


def test_every_file_of_a_run_has_a_limit_that_it_keeps(tmp_path: Path) -> None:
    for path in sealed(tmp_path).rglob("*"):
        if path.is_file():
            name = path.relative_to(path.parents[1 if path.parent.name == "events" else 0]).as_posix()
            assert any(pattern.fullmatch(name) for pattern, _ in LIMITS_BYTES[:-1]), name
            assert path.stat().st_size < limit_bytes(name)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_any_change_of_any_file_is_read_or_refused_in_one_line(tmp_path: Path, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - it is to come again
    good = sealed(tmp_path)
    names = sorted(path.relative_to(good).as_posix() for path in good.rglob("*") if path.is_file())
    refusals = []

    for _ in range(40):
        folder = tmp_path / "forged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(good, folder)
        name = random.choice(names)
        data = bytearray((folder / name).read_bytes())
        for _ in range(random.choice([1, 3, 10])):
            data[random.randrange(len(data))] = random.randrange(256)
        if name == "manifest.json":
            write_manifest(folder, bytes(data))
        elif name == "manifest.sha256":
            (folder / name).write_bytes(data)
        else:
            forge(folder, name, bytes(data))
        try:
            look(folder)
        except BundleError as error:
            refusals.append(str(error))

    assert len(refusals) > 10
    assert [words for words in refusals if "\n" in words] == []


def test_a_panic_of_polars_is_damage_and_a_stop_is_not(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="PanicException"), report_damage(tmp_path):
        raise pl.exceptions.PanicException("index out of bounds")
    with pytest.raises(KeyboardInterrupt), report_damage(tmp_path):
        raise KeyboardInterrupt
