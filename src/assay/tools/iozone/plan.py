"""The Plan of an IOzone command line.

One phase a test and cell of the matrix, or a test and number of children in the throughput mode: `single.py` and
`throughput.py` make them. `matrix.py` has the sizes, `columns.py` has the tests, `work.py` what a test does to its
file.
"""

from pathlib import Path

from assay import plan
from assay.tools.iozone import single, throughput
from assay.tools.iozone.columns import VECTORED_TESTS
from assay.tools.iozone.settings import Settings

SAMPLE_INTERVAL_S = 0.1
FINE_INTERVAL_S = 0.01
"""With -Q: its files have a line for each interval."""
_SEED = 1


def to_plan(settings: Settings, origin: plan.Origin, directory: Path) -> plan.Plan:
    """Make the Plan.

    Args:
        settings: What is asked for.
        origin: Of the Plan.
        directory: Where relative names begin: the working directory.

    Raises:
        InputError: it is not supported.
    """
    made = throughput.parts(settings, directory) if settings.is_throughput else single.parts(settings, directory)
    return plan.Plan(
        name=origin.front_end,
        origin=origin,
        seed=_SEED,
        targets=made.targets,
        file_sets=made.file_sets,
        phases=made.phases,
        sample_interval_s=FINE_INTERVAL_S if settings.latency_files else SAMPLE_INTERVAL_S,
        untranslated=_list_deviations(settings),
    )


def _list_deviations(settings: Settings) -> tuple[plan.Untranslated, ...]:
    found = [plan.Untranslated(what=what, why=why) for what, why in settings.left_out]
    if settings.mmap_flushes and not settings.mmap:
        found.append(plan.Untranslated(what="-G", why="without -B nothing is mapped, and nothing to flush"))
    if settings.latency_files and settings.depth > 1:
        why = "records in flight together are not recorded one by one: the files have a line for each interval"
        found.append(plan.Untranslated(what="-Q", why=why))
    if settings.clients is not None and settings.stonewall:
        why = "the children of a client stop with its first, not with the first of all clients; with -x each ends by itself"
        found.append(plan.Untranslated(what="-+m", why=why))
    if settings.verify:
        why = "blocks are stamped and compared outside the timed part; the pattern byte is not used"
        found.append(plan.Untranslated(what="-V", why=why))
    if settings.tests & VECTORED_TESTS and not settings.is_throughput:
        why = "a record is moved by one call in 16 equal pieces; IOzone spreads its pieces over the file"
        found.append(plan.Untranslated(what="-i 11, -i 12", why=why))
    return tuple(found)
