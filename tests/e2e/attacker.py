"""What another user of the machine does to a directory that is being measured: run by itself, as that user.

`attacker.py DIRECTORY VICTIM SECONDS` goes through its attacks, round after round, until the time is over, and prints how
often each one came so far that something of its own stood where Assay works.
"""

import collections
import contextlib
import itertools
import os
import secrets
import shutil
import sys
import time
from pathlib import Path

SETS = ("data", "other", "probe", "read")
MARKS = (".assay-set.json", ".assay-set.json.next", ".assay-lock", ".lock", ".assay-generations")


def replace(path: Path, target: Path) -> bool:
    """Put a link in the place of something, whatever that was; whether it stands there."""
    aside = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    with contextlib.suppress(OSError):
        path.rename(aside)
    try:
        path.symlink_to(target)
    except OSError:
        return False
    return True


def own_folder(folder: Path, victim: Path) -> bool:
    """Be first to make the data folder, with links below it to what is another's."""
    try:
        folder.mkdir(mode=0o777)
    except OSError:
        return False
    for name in SETS:
        with contextlib.suppress(OSError):
            place = folder / name
            place.mkdir(mode=0o777)
            (place / "f00000000").symlink_to(victim / "file")
            (place / "d00000000").symlink_to(victim)
            (place / MARKS[0]).write_text("{}")
    for name in MARKS:
        with contextlib.suppress(OSError):
            (folder / name).symlink_to(victim / "file")
    return True


def swap_set(folder: Path, victim: Path) -> bool:
    """Put a link to a folder of another in the place of a set."""
    return sum(replace(folder / name, victim) for name in SETS) > 0


def swap_file(folder: Path, victim: Path) -> bool:
    """Put links in the place of files of a set, and of its mark."""
    names = ("f00000000", "f00000003", "d00000000/f00000001", *MARKS)
    return sum(replace(folder / name / file, victim / "file") for name in SETS for file in names) > 0


def swap_folder(folder: Path, victim: Path) -> bool:
    """Put a link in the place of the data folder itself."""
    return replace(folder, victim)


def go_away(folder: Path, _victim: Path) -> bool:
    """Take away what stands there, so that the next run can begin."""
    try:
        if folder.is_symlink():
            folder.unlink()
        elif folder.stat().st_uid == os.getuid():
            shutil.rmtree(folder)
        else:
            return False
    except OSError:
        return False
    return True


def main() -> None:
    """Go on until the time is over."""
    directory, victim, seconds = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    end = time.monotonic() + seconds
    came_through: collections.Counter[str] = collections.Counter()
    attacks = (own_folder, swap_file, swap_set, swap_folder, go_away, go_away)
    for turn in itertools.count():
        if time.monotonic() > end:
            break
        attack = attacks[turn % len(attacks)]
        came_through[attack.__name__] += attack(directory / "assay-data", victim)
        # Now without a pause, now with one in which a run gets far.
        time.sleep(secrets.choice((0, 0, 0.0005, 0.02)))
    sys.stdout.write(f"{dict(came_through)}, {turn} turns")


if __name__ == "__main__":
    main()
