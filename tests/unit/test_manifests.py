"""The manifests for Kubernetes are what its API takes, and fit each other; the job script of Slurm is read by bash."""

import copy
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
OLDEST = "1.29"
"""The first in which a failed index of a Job leaves the others alone without a switch that is off."""
VERSIONS = [OLDEST, kubernetes_validate.latest_version()]


def _documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(path.read_text(encoding="utf-8")) if document is not None]


def _job(name: str) -> dict[str, Any]:
    (found,) = [
        document
        for path in MANIFESTS
        for document in _documents(path)
        if (document["kind"], document["metadata"]["name"]) == ("Job", name)
    ]
    return found


def _pod(job: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = job["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifests_are_what_the_api_takes_and_have_no_field_that_it_does_not_know(path: Path, version: str) -> None:
    documents = _documents(path)

    assert documents
    for document in documents:
        kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("spec", "completion"), 4),
        (("spec", "completionMode"), 1),
        (("spec", "template", "spec", "affinity", "podAntiAffinty"), {}),
        (("spec", "template", "spec", "volumes", 0, "secret", "secret"), "x"),
    ],
)
def test_a_field_that_is_misspelt_or_of_another_kind_would_be_seen(where: tuple[str | int, ...], value: object) -> None:
    job = copy.deepcopy(_job("assay-worker"))
    place: Any = job
    for step in where[:-1]:
        place = place[step]
    place[where[-1]] = value

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, VERSIONS[-1], strict=True)


def test_the_leader_waits_for_as_many_workers_as_there_are() -> None:
    spec = _job("assay-worker")["spec"]
    words = _pod(_job("assay-leader"))["containers"][0]["command"]

    assert spec["completions"] == spec["parallelism"]
    assert f"--clients={spec['completions']}" in words


def test_no_two_workers_are_on_one_node() -> None:
    job = _job("assay-worker")
    (term,) = _pod(job)["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]

    assert term["topologyKey"] == "kubernetes.io/hostname"
    assert term["labelSelector"]["matchLabels"].items() <= job["spec"]["template"]["metadata"]["labels"].items()
    assert job["spec"]["completionMode"] == "Indexed"


def test_the_key_of_a_run_is_for_its_user_alone_and_on_no_disk() -> None:
    volumes = {volume["name"]: volume for volume in _pod(_job("assay-worker"))["volumes"]}

    assert volumes["secret"]["secret"]["defaultMode"] == 0o400
    assert volumes["join"]["emptyDir"]["medium"] == "Memory"
    assert _pod(_job("assay-leader"))["volumes"][0]["emptyDir"]["medium"] == "Memory"


@pytest.mark.parametrize("name", ["assay-leader", "assay-worker"])
def test_what_is_mounted_is_a_volume_of_the_pod(name: str) -> None:
    pod = _pod(_job(name))

    mounted = {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]}

    assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_the_job_script_is_one_that_bash_reads() -> None:
    done = subprocess.run(
        ["bash", "-n", str(DEPLOY / "slurm" / "assay.sbatch")], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
