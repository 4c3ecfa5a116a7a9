"""The page of the load file, from the types that read it.

Keys, types, defaults and their meaning are those of `loads/load_file.py` and the Plan, limits those of `plan/limits.py`.
"""

import ast
import enum
import inspect
import re
import textwrap
import types
from typing import Any, Union, get_args, get_origin

import msgspec

from assay import input_text, plan
from assay.loads import load_file, text_bounds
from assay.loads.load_file import SHAPES, Unit, key_named, key_of, main_field, tag_of, unit_of
from assay.loads.parameters import BUILT_IN
from assay.plan import limits
from assay.units import BYTES_PER_UNIT, SECONDS_PER_UNIT, format_bytes, format_seconds
from bench.reference import snippets

UNIONS: dict[str, Any] = {
    "distribution": plan.Distribution,
    "layout": plan.Layout,
    "step": plan.Step,
    "action": plan.Action,
    "pick": plan.Pick,
    "access": plan.Access,
    "region": plan.Region,
    "arrival": plan.Arrival,
    "backend": plan.Backend,
}
"""Tagged unions, by the word that stands for them on the page."""

TABLES: dict[str, type[msgspec.Struct]] = {
    "The file": load_file.LoadFile,
    "`[[target]]`": load_file.TargetTable,
    "`[[file_set]]`": plan.FileSet,
    "content": plan.Content,
    "`[[phase]]`": load_file.PhaseTable,
    "`[[phase.job]]`": load_file.JobTable,
    "cell": plan.TableCell,
    "stop": plan.Stop,
    "`[rounds]`": plan.Rounds,
    "steady": plan.SteadyRule,
    "batch": plan.Batch,
    "limit": plan.RateLimit,
    "script": plan.Script,
    "groups": plan.ScriptGroup,
    "op": load_file.OpTable,
    "branch": plan.Branch,
}
"""Tables, by their heading."""


def page() -> str:
    """Write the whole page."""
    tables = "\n\n".join(
        f"### {name}\n\n{_class_text(shape)}\n\n{_fenced(snippets.TABLES[name])}\n\n{_keys_table(shape)}"
        for name, shape in TABLES.items()
    )
    unions = "\n\n".join(_union_section(name, union) for name, union in UNIONS.items())
    return f"{_introduction()}\n\n## Tables\n\n{tables}\n\n{_operations()}\n\n## Kinds\n\n{unions}\n\n{_limits()}\n"


def _introduction() -> str:
    sizes = ", ".join(f"`{unit}`" for unit in BYTES_PER_UNIT)
    times = ", ".join(f"`{unit}`" for unit in SECONDS_PER_UNIT)
    built_in = ", ".join(f"`{name}`" for name in BUILT_IN)
    return f"""\
# The load file

<!-- Made by `python -m bench.reference`; do not edit. -->

A load file is TOML. It defines files and what is done with them, phase by phase; `assay run FILE.toml DIR`
carries it out. `assay suites` lists [examples](../../src/assay/loads/examples), which run by their names, and
`assay measure DIR ... --as-toml` writes one. Each key is listed here; an unknown key, a wrong type or a
name without an object is refused with file and line. What this version of the engine does not carry out is refused
before anything is touched, never skipped.

## Values

- **Size**: `"4KiB"`, `"1.5 GiB"`, or a plain number of bytes. Units: {sizes}.
  One letter is binary, as fio, dd and iozone read it: `"4k"` is 4 KiB, `"256M"` 256 MiB. `"4KB"` and `"1MB"` mean two
  things, and are refused with both.
- **Time**: `"500ms"`, `"5s"`, or a plain number of seconds. Units: {times}.
- **Share**: a number from 0 to 1.
- **Kind**: one of several, each with keys of its own. Three spellings: `"sequential"` (all keys at their defaults),
  `{{ kind = "sequential", wrap = false }}`, and, for kinds with a main key (marked below),
  `{{ warm = "data", share = 0.5 }}` for `{{ kind = "warm", set = "data", share = 0.5 }}`.
- **Distribution**: a kind; a plain number or size means `fixed`. Where positions are drawn, `"uniform"` is
  everywhere alike.
- **Action**: a kind; an operation is a table of its own, `{{ op = "read", set = "data", size = "4KiB" }}`.
- **List of tables or kinds**: a single one may stand without the brackets.
- **Parameter**: `"${{name}}"` is replaced by the value that `[parameters]` declares or that `--set name=value` gives;
  inside a longer text it is put in as text; `$${{` is a literal `${{`. {built_in} need no declaration:
  `--size`, `--set files=N` and `--time` give them.
- **Scale**: the table `[scale]` names parameters that have a default, each with the least that it becomes:
  `size = "64MiB"`. With `--scale F` such a parameter is its default times F, rounded down (to whole MiB or KiB,
  milliseconds, or ones), and never less than that. What `--set`, `--size` or `--time` gives stays as given.

## What is added

- The `path` of a set that has none: its name.
- `prepare` of a set before the first phase that uses it, unless the file has a `prepare` of that set.
- With `--repeat`, the whole sequence again; sets whose files were created, removed or resized are laid out anew.
- `cache = "cold"`: `evict` of the sets that the phase's operations use, after all of `before`; `cache = "warm"`:
  `warm` of them."""


