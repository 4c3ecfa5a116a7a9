"""A vdbench command line: `-f FILE... [-o DIR] [-e S] [-i S] [-w S] [NAME=VALUE...] [+ PARAMETER...]`, or `-t`, `-tf`.

`files_of` reads the files; `parse` looks at nothing but the words and what was read.
"""

import dataclasses
import re
from collections.abc import Iterator, Sequence

from assay.errors import FrontEndError, InputError
from assay.input_text import check_count
from assay.tools.arguments import cut
from assay.tools.named_files import Files, Include, included_path, read_files
from assay.tools.vdbench import values
from assay.tools.vdbench.definitions import Override
from assay.tools.vdbench.load import Load, load
from assay.tools.vdbench.text import COMMAND_LINE, GivenParameter, SourceLine, definitions, logical_lines, parameters_in

NAME = "vdbench"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_RAW_TEST = """sd=sd1,lun=vdbench_test,size=40m
wd=wd1,sd=sd1,xfersize=1k,rdpct=50,seekpct=random
rd=rd1,wd=wd1,iorate=100,elapsed=5,interval=1
"""
_FILES_TEST = """fsd=fsd1,anchor=vdbench_test_files,depth=1,width=1,files=100,size=128k
fwd=fwd1,fsd=fsd1,operation=read,xfersize=4k,fileio=sequential,fileselect=random,threads=2
rd=rd1,fwd=fwd1,fwdrate=100,format=yes,elapsed=5,interval=1
"""
_TESTS = {"-t": _RAW_TEST, "-tf": _FILES_TEST}
_REFUSED = {
    "-s": "nothing is simulated; the Plan is in every run, in resolved.json",
    "-v": "data validation is not supported; content = { stamped = true } of a load file verifies every read",
    "-j": "journals are not supported; content = { stamped = true } of a load file verifies every read",
    "-m": "there are no Java machines here; threads= sets how many are at work",
    "-l": "a run is done once; start it again in a loop of the shell",
    "-r": "all rd are run; remove the unwanted ones from the file",
    "-c": "files are laid out by format=; write it in the rd",
    "-p": "no socket is opened",
    "-d": "there is no vdbench code to debug",
    "-k": "there are no Solaris counters",
    "-g": "there is no window; the report is an HTML file",
    "-x": "there is no window; the report is an HTML file",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """What a command line asks for, with the files' content."""

    load: Load
    output: str | None = None
    """Folder for vdbench's files."""
    directory: str | None = None
    """Where all luns and anchors lie; None: at the path in the file."""
    lun_size: int | None = None
    """Bytes of a lun that the file gives none for."""


@dataclasses.dataclass
class _Words:
    files: list[str] = dataclasses.field(default_factory=list)
    texts: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    values: dict[str, str] = dataclasses.field(default_factory=dict)
    variables: dict[str, str] = dataclasses.field(default_factory=dict)
    extra: list[str] = dataclasses.field(default_factory=list)


_VALUED = {"-o": "output", "-e": "elapsed", "-i": "interval", "-w": "warmup", "--dir": "dir", "--size": "size"}


def files_of(words: Sequence[str]) -> dict[str, str]:
    """Read the files that words name, and what they include.

    Raises:
        InputError: a file that is not there, is no text, or lies where an include may not reach.
    """
    return read_files(NAME, _take_apart(words).files, "parameter file", _includes)


def _includes(text: str) -> Iterator[Include]:
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("eof"):
            break
        if stripped.startswith("include="):
            yield Include(number, "".join(stripped.removeprefix("include=").split()[0:1]))


def _texts_of(name: str, files: Files) -> Iterator[tuple[str, str]]:
    """Give a file's text, cut where it includes another, whose text comes between."""
    lines, begin = files[name].splitlines(), 0
    for include in _includes(files[name]):
        yield name, "\n" * begin + "\n".join(lines[begin : include.line - 1])
        included = included_path(name, include.name)
        if further := next(iter(_includes(files[included])), None):
            text = "an included file includes another; vdbench does not follow that either"
            raise FrontEndError(included, further.line, text)
        yield included, files[included]
        begin = include.line
    yield name, "\n" * begin + "\n".join(lines[begin:])


def parse(words: Sequence[str], files: Files) -> Settings:
    """Read words and files.

    Raises:
        InputError: an option or a parameter that is wrong or not supported.
    """
    found = _take_apart(words)
    if missing := [name for name in found.files if name not in files]:
        raise InputError(f"{NAME}: the parameter file '{cut(missing[0])}' does not exist")
    texts = [*found.texts, *(text for name in found.files for text in _texts_of(name, files))]
    if not texts:
        raise InputError(f"{NAME}: give a parameter file: -f FILE, or -t for a short test")
    source = texts[0][0]
    lines = list(logical_lines(texts, found.variables))
    _check_variables(found, texts)
    general, defined = definitions(parameters_in(lines))
    extra = tuple(parameters_in((SourceLine(COMMAND_LINE, 1), item) for item in found.extra))
    defined = tuple(
        dataclasses.replace(each, parameters=(*each.parameters, *extra)) if each.kind == "rd" else each
        for each in defined
    )
    override = Override(**{name: _seconds(name, found.values.get(name)) for name in ("elapsed", "interval", "warmup")})
    size = found.values.get("size")
    return Settings(
        load=load(general, defined, source, override),
        output=found.values.get("output"),
        directory=found.values.get("dir"),
        lun_size=None if size is None else values.size(_word("--size", size), size, least=512),
    )


def _word(option: str, value: str) -> GivenParameter:
    return GivenParameter(option, (value,), SourceLine(COMMAND_LINE, 1))


def _seconds(name: str, text: str | None) -> int | None:
    return None if text is None else values.seconds(_word(f"-{name[0]}", text))


def _check_variables(found: _Words, texts: Sequence[tuple[str, str]]) -> None:
    for name in found.variables:
        uses = re.compile(rf"[$!]{name}(?![A-Za-z0-9_])")
        if not any(uses.search(text) for _, text in texts):
            raise InputError(f"{NAME}: {name}=: the files have no ${name}; to give it to every rd, write +{name}=VALUE")


def _take_apart(words: Sequence[str]) -> _Words:
    """Take a command line apart."""
    check_count(words, NAME)
    found, rest = _Words(), list(reversed(words))
    while rest:
        word = rest.pop()
        if word in _TESTS:
            found.texts.append(("built-in test", _TESTS[word]))
        elif word.startswith("+"):
            items = list(reversed(rest)) if word == "+" else [word[1:]]
            rest = [] if word == "+" else rest
            found.extra += map(_item, items)
        elif word.startswith("-"):
            _option(word, rest, found)
        else:
            name, separator, given = word.partition("=")
            if not separator or not _VARIABLE.fullmatch(name):
                raise InputError(f"{NAME}: unknown word '{cut(word)}'; 'assay {NAME} --help' lists the options")
            found.variables[name] = given
    return found


def _value(option: str, rest: list[str]) -> str:
    if not rest:
        raise InputError(f"{NAME}: {option}: its value is missing")
    return rest.pop()


def _option(word: str, rest: list[str], found: _Words) -> None:
    """Take an option, with its value attached or from the words that follow, the next one last."""
    is_long = word.startswith("--")
    option, attached = (word.partition("=")[0], word.partition("=")[2]) if is_long else (word[:2], word[2:])
    if option == "-f":
        found.files.append(attached or _value(word, rest))
        while rest and not rest[-1].startswith(("-", "+")) and "=" not in rest[-1]:
            found.files.append(rest.pop())
    elif option in _VALUED:
        found.values[_VALUED[option]] = attached or _value(word, rest)
    elif option in _REFUSED:
        raise InputError(f"{NAME}: {cut(word)}: {_REFUSED[option]}")
    else:
        raise InputError(f"{NAME}: unknown word '{cut(word)}'; 'assay {NAME} --help' lists the options")


def _item(word: str) -> str:
    if "=" not in word or any(character in word for character in " \t\n"):
        raise InputError(f"{NAME}: +{cut(word)}: write a parameter of rd, as name=value")
    return word
