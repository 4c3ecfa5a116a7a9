"""Find or compute the answer of a run, for each command that shows one."""

from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import InputError

if TYPE_CHECKING:
    from assay.report.kept_answers import KeptAnswer
    from assay.results import Document


def answer_of(run: str, runs: Path | None, energy: Path | None = None, *, sums_will_do: bool = False) -> "KeptAnswer":
    """Find the answer that was worked out when the run was made, or work it out.

    Args:
        run: As the user names it.
        runs: Where runs are kept; None: the usual place.
        energy: File of a power meter that was read during the run; None: there is none.
        sums_will_do: Whether, of very many clients, each one's own results may be missing.
    """
    from assay.bundle.catalog import resolve, runs_directory
    from assay.cli.pipes import echo
    from assay.ownership import stranger

    place = runs_directory(runs)
    folder = resolve(run, place)
    if owner := stranger(folder.stat().st_uid):
        echo(f"{folder.name}: belongs to user {owner}, not to you: that user wrote its results", err=True)
    from assay.report.kept_answers import KeptAnswer, keep_answer, kept_answer

    if energy is None and (kept := kept_answer(folder, place, sums_will_do=sums_will_do)):
        return kept
    from assay.analysis.record import read
    from assay.bundle.catalog import open_run
    from assay.bundle.damage import report_damage
    from assay.cli.options import metered
    from assay.live.analysis_progress import document_with_progress
    from assay.report.head import head_of

    bundle = open_run(str(folder), runs)
    with report_damage(bundle.path):
        recorded = metered(read(bundle), energy)
        document = document_with_progress(recorded)
        answer = KeptAnswer(document=document, head=head_of(document, recorded))
    if energy is None:
        keep_answer(folder, place, answer)
    return answer


def one_client(run: str, name: str, runs: Path | None, energy: Path | None = None) -> "KeptAnswer":
    """Give the answer of one client of a run of several.

    Args:
        run: As the user names it.
        name: The client.
        runs: Where runs are kept; None: the usual place.
        energy: File of a power meter that was read during the run; None: there is none.

    Raises:
        InputError: the run has no such client.
    """
    from assay.analysis.client_records import client_alone
    from assay.analysis.record import read
    from assay.analysis.set_views import client_of
    from assay.bundle.catalog import open_run
    from assay.bundle.damage import report_damage
    from assay.report.head import head_of_client
    from assay.report.kept_answers import KeptAnswer

    whole = answer_of(run, runs, energy).document
    client = client_of(whole, name)
    bundle = open_run(whole.run.bundle, runs)
    with report_damage(bundle.path):
        own, record = client_alone(whole, read(bundle), name)
        head = head_of_client(own, record, client)
    return KeptAnswer(document=own, head=head)


def several_clients(answer: "KeptAnswer") -> "Document":
    """Give the document of a run of several clients; raises InputError: one client measured."""
    if not answer.document.clients:
        raise InputError(f"run {answer.document.run.id} is of one client: leave --clients out")
    return answer.document
