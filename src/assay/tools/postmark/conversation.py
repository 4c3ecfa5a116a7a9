"""PostMark's commands and their answers: from a file, at a prompt, or piped in."""

import dataclasses
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from assay.errors import COULD_NOT_RUN, MEASURED, AssayError, FrontEndError, InputError, Interrupted, RunError
from assay.input_text import MOST_BYTES, read_text
from assay.outputs import output
from assay.tools.arguments import cut
from assay.tools.front_end import RunContext
from assay.tools.postmark import commands
from assay.tools.postmark.settings import Settings

PROMPT = "pm>"
_DEEPEST_LOAD = 16
_MOST_LINES = 100_000
_LONGEST_BYTES = 1 << 20


class Conversation:
    """Commands and their answers, with what was set so far."""

    def __init__(self, context: RunContext) -> None:
        """Begin with PostMark's defaults."""
        self.settings = Settings()
        self.exit_code = MEASURED
        self._context = context
        self._print = context.write
        self._depth = 0
        self._lines = 0

    def read(self, name: str) -> bool:
        """Follow the commands of a file; True: one of them was `quit`. Raises InputError at the first that is wrong."""
        try:
            text = read_text(name, "file of commands")
        except FileNotFoundError as error:
            raise InputError(f"Error: cannot read configuration file '{name}': {error.strerror}") from error
        if self._depth == _DEEPEST_LOAD:
            raise InputError(
                f"{name}: files that load files are followed {_DEEPEST_LOAD} deep; do they load themselves?"
            )
        self._print(f"Reading configuration from file '{name}'\n")
        self._depth += 1
        try:
            return any(self._strictly(name, number, line) for number, line in enumerate(text.splitlines(), start=1))
        finally:
            self._depth -= 1

    def prompt(self) -> None:
        """Follow what is typed, or piped in, until `quit` or the end of it."""
        is_typed = sys.stdin.isatty()
        for number, line in enumerate(self._prompt_lines(), start=1):
            if is_typed:
                if self._forgivingly(line):
                    return
            elif self._strictly("standard input", number, commands.meant(line)):
                return

    def _prompt_lines(self) -> Iterable[str]:
        while True:
            self._print(PROMPT)
            sys.stdout.flush()
            line = sys.stdin.readline(MOST_BYTES)
            if not line:
                return
            yield line.removesuffix("\n").removesuffix("\r")

    def _strictly(self, source: str, number: int, line: str) -> bool:
        """One line of a file or a pipe: an error ends it, since no user can correct it."""
        self._lines += 1
        if self._lines > _MOST_LINES:
            raise FrontEndError(source, number, f"more than {_MOST_LINES} lines, with those of files that are loaded")
        if line.startswith("!"):
            raise FrontEndError(
                source,
                number,
                f"'{cut(line)}': programs are started at the interactive prompt only, never from a file",
            )
        try:
            return self.follow(line)
        except commands.UnknownCommandError as error:
            self._print(f"{error}\n")
            if line.strip() and not line.lstrip().startswith("#"):
                text = f"'{cut(line)}' is not a command. 'help' lists them; a note begins with '#'"
                raise FrontEndError(source, number, text) from error
            return False
        except FrontEndError:
            raise
        except InputError as error:
            raise FrontEndError(source, number, str(error)) from error

    def _forgivingly(self, line: str) -> bool:
        """One line that was typed: its fault is reported, and the next line may correct it."""
        if line.startswith("!"):
            os.system(line[1:].strip() or os.environ.get("SHELL", "/bin/sh"))  # noqa: S605 - typed by a person
            return False
        try:
            return self.follow(commands.meant(line))
        except commands.UnknownCommandError as error:
            self._print(f"{error}\n")
        except Interrupted:
            raise
        except AssayError as error:
            self.exit_code = COULD_NOT_RUN if isinstance(error, RunError) else self.exit_code
            sys.stderr.write(f"{error}\n")
        return False

    def follow(self, line: str) -> bool:
        """Execute one command; True: it was `quit`."""
        answer = commands.follow(line, self.settings)
        match answer:
            case commands.Quit():
                return True
            case commands.Help(text=text):
                self._print(text)
            case commands.Show(file=file):
                self._write(self.settings.show(str(Path.cwd())), file)
            case commands.LoadCommands(file=file):
                return self.read(file)
            case commands.Measure(report=report):
                asked = dataclasses.replace(self.settings, report=report)
                self.exit_code = max(self.exit_code, self._context.measure(asked.words()))
            case settings:
                self.settings = settings
        return False

    def _write(self, text: str, file: str) -> None:
        if not file:
            self._print(text)
            return
        if self._context.may_write(file):
            append(file, text)


def append(file: str, text: str = "") -> None:
    """Write at the end of a file; raises InputError with PostMark's words where that cannot be."""
    try:
        with output(Path(file), appends=True) as end:
            end.write(text.encode())
    except InputError as error:
        raise InputError(f"Error: Cannot direct output to file '{file}': {error}") from error
    except OSError as error:
        raise InputError(f"Error: Cannot direct output to file '{file}': {error.strerror}") from error
