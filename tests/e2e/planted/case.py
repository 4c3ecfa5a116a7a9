"""What is a planted cause, and when is a verdict about it right, unsure or wrong?

Right: everything that has to be said is said. Wrong: something is said with confidence that the planted truth contradicts,
by a limiter of high confidence, or by a number called trusted that is no such number. Unsure is all between: nothing false
was said with confidence, and the cause was not named.
"""

import enum
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e.processes import Running

SEVERITIES = ("note", "weak", "warning", "invalid")
OF_ITS_LENGTH = frozenset({"small-sample", "wide-interval"})
"""What is said of a run that is merely short, as those of the lab are."""

STORAGE = frozenset({"storage", "virtual_disk"})
"""Some devices of the lab are files on a disk of this machine, which may be a virtual one."""
MEMORY = frozenset({"page_cache"})
SLOW_DEVICE = frozenset({"operation_latency", "device_saturated", "device_throughput"})
"""What a device of a known speed is, seen from a load that waits for it."""
CLIENT = frozenset({"client_cpu_single", "client_cpu_all"})
CONTENDED = CLIENT | {"cpu_contention"}
"""What a CPU is that others want too."""
NO_LIMITER = frozenset({"unknown", ""})
NO_WORD = frozenset({"unknown", ""})


@dataclass(frozen=True)
class Said:
    """What a row says, read from the JSON as any program would."""

    row: Mapping[str, Any]

    @property
    def trust(self) -> str:
        """`yes`, `weak` or `no`."""
        level = (self.row.get("trust") or {}).get("level")
        return str(level) if level else "yes" if self.row["trusted"] else "no"

    @property
    def reasons(self) -> frozenset[str]:
        """Ids of why it is not `yes`."""
        return frozenset(str(reason["id"]) for reason in (self.row.get("trust") or {}).get("reasons", ()))

    @property
    def measures(self) -> str:
        """What the number is a number of; empty: not said."""
        return str(self.row.get("measures") or "")

    @property
    def limiter(self) -> str:
        """The verdict; empty: none."""
        return str((self.row.get("limiter") or {}).get("verdict") or "")

    @property
    def confidence(self) -> str:
        """How sure that is."""
        return str((self.row.get("limiter") or {}).get("confidence") or "")

    @property
    def evidence(self) -> tuple[str, ...]:
        """What shows it."""
        return tuple((self.row.get("limiter") or {}).get("evidence") or ())

    @property
    def remedy(self) -> str:
        """What would change it."""
        return str((self.row.get("limiter") or {}).get("remedy") or "")

    @property
    def steady(self) -> str:
        """Verdict on the series."""
        return str((self.row.get("steady") or {}).get("verdict") or "")

    @property
    def period_s(self) -> float | None:
        """Of its ups and downs."""
        period_s = (self.row.get("steady") or {}).get("period_s")
        return None if period_s is None else float(period_s)

    @property
    def findings(self) -> Mapping[str, str]:
        """Severity of each finding, the worst where an id is there twice."""
        worst: dict[str, str] = {}
        for finding in self.row["findings"]:
            name, severity = finding["id"], finding["severity"]
            worst[name] = max(worst.get(name, "note"), severity, key=SEVERITIES.index)
        return worst

    def text_of(self, id_: str) -> str:
        """Return what findings of one id say."""
        return " ".join(finding["text"] for finding in self.row["findings"] if finding["id"] == id_)

    def __str__(self) -> str:
        """The verdict in one line."""
        about = f"{self.limiter or 'no limiter'} ({self.confidence or 'no confidence'}), {self.measures or 'no word'}"
        said = ", ".join(f"{name}:{severity}" for name, severity in self.findings.items() if severity != "note")
        return f"{about}, trust {self.trust}, {self.steady or 'not assessed'}; {said or 'nothing above a note'}"


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What is right to say about a planted cause; an empty set asks for nothing."""

    limiter: frozenset[str] = frozenset()
    """One of these has to be said."""
    no_lie: frozenset[str] = frozenset()
    """These may be said too: they do not name the cause, and are not false."""
    measures: frozenset[str] = frozenset()
    """One of these has to be said."""
    no_lie_measures: frozenset[str] = frozenset()
    trust: frozenset[str] = frozenset({"yes", "weak", "no"})
    """One of these has to be said; a number that may not be trusted and is called `yes` is wrong."""
    evidence: str = ""
    """Words that the limiter's evidence has to hold."""
    found: frozenset[str] = frozenset()
    """One of these findings has to be there."""
    found_from: str = "note"
    """With this severity at least."""
    found_text: str = ""
    """Words that the text of one of these findings has to hold: which case of the finding it is."""
    is_healthy: bool = False
    """Nothing at all is to be found above a note but what comes of the run's length."""

    def missing(self, said: Said) -> str:
        """Say what has to be said and is not; empty: it is right."""
        least = SEVERITIES.index(self.found_from)
        has = {name for name, severity in said.findings.items() if SEVERITIES.index(severity) >= least}
        lacks = []
        if self.limiter and said.limiter not in self.limiter:
            lacks.append(f"limiter {_one_of(self.limiter)}")
        if self.evidence and self.evidence not in " ".join(said.evidence):
            lacks.append(f"evidence of {self.evidence}")
        if self.measures and said.measures not in self.measures:
            lacks.append(f"measures {_one_of(self.measures)}")
        if self.found and not self.found & has:
            lacks.append(f"finding {_one_of(self.found)} ({self.found_from} or worse)")
        if self.found_text and not any(self.found_text in said.text_of(name) for name in self.found & has):
            lacks.append(f"'{self.found_text}' in {_one_of(self.found)}")
        if said.trust not in self.trust:
            lacks.append(f"trust {_one_of(self.trust)}")
        if self.is_healthy:
            lacks += [f"no {each}" for each in sorted(_sick(said))]
        return ", ".join(lacks)

    def lie(self, said: Said) -> str:
        """Say what is said with confidence and false; empty: nothing."""
        may_be = self.limiter | self.no_lie
        if may_be and said.confidence == "high" and said.limiter not in may_be | NO_LIMITER:
            return f"{said.limiter}, with high confidence"
        if said.trust != "yes":
            return ""
        if "yes" not in self.trust:
            return "trusted"
        may_be = self.measures | self.no_lie_measures
        if may_be and said.measures not in may_be | NO_WORD:
            return f"trusted as a number of {said.measures}"
        return ""


