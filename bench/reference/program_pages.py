"""The pages of the commands and the findings, and the schema of the result document.

The first is what `--help` prints, the second what `assay explain` prints of a finding, the third what `assay.results` holds.
"""

import textwrap

import msgspec
from typer.testing import CliRunner

from assay.analysis.finding_pages import FindingPage, finding_pages
from assay.cli import COMMANDS, app
from assay.errors import EXIT_CODES
from assay.results import SCHEMA, Document
from assay.tools import registry

_HELP_COLUMNS = 80
_PAGE_COLUMNS = 125

_INTRODUCTION = """\
# Commands

<!-- Made by `python -m bench.reference`; do not edit. -->

What `assay COMMAND --help` prints, for every command. `RUN` is a run's directory, its id or a unique part of it, its name,
`last`, or `last~1` for the one before ([more](../how-to/keep-track.md#name-a-run)).
Every command ends with one of these exit codes:

| code | means |
| --- | --- |
"""
_AFTER_CODES = """
A result that must not be used has a finding that is `invalid`. A classic tool ends with 0 there, as the original does,
unless `--strict` is given. With `--require-trust yes` (or `weak`) a result that is trusted less ends with 1, too;
so does a run with `--expect` unless all its expectations are met.
`assay diff` ends with 1 when the runs differ,
`assay compare` when a gate is violated or undecided, `assay claims` when a claim is contradicted.
2 is for what the user can fix: the command line, or a file, directory or run that does not exist or cannot be read. 3
is for what the machine refuses: a directory that cannot be written, a full disk, a limit, an engine that died, an
answer that standard output does not take. A run that has begun is sealed with its code, or a message reports that it
could not be. Messages on standard error that cannot be written change nothing.
"""


def commands_page() -> str:
    """Write the page of the commands."""
    names = [*(command.__name__.rstrip("_") for command in COMMANDS), *registry.TOOLS]
    sections = [_section("assay"), *(_section(f"assay {name}", name) for name in names)]
    codes = "".join(f"| {code} | {words} |\n" for code, words in EXIT_CODES.items())
    return _INTRODUCTION + codes + _AFTER_CODES + "\n" + "\n".join(sections)


def _section(title: str, *words: str) -> str:
    # The width of the terminal that happens to be there must not show in a file.
    outcome = CliRunner().invoke(app, [*words, "--help"], prog_name="assay", env={"COLUMNS": str(_HELP_COLUMNS)})
    lines = (line.rstrip() for line in outcome.output.strip().splitlines())
    return f"## {title}\n\n```text\n" + "\n".join(lines) + "\n```\n"


_FINDINGS_INTRODUCTION = """\
# Findings

<!-- Made by `python -m bench.reference` from `src/assay/analysis/finding_pages.toml`; do not edit. -->

What each finding means, an example as it is printed, and what to do. `assay explain RUN ID` prints the same with the rows
of a run that it concerns. [The method](method.md) has what severities do to the trust in a result, and every threshold.
"Was" lists earlier ids, and ids of warnings of the engine: load files and commands may still use them.
"""


def findings_page() -> str:
    """Write the page of the findings."""
    sections = [
        f"## {about[:1].upper()}{about[1:]}\n\n" + "\n".join(_finding(id_, page) for id_, page in pages.items())
        for about, pages in finding_pages().items()
    ]
    return _FINDINGS_INTRODUCTION + "\n" + "\n".join(sections)


def _finding(id_: str, page: FindingPage) -> str:
    turns_on = f" Judged by {', '.join(f'`{name}`' for name in page.turns_on)}." if page.turns_on else ""
    was = f" Was: {', '.join(f'`{name}`' for name in page.was)}." if page.was else ""
    parts = (page.meaning + turns_on, f"> {page.example}", f"**What to do.** {page.cure}{was}")
    return f"### `{id_}`\n\n" + "\n".join(f"{_filled(part)}\n" for part in parts)


def _filled(text: str) -> str:
    """Break a paragraph or a quotation into lines."""
    indent = "> " if text.startswith("> ") else ""
    return textwrap.fill(text, _PAGE_COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def results_schema() -> str:
    """Write the JSON Schema of the result document."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA}
    schema |= msgspec.json.schema(Document)
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"
