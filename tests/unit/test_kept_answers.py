"""What is kept of a run is shown for that run alone, as it was sealed, by the rules that it was worked out by."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

import assay
from assay.analysis.rules_version import rules_version
from assay.bundle import RunBundle
from assay.bundle.kept_list import CATALOG
from assay.bundle.remarks import Remarks, write_remarks
from assay.report import kept_answers
from assay.report.head import Head
from assay.report.kept_answers import KeptAnswer, keep_answer, kept_answer
from unit.bundle_streams import begun
from unit.quick_run import quick_run
from unit.set_run import RATES, TITLES, set_run


@pytest.fixture
def bundle(tmp_path: Path) -> RunBundle:
    """A sealed run."""
    made = begun(tmp_path)
    made.seal(0)
    return made


def answer_of(bundle: RunBundle) -> KeptAnswer:
    _, document = quick_run()
    run = msgspec.structs.replace(document.run, bundle=str(bundle.path), id=bundle.run_id)
    document = msgspec.structs.replace(document, run=run)
    return KeptAnswer(document=document, head=Head(load="quick", pairs=(("target", "/srv"),)))


@pytest.fixture
def kept(bundle: RunBundle, tmp_path: Path) -> KeptAnswer:
    """What was kept of it."""
    answer = answer_of(bundle)
    keep_answer(bundle.path, tmp_path, answer)
    return answer


def test_what_was_kept_is_found_as_it_was(bundle: RunBundle, kept: KeptAnswer, tmp_path: Path) -> None:
    assert kept_answer(bundle.path, tmp_path) == kept


def test_it_has_the_remarks_of_now(bundle: RunBundle, kept: KeptAnswer, tmp_path: Path) -> None:
    write_remarks(bundle.path, Remarks(name="late", tags=("a",), note="said afterwards"))

    found = kept_answer(bundle.path, tmp_path)

    assert found is not None
    told = found.document.run
    assert (told.name, told.tags, told.note) == ("late", ("a",), "said afterwards")
    assert found.document.results == kept.document.results


@pytest.mark.usefixtures("kept")
def test_where_a_file_was_changed_nothing_is_found(bundle: RunBundle, tmp_path: Path) -> None:
    with (bundle.path / "resolved.json").open("a") as file:
        file.write(" ")

    assert kept_answer(bundle.path, tmp_path) is None


@pytest.mark.usefixtures("kept")
def test_of_other_rules_nothing_is_found(bundle: RunBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "rules_version", lambda: "others")

    assert kept_answer(bundle.path, tmp_path) is None


@pytest.mark.usefixtures("kept")
def test_of_another_run_in_its_place_nothing_is_found(bundle: RunBundle, tmp_path: Path) -> None:
    other = begun(tmp_path)
    other.seal(0)

    assert kept_answer(other.path, tmp_path) is None
    assert kept_answer(bundle.path, tmp_path / "elsewhere") is None


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("text", ["", "{}", '{"document": 3, "head": []}', "\x00"])
def test_what_is_no_answer_is_not_shown(bundle: RunBundle, tmp_path: Path, text: str) -> None:
    with closing(sqlite3.connect(tmp_path / CATALOG)) as database, database:
        database.execute("UPDATE answers SET answer = ?", (text,))

    assert kept_answer(bundle.path, tmp_path) is None


@pytest.mark.usefixtures("kept")
def test_a_catalog_that_is_none_is_passed_by(bundle: RunBundle, tmp_path: Path) -> None:
    for path in tmp_path.glob(f"{CATALOG}*"):
        path.unlink()
    (tmp_path / CATALOG).write_bytes(b"no database" * 1000)

    assert kept_answer(bundle.path, tmp_path) is None
    keep_answer(bundle.path, tmp_path, answer_of(bundle))


def test_of_very_many_clients_the_sums_are_kept_and_given_where_they_will_do(
    bundle: RunBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, document = set_run()
    run = msgspec.structs.replace(document.run, bundle=str(bundle.path), id=bundle.run_id)
    answer = KeptAnswer(document=msgspec.structs.replace(document, run=run), head=Head(load="x", pairs=()))
    whole = len(msgspec.json.encode(answer))
    monkeypatch.setattr(kept_answers, "_MOST_CHARACTERS", whole - 1)

    keep_answer(bundle.path, tmp_path, answer)

    assert kept_answer(bundle.path, tmp_path) is None
    found = kept_answer(bundle.path, tmp_path, sums_will_do=True)
    assert found is not None
    assert found.own_left_out == len(RATES) * len(TITLES)
    assert [result.label for result in found.document.results] == ["p0/read", "p1/read"]
    assert found.document.sums == document.sums


def test_rules_are_those_of_the_content_and_not_of_when_it_was_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = []
    for folder, at_s, text in (("a", 1, "x = 1\n"), ("b", 2, "x = 1\n"), ("c", 1, "x = 2\n")):
        (tmp_path / folder / "analysis").mkdir(parents=True)
        (tmp_path / folder / "__init__.py").write_text("")
        (tmp_path / folder / "analysis" / "thresholds.py").write_text(text)
        os.utime(tmp_path / folder / "analysis" / "thresholds.py", (at_s, at_s))
        monkeypatch.setattr(assay, "__file__", str(tmp_path / folder / "__init__.py"))
        versions.append(rules_version())

    assert versions[0] == versions[1] != versions[2]
