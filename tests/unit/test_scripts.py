"""Scripts of a load: only a regular file, behind no link, is read and kept."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from assay.bundle import RunBundle
from assay.bundle.inside import limit_bytes
from assay.errors import InputError
from assay.plan import FromSet, Next, Op, OpKind, Plan, Script
from unit.bundle_streams import plan


def with_script(path: Path) -> Plan:
    """Make a Plan that follows a script."""
    made = plan()
    op = Op(op=OpKind.STAT, name="stat", file=FromSet(set="set", pick=Next()))
    (phase,) = made.phases
    job = msgspec.structs.replace(phase.jobs[0], body=Script(path=str(path), ops=(op,)))
    return msgspec.structs.replace(made, phases=(msgspec.structs.replace(phase, jobs=(job,)),))


def test_a_script_is_kept_in_the_bundle_and_found_there_for_its_maker_alone_to_change(tmp_path: Path) -> None:
    (tmp_path / "list.ndjson").write_text("[0,0,0,0,0]\n")

    before = os.umask(0o002)
    try:
        bundle = RunBundle.create(tmp_path / "runs", "x", plan=with_script(tmp_path / "list.ndjson"), argv=["assay"])
    finally:
        os.umask(before)

    assert bundle.is_own(tmp_path / "runs")
    (tmp_path / "list.ndjson").unlink()
    body = RunBundle.open(bundle.path).plan.phases[0].jobs[0].body
    assert isinstance(body, Script)
    assert Path(body.path).parent == bundle.path
    assert Path(body.path).read_text() == "[0,0,0,0,0]\n"


def _behind_a_link(path: Path) -> None:
    (path.parent / "there").mkdir()
    (path.parent / "there" / path.name).write_text("[0,0,0,0,0]\n")
    path.parent.joinpath("way").symlink_to("there")


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, limit_bytes("script") + 1)


STRANGE: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "a link": ("list", lambda path: path.symlink_to("/etc/shadow"), "is a link, not a file"),
    "a link to zeros": ("list", lambda path: path.symlink_to("/dev/zero"), "is a link, not a file"),
    "a FIFO": ("list", os.mkfifo, "is a FIFO, not a file"),
    "a folder": ("list", Path.mkdir, "is a directory, not a file"),
    "nothing": ("list", lambda _: None, "cannot be read: No such file or directory"),
    "a terabyte": ("list", _sparse, "more than the 2.00 GiB of any"),
}


@pytest.mark.parametrize("what", STRANGE)
def test_what_is_no_script_is_refused_before_anything_is_made(tmp_path: Path, what: str) -> None:
    name, make, said = STRANGE[what]
    make(tmp_path / name)

    with pytest.raises(InputError) as refused:
        RunBundle.create(tmp_path / "runs", "x", plan=with_script(tmp_path / name), argv=["assay"])

    sys.stdout.write(f"{what}: {refused.value}\n")
    assert said in str(refused.value)
    assert not (tmp_path / "runs").exists()


def test_a_script_behind_a_link_in_its_folder_is_refused(tmp_path: Path) -> None:
    _behind_a_link(tmp_path / "list")

    with pytest.raises(InputError, match="is behind the link 'way', not a file"):
        RunBundle.create(tmp_path / "runs", "x", plan=with_script(tmp_path / "way" / "list"), argv=["assay"])


def test_devices_are_not_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="/dev/zero: is a device, not a file"):
        RunBundle.create(tmp_path / "runs", "x", plan=with_script(Path("/dev/zero")), argv=["assay"])
