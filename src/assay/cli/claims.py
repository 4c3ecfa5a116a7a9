"""`assay claims FILE`: check claims against runs or tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.comparing import Effect, Markdown
from assay.cli.options import Json, Runs

if TYPE_CHECKING:
    from assay.claims.against_runs import GatherRuns
    from assay.claims.against_tables import Meant


def claims(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Claims: TOML, Markdown table or one per line; '-' is stdin."),
    ],
    table: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="FILE", help="Figures to check against: CSV or JSON. Repeatable."),
    ] = None,
    on: Annotated[str, typer.Option("--on", metavar="RUN", help="Run for claims that name none.")] = "last",
    mb: Annotated[
        str | None,
        typer.Option(
            "--mb",
            metavar="HOW",
            help="Meaning of KB and MB: decimal, binary or both [default: as in the file].",
        ),
    ] = None,
    effect: Effect = 3.0,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if a claim is not decidable, too.")] = False,
    markdown: Markdown = False,
    json: Json = False,
    runs: Runs = None,
) -> None:
    """Check claims: supported, contradicted or not decidable, with the figures and the reason.

    A claim is a sentence about runs ('p99 of tag:after is below 2 ms', 'tag:after is 10 % faster than tag:before') or about
    tables ('fat_write is faster than ntfs_write'). A difference inside its interval, another unit or another cache state
    decides nothing.
    """
    from assay.claims.claims_file import name_of, read_claims, read_table
    from assay.errors import InputError

    if markdown and json:
        raise InputError("--markdown and --json: choose one")
    claimed = read_claims(file)
    for path in table or ():
        name = name_of(path)
        if name in claimed.tables:
            raise InputError(f"--table {path}: there is a table '{name}' already")
        claimed.tables[name] = read_table(path, name)
    from assay.claims.assessed import to_json
    from assay.claims.assessment import assess_claims, exit_code
    from assay.cli.pipes import echo
    from assay.console import console
    from assay.report.claims_text import markdown_table, render_claims

    found = assess_claims(claimed, _gathering(runs), on, _reading(mb, effect, claimed.prefixes.value))
    if json:
        echo(to_json(found))
    elif markdown:
        echo("\n".join(markdown_table(found)))
    else:
        render_claims(found, console())
    raise typer.Exit(exit_code(found, is_strict=strict))


def _reading(mb: str | None, effect: float, of_file: str) -> "Meant":
    """Set how claims are read."""
    from assay.claims.against_tables import Meant
    from assay.claims.stated_units import Prefixes
    from assay.errors import InputError

    try:
        return Meant(effect / 100, Prefixes(mb or of_file))
    except ValueError:
        raise InputError(f"--mb '{mb}': decimal, binary or both is wanted") from None


def _gathering(runs: Path | None) -> "GatherRuns":
    """Gather each side once, however many sentences are about it."""
    from functools import cache

    from assay.cli.compare import arm_of

    return cache(lambda side: arm_of(side, runs))
