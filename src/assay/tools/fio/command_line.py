r"""The words behind `assay fio`: jobs of the command line, job files, and what is fio's own.

`--option=value` before the first `--name` is for all jobs, those of the files too, unless they set it themselves:
fio's precedence. `--set option=value` is Assay's, and the last word for every job.

What is outside of the words is read before anything else is done: each job file and what it includes, and the variables of
the environment that they name, which are put among the words as `${NAME}=VALUE`.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from assay.errors import InputError
from assay.input_text import check_count
from assay.tools.arguments import cut
from assay.tools.fio.job_file import MACHINE, VARIABLE, Option, Section, includes, sections, split
from assay.tools.fio.option_table import ALIASES, ALONE, COMMAND_LINE, FLAGS, OPTIONS
from assay.tools.named_files import Files, read_files
from assay.tools.option_meaning import Noted, Refused, Taken

_MOST_WORDS = 1000


@dataclass(frozen=True)
class CommandLine:
    """A command line, taken apart."""

    sections: tuple[Section, ...] = ()
    """In order: globals and jobs."""
    overrides: tuple[Option, ...] = ()
    """`--set`."""
    own: Mapping[str, str] = field(default_factory=dict)
    """fio's own options with their values, empty where they have none."""
    variables: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


# -- what is outside of the words --------------------------------------------------------------------------------------


def gather_files(words: Sequence[str], environment: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Read the files that words name; give the words with the variables that these and they name, and the files.

    Raises:
        InputError: a file is not there, is no text, or includes one outside of its folder.
    """
    check_count(words, "fio", _MOST_WORDS)
    paired = list(_pair(words))
    files = read_files("fio", [word for word in paired if _is_file(word)], "job file", includes)
    names = dict.fromkeys(name for text in (*paired, *files.values()) for name in VARIABLE.findall(text))
    return [*paired, *(f"${{{name}}}={environment[name]}" for name in names if name in environment)], files


def _is_file(word: str) -> bool:
    return word == "-" or not word.startswith(("-", "${"))


# -- words -------------------------------------------------------------------------------------------------------------


def take_apart(words: Sequence[str], texts: Files) -> CommandLine:
    """Read words, and the files that they name; raises InputError."""
    check_count(words, "fio", _MOST_WORDS)
    own: dict[str, str] = {}
    variables: dict[str, str] = {}
    jobs: list[tuple[str, list[Option]]] = []
    overrides: list[Option] = []
    notes: list[str] = []
    shared: list[Option] = []
    files: list[str] = []
    for word in _pair(words):
        if word.startswith("${"):
            name, _, value = word[2:].partition("}=")
            variables[name] = value
        elif _is_file(word):
            files.append(word)
        else:
            option = split(word.lstrip("-"), "command line")
            if _is_own(option, own, overrides, notes):
                continue
            if option.name == "name":
                jobs.append((option.value or "", []))
            else:
                (jobs[-1][1] if jobs else shared).append(option)
    found = [Section("global", "command line", tuple(shared), is_global=True)] if shared else []
    found += [Section(name, "command line", tuple(options), name.startswith("global")) for name, options in jobs]
    found += _of_files(files, texts, stonewalled=any(not section.is_global for section in found))
    if "section" in own:
        found = [section for section in found if section.is_global or section.name == own["section"]]
    return CommandLine(tuple(found), tuple(overrides), own, variables, tuple(notes))


def _of_files(paths: Sequence[str], texts: Files, *, stonewalled: bool) -> Iterator[Section]:
    """Read the job files; the first job of each begins when those before it are through."""
    for path in paths:
        if path not in texts:
            raise InputError(f"fio: '{cut(path)}' is neither an option nor an existing job file")
        is_first = True
        for section in sections(path, texts):
            if section.is_global or not (is_first and stonewalled):
                yield section
            else:
                first = Option("stonewall", None, section.where)
                yield Section(section.name, section.where, (first, *section.options))
            is_first = is_first and section.is_global
        stonewalled = True


def _pair(words: Sequence[str]) -> Iterator[str]:
    """Give the words, `--option value` as `--option=value`."""
    rest = iter(words)
    for word in rest:
        name = word.lstrip("-")
        if not word.startswith("--") or "=" in word:
            yield word
        elif _takes_value(name):
            value = next(rest, None)
            if value is None:
                raise InputError(f"fio: command line: '{cut(word)}' has no value")
            yield f"{word}={value}"
        else:
            yield word


def _is_own(option: Option, own: dict[str, str], overrides: list[Option], notes: list[str]) -> bool:
    """Take an option that is of fio's command line alone."""
    match COMMAND_LINE.get(option.name):
        case Taken("set"):
            overrides.append(split(option.value or "", "--set"))
        case Taken(name):
            own[name] = option.value or ""
        case Noted(why):
            notes.append(f"--{option.name}: {why}")
        case Refused(why):
            raise option.fault(f"is not supported: {why}")
        case None:
            return False
    return True


def _takes_value(name: str) -> bool:
    if isinstance(COMMAND_LINE.get(name), Taken):
        return name not in ALONE
    known = ALIASES.get(name, name)
    return known in OPTIONS and known not in FLAGS


# -- variables ---------------------------------------------------------------------------------------------------------


def fill_in(option: Option, variables: Mapping[str, str]) -> Option:
    """Put variables into an option; one that is not set is empty, as in fio.

    Raises:
        InputError: a variable holds a line's end, which no option has; a number of the machine is asked for.
    """
    if option.value is None:
        return option
    value = VARIABLE.sub(lambda found: variables.get(found[1], ""), option.value)
    if value != option.value and not value.isprintable():
        raise option.fault("would get a value with a line break or another character that is not allowed")
    if MACHINE.search(value):
        raise option.fault("depends on the machine, and a Plan is the same on each; write the number")
    return Option(option.name, value, option.where)


def likely(name: str) -> str:
    """Suggest the option that may have been meant; empty: none is near."""
    near = difflib.get_close_matches(name[:40], [*OPTIONS, *ALIASES], n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""
