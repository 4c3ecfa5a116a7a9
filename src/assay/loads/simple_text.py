"""Write the load of `assay measure` as a load file.

There is one way to a Plan: `native.parse` reads this text as it reads any other. `assay measure --as-toml` prints it.
"""

from collections.abc import Iterator

from assay.loads.simple_load import SimpleLoad
from assay.units import BYTES_PER_UNIT

NAME = "measure"
SOURCE = "measure.toml"
"""What messages and the Plan's origin call the text."""
_SET = "data"


def load_text(load: SimpleLoad) -> str:
    """Write the load file."""
    files = "one file" if load.files == 1 else f"{load.files} files"
    lines = [
        "# Written by `assay measure --as-toml`. To measure it: assay run FILE.toml DIR",
        f'name = "{NAME}"',
        f'description = "{_title(load, load.blocks_bytes, load.depths)}"',
        f"seed = {load.seed}",
        "",
        "[parameters]",
        f'size = "{_size(load.file_bytes)}"  # of each file: `assay run FILE.toml DIR --size S` gives another',
        f'phase_seconds = "{_time(load.seconds)}"  # of each row: --time T, over all rows',
        "",
        f"# {files[0].upper()}{files[1:]}, laid out before the first row and removed at the end.",
        "[[file_set]]",
        f'name = "{_SET}"',
        f"files = {load.files}",
        'size = "${size}"',
    ]
    if load.is_verified:
        lines.append("content = { stamped = true }  # each sector has its own address; reads check it")
    rows = [(block, depth) for block in load.blocks_bytes for depth in load.depths]
    for number, (block, depth) in enumerate(rows, start=1):
        lines += ["", *_phase(load, block, depth, is_last=number == len(rows))]
    return "\n".join(lines) + "\n"


def _phase(load: SimpleLoad, block: int, depth: int, *, is_last: bool) -> Iterator[str]:
    yield "[[phase]]"
    yield f'name = "{_name(load, block, depth)}"'
    yield f'title = "{_title(load, (block,), (depth,))}"'
    if load.cache == "cold":
        yield 'cache = "cold"  # what laying out left in memory is evicted first'
    elif load.cache == "warm":
        yield 'cache = "warm"  # all of it is read into memory first'
    yield 'seconds = "${phase_seconds}"'
    if load.extend_to_s is not None:
        yield f'extend_to = "{_time(load.extend_to_s)}"  # as long as the rate is not steady'
    if load.ramp_s:
        yield f'ramp = "{_time(load.ramp_s)}"  # recorded, and kept out of the rate'
    if load.is_verified and load.reads < 100 and is_last:
        yield f'after = ["sync", {{ evict = "{_SET}" }}, {{ verify = "{_SET}" }}]  # all of it is read again and checked'
    yield from _job(load, block, depth)


def _job(load: SimpleLoad, block: int, depth: int) -> Iterator[str]:
    yield "[[phase.job]]"
    if load.workers > 1:
        yield f"workers = {load.workers}"
    if load.engine == "io_uring" and load.may_use_threads:
        yield 'backend = { kind = "io_uring", fallback = "threads" }  # threads where the kernel refuses it'
    elif load.engine != "psync":
        yield f'backend = "{load.engine}"'
    if depth > 1:
        yield from _queue(load, depth)
    for flag, is_set in (("direct", load.is_direct), ("sync", load.sync), ("dsync", load.dsync)):
        if is_set:
            yield f"{flag} = true"
    if load.rate_per_s is not None:
        yield "# An open loop: they come on a schedule, whether the one before is done or not."
        yield f'arrival = {{ kind = "open", rate_per_s = {load.rate_per_s:.15g}, spacing = "{load.spacing}" }}'
    if load.limit_ops_per_s is not None:
        yield f"limit = {{ ops_per_s = {load.limit_ops_per_s:.15g} }}  # a closed loop that is held back"
    if load.limit_bytes_per_s is not None:
        yield f'limit = {{ bytes_per_s = "{_size(int(load.limit_bytes_per_s))}" }}  # a closed loop that is held back'
    yield from _body(load, block)


