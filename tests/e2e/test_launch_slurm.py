"""Slurm and mpirun start a worker on each node for real; what they start is a stand-in that says what it saw."""

import os
import subprocess
from pathlib import Path

import pytest

from testbed.host import find_tool, need_tools
from testbed.slurm import slurm
from testbed.stand_in import is_alive, mode_of
from testbed.stand_in_command import CommandStandIn, command_stand_in

SBATCH = Path(__file__).parents[2] / "deploy" / "slurm" / "assay.sbatch"
PATIENCE_S = 600.0


def _path(program: CommandStandIn) -> dict[str, str]:
    return {"PATH": f"{program.folder}:{os.environ['PATH']}"}


@pytest.mark.testbed
@pytest.mark.parametrize(("fails", "code"), [("", 0), ("n2", 1)])
def test_the_job_of_slurm_starts_a_worker_on_each_node_and_ends_as_the_leader_does(
    tmp_path: Path, fails: str, code: int
) -> None:
    program = command_stand_in(tmp_path / "bin", fails=fails, leader_ends_with=code)
    job = tmp_path / "job"
    job.mkdir()

    with slurm(3) as cluster:
        done = subprocess.run(
            [
                find_tool("sbatch") or "sbatch",
                "--wait",
                "--nodes=3",
                f"--output={job}/out",
                str(SBATCH),
                "run",
                "a.toml",
                "/x",
            ],
            cwd=job,
            env=cluster.environment | _path(program),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        output = (job / "out").read_text()

    assert done.returncode == code, done.stderr + output
    leader = program.seen("leader")
    assert leader["words"][:3] == ["run", "a.toml", "/x"]
    assert leader["words"][-2:] == ["--clients", "3"]
    join = Path(leader["words"][leader["words"].index("--join") + 1])
    assert join.parent.parent == job
    for node in cluster.nodes:
        seen = program.seen(node)
        assert seen["words"] == ["worker", "--join", str(join), "--name", node]
        assert seen["key"] == "the key"
        assert mode_of(seen["folder_mode"]) == 0o700
        assert not is_alive(seen["pid"])
    assert program.let_go() == {*cluster.nodes} - {fails}
    # Neither key nor folder is left where all nodes see it.
    assert [path.name for path in job.iterdir()] == ["out"]


@pytest.mark.testbed
@pytest.mark.parametrize("fails", ["", "r1"])
def test_mpirun_starts_workers_and_one_that_fails_does_not_take_the_others_along(tmp_path: Path, fails: str) -> None:
    need_tools("mpirun")
    program = command_stand_in(tmp_path / "bin", fails=fails)
    join = tmp_path / "join" / "join.json"
    join.parent.mkdir(mode=0o700)
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "plm", "isolated", "-np", "3"]
    alone = ["--mca", "orte_abort_on_non_zero_status", "0"]
    # On three machines each is called as its machine is; here all are on one.
    called = ["bash", "-c", 'exec assay worker --join "$1" --name "r$OMPI_COMM_WORLD_RANK"', "worker", str(join)]
    environment = os.environ | _path(program)

    with subprocess.Popen([*words, *alone, *called], env=environment, stdin=subprocess.DEVNULL) as workers:
        leader = ["assay", "run", "--join", str(join), "--clients", "3"]
        subprocess.run(leader, env=environment, timeout=PATIENCE_S, check=True)
        workers.wait(PATIENCE_S)

    names = {f"r{rank}" for rank in range(3)}
    assert all(program.seen(name)["key"] == "the key" for name in names)
    assert program.let_go() == names - {fails}
