"""Measure the sides of `assay ab` in turns, round after round; each measurement is a run."""

import contextlib
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.cli.pipes import echo
from assay.live.progress_line import ProgressLine

if TYPE_CHECKING:
    from assay.compare.comparison import Comparison
    from assay.results import Document
    from assay.running.stopping import Stops

_TICK_S = 1.0


class MeasuredInTurns:
    """Measurements in turns."""

    def __init__(
        self,
        *,
        names: Sequence[str],
        commands: Sequence[Sequence[str]],
        rounds: int | None,
        effect: float,
        headline: str | None,
        budget_s: float | None,
        seed: int,
    ) -> None:
        """Measure nothing yet."""
        self.names, self._commands = names, commands
        self.headline = headline
        self._rounds, self.effect, self._budget_s, self.seed = rounds, effect, budget_s, seed
        self._begun_s = time.monotonic()
        self._line = ProgressLine(sys.stderr)
        self.found: list[list[Document]] = [[] for _ in commands]
        """What was measured, by side; as many of each."""

    def compared(self) -> "Comparison":
        """Compare what is there."""
        from assay.compare.arms import Arm
        from assay.compare.comparison import compare

        arms = [Arm.of(name, found) for name, found in zip(self.names, self.found, strict=True)]
        return compare(arms, self.effect, headline=self.headline)

    def measure(self, stops: "Stops") -> bool:
        """Measure round after round. False: the user ended it; the round that was not whole is left out."""
        from assay.compare.turns import MOST_ROUNDS, is_enough, orders
        from assay.report.comparison_text import so_far_words

        most = self._rounds or MOST_ROUNDS
        longest_s = 0.0
        for number, order in zip(range(1, most + 1), orders(len(self._commands), self.seed), strict=False):
            round_s = time.monotonic()
            if number > 1 and not self.has_time(longest_s):
                echo(f"the budget ends it after {number - 1} rounds", err=True)
                break
            measured: dict[int, Document] = {}
            for side in order:
                place = f"round {number} of {most}"
                document = None if stops.count else self.one(side, self._commands[side], place, stops)
                if document is None:
                    return False
                measured[side] = document
            for side, document in measured.items():
                self.found[side].append(document)
            longest_s = max(longest_s, time.monotonic() - round_s)
            so_far = self.compared()
            echo("\n".join(so_far_words(so_far, number)), err=True)
            if self._rounds is None and is_enough(so_far, number):
                echo(f"known to within {100 * self.effect:g} % after {number} rounds", err=True)
                break
        return True

    def has_time(self, for_s: float) -> bool:
        """Whether so many more seconds are within the budget."""
        return self._budget_s is None or time.monotonic() - self._begun_s + for_s <= self._budget_s

    def one(self, side: int, words: Sequence[str], place: str, stops: "Stops") -> "Document | None":
        """Execute a command of a side, in a session of its own, so that a signal reaches it from here alone.

        Args:
            side: Its place among the sides.
            words: The command, without the program's name.
            place: Position among all measurements, for the user.
            stops: Counts signals.

        Returns:
            What it measured; None where a signal ended it.

        Raises:
            RunError: it failed.
        """
        import signal
        import subprocess
        import tempfile

        import msgspec

        from assay.errors import RunError
        from assay.results import Document

        command = [sys.executable, "-m", "assay", *words, "--json", "--no-report", "--quiet"]
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
            self._line.clear()
            if stops.count:
                return None
            out.seek(0)
            err.seek(0)
            text, message = out.read(), err.read().decode(errors="replace")
        if process.returncode not in {0, 1}:
            raise RunError(f"ab: '{self.names[side]}' ended with {process.returncode}: {message.strip()[-2000:]}")
        try:
            return msgspec.json.decode(text, type=Document)
        except msgspec.MsgspecError as error:
            raise RunError(f"ab: '{self.names[side]}' printed no results: {error}") from error

    def _tick(self, side: int, place: str, since_s: float) -> None:
        """Show progress: on a terminal once a second on one line, else once per measurement."""
        letter = chr(ord("A") + side)
        if self._line.is_terminal:
            self._line.show(f"{place}, {letter}, {since_s:.0f} s")
        elif since_s < _TICK_S:
            echo(f"{place}, {letter}: {self.names[side]}", err=True)
