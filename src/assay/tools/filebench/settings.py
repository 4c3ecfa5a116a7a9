"""What one command line of filebench asks for: options, and a script."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, Final

from assay.errors import InputError
from assay.plan.limits import NUMBERS
from assay.tools.arguments import Arguments, cut, whole_number
from assay.tools.filebench.definitions import STRICT, Overrides
from assay.tools.filebench.evaluate import evaluate
from assay.tools.filebench.personality import Personality
from assay.tools.filebench.plan import Planned, plan_threads
from assay.tools.named_files import Files

USAGE: Final = (
    "-f FILE.f [--dir DIR] [--time SECONDS] [--set NAME=VALUE]... [--scale SHARE] [--wml 1.4|1.5] [--allow-commands]"
    " | -c [CVARTYPE]"
)
_LARGEST_SCALE: Final = 1000.0


@dataclasses.dataclass(frozen=True)
class Settings:
    """What one command line asks for."""

    file: str
    """As the user named it, for messages."""
    text: str
    """Of the script."""
    directory: str
    overrides: Overrides

    @functools.cached_property
    def workload(self) -> Personality:
        """What the script asks for; raises FrontEndError."""
        return evaluate(self.text, self.file, self.overrides)

    @functools.cached_property
    def planned(self) -> Planned:
        """What the Plan is made of; raises FrontEndError."""
        return plan_threads(self.workload, self.file)


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What the user wrote: a script to run, or a request for the types of custom variables."""

    file: str = ""
    cvar_type: str | None = None
    """Empty: name them all; None: it was not asked for."""
    takes_old: bool = True
    """Whether the script may be one of 1.4."""


def read_words(words: Sequence[str]) -> Wanted:
    """Read the user's own words; raises InputError."""
    given = _read(words)
    if given["c"] is not None:
        if given["f"] is not None:
            raise InputError("filebench: -c describes variables and -f runs a script; give one of them")
        return Wanted(cvar_type=given["c"])
    if given["f"] is None:
        raise InputError(f"filebench: name the script, -f FILE.f. Usage: assay filebench {USAGE}")
    return Wanted(file=given["f"], takes_old=given["wml"] != STRICT)


def parse(words: Sequence[str], files: Files) -> Settings:
    """Read the words of a run and its script; raises InputError, with file and line, for what is not supported."""
    given = _read(words)
    if given["f"] not in files:
        raise InputError("filebench: a run has words with -f NAME, and the text of that script")
    settings = Settings(
        file=given["f"],
        text=files[given["f"]],
        directory=given["dir"],
        overrides=Overrides(
            seconds=_time(given["time"]),
            settings=tuple(_setting(word) for word in given["set"] or ()),
            scale=_scale(given["scale"]),
            wml="" if given["wml"] in {None, "1.4"} else given["wml"],
            allows_commands=given["allow_commands"],
        ),
    )
    settings.planned  # noqa: B018 - worked out here, so that a fault is reported before anything else
    return settings


def _read(words: Sequence[str]) -> dict[str, Any]:
    reader = Arguments("filebench", USAGE)
    reader.add_argument("-f")
    reader.add_argument("-c", nargs="?", const="")
    reader.add_argument("--dir", default=".")
    reader.add_argument("--time")
    reader.add_argument("--set", action="append")
    reader.add_argument("--scale")
    reader.add_argument("--wml", choices=("1.4", "1.5"))
    reader.add_argument("--allow-commands", action="store_true")
    return reader.read(words)


def _time(text: str | None) -> float | None:
    return None if text is None else float(whole_number(text, "--time (seconds)", most=NUMBERS["seconds"].most))


def _setting(word: str) -> tuple[str, str]:
    name, separator, value = word.partition("=")
    name = name.removeprefix("$")
    if not separator or not name.isidentifier() or not name.isascii():
        raise InputError(f"--set '{cut(word)}': write NAME=VALUE, as in --set nthreads=4")
    if not value or not value.isprintable():
        raise InputError(f"--set {cut(name)}: it has no value; write {cut(name)}=VALUE")
    return name, value


def _scale(text: str | None) -> float:
    if text is None:
        return 1.0
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0 < scale <= _LARGEST_SCALE:
        raise InputError(
            f"--scale is '{cut(text)}'; it is a number above 0, such as 0.01, and at most {_LARGEST_SCALE:g}"
        )
    return scale
