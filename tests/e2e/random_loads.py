"""Loads that would go on for hours, put together by a seed: what is stopped at a random moment."""

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SETS = {
    "few": 'files = 3\nsize = "1MiB"\n',
    "small": 'files = 20000\nsize = "1KiB"\nlayout = { per_directory = 500 }\n',
    "sizes": 'files = 3000\nsize = { kind = "lognormal", median = "8KiB", sigma = 1.5 }\n',
    "large": 'size = "128MiB"\n',
    "sparse": 'size = "1TiB"\nallocate = "sparse"\n',
    "allocated": 'size = "256MiB"\nallocate = "fallocate"\n',
    "stamped": 'files = 4\nsize = "4MiB"\ncontent = { stamped = true }\n',
    "absent": "files = 50000\nsize = 4096\nexisting_share = 0.0\n",
}
"""By name: a file set, as a load file writes it."""
OPENED = ("few", "large", "sparse", "allocated", "stamped")
"""Those whose files a worker holds open."""
STEPS = (
    '{ sleep = "1h" }',
    '{ ceilings = "SET", seconds = "1h" }',
    '{ warm = "SET" }',
    '{ evict = "SET" }',
    '{ settle = "1h" }',
    '{ kind = "age", set = "SET", churn = 1000 }',
    '{ kind = "sync" }',
)
PACES = (
    "",
    "",
    "",
    "arrival = { open = 50 }",
    "arrival = { open = 200000 }",
    'arrival = { open = 1000000000, spacing = "poisson" }',
    "limit = { ops_per_s = 0.001 }",
    "limit = { ops_per_s = 3000 }",
    'limit = { bytes_per_s = "1KiB" }',
)


def a_load(rng: random.Random) -> str:
    """Write a load file."""
    name = rng.choice(sorted(SETS))
    steps = [step for step in STEPS if name not in {"absent", "sparse"} or "SET" not in step]
    before = [rng.choice(steps).replace("SET", name)] if rng.random() < 0.3 else []
    if name == "stamped" and rng.random() < 0.3:
        before = ['{ verify = "stamped" }'] * 1000
    jobs = _jobs(rng, name)
    if name == "stamped":  # no processes
        jobs = jobs.replace('"process"', '"thread"')
    return (
        f'name = "random"\nreserve = 0\nsample_interval = "{rng.choice([10, 100, 1000])}ms"\n'
        f'[[file_set]]\nname = "{name}"\n{SETS[name]}\n'
        f'[[phase]]\nname = "phase"\nseconds = "15min"\nbefore = [{", ".join(before)}]\n{jobs}'
    )


def _jobs(rng: random.Random, name: str) -> str:
    kinds: list[Callable[[random.Random, str], str]] = [_by_name, _think, _semaphore, _token, _program, _whole_files]
    if name in OPENED:
        kinds = [_transfer, _transfer, _queue, *kinds, _locks]
    return rng.choice(kinds)(rng, name)


def _job(rng: random.Random, body: str, *, most: int = 40, job: str = "job") -> str:
    workers, kind = rng.choice([1, 1, 2, rng.randint(1, most)]), rng.choice(["thread", "thread", "process"])
    return f'[[phase.job]]\nname = "{job}"\nworkers = {workers}\nas = "{kind}"\n{body}\n'


def _transfer(rng: random.Random, name: str) -> str:
    op = rng.choice(["read", "read", "write"]) if name != "sparse" else "read"
    size = rng.choice(["512B", "4KiB", "1MiB", "64MiB"]) if name in {"large", "sparse", "allocated"} else "4KiB"
    access = rng.choice(["random", "sequential", "backward"])
    chunk = ', chunk = "4KiB"' if size == "64MiB" and name != "stamped" else ""
    body = f'op = {{ op = "{op}", set = "{name}", size = "{size}", access = "{access}"{chunk} }}\n{rng.choice(PACES)}'
    backends = ["psync", "psync", "read_write"] + (["mmap", "stdio"] if name != "stamped" and not chunk else [])
    return _job(rng, f'{body}\nbackend = "{rng.choice(backends)}"', most=300)


