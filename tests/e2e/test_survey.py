"""`assay survey` on planted trees: each count against what Python's own walk finds."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.running.stopping import Stops
from assay.surveys.survey_json import to_json
from assay.surveys.surveyor import SurveyAsked, survey_tree
from e2e.browser import CHROMIUM, Page, browser
from e2e.command import COMMAND, MEASURED, Assay
from testbed.host import need_tools

DAY_S = 86_400
AGES_DAYS = (0.5, 20, 400, 4000)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of known sizes and ages, at several depths, with links, hard links, a pipe and a socket."""
    root = tmp_path_factory.mktemp("planted") / "tree"
    for number in range(1200):
        folder = root.joinpath(*(f"d{number % (3 + level)}" for level in range(number % 4)))
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"f{number}"
        file.touch()
        os.truncate(file, (number * 7919) % 100_003)
        age_s = AGES_DAYS[number % 4] * DAY_S
        now = file.stat().st_mtime
        os.utime(file, (now - age_s / 2, now - age_s))
    (root / "whole").write_bytes(b"x" * 300_000)
    for number in range(2):
        os.link(root / "whole", root / f"again{number}")
    (root / "link").symlink_to("/etc")
    (root / "circle").symlink_to(root)
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(root / "socket"))
    (root / "empty").mkdir()
    return root


