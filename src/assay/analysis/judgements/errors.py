"""Report the operations that failed."""

import errno
from collections.abc import Iterable

from assay import events
from assay.analysis import findings
from assay.analysis.case import Case
from assay.results import Finding


def judge(case: Case) -> Iterable[Finding]:
    """Count the operations that failed, by what went wrong."""
    if not case.errors:
        return ()
    kinds = [
        f"{_error_word(count.errno)} {count.count} times"
        for count in (case.record.found.errors if case.record.found else ())
        if (count.job, count.operation) == (case.job.name, case.operation.name)
    ]
    text = f"{case.errors} of {case.errors + case.subject.rows.total('ops')} operations failed"
    text += f" ({', '.join(kinds)})." if kinds else "."
    return (
        findings.warning(
            "errors", f"{text} They are in no rate and no latency.", "Remove the cause of the errors. Then run again."
        ),
    )


def _error_word(number: int) -> str:
    if number >= events.PROGRAM_STATUS:
        return f"exit status {number - events.PROGRAM_STATUS}"
    return errno_name(number)


def errno_name(number: int) -> str:
    """Give the name of an error number in the manual pages and in strace; Python knows the second names of two."""
    second_names = {errno.EDEADLK: "EDEADLK", errno.EOPNOTSUPP: "EOPNOTSUPP"}
    return second_names.get(number) or errno.errorcode.get(number, f"errno {number}")
