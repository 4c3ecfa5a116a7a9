"""How is each thing of a load file written? A snippet for each kind, operation and table, for the reference page.

`whole` puts a snippet into the least load that it can stand in, so that a test reads every one of them as a load file is
read, and finds in the Plan what the snippet is of.
"""

from typing import Final

_DATA: Final = '[[file_set]]\nname = "data"\nfiles = 4\nsize = "64MiB"\n'
_OP: Final = '{ op = "read", set = "data", size = "4KiB" }'
_READ: Final = f"op = {_OP}\n"
_PHASE: Final = '[[phase]]\nname = "one"\nseconds = "10s"\n'
_JOB: Final = "[[phase.job]]\n"

_CONTEXTS: Final = {
    "distribution": f'name = "a"\n{_DATA}{_PHASE}{_JOB}op = {{ op = "read", set = "data", @ }}\n',
    "layout": f'name = "a"\n[[file_set]]\nname = "data"\nfiles = 1000\nsize = "4KiB"\n@\n{_PHASE}{_JOB}{_READ}',
    "step": f'name = "a"\n{_DATA}content = {{ stamped = true }}\n{_PHASE}@\n{_JOB}{_READ}',
    "action": f'name = "a"\n{_DATA}{_PHASE}{_JOB}loop = [{_OP}, {{ post = "ready" }}, @]\n',
    "pick": f'name = "a"\n{_DATA}{_PHASE}{_JOB}op = {{ op = "stat", set = "data", @ }}\n',
    "access": f'name = "a"\n{_DATA}{_PHASE}{_JOB}op = {{ op = "write", set = "data", size = "4KiB", @ }}\n',
    "region": (
        f'name = "a"\n{_DATA}{_PHASE}{_JOB}op = {{ op = "read", set = "data", size = "4KiB",'
        ' access = { kind = "random", @ } }\n'
    ),
    "arrival": (
        f'name = "a"\n{_DATA}[[phase]]\nname = "at most"\nseconds = "10s"\n{_JOB}name = "one"\n{_READ}'
        f"{_PHASE}{_JOB}@\n{_READ}"
    ),
    "backend": f'name = "a"\n{_DATA}{_PHASE}{_JOB}@\n{_READ}',
    "The file": "@\n",
    "`[[target]]`": f'name = "a"\n{_DATA}@\n{_PHASE}{_JOB}{_READ}',
    "`[[file_set]]`": f'name = "a"\n@\n{_DATA}{_PHASE}{_JOB}{_READ}',
    "content": f'name = "a"\n{_DATA}@\n{_PHASE}{_JOB}{_READ}',
    "`[[phase]]`": f'name = "a"\n{_DATA}@\n',
    "`[[phase.job]]`": f'name = "a"\n{_DATA}{_PHASE}@\n',
    "cell": f'name = "a"\n{_DATA}[[phase]]\nname = "one"\n@\n{_JOB}{_READ}',
    "stop": f'name = "a"\n{_DATA}[[phase]]\nname = "one"\n@\n{_JOB}{_READ}',
    "`[rounds]`": f'name = "a"\n{_DATA}@\n{_PHASE}{_JOB}{_READ}',
    "steady": f'name = "a"\n{_DATA}[[phase]]\nname = "one"\n@\n{_JOB}{_READ}',
    "batch": f'name = "a"\n{_DATA}{_PHASE}{_JOB}@\n{_READ}',
    "limit": f'name = "a"\n{_DATA}{_PHASE}{_JOB}@\n{_READ}',
    "script": f'name = "a"\n{_DATA}{_PHASE}{_JOB}@\n',
    "groups": f'name = "a"\n{_DATA}{_PHASE}{_JOB}[phase.job.script]\npath = "trace.ndjson"\n@\n',
    "op": f'name = "a"\n{_DATA}{_PHASE}{_JOB}@\n',
    "branch": f'name = "a"\n{_DATA}{_PHASE}{_JOB}[[phase.job.loop]]\n@\n',
}
"""The load around a snippet, which stands at the sign."""

