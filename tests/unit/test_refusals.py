"""A refusal of a Plan as a whole, the engine's too, is told with the line of the load file that it is about."""

import pytest

from assay.errors import PlanError
from assay.loads.refusals import placed

LOAD = """\
name = "two"
seed = 1

[[file_set]]
name = "data"
size = "1MiB"
content = { stamped = true }

[[file_set]]
name = "more"
size = "1MiB"

[[phase]]
name = "first"
[[phase.job]]
queue_depth = 2
op = { op = "read", set = "data", size = "4KiB" }

[[phase]]
name = "second"
after = [ "sync",
  { sleep = 1 } ]
[[phase.job]]
name = "one"
workers = 2
op = { op = "read", set = "data", size = "4KiB" }
[[phase.job]]
name = "two"
loop = [
  { op = "read", name = "r", set = "more", size = "4KiB" },
  { op = "write", set = "more",
    size = { uniform = 9, max = 5 } },
]
""".replace('set = "more",\n    size', 'set = "more", size')


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("phase 'first', job 'first': queue_depth 2 needs a loop of reads", 16),
        ("phase 'first', job 'first': operation 'read': size is 0", 17),
        ("phase 'second', job 'one': workers is 2; it lies between 3 and 4", 25),
        ("phase 'second', job 'two': operation 'write': size is 0", 31),
        ("phase 'second', job 'two': operation 'r': its size of 5 bytes", 30),
        ("phase 'second', job 'two': distribution 'uniform': min 9 is above max 5; swap them", 31),
        ("phase 'second', job 'two': there is nothing of the kind", 27),
        ("phase 'second': seconds is 9e+18", 19),
        ("job 'two': timed names 'x', which no action has", 27),
        ("file set 'data' has stamped content: job 'x' appends", 7),
        ("file set 'more': path 'a/b' must be one plain name", 9),
        ("seed is 99; it lies between 0 and 1", 2),
        ("phase 'gone', job 'gone': nothing", None),
        ("nothing that anybody named", None),
    ],
)
def test_a_refusal_is_placed_on_the_line_of_what_it_names(said: str, line: int | None) -> None:
    error = placed(PlanError(said), LOAD, "two.toml")

    where = "two.toml" if line is None else f"two.toml:{line}"
    assert str(error) == f"{where}: {said}"
