"""Keep the answer of a sealed run, so that it can be shown again at once.

It lies in the catalog of the runs, under the hash of the run's manifest, the owner of its folder and the version of the
rules, and is used for no other. The record stays what counts: its files are held to the manifest before a kept answer of
them is shown.
"""

import sqlite3
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import msgspec

from assay import own_files
from assay.analysis.rules_version import rules_version
from assay.analysis.set_views import own_results, sums_of
from assay.bundle import files
from assay.bundle.kept_list import KeptList, catalog_of, seal_of
from assay.bundle.kept_marks import marks_of
from assay.bundle.opened_folder import open_folder
from assay.bundle.remarks import remarks_of
from assay.errors import InputError
from assay.report.head import Head
from assay.report.in_one_line import outcome_of
from assay.results import DETECTED, Document

_NS_PER_S = 1_000_000_000
_MOST_CHARACTERS = 16 << 20
"""Of an answer that is kept: that of some 7,000 results."""


class KeptAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What `assay show` prints a run from."""

    document: Document
    head: Head
    own_left_out: int = 0
    """Results of single clients that are not in it, because they were too many to be kept: it has the sums alone."""


def kept_answer(folder: Path, runs: Path, *, sums_will_do: bool = False) -> KeptAnswer | None:
    """Find the answer of a run; None where it has to be worked out.

    Args:
        folder: The run's folder.
        runs: Where runs are kept; only what lies there has answers that are kept.
        sums_will_do: Whether, of very many clients, each one's own results may be missing.

    Raises:
        BundleError: the run's files do not match its manifest, or cannot be read.
    """
    if not seal_of(folder) or folder.parent != runs or (catalog := catalog_of(runs)) is None or not catalog.is_file():
        return None
    text = None
    with suppress(sqlite3.Error, OSError), closing(KeptList(catalog)) as kept, open_folder(folder) as opened:
        text = kept.answer(opened, rules_version())
    if text is None or not files.is_as_sealed(folder):
        return None
    try:
        answer = msgspec.json.decode(text, type=KeptAnswer)
    except (msgspec.MsgspecError, UnicodeError):
        return None
    if answer.own_left_out and not sums_will_do:
        return None
    words = answer.document.run
    if words.bundle != str(folder) or not _has_marks_of(folder, answer.document):
        return None
    message = remarks_of(folder)
    words = msgspec.structs.replace(words, name=message.name, tags=message.tags, note=message.note)
    return msgspec.structs.replace(answer, document=msgspec.structs.replace(answer.document, run=words))


def _has_marks_of(folder: Path, document: Document) -> bool:
    """Whether an answer covers the marks that the user has set by now."""
    set_now = [(mark.t_ns / _NS_PER_S, mark.label, mark.given.value) for mark in marks_of(folder)]
    parts = [(mark.t_s, mark.label, mark.source) for mark in document.marks if mark.source != DETECTED]
    return sorted(set_now) == sorted(parts)


def keep_answer(folder: Path, runs: Path, answer: KeptAnswer) -> None:
    """Keep what a run came to; where nothing can be kept, it is worked out again the next time.

    Nothing is kept of a run in whose place somebody but its owner could have put another while it was read.

    Args:
        folder: The run's folder.
        runs: Where runs are kept.
        answer: What was worked out of it.
    """
    if not seal_of(folder) or folder.parent != runs or (catalog := catalog_of(runs)) is None:
        return
    text = msgspec.json.encode(answer).decode()
    own = own_results(answer.document)
    if len(text) > _MOST_CHARACTERS and own:
        of_sums = KeptAnswer(document=sums_of(answer.document), head=answer.head, own_left_out=own)
        text = msgspec.json.encode(of_sums).decode()
    with suppress(sqlite3.Error, OSError, InputError), ExitStack() as opened:
        own_files.check_above(folder)
        run = opened.enter_context(open_folder(folder))
        if not run.is_fixed():
            return
        kept = opened.enter_context(closing(KeptList(catalog)))
        version = rules_version()
        kept.keep(run, version, outcome_of(answer.document))
        if len(text) <= _MOST_CHARACTERS:
            kept.keep_answer(run, version, text)
