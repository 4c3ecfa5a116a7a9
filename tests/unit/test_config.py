"""The configuration file: what it sets, what a command line overrides, and what is refused by name."""

from pathlib import Path

import pytest

from assay import config
from assay.bundle.catalog import runs_directory
from assay.errors import InputError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Assay's folder in the XDG configuration folder of a user."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ASSAY_RUNS", raising=False)
    made = tmp_path / "config" / "assay"
    made.mkdir(parents=True)
    return made


def test_where_there_is_no_file_nothing_is_set(folder: Path) -> None:
    assert config.load() == config.Config()
    (folder / "..").resolve().rename(folder.parent.parent / "away")
    assert config.load() == config.Config()


def test_the_runs_folder_is_that_of_the_file_unless_the_command_line_or_the_environment_names_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (folder / config.NAME).write_text(f'runs = "{tmp_path}/mine"\n')
    monkeypatch.setenv("HOME", str(tmp_path))

    assert runs_directory(None) == tmp_path / "mine"
    assert runs_directory(tmp_path / "said") == tmp_path / "said"
    monkeypatch.setenv("ASSAY_RUNS", str(tmp_path / "named"))
    assert runs_directory(None) == tmp_path / "named"
    monkeypatch.delenv("ASSAY_RUNS")
    (folder / config.NAME).write_text('runs = "~/below"\n')
    assert runs_directory(None) == tmp_path / "below"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('run = "/x"\n', "unknown field `run`; its keys are runs, time"),
        ("runs = 3\n", "runs"),
        ('runs = "relative"\n', "no absolute folder"),
        ('time = "5 parsecs"\n', "time: '5 parsecs'"),
        ("runs = \n", "its keys are"),
        ("a = " + "[" * 5000 + "\n", "its keys are"),
        ("time = " + "9" * 5000 + "\n", "its keys are"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_file_and_the_key(folder: Path, text: str, said: str) -> None:
    (folder / config.NAME).write_text(text)

    with pytest.raises(InputError) as refused:
        config.load()

    assert str(refused.value).startswith(str(folder / config.NAME))
    assert said in str(refused.value)


def test_a_file_that_never_ends_is_refused(folder: Path) -> None:
    (folder / config.NAME).symlink_to("/dev/zero")

    with pytest.raises(InputError, match="is a device"):
        config.load()


def test_a_file_of_somebody_else_is_needed_for_nothing_where_the_runs_folder_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (folder / config.NAME).write_text('time = "3s"\n')
    monkeypatch.setenv("ASSAY_RUNS", str(tmp_path))
    assert config.usual_time() == "3s"

    (folder / config.NAME).chmod(0o666)

    assert config.usual_time() is None
    with pytest.raises(InputError, match="is not taken"):
        config.load()
