"""Findings by severity, and what follows from them for a number's trust.

A `note` explains a number, `weak` says that it is of too little or not of what one may take it for, a `warning` that
something moved it, `invalid` that it must not be used. The gravest decides: notes leave it at yes, weak findings at weak,
the others at no.
"""

from collections.abc import Collection, Iterable

import msgspec

from assay.analysis.finding_pages import current_id, is_of_weak_ones
from assay.results import Finding, Reason, Trust
from assay.verdicts import TrustLevel

NOTE = "note"
WEAK = "weak"
WARNING = "warning"
INVALID = "invalid"
SEVERITIES = (INVALID, WARNING, WEAK, NOTE)
"""Gravest first."""
ACCEPTED = "Accepted by the load: "

_LEVELS = {NOTE: TrustLevel.YES, WEAK: TrustLevel.WEAK, WARNING: TrustLevel.NO, INVALID: TrustLevel.NO}


def note(id_: str, text: str, cure: str = "", *, effect: float | None = None) -> Finding:
    """Something that explains the number; it stays trusted."""
    return Finding(id=id_, severity=NOTE, text=text, cure=cure, effect=effect)


def weak(id_: str, text: str, cure: str, *, brief: str, effect: float | None = None) -> Finding:
    """Something that leaves the number true, but of too little, or not of what one may take it for."""
    return Finding(id=id_, severity=WEAK, text=text, cure=cure, brief=brief, effect=effect)


def warning(id_: str, text: str, cure: str, *, brief: str = "", effect: float | None = None) -> Finding:
    """Something that moved the number."""
    return Finding(id=id_, severity=WARNING, text=text, cure=cure, brief=brief, effect=effect)


def invalid(id_: str, text: str, cure: str, *, brief: str = "", effect: float | None = None) -> Finding:
    """Something that makes the number unusable."""
    return Finding(id=id_, severity=INVALID, text=text, cure=cure, brief=brief, effect=effect)


def ranked(findings: Iterable[Finding], accepted: Collection[str] = ()) -> tuple[Finding, ...]:
    """Drop repeats; gravest first, then the one with the greatest effect, otherwise in order.

    What the Plan accepts becomes a note, unless it makes the number unusable. A Plan may name an id by an earlier name; one
    that was never a warning does not cover the warnings of the id that it was merged into.
    """
    known = {(current_id(id_), severity) for id_ in accepted for severity in _accepted_by(id_)}
    unique = dict.fromkeys(_acknowledged(finding, known) for finding in findings)
    return tuple(sorted(unique, key=lambda finding: (SEVERITIES.index(finding.severity), -(finding.effect or 0.0))))


def _accepted_by(id_: str) -> tuple[str, ...]:
    return (WEAK,) if is_of_weak_ones(id_) else (WEAK, WARNING)


def _acknowledged(finding: Finding, accepted: Collection[tuple[str, str]]) -> Finding:
    if (finding.id, finding.severity) not in accepted:
        return finding
    return msgspec.structs.replace(finding, severity=NOTE, text=f"{ACCEPTED}{finding.text}")


def trust(findings: Iterable[Finding]) -> Trust:
    """Decide whether a number may be used, and why not: each reason once, the gravest first."""
    against = [finding for finding in findings if _LEVELS[finding.severity] is not TrustLevel.YES]
    if not against:
        return Trust(level=TrustLevel.YES, reasons=())
    against.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    reasons = dict.fromkeys(map(reason_of, against))
    return Trust(level=_LEVELS[against[0].severity], reasons=tuple(reasons))


def reason_of(finding: Finding) -> Reason:
    """Return the reason for distrust that a finding gives."""
    return Reason(id=finding.id, text=finding.brief or finding.id.replace("-", " "))
