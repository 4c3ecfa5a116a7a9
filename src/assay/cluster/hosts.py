"""Read the machines of `--hosts`, and the name of each in the run.

Either words with commas between (`--hosts a,b,node[01-16]`), or a file with a host a line:

    # name[=address] [user=U] [port=P] [python=/path/to/python]
    node[01-16]
    server=10.0.0.7 user=root python=/opt/assay/bin/python

A range makes a host of each number in it, with the leading zeros of its first; ranges of names and of addresses go side by
side. `local`, `localhost` and `local:3` (three of them) are workers on this machine, started without ssh.

A file that others could have written may name hosts, and nothing else: `user=`, `port=` and `python=` decide what is started
where, and as whom. Names in a tool's own words are names, and are not read as any of this (`hosts_of_names`).
"""

import dataclasses
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from assay.bundle.client_set import LONGEST_NAME, MOST_CLIENTS, is_client_name
from assay.errors import FrontEndError, InputError
from assay.input_text import read_text_and_facts
from assay.ownership import stranger_of

OPTION: Final = "--hosts"
MOST_PORT: Final = 65_535
_MOST_BYTES: Final = 1 << 20
_LONGEST_LINE: Final = 1000
_LONGEST_ADDRESS: Final = 255
_SHOWN: Final = 80
_LOCAL: Final = ("local", "localhost")
_LOCAL_MANY = re.compile(r"local:([0-9]{1,5})", re.ASCII)
_RANGE = re.compile(r"\[([0-9,-]*)\]", re.ASCII)
_SPAN = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)
_ADDRESS = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9._:%-]*", re.ASCII)
"""A name, an address of IPv4 or IPv6 with its zone, or what follows `Host` in ~/.ssh/config: never an option of ssh."""
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@\\-]*\$?", re.ASCII)


@dataclasses.dataclass(frozen=True, kw_only=True)
class HostSpec:
    """A machine that is to run a worker."""

    name: str
    """Of the client, in all output of the run."""
    address: str | None
    """What ssh connects to; None: this machine, without ssh."""
    user: str | None = None
    """Who to be there; None: as ~/.ssh/config has it."""
    port: int | None = None
    python: str | None = None
    """The Python that has Assay there; None: `assay` on PATH there."""


def parse_hosts(text: str, *, option: str = OPTION) -> tuple[HostSpec, ...]:
    """Read the value of `--hosts`: the path of a file, or the hosts themselves.

    A word with a slash is a path; one without is a path where a file of that name is in the working directory, unless it is
    one that others could have put there: then the user is to choose.

    Args:
        text: The value.
        option: The option before it, for errors.

    Raises:
        InputError: the file cannot be read, or a host cannot be meant; with the file's line.
    """
    is_one_word = not any(character in text for character in ",[=\0 ")
    # os.path: a name that is too long is none of a file.
    if "/" not in text.partition(" ")[0] and not (is_one_word and os.path.isfile(text)):  # noqa: PTH113
        return _unique(((None, word) for word in _between_commas(text)), option)
    try:
        content, facts = read_text_and_facts(text, "hosts file", _MOST_BYTES)
    except FileNotFoundError:
        raise InputError(f"{option} {text}: there is no such file") from None
    stranger = stranger_of(facts, text)
    if stranger is not None and "/" not in text:
        raise InputError(
            f"{option} {text}: a file of that name is in this directory, and it {stranger}: write ./{text} for its hosts, "
            f"or {text}={text} for the host"
        )
    lines = ((number, line) for number, line in enumerate(content.splitlines(), start=1))
    return _unique(lines, text, stranger)


