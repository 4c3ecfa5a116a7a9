"""What one client of a run of several recorded, as a run of its own."""

import dataclasses

import msgspec

from assay.analysis.ceilings import ceilings_of
from assay.analysis.record import RunRecord
from assay.analysis.set_views import of_client
from assay.bundle.client_set import Role
from assay.errors import InputError
from assay.results import Document


def load_clients(run: RunRecord) -> tuple[str, ...]:
    """Name the clients of a run that made load; none of a run of one client."""
    return tuple(one.member.name for one in run.members if one.member.role is Role.LOAD)


def record_of_client(run: RunRecord, name: str) -> RunRecord:
    """Give what one client recorded, by its own clock, under the name of the run that it was part of.

    Raises:
        InputError: nothing was recorded of a client of that name.
    """
    if name not in run.members_by_name:
        raise InputError(f"run {run.run_id} has no record of a client '{name}'")
    own = run.members_by_name[name].run
    return dataclasses.replace(own, run_id=run.run_id, path=run.path, info=run.info, remarks=run.remarks)


def client_alone(document: Document, run: RunRecord, name: str) -> tuple[Document, RunRecord]:
    """Make the document and the record of one client, as if it had been alone, under its own ceilings.

    Raises:
        InputError: there is no such client, it made no load, or nothing was recorded of it.
    """
    own, record = of_client(document, name), record_of_client(run, name)
    return msgspec.structs.replace(own, ceilings=ceilings_of(record)), record
