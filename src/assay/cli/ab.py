"""`assay ab A B`: measure in turns, and compare."""

import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.comparing import (
    Ceiling,
    Charts,
    ComparisonFiles,
    Effect,
    FileWeights,
    Gates,
    GateStrict,
    Html,
    Markdown,
    Pictures,
    Regions,
    Xlsx,
)
from assay.cli.options import Json, Runs, Tag
from assay.cli.pipes import say

if TYPE_CHECKING:
    from assay.compare.comparison import Comparison
    from assay.results import Document
    from assay.running.stopping import Stops

_TICK_S = 1.0


def ab(
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="A B [C ...]",
            help="What is measured: the words of an assay command, such as 'measure /mnt/a --read --random'; with --on DIR a"
            " load file or the name of a suite is enough.",
        ),
    ],
    on: Annotated[
        str | None, typer.Option("--on", metavar="DIR", help="The directory for sides that are loads alone.")
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            metavar="N",
            min=1,
            max=1000,
            help="Measure each so often [default: from 5 to 15 times, until the ratio is known to within the effect].",
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="T", help="Begin no round that would end after so long: 30min.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the order within rounds.")] = 1,
    effect: Effect = 3.0,
    gate: Gates = None,
    gate_strict: GateStrict = False,
    region: Regions = None,
    weights: FileWeights = None,
    ceiling: Ceiling = None,
    markdown: Markdown = False,
    html: Html = None,
    charts: Charts = None,
    picture_format: Pictures = "png",
    xlsx: Xlsx = None,
    json: Json = False,
    tag: Tag = None,
    runs: Runs = None,
) -> None:
    """Measure A and B in turns (ABBA), each round anew, and compare them as `assay compare` does.

    Every measurement is a run of its own and kept; the ids are in --json. Ctrl-C ends the round and compares what is whole.
    """
    from assay.cli.comparing import asked_of_surfaces, surveyed, told
    from assay.compare.arms import Arm
    from assay.compare.gate import parse_gate
    from assay.errors import INTERRUPTED, InputError
    from assay.units import parse_seconds

    if len(sides) < 2 or len(set(sides)) < len(sides):
        raise InputError(
            "ab: two sides are the least, each another: assay ab 'measure DIR --bs 4k' 'measure DIR --bs 8k'"
        )
    if markdown and json:
        raise InputError("--markdown and --json: choose one")
    gates = [parse_gate(text) for text in gate or ()]
    files = ComparisonFiles(html, charts, picture_format, xlsx)
    files.check(len(sides))
    questions = asked_of_surfaces(region, weights, ceiling)
    more = [word for each in tag or () for word in ("--tag", each)] + (["--runs", str(runs)] if runs else [])
    series = MeasuredInTurns(
        names=sides,
        commands=[[*_words(side, on), *more] for side in sides],
        rounds=rounds,
        effect=effect / 100,
        budget_s=None if budget is None else parse_seconds(budget),
        seed=seed,
    )
    is_whole = series.measure()
    if not all(series.found):
        raise typer.Exit(INTERRUPTED)
    arms = [Arm.of(name, found) for name, found in zip(sides, series.found, strict=True)]
    found = surveyed(series.compared(), arms, questions, runs)
    code = told(found, arms, gates, strict=gate_strict, json=json, markdown=markdown, files=files, runs=runs)
    raise typer.Exit(code if is_whole else INTERRUPTED)


def _words(side: str, on: str | None) -> list[str]:
    """Read what a side is, as the words of a command that measures."""
    import shlex

    from assay.errors import InputError
    from assay.loads import suites
    from assay.tools.registry import TOOLS

    try:
        words = shlex.split(side)
    except ValueError as error:
        raise InputError(f"ab: '{side}': {error}") from error
    measuring = {"quick", "measure", "run", "rerun", *TOOLS}
    if words and words[0] in measuring:
        refused = next((word for word in words if word.split("=")[0] in {"--json", "--live-json", "--runs"}), None)
        if refused:
            raise InputError(f"ab: '{side}': {refused} is for all sides: give it to ab")
        return words
    if len(words) == 1 and (words[0].endswith(".toml") or words[0] in {*suites.names(), *suites.examples()}):
        if on is None:
            raise InputError(f"ab: '{side}' is a load; --on DIR says where to measure it")
        return ["run", words[0], on]
    raise InputError(f"ab: '{side}' does not begin with a command that measures: {', '.join(sorted(measuring))}")


