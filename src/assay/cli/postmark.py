"""`assay postmark [FILE]`: PostMark's command language, prompt and report."""

import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from assay.cli import classic
from assay.errors import COULD_NOT_RUN, AssayError, FrontEndError, InputError, Interrupted, RunError

if TYPE_CHECKING:
    from assay.host.facts import Fact
    from assay.tools.postmark.plan import Prepared

BANNER = "PostMark v1.51 : 8/14/01"
OWN_FILE = ".pmrc"
PROMPT = "pm>"
_DEEPEST_LOAD = 16


def postmark(context: typer.Context) -> None:
    """PostMark: small files made, read, appended to and deleted, as a mail server does.

    FILE holds commands, one a line; without it .pmrc of the current directory is read, if it is there. What 'quit' does not
    end goes on at a prompt. 'help' lists the commands, 'show' what is set, 'run' measures. docs/tools/postmark.md says what
    differs from the original.

    Assay's own options: --runs DIR, --json, --no-report.
    """
    arguments = classic.take_apart(context.args)
    if len(arguments.tool) > 1:
        raise InputError(f"postmark {' '.join(arguments.tool)}: give one file of commands, or none for a prompt")
    conversation = Conversation(arguments)
    conversation.say(f"{BANNER}\n")
    named = arguments.tool[0] if arguments.tool else OWN_FILE if Path(OWN_FILE).exists() else None
    if named is None or not conversation.read(named):
        conversation.prompt()
    raise typer.Exit(conversation.exit_code)


class Conversation:
    """Commands and their answers, with what was set so far."""

    def __init__(self, arguments: classic.ClassicArguments) -> None:
        """Begin with PostMark's defaults."""
        from assay.running.session import Session
        from assay.tools.postmark.settings import Settings

        self.settings = Settings()
        self.exit_code = 0
        self._json = arguments.json
        self._session = Session(runs=arguments.runs, json=arguments.json, report=not arguments.no_report)
        self._depth = 0

    def say(self, text: str) -> None:
        """Print on standard output; with `--json` that is for documents alone."""
        typer.echo(text, nl=False, err=self._json)

    def read(self, name: str) -> bool:
        """Follow the commands of a file; True: one of them was `quit`. Raises InputError at the first that is wrong."""
        try:
            text = Path(name).read_text()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise InputError(f"Error: cannot read configuration file '{name}': {reason}") from error
        if self._depth == _DEEPEST_LOAD:
            raise InputError(
                f"{name}: files that load files are followed {_DEEPEST_LOAD} deep; do they load themselves?"
            )
        self.say(f"Reading configuration from file '{name}'\n")
        self._depth += 1
        ended = any(self._strictly(name, number, line) for number, line in enumerate(text.splitlines(), start=1))
        self._depth -= 1
        return ended

    def prompt(self, lines: TextIO | None = None) -> None:
        """Follow what is typed, or piped in, until `quit` or the end of it."""
        source = lines or sys.stdin
        is_typed = source.isatty()
        for number, line in enumerate(self._prompted(source), start=1):
            if is_typed:
                if self._forgivingly(line):
                    return
            elif self._strictly("standard input", number, _meant(line)):
                return

    def _prompted(self, source: TextIO) -> Iterable[str]:
        while True:
            self.say(PROMPT)
            sys.stdout.flush()
            line = source.readline()
            if not line:
                return
            yield line.removesuffix("\n").removesuffix("\r")

    def _strictly(self, source: str, number: int, line: str) -> bool:
        """One line of a file or a pipe: nobody is there to see that it was not understood."""
        from assay.tools.postmark.commands import UnknownCommandError

        if line.startswith("!"):
            raise FrontEndError(
                source, number, f"'{line}': programs are started for a person at the prompt only, never from a file"
            )
        try:
            return self.follow(line)
        except UnknownCommandError as error:
            self.say(f"{error}\n")
            if line.strip() and not line.lstrip().startswith("#"):
                text = f"'{line}' is no command. 'help' lists them; a note begins with '#'"
                raise FrontEndError(source, number, text) from error
            return False
        except FrontEndError:
            raise
        except InputError as error:
            raise FrontEndError(source, number, str(error)) from error

    def _forgivingly(self, line: str) -> bool:
        """One line that was typed: what is wrong with it is said, and the next may mend it."""
        from assay.tools.postmark.commands import UnknownCommandError

        if line.startswith("!"):
            os.system(line[1:].strip() or os.environ.get("SHELL", "/bin/sh"))  # noqa: S605 - typed by a person
            return False
        try:
            return self.follow(_meant(line))
        except UnknownCommandError as error:
            self.say(f"{error}\n")
        except Interrupted:
            raise
        except AssayError as error:
            self.exit_code = COULD_NOT_RUN if isinstance(error, RunError) else self.exit_code
            typer.echo(str(error), err=True)
        return False

    def follow(self, line: str) -> bool:
        """Carry out one command; True: it was `quit`."""
        from assay.tools.postmark import commands

        answer = commands.follow(line, self.settings)
        match answer:
            case commands.Quit():
                return True
            case commands.Help(text=text):
                self.say(text)
            case commands.Show(file=file):
                self._write(self.settings.show(str(Path.cwd())), file)
            case commands.Load(file=file):
                return self.read(file)
            case commands.Measure(report=report):
                self._measure(report)
            case settings:
                self.settings = settings
        return False

    def _write(self, text: str, file: str) -> None:
        if not file:
            self.say(text)
            return
        with _opened(file) as end:
            end.write(text)

    def _measure(self, report: str) -> None:
        from assay.targets import check_directory
        from assay.tools.postmark import output as postmark
        from assay.tools.postmark import rates as postmark_rates
        from assay.tools.postmark.plan import prepare

        named = [place.directory for place in self.settings.locations] or [os.curdir]
        places = [check_directory(Path(name)) for name in named]
        if report:
            _opened(report).close()
        with tempfile.TemporaryDirectory(prefix="assay-postmark-") as folder:
            prepared = prepare(self.settings, places, Path(folder), request=f"run {report}".strip())
            _check_room(prepared, places)
            run, code = self._session.run(prepared.plan, facts=_facts(prepared))
        self.exit_code = max(self.exit_code, code)
        if report and not self._json:
            self._write(postmark.report(run), report)
        for line in postmark_rates.beside(run):
            typer.echo(line, err=True)


