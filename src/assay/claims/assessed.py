"""The verdicts as a document for users' programs. It is a contract: fields are added, never renamed."""

from collections.abc import Sequence

import msgspec

from assay.claims.accepted import Accepted, ClaimVerdict, of_all
from assay.outward import json_text

SCHEMA = "assay.claims/1"


class Computed(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that a sentence turns on, or the ratio of two."""

    what: str
    """What it is of, in words."""
    values: tuple[float, ...]
    """One, or one for each row that was looked at; in `unit`."""
    unit: str
    """Empty: a plain number, or a ratio."""
    interval: tuple[float, float] | None = None
    """At 95 % confidence; null: nothing was repeated."""
    accepted: tuple[float | None, float | None] = (None, None)
    """What would make the sentence true; null: without an end."""


class AssessedSentence(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one sentence."""

    says: str
    verdict: ClaimVerdict
    reason: str
    computed: Computed | None = None
    """Null: it could not be computed."""


class AssessedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim: true if all of its sentences are."""

    id: str
    text: str
    verdict: ClaimVerdict
    sentences: tuple[AssessedSentence, ...]
    note: str = ""


class AssessedClaims(msgspec.Struct, frozen=True, kw_only=True):
    """What `assay claims --json` prints."""

    schema: str
    title: str
    claims: tuple[AssessedClaim, ...]

    def count(self, verdict: ClaimVerdict) -> int:
        """Count the claims of a verdict."""
        return sum(claim.verdict is verdict for claim in self.claims)


def make_claim(id_: str, text: str, note: str, sentences: Sequence[AssessedSentence]) -> AssessedClaim:
    """Put the verdict on a claim together."""
    verdict = of_all(sentence.verdict for sentence in sentences)
    return AssessedClaim(id=id_, text=text, verdict=verdict, sentences=tuple(sentences), note=note)


def undecided(says: str, reason: str, computed: Computed | None = None) -> AssessedSentence:
    """Explain why nothing can be decided."""
    return AssessedSentence(says=says, verdict=ClaimVerdict.NOT_DECIDABLE, reason=reason, computed=computed)


def ends(values: Accepted) -> tuple[float | None, float | None]:
    """Give what is accepted, for JSON, which has no infinity."""
    low, high = values.low, values.high
    return (low if abs(low) != float("inf") else None, high if abs(high) != float("inf") else None)


def to_json(found: AssessedClaims) -> str:
    """Write the document."""
    return json_text(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
