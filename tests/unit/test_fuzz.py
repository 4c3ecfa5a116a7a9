"""Every reader of what others wrote takes it or refuses it in words: 10,000 changed inputs each, more by `make fuzz`."""

import io
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from assay import events
from assay.analysis.document import document
from assay.analysis.record import read
from assay.bundle import RunBundle
from assay.errors import AssayError, InputError
from assay.loads import native
from assay.loads.settings import settings
from assay.plan import Plan
from assay.tools import registry
from assay.units import parse_bytes, parse_seconds
from fuzzing import Reader, fuzz
from unit.bundle_streams import begun, encoded, stream
from unit.forged_bundles import forge, write_manifest

GOLDEN = Path(__file__).parent.parent / "golden"
NATIVE = sorted((GOLDEN / "native").glob("*.toml"))
SOMEWHERE = Path("/somewhere")
PLANS = sorted([*(GOLDEN / "native").glob("*.json"), *(GOLDEN / "classic").glob("*/*plan.json")])
ARGUMENTS = {
    "iozone": [
        "-a -g 4M -i 0 -i 1 -r 4k -s 64k",
        "-Rab x.xls -n 64k -g 1M -y 4k -q 64k -I -O",
        "-t 2 -F a b -s 1m -r 64k -i 0 -i 8",
    ],
    "bonnie": ["-d /tmp -u root -s 1024:8k -n 16:10k:1k:8 -m box -x 2 -r 512", "-f -b -D -z 7 -q -c 4 -d /tmp -u root"],
    "postmark": ["commands", ""],
    "vxbench": [
        "-w rand_mixed -i iosize=8k,iocount=100,nthreads=2 -o sync -c rand file",
        "-w write -p 3 -i nrep=2 f1 f2",
    ],
    "perfpl": ["4096 3 25 10 2 --mode fork --fsync --dir /tmp", "1 1 1 1 1"],
    "bigdir": ["1050 500 --dir /tmp --readdir-only", "10 5 --type dir --clients 2"],
}
LINES = encoded(stream(3)).splitlines()
VALUES = {"size": "1GiB", "files": "20", "phase_seconds": "2.5"}


def load_file(data: bytes) -> object:
    """Read a load file, with the values of its parameters."""
    text = data.decode(errors="replace")
    values = {name: value for name, value in VALUES.items() if f"${{{name}}}" in text}
    return native.parse(text, "fuzz.toml", directory=SOMEWHERE, settings=values)


def setting(data: bytes) -> object:
    """Read words of `--set`, `--time` and `--size`."""
    text = (GOLDEN / "native" / "parameters.toml").read_text()
    words = data.decode(errors="replace").split("\n")
    values = settings(
        text, "fuzz.toml", words[:-2], time=words[-2] if len(words) > 1 else None, size=words[-1], repeat=1
    )
    return native.parse(text, "fuzz.toml", directory=SOMEWHERE, settings=values)


def plan_json(data: bytes) -> object:
    """Read a Plan; what is taken comes back as it was."""
    plan = Plan.from_json(data)
    assert Plan.from_json(plan.to_json()) == plan
    return plan


def event_line(data: bytes) -> object:
    """Read a line of the event stream."""
    try:
        return events.decode(data)
    except msgspec.DecodeError as error:
        raise InputError(str(error)) from error


def quantity(data: bytes) -> object:
    """Read sizes and times as people write them."""
    text = data.decode(errors="replace")
    try:
        parse_bytes(text)
    except AssayError:
        return parse_seconds(text)
    return None


def tool(name: str) -> Reader:
    """The words after the name of a tool."""

    def words(data: bytes) -> object:
        return registry.front_end(name).parse(data.decode(errors="replace").replace("\0", " ").split())

    return Reader(name, [line.encode() for line in ARGUMENTS[name]], words)


READERS = [
    Reader("load file", [path.read_bytes() for path in NATIVE], load_file, share=0.3),
    Reader(
        "--set",
        [b"block=8KiB\nfiles=20\ndepth=4\n30s\n1GiB", b"files=1\ntitle=x\ndirect=false\n10s\n64MiB"],
        setting,
        share=0.3,
    ),
    Reader("Plan", [path.read_bytes() for path in PLANS], plan_json),
    Reader("event", LINES, event_line),
    Reader("quantity", [b"64KiB", b"1.5 GiB", b"30s", b"2min", b"100", b"4KiB"], quantity),
    *(tool(name) for name in registry.TOOLS if name != "postmark"),
]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_changed_input_is_taken_or_refused_in_words(reader: Reader) -> None:
    for sample in reader.samples:
        reader.read(sample)  # what is changed is taken as it is: else nothing but the first refusal would be tried
    taken = fuzz(reader)

    sys.stdout.write(f"{reader.name}: {taken} taken\n")


def test_changed_commands_of_postmark_are_taken_or_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())  # where it goes on when a file does not end it
    samples = [path.read_bytes() for path in sorted((GOLDEN / "classic" / "postmark").glob("*.pm"))]

    def commands(data: bytes) -> object:
        # What `run FILE` writes stays in this folder.
        Path("commands").write_bytes(data.replace(b"/", b"_"))
        tool = registry.front_end("postmark")
        words: list[object] = []

        class Door:
            def measure(self, asked: Sequence[str]) -> int:
                words.append(tool.parse(asked))
                return 0

            def say(self, text: str) -> None:
                assert isinstance(text, str)

        return tool.follow(["commands"], Door())

    fuzz(Reader("postmark", samples, commands, share=0.2))


@pytest.mark.parametrize(
    "name", ["manifest.json", "resolved.json", "events/0.json", "intervals.parquet", "hist.parquet"]
)
def test_a_changed_file_of_a_bundle_is_read_or_damaged(name: str, tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.seal()
    kept = tmp_path / "kept"
    shutil.copytree(bundle.path, kept)
    sample = (kept / name).read_bytes()

    def opened(data: bytes) -> object:
        if name == "manifest.json":
            write_manifest(bundle.path, data)
        else:
            forge(bundle.path, name, data)
        try:
            return document(read(RunBundle.open(bundle.path)))
        finally:
            shutil.copytree(kept, bundle.path, dirs_exist_ok=True)

    fuzz(Reader(f"bundle {name}", [sample], opened, share=0.02))
