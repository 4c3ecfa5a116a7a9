"""`assay decode`: what the figures of somebody else's benchmark are figures of."""

from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Json, Runs

if TYPE_CHECKING:
    from pathlib import Path

    from assay.decode.claim import Claim


def decode(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|RUN", help="What the tool printed, or a run that was imported; '-' reads standard input."
        ),
    ],
    link: Annotated[
        str | None, typer.Option("--link", metavar="RATE", help="Network to the storage, such as 1Gbit or 25Gbit.")
    ] = None,
    ram: Annotated[
        str | None, typer.Option("--ram", metavar="SIZE", help="Memory of the client, such as 4GiB.")
    ] = None,
    server_ram: Annotated[
        str | None, typer.Option("--server-ram", metavar="SIZE", help="Memory of the server, or cache of the array.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="RATE", help="Most that the devices or their buses move, such as 640MB/s."),
    ] = None,
    json_: Json = False,
    runs: Runs = None,
) -> None:
    """Say what each figure of another tool's output measured: cache, client, link or storage.

    The tools are bonnie++, iozone, fio (JSON), elbencho (CSV, JSON), postmark, vdbench, io500, phoronix and dd. A fact
    that is not given is not guessed: what it would decide stays unknown.
    """
    from assay.cli.pipes import say
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
        say(to_json(found))
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
        raise InputError(f"decode: {bundle.run_id} was measured by Assay: 'assay show' says what its numbers are of")
    tool, figures = read(original.text, original.file_name, original.tool)
    return tool, tuple(figure for figure in figures if figure.during.machine == original.machine)
