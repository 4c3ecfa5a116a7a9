"""From the commands of a script to the workload: commands in order up to `run`, what they define looked up there.

What only 1.4 had is a row of `ONLY_1_4`. What cannot be done at all is a row of `REFUSED`, with the nearest thing.
"""

from typing import Final, NoReturn

from assay.errors import FrontEndError
from assay.plan.limits import NUMBERS
from assay.tools.arguments import cut
from assay.tools.filebench.definitions import STRICT, Definitions, Overrides
from assay.tools.filebench.flowops import TYPES
from assay.tools.filebench.personality import Before, Note, Personality
from assay.tools.filebench.scope import Scope, by_name_of, setting
from assay.tools.filebench.statements import (
    Arithmetic,
    Attribute,
    Quoted,
    Random,
    Statement,
    Variable,
    Word,
    read,
)

ONLY_1_4: Final[dict[str, str]] = {
    "define_randvar": "set $name=randvar(...)",
    "stats": "nothing; the statistics are printed at the end of a run",
    "usage": 'echo "..."',
    "shutdown": "nothing; a run shuts its processes down",
    "warmup": "sleep",
    "vars": "nothing",
    "shell": 'system "..."',
}
"""Commands that 1.5 does not have, and what it has instead."""
REFUSED: Final[dict[str, str]] = {
    "foreach": "one run is one command line; give each value by --set NAME=VALUE",
    "load": "there is no personality of this name here (see --help); name the script itself with -f",
    "sync": "Assay's own clients come later; leave it out, and run one client",
    "list": "it lists the contents of a session; 'assay filebench --help' and docs/tools/filebench.md list the same",
}
"""Commands that are not supported, and the nearest alternative."""
_DEFAULT_RUN_SECONDS = 60
_DEFAULT_SNAPSHOT_SECONDS = 10
_MODES = ("timeout", "alldone", "firstdone")


def evaluate(text: str, source: str, overrides: Overrides) -> Personality:
    """Evaluate a script; raises FrontEndError with file, line and the words near the fault."""
    script = _Script(source, overrides, last_line=max(1, text.rstrip().count("\n") + 1))
    for command in read(text, source):
        if script.is_over:
            break
        script.follow(command)
    return script.workload()


