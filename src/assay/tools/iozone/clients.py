"""Read the clients of `-+m FILE`, and the children of each.

A line is `host directory program`, a child each, as far as `-t` goes; what begins with `#`, and what is empty, is
passed over. Here a client is a worker that Assay starts on the host, so the program's path is ignored.
"""

import dataclasses
from pathlib import Path, PurePosixPath

from assay.errors import InputError
from assay.tools.arguments import cut

OPTION = "-+m"
_MOST_LINES = 20_000
_LONGEST_LINE = 5000


@dataclasses.dataclass(frozen=True)
class Line:
    """A child."""

    host: str
    directory: PurePosixPath


@dataclasses.dataclass(frozen=True)
class Clients:
    """The lines of a file."""

    lines: tuple[Line, ...]

    def hosts(self, children: int) -> tuple[str, ...]:
        """Name those that N children run on, each once."""
        return tuple(dict.fromkeys(line.host for line in self.lines[:children]))

    def directories(self, children: int) -> dict[str, Path]:
        """Give the directory of each of these hosts."""
        return {line.host: Path(line.directory) for line in self.lines[:children]}

    def children_of_each(self, children: int) -> int:
        """Count the children of each host, of N.

        Raises:
            InputError: the lines do not suffice, or the hosts do not have as many each, in one directory.
        """
        if children > len(self.lines):
            raise InputError(f"iozone: {OPTION} names {len(self.lines)} clients, and -t asks for {children} children")
        used = self.lines[:children]
        counts = {host: sum(line.host == host for line in used) for host in self.hosts(children)}
        if len(set(counts.values())) > 1:
            most, least = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
            raise InputError(
                f"iozone: {OPTION}: {most} has {counts[most]} of the first {children} lines, {least} {counts[least]}; give"
                " each host as many"
            )
        for host, directory in self.directories(children).items():
            if other := next((line for line in used if line.host == host and Path(line.directory) != directory), None):
                raise InputError(
                    f"iozone: {OPTION}: {host} has {other.directory} and {directory}; give its children one directory"
                )
        return next(iter(counts.values()))


def clients_in(name: str, text: str) -> Clients:
    """Read a file; raises InputError."""
    if text.count("\n") > _MOST_LINES:
        raise InputError(f"iozone: {OPTION} {cut(name)}: has more than {_MOST_LINES} lines, those without a client too")
    lines = [_line(name, number, line) for number, line in enumerate(text.splitlines(), start=1) if _has_client(line)]
    if not lines:
        raise InputError(f"iozone: {OPTION} {cut(name)}: it names no client; a line is 'host directory program'")
    if len(lines) > _MOST_LINES:
        raise InputError(f"iozone: {OPTION} {cut(name)}: {len(lines)} lines; the limit is {_MOST_LINES} clients")
    return Clients(tuple(lines))


def _has_client(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _line(name: str, number: int, line: str) -> Line:
    where = f"iozone: {cut(name)}:{number}"
    if len(line) > _LONGEST_LINE:
        raise InputError(f"{where}: the line has more than {_LONGEST_LINE} characters")
    words = line.split()
    if len(words) == 4:
        raise InputError(
            f"{where}: '{cut(words[3])}' names a test file; files lie in Assay's folder in the directory. Leave it out"
        )
    if len(words) not in {2, 3}:
        raise InputError(f"{where}: a line is 'host directory program'")
    directory = PurePosixPath(words[1])
    if not directory.is_absolute() or "\0" in words[1]:
        raise InputError(f"{where}: '{cut(words[1])}' is not an absolute directory")
    return Line(words[0], directory)
