"""What is left of the folder of a run that could not begin."""

import datetime as dt
import errno
import os
from pathlib import Path

import pytest

from assay.bundle import run_folder
from assay.errors import RunError

BEGAN = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


def test_a_new_folder_that_cannot_be_opened_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), str(path))

    path = run_folder.make_run_folder(tmp_path, BEGAN, "short")
    monkeypatch.setattr(run_folder, "open_folder", fail)

    with pytest.raises(RunError, match="Cannot allocate memory"), run_folder.removed_on_error(path):
        pass

    assert list(tmp_path.iterdir()) == []