KINDS: Final[dict[str, dict[str, str]]] = {
    "distribution": {
        "fixed": 'size = "4KiB"',
        "uniform": 'size = { uniform = "4KiB", max = "64KiB" }',
        "normal": 'size = { normal = "64KiB", deviation = "8KiB" }',
        "exponential": 'size = { exponential = "16KiB" }',
        "gamma": 'size = { gamma = "16KiB", shape = 1.5, min = 1 }',
        "lognormal": 'size = { lognormal = "10KiB", sigma = 2.4 }',
        "zipf": 'size = "4KiB", access = { kind = "random", distribution = { zipf = 1.2 } }',
        "pareto": 'size = "4KiB", access = { kind = "random", distribution = { pareto = 0.9 } }',
        "hot_spot": (
            'size = "4KiB", access = { kind = "random", distribution = { kind = "hot_spot", range_share = 0.1,'
            " access_share = 0.9 } }"
        ),
        "tabular": 'size = { tabular = [[80, "4KiB", "4KiB"], [20, "64KiB", "128KiB"]] }',
    },
    "layout": {
        "flat": 'layout = "flat"',
        "per_directory": "layout = { per_directory = 1000 }",
        "tree": "layout = { tree = 10, depth = 3 }",
        "tree_gamma": "layout = { tree_gamma = 20, gamma = 1.5 }",
    },
    "step": {
        "prepare": 'before = [{ prepare = "data" }]',
        "evict": 'before = [{ evict = "data" }]',
        "drop_caches": 'before = ["drop_caches"]',
        "remount": 'before = [{ remount = "target" }]',
        "warm": 'before = [{ warm = "data", share = 0.5 }]',
        "verify": 'after = ["sync", { evict = "data" }, { verify = "data" }]',
        "sync": 'after = ["sync"]',
        "settle": 'before = [{ settle = "30s" }]',
        "fill": 'before = [{ fill = "target", used_share = 0.8 }]',
        "discard": 'before = [{ discard = "data" }]',
        "age": 'before = [{ prepare = "data" }, { age = "data", churn = 2 }]',
        "remove": 'after = [{ remove = "data" }]',
        "sleep": 'before = [{ sleep = "5s" }]',
        "command": 'before = [{ command = ["blockdev", "--flushbufs", "/dev/sdb"] }]',
        "ceilings": 'before = [{ ceilings = "data", seconds = "1s" }]',
    },
    "action": {
        "op": _OP,
        "group": (
            '{ group = "commit", actions = [{ op = "write", set = "data", size = "4KiB" },'
            ' { op = "fsync", set = "data" }] }'
        ),
        "choice": (
            '{ choice = [{ weight = 70, actions = [{ op = "read", set = "data", size = "4KiB" }] },'
            ' { weight = 30, actions = [{ op = "write", set = "data", size = "4KiB" }] }] }'
        ),
        "repeat": '{ repeat = 8, actions = [{ op = "read", set = "data", size = "4KiB" }] }',
        "every": '{ every = 16, actions = [{ op = "fsync", set = "data" }] }',
        "wait": '{ wait = "ready", count = 2 }',
        "post": '{ post = "ready" }',
        "token": '{ token = "shared", rate_per_s = 1000, unit = "data_op" }',
        "think": '{ think = { exponential = "5ms" } }',
        "finish_on": '{ finish_on = "read", bytes = "1GiB" }',
    },
    "pick": {
        "next": 'pick = "next"',
        "random": 'pick = { kind = "random", distribution = { zipf = 1.1 } }',
        "indexed": "pick = { indexed = 3 }",
        "new": 'pick = "new"',
        "existing": 'pick = "existing"',
        "in_turn": 'pick = "in_turn"',
        "own": 'pick = "own"',
        "listed": 'pick = "listed"',
        "shuffled": 'pick = "shuffled"',
    },
    "access": {
        "sequential": 'access = { kind = "sequential", region = "slice" }',
        "stream": 'pick = "own", access = { kind = "stream", jump_share = 0.2 }',
        "backward": 'access = { kind = "backward", wrap = false }',
        "stride": 'access = { stride = "64KiB" }',
        "random": 'access = { kind = "random", coverage = "rounds" }',
        "append": 'access = "append"',
        "whole": 'access = { kind = "whole", chunk = "1MiB" }',
    },
    "region": {
        "whole": 'region = "whole"',
        "slice": 'region = "slice"',
        "range": 'region = { range = "16MiB", length = "32MiB" }',
    },
    "arrival": {
        "closed": 'arrival = "closed"',
        "open": 'arrival = { open = 500, spacing = "poisson" }',
        "open_share": 'arrival = { kind = "open_share", phase = "at most", rate_share = 0.7 }',
        "balanced": 'arrival = { balanced = "both", weight = 2 }',
    },
    "backend": {
        "psync": 'backend = "psync"',
        "read_write": 'backend = "read_write"',
        "io_uring": 'queue_depth = 32\nbackend = { kind = "io_uring", fallback = "threads" }',
        "aio": 'queue_depth = 32\ndirect = true\nbackend = "aio"',
        "mmap": 'backend = "mmap"',
        "null": 'backend = "null"',
        "stdio": 'backend = { kind = "stdio", per_character = true }',
    },
}
"""By the word of a union and the name of a kind."""