def _queue(rng: random.Random, name: str) -> str:
    backend = rng.choice(['{ kind = "io_uring", fallback = "threads" }', '"aio"'])
    body = f'op = {{ op = "read", set = "{name}", size = "4KiB", access = "random" }}\n{rng.choice(PACES)}'
    direct = rng.choice(["off", "if_supported"])
    return _job(rng, f'{body}\nbackend = {backend}\nqueue_depth = {rng.randint(2, 300)}\ndirect = "{direct}"', most=8)


def _by_name(rng: random.Random, name: str) -> str:
    if name == "absent":
        pair = '{ op = "create", set = "absent" }, { op = "unlink", set = "absent" }'
        return _job(rng, f"loop = [{pair}]\n{rng.choice(PACES[:7])}")
    op, pick = rng.choice(["stat", "open"]), rng.choice(["next", "existing", "own"])
    return _job(rng, f'op = {{ op = "{op}", set = "{name}", pick = "{pick}" }}\n{rng.choice(PACES[:7])}')


def _think(rng: random.Random, name: str) -> str:
    burn = rng.choice(["true", "false"])
    seconds = rng.choice(['"1h"', '"1ms"', '{ kind = "exponential", mean = "1min" }'])
    stat = f'{{ op = "{"create" if name == "absent" else "stat"}", set = "{name}" }}'
    repeat = f'{{ repeat = 1000000000, actions = [{stat}, {{ think = "0s" }}] }}'
    loop = rng.choice([f"{stat}, {{ think = {seconds}, burn = {burn} }}", f"{{ think = {seconds} }}, {repeat}"])
    return _job(rng, f"loop = [{loop}]", most=8)


def _semaphore(rng: random.Random, name: str) -> str:
    stat = f'{{ op = "{"create" if name == "absent" else "stat"}", set = "{name}" }}'
    waits = _job(rng, f'loop = [{{ wait = "go" }}, {stat}]', job="waits")
    return waits + _job(rng, f'loop = [{{ think = "1h" }}, {{ post = "go" }}, {stat}]', job="posts", most=2)


def _token(rng: random.Random, name: str) -> str:
    stat = f'{{ op = "{"create" if name == "absent" else "stat"}", set = "{name}" }}'
    rate = rng.choice(["0.001", "5.0", "1000.0"])
    return _job(rng, f'loop = [{{ token = "rate", rate_per_s = {rate}, unit = "event" }}, {stat}]')


def _program(rng: random.Random, name: str) -> str:
    if name in {"absent", "stamped"}:
        return _by_name(rng, name)
    stubborn = """["sh", "-c", "trap '' TERM INT HUP; while :; do sleep 1; done"]"""
    argv = rng.choice(['["sleep", "3600"]', stubborn, '["true"]'])
    return _job(rng, f'op = {{ op = "spawn", set = "{name}", argv = {argv} }}', most=6)


def _whole_files(rng: random.Random, name: str) -> str:
    if name in {"absent", "sparse"}:
        return _by_name(rng, name)
    loop = (
        f'{{ op = "open", set = "{name}", slot = 0 }}, '
        '{ op = "read", slot = 0, access = "whole", size = "4KiB" }, { op = "close", slot = 0 }'
    )
    return _job(rng, f"loop = [{loop}]")


def _locks(rng: random.Random, name: str) -> str:
    loop = (
        f'{{ op = "open", set = "{name}", pick = "next", slot = 0 }}, {{ op = "lock", slot = 0 }}, '
        f'{{ think = "{rng.choice(["1h", "1ms"])}" }}, {{ op = "unlock", slot = 0 }}, {{ op = "close", slot = 0 }}'
    )
    return _job(rng, f"loop = [{loop}]")
