"""Check that this user made a run in this library: only then is it repeated without asking.

Whoever unpacks a stranger's bundle into the own library owns its files: place and owner prove little. So each run keeps, in
`maker.hmac`, an HMAC-SHA256 over what a rerun executes (the Plan, the load file's text and the scripts), made with the
user's key (`user_key.py`). Who does not have the key cannot make one, nor change what it covers. Owner and mode are
looked at besides: what others may write may change after it was looked at. Here no group may: these files are made with
mode 0644, whatever the umask. The folder that is looked at is open, and has the Plan that is asked about, whoever exchanges
folders meanwhile.
"""

import hashlib
import hmac
import os
from pathlib import Path

from assay import own_files
from assay.bundle import files
from assay.bundle.inside import open_inside, read_inside
from assay.bundle.opened_folder import open_folder
from assay.bundle.scripts import name_scripts, script_names
from assay.bundle.user_key import user_key, user_key_or_new
from assay.errors import BundleError
from assay.plan import Plan

MAKER = "maker.hmac"


def sign(folder: Path, plan: Plan) -> None:
    """Keep the proof that this user made a run; without a home to keep a key in there is none, and a rerun asks.

    Args:
        folder: The bundle, whose Plan, load file and scripts are in place.
        plan: Its Plan.

    Raises:
        RunError: the proof cannot be written.
    """
    key = user_key_or_new()
    if key is not None:
        files.write_durably(folder / MAKER, f"{_proof(key, folder, plan)}\n".encode())


def is_own(folder: Path, plan: Plan, library: Path) -> bool:
    """Whether this user made a run, and nobody else can have changed what a rerun of it executes.

    Args:
        folder: The bundle.
        plan: Its Plan.
        library: Where this user's runs are kept.
    """
    key = user_key()
    if key is None or folder.parent.resolve() != library.resolve():
        return False
    try:
        with open_folder(folder) as opened:
            there = [opened.facts, *(_stat(opened.place, name) for name in _carried_out(opened.place, plan))]
            kept = read_inside(opened.place, MAKER).strip()
            proof = _proof(key, opened.place, plan).encode()
            is_same = name_scripts(files.read_plan(opened.place)) == name_scripts(plan)
        if script_names(plan):
            # They are read again when they are executed.
            own_files.check_above(folder)
    except (OSError, BundleError, own_files.NotOwnError):
        return False
    is_mine = all(found.st_uid == os.geteuid() and not found.st_mode & 0o022 for found in there)
    return is_mine and is_same and hmac.compare_digest(kept, proof)


def _carried_out(folder: Path, plan: Plan) -> tuple[str, ...]:
    """Name the files that a rerun works by."""
    source = (files.SOURCE,) if (folder / files.SOURCE).exists() else ()
    return (files.PLAN, *source, *script_names(plan))


def _stat(folder: Path, name: str) -> os.stat_result:
    with open_inside(folder, name) as file:
        return os.fstat(file.fileno())


def _proof(key: bytes, folder: Path, plan: Plan) -> str:
    """Work the proof out; raises OSError and BundleError where a file cannot be read."""
    lines = []
    for name in _carried_out(folder, plan):
        with open_inside(folder, name) as file:
            lines.append(f"{files.entry_of(file).sha256}  {name}\n")
    return hmac.new(key, "".join(lines).encode(), hashlib.sha256).hexdigest()