OPERATIONS: Final[dict[str, str]] = {
    "read": '{ op = "read", set = "data", access = "random", size = "4KiB" }',
    "write": '{ op = "write", set = "data", access = "append", size = "4KiB", dsync = true }',
    "fsync": '{ op = "fsync", set = "data" }',
    "fdatasync": '{ op = "fdatasync", set = "data" }',
    "sync_file_range": '{ op = "sync_file_range", set = "data", size = "1MiB", advice = "wait" }',
    "create": '{ op = "create", set = "data", slot = 0 }',
    "open": '{ op = "open", set = "data", pick = "random", slot = 1 }',
    "close": '{ op = "close", slot = 1 }',
    "stat": '{ op = "stat", set = "data", pick = "random" }',
    "fstat": '{ op = "fstat", slot = 1 }',
    "unlink": '{ op = "unlink", set = "data" }',
    "rename": '{ op = "rename", set = "data" }',
    "link": '{ op = "link", set = "data" }',
    "symlink": '{ op = "symlink", set = "data" }',
    "truncate": '{ op = "truncate", set = "data", size = "1MiB" }',
    "truncate_at": '{ op = "truncate_at", set = "data", size = "4KiB", access = "sequential" }',
    "punch_hole": '{ op = "punch_hole", set = "data", size = "4KiB", access = "random" }',
    "discard": '{ op = "discard", set = "data", size = "1MiB", access = "random" }',
    "write_zeroes": '{ op = "write_zeroes", set = "data", size = "1MiB", access = "random" }',
    "fallocate": '{ op = "fallocate", set = "data", size = "1MiB" }',
    "mkdir": '{ op = "mkdir", set = "data" }',
    "rmdir": '{ op = "rmdir", set = "data" }',
    "readdir": '{ op = "readdir", set = "data" }',
    "readdir_stat": '{ op = "readdir_stat", set = "data" }',
    "clone": '{ op = "clone", set = "data" }',
    "copy": '{ op = "copy", set = "data" }',
    "chmod": '{ op = "chmod", set = "data" }',
    "setxattr": '{ op = "setxattr", set = "data", size = 64 }',
    "getxattr": '{ op = "getxattr", set = "data" }',
    "advise": '{ op = "advise", set = "data", advice = "dontneed" }',
    "lock": '{ op = "lock", set = "data" }',
    "lock_shared": '{ op = "lock_shared", set = "data" }',
    "unlock": '{ op = "unlock", set = "data" }',
    "spawn": '{ op = "spawn", set = "data", argv = ["cksum", "{path}"] }',
}
"""By the kind of operation."""

TABLES: Final[dict[str, str]] = {
    "The file": f"""\
name = "nightly"
description = "cold sequential reads"
answers = "how fast is last night's data read when nothing is cached?"
void_if = "a server below has it in its cache"
accept = ["from-memory"]

[parameters]
size = "1GiB"

[scale]
size = "16MiB"

[[file_set]]
name = "data"
size = "${{size}}"

[[phase]]
name = "read"
cache = "cold"
seconds = "20s"
[[phase.job]]
{_READ.rstrip()}""",
    "`[[target]]`": '[[target]]\nname = "mirror"\nuri = "file:///mnt/mirror"',
    "`[[file_set]]`": (
        '[[file_set]]\nname = "mail"\nfiles = 10000\nsize = { lognormal = "10KiB", sigma = 2.4 }\nexisting_share = 0.5'
    ),
    "content": "content = { compress_ratio = 2, dedupe_ratio = 1.5 }",
    "`[[phase]]`": (
        f'[[phase]]\nname = "read"\ntitle = "cold reads"\nstands_for = "a restore"\ncache = "cold"\nramp = "2s"\n'
        f'seconds = "20s"\nextend_to = "1min"\n{_JOB}{_READ.rstrip()}'
    ),
    "`[[phase.job]]`": f'{_JOB}workers = 4\nqueue_depth = 32\nbackend = "io_uring"\ndirect = true\n{_READ.rstrip()}',
    "cell": 'cell = { row = "4KiB", column = "0/100" }',
    "stop": 'stop = { seconds = "1min", bytes = "10GiB", of = "all" }',
    "`[rounds]`": '[rounds]\nof = ["one"]\nby = "latency"\nmost = 10',
    "steady": 'seconds = "10min"\nsteady = { of = "ops", by = "slope", bound = 1, window = "30s" }',
    "batch": 'queue_depth = 32\nbackend = "io_uring"\nbatch = { submit = 16, complete_max = 16 }',
    "limit": 'limit = { bytes_per_s = "100MiB" }',
    "script": f'[phase.job.script]\npath = "trace.ndjson"\nops = [{_OP}]',
    "groups": (
        '[[phase.job.script.groups]]\nname = "look"\n'
        'ops = [{ op = "open", set = "data", slot = 0 }, { op = "read", slot = 0, size = "1KiB" },'
        ' { op = "close", slot = 0 }]'
    ),
    "op": f"op = {OPERATIONS['read']}",
    "branch": (
        'choice = [\n    { weight = 9, actions = [{ op = "read", set = "data", size = "4KiB" }] },\n'
        '    { weight = 1, actions = [{ op = "stat", set = "data" }] },\n]'
    ),
}
"""By the heading of a table."""


def whole(what: str, snippet: str) -> str:
    """Give a load file with a snippet in it.

    Args:
        what: The word of the union, or the heading of the table, that it is of.
        snippet: From `KINDS` or `TABLES`.
    """
    return _CONTEXTS[what].replace("@", snippet)


def whole_of_operation(snippet: str) -> str:
    """Give a load file with an operation in it, which may work on the files that are open in slots 0 and 1."""
    opened = ", ".join(f'{{ op = "open", name = "open {slot}", set = "data", slot = {slot} }}' for slot in (0, 1))
    return _CONTEXTS["op"].replace("@", f"loop = [{opened}, {snippet}]")