def _opened(file: str) -> TextIO:
    try:
        return Path(file).open("a")
    except OSError as error:
        raise InputError(f"Error: Cannot direct output to file '{file}': {error.strerror}") from error


def _check_room(prepared: "Prepared", places: Sequence[Path]) -> None:
    """Refuse a run whose files do not fit beside the reserve when they take most; raises RunError."""
    from assay.units import format_bytes

    needed: dict[int, int] = {}
    for place, peak_bytes in zip(places, prepared.peak_bytes, strict=True):
        device = place.stat().st_dev
        needed[device] = needed.get(device, 0) + peak_bytes
        numbers = os.statvfs(place)
        room = numbers.f_bavail * numbers.f_frsize - prepared.plan.reserve_bytes
        if needed[device] > room:
            raise RunError(
                f"{place}: the files take up to {format_bytes(needed[device])}, and only {format_bytes(max(0, room))} are "
                f"free there beside the reserve of {format_bytes(prepared.plan.reserve_bytes)}. Set fewer or smaller files "
                "('set number', 'set size'), or another location"
            )


def _facts(prepared: "Prepared") -> "Sequence[Fact]":
    from assay.host.facts import Fact

    counts, source = prepared.counts, "the settings and PostMark's random numbers"
    planned = {
        "transactions": counts.transactions,
        "single_precision_bytes_read": counts.single_read,
        "single_precision_bytes_written": counts.single_written,
        "appends_skipped": counts.appends_skipped,
        "creates_skipped": counts.creates_skipped,
        "out_of_files": counts.out_of_files,
    }
    return [Fact(key=f"postmark.{name}", value=value, source=source) for name, value in planned.items()]


def _meant(line: str) -> str:
    from assay.tools.postmark.commands import ALIASES

    word, blank, rest = line.partition(" ")
    return ALIASES.get(word, word) + blank + rest