def _queue(load: SimpleLoad, depth: int) -> Iterator[str]:
    yield f"queue_depth = {depth}"
    if load.batch > 1:
        yield f"batch = {{ submit = {load.batch} }}  # so many go to the kernel in one call"


def _body(load: SimpleLoad, block: int) -> Iterator[str]:
    """What a worker does: one operation, or a loop of them."""
    read, write = _operation(load, "read", block), _operation(load, "write", block)
    if load.reads == 100:
        yield f"op = {read}"
        return
    writes = [write, *_flushes(load)]
    if load.reads:
        branches = ((load.reads, read), (100 - load.reads, ", ".join(writes)))
        rows = [f"        {{ weight = {weight}, actions = [{inside}] }},\n" for weight, inside in branches]
        actions = [f"{{ choice = [\n{''.join(rows)}    ] }}"]
    else:
        actions = writes
    if len(actions) == 1 and not load.reads:
        yield f"op = {write}"
        return
    if load.flush and load.paces_operations:
        # As a group, a write and its flush are one arrival.
        yield "[[phase.job.loop]]"
        yield 'group = "request"  # the pace is that of the whole, its flush among it'
        yield "actions = ["
    else:
        yield "loop = ["
    yield from (f"    {action}," for action in actions)
    yield "]"


def _flushes(load: SimpleLoad) -> list[str]:
    if not load.flush:
        return []
    flush = f'{{ op = "{load.flush}", set = "{_SET}"{_pick(load)} }}'
    return [flush if load.flush_every == 1 else f"{{ every = {load.flush_every}, actions = [{flush}] }}"]


def _operation(load: SimpleLoad, kind: str, block: int) -> str:
    access = '"random"' if load.is_random else '"sequential"'
    if not load.is_random and load.files == 1 and load.workers > 1:
        access = '{ kind = "sequential", region = "slice" }'
    return f'{{ op = "{kind}", set = "{_SET}"{_pick(load)}, access = {access}, size = "{_size(block)}" }}'


def _pick(load: SimpleLoad) -> str:
    """Which file: each worker's own where there are as many, else any or the next."""
    if load.files == 1:
        return ""
    if load.files == load.workers:
        return ', pick = "own"'
    return ', pick = "random"' if load.is_random else ""


def _name(load: SimpleLoad, block: int, depth: int) -> str:
    words = [_kind(load).replace(" ", "-")]
    if len(load.blocks_bytes) > 1:
        words.append(_size(block))
    if len(load.depths) > 1:
        words.append(f"depth-{depth}")
    return "-".join(words)


def _kind(load: SimpleLoad) -> str:
    order = "random" if load.is_random else "sequential"
    return f"{order} { {0: 'write', 100: 'read'}.get(load.reads, 'mix') }"


def _title(load: SimpleLoad, blocks: tuple[int, ...], depths: tuple[int, ...]) -> str:
    words = [_kind(load)]
    if 0 < load.reads < 100:
        words[0] += f" {load.reads}/{100 - load.reads}"
    words.append(" and ".join(_size(block, " ") for block in blocks))
    words += [
        word for word, is_set in (("direct", load.is_direct), ("O_SYNC", load.sync), ("O_DSYNC", load.dsync)) if is_set
    ]
    if load.flush:
        words.append(load.flush if load.flush_every == 1 else f"{load.flush} each {load.flush_every}")
    if load.depths != (1,):
        words.append(f"depth {' and '.join(map(str, depths))}")
    if load.batch > 1:
        words.append(f"batches of {load.batch}")
    if load.workers > 1:
        words.append(f"{load.workers} workers")
    if load.rate_per_s is not None:
        words.append(f"{load.rate_per_s:.15g} a second")
    return ", ".join(words)


def _size(size_bytes: int, gap: str = "") -> str:
    """Write a size exactly, in the largest unit that divides it."""
    unit, factor = max(
        ((unit, factor) for unit, factor in BYTES_PER_UNIT.items() if size_bytes % factor == 0), key=lambda row: row[1]
    )
    return f"{size_bytes // factor}{gap}{unit}"


def _time(seconds: float) -> str:
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"
