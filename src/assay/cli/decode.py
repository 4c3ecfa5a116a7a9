"""`assay decode`: find what the figures of another benchmark measured."""

from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Json, Runs

if TYPE_CHECKING:
    from pathlib import Path

    from assay.decode.claim import Claim


def decode(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE|RUN", help="Output of a tool, or an imported run; '-' is stdin."),
    ],
    link: Annotated[
        str | None, typer.Option("--link", metavar="RATE", help="Bandwidth of the link to the storage, such as 1Gbit.")
    ] = None,
    ram: Annotated[
        str | None, typer.Option("--ram", metavar="SIZE", help="Memory of the client, such as 4GiB.")
    ] = None,
    server_ram: Annotated[
        str | None, typer.Option("--server-ram", metavar="SIZE", help="Memory of the server, or cache of the array.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="RATE", help="Maximum throughput of devices or buses, such as 640MB/s."),
    ] = None,
    json_: Json = False,
    runs: Runs = None,
) -> None:
    """Find what another tool's figures measured: cache, client, link or storage.

    The tools are bonnie++, iozone, fio (JSON), elbencho (CSV, JSON), postmark, vdbench, io500, phoronix and dd. Facts
    that are not given are not guessed: what depends on them stays unknown.
    """
    from assay.cli.pipes import echo
    from assay.decode.decodings import decodings, to_json
    from assay.decode.given import read_given
    from assay.decode.readers import read
    from assay.input_text import read_text

    given = read_given(link, ram, server_ram, device)
    source = "/dev/stdin" if file == "-" else file
    try:
        tool, figures = read(read_text(source, "captured output"), file)
    except FileNotFoundError:
        tool, figures = _imported(file, runs)
    found = decodings(tool, figures, given)
    if json_:
        echo(to_json(found))
    else:
        from assay.console import console
        from assay.report.decode_text import render

        render(found, console())


def _imported(reference: str, runs: "Path | None") -> "tuple[str, tuple[Claim, ...]]":
    """Read what a foreign run was imported from."""
    from assay.bundle.catalog import open_run
    from assay.decode.readers import read
    from assay.errors import BundleError, InputError

    try:
        bundle = open_run(reference, runs)
        original = bundle.original()
    except BundleError as error:
        raise InputError(f"there is no file '{reference}', and {error}") from None
    if original is None:
        raise InputError(f"decode: {bundle.run_id} was measured by Assay; use 'assay show'")
    tool, figures = read(original.text, original.file_name, original.tool)
    return tool, tuple(figure for figure in figures if figure.during.machine == original.machine)