class _Script:
    """A script as far as it was followed."""

    def __init__(self, source: str, overrides: Overrides, last_line: int) -> None:
        self._source = source
        self._last_line = last_line
        self._overrides = overrides
        self._scope = Scope(source, {name: setting(value) for name, value in overrides.settings})
        self._given = dict(overrides.settings)
        self._set: set[str] = set()
        self._files: list[Statement] = []
        self._processes: list[Statement] = []
        self._composites: dict[str, Statement] = {}
        self._mode = "timeout"
        self._event_rate: Attribute | None = None
        self._before: list[Before] = []
        self._echoed: list[str] = []
        self._notes: dict[Note, None] = {}
        self._run: Statement | None = None
        self._started_line = 0
        """Of `create processes`, from which on a `sleep` is the run."""
        self._slept = 0.0
        self._ramp = 0.0
        self._has_statistics = True
        self._has_histograms = False
        self.is_over = False

    def _refuse(self, line: int, text: str) -> NoReturn:
        raise FrontEndError(self._source, line, text)

    def _note(self, what: str, why: str) -> None:
        self._notes[Note(what, why)] = None

    # -- commands ------------------------------------------------------------------------------------------------------

    def follow(self, command: Statement) -> None:
        """Execute one command."""
        kind, near = command.kind, f"near '{cut(command.text)}'"
        if self._overrides.wml == STRICT and kind in ONLY_1_4:
            self._refuse(command.line, f"syntax error {near}: 1.5 does not have it; write {ONLY_1_4[kind]}")
        if kind in REFUSED:
            self._refuse(command.line, f"{near}: this is not supported; {REFUSED[kind]}")
        getattr(self, f"follow_{kind}")(command)

    def _set_variable(self, name: str, line: int) -> bool:
        """Return whether a variable takes what the script sets: the command line may have set it."""
        self._set.add(name)
        if len(self._set) > 10_000:
            self._refuse(line, f"near '${cut(name)}': a script has at most 10000 variables")
        return name not in self._given

    def follow_set(self, command: Statement) -> None:
        value = command.value
        if isinstance(value, Arithmetic | Variable) and self._overrides.wml == STRICT:
            self._refuse(
                command.line, f"syntax error near '${cut(command.name)}': 1.5 has no expressions; set a number"
            )
        if not self._set_variable(command.name, command.line) or value is None:
            return
        if isinstance(value, Random):
            self._scope.globals[command.name] = self._scope.random(value)
        else:
            self._scope.globals[command.name] = self._scope.expression(value)

    def follow_define_randvar(self, command: Statement) -> None:
        by_name = by_name_of(command.attributes)
        name = by_name.pop("name", None)
        if name is None or not isinstance(name.value, Variable):
            self._refuse(command.line, "near 'define randvar': it has a name, such as name=$size")
        if self._set_variable(name.value.name, command.line):
            node = Random("randvar", tuple(by_name.values()), command.line)
            self._scope.globals[name.value.name] = self._scope.random(node)

    def follow_define_file(self, command: Statement) -> None:
        self._files.append(command)

    follow_define_fileset = follow_define_file

    def follow_define_process(self, command: Statement) -> None:
        self._processes.append(command)

    def follow_define_flowop(self, command: Statement) -> None:
        name = by_name_of(command.attributes).get("name")
        if name is None:
            self._refuse(command.line, "near 'define flowop': it has a name")
        text = self._scope.text(name)
        if text in TYPES:
            self._refuse(name.line, f"near 'name={cut(text)}': this is a type of flowop already")
        self._composites[text] = command

    def follow_create(self, command: Statement) -> None:
        if command.words[0] != "files" and self._overrides.wml == STRICT:
            self._refuse(command.line, f"syntax error near '{command.words[0]}': 1.5 has 'create files' alone")
        if command.words[0].startswith("process"):
            self._started_line = command.line

    def follow_run(self, command: Statement) -> None:
        self._run = command
        self.is_over = True

    follow_psrun = follow_run

    def _seconds(self, command: Statement, at: int = 0) -> float:
        if len(command.values) <= at:
            return 0.0
        attribute = Attribute(command.kind, command.values[at], command.line)
        return float(self._scope.number(attribute, -int(NUMBERS["seconds"].most), int(NUMBERS["seconds"].most)))

    def _positive_seconds(self, command: Statement, at: int = 0) -> float:
        seconds = self._seconds(command, at)
        if seconds < 0 or (seconds == 0 and command.kind not in {"sleep", "warmup"}):
            self._refuse(command.line, f"near '{command.text} {seconds:g}': it lasts a second or more")
        return seconds

    def follow_sleep(self, command: Statement) -> None:
        seconds = self._positive_seconds(command)
        if self._started_line:
            self._slept += seconds
        elif seconds:
            self._before.append(Before(command.line, seconds=seconds))

    def follow_warmup(self, command: Statement) -> None:
        self._ramp += self._positive_seconds(command)

    def follow_mode(self, command: Statement) -> None:
        what, *how = command.words
        if what == "nousestats" and not how:
            self._has_statistics = False
        elif what == "quit" and how and how[0] in _MODES:
            self._mode = how[0]
        elif what == "quit" and how:
            self._refuse(command.line, f"syntax error near '{cut(how[0])}': a run quits at {', '.join(_MODES)}")
        else:
            self._refuse(
                command.line, f"syntax error near '{cut(what)}': set mode accepts 'quit MODE' and 'nousestats'"
            )

    def follow_eventgen(self, command: Statement) -> None:
        by_name = by_name_of(command.attributes)
        self._scope.check_names(by_name, frozenset({"rate"}), "eventgen")
        self._event_rate = by_name["rate"]

    def follow_enable(self, command: Statement) -> None:
        what = command.words[0]
        if what == "multi":
            self._refuse(
                command.line,
                "near 'enable multi': it names one client of several, each with a file of its own; leave it out, and"
                " name all clients with --hosts A,B,C: they start together",
            )
        if what != "lathist":
            self._refuse(command.line, f"syntax error near '{cut(what)}': enable accepts 'lathist' and 'multi'")
        self._has_histograms = True

    def follow_system(self, command: Statement) -> None:
        text = command.values[0]
        node = text.text if isinstance(text, Word) else str(self._scope.value(text))
        self._command(command.line, node)

    def follow_shell(self, command: Statement) -> None:
        self._command(command.line, command.words[0][1:].strip())

    def _command(self, line: int, node: str) -> None:
        if not self._overrides.allows_commands:
            self._refuse(
                line,
                f"near '{cut(node)}': this runs a command, which a script is not allowed to by itself. If you trust it, add "
                "--allow-commands",
            )
        if not node or "\0" in node:
            self._refuse(line, "near 'system': the command is empty, or holds a NUL")
        self._before.append(Before(line, command=node))

    def follow_echo(self, command: Statement) -> None:
        value = command.values[0]
        self._echoed.append(str(self._scope.value(value)) if isinstance(value, Quoted) else command.words[0])

    def follow_usage(self, _command: Statement) -> None:
        """Ignore the usage text of a script: it is part of no run."""

    follow_version = follow_debug = follow_vars = follow_usage

    def follow_quit(self, _command: Statement) -> None:
        self.is_over = True

    def follow_stats(self, command: Statement) -> None:
        what = command.words[0]
        if what == "clear" and self._started_line:
            self._ramp, self._slept = self._ramp + self._slept, 0.0
        elif what in {"dump", "xmldump", "multidump", "directory"}:
            self._note(
                f"stats {what} (line {command.line})", "the statistics are on standard output and in the run's bundle"
            )
        elif what not in {"snap", "clear"}:
            self._refuse(
                command.line, f"syntax error near '{cut(what)}': stats accepts clear, snap, dump, xmldump, directory"
            )

    def follow_shutdown(self, _command: Statement) -> None:
        self.is_over = bool(self._slept)

    # -- the run -------------------------------------------------------------------------------------------------------

    def workload(self) -> Personality:
        """Look everything up."""
        unknown = sorted(set(self._given) - self._set)
        if unknown:
            there = ", ".join(sorted(self._set)) or "none"
            raise FrontEndError(
                self._source, None, f"--set {cut(unknown[0])}: the script sets no such variable; it sets {there}"
            )
        definitions = Definitions(self._scope, self._overrides, self._composites)
        files = definitions.files(self._files)
        processes = tuple(definitions.process(command, files) for command in self._processes)
        if not any(thread.body for process in processes for thread in process.threads):
            self._refuse(
                self._last_line,
                "near the end of the script: no process is defined that does anything, nothing is to be run",
            )
        period, seconds = self._length()
        rate = self._event_rate
        if self._ramp and seconds is not None:
            seconds += self._ramp
        return Personality(
            files=files,
            processes=processes,
            names=tuple(definitions.names),
            event_rate=float(self._scope.number(rate, 0, int(NUMBERS["rate_per_s"].most))) if rate else 0.0,
            mode=self._mode,
            seconds=seconds,
            ramp_seconds=self._ramp,
            snapshot_seconds=abs(period),
            resets=period < 0,
            has_statistics=self._has_statistics,
            has_histograms=self._has_histograms,
            before=tuple(self._before),
            echoed=tuple(self._echoed),
            notes=(*self._notes, *definitions.notes),
        )

    def _length(self) -> tuple[float, float | None]:
        """Time between snapshots, and of the run."""
        asked, run = self._overrides.seconds, self._run
        period, at = 0.0, 0
        if run is not None and run.kind == "psrun":
            period, at = self._seconds(run) or _DEFAULT_SNAPSHOT_SECONDS, 1
        if asked is not None:
            return period, asked
        if run is None:
            if self._slept:
                return 0.0, self._slept
            self._refuse(
                self._last_line,
                "near the end of the script: it has no 'run', so its duration is undefined. Add --time SECONDS",
            )
        if len(run.values) > at:
            return period, self._positive_seconds(run, at)
        return period, float(_DEFAULT_RUN_SECONDS) if self._mode == "timeout" else None
