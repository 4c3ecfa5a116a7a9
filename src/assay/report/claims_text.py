"""The verdicts on claims for people: on the terminal, and as Markdown for a page or a pull request."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from assay.claims.accepted import ClaimVerdict
from assay.claims.assessed import AssessedClaim, AssessedClaims, AssessedSentence
from assay.console import PlainConsole
from assay.report.comparison_text import markdown_words

_STYLES = {
    ClaimVerdict.SUPPORTED: "green",
    ClaimVerdict.CONTRADICTED: "red",
    ClaimVerdict.NOT_DECIDABLE: "yellow",
}


def render_claims(found: AssessedClaims, console: PlainConsole) -> None:
    """Print a line a claim, with the reason, and how many are what."""
    table = Table(box=None, pad_edge=False, title=found.title or None, title_justify="left")
    table.add_column("id", overflow="fold")
    table.add_column("claim", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("because", overflow="fold")
    for claim in found.claims:
        because = "\n".join(_reasons(claim))
        table.add_row(claim.id, claim.text, Text(claim.verdict.words, style=_STYLES[claim.verdict]), because)
    console.print(table)
    console.print()
    console.print(summary(found), soft_wrap=True)


def markdown_table(found: AssessedClaims) -> Iterator[str]:
    """Write it as Markdown, as GitHub reads it."""
    if found.title:
        yield f"### {markdown_words(found.title)}"
        yield ""
    yield "| id | claim | verdict | because |"
    yield "| --- | --- | --- | --- |"
    for claim in found.claims:
        because = "; ".join(_reasons(claim))
        cells = (claim.id, claim.text, claim.verdict.words, because)
        yield f"| {' | '.join(markdown_words(' '.join(cell.split())) for cell in cells)} |"
    yield ""
    yield summary(found)


def summary(found: AssessedClaims) -> str:
    """Count the claims of each verdict."""
    counts = ", ".join(f"{found.count(verdict)} {verdict.words}" for verdict in ClaimVerdict)
    return f"{len(found.claims)} {'claim' if len(found.claims) == 1 else 'claims'}: {counts}."


def _reasons(claim: AssessedClaim) -> list[str]:
    """Give the reasons of a claim, of one with several sentences each with what it is of."""
    reasons = [_reason(sentence, is_alone=len(claim.sentences) == 1) for sentence in claim.sentences]
    return reasons if not claim.note else [*reasons, f"({claim.note})"]


def _reason(sentence: AssessedSentence, *, is_alone: bool) -> str:
    return sentence.reason if is_alone else f"{sentence.says}: {sentence.verdict.words}, {sentence.reason}"
