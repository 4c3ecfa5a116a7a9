"""Targets: an address leads to the directory that it was made from, and what does not fit is refused in one way."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import COULD_NOT_RUN, PlanError, RunError
from assay.plan import FileSet, Fixed, Origin, Phase, Plan, Prepare, Remove, Step, Target
from assay.targets import (
    Need,
    Room,
    check_room,
    directories,
    directory_of,
    laid_out,
    of_directory,
    remote_directories,
    room,
    set_folder,
)
from assay.units import MIB

LARGE = 1 << 60


def target(uri: str) -> Target:
    return Target(name="data", uri=uri)


@given(name=st.text(st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=60))
def test_an_address_leads_back_to_its_directory(name: str) -> None:
    directory = Path("/", f"d{name}")

    assert directory_of(of_directory("data", directory)) == directory


def test_a_directory_whose_name_is_no_text_is_found_all_the_same() -> None:
    assert directory_of(target("file:///mnt/%FF")) == Path(os.fsdecode(b"/mnt/\xff"))
    assert directory_of(target("file://localhost/mnt/My%20Data%C3%A9")) == Path("/mnt/My Dataé")


@pytest.mark.parametrize("uri", ["file://server/export", "file://relative", "file:///a%2", "file:///%00"])
def test_an_address_that_no_directory_can_have_is_refused(uri: str) -> None:
    with pytest.raises(PlanError, match=uri):
        directory_of(target(uri))


def test_a_target_of_another_kind_has_no_directory_here() -> None:
    assert directory_of(target("nfs://server/export")) is None


def test_file_sets_lie_in_the_data_folder_of_their_own_target() -> None:
    file_set = FileSet(name="s", target="b", path="deep/set", files=1, size=Fixed(value=1.0))
    both = (of_directory("a", Path("/one")), of_directory("b", Path("/the other")))

    origin = Origin(front_end="native", source="", sha256="")

    plan = Plan(name="p", origin=origin, seed=1, targets=both, file_sets=(file_set,), phases=())

    assert directories(plan) == {"a": Path("/one"), "b": Path("/the other")}
    assert set_folder(plan, file_set) == Path("/the other/assay-data/deep/set")


def test_room_is_what_is_free_less_the_reserve(tmp_path: Path) -> None:
    there = room(tmp_path, reserve_bytes=LARGE)

    assert there.free_bytes > 0
    assert there.usable_bytes == 0


def test_what_fits_to_the_byte_is_taken_and_one_more_is_refused_with_numbers_and_cure() -> None:
    there = Room(directory=Path("/data"), free_bytes=300 * MIB, free_inodes=10, reserve_bytes=200 * MIB)
    there.require(needed_bytes=100 * MIB, needed_inodes=10, cure="use less")

    with pytest.raises(RunError, match=r"only 100 MiB are free in /data above the reserve of 200 MiB.*; use less, or"):
        there.require(needed_bytes=100 * MIB + 1, cure="use less")
    with pytest.raises(RunError, match=r"11 files and directories are needed, but only 10 .*; use less, or") as refused:
        there.require(needed_inodes=11, cure="use less")
    assert refused.value.exit_code == COULD_NOT_RUN


def test_directories_of_one_file_system_share_its_room(tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("one", "other")]
    for place in places:
        place.mkdir()
    # Each alone fits whatever else is written meanwhile; both together cannot.
    most = room(tmp_path, reserve_bytes=0).free_bytes * 3 // 4

    check_room([Need(places[0], most)], reserve_bytes=0, cure="use less")
    with pytest.raises(RunError, match="are needed"):
        check_room([Need(place, most) for place in places], reserve_bytes=0, cure="use less")


def test_the_room_of_a_directory_of_other_machines_is_left_to_them() -> None:
    with remote_directories():
        check_room([Need(Path("/not/here"), 1 << 60)], reserve_bytes=0, cure="use less")


def test_sets_that_lie_at_one_time_share_the_room(tmp_path: Path) -> None:
    sets = [FileSet(name=name, target="t", path=name, files=2, size=Fixed(value=3.0 * MIB)) for name in "abc"]
    steps: tuple[Step, ...] = (Prepare(set="a"), Prepare(set="b"), Remove(set="a"), Prepare(set="c"))
    made = Plan(
        name="x",
        origin=Origin(front_end="native", source="x", sha256=""),
        seed=1,
        targets=(of_directory("t", tmp_path),),
        file_sets=tuple(sets),
        phases=tuple(Phase(name=str(index), title="", jobs=(), before=(step,)) for index, step in enumerate(steps)),
    )

    assert list(laid_out(made)) == [Need(tmp_path, 12 * MIB)]
