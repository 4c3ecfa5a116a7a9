"""Load files for planted causes: one phase of one job where nothing else is asked for."""

from dataclasses import dataclass

HEAD = """
name = "planted"
reserve = "1MiB"
sample_interval = "100ms"
"""

RANDOM_READ = 'direct = "on"\nop = { op = "read", set = "data", access = "random", size = "4KiB" }'
CACHED_READ = 'op = { op = "read", set = "data", access = "random", size = "4KiB" }'
STREAM = 'direct = "on"\nop = { op = "read", set = "data", access = "sequential", size = "128KiB" }'
STREAM_OUT = 'direct = "on"\nop = { op = "write", set = "data", access = "sequential", size = "128KiB" }'
DSYNC_WRITE = 'dsync = true\nop = { op = "write", set = "data", access = "random", size = "4KiB" }'
DSYNC_APPEND = DSYNC_WRITE.replace('"random"', '"append"')
COMMIT = """
timed = ["commit"]
[[phase.job.loop]]
group = "commit"
actions = [
    { op = "write", set = "data", access = "random", size = "4KiB" },
    { op = "fdatasync", set = "data" },
]
"""

FLUSHED_WRITES = COMMIT.replace('"random", size = "4KiB"', '"sequential", size = "256KiB"')
WRITE_AND_FLUSH = COMMIT.replace('timed = ["commit"]\n', "")
"""The same, with a row for all of it, `*`, and one for each part."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A phase of one job."""

    name: str
    job: str
    """Lines of the job's table."""
    seconds: float | None = 3
    """None: until the job is through."""
    keys: str = ""
    """Further lines of the phase's own table."""

    def __str__(self) -> str:
        """The phase in TOML."""
        until = "" if self.seconds is None else f'seconds = "{self.seconds}s"\n'
        return f'[[phase]]\nname = "{self.name}"\n{until}{self.keys}\n[[phase.job]]\n{self.job}\n'


def data(size: str = "32MiB", keys: str = "") -> str:
    """A set, `data`, of one file."""
    return f'[[file_set]]\nname = "data"\nfiles = 1\nsize = "{size}"\n{keys}\n'


def load(*phases: Phase | str, sets: str = "") -> str:
    """Put a load file together, of the set `data` where no other is given."""
    return "\n".join([HEAD, sets or data(), *map(str, phases)])


def only(job: str, *, seconds: float | None = 3, keys: str = "", sets: str = "") -> str:
    """A load of one phase of one job."""
    return load(Phase(name="planted", job=job, seconds=seconds, keys=keys), sets=sets)


def at_depth(depth: int, job: str = RANDOM_READ) -> str:
    """Keep more of a job's operations in flight."""
    return job if depth == 1 else f'backend = "io_uring"\nqueue_depth = {depth}\n{job}'
