"""Whatever a run is named and says: no command hands it to the terminal, and none fails over it."""

import json
import os
import re
import sys
from pathlib import Path

import msgspec
import pytest

from assay.bundle import RunBundle
from assay.bundle.remarks import Remarks
from assay.events import Event, Hello, Mark, Warning  # noqa: A004 - the name of the line in the stream
from assay.host.facts import Fact
from assay.outward import plain
from e2e.command import Assay, on_a_terminal
from unit.bundle_streams import encoded, plan, stream

HOSTILE = (
    "m[/b] [red]x :smile: \x1b]0;owned\x07\x1b[2J\x9b31m \x7f\r\u202egpj.exe\u2066 =A(1) <script>alert(1)</script>"
)
"""Markup, escape sequences of both kinds, overrides of the writing direction, a formula and a script."""

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
ORDERS = re.compile(r"\x1b\[\?25[lh]|\x1b\[[0-9]*[AGK]|\r")
"""What the live display asks of a terminal: the cursor, up, to the left, clear the line."""


@pytest.fixture
def hostile(assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the id of a stranger's run in which every text that can be anything is hostile."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "stranger"))
    replace = msgspec.structs.replace
    made = plan()
    (phase,) = made.phases
    phase = replace(phase, title=HOSTILE)
    made = replace(made, name=HOSTILE, phases=(phase,), origin=replace(made.origin, source=HOSTILE))
    argv = ["assay", "run", HOSTILE]
    bundle = RunBundle.create(assay.runs, "x", plan=made, argv=argv, source_text=HOSTILE, remarks=Remarks(note=HOSTILE))
    bundle.record_facts(
        [
            Fact(key="target.data.directory", value=HOSTILE, source=HOSTILE),
            Fact(key="target.data.fs.type", value=HOSTILE, source="user"),
            Fact(key="target.data.device.diskstats", value=(HOSTILE,), source="user"),
            Fact(key="target.data.device.model", value=HOSTILE, source="user"),
            Fact(key=f"target.{HOSTILE}", value=HOSTILE, source="user"),
            Fact(key="given.expect", value=(HOSTILE, f"{HOSTILE[:20]}: p99<2ms", "read:iops>=1\n\n"), source="user"),
            Fact(key="target.data.device.0.name", value=HOSTILE, source="user"),
            Fact(key="target.data.device.0.model", value=HOSTILE, source="user"),
            Fact(key="quick.size_reason", value=HOSTILE, source="assay"),
        ]
    )
    hello, *rest = stream(3)
    assert isinstance(hello, Hello)
    hello = replace(hello, machine=replace(hello.machine, hostname=HOSTILE, kernel=HOSTILE))
    said: list[Event] = [
        Warning(t_ns=2, phase_index=0, id=HOSTILE, text=HOSTILE, cure=HOSTILE),
        Mark(t_ns=1_300_000_000, label=HOSTILE, source=HOSTILE),
    ]
    bundle.events_path.write_bytes(encoded([hello, *said, *rest]))
    bundle.seal()
    monkeypatch.undo()
    return bundle.run_id


def faults(text: str) -> str:
    """Say which characters of a text a terminal would obey."""
    return "".join(sorted({shown for shown in text if plain(shown) != shown}))


def test_no_command_hands_it_on_or_fails(assay: Assay, hostile: str, tmp_path: Path) -> None:
    other = RunBundle.create(assay.runs, "other", plan=plan(), argv=["assay"])
    other.events_path.write_bytes(encoded(stream(3)))
    other.seal()
    commands: list[tuple[int, list[str]]] = [
        (0, ["ls"]),
        (0, ["ls", "--json"]),
        (0, ["tag", hostile]),
        (0, ["tag", hostile, "--json"]),
        (2, ["tag", hostile, "--name", HOSTILE]),
        (2, ["tag", hostile, "--untag", HOSTILE]),
        (2, ["ls", "--since", HOSTILE]),
        (1, ["show", hostile]),
        (0, ["show", hostile, "--json"]),
        (2, ["show", hostile, "--classic"]),
        (0, ["report", hostile, "-o", str(tmp_path / "report.html")]),
        (0, ["export", hostile, "--charts", str(tmp_path / "charts"), "--format", "svg"]),
        (0, ["export", hostile, "-o", str(tmp_path / "run.tar.gz")]),
        (2, ["export", hostile, "--files", str(tmp_path / "files")]),
        (1, ["diff", hostile, other.run_id, "--all"]),
        (0, ["compare", hostile, other.run_id]),
        (0, ["compare", hostile, other.run_id, "--markdown"]),
        (0, ["compare", hostile, other.run_id, "--json"]),
        (2, ["compare", hostile, f"tag:{HOSTILE}"]),
        (2, ["compare", hostile, other.run_id, "--gate", HOSTILE]),
        (2, ["rerun", hostile]),
        (2, ["show", HOSTILE]),
        (2, ["run", HOSTILE, str(tmp_path)]),
        (2, ["run", f"{HOSTILE}.toml".replace("/", "-"), str(tmp_path)]),
        (2, ["quick", HOSTILE]),
        (2, ["measure", HOSTILE]),
        *(
            (2, ["measure", str(tmp_path), option, HOSTILE])
            for option in ("--bs", "--mix", "--engine", "--rate", "--limit")
        ),
        (2, ["clean", HOSTILE]),
        (2, ["bonnie", "-d", HOSTILE]),
        (2, [HOSTILE]),
    ]
    shown = {}
    for expected, words in commands:
        done = assay(*words, cwd=tmp_path)
        sys.stdout.write(f"assay {words}: exit code {done.returncode}\n{plain(done.stderr)}\n")
        assert faults(done.stdout) == faults(done.stderr) == "", words
        assert "Traceback" not in done.stderr, words
        assert (done.returncode in {0, 1}) if expected < 2 else (done.returncode == expected), words
        shown[" ".join(words)] = done.stdout

    assert "m[/b]" in shown["ls"]
    assert {run["load"] for run in json.loads(shown["ls --json"])} == {HOSTILE, "quick"}
    assert json.loads(shown[f"show {hostile} --json"])["results"][0]["title"] == HOSTILE
    page = (tmp_path / "report.html").read_text()
    assert faults(page) == ""
    assert "<script>alert" not in page
    specs = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page)
    assert "[2J" in "".join(specs)
    assert "\\u001b" not in "".join(specs)
    for drawing in (tmp_path / "charts").iterdir():
        assert faults(drawing.read_text()) == "", drawing