def hosts_of_names(names: Sequence[str], by: str) -> tuple[HostSpec, ...]:
    """Give the hosts that a tool's words name, each called by its name or address: these words may come from another author.

    Args:
        names: Each once.
        by: What of the words names them, for errors.

    Raises:
        InputError: one is not a name or address of a host.
    """
    if len(names) > MOST_CLIENTS:
        raise InputError(f"{by}: these are {len(names)} hosts; the limit is {MOST_CLIENTS}")
    for name in names:
        if not is_client_name(name) or not _ADDRESS.fullmatch(name):
            raise InputError(
                f"{by}: '{_shown(name)}' is not a host name or IPv4 address. A user, a port, a Python, ranges and a hosts "
                "file are for --hosts on your own command line"
            )
    return tuple(HostSpec(name=name, address=None if name in _LOCAL else name) for name in names)


def _unique(lines: Iterable[tuple[int | None, str]], source: str, stranger: str | None = None) -> tuple[HostSpec, ...]:
    """Read the hosts of lines, each with its number in the source; `stranger` names who else may have written them.

    Raises:
        FrontEndError: a line names none, or sets what a stranger may not.
    """
    found: dict[str, HostSpec] = {}
    places: dict[str, int | None] = {}
    for number, line in lines:
        for host in _hosts_of_line(line, source, number):
            if stranger is not None and (what := _further_settings(host)) is not None:
                raise FrontEndError(
                    source,
                    number,
                    f"{what} is taken from a file of your own alone, and this one {stranger}: it may name hosts. "
                    "'chown' and 'chmod go-w' make it yours",
                )
            name = host.name
            if name in found:
                before = f" (line {places[name]})" if places[name] is not None else ""
                raise FrontEndError(
                    source, number, f"the client '{name}' already exists{before}; call one 'other={name}'"
                )
            found[name], places[name] = host, number
            if len(found) > MOST_CLIENTS:
                raise FrontEndError(source, number, f"more than {MOST_CLIENTS} hosts")
    if not found:
        raise FrontEndError(source, None, "names no host")
    return tuple(found.values())


def _further_settings(host: HostSpec) -> str | None:
    """Name what a line sets for a host besides its name and address."""
    settings = {"user=": host.user, "port=": host.port, "python=": host.python}
    return next((name for name, value in settings.items() if value is not None), None)


def _between_commas(text: str) -> Iterator[str]:
    """Split at commas, but not at those within brackets."""
    word, depth = "", 0
    for character in f"{text},":
        depth += (character == "[") - (character == "]")
        if character == "," and depth <= 0:
            yield word.strip() or ","
            word = ""
        else:
            word += character
    if word.strip():  # a bracket that nobody closed
        yield word


def _hosts_of_line(line: str, source: str, number: int | None) -> Iterator[HostSpec]:
    if len(line) > _LONGEST_LINE and number is not None:
        raise FrontEndError(source, number, f"the line has more than {_LONGEST_LINE} characters")
    try:
        # A comment is one of a file: in words, it would hide what was meant to be a host.
        yield from _hosts_of_words((line if number is None else line.partition("#")[0]).split())
    except ValueError as error:
        raise FrontEndError(source, number, str(error)) from None


def _hosts_of_words(words: list[str]) -> Iterator[HostSpec]:
    """Give the hosts of a line; raises ValueError."""
    if not words:
        return
    options = _options(words[1:])
    for name, address in _names(words[0]):
        if address is None and (options.user or options.port):
            raise ValueError(f"'{name}' is this machine, without ssh: no user= and no port=. By ssh: {name}=127.0.0.1")
        yield HostSpec(name=name, address=address, user=options.user, port=options.port, python=options.python)


