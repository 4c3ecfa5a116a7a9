"""Phoronix Test Suite: its `composite.xml`, with a test a `Result` and a system an `Entry`.

`RawString` has the value of each trial, with colons between them: these are repeats. A test whose unit (`Scale`) is not
a rate of data or operations and no time is there without a value. MB/s are taken as 10^6 bytes a second.

The file may be anybody's: a document type or an entity is refused as such, so nothing is expanded or fetched.
"""

import datetime as dt
import math
from collections.abc import Iterable, Iterator
from xml.parsers import expat

from assay.decode.claim import Circumstances, Claim, Doing
from assay.decode.table_units import as_claim

NAME = "phoronix"

_ROOT = "PhoronixTestSuite"
_FIRST = 2000
_DEEPEST = 20
_MOST_VALUES = 10_000
_LONGEST_TEXT = 1000
_MOST_PIECES = 16
"""Of a text, of some thousand characters each."""


class _Element:
    """What is kept of an element: its name, its text and the elements in it."""

    __slots__ = ("inner", "name", "parts")

    def __init__(self, name: str) -> None:
        self.name = name
        self.inner: list[_Element] = []
        self.parts: list[str] = []

    def text(self, *path: str) -> str:
        """Give the text of the first element at the end of a path; empty where there is none."""
        place: _Element | None = self
        for name in path:
            place = next((one for one in place.inner if one.name == name), None) if place else None
        return "".join(place.parts).strip()[:_LONGEST_TEXT] if place else ""

    def all(self, name: str) -> Iterator["_Element"]:
        """Give the elements of a name directly in this one."""
        return (one for one in self.inner if one.name == name)


def read(text: str) -> Iterable[Claim] | None:
    """Read every trial of every test."""
    if f"<{_ROOT}>" not in text[:_FIRST]:
        return None
    root = _parse(text)
    if root.name != _ROOT:
        return None
    systems = {one.text("Identifier"): one for one in root.all("System")}
    client = root.text("Generated", "TestClient")
    return (figure for result in root.all("Result") for figure in _of_result(result, systems, client))


def _parse(text: str) -> _Element:
    """Take the document to pieces; raises ValueError."""
    top = _Element("")
    open_elements = [top]

    def begin(name: str, _attributes: dict[str, str]) -> None:
        if len(open_elements) > _DEEPEST:
            raise ValueError(f"its XML is nested more than {_DEEPEST} deep")
        element = _Element(name)
        open_elements[-1].inner.append(element)
        open_elements.append(element)

    def add(data: str) -> None:
        if len(open_elements[-1].parts) < _MOST_PIECES:
            open_elements[-1].parts.append(data)

    def refuse(*_args: object) -> int:
        raise ValueError("its XML declares a document type or an entity, which is not allowed")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda _name: open_elements.pop()
    parser.CharacterDataHandler = add
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise ValueError(f"its XML is broken ({error})") from error
    return top.inner[0]


def _of_result(result: _Element, systems: dict[str, _Element], client: str) -> Iterator[Claim]:
    title = " ".join(part for part in (result.text("Title"), result.text("Description")) if part) or result.text(
        "Identifier"
    )
    scale = result.text("Scale")
    for data in result.all("Data"):
        for entry in data.all("Entry"):
            raw = entry.text("RawString") or entry.text("Value")
            if not raw:  # the test did not run there
                continue
            machine = entry.text("Identifier")
            during = Circumstances(
                version=client.removeprefix("Phoronix Test Suite").strip().lstrip("v")[:40] or None,
                machine=machine or None,
                measured=_measured_at(systems.get(machine)),
            )
            for value in _values(raw, title):
                try:
                    yield as_claim(title, _doing(title), value, scale, during)
                except ValueError:
                    named = f"{title} ({scale})"
                    yield Claim(test=named, action=Doing.MIXED, outstanding=None, during=during)


def _values(raw: str, title: str) -> list[float]:
    values = raw.split(":")
    if len(values) > _MOST_VALUES:
        raise ValueError(f"'{title[:60]}' has {len(values)} trials")
    try:
        found = [float(value) for value in values if value.strip()]
    except ValueError as error:
        raise ValueError(f"the values of '{title[:60]}' are not numbers ('{raw[:40]}')") from error
    if not all(math.isfinite(value) and value >= 0 for value in found):
        raise ValueError(f"a value of '{title[:60]}' is not a rate or a time ('{raw[:40]}')")
    return found


def _measured_at(system: _Element | None) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(system.text("TimeStamp")) if system else None
    except ValueError:
        return None


def _doing(title: str) -> Doing:
    """Decide what a test does by the words of its title; where they name both or neither, it is unknown."""
    doings = {doing for word, doing in (("read", Doing.READ), ("write", Doing.WRITE)) if word in title.lower()}
    return doings.pop() if len(doings) == 1 else Doing.MIXED
