"""`assay man`: print the manual page, made from the `--help` texts."""

from collections.abc import Iterator
from typing import Any

import typer

from assay.cli.pipes import echo


def man(context: typer.Context) -> None:
    """Print the manual page: assay man > ~/.local/share/man/man1/assay.1."""
    echo("\n".join(page(context.find_root().command)))


def page(root: Any) -> Iterator[str]:
    """Give the lines of the page in the man(7) macros.

    Args:
        root: The group of all commands.
    """
    from assay import __version__
    from assay.errors import EXIT_CODES

    yield f'.TH ASSAY 1 "" "Assay {__version__}" "User Commands"'
    yield from (
        ".SH NAME",
        "assay \\- measure storage, find what limits it, and check whether the result can be trusted",
    )
    yield from (".SH SYNOPSIS", ".B assay", "[\\fICOMMAND\\fR] [\\fIOPTIONS\\fR] ...")
    yield from (".SH DESCRIPTION", *_text(root.help))
    context = root.make_context("assay", [], resilient_parsing=True)
    yield ".SH COMMANDS"
    for name in root.list_commands(context):
        yield from _command(name, root.get_command(context, name), context)
    yield ".SH EXIT STATUS"
    for code, words in EXIT_CODES.items():
        yield from (".TP", f".B {code}", *_text(words))


def _command(name: str, command: Any, above: Any) -> Iterator[str]:
    context = command.make_context(name, [], parent=above, resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f".SS assay {_escaped(name)} {_escaped(usage)}", *_text(command.help or ""))
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            yield from (".TP", f".B {_escaped(record[0])}", *_text(record[1]))


def _text(text: str) -> Iterator[str]:
    """Give paragraphs; one that is indented, as a table of options is, keeps its lines."""
    for number, paragraph in enumerate(text.strip("\n").split("\n\n")):
        if number:
            yield ".PP"
        lines = paragraph.replace("\b", "").splitlines()
        is_laid_out = len(lines) > 1 and any(line.startswith("  ") for line in lines)
        yield from ([".nf"] if is_laid_out else [])
        yield from (_escaped(line) for line in lines)
        yield from ([".fi"] if is_laid_out else [])


def _escaped(text: str) -> str:
    """Write a text so that nothing in it is a macro or an escape."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
