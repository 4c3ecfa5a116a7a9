"""Phases written once are made for each combination of values, and errors keep their lines."""

from pathlib import Path

import pytest

from assay import plan
from assay.errors import FrontEndError
from assay.loads import native

LOAD = """\
name = "each"
[parameters]
time = "2s"
[[file_set]]
name = "data"
size = "64MiB"
[[phase]]
name = "first"
seconds = "1s"
[[phase.job]]
op = { op = "read", set = "data", size = "4KiB" }
[[phase]]
name = "${mix.read}-${block}"
title = "$${block} ${block} for ${time}"
each = { mix = [{ read = 95, write = 5 }, { read = 0, write = 100 }], block = ["4KiB", "8KiB", "512B"] }
cell = { row = "${block}", column = "${mix.read}/${mix.write}" }
seconds = "${time}"
[[phase.job]]
[[phase.job.loop]]
[[phase.job.loop.choice]]
weight = "${mix.read}"
actions = { op = "read", set = "data", access = "random", size = "${block}" }
[[phase.job.loop.choice]]
weight = "${mix.write}"
actions = { op = "write", set = "data", access = "random", size = "${block}" }
"""


def parse(text: str) -> plan.Plan:
    return native.parse(text, "load.toml", directory=Path("/mnt"), settings={})


def test_the_last_name_changes_fastest_and_a_value_keeps_its_type() -> None:
    first, *made = parse(LOAD).phases

    assert first.name == "first"
    assert [phase.name for phase in made] == ["95-4KiB", "95-8KiB", "95-512B", "0-4KiB", "0-8KiB", "0-512B"]
    assert made[2].cell == plan.TableCell(row="512B", column="95/5")
    assert made[2].title == "${block} 512B for 2s"
    loop = made[2].jobs[0].body
    assert isinstance(loop, plan.Loop)
    assert isinstance(choice := loop.actions[0], plan.Choice)
    assert [branch.weight for branch in choice.branches] == [95, 5]


def test_a_branch_that_is_never_taken_is_left_out() -> None:
    loop = parse(LOAD).phases[-1].jobs[0].body
    assert isinstance(loop, plan.Loop)
    assert isinstance(choice := loop.actions[0], plan.Choice)
    assert [branch.weight for branch in choice.branches] == [100]


def test_a_time_for_the_whole_counts_each_phase_that_is_made() -> None:
    assert native.phase_count(LOAD.replace("${time}", "${phase_seconds}"), "load.toml") == 6


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"8KiB", "512B"]', '"8Kx", "512B"]', r"load.toml:2[0-9]: .*8Kx"),
        ('block = ["4KiB", "8KiB", "512B"]', "block = []", r"load.toml:15: phase.each: block: a list of values is wanted"),
        ('block = ["4KiB", "8KiB", "512B"]', 'block = ["${time}"]', r"load.toml:15: .*text without references"),
        ('block = ["4KiB", "8KiB", "512B"]', 'block = ["4KiB"], odd = [1]', r":15: .*nothing in the phase uses \$\{odd\}"),
        ('block = ["4KiB", "8KiB", "512B"]', 'block = ["4KiB"], time = [1]', r":15: .*time is a parameter of the load"),
        ("{ read = 0, write = 100 }", "{ read = 0 }", r"load.toml:16: no parameter 'mix.write'"),
        ("each = {", "each = [1] # {", r"load.toml:15: phase.each: a table of lists is wanted"),
        ('name = "${mix.read}-${block}"', 'name = "all-${block}"', r"load.toml:1[2-4]: .*all-4KiB"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_line(old: str, new: str, message: str) -> None:
    assert old in LOAD
    with pytest.raises(FrontEndError, match=message):
        parse(LOAD.replace(old, new))


def test_so_many_phases_that_memory_would_suffer_are_refused() -> None:
    values = ", ".join(f"{name} = [{', '.join(map(str, range(300)))}]" for name in ("a", "b"))
    text = LOAD.replace("each = {", f"stands_for = '${{a}}${{b}}'\neach = {{ {values},")

    with pytest.raises(FrontEndError, match=r"540,000 phases would be made of this one"):
        parse(text)
