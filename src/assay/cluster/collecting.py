"""Fetch what clients kept of a run whose end they, or its leader, did not see."""

import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from assay.bundle import RunBundle
from assay.bundle.client_set import ClientSet, Member
from assay.bundle.completing import complete
from assay.bundle.files import write_durably
from assay.bundle.tables import Stream, read_stream
from assay.cluster.crew import Crew


@dataclasses.dataclass(frozen=True, kw_only=True)
class Collected:
    """What came of it."""

    bundle: RunBundle
    """The run that has it: the one that was asked for, where that was not sealed, else a new one."""
    clients: tuple[str, ...]
    """Whose streams were fetched."""
    missing: tuple[str, ...]
    """Those that are there, and have nothing of the run."""


def collected(bundle: RunBundle, crew: Crew, runs: Path) -> Collected:
    """Fetch what the clients of a crew kept of a run, and make the run whole with it, as far as that goes.

    Raises:
        BundleError: the run is damaged.
        RunError: a stream cannot be fetched, or the run cannot be written.
    """
    found = bundle.client_set()
    assert found is not None  # noqa: S101 - whoever calls has looked
    kept = crew.recall(bundle.run_id)
    wanted = [member.name for member in found.members if member.name in kept and not _is_whole(bundle, member)]
    missing = tuple(name for name in crew.stations if name not in kept)
    if not wanted:
        return Collected(bundle=bundle, clients=(), missing=missing)
    with tempfile.TemporaryDirectory(prefix="assay-collect-") as name:
        folder = Path(name)
        for client in wanted:
            crew.fetch(client, folder / f"{client}.ndjson")
        streams = {client: read_stream(folder, f"{client}.ndjson") for client in wanted}
        now = _with_collected(found, streams)
        if bundle.is_sealed:
            made = complete(bundle, streams, now, runs)
        else:
            for client in wanted:
                write_durably(bundle.stream_path(client), (folder / f"{client}.ndjson").read_bytes())
            bundle.keep_client_set(now)
            bundle.seal()
            made = bundle
    return Collected(bundle=made, clients=tuple(wanted), missing=missing)


def _is_whole(bundle: RunBundle, member: Member) -> bool:
    return bundle.is_sealed and (member.lost is None or member.lost.is_collected)


def _with_collected(found: ClientSet, streams: Mapping[str, Stream]) -> ClientSet:
    members = tuple(
        msgspec.structs.replace(member, lost=msgspec.structs.replace(member.lost, is_collected=True))
        if member.name in streams and member.lost is not None
        else member
        for member in found.members
    )
    return msgspec.structs.replace(found, members=members)
