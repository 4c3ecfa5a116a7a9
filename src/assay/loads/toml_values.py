"""Read plain TOML values as typed ones, strictly, with the place of each error.

Driven by the types alone: a field added to the Plan can be written in a load file the same day. Accepted short forms,
each with one meaning: a number or a size for `fixed`; a kind's name for the kind with its defaults (`"sequential"`);
`{kind = value}` for the kind's main field (`{sleep = "5s"}`); a lone table where a list of tables is wanted.
"""

import difflib
import enum
import re
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec

from assay import plan
from assay.errors import FrontEndError, InputError
from assay.loads.load_file import DEFAULTS, Meaning, Unit, fields_of, key_of, main_field, meaning_of, tag_of
from assay.loads.locate import Lines, Path
from assay.plan import limits
from assay.units import format_bytes, format_seconds, parse_bytes, parse_seconds

T = TypeVar("T", bound=msgspec.Struct)

Fields = Mapping[str, msgspec.structs.FieldInfo]

NO_MEANING = Meaning()

OTHER_NAMES = {
    "block_size": "size",
    "bs": "size",
    "duration": "seconds",
    "filesize": "size",
    "ioengine": "backend",
    "iodepth": "queue_depth",
    "iodepth_batch": "batch",
    "iodepth_batch_submit": "batch",
    "libaio": "aio",
    "numjobs": "workers",
    "nrfiles": "files",
    "runtime": "seconds",
    "sync": "psync",
    "threads": "workers",
    "warmup": "ramp",
}
"""Words of other tools, with the word to suggest."""

_QUOTED = re.compile(r"true|false|[0-9]+(\.[0-9]+)?")