class MeasuredInTurns:
    """Measurements in turns."""

    def __init__(
        self,
        *,
        names: Sequence[str],
        commands: Sequence[Sequence[str]],
        rounds: int | None,
        effect: float,
        budget_s: float | None,
        seed: int,
    ) -> None:
        """Measure nothing yet."""
        self._names, self._commands = names, commands
        self._rounds, self._effect, self._budget_s, self._seed = rounds, effect, budget_s, seed
        self.found: list[list[Document]] = [[] for _ in commands]
        """What was measured, by side; as many of each."""

    def compared(self) -> "Comparison":
        """Compare what is there."""
        from assay.compare.arms import Arm
        from assay.compare.comparison import compare

        return compare([Arm.of(name, found) for name, found in zip(self._names, self.found, strict=True)], self._effect)

    def measure(self) -> bool:
        """Measure round after round. False: the user ended it; the round that was not whole is left out."""
        from assay.running.stopping import Stops

        with Stops() as stops:
            return self._measure(stops)

    def _measure(self, stops: "Stops") -> bool:
        from assay.compare.turns import MOST_ROUNDS, is_enough, orders
        from assay.report.comparison_text import so_far_words

        most = self._rounds or MOST_ROUNDS
        begun_s, longest_s = time.monotonic(), 0.0
        for number, order in zip(range(1, most + 1), orders(len(self._commands), self._seed), strict=False):
            round_s = time.monotonic()
            if self._budget_s is not None and number > 1 and round_s - begun_s + longest_s > self._budget_s:
                say(f"the budget ends it after {number - 1} rounds", err=True)
                break
            measured: dict[int, Document] = {}
            for side in order:
                document = None if stops.count else self._one(side, f"round {number} of {most}", stops)
                if document is None:
                    return False
                measured[side] = document
            for side, document in measured.items():
                self.found[side].append(document)
            longest_s = max(longest_s, time.monotonic() - round_s)
            so_far = self.compared()
            say("\n".join(so_far_words(so_far, number)), err=True)
            if self._rounds is None and is_enough(so_far, number):
                say(f"known to within {100 * self._effect:g} % after {number} rounds", err=True)
                break
        return True

    def _one(self, side: int, place: str, stops: "Stops") -> "Document | None":
        """Carry out the command of a side, in a session of its own, so that a signal reaches it from here alone.

        Returns:
            What it measured; None where a signal ended it.
        """
        import signal
        import subprocess
        import sys
        import tempfile

        import msgspec

        from assay.errors import RunError
        from assay.results import Document

        command = [sys.executable, "-m", "assay", *self._commands[side], "--json", "--no-report", "--quiet"]
        with (
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            ) as process,
        ):
            handed_on, begun_s = 0, time.monotonic()
            while process.poll() is None:
                self._tick(side, place, time.monotonic() - begun_s)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=_TICK_S)
                while handed_on < stops.count:
                    process.send_signal(signal.SIGTERM)
                    handed_on += 1
            if stops.count:
                return None
            out.seek(0)
            err.seek(0)
            text, told = out.read(), err.read().decode(errors="replace")
        if process.returncode not in {0, 1}:
            raise RunError(f"ab: '{self._names[side]}' ended with {process.returncode}: {told.strip()[-2000:]}")
        try:
            return msgspec.json.decode(text, type=Document)
        except msgspec.MsgspecError as error:
            raise RunError(f"ab: '{self._names[side]}' printed no results: {error}") from error

    def _tick(self, side: int, place: str, since_s: float) -> None:
        """Say what goes on: on a terminal once a second on one line, elsewhere once a measurement."""
        import sys

        letter = chr(ord("A") + side)
        if sys.stderr.isatty():
            say(f"\r{place}, {letter}, {since_s:.0f} s ", err=True, end="")
        elif since_s < _TICK_S:
            say(f"{place}, {letter}: {self._names[side]}", err=True)
