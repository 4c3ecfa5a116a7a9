"""Plant a cause, run the installed command on it, and hold what it says against the plant."""

import json
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from e2e.planted.case import Case, Outcome, Said, Scene, Trial, judged
from e2e.processes import running
from testbed.first import going_first

FIRST = ("nice", "-n", "-20")
"""Other programs of the plant, such as its devices, go before the machine's, and the run before them."""
TRIES = 3
"""A busy machine takes CPUs from it all the same: the first of so many tries that it left alone."""
MEASURED = (0, 1)
"""Exit codes of a run that measured; 1 says that nothing is to be trusted."""


def carry_out(case: Case, parameters: Mapping[str, Any], folder: Path) -> Trial:
    """Try a case with parameters; again where somebody else took the CPUs from it."""
    for number in range(TRIES):
        own = folder / f"try-{number}"
        own.mkdir(parents=True)
        trial = _try(case, parameters, own)
        is_disturbed = not case.takes_cpus and trial.said.findings.get("cpu-contention") == "warning"
        if trial.outcome in {Outcome.RIGHT, Outcome.WRONG} or not is_disturbed:
            break
        time.sleep(1)
    return trial


def _try(case: Case, parameters: Mapping[str, Any], folder: Path) -> Trial:
    with going_first(), case.plant(folder, **parameters) as scene:
        document = _measured(scene, folder, () if case.takes_cpus else FIRST)
        return judged(case, parameters, scene, _row(scene, document))


def _measured(scene: Scene, folder: Path, first: tuple[str, ...]) -> dict[str, Any]:
    path = folder / "load.toml"
    path.write_text(scene.load)
    words: tuple[str | Path, ...] = ("run", path, scene.directory, "--json", "--no-report", *scene.words)
    with_prefix = f'exec {shlex.join((*first, *scene.prefix))} "$@"' if first or scene.prefix else ""
    with running(*words, folder=folder, env=scene.env, started_by=with_prefix) as run:
        if scene.meanwhile is not None:
            scene.meanwhile(run)
        code = run.exit_code()
        if code not in MEASURED:
            raise RuntimeError(f"assay run: exit code {code}\n{run.said()}\nload:\n{scene.load}")
    document: dict[str, Any] = json.loads((folder / "stdout").read_text())
    return document


def _row(scene: Scene, document: Mapping[str, Any]) -> Said:
    """The row that is judged, with what is said of the whole run."""
    last = document["results"][-1]["phase"]
    row = next(
        each for each in document["results"] if each["phase"] == last and scene.operation in {"", each["operation"]}
    )
    return Said({**row, "findings": [*row["findings"], *document["findings"]]})
