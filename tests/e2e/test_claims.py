"""Are claims judged by the installed command, with its exit codes, against tables and against a run?"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.command import Assay
from testbed.devices import MIB, filesystem, loop_device
from testbed.first import going_first

TABLE = "# unit: MB/s\nkind,reads,writes\na,100,50\nb,104,51\n"
TRUE = "reads is faster than writes"
FALSE = "max(reads) is at most 90 MB/s"
OPEN = "max(reads) is faster than min(reads)\nspeed is 5 MB/s"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Figures of somebody's report."""
    path = tmp_path / "report.csv"
    path.write_text(TABLE)
    return path


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (TRUE, (), 0),
        (f"{TRUE}\n{FALSE}", (), 1),
        (f"{TRUE}\n{OPEN}\nspeed is 5 MB/s", (), 0),
        (f"{TRUE}\nspeed is 5 MB/s", ("--strict",), 1),
        (TRUE, ("--strict",), 0),
    ],
)
def test_the_exit_code_is_that_of_the_worst_claim(
    text: str, options: tuple[str, ...], code: int, assay: Assay, table: Path
) -> None:
    claims = table.with_name("claims.txt")
    claims.write_text(text)

    done = assay("claims", claims, "--table", table, *options, check=code)

    assert re.search(r"\d claims?: \d supported, \d contradicted, \d not decidable\.", done.stdout)
    assert sorted(path.name for path in table.parent.iterdir() if path.is_file()) == ["claims.txt", "report.csv"]


def test_json_and_markdown_have_the_same_verdicts_with_their_figures(assay: Assay, table: Path, tmp_path: Path) -> None:
    claims = tmp_path / "claims.toml"
    claims.write_text(
        f"title = 'Report'\n[tables]\nr = '{table.name}'\n[[claim]]\nid = 'w'\ntext = 'a | b'\nsays = '{FALSE}'\n"
    )

    found = json.loads(assay("claims", claims, "--json", check=1).stdout)
    page = assay("claims", claims, "--markdown", check=1).stdout

    (claim,) = found["claims"]
    assert found["schema"] == "assay.claims/1"
    assert (claim["id"], claim["verdict"]) == ("w", "contradicted")
    computed = claim["sentences"][0]["computed"]
    assert (computed["values"], computed["unit"], computed["accepted"]) == ([104], "MB/s", [None, 90])
    assert "| w | a \\| b | contradicted | it is 104 MB/s; required: at most 90 MB/s |" in page


def test_bad_input_is_refused_in_a_line(assay: Assay, table: Path, tmp_path: Path) -> None:
    claims, linked = tmp_path / "claims.toml", tmp_path / "linked.csv"
    linked.symlink_to(table)
    for text, options, told in (
        ("x", (), "claims.toml"),
        ("[[claim]]\nsays = 'it flew'", (), "claim 1: 'it flew'"),
        ("[tables]\nt = '../../etc/passwd'\n[[claim]]\nsays = 'x is 5'", (), "not a file next to this one"),
        ("[tables]\nt = 'linked.csv'\n[[claim]]\nsays = 'x is 5'", (), "linked.csv"),
        ("[[claim]]\nsays = 'x is 5'", ("--table", tmp_path / "absent.csv"), "there is no table"),
        ("[[claim]]\nsays = 'x is 5'", ("--mb", "some"), "--mb 'some'"),
        ("[[claim]]\nsays = 'x is 5'", ("--json", "--markdown"), "choose one"),
        ("[[claim]]\nsays = 'iops of last is 5'", (), "there is no run"),
    ):
        claims.write_text(text)
        done = assay("claims", claims, *options, check=2)
        assert told in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert "there is no file" in assay("claims", tmp_path / "absent.toml", check=2).stderr