def survey(assay: Assay, tree: Path, *words: str, check: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(assay("survey", tree, "--json", *words, check=check).stdout)
    return document


def facts(tree: Path) -> list[tuple[os.stat_result, int]]:
    """Each file with its depth."""
    depth = len(tree.parts)
    return [
        ((Path(folder) / name).lstat(), len(Path(folder).parts) - depth + 1)
        for folder, _, names in os.walk(tree)
        for name in names
        if (Path(folder) / name).is_file() and not (Path(folder) / name).is_symlink()
    ]


def test_a_planted_tree_is_counted_to_the_byte(assay: Assay, tree: Path) -> None:
    files = facts(tree)
    sizes = sorted(status.st_size for status, _ in files)
    folders = list(os.walk(tree))

    found = survey(assay, tree)

    assert (found["schema"], found["is_whole"]) == ("assay.survey/1", True)
    assert (found["files"], found["directories"]) == (len(files), len(folders))
    assert (found["links"], found["others"], found["hard_linked_files"]) == (2, 2, 3)
    assert found["bytes"] == sum(sizes)
    assert found["bytes_once"] == sum(sizes) - 2 * 300_000
    assert found["allocated_bytes"] == sum(status.st_blocks * 512 for status, _ in files)
    assert found["sparse_files"] == sum(status.st_blocks * 512 < status.st_size for status, _ in files)
    assert found["sizes"]["is_exact"]
    for percent, size in found["sizes"]["by_number"]:
        assert size == sizes[-(-len(sizes) * round(percent * 10) // 1000) - 1], percent
    entries = sorted(len(below) + len(names) for _, below, names in folders)
    assert dict(map(tuple, found["entries"]["by_number"]))[100.0] == entries[-1]
    assert found["entries"]["mean"] == pytest.approx(sum(entries) / len(entries))


def test_half_of_the_bytes_are_in_files_up_to_the_median_by_bytes(assay: Assay, tree: Path) -> None:
    sizes = sorted(status.st_size for status, _ in facts(tree))

    at = dict(map(tuple, survey(assay, tree)["sizes"]["by_sum"]))

    for percent in (1.0, 50.0, 99.0):
        up_to = sum(size for size in sizes if size <= at[percent])
        below = sum(size for size in sizes if size < at[percent])
        assert below < sum(sizes) * percent / 100 <= up_to


def test_classes_of_size_age_and_depth_are_those_of_the_files(assay: Assay, tree: Path) -> None:
    files = facts(tree)
    found = survey(assay, tree)

    below = -1
    for one in found["size_classes"]:
        members = [status for status, _ in files if below < status.st_size <= one["up_to_bytes"]]
        assert (one["files"], one["bytes"]) == (len(members), sum(status.st_size for status in members))
        below = one["up_to_bytes"]
    depths = Counter(depth for _, depth in files)
    assert [one["files"] for one in found["depths"]] == [depths[depth] for depth in range(len(found["depths"]))]
    bounds = [one["up_to_days"] for one in found["modified"]]
    assert bounds == [0, 1, 7, 30, 90, 365, 730, 1825, None]
    assert [one["files"] for one in found["modified"]] == [0, 303, 0, 300, 0, 0, 300, 0, 300]
    assert [one["files"] for one in found["accessed"]] == [0, 303, 0, 300, 0, 300, 0, 0, 300][: len(found["accessed"])]


def test_text_fits_into_80_columns_and_shows_what_half_of_the_files_are(assay: Assay, tree: Path) -> None:
    text = assay("survey", tree, env={"COLUMNS": "80"}, check=0).stdout

    assert "At least half of the files are" in text
    assert "Percentiles of size are exact" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_survey_leaves_the_tree_as_it_was(assay: Assay, tree: Path) -> None:
    def state() -> list[tuple[int, ...]]:
        places = [tree, *tree.rglob("*")]
        return [(s.st_ino, s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns) for s in (place.lstat() for place in places)]

    sorted(tree.rglob("*"))  # looked at before: this walk may itself set times of access
    before = state()
    survey(assay, tree)

    assert state() == before


def test_an_empty_directory_has_no_sizes(assay: Assay, tree: Path, tmp_path: Path) -> None:
    assert survey(assay, tree / "empty")["sizes"]["by_number"] == []
    assert "0 files, 1 directory" in assay("survey", tree / "empty", check=0).stdout
    done = assay("survey", tree / "empty", "-o", tmp_path / "load.toml", check=2)
    assert "no files" in done.stderr


def test_no_samples_opens_no_file(assay: Assay, tree: Path) -> None:
    assert survey(assay, tree)["content"]["compression_ratio"]["value"] > 1
    assert survey(assay, tree, "--no-samples")["content"] is None


# -- what is not surveyed ----------------------------------------------------------------------------------------------


def test_an_unreadable_directory_is_counted_and_named(unprivileged: Assay) -> None:
    assert unprivileged.home is not None
    tree = unprivileged.home / "tree"
    for folder in ("open", "closed"):
        (tree / folder).mkdir(parents=True)
        (tree / folder / "file").write_bytes(b"12345")
    (tree / "unsearched").mkdir()
    (tree / "unsearched" / "file").write_bytes(b"1")
    tree.chmod(0o755)
    (tree / "closed").chmod(0)
    (tree / "unsearched").chmod(0o444)

    found = survey(unprivileged, tree)
    text = unprivileged("survey", tree, check=0).stdout

    assert (found["files"], found["bytes"]) == (1, 5)
    assert found["unreadable"] == {"count": 1, "first": [["closed", "Permission denied"]]}
    assert found["unseen"] == {"count": 1, "first": [["unsearched/file", "Permission denied"]]}
    assert "1 directory could not be read (closed: Permission denied)" in " ".join(text.split())


@pytest.mark.testbed
@pytest.mark.xdist_group("mount namespaces")
def test_a_mount_is_not_crossed_unless_asked_for(tmp_path: Path) -> None:
    need_tools("unshare")
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount")
    tree = tmp_path / "tree"
    for folder in ("mounted", "bound", "source"):
        (tree / folder).mkdir(parents=True)
    (tree / "source" / "file").write_bytes(b"123")
    script = (
        "mount -t tmpfs none tree/mounted && echo 12345 > tree/mounted/file && mount --bind tree/source tree/bound && "
        f"{COMMAND} survey tree --json && {COMMAND} survey tree --json --cross-mounts"
    )
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

    within, end = json.JSONDecoder().raw_decode(done.stdout)
    across = json.loads(done.stdout[end:])
    assert (within["files"], within["bytes"]) == (1, 3)
    assert sorted(within["mounts"]["first"]) == [["bound", "mount"], ["mounted", "file system"]]
    assert (across["files"], across["bytes"]) == (3, 12)
    assert across["mounts"]["count"] == 0


def test_a_tree_that_changes_under_the_survey_is_surveyed_all_the_same(assay: Assay, tmp_path: Path) -> None:
    tree, is_over = tmp_path / "tree", threading.Event()
    for number in range(400):
        (tree / f"stays{number}").mkdir(parents=True)
        (tree / f"stays{number}" / "file").touch()

    def change() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            place = tree / f"stays{number % 400}" / "comes"
            place.mkdir()
            (place / "file").touch()
            place.rename(place.with_name("goes"))
            (place.with_name("goes") / "file").unlink()
            place.with_name("goes").rmdir()
            place.symlink_to("/etc")
            place.unlink()

    changing = threading.Thread(target=change)
    changing.start()
    try:
        for _ in range(5):
            found = survey(assay, tree)
            assert found["is_whole"]
            assert 400 <= found["files"] <= 402
            assert found["unreadable"]["count"] == 0
    finally:
        is_over.set()
        changing.join()


def test_a_very_deep_tree_is_surveyed_as_far_as_it_may_be(assay: Assay, tmp_path: Path) -> None:
    levels, here = 4200, os.open(tmp_path, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        found = survey(assay, tmp_path / "d", check=1)
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)

    assert (found["directories"], found["left_out"]["count"], found["is_whole"]) == (4097, 1, False)


# -- stopped and resumed -----------------------------------------------------------------------------------------------


def test_a_survey_that_was_stopped_and_resumed_is_the_whole_one(assay: Assay, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for folder in range(100):
        (tree / f"d{folder}").mkdir(parents=True)
        for file in range(60):
            (tree / f"d{folder}" / f"f{file}").touch()
    whole = survey(assay, tree)
    stops = Stops()
    stops.ask()  # it stops as soon as it has begun: after a few directories, or after none
    stopped = survey_tree(SurveyAsked(tree, threads=1, keeps_state=True), lambda _: None, lambda _: None, stops)
    kept = tmp_path / "survey.json"
    kept.write_text(to_json(stopped, tree, crosses_mounts=False, has_state=True))

    if stopped.is_whole:
        assert "it is whole" in assay("survey", tree, "--resume", kept, check=2).stderr
        return
    assert stopped.directories_left >= 1
    assert "--cross-mounts" in assay("survey", tree, "--resume", kept, "--cross-mounts", check=2).stderr
    assert "another directory" in assay("survey", tree / "d0", "--resume", kept, check=2).stderr
    resumed = survey(assay, tree, "--resume", str(kept))
    times = {"wall_s", "now_s"}
    assert {name: value for name, value in resumed.items() if name not in times} == {
        name: value for name, value in whole.items() if name not in times
    }


def test_ctrl_c_ends_a_survey_with_what_was_counted(assay: Assay, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for folder in range(60):
        (tree / f"d{folder}").mkdir(parents=True)
        for file in range(100):
            (tree / f"d{folder}" / f"f{file}").touch()
    kept = tmp_path / "kept.json"
    with subprocess.Popen(
        [COMMAND, "survey", tree, "--threads", "1", "--no-samples", "-o", kept],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while process.poll() is None and not children.read_text():
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        process.communicate()

    assert process.returncode in {0, 130}
    document = json.loads(kept.read_text())
    assert document["is_whole"] == (process.returncode == 0)
    if process.returncode:
        assert survey(assay, tree, "--resume", str(kept))["files"] == 6_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no JSON", "is no survey"),
        ('{"schema": "assay.size/1", "crosses_mounts": false, "is_whole": true}', "its schema is"),
        (
            '{"schema": "assay.survey/1", "crosses_mounts": false, "is_whole": false, "state": {"version": 9}}',
            "request",
        ),
    ],
)
def test_what_is_no_survey_is_not_resumed(assay: Assay, tmp_path: Path, text: str, said: str) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text(text)

    done = assay("survey", tmp_path, "--resume", kept, check=2)

    assert (done.stdout, said in done.stderr) == ("", True), done.stderr


# -- what is made of it ------------------------------------------------------------------------------------------------


def test_the_load_file_has_the_sizes_of_the_tree_and_is_run(assay: Assay, tree: Path, tmp_path: Path) -> None:
    load, directory = tmp_path / "load.toml", tmp_path / "measured"
    directory.mkdir()
    assay("survey", tree, "-o", load, check=0)

    rows = tomllib.loads(load.read_text())["file_set"][0]["size"]["rows"]
    sizes = [status.st_size for status, _ in facts(tree)]
    for count, least, greatest in rows:
        assert count == sum(least <= size <= greatest for size in sizes)
    assert sum(count for count, _, _ in rows) == len(sizes)
    words = ("--set", "files=200", "--set", "phase_seconds=0.2s", "--no-report", "--json")
    done = assay("run", load, directory, *words, check=MEASURED)
    results = json.loads(done.stdout)["results"]
    assert {result["label"] for result in results} == {"read/read-file", "create/create-file"}
    assert all(result["errors"] == 0 for result in results)


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH (Debian: apt-get install chromium)")
@pytest.mark.parametrize(("width", "dark"), [(420, True)])
def test_the_page_is_drawn_and_silent(
    assay: Assay, tab: Page, tree: Path, tmp_path: Path, width: int, *, dark: bool
) -> None:
    page = tmp_path / "survey.html"
    assay("survey", tree, "-o", page, check=0)
    tab.show(page, width=width, dark=dark)
    tab.open_all()

    assert tab.evaluate("document.querySelectorAll('.undrawn').length") == 0
    assert tab.evaluate("document.querySelectorAll('[data-spec]').length") == 4
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.requests() == [page.as_uri()]
    assert tab.messages() == []
