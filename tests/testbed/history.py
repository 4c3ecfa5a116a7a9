"""What others did to a file system before: it is as full as it was, and not as fast."""

import time
from pathlib import Path


def free_inodes(folder: Path, count: int) -> None:
    """Make so many files in a folder and remove them.

    From the next second on, for minutes, ext4 without a journal passes the inodes by, one by one for each new file.
    """
    come_and_go(folder, count)
    time.sleep(2)


def grow_directory(folder: Path, names: int) -> None:
    """Make a folder that has held so many names and holds none: that of ext4 never shrinks, and is searched to its end."""
    folder.mkdir()
    come_and_go(folder, names)


def come_and_go(folder: Path, count: int) -> None:
    """Make so many files in a folder and remove them."""
    files = [folder / f"came-and-went-{number:08d}" for number in range(count)]
    for file in files:
        file.touch()
    for file in files:
        file.unlink()
