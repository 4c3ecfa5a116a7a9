"""Which part of a document of several clients is asked for: the sums, or what one client did?

A document of one client has one part: all of it. The results of several come sums first, then each client's own; whoever
numbers rows, compares or draws takes one of the two parts, so that no sum is next to its own summands.
"""

import msgspec

from assay.errors import InputError
from assay.results import ClientOfRun, Document, MarkEffect, Result, RunMark
from assay.units import format_names

OBSERVER = "observer"
_MOST_NAMED = 20


def sums_of(document: Document) -> Document:
    """Leave the clients' own results out; findings of the whole set stay. That of one client is as it is."""
    if not document.clients:
        return document
    return narrowed(document, tuple(result for result in document.results if result.client is None))


def own_results(document: Document) -> int:
    """Count the results of single clients among those of a set."""
    return sum(result.client is not None for result in document.results) if document.clients else 0


def client_of(document: Document, name: str) -> ClientOfRun:
    """Find one of several clients; raises InputError with those that there are."""
    if not document.clients:
        raise InputError(f"run {document.run.id} is of one client: leave --client out")
    for client in document.clients:
        if client.name == name:
            return client
    names = [client.name for client in document.clients]
    raise InputError(f"run {document.run.id} has no client '{name}'; it has {format_names(names, _MOST_NAMED)}")


def of_client(document: Document, name: str) -> Document:
    """Make the document of one client, as if it had been alone.

    Raises:
        InputError: there is no such client, or it made no load.
    """
    client = client_of(document, name)
    if client.role == OBSERVER:
        raise InputError(f"client '{name}' of run {document.run.id} is an observer: it made no load and has no results")
    own = narrowed(document, tuple(result for result in document.results if result.client == name))
    # Expectations are compared with the sums.
    return msgspec.structs.replace(own, clients=(), starts=(), sums=(), expectations=())


def narrowed(document: Document, results: tuple[Result, ...]) -> Document:
    """Give the document with some of its results."""
    if results == document.results:
        return document
    labels = {result.label for result in results}
    return msgspec.structs.replace(
        document,
        results=results,
        marks=tuple(_with_effects(mark, labels) for mark in document.marks),
        solo_shares=tuple(share for share in document.solo_shares if share.result in labels),
        summaries=tuple(summary for summary in document.summaries if summary.label in labels),
    )


def _with_effects(mark: RunMark, labels: set[str]) -> RunMark:
    kept: tuple[MarkEffect, ...] = tuple(effect for effect in mark.effects if effect.result in labels)
    return mark if len(kept) == len(mark.effects) else msgspec.structs.replace(mark, effects=kept)
