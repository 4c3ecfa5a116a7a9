"""docs/method.md: how often a planted cause was named, and what was said of it, between the words of people."""

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from e2e.planted.case import Case, Outcome, Trial

PAGE = Path(__file__).parents[3] / "docs" / "method.md"
BEGIN = "<!-- Made by `make lab`; do not edit up to the end of the table. -->\n"
END = "<!-- The end of the table. -->\n"
_HEAD = "| planted | tried | right | unsure | wrong | said |\n| --- | --- | --- | --- | --- | --- |\n"


def with_table(page: str, trials: Sequence[Trial]) -> str:
    """Put the table of a run of the lab into the page."""
    return f"{page.partition(BEGIN)[0]}{BEGIN}\n{table(trials)}\n{END}{page.partition(END)[2]}"


def table(trials: Sequence[Trial]) -> str:
    """Count what was said of each cause; what was not planted is no trial."""
    by_case: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.outcome is not Outcome.NOT_PLANTED:
            by_case.setdefault(trial.case.cause, []).append(trial)
    counts = Counter(trial.outcome for of_case in by_case.values() for trial in of_case)
    tried = counts.total()
    right, unsure, wrong = (counts[each] for each in (Outcome.RIGHT, Outcome.UNSURE, Outcome.WRONG))
    said = (
        f"{len(by_case)} cases, tried {tried} times on {_today()} (Linux {os.uname().release.split('-')[0]},"
        f" {os.cpu_count()} CPUs): right in {100 * right / max(1, tried):.1f} %,"
        f" unsure {unsure} times, wrong {wrong} times.\n\n"
    )
    return said + _HEAD + "".join(_line(cause, of_case) for cause, of_case in by_case.items())


def _line(cause: str, trials: Sequence[Trial]) -> str:
    counts = Counter(trial.outcome for trial in trials)
    said = Counter(_in_short(trial) for trial in trials)
    words = "; ".join(f"{text} ({count})" for text, count in said.most_common())
    cells = [cause, len(trials), *(counts[each] for each in (Outcome.RIGHT, Outcome.UNSURE, Outcome.WRONG)), words]
    return f"| {' | '.join(map(str, cells))} |\n"


def _in_short(trial: Trial) -> str:
    said = trial.said
    asked = sorted(trial.case.expected.found & said.findings.keys())
    return ", ".join([said.limiter or "no limiter", said.measures or "no word", *asked, f"trust {said.trust}"])


def in_words(trial: Trial) -> str:
    """One trial in a line, for a terminal."""
    why = f": {trial.why}" if trial.why else ""
    return f"{trial.outcome.value:12}{trial.case.cause} {_given(trial.parameters)}{why}\n{'':12}{trial.said}"


def not_tried(case: Case, parameters: Mapping[str, object], why: str, word: str = "skipped") -> str:
    """A case that this machine cannot plant, in a line."""
    return f"{word:12}{case.cause} {_given(parameters)}: {why}"


def _given(parameters: Mapping[str, object]) -> str:
    return "(" + ", ".join(f"{name} {' '.join(str(value).split())}" for name, value in parameters.items()) + ")"


def _today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())
