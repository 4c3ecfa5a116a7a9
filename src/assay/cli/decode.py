"""`assay decode`: what the figures of somebody else's benchmark are figures of."""

from typing import Annotated

import typer

from assay.cli.options import Json


def decode(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What the tool printed; '-' reads standard input.")],
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
) -> None:
    """Say what each figure of another tool's output measured: cache, client, link or storage.

    The tools are bonnie++, iozone, fio (JSON), elbencho (CSV, JSON), postmark and dd. A fact that is not given is not
    guessed: what it would decide stays unknown.
    """
    from assay.cli.pipes import say
    from assay.console import console
    from assay.decode.decodings import decodings, to_json
    from assay.decode.given import read_given
    from assay.decode.readers import read
    from assay.errors import InputError
    from assay.input_text import read_text
    from assay.report.decode_text import render

    given = read_given(link, ram, server_ram, device)
    source = "/dev/stdin" if file == "-" else file
    try:
        text = read_text(source, "captured output")
    except FileNotFoundError:
        raise InputError(f"there is no file '{file}'") from None
    tool, figures = read(text, file)
    found = decodings(tool, figures, given)
    if json_:
        say(to_json(found))
    else:
        render(found, console())