def _one_of(names: frozenset[str]) -> str:
    return " or ".join(sorted(names))


def _sick(said: Said) -> set[str]:
    """What a healthy run must not have."""
    found = {name for name, severity in said.findings.items() if severity != "note"} - OF_ITS_LENGTH
    if said.trust == "yes" or (said.trust == "weak" and said.reasons <= OF_ITS_LENGTH):
        return found
    return found | {f"trust {said.trust}", *(said.reasons - OF_ITS_LENGTH)}


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A planted cause, ready to be measured."""

    directory: Path
    load: str
    """TOML."""
    operation: str = ""
    """The operation whose row of the last phase is judged; empty: its first row."""
    words: tuple[str, ...] = ()
    """Further words of the command."""
    prefix: tuple[str, ...] = ()
    """Words in front of the command."""
    env: Mapping[str, str] = field(default_factory=dict)
    meanwhile: Callable[[Running], None] | None = None
    """Done while the run is on."""
    took: Callable[[Said], bool] = lambda _said: True
    """Whether the lab's own witnesses have seen the cause."""
    is_true: Callable[[Said], bool] = lambda _said: True
    """Whether the number is what the lab's own witnesses have seen: a trusted one that is not is wrong."""
    names_it: Callable[[Said], bool] = lambda _said: True
    """Whether what only this scene knows is said."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A cause that can be planted with several parameters."""

    cause: str
    plant: Callable[..., AbstractContextManager[Scene]]
    """Called with a folder of its own and one of the parameters."""
    parameters: tuple[Mapping[str, Any], ...]
    """The first are those of the suite."""
    expected: Expected
    is_in_suite: bool = False
    """Planted by `make test`: one case for each limiter, one for each ceiling of trust, and one that needs facts of
    several devices. `make prove` plants all."""
    takes_cpus: bool = False
    """Whether it is planted that somebody waits for a CPU."""


class Outcome(enum.StrEnum):
    """What a verdict was worth."""

    RIGHT = "right"
    UNSURE = "unsure"
    WRONG = "wrong"
    NOT_PLANTED = "not planted"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A case that was tried once."""

    case: Case
    parameters: Mapping[str, Any]
    outcome: Outcome
    said: Said
    why: str
    """What is false, or what is missing."""


def judged(case: Case, parameters: Mapping[str, Any], scene: Scene, said: Said) -> Trial:
    """Hold a verdict against what was planted."""

    def trial(outcome: Outcome, why: str = "") -> Trial:
        return Trial(case=case, parameters=parameters, outcome=outcome, said=said, why=why)

    if not scene.took(said):
        return trial(Outcome.NOT_PLANTED, "the lab's own witnesses have not seen the cause")
    if false := case.expected.lie(said):
        return trial(Outcome.WRONG, false)
    if said.trust == "yes" and not scene.is_true(said):
        return trial(Outcome.WRONG, "trusted, and another number than that of the lab's own witnesses")
    if missing := case.expected.missing(said):
        return trial(Outcome.UNSURE, f"without {missing}")
    if not scene.names_it(said):
        return trial(Outcome.UNSURE, "without what the lab's own witnesses have seen")
    return trial(Outcome.RIGHT)
