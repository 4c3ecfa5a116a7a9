"""What another user of the machine does to a directory that is being measured: run by itself, as that user.

`attacker.py DIRECTORY VICTIM SECONDS` plays its scenes, round after round, until the time is over, and prints how often each
one got as far as to have its links stand where Assay was at work. It knows the load of `test_second_users.py`: sets `data`
and `other`, ten files a directory.
"""

import collections
import contextlib
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

MARK = ".assay-set.json"
FILES = 400
FILE_BYTES = 8192
PATIENCE_S = 4.0
"""A run comes by within this, or something of an earlier scene is in its way."""


class Attack:
    """One user's work on one directory."""

    def __init__(self, directory: Path, victim: Path, end: float) -> None:
        """Nothing stands there yet; it is over at `end` of the monotonic clock."""
        self.directory, self.victim, self.end = directory, victim, end
        self.folder = directory / "assay-data"
        self.mark = ""
        """Of a set that was laid out here, to be shown again."""

    def _names(self) -> list[Path]:
        return [Path(f"d{index // 10:08}") / f"f{index:08}" for index in range(FILES)]

    def _aside(self, path: Path) -> bool:
        """Move something out of the way, whoever it belongs to: to another folder a directory goes with its owner alone."""
        with contextlib.suppress(OSError):
            path.rename(path.with_name(f"aside-{secrets.token_hex(6)}"))
            return True
        return False

    def _wait(self, is_there: Callable[[], bool]) -> bool:
        """Wait for a run to come so far."""
        end = min(time.monotonic() + PATIENCE_S, self.end)
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                if is_there():
                    return True
            time.sleep(0.001)
        return False

    def _is_laid_out(self, name: str) -> bool:
        text = (self.folder / name / MARK).read_text()
        self.mark = text if name == "data" else self.mark
        return '"complete"' in text

    def _link_set(self, name: str) -> None:
        """Have a set in which every file is a link to what is another's."""
        for path in self._names():
            place = self.folder / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(self.victim / "file")
        for mark in (MARK, f"{MARK}.next", ".assay-generations"):
            (self.folder / name / mark).symlink_to(self.victim / "file")

    def _replace_sets(self) -> bool:
        time.sleep(secrets.randbelow(300) / 1000)
        done = False
        for name in ("data", "other"):
            if self._aside(self.folder / name):
                self._link_set(name)
                done = True
        time.sleep(0.4)
        return done

    def first(self) -> bool:
        """Make the data folder before anybody else, and put links in the place of sets while a run is on."""
        self.folder.mkdir()
        (self.folder / "not-empty").touch()
        self.folder.chmod(0o777)
        return self._wait(lambda: self._is_laid_out("data")) and self._replace_sets()

    def folders(self) -> bool:
        """Have links to another's folder where sets are about to be made, under every name that Assay uses."""
        self.folder.mkdir()
        for name in ("data", "other", "probe"):
            (self.folder / name).symlink_to(self.victim)
        for name in (".assay-lock", ".lock"):
            (self.folder / name).symlink_to(self.victim / "file")
        time.sleep(0.5)
        return True

    def reuse(self) -> bool:
        """Offer a set that looks right, with a link in the place of a file that nobody looks at."""
        if not self.mark:
            return False
        for index, path in enumerate(self._names()):
            place = self.folder / "data" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if index == 3:
                place.symlink_to(self.victim / "file")
            else:
                place.write_bytes(bytes(FILE_BYTES))
        (self.folder / "data" / MARK).write_text(self.mark)
        for path in (self.folder, *self.folder.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o777)
        if not self._wait((self.folder / "other").exists):
            return False
        time.sleep(1.0)  # it is written to
        return True

    def around(self) -> bool:
        """Leave a run its own folder, and put another in that one's place while it works."""
        if not self._wait(lambda: self._is_laid_out("data")) or not self._aside(self.folder):
            return False
        self.folder.mkdir()
        self._link_set("data")
        self._link_set("other")
        time.sleep(0.5)
        return True

    def leave(self) -> None:
        """Clear the place for the next scene."""
        if self.folder.is_symlink():
            self.folder.unlink()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.folder.exists():
            self._aside(self.folder)


def main() -> None:
    """Go on until the time is over."""
    end = time.monotonic() + float(sys.argv[3])
    attack = Attack(Path(sys.argv[1]), Path(sys.argv[2]), end)
    os.umask(0)
    counts: collections.Counter[str] = collections.Counter()
    while time.monotonic() < end:
        for scene in (attack.first, attack.reuse, attack.around, attack.folders):
            attack.leave()
            with contextlib.suppress(OSError):
                counts[scene.__name__] += scene()
    attack.leave()
    sys.stdout.write(str(dict(counts)))


if __name__ == "__main__":
    main()
