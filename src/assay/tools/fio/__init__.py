"""`assay fio`: job files of fio, and its command line."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from assay import __version__
from assay.errors import InputError
from assay.places import DevicePlace, Place, check_place
from assay.plan import Origin, Plan
from assay.targets import BLOCK
from assay.tools.fio.command_line import gather_files
from assay.tools.fio.job_settings import ENGINES, NAME, Settings, version
from assay.tools.fio.plan import to_plan
from assay.tools.fio.settings import parse
from assay.tools.front_end import FrontEnd, RunContext
from assay.tools.named_files import NO_FILES, Files

_HIPRI = "hipri                   : Use polled IO completions\n"
_OPTIONS_OF_ENGINES = {
    "pvsync2": _HIPRI,
    "io_uring": (
        f"{_HIPRI}sqthread_poll           : Offload submission/completion to kernel thread\n"
        "sqthread_poll_cpu       : What CPU to run SQ thread polling on\n"
    ),
}


class Fio(FrontEnd[Settings]):
    """Run fio's job files and command lines, and print what fio prints, or its JSON.

    \b
    assay fio [OPTIONS] FILE.fio ...
    assay fio --name=NAME --rw=randread --size=1g ... [--name=NAME ...]

    \b
    --OPTION=VALUE     option of a job; before the first --name: default for all
    --set OPTION=VALUE option for all jobs, overriding the files
    --section=NAME     run that job alone
    --output-format=normal|json|json+|terse;  --minimal: terse, version 3
    --output=FILE      write the text to a file
    --version, --enghelp: print the version; list the engines
    --parse-only       check the input, and run nothing
    --showcmd          print the jobs as command lines, and run nothing
    --readonly         refuse jobs that write
    --destroy-data DEV let jobs overwrite the block device that filename
                       names; --over TYPE: a signature that may be on it

    \b
    Also: --runs DIR, --user NAME, --json, --no-report, --quiet,
    --strict, --tag TAG, --note TEXT, --live-json FILE,
    --require-trust LEVEL, --wait-quiet TIME. --name is fio's.

    Files lie in assay-data in the job's directory (else the working
    directory); nothing else there is read, written or removed. An option
    without an exact equivalent is refused by name. See docs/tools/fio.md.
    """  # noqa: D301 - click keeps the lines after this sign as they are

    name = NAME
    shims = (NAME,)
    own_options = frozenset({"--name"})
    option_names: ClassVar[Mapping[str, str]] = {
        "size": "bs",
        "direct": "direct=1",
        "align": "blockalign",
        "from": "offset",
        "length": "size",
    }
    room_cure = "use a smaller size"

    def follow(self, words: Sequence[str], context: RunContext) -> int:
        """Read what the words name, and do what they ask for."""
        for word in words:
            name, _, value = word.partition("=")
            if name in {"--version", "-v"}:
                context.write(f"{version(__version__)}\n")
                return 0
            if name == "--enghelp":
                text, code = engine_help(value)
                context.write(text)
                return code
        whole, files = gather_files(words, os.environ)
        settings = self.parse(whole, files)
        if settings.show_command:
            context.write("".join(f"{line}\n" for line in command_lines(settings)))
        if settings.show_command or settings.only_parse:
            plan_anywhere(settings, whole, files)
            return 0
        return context.measure(whole, files)

    def parse(self, words: Sequence[str], files: Files = NO_FILES) -> Settings:
        """Read words, and job files."""
        return parse(words, files)

    def to_plan(self, settings: Settings, origin: Origin, folder: Path) -> Plan:
        """Make the Plan."""
        return to_plan(settings, origin, _places(settings))

    def adds_clients_up(self, settings: Settings) -> bool:
        """Add them up: the JSON is one document, whose format has no clients."""
        return True

    def output_names(self, settings: Settings) -> Sequence[str]:
        """Name the file of --output."""
        return [settings.output] if settings.output else []


def engine_help(name: str) -> tuple[str, int]:
    """Give fio's list of engines, or what options one has that others have not, with fio's exit code."""
    if not name:
        return "Available IO engines:\n" + "".join(f"\t{engine}\n" for engine in sorted(ENGINES)), 0
    if name not in ENGINES:
        return f"IO engine {name} not found\n", 1
    own = _OPTIONS_OF_ENGINES.get(name)
    return (own, 0) if own else (f"IO engine {name} has no options\n", 1)


def plan_anywhere(settings: Settings, words: Sequence[str], files: Files = NO_FILES) -> Plan:
    """Make the Plan as if its directories were there; raises InputError for what is not supported."""
    named = {
        name: DevicePlace(path=Path(name.removeprefix(BLOCK))) if name.startswith(BLOCK) else Path("/", name)
        for name in _named_places(settings)
    }
    return to_plan(settings, FRONT_END.origin(words, files), named)


def command_lines(settings: Settings) -> list[str]:
    """Write each job as a command line of fio."""
    made = []
    for job in settings.jobs:
        words = (f"--{name}={value}" for name, value in job.options.items() if name != "name")
        made.append(shlex.join((NAME, f"--name={job.name}", *words)))
    return made


def _named_places(settings: Settings) -> list[str]:
    """Name the directories of the jobs, and the block devices as their targets are called."""
    return list(
        dict.fromkeys(
            f"{BLOCK}{job.files.names[0]}" if job.files.device_bytes else job.files.directory for job in settings.jobs
        )
    )


def _places(settings: Settings) -> dict[str, Place]:
    found = {name: check_place(name or ".") for name in _named_places(settings)}
    for job in settings.jobs:
        place = found.get(f"{BLOCK}{job.files.names[0]}") if job.files.device_bytes else None
        if isinstance(place, DevicePlace) and place.size_bytes is None and "size" not in job.options:
            raise InputError(
                f"fio: {job.where}: 'size' is needed: how large {place.path} is on the clients is unknown here"
            )
    return found


FRONT_END = Fio()
