"""What can never work is refused where the load file says it, and what only looks like it is not."""

from pathlib import Path

import pytest

from assay import plan
from assay.errors import FrontEndError
from assay.loads import native

LOAD = """\
name = "load"
[[file_set]]
name = "data"
size = "64KiB"
[[phase]]
name = "p"
seconds = "5s"
[[phase.job]]
op = { op = "read", set = "data", size = "4KiB" }
"""
OP = 'op = { op = "read", set = "data", size = "4KiB" }'
DIRECT = "direct = true\n"


def parse(text: str) -> plan.Plan:
    return native.parse(text, "load.toml", directory=Path("/mnt"), settings={})


def changed(*changes: tuple[str, str]) -> str:
    text = LOAD
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


NO_END = ('seconds = "5s"\n', "")
OPEN = (OP, f"arrival = {{ open = 50 }}\n{OP}")


def of_size(size: str, access: str = '"random"', before: str = "") -> tuple[str, str]:
    return OP, f'{before}op = {{ op = "read", set = "data", access = {access}, size = {size} }}'


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            (NO_END, OPEN),
            "load.toml:8: phase 'p', job 'p': arrival goes on without an end; give the phase or the job seconds",
        ),
        (
            (('seconds = "5s"', 'seconds = "5s"\nramp = "5s"'),),
            "load.toml:8: phase 'p': ramp is 5.00 s, and the phase lasts 5.00",
        ),
        ((('seconds = "5s"', 'ramp = "9s"'), (OP, f'{OP}\nseconds = "8s"')), "load.toml:7: phase 'p': ramp is 9.00 s"),
        (
            (of_size('"128KiB"'),),
            "load.toml:9: phase 'p', job 'p': operation 'read': its size is 128 KiB, and its files have",
        ),
        ((of_size('"128KiB"', '"sequential"'),), "take a smaller size, a larger file, or access 'whole'"),
        (
            (of_size('"4KiB"', '{ stride = "8KiB", region = "slice" }', "workers = 32\n"),),
            "of each of 32 workers has 2.00 KiB",
        ),
        (
            (of_size('"8KiB"', '{ kind = "random", region = { range = 0, length = "4KiB" } }'),),
            "its range has 4.00 KiB",
        ),
        (
            (of_size('"4KiB"', '{ kind = "random", region = { range = "60KiB", length = "8KiB" } }'),),
            "its range ends at byte 69,632, and its files have 65,536 bytes",
        ),
        (
            (of_size("1000", before=DIRECT),),
            "load.toml:10: phase 'p', job 'p': operation 'read': size is 1,000 bytes; direct",
        ),
        ((of_size('"4KiB"', '{ kind = "random", align = 100 }', DIRECT),), "align is 100 bytes"),
        ((of_size('"4KiB"', "{ stride = 1000 }", DIRECT),), "stride is 1,000 bytes"),
        (
            (of_size('"4KiB"', '{ kind = "sequential", region = { range = 100, length = "8KiB" } }', DIRECT),),
            "from is 100 bytes",
        ),
        ((of_size('"4KiB"', '{ kind = "whole", chunk = 1000 }', DIRECT),), "chunk is 1,000 bytes"),
        ((of_size('"1KiB", vectors = 4', before=DIRECT),), "size is 1,024 bytes in 4 vectors"),
        (
            (("64KiB", "65000B"), of_size('"4KiB"', '"sequential"', DIRECT)),
            "the size of file set 'data' is 65,000 bytes",
        ),
        (
            (of_size('{ kind = "uniform", min = 1, max = 9999 }', before=DIRECT),),
            "size is drawn, and direct moves multiples",
        ),
        ((of_size('{ kind = "tabular", rows = [[1, 512, 1024]] }', before=DIRECT),), "size is drawn"),
        ((of_size('{ kind = "tabular", rows = [[1, 512, 512], [1, 700, 700]] }', before=DIRECT),), "size is 700 bytes"),
        ((('name = "load"', 'name = ""'),), "load.toml:1: name: the load's name is empty"),
        ((('name = "data"', 'name = " "'),), "load.toml:3: file_set.name: the file set's name is empty"),
        ((('name = "p"', 'name = ""'),), "load.toml:6: phase.name: the phase's name is empty"),
        (
            ((OP, f'loop = [{{ group = "", actions = [{OP[5:]}] }}]'),),
            "load.toml:9: phase.job.loop.name: the group's name is empty",
        ),
        (((OP, f'loop = [{{ post = "" }}, {OP[5:]}]'),), "the semaphore or token bucket's name is empty"),
    ],
)
def test_what_can_never_work_is_refused_with_its_line(changes: tuple[tuple[str, str], ...], said: str) -> None:
    with pytest.raises(FrontEndError) as refused:
        parse(changed(*changes))

    assert said in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        (OPEN,),
        (NO_END, (OP, f"arrival = {{ open = 50 }}\nstop = {{ ops = 5 }}\n{OP}")),
        (NO_END, (OP, f'arrival = {{ open = 50 }}\nloop = [{OP[5:]}, {{ finish_on = "read", ops = 5 }}]')),
        (
            NO_END,
            (
                OP,
                of_size("512", '{ kind = "sequential", wrap = false }', "arrival = { open = 5 }\n")[1],
            ),
        ),
        (NO_END, (OP, 'arrival = { open = 5 }\nop = { op = "unlink", set = "data" }')),
        (('seconds = "5s"', 'seconds = "5s"\nramp = "4.9s"'),),
        (NO_END, ('name = "p"', 'name = "p"\nramp = "4s"')),
        (of_size('"64KiB"'),),
        (of_size('"1MiB"', '"whole"'),),
        (("64KiB", "65000B"), of_size('"4KiB"', before=DIRECT)),
        (of_size("1000", before='direct = "if_supported"\n'),),
        (of_size('{ kind = "tabular", rows = [[1, 512, 512], [3, 4096, 4096]] }', before=DIRECT),),
        ((OP, f'name = ""\n{OP}'),),
    ],
)
def test_what_works_is_not_refused(changes: tuple[tuple[str, str], ...]) -> None:
    assert parse(changed(*changes)).name == "load"
