"""The settings of PostMark before a run, and the commands that set them."""

import dataclasses
import re

NO_BIAS = -1
"""In place of a bias: that half of the transactions is left out."""


@dataclasses.dataclass(frozen=True)
class Location:
    """A directory that files go to, and its share of them."""

    directory: str
    weight: int = 1


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything that `set` sets, with PostMark's defaults."""

    size_low_bytes: int = 500
    size_high_bytes: int = 10_000
    files: int = 500
    """That exist at the same time when the transactions begin."""
    transactions: int = 500
    seed: int = 42
    locations: tuple[Location, ...] = ()
    """None: the current directory."""
    subdirectories: int = 0
    """In each location; 1 is as good as none."""
    read_block_bytes: int = 512
    write_block_bytes: int = 512
    is_buffered: bool = True
    """Through the C library's buffer; otherwise a system call a block."""
    bias_read: int = 5
    """Of ten reads and appends, how many are reads; -1: neither is done."""
    bias_create: int = 5
    """Of ten creations and deletions, how many are creations; -1: neither is done."""
    is_terse: bool = False
    report: str = ""
    """File that `run` names: the report goes to its end. Empty: standard output."""

    def words(self) -> tuple[str, ...]:
        """Write all of it in PostMark's own language, with the `run` at the end; reading that gives the same settings."""
        places = [f"set location +{place.directory} {place.weight}" for place in self.locations]
        return (
            f"set size {self.size_low_bytes} {self.size_high_bytes}",
            f"set number {self.files}",
            f"set seed {self.seed}",
            f"set transactions {self.transactions}",
            *places,
            *([f"set subdirectories {self.subdirectories}"] if self.subdirectories else []),
            f"set read {self.read_block_bytes}",
            f"set write {self.write_block_bytes}",
            f"set buffering {'true' if self.is_buffered else 'false'}",
            f"set bias read {self.bias_read}",
            f"set bias create {self.bias_create}",
            f"set report {'terse' if self.is_terse else 'verbose'}",
            f"run {self.report}".rstrip(),
        )

    def show(self, current_directory: str) -> str:
        """Print what the command `show` prints."""
        return "".join(f"{line}\n" for line in self._lines(current_directory))

    def _lines(self, current_directory: str) -> list[str]:
        low, high = scale(self.size_low_bytes), scale(self.size_high_bytes)
        sizes = f"are {low}" if low == high else f"range between {low} and {high}"
        lines = [
            "Current configuration is:",
            f"The base number of files is {self.files}",
            f"Transactions: {self.transactions}",
            f"Files {sizes} in size",
        ]
        if self.locations:
            lines.append(f"Working director{'ies' if len(self.locations) > 1 else 'y'}: ")
            lines += [f"\t{place.directory} (weight={place.weight})" for place in self.locations]
        else:
            lines.append(f"Working directory: {current_directory}")
        if self.subdirectories:
            lines.append(f"{self.subdirectories} subdirector{'ies' if self.subdirectories > 1 else 'y'} will be used")
        return [
            *lines,
            f"Block sizes are: read={scale(self.read_block_bytes)}, write={scale(self.write_block_bytes)}",
            f"Biases are: read/append={self.bias_read}, create/delete={self.bias_create}",
            f"{'Using' if self.is_buffered else 'Not using'} Unix buffered file I/O",
            f"Random number generator seed is {self.seed}",
            f"Report format is {'terse' if self.is_terse else 'verbose'}.",
        ]


def scale(size_bytes: int) -> str:
    """Write a size as `show` does."""
    if size_bytes >= 1 << 20:
        return f"{size_bytes / (1 << 20):.2f} megabytes"
    if size_bytes >= 1 << 10:
        return f"{size_bytes / (1 << 10):.2f} kilobytes"
    return f"{size_bytes} bytes"


def whole_number(text: str) -> int | None:
    """Read a whole number with nothing else around it."""
    digits = text.strip()  # strip takes away more than int overlooks
    return int(digits) if re.fullmatch(r"[+-]?[0-9]{1,18}", digits, re.ASCII) else None
