"""Keep a copy of the clone in which mutants are made, and what is known of it: `build/mutants/DIGEST`.

The digest is of all files of the copy, so that a run which was stopped goes on, and one of other files starts anew.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from suite.proof.machine import WRITTEN_PAGES


class Workplace:
    """A copy of the clone, one of several."""

    def __init__(self, root: Path, number: int = 0) -> None:
        """Copy the clone at `root`, or put right what a stopped run has left of its copy."""
        places = root / "build" / "mutants"
        self.folder = places / digest_of(root)
        self.clone = self.folder / f"clone-{number}"
        for other in places.iterdir() if places.exists() else ():
            if other != self.folder:
                shutil.rmtree(other)
        for name in _git_files(root):
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, self.clone / name)

    def environment(self, of: Mapping[str, str]) -> dict[str, str]:
        """Give the variables with which Python finds the copy's sources, and counts of tests are small."""
        kept = {name: value for name, value in of.items() if not name.startswith("ASSAY_") and name != "CI"}
        places = (self.clone / "src", self.clone / "tests", self.clone)
        return kept | {"PYTHONPATH": os.pathsep.join(map(str, places))}


def digest_of(root: Path, places: Sequence[str] = (".",)) -> str:
    """Give a digest of the files at some places of the clone."""
    digest = hashlib.sha256()
    for name in _git_files(root, places):
        digest.update(f"{name}\0".encode())
        digest.update(hashlib.sha256((root / name).read_bytes()).digest())
    return digest.hexdigest()[:16]


def _git_files(root: Path, places: Sequence[str] = (".",)) -> list[str]:
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *places)
    listed = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=True).stdout
    names = sorted(set(filter(None, listed.split("\0"))) - set(WRITTEN_PAGES))
    return [name for name in names if (root / name).is_file()]
