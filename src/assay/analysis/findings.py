"""Findings by severity: `note` explains a number, `warning` says that it moved, `invalid` that it must not be used."""

from collections.abc import Iterable

from assay.results import Finding

NOTE = "note"
WARNING = "warning"
INVALID = "invalid"
SEVERITIES = (INVALID, WARNING, NOTE)
"""Gravest first."""


def note(id_: str, text: str, cure: str = "") -> Finding:
    """Something that explains the number; it stays trusted."""
    return Finding(id=id_, severity=NOTE, text=text, cure=cure)


def warning(id_: str, text: str, cure: str) -> Finding:
    """Something that moved the number."""
    return Finding(id=id_, severity=WARNING, text=text, cure=cure)


def invalid(id_: str, text: str, cure: str) -> Finding:
    """Something that makes the number unusable."""
    return Finding(id=id_, severity=INVALID, text=text, cure=cure)


def distinct(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Drop repeats, gravest first, otherwise in order."""
    unique = dict.fromkeys(findings)
    return tuple(sorted(unique, key=lambda finding: SEVERITIES.index(finding.severity)))


def is_trusted(findings: Iterable[Finding]) -> bool:
    """Whether nothing worse than a note was found."""
    return all(finding.severity == NOTE for finding in findings)
