"""`python -m bench.filebench_scripts FOLDER DIR`: run each Filebench script of a folder for some seconds; a table of all.

The scripts that come with Filebench are not here: fetch them, and name the folder. Each runs with the variables that it
sets made smaller (`SMALL`), so that it fits and comes to its end; what its numbers are is of no importance, only that there
are any, or that it is refused with the line and the reason.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from assay import plan
from assay.errors import InputError
from assay.tools.filebench.definitions import Overrides
from assay.tools.filebench.evaluate import evaluate
from assay.tools.filebench.randoms import largest
from assay.tools.filebench.statements import Number, read

SECONDS: Final = 3
SMALL: Final = {
    "nfiles": 200,
    "ndirs": 200,
    "filesize": 8 << 20,
    "logfilesize": 8 << 20,
    "nthreads": 4,
    "nshadows": 8,
    "ndbwriters": 2,
    "numactivevids": 4,
    "numpassivevids": 8,
    "repintval": 1,
    "count": 300,
    "bytes": 16 << 20,
}
"""The most that a variable of the name is set to."""
LARGEST_BYTES: Final = 640 << 20
"""Of all files of a script; more is scaled down."""
_SUMMARY = re.compile(r"IO Summary: +(\d+) ops +([\d.]+) ops/s +(\S+) rd/wr +([\d.]+)mb/s +([\d.]+)ms/op")


def options(text: str, name: str) -> list[str]:
    """Make a script small; raises InputError where it cannot be read."""
    commands = read(text, name)
    numbers = {one.name: one.value.value for one in commands if one.kind == "set" and isinstance(one.value, Number)}
    ends_by_names = any(command.kind == "mode" and "firstdone" in command.words for command in commands)
    small = {key: most for key, most in SMALL.items() if not (ends_by_names and key in {"nfiles", "ndirs", "count"})}
    settings = tuple((key, str(small[key])) for key, value in numbers.items() if value > small.get(key, value))
    workload = evaluate(text, name, Overrides(seconds=SECONDS, settings=settings))
    total = sum(files.entries * largest(files.size) for files in workload.files.values() if files.existing_share)
    given = [word for key, value in settings for word in ("--set", f"{key}={value}")]
    if total > LARGEST_BYTES and all(isinstance(files.size, plan.Fixed) for files in workload.files.values()):
        given += ["--scale", f"{LARGEST_BYTES / total:.2g}"]
    return given


def row(script: Path, directory: Path, runs: Path) -> str:
    """Run one script; its row of the table."""
    try:
        small = options(script.read_text(), script.name)
    except InputError as refused:
        return f"| {script.stem} | refused | | | | {refused} |"
    words = ["filebench", "-f", str(script), "--time", str(SECONDS), *small]
    whole = [sys.executable, "-c", "from assay.start import main; main()", *words]
    counted = subprocess.run(
        [*whole, "--dir", str(directory), "--runs", str(runs), "--no-report"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = _SUMMARY.search(counted.stdout)
    if not found:
        reason = (counted.stderr.strip().splitlines() or ["no word"])[-1]
        return f"| {script.stem} | exit {counted.returncode} | | | | {reason} |"
    errors = "; ".join(re.findall(r"^\S+ +(?:errors|engine-error)\b.*\n +(.*)$", counted.stderr, re.MULTILINE))
    ended = re.search(r"^The run ended after (.*?)\. Its", counted.stderr, re.MULTILINE)
    ops, per_s, mix, mb, ms = found.groups()
    beside = "; ".join(part for part in (errors, f"ended after {ended[1]}" if ended else "") if part)
    return f"| {script.stem} | ran, exit {counted.returncode} | {ops} | {per_s} ({mix}) | {mb} / {ms} | {beside} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of scripts, *.f")
    parser.add_argument("directory", type=Path, help="directory on the storage to run them on")
    asked = parser.parse_args()
    print(
        "| script | result | operations | ops/s (rd/wr) | MB/s / ms an op | said |\n| --- | --- | --- | --- | --- | --- |"
    )
    with tempfile.TemporaryDirectory() as runs:
        for script in sorted(asked.folder.glob("*.f")):
            print(row(script, asked.directory, Path(runs)), flush=True)


if __name__ == "__main__":
    main()