_TOML_NAMES: dict[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


class Reader:
    """Reads the values of one load file."""

    def __init__(self, source: str, lines: Lines) -> None:
        """Take the name of the text, for messages, and its positions."""
        self._source = source
        self._lines = lines
        self.translate: dict[type[plan.Value], Callable[[object, Path], object]] = {}
        """Plan types that a load file spells in a shape of its own, with what reads them."""

    def error(self, path: Path, text: str, *, at: Path | None = None) -> FrontEndError:
        """Make the error `file:line: phase.job.workers: text`; `at` is the place, if not the path itself."""
        label = ".".join(part for part in path if isinstance(part, str))
        line = self._lines.line_of(path if at is None else at)
        return FrontEndError(self._source, line, f"{label}: {text}" if label else text)

    def unknown(
        self, path: Path, what: str, name: str, known: Iterable[str], *, at: Path | None = None
    ) -> FrontEndError:
        """Make the error for a name that does not exist, with the closest one that does."""
        names = sorted(known)
        preferred = OTHER_NAMES.get(name, "")
        close = [preferred] if preferred in names else difflib.get_close_matches(name, names, n=1)
        cure = f"did you mean '{close[0]}'?" if close else f"known here: {', '.join(names) or 'none'}"
        return self.error(path, f"no {what} '{name}'; {cure}", at=at)

    def table(self, shape: type[T], value: object, path: Path, meaning: Meaning = NO_MEANING) -> T:
        """Read a table as a struct."""
        if not isinstance(value, dict):
            raise self._wrong_type("a table", value, path)
        return self._fields(shape, {key_of(f): f for f in fields_of(shape)}, value, path, meaning)

    def read(self, kind: Any, value: object, path: Path, meaning: Meaning = NO_MEANING) -> Any:
        """Read a value of any type that a Plan can hold."""
        if kind in self.translate:
            return self.translate[kind](value, path)
        if get_origin(kind) in (Union, types.UnionType):
            return self._union(get_args(kind), value, path, meaning)
        if get_origin(kind) is tuple:
            return self._tuple(get_args(kind), value, path, meaning)
        if kind in (int, float):
            return self._number(kind, value, path, meaning)
        if issubclass(kind, plan.Value):
            return self.table(kind, value, path, meaning)
        return self._enum(kind, value, path) if issubclass(kind, enum.Enum) else self._plain(kind, value, path, meaning)

    def _plain(self, kind: type, value: object, path: Path, meaning: Meaning) -> object:
        if type(value) is not kind:
            raise self._wrong_type(_TOML_NAMES[kind], value, path)
        if isinstance(value, str) and (why := limits.wrong_text(meaning.limits, value)):
            raise self.error(path, why)
        return value

    def _fields(self, shape: type[T], fields: Fields, given: Mapping[str, object], path: Path, meaning: Meaning) -> T:
        values: dict[str, Any] = dict(DEFAULTS.get(shape, {}))
        for key, value in given.items():
            if key not in fields:
                raise self.unknown(path, "key", key, fields, at=(*path, key))
            name = fields[key].name
            values[name] = self.read(fields[key].type, value, (*path, key), meaning_of(shape, name, meaning))
        for key, field in fields.items():
            if field.required and field.name not in values:
                raise self.error(path, f"key '{key}' is missing")
        return shape(**values)

    def _union(self, members: tuple[Any, ...], value: object, path: Path, meaning: Meaning) -> Any:
        members = tuple(member for member in members if member is not types.NoneType)
        if len(members) == 1:
            return self.read(members[0], value, path, meaning)
        by_tag = {tag_of(member): member for member in members}
        if isinstance(value, dict):
            return self._member(by_tag, value, path, meaning)
        if meaning.unit is Unit.POSITION and value == "uniform":
            return plan.ANYWHERE
        if isinstance(value, str) and value in by_tag:
            return self._fields(by_tag[value], self._keys(by_tag[value]), {}, path, meaning)
        if plan.Fixed in members and meaning.unit is not Unit.POSITION:
            return plan.Fixed(value=self._number(float, value, path, meaning))
        if isinstance(value, str):
            raise self.unknown(path, "kind", value, by_tag)
        raise self._wrong_type(f"the name of a kind or a table ({', '.join(by_tag)})", value, path)

    def _member(self, by_tag: dict[str, Any], value: Mapping[str, Any], path: Path, meaning: Meaning) -> Any:
        if plan.Do in by_tag.values() and isinstance(value.get("op"), str) and "kind" not in value:
            return plan.Do(op=self.read(plan.Op, value, path))
        if "kind" in value:
            tag = value["kind"]
            if not isinstance(tag, str):
                raise self._wrong_type("the name of a kind", tag, (*path, "kind"))
            if tag not in by_tag:
                raise self.unknown(path, "kind", tag, by_tag, at=(*path, "kind"))
            rest = {key: item for key, item in value.items() if key != "kind"}
            return self._fields(by_tag[tag], self._keys(by_tag[tag]), rest, path, meaning)
        short = [tag for tag in value if tag in by_tag and main_field(by_tag[tag]) is not None]
        if not short:
            known = ", ".join(by_tag)
            first = next(iter(value), "")
            close = difflib.get_close_matches(first, by_tag, n=1)
            cure = f"did you mean '{close[0]}' for '{first}'?" if close else f"add kind = one of {known}"
            raise self.error(path, f"the kind is ambiguous: {cure}")
        # The first key that names a kind decides: `{range = "1MiB", length = "4MiB"}`, `{stride = "8KiB"}`.
        return self._fields(by_tag[short[0]], self._keys(by_tag[short[0]], short=True), value, path, meaning)

    @staticmethod
    def _keys(member: type[plan.Value], *, short: bool = False) -> Fields:
        """Map keys to fields; in the short form the kind's name is its main field."""
        main = main_field(member) if short else None
        keys = {key_of(field): field for field in fields_of(member)}
        if main is None:
            return keys
        return {tag_of(member): main} | {key: field for key, field in keys.items() if field.name != main.name}

    def _tuple(self, items: tuple[Any, ...], value: object, path: Path, meaning: Meaning) -> tuple[Any, ...]:
        if len(items) == 2 and items[1] is Ellipsis:
            item = items[0]
            is_plain = item in (int, float, str) or get_origin(item) is tuple
            # A lone table or kind can only mean a list of one; a lone text for a program and its arguments cannot.
            if not is_plain and isinstance(value, dict | str):
                return (self.read(item, value, path, meaning),)
            if not isinstance(value, list):
                raise self._wrong_type("a list", value, path)
            if meaning.limits in limits.LISTS and not limits.LISTS[meaning.limits].holds(len(value)):
                most, why = limits.LISTS[meaning.limits][1:]
                raise self.error(path, f"{len(value)} entries are too many; {most:g} are the most ({why})")
            return tuple(self.read(item, element, (*path, index), meaning) for index, element in enumerate(value))
        if not isinstance(value, list) or len(value) != len(items):
            raise self._wrong_type(f"a list of {len(items)} numbers", value, path)
        # Rows of a table of weights: only what follows the weight has the unit of what is drawn.
        meanings = [Meaning(Unit.NUMBER, "weight"), *[meaning] * (len(items) - 1)]
        return tuple(self.read(items[i], value[i], (*path, i), meanings[i]) for i in range(len(items)))

    def _enum(self, kind: type[enum.Enum], value: object, path: Path) -> enum.Enum:
        if kind is plan.Direct and isinstance(value, bool):
            return plan.Direct.ON if value else plan.Direct.OFF
        names = [str(member.value) for member in kind]
        if not isinstance(value, str):
            raise self._wrong_type(f"one of {', '.join(names)}", value, path)
        if value not in names:
            raise self.unknown(path, "choice", value, names)
        return kind(value)

    def _number(self, kind: Any, value: object, path: Path, meaning: Meaning) -> Any:
        wanted = _wanted(kind, meaning.unit)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise self._wrong_type(wanted, value, path)
        try:
            number = _measured(kind, value, meaning.unit)
        except InputError as error:
            raise self.error(path, str(error)) from error
        if number is None:
            raise self._wrong_type(wanted, value, path)
        if meaning.limits.endswith("_per_s") and number == 0:
            raise self.error(path, "a rate of 0 would never do anything; write a rate above 0, or leave the key out")
        limit = limits.NUMBERS[meaning.limits]
        if not limit.holds(number):
            bounds = f"from {_bound(limit.least, meaning.unit)} to {_bound(limit.most, meaning.unit)}"
            text = f"{limits.shown(value)} is out of range; {wanted} {bounds} is wanted ({limit.why})"
            raise self.error(path, text)
        # Adding nothing makes a zero of a negative zero.
        return kind(number) + 0

    def _wrong_type(self, wanted: str, value: object, path: Path) -> FrontEndError:
        got = _TOML_NAMES.get(type(value), "a date or time")
        shown = f" ({value!r})" if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
        cure = ""
        is_quoted = isinstance(value, str) and _QUOTED.fullmatch(value)
        if is_quoted and wanted in {_TOML_NAMES[int], _TOML_NAMES[float], _TOML_NAMES[bool]}:
            cure = "; write it without quotes"
        return self.error(path, f"{wanted} is wanted, not {got}{shown}{cure}")


def _measured(kind: Any, value: float | str, unit: Unit) -> float | None:
    """Turn a number or a text with a unit into a number; None if the text can have no unit here."""
    if isinstance(value, str):
        if unit is Unit.BYTES:
            return parse_bytes(value)
        return parse_seconds(value) if unit is Unit.SECONDS else None
    return value if kind is float or isinstance(value, int) else None


def _bound(number: float, unit: Unit) -> str:
    if unit is Unit.BYTES and number:
        return format_bytes(number)
    return format_seconds(number) if unit is Unit.SECONDS and 0 < number < 1 else limits.shown(number)


def _wanted(kind: Any, unit: Unit) -> str:
    if unit is Unit.BYTES:
        return 'a size such as "4KiB"'
    if unit is Unit.SECONDS:
        return 'a time such as "5s"'
    return _TOML_NAMES[kind]