def _operations() -> str:
    """List how each operation is written."""
    return (
        "### Operations\n\nAs they stand behind `op =` or in a loop. [Operations](operations.md) says what each works on."
        f"\n\n{_fenced(chr(10).join(snippets.OPERATIONS.values()))}"
    )


def _fenced(snippet: str) -> str:
    return f"```toml\n{snippet}\n```"


def _limits() -> str:
    """Tell what numbers and lists lie between."""
    numbers = [
        f"| `{key_named(name)}` | {_bound(name, row.least)} | {_bound(name, row.most)} | {row.why} |"
        for name, row in sorted(limits.NUMBERS.items())
    ]
    of_the_file = {inside: key for key, inside in load_file.LISTS.items()}
    lists = [
        f"| `{of_the_file.get(name, name)}` | {row.most:,.0f} | {row.why} |"
        for name, row in sorted(limits.LISTS.items())
        if name != "untranslated"
    ]
    return f"""\
## Limits

A number lies between these bounds, whoever gives it: a load file, `--set`, a tool's command line, or a Plan that reaches the
engine by itself. It is checked before anything is touched. What a distribution draws has the bounds of the key that it
stands under. The memory that a run needs is checked, too.

| key | least | most | why not more |
| --- | --- | --- | --- |
{chr(10).join(numbers)}

| list | most entries | why not more |
| --- | --- | --- |
{chr(10).join(lists)}

A name has at most {limits.NAME_BYTES.most:,} bytes of UTF-8, another text {int(limits.TEXT_BYTES.most) >> 10} KiB. Actions
are nested at most {limits.NESTING.most} deep, tables and lists {text_bounds.NESTING}. A number or a bare key has at most
{text_bounds.WORD_CHARACTERS} characters, the file {input_text.MOST_BYTES >> 20} MiB; it is a regular file, or a pipe
(`/dev/stdin`, `<(...)`)."""


def _bound(name: str, number: float) -> str:
    unit = unit_of(plan.Plan, name, Unit.NUMBER)
    if unit is Unit.BYTES:
        return format_bytes(number)
    if unit is Unit.SECONDS and number:
        return f"{number / 86_400:g} days" if number >= 86_400 else format_seconds(number)
    return f"{number:,.12g}" if number < 1e12 else f"{number:.3g}"


def _union_section(name: str, union: Any) -> str:
    parts = [f"### {name}"]
    for member in get_args(union):
        main = main_field(member)
        short = f" (main key: `{key_of(main)}`)" if main else ""
        snippet = snippets.KINDS[name][tag_of(member)]
        keys = _keys_table(member) if msgspec.structs.fields(member) else "No keys."
        parts.append(f"**`{tag_of(member)}`**{short}: {_class_text(member)}\n\n{_fenced(snippet)}\n\n{keys}")
    return "\n\n".join(parts)


