"""Which options do job files of fio use, and what does `assay fio` make of them?

    python -m bench.fio_coverage FOLDER                     of every *.fio in it: whether it is taken, or why not
    python -m bench.fio_coverage FOLDER --run DIR           and runs those that are, short and small, in DIR
    python -m bench.fio_coverage FOLDER --options           a line for each option that they use

A file that names a device, or a place elsewhere, is looked at with `--set filename=datafile`; one without a size, because
a device has one, with `--set size=16m`; `io_size` and `offset_increment` that reach over terabytes are made small
too. Engines that need a library, a network or hardware of their own, and what only a
device has (zones, commands, priorities), are counted apart.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.tools.fio import FRONT_END, plan_anywhere, values
from assay.tools.fio.command_line import gather_files, take_apart
from assay.tools.fio.option_table import ALIASES, OPTIONS, OWN_HARDWARE
from assay.tools.option_meaning import Noted, Refused, Taken

ASSAY = Path(sys.executable).parent / "assay"
SMALL = ("--set", "size=16m", "--set", "runtime=1")
SMALLER = {"io_size": "1m", "offset_increment": "16m"}
FAR_BYTES = 64 << 30
OTHER_NAMES = ("leads out of the directory", "is a device")
OF_DEVICES = re.compile(r"xnvme|zonemode|zonesize|cmd_type|cmdprio|prioclass|sg_|fdp|numa_|atomic|md_per_io")


@dataclass(frozen=True)
class Looked:
    """What became of a file."""

    name: str
    state: str
    """`taken`, `run`, `refused`, `failed` or `special`."""
    why: str
    options: tuple[str, ...]


def look(path: Path, directory: Path | None) -> Looked:
    """Read a file, and run it where a directory is given."""
    options = tuple(dict.fromkeys(name for name in _options(path)))
    words = [
        word for name, small in SMALLER.items() if _reaches_far(path, name) for word in ("--set", f"{name}={small}")
    ]
    for _ in range(3):
        why = _refusal([str(path), *words])
        if any(text in why for text in OTHER_NAMES):
            words += ["--set", "filename=datafile"]
        elif "'size' is needed" in why:
            words += ["--set", "size=16m"]
        else:
            break
    if why:
        engine = re.search(r"ioengine=([\w-]+)", why)
        is_special = (engine and engine[1] in OWN_HARDWARE) or OF_DEVICES.search(why)
        return Looked(path.name, "special" if is_special else "refused", why, options)
    shown = " ".join(words)
    if directory is None:
        return Looked(path.name, "taken", shown, options)
    code, said = _run(path, words, directory)
    return Looked(path.name, "run" if code in {0, 1} else "failed", shown if code in {0, 1} else said, options)


def _reaches_far(path: Path, name: str) -> bool:
    """Whether an option is given a size that no test folder has room for."""
    try:
        found = take_apart(*gather_files([str(path)], os.environ)).sections
        given = [option.value or "" for section in found for option in section.options if option.name == name]
        return any(values.size(value) > FAR_BYTES for value in given)
    except (AssayError, values.BadValueError):
        return False


def _refusal(words: Sequence[str]) -> str:
    try:
        whole, files = gather_files(words, os.environ)
        plan_anywhere(FRONT_END.parse(whole, files), whole, files)
    except AssayError as refused:
        return str(refused)
    return ""


def _options(path: Path) -> Iterator[str]:
    try:
        found = take_apart(*gather_files([str(path)], os.environ)).sections
    except AssayError:
        return
    for section in found:
        yield from (ALIASES.get(option.name, option.name) for option in section.options)


def _run(path: Path, words: Sequence[str], directory: Path) -> tuple[int, str]:
    with tempfile.TemporaryDirectory(prefix="assay-fio-") as runs, tempfile.TemporaryDirectory(dir=directory) as own:
        command = [
            str(ASSAY),
            "fio",
            str(path),
            *SMALL,
            "--set",
            f"directory={own}",
            *words,
            "--runs",
            runs,
            "--no-report",
            "--quiet",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, (done.stderr.strip().splitlines() or [""])[-1]


def becomes(option: str) -> str:
    """Say what is made of an option."""
    for kind, meant in (("translated", Taken), ("noted", Noted), ("refused", Refused)):
        names = {name for name, meaning in OPTIONS.items() if isinstance(meaning, meant)}
        if option in names:
            return kind
    return "of an engine that is refused"


def main() -> None:
    """Look at a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--run", type=Path, metavar="DIR")
    parser.add_argument("--options", action="store_true")
    asked = parser.parse_args()
    found = []
    for path in sorted(asked.folder.glob("*.fio")):
        one = look(path, asked.run)
        found.append(one)
        why = re.sub(rf"{re.escape(str(asked.folder))}/*", "", one.why)
        sys.stdout.write(f"{one.state:8} {one.name:34} {why}\n")
        sys.stdout.flush()
    states = Counter(one.state for one in found)
    ordinary = [one for one in found if one.state != "special"]
    good = states["run"] + states["taken"]
    sys.stdout.write(
        f"{len(found)} files: {dict(states)}; of the {len(ordinary)} without hardware or library of their own"
        f" {good} ({100 * good / max(len(ordinary), 1):.0f} %)\n"
    )
    used = Counter(option for one in ordinary for option in one.options)
    kinds = Counter(becomes(option) for option in used)
    sys.stdout.write(f"{len(used)} options in these: {dict(kinds)}\n")
    if asked.options:
        for option, count in sorted(used.items(), key=lambda pair: (becomes(pair[0]), -pair[1])):
            sys.stdout.write(f"{becomes(option):30} {option:34} in {count} files\n")


if __name__ == "__main__":
    main()