def test_what_a_run_measured_is_held_to_what_is_said_of_it(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    assay("measure", tmp_path / "data", "--read", "--size", "4m", "--time", "0.3s", "--bs", "4k", "--tag", "mine")
    claims = tmp_path / "claims.txt"
    claims.write_text(
        "rate of tag:mine is at most 100,000,000,000 IOPS as measured\n"
        "rate of last is less than 0.001 IOPS as measured\n"
        "p99 of last is below 2 MiB/s\n"
        "tag:mine is faster than last\n"
        "nothing: iops is at least 5\n"
    )

    found = json.loads(assay("claims", claims, "--json").stdout)["claims"]

    # A run that was disturbed decides nothing, and says so.
    for claim, verdict in zip(found[:2], ("supported", "contradicted"), strict=True):
        assert claim["verdict"] == verdict or "not trusted" in claim["sentences"][0]["reason"]
    assert [claim["verdict"] for claim in found[2:]] == ["not_decidable"] * 3
    reasons = [claim["sentences"][0]["reason"] for claim in found[2:]]
    for reason, told in zip(reasons, ("a unit of time", "the same runs", "no result 'nothing'"), strict=True):
        assert told in reason


RATES = {"slow": 200, "fast": 320}
"""Reads a second of an open loop: what was measured is known beforehand."""
REPEATS, ATTEMPTS = 3, 2
OF_RUNS = {
    "iops of tag:slow is within 5 % of 200 IOPS as measured": "supported",
    "rate of tag:slow is at least 300 IOPS as measured": "contradicted",
    "tag:fast is about 60 % faster than tag:slow": "supported",
    "tag:fast is slower than tag:slow": "contradicted",
    "iops of tag:fast is between 300 and 340 IOPS from server cache": "not_decidable",
    "p50 of tag:fast is below 2 MiB/s as measured": "not_decidable",
}


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Path]:
    """A directory on a device that nobody else uses."""
    with loop_device(512 * MIB, backing=tmp_path) as device, filesystem(device, "ext4") as directory:
        yield directory


@pytest.mark.quiet
@pytest.mark.held
@pytest.mark.testbed
def test_claims_of_runs_whose_rates_are_known_have_the_verdicts_that_follow(
    assay: Assay, alone: Path, tmp_path: Path
) -> None:
    usable = {tag: measure_quietly(assay, alone, tag, rate) for tag, rate in RATES.items()}
    claims = tmp_path / "claims.txt"
    claims.write_text("\n".join(OF_RUNS))

    found = json.loads(assay("claims", claims, "--json").stdout)["claims"]

    assert [claim["text"] for claim in found] == list(OF_RUNS)
    for claim in found:
        expected, reason = OF_RUNS[claim["text"]], claim["sentences"][0]["reason"]
        left = [count for tag, count in usable.items() if f"tag:{tag}" in claim["text"]]
        if min(left) == REPEATS:
            assert claim["verdict"] == expected, claim
        elif min(left) > 0:
            # Other programs disturbed some repeats of a tag: the others decide it, or are too few to.
            assert claim["verdict"] == expected or "not trusted" in reason, claim
            assert "its number is not trusted" not in reason, claim
        else:
            # No repeat is left, so nothing that names the tag is decided.
            assert claim["verdict"] == "not_decidable", claim
            assert "not trusted" in reason or expected == "not_decidable", claim


def measure_quietly(assay: Assay, directory: Path, tag: str, rate: int) -> int:
    """Measure until other programs have left the machine alone for a run; tag that one, and count its usable repeats."""
    words = ("--read", "--random", "--bs", "4k", "--direct", "--size", "16m", "--time", "4s", "--rate", f"{rate}")
    usable = 0
    for _ in range(ATTEMPTS):
        with going_first():
            done = assay("measure", directory, *words, "--repeat", f"{REPEATS}", "--json")
        assert done.returncode in {0, 1}, done.stderr
        results = json.loads(done.stdout)["results"]
        assert len(results) == REPEATS
        usable = sum(result["trust"]["level"] != "no" for result in results)
        if usable == REPEATS:
            break
    assay("tag", "last", "--tag", tag, check=0)
    return usable
