"""Slurm and mpirun start a worker on each node for real; stand-ins say what they saw, real ones join."""

import os
import subprocess
from pathlib import Path

import pytest

from assay import __version__
from assay.cluster.lead import Lead
from e2e.command import COMMAND, need_command
from testbed.host import find_tool, need_tools
from testbed.slurm import slurm
from testbed.stand_in import is_alive, mode_of
from testbed.stand_in_command import CommandStandIn, command_stand_in

SBATCH = Path(__file__).parents[2] / "deploy" / "slurm" / "assay.sbatch"
PATIENCE_S = 600.0
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "plm", "isolated"]
MPIRUN += ["--mca", "orte_abort_on_non_zero_status", "0"]


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


@pytest.mark.parametrize("fails", ["", "r1"])
def test_mpirun_starts_workers_and_one_that_fails_does_not_take_the_others_along(tmp_path: Path, fails: str) -> None:
    need_tools("mpirun")
    program = command_stand_in(tmp_path / "bin", fails=fails)
    join = tmp_path / "join" / "join.json"
    join.parent.mkdir(mode=0o700)
    words = [*MPIRUN, "-np", "3"]
    # On three machines each is called as its machine is; here all are on one.
    called = ["bash", "-c", 'exec assay worker --join "$1" --name "r$OMPI_COMM_WORLD_RANK"', "worker", str(join)]
    environment = os.environ | _path(program)

    with subprocess.Popen([*words, *called], env=environment, stdin=subprocess.DEVNULL) as workers:
        leader = ["assay", "run", "--join", str(join), "--clients", "3"]
        subprocess.run(leader, env=environment, timeout=PATIENCE_S, check=True)
        workers.wait(PATIENCE_S)

    names = {f"r{rank}" for rank in range(3)}
    assert all(program.seen(name)["key"] == "the key" for name in names)
    assert program.let_go() == names - {fails}


@pytest.mark.testbed
def test_real_workers_are_started_by_srun_and_join_their_leader(tmp_path: Path) -> None:
    need_command()
    join = tmp_path / "join"
    named = ["bash", "-c", 'exec "$1" worker --join "$2" --name "$SLURMD_NODENAME"', "worker", str(COMMAND), str(join)]

    with slurm(3) as cluster, Lead("127.0.0.1", join) as lead:
        words = [find_tool("srun") or "srun", "--nodes=3", "--ntasks-per-node=1", *named]
        environment = cluster.environment | {"XDG_STATE_HOME": str(tmp_path / "state")}
        with subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL) as started:
            connection = lead.gather(3, PATIENCE_S, lambda _: None)
            names, versions = (
                list(connection.clients),
                {one.hello.engine.version for one in connection.clients.values()},
            )
            connection.close()
            code = started.wait(PATIENCE_S)

        assert (names, versions, code) == (list(cluster.nodes), {__version__}, 0)
    assert not join.exists()


def test_real_workers_are_started_by_mpirun_and_join_their_leader(tmp_path: Path) -> None:
    need_command()
    need_tools("mpirun")
    join = tmp_path / "join"
    named = [
        "bash",
        "-c",
        'exec "$1" worker --join "$2" --name "r$OMPI_COMM_WORLD_RANK"',
        "worker",
        str(COMMAND),
        str(join),
    ]

    with Lead("127.0.0.1", join) as lead:
        environment = os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")}
        with subprocess.Popen([*MPIRUN, "-np", "2", *named], env=environment, stdin=subprocess.DEVNULL) as started:
            connection = lead.gather(2, PATIENCE_S, lambda _: None)
            names, versions = (
                list(connection.clients),
                {one.hello.engine.version for one in connection.clients.values()},
            )
            connection.close()
            code = started.wait(PATIENCE_S)

    assert (names, versions, code) == (["r0", "r1"], {__version__}, 0)
