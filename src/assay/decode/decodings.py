"""The verdicts as a document for users' programs. It is a contract: fields are added, never renamed."""

from collections.abc import Sequence

import msgspec

from assay.decode.attribution import attribute
from assay.decode.claim import Claim
from assay.decode.given import Given
from assay.outward import json_text

SCHEMA = "assay.decode/1"


class Decoded(msgspec.Struct, frozen=True, kw_only=True):
    """One figure, and what it is a figure of."""

    test: str
    machine: str | None
    """What the output distinguishes: a client, a system, a column of a table; None: nothing."""
    bytes_per_s: float | None
    ops_per_s: float | None
    cpu_share: float | None
    """CPU time of the tool by elapsed time."""
    of: str
    """`storage`, `page cache`, `write-back`, `client CPU`, `link`, `server cache`, `mixed`, `unknown`."""
    limiter: str
    why: str


class Decodings(msgspec.Struct, frozen=True, kw_only=True):
    """What `assay decode --json` prints."""

    schema: str
    tool: str
    figures: tuple[Decoded, ...]


def decodings(tool: str, figures: Sequence[Claim], given: Given) -> Decodings:
    """Assess every figure."""
    return Decodings(schema=SCHEMA, tool=tool, figures=tuple(_decode(figure, given) for figure in figures))


def _decode(figure: Claim, given: Given) -> Decoded:
    verdict = attribute(figure, given)
    return Decoded(
        test=figure.test,
        machine=figure.during.machine,
        bytes_per_s=figure.bytes_per_s,
        ops_per_s=figure.ops_per_s,
        cpu_share=figure.cpu_share,
        of=verdict.of.words,
        limiter=verdict.limiter.value,
        why=verdict.why,
    )


def to_json(found: Decodings) -> str:
    """Write the document."""
    return json_text(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
