"""Of several clients a classic tool prints what each of them did, and no number that is of none."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from typer.testing import CliRunner

from assay.analysis.document import document
from assay.analysis.record import RunRecord, read
from assay.bundle.client_set import Role
from assay.cli import app
from assay.errors import InputError
from assay.tools import registry
from assay.tools.iozone import FRONT_END
from unit import classic_runs as classic
from unit.memory_set import Client, MemorySet, kept
from unit.synthetic import SyntheticRun, steady_stream
from unit.test_worksheet import biff_cells

RECORD_KIB, RECORDS = 4, 100
CALL_MS: Mapping[str, int] = {"a": 1, "b": 4}
"""How long each record takes, by client: 4,000 and 1,000 KiB/s."""


def run_of(words: str, call_ms: Mapping[str, int] = CALL_MS) -> RunRecord:
    """Read such a run."""
    return read(set_of(words, call_ms))


def set_of(words: str, call_ms: Mapping[str, int] = CALL_MS) -> MemorySet:
    """A run of clients, each of which wrote each file with calls of one length, and of an observer."""
    argv = shlex.split(f"{words} -s {RECORDS * RECORD_KIB}k -r {RECORD_KIB}k -i 0 -f /mnt/scratch/file")
    plan = FRONT_END.to_plan(FRONT_END.parse(argv), FRONT_END.origin(argv), Path("/nowhere"))
    clients = []
    for name, ms in call_ms.items():
        run = SyntheticRun(plan)
        for index, phase in enumerate(plan.phases):
            (job,) = phase.jobs
            stream = steady_stream(
                per_s=RECORDS,
                seconds=1,
                latency_ns=ms * 1_000_000,
                bytes_each=RECORD_KIB << 10,
                job=job.name,
                operation=job.timed[0],
            )
            run.phase([stream], seconds=1 + ms / 1000, index=index)
        clients.append(Client(name, run.end()))
    watched = SyntheticRun(plan)
    for index in range(len(plan.phases)):
        watched.phase([], seconds=1, index=index)
    clients.append(Client("server", watched.end(), role=Role.OBSERVER))
    return MemorySet(plan, clients, starts_s=[2.0 * index for index in range(len(plan.phases))])


def test_each_client_has_its_own_cells_below_its_name() -> None:
    text = classic.text(run_of(""))

    found = re.findall(
        rf"^==== client (\w+)$|^ +{RECORDS * RECORD_KIB} +{RECORD_KIB} +(\d+) +(\d+)", text, re.MULTILINE
    )
    # Size of the file by the time in its calls: 400 KiB in 0.1 s and in 0.4 s.
    assert found == [("a", "", ""), ("", "4000", "4000"), ("b", "", ""), ("", "1000", "1000")]


def test_the_text_of_one_client_can_be_shown_alone(tmp_path: Path) -> None:
    bundle = kept(tmp_path, set_of(""))

    shown = CliRunner().invoke(app, ["show", str(bundle.path), "--classic", "--client", "b", "--runs", str(tmp_path)])

    assert re.findall(rf"^ +{RECORDS * RECORD_KIB} +{RECORD_KIB} +(\d+)", shown.stdout, re.MULTILINE) == ["1000"]
    assert "==== client" not in shown.stdout


def test_each_client_has_its_own_files_and_figures() -> None:
    run = run_of("-R -b x.csv")

    assert [str(file.path) for file in classic.files(run)] == ["x-a.csv", "x-b.csv"]
    of_a, of_b = ([value for _, _, value in biff_cells(file.content)] for file in classic.files(run))
    assert [4000.0 in of_a, 1000.0 in of_a] == [True, False]
    assert [4000.0 in of_b, 1000.0 in of_b] == [False, True]
    titles = [figure.title for figure in registry.figures(run, document(run))]
    assert titles
    assert {title.rpartition(" ")[2] for title in titles} == {"(a)", "(b)"}


def test_what_is_said_of_all_clients_alike_is_said_once() -> None:
    alike, apart = (classic.beside(run_of("-+q 2", times)) for times in ({"a": 1, "b": 1}, CALL_MS))

    assert "==== client" not in alike
    assert apart.count("==== client") in {0, 2}


def test_a_tool_whose_work_is_a_list_takes_no_clients() -> None:
    done = CliRunner().invoke(app, ["postmark", "--hosts", "local:2"])

    assert isinstance(done.exception, InputError)
    assert "lists are not handed to clients" in str(done.exception)
    assert done.output == ""
