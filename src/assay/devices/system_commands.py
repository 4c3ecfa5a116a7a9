"""Run a command of the system, such as mkfs, to its end, whatever signals come meanwhile."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.errors import RunError

_ADMINISTRATORS = "/usr/sbin:/sbin:/usr/local/sbin"
_LONGEST_SHOWN = 500


def find_command(name: str) -> str | None:
    """Find a command on PATH, or where administrators' commands are."""
    return shutil.which(name) or shutil.which(name, path=_ADMINISTRATORS)


def need_commands(names: Sequence[str]) -> None:
    """Raise RunError for commands that are not there."""
    if absent := [name for name in names if find_command(name) is None]:
        raise RunError(f"{', '.join(absent)}: not found on PATH or in /usr/sbin. Install what has it, such as util-linux, "
                       "e2fsprogs, xfsprogs or btrfs-progs")  # fmt: skip


def carry_out(
    words: Sequence[str],
    *,
    folder: Path | None = None,
    descriptors: Sequence[int] = (),
    shown: Mapping[str, str] | None = None,
) -> str:
    """Run a command that must succeed, in a session of its own; gives its standard output.

    Args:
        words: The command; its name is looked for.
        folder: Where it runs.
        descriptors: Open files that it has, too.
        shown: Words that are replaced in messages about it.

    Raises:
        RunError: it is not there, or failed; the message ends with its output.
    """
    found = find_command(words[0])
    if found is None:
        raise RunError(f"{words[0]}: not found on PATH or in /usr/sbin")
    done = subprocess.run(
        [found, *words[1:]],
        cwd=folder,
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        start_new_session=True,
        pass_fds=descriptors,
    )
    if done.returncode:
        message = " ".join((done.stderr.strip() or done.stdout.strip()).split())
        text = f"{' '.join(words)}: exit code {done.returncode}: {message[-_LONGEST_SHOWN:]}"
        for word, otherwise in (shown or {}).items():
            text = text.replace(word, otherwise)
        raise RunError(text)
    return done.stdout