def _names(word: str) -> Iterator[tuple[str, str | None]]:
    """Give names and addresses of a word; raises ValueError."""
    if many := _LOCAL_MANY.fullmatch(word):
        count = int(many[1])
        if not 0 < count <= MOST_CLIENTS:
            raise ValueError(f"'{word}' asks for {count} clients; 1 to {MOST_CLIENTS} can be")
        yield from ((f"local-{number}", None) for number in range(1, count + 1))
        return
    name, equals, address = word.partition("=")
    names = _expand(name)
    addresses = _expand(address) if equals else names
    if len(addresses) == 1 and addresses[0] in _LOCAL:
        addresses *= len(names)
    if len(names) != len(addresses):
        raise ValueError(f"'{_shown(word)}' has {len(names)} names and {len(addresses)} addresses")
    for one, place in zip(names, addresses, strict=True):
        if not is_client_name(one):
            raise ValueError(_about_name(one))
        if len(place) > _LONGEST_ADDRESS or not _ADDRESS.fullmatch(place):
            raise ValueError(f"'{_shown(place)}' is not an address")
        is_here = place in _LOCAL and (not equals or place == _LOCAL[0])
        yield one, None if is_here else place


def _about_name(name: str) -> str:
    shown = _shown(name)
    if not name or name == ",":
        return "a name is missing"
    if "@" in name:
        return f"'{shown}' has a user in it: set the user with --ssh-user, or with user=NAME in a hosts file"
    if ":" in name:
        return f"'{shown}' is not a client name: put one in front (a={shown}), and a port as port=P in a hosts file"
    return (
        f"'{shown}' is not a client name: letters, digits, ._-, {LONGEST_NAME} at most, a letter or digit first and last. "
        "Put one in front: NAME=ADDRESS"
    )


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _expand(text: str) -> list[str]:
    """Give the words of a word with ranges in brackets; raises ValueError."""
    parts = _RANGE.split(text)
    if any("[" in part or "]" in part for part in parts[::2]):
        raise ValueError(f"'{_shown(text)}': a range is written as in node[01-16,20]")
    choices = [_numbers(part) if index % 2 else [part] for index, part in enumerate(parts)]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > MOST_CLIENTS:
        raise ValueError(f"'{_shown(text)}' is {count} hosts; the limit is {MOST_CLIENTS}")
    return ["".join(chosen) for chosen in itertools.product(*choices)]


def _numbers(spans: str) -> list[str]:
    found: list[str] = []
    for span in spans.split(","):
        match = _SPAN.fullmatch(span)
        if match is None:
            raise ValueError(f"'[{_shown(spans)}]' is not a range; write [01-16] or [1,3,5]")
        first, last = match[1], match[2] or match[1]
        if int(last) < int(first):
            raise ValueError(f"the range '{span}' ends before it begins")
        if int(last) - int(first) >= MOST_CLIENTS:
            raise ValueError(
                f"the range '{span}' is of {int(last) - int(first) + 1} hosts; the limit is {MOST_CLIENTS}"
            )
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
        if len(found) > MOST_CLIENTS:
            raise ValueError(f"'[{_shown(spans)}]' is of more than {MOST_CLIENTS} hosts")
    return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Options:
    user: str | None = None
    port: int | None = None
    python: str | None = None


def _options(words: Iterable[str]) -> _Options:
    """Read what follows the name; raises ValueError."""
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if key not in {"user", "port", "python"} or not equals:
            raise ValueError(f"'{_shown(word)}' is unknown here; after the name come user=, port= and python=")
        if key in found:
            raise ValueError(f"{key}= is there twice")
        found[key] = value
    user, port, python = found.get("user"), found.get("port"), found.get("python")
    if user is not None:
        check_user(user)
    if python is not None and not (python.startswith("/") and python.isprintable()):
        raise ValueError(f"python={_shown(python)}: give the whole path, from / on")
    return _Options(user=user, port=None if port is None else _port(port), python=python)


def check_user(user: str) -> None:
    """Raise ValueError for what is not a user name."""
    if len(user) > LONGEST_NAME or not _USER.fullmatch(user):
        raise ValueError(f"'{_shown(user)}' is not a user name")


def _port(text: str) -> int:
    if not re.fullmatch("[0-9]{1,5}", text) or not 0 < int(text) <= MOST_PORT:
        raise ValueError(f"port={_shown(text)}: ports are 1 to {MOST_PORT}")
    return int(text)