def test_a_locale_that_knows_ascii_alone_is_no_way_around(assay: Assay, hostile: str, tmp_path: Path) -> None:
    ascii_alone = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    for words in (["ls"], ["ls", "--json"], ["show", hostile], ["show", HOSTILE], ["diff", hostile, hostile, "--all"]):
        done = assay(*words, cwd=tmp_path, env=ascii_alone)
        sys.stdout.write(f"LC_ALL=C assay {words}: {done.stderr}\n")
        assert faults(done.stdout) == faults(done.stderr) == "", words
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["ls"], ["show"], ["diff"], ["rerun"]])
def test_a_terminal_gets_colours_and_nothing_else(assay: Assay, hostile: str, tmp_path: Path, words: list[str]) -> None:
    asked = [*words, *([hostile] if words != ["ls"] else []), *([hostile, "--all"] if words == ["diff"] else [])]

    text = on_a_terminal(assay, asked, tmp_path)

    sys.stdout.write(f"assay {words[0]} on a terminal: {text!r}\n")
    assert faults(COLOURS.sub("", text).replace("\r\n", "\n")) == ""


def test_the_display_of_a_run_shows_and_does_not_obey(assay: Assay, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    title = json.dumps("m[/b] \x1b]0;owned\x07 \u202e")
    load = tmp_path / "load.toml"
    load.write_text(
        f'name = {title}\n[[file_set]]\nname = "files"\nsize = "64KiB"\n[[phase]]\nname = "p"\ntitle = {title}\n'
        'seconds = 1\n[[phase.job]]\nop = {op = "read", set = "files", size = "4KiB"}\n'
    )

    text = on_a_terminal(assay, ["run", str(load), str(place), "--no-report"], tmp_path)

    assert "m[/b] \N{REPLACEMENT CHARACTER}]0;owned" in text
    assert faults(ORDERS.sub("", COLOURS.sub("", text))) == ""


@pytest.mark.parametrize("version", ["1.03", "1.96", "2.00"])
def test_the_machines_name_in_a_line_of_bonnie_is_one_cell_and_no_formula(
    assay: Assay, tmp_path: Path, version: str
) -> None:
    name = '=HYPERLINK("http://x")'
    user = ("-u", "root") if os.geteuid() == 0 else ()
    words = ("-d", tmp_path, *user, "-r", "0", "-s", "0", "-n", "1", "-q", "-m", name, "--format", version)

    done = assay("bonnie", *words, "--no-report")

    assert done.returncode in {0, 1}, done.stderr
    cells = done.stdout.strip().split(",")
    sys.stdout.write(f"{cells}\n")
    assert len(cells) == {"1.03": 27, "1.96": 48, "2.00": 50}[version]
    assert "'=HYPERLINK( http://x )" in cells
    assert [cell for cell in cells if cell[:1] in {"=", "-", "@", "\t"}] == []
    assert all(set(cell) == {"+"} for cell in cells if cell.startswith("+"))
