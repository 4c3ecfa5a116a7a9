"""Read the claims of a file: TOML, a table in Markdown, or a sentence a line.

TOML names its tables, which are next to it, and gives each claim an id, the words of its author, and one or more sentences:

    title = "Report 12"
    mb = "decimal"
    tables = { fat = "ntfs_fat32.csv" }

    [[claim]]
    id = "writes"
    text = "FAT is faster"
    says = "fat_write is faster than ntfs_write"

`says` may be left out where the text is such a sentence, and be a list: then all have to hold. `undecidable = "why"` is
given in its place for a claim of which the tables have no figures. In Markdown a table has a column `claim`, and if
wanted `id` and `says`. In any other text each line is a claim, but for empty ones and those that begin with `#`;
bullets are left out.

A sentence of TOML that is not understood is a fault of the file; one of a text is a claim that cannot be decided.
"""

import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec

from assay.bundle import strict_json
from assay.claims.fact_tables import FactTable, of_json, parse_csv
from assay.claims.stated_units import Prefixes
from assay.errors import InputError
from assay.input_text import read_text
from assay.loads.text_bounds import check_text

MOST_CLAIMS: Final = 1_000
"""Sentences of a file."""
MOST_TABLES: Final = 64
MOST_SENTENCES: Final = 20
"""Of a claim."""
MOST_CHARACTERS: Final = 2_000
"""Of a text or a note."""

_NAME = re.compile(r"[A-Za-z_]\w{0,60}")
_FILE_NAME = re.compile(r"[\w-][\w.-]{0,100}")
"""A file next to the file of claims: a name, no path."""


@dataclasses.dataclass(frozen=True)
class Claimed:
    """A claim as its file has it."""

    id: str
    text: str
    sentences: tuple[str, ...]
    note: str = ""
    undecidable: str = ""
    """Why the tables cannot decide it; empty: they may."""


@dataclasses.dataclass(frozen=True)
class ClaimsFile:
    """What a file holds."""

    source: str
    title: str
    claims: tuple[Claimed, ...]
    tables: dict[str, FactTable]
    prefixes: Prefixes
    is_strict: bool
    """Whether a sentence that is not understood is a fault of the file."""


class _ClaimTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: str = ""
    says: str | list[str] = ""
    id: str = ""
    note: str = ""
    undecidable: str = ""


class _Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claim: list[_ClaimTable]
    title: str = ""
    mb: Prefixes = Prefixes.BOTH
    tables: dict[str, str] = {}


def read_claims(path: str) -> ClaimsFile:
    """Read a file of claims and the tables that it names; raises InputError."""
    try:
        text = read_text("/dev/stdin" if path == "-" else path, "file of claims")
    except FileNotFoundError:
        raise InputError(f"there is no file '{path}'") from None
    kind = Path(path).suffix.lower()
    if kind == ".toml":
        return _with_tables(parse_toml(text, path), Path(path).parent)
    return _with_tables(parse_text(text, path, is_markdown=kind == ".md"), None)


def _with_tables(found: tuple[ClaimsFile, dict[str, str]], folder: Path | None) -> ClaimsFile:
    file, named = found
    tables = (
        {}
        if folder is None
        else {name: read_table(str(folder / at), name, follows=False) for name, at in named.items()}
    )
    return dataclasses.replace(file, tables=tables)


def read_table(path: str, name: str, *, follows: bool = True) -> FactTable:
    """Read a table, CSV or JSON by its ending; raises InputError."""
    try:
        text = read_text(path, "table", follows=follows)
    except FileNotFoundError:
        raise InputError(f"there is no table '{path}'") from None
    if Path(path).suffix.lower() != ".json":
        return parse_csv(text, name, path)
    return parse_json(text, name, path)


def parse_json(text: str, name: str, source: str) -> FactTable:
    """Read a table of JSON; raises InputError."""
    try:
        document: Any = strict_json.decode(text.encode(), Any)
    except (ValueError, msgspec.DecodeError) as error:
        raise InputError(f"{source}: is not readable JSON: {error}") from error
    return of_json(document, name, source)


def name_of(path: str) -> str:
    """Name a table that was given by its path."""
    name = re.sub(r"\W", "_", Path(path).stem)
    return name if _NAME.fullmatch(name) else f"t_{name}"[:60]


# -- TOML --------------------------------------------------------------------------------------------------------------


