"""The load of the matrix: a phase before, the phase that the fault hits, a phase after."""

from pathlib import Path

BEFORE, HIT, AFTER = "before", "hit", "after"
LOAD_FILE = "faulty.toml"

LOAD = """
name = "faulty"
reserve = "{reserve}"
sample_interval = "100ms"
[[file_set]]
name = "data"
{set}
[[phase]]
name = "before"
seconds = "0.3s"
[[phase.job]]
op = {{ op = "read", set = "data", access = "random", size = "4KiB" }}
[[phase]]
name = "hit"
before = [{between}]
after = [{behind}]
seconds = "{seconds}"
[[phase.job]]
{job}
[[phase]]
name = "after"
seconds = "0.2s"
[[phase.job]]
op = {{ op = "read", set = "data", access = "random", size = "4KiB" }}
"""
USUAL = {
    "reserve": "0",
    "set": 'size = "4MiB"',
    "between": "",
    "behind": "",
    "seconds": "1h",
    "job": 'op = { op = "read", set = "data", access = "random", size = "4KiB" }',
}
MANY_FILES = {
    "set": 'size = "4MiB"\n[[file_set]]\nname = "many"\nfiles = 20000\nsize = "1KiB"\nlayout = { per_directory = 1000 }',
    "job": 'op = { op = "stat", set = "many" }',
    "seconds": "0.3s",
}
"""Takes long enough to be laid out."""
PAUSE_BETWEEN = {"between": '{ sleep = "3s" }', "seconds": "0.3s"}
"""Time enough between two phases."""
SHORT = {"seconds": "0.3s"}


def write_load(folder: Path, parts: dict[str, str]) -> Path:
    """Write the load file."""
    path = folder / LOAD_FILE
    path.write_text(LOAD.format(**(USUAL | parts)))
    return path
