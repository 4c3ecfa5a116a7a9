"""Find the record that has a result's series, with several clients: the common one, or the client's own."""

from collections.abc import Sequence

from assay.analysis.client_records import record_of_client
from assay.analysis.record import RunRecord
from assay.analysis.rows import NS_PER_S
from assay.report.recording import Recording
from assay.results import Result, RunMark


class OwnRecordings:
    """The series of a run and of each of its clients."""

    def __init__(self, run: RunRecord, marks: Sequence[RunMark] = ()) -> None:
        """Look nothing up yet; `marks` are those of the run's document."""
        self._run = run
        self._of_set = Recording(run, marks)
        self._of_clients: dict[str, Recording] = {}

    def of(self, result: Result) -> Recording:
        """Give the recording that has a result; raises InputError where nothing was recorded of its client.

        A run without members is that of one client: all results are of it.
        """
        is_of_all = result.client is None or not self._run.members
        return self._of_set if is_of_all else self._own(result.client or "")

    def later_s(self, result: Result) -> float:
        """Return how much later a client's phase began than the first one, on one clock; 0 if unknown."""
        if result.client is None or not self._run.members:
            return 0.0
        own = self._own(result.client).phase_of(result)
        of_set = self._of_set.phase_of(result)
        member = self._run.members_by_name[result.client]
        if own is None or of_set is None or own.index not in member.shift_ns:
            return 0.0
        return (own.start_ns + member.shift_ns[own.index] - of_set.start_ns) / NS_PER_S

    def _own(self, client: str) -> Recording:
        if client not in self._of_clients:
            self._of_clients[client] = Recording(record_of_client(self._run, client))
        return self._of_clients[client]
