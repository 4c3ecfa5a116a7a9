"""Assess every claim of a file: by runs or by tables, with the claims that are not understood."""

import dataclasses
import re
from typing import Final

from assay.claims import against_runs, against_tables
from assay.claims.accepted import ClaimVerdict
from assay.claims.against_runs import GatherRuns
from assay.claims.against_tables import Meant
from assay.claims.assessed import SCHEMA, AssessedClaim, AssessedClaims, AssessedSentence, make_claim, undecided
from assay.claims.claims_file import Claimed, ClaimsFile
from assay.claims.expression import ExpressionError
from assay.claims.sentence import SentenceError, parse
from assay.errors import InputError

MOST_LOOKS: Final = 20_000_000
"""Words of all sentences by rows of the longest table: each column that is named is looked through."""
MOST_PAIRED: Final = 2_000
"""Sentences and functions that look at each pair of two lists, or at a whole series again and again."""
_WORD = re.compile(r"[A-Za-z_][\w.]*|'[^']*'")
_OF_PAIRS = re.compile(r"\bp\(|\bp_normal\(|\bsettled\(|\sover\s")


def assess_claims(file: ClaimsFile, runs: GatherRuns, usual: str, meant: Meant) -> AssessedClaims:
    """Assess a file.

    Args:
        file: The claims, with their tables.
        runs: Gathers the runs of a side.
        usual: The side that is meant where a sentence names none.
        meant: How sentences are to be read.

    Raises:
        InputError: a sentence of a strict file is not understood.
        AssayError: runs that a sentence names are not there.
    """
    rows = max((len(table.rows) for table in file.tables.values()), default=0)
    words = sum(len(_WORD.findall(text)) for claim in file.claims for text in claim.sentences)
    pairs = sum(len(_OF_PAIRS.findall(text)) for claim in file.claims for text in claim.sentences)
    if rows * words > MOST_LOOKS or pairs > MOST_PAIRED:
        raise InputError(
            f"{file.source}: {words} words of sentences over {rows} rows, {pairs} of them over pairs or repeats, take too"
            " long: leave out rows that no claim is about, or make several files of it"
        )
    assessment = _Assessment(file, runs, usual, meant)
    claims = tuple(assessment.claim(claim) for claim in file.claims)
    return AssessedClaims(schema=SCHEMA, title=file.title, claims=claims)


@dataclasses.dataclass(frozen=True)
class _Assessment:
    file: ClaimsFile
    runs: GatherRuns
    usual: str
    meant: Meant

    def claim(self, claim: Claimed) -> AssessedClaim:
        if claim.undecidable:
            sentences: tuple[AssessedSentence, ...] = (undecided("", claim.undecidable),)
        else:
            sentences = tuple(self._sentence(text, claim) for text in claim.sentences)
        return make_claim(claim.id, claim.text, claim.note, sentences)

    def _sentence(self, text: str, claim: Claimed) -> AssessedSentence:
        tables = self.file.tables
        try:
            sentence = parse(text)
            about = against_runs.of_runs(sentence, self.usual)
            # `iops` alone is the column of a table, where there are tables.
            if about is not None and not (about.is_by_user and tables):
                return against_runs.assess(text, sentence, about, self.runs, self.meant)
            if not tables:
                return undecided(text, "it names no number of a run, such as 'iops of last', and there is no table")
            return against_tables.assess(text, sentence, tables, self.meant)
        except (SentenceError, ExpressionError) as error:
            if self.file.is_strict:
                raise InputError(f"{self.file.source}: claim {claim.id}: '{text[:120]}': {error}") from error
            return undecided(text, f"not understood: {error}")


def exit_code(found: AssessedClaims, *, is_strict: bool) -> int:
    """Give 1 where a claim is contradicted; with `is_strict` also where one is not decidable."""
    failing = {ClaimVerdict.CONTRADICTED} | ({ClaimVerdict.NOT_DECIDABLE} if is_strict else set())
    return int(any(claim.verdict in failing for claim in found.claims))