def parse_toml(text: str, source: str) -> tuple[ClaimsFile, dict[str, str]]:
    """Read a file of TOML: its claims, and the files of its tables by their names; raises InputError."""
    check_text(text, source)
    try:
        document = msgspec.convert(tomllib.loads(text), _Document)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: {' '.join(str(error).split())}") from error
    _check_count(sum(len(one.says) if isinstance(one.says, list) else 1 for one in document.claim), source)
    if len(document.tables) > MOST_TABLES:
        raise InputError(f"{source}: names {len(document.tables)} tables; the limit is {MOST_TABLES}")
    for name, at in document.tables.items():
        if not _NAME.fullmatch(name):
            raise InputError(f"{source}: tables: '{name[:60]}' is not a name; letters, digits and _ make one")
        if not _FILE_NAME.fullmatch(at):
            raise InputError(
                f"{source}: tables.{name}: '{at[:60]}' is not a file next to this one; --table names any other"
            )
    claims = tuple(_of_toml(one, number, source) for number, one in enumerate(document.claim, start=1))
    ids = [claim.id for claim in claims]
    if twice := next((id_ for id_ in ids if ids.count(id_) > 1), None):
        raise InputError(f"{source}: two claims have the id '{twice}'")
    return ClaimsFile(source, document.title, claims, {}, document.mb, is_strict=True), document.tables


def _of_toml(one: _ClaimTable, number: int, source: str) -> Claimed:
    where = f"{source}: claim {one.id[:60] or number}"
    sentences = tuple(one.says) if isinstance(one.says, list) else (one.says,) if one.says else ()
    if len(sentences) > MOST_SENTENCES:
        raise InputError(f"{where}: 'says' has {len(sentences)} sentences; the limit is {MOST_SENTENCES}")
    if max(map(len, (one.text, one.note, one.undecidable, one.id))) > MOST_CHARACTERS:
        raise InputError(f"{where}: a text has more than {MOST_CHARACTERS} characters")
    if one.undecidable and sentences:
        raise InputError(f"{where}: has 'says' and 'undecidable'; give one of them")
    if not sentences and not one.text:
        raise InputError(f"{where}: has no 'text' and no 'says'")
    if not sentences and not one.undecidable:
        sentences = (one.text,)
    return Claimed(one.id or str(number), one.text or "; ".join(sentences), sentences, one.note, one.undecidable)


# -- text --------------------------------------------------------------------------------------------------------------

_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,4}[.)])\s+")
_RULE = re.compile(r":?-{1,}:?")


def parse_text(text: str, source: str, *, is_markdown: bool) -> tuple[ClaimsFile, dict[str, str]]:
    """Read a table in Markdown, or a sentence a line; raises InputError."""
    claims = _of_markdown(text) if is_markdown else ()
    if not claims:
        lines = [_BULLET.sub("", line, count=1).strip() for line in text.splitlines() if not line.startswith("#")]
        texts = [line for line in lines if line and not line.startswith("|")]
        claims = tuple(
            Claimed(str(number), line[:MOST_CHARACTERS], (line,)) for number, line in enumerate(texts, start=1)
        )
    _check_count(len(claims), source)
    return ClaimsFile(source, "", claims, {}, Prefixes.BOTH, is_strict=False), {}


def _of_markdown(text: str) -> tuple[Claimed, ...]:
    columns: list[str] = []
    found: list[Claimed] = []
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            columns = []
            continue
        cells = [
            cell.strip().replace("\\|", "|").strip("`") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))
        ]
        if not columns:
            columns = [cell.lower() for cell in cells]
        elif "claim" in columns and not all(map(_RULE.fullmatch, cells)):
            # A row may be shorter, as in every Markdown; what is longer has no column.
            row = dict.fromkeys(columns, "") | dict(zip(columns, cells, strict=False))
            if texts := row.get("says") or row["claim"]:
                id_ = row.get("id") or str(len(found) + 1)
                found.append(Claimed(id_[:MOST_CHARACTERS], row["claim"][:MOST_CHARACTERS], (texts,)))
    return tuple(found)


def _check_count(count: int, source: str) -> None:
    if not count:
        raise InputError(f"{source}: contains no claim, such as 'X is at least 100 MiB/s'")
    if count > MOST_CLAIMS:
        raise InputError(f"{source}: has {count} sentences; the limit is {MOST_CLAIMS}")