def _keys_table(shape: type[msgspec.Struct]) -> str:
    texts = _field_texts(shape)
    rows = ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
    for field in msgspec.structs.fields(shape):
        cells = (f"`{key_of(field)}`", _type_text(shape, field), _default_text(shape, field), texts[field.name])
        rows.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(rows)


def _class_text(shape: type) -> str:
    text = " ".join((inspect.getdoc(shape) or "").split())
    # The Plan's names carry units; the keys of a load file do not.
    return re.sub(r"`(\w+)_(?:bytes|s)`", r"`\1`", text)


def _field_texts(shape: type) -> dict[str, str]:
    """Docstrings under the fields of a class."""
    texts: dict[str, str] = {}
    body = ast.parse(textwrap.dedent(inspect.getsource(shape))).body[0]
    if isinstance(body, ast.ClassDef):
        for statement, following in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(following, ast.Expr)
                and isinstance(following.value, ast.Constant)
            ):
                texts[statement.target.id] = " ".join(str(following.value.value).split())
    return texts


def _type_text(shape: type[msgspec.Struct], field: msgspec.structs.FieldInfo) -> str:
    if unit_of(shape, field.name, Unit.BYTES) is not unit_of(shape, field.name, Unit.NUMBER):
        # What a distribution draws is in the unit of the place where it stands.
        return "number, size or time" if field.type is float else "list of [weight, from, to]"
    unit = unit_of(shape, field.name, Unit.NUMBER)
    return _kind_text(field.type, unit, is_share=field.name == "share" or field.name.endswith("_share"))


def _kind_text(kind: Any, unit: Unit, *, is_share: bool = False) -> str:
    arguments = tuple(argument for argument in get_args(kind) if argument is not types.NoneType)
    for name, union in UNIONS.items():
        if set(get_args(union)) == set(arguments):
            values = {Unit.BYTES: " of sizes", Unit.SECONDS: " of times", Unit.POSITION: " of positions"}
            return f"[{name}](#{name}){values.get(unit, '') if name == 'distribution' else ''}"
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join(_kind_text(argument, unit) for argument in arguments)
    if get_origin(kind) is tuple:
        plurals = {int: "whole numbers", str: "texts"}
        return f"list of {plurals.get(arguments[0]) or _kind_text(arguments[0], unit)}"
    if get_origin(kind) is dict:
        return "table"
    return _plain_text(kind, unit, is_share=is_share)


def _plain_text(kind: Any, unit: Unit, *, is_share: bool) -> str:
    if issubclass(kind, enum.Enum):
        return ", ".join(f'`"{member.value}"`' for member in kind)
    if issubclass(kind, plan.Value):
        heading = next(name for name, shape in TABLES.items() if shape is SHAPES.get(kind, kind))
        anchor = "".join(letter for letter in heading.lower() if letter.isalnum() or letter in "_-")
        return f"[{heading}](#{anchor})"
    if is_share:
        return "share"
    if unit in (Unit.BYTES, Unit.SECONDS):
        return str(unit.value)
    names: dict[type, str] = {int: "whole number", float: "number", str: "text", bool: "true, false"}
    return names[kind]


def _default_text(shape: type[msgspec.Struct], field: msgspec.structs.FieldInfo) -> str:
    own_defaults = load_file.DEFAULTS.get(shape, {})
    if field.required and field.name not in own_defaults:
        return "required"
    default: Any = own_defaults.get(field.name, field.default)
    is_size = unit_of(shape, field.name, Unit.NUMBER) is Unit.BYTES
    match default:
        case None | "" | () | msgspec.NODEFAULT:
            text = ""
        case plan.Uniform():
            text = '"uniform"'
        case enum.Enum() as choice:
            text = f'"{choice.value}"'
        case bool() as flag:
            text = str(flag).lower()
        case str() as word:
            text = f'"{word}"'
        case plan.Value() as value:
            text = f'"{value.__struct_config__.tag}"' if value.__struct_config__.tag else ""
        case number:
            text = f'"{number >> 20}MiB"' if is_size and number else f"{number:g}"
    return f"`{text}`" if text else "none"
