"""Options that several commands share, so that they read the same everywhere."""

from pathlib import Path
from typing import Annotated

import typer

Runs = Annotated[
    Path | None,
    typer.Option("--runs", metavar="DIR", help="Where runs are kept [default: $ASSAY_RUNS, else the XDG data folder]."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of text.")]
Time = Annotated[
    str | None,
    typer.Option("--time", metavar="T", help="Measuring time of the whole run, such as 30s or 2min."),
]
Size = Annotated[
    str | None,
    typer.Option("--size", metavar="S", help="Size of the data set, such as 512MiB or 4GiB."),
]
Repeat = Annotated[int, typer.Option("--repeat", min=1, metavar="N", help="Run the whole sequence N times.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a parameter of the load file; may be given again."),
]
AllowCommands = Annotated[
    bool, typer.Option("--allow-commands", help="Let the load run programs (op 'spawn'): only one that you trust.")
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not write the HTML report.")]
DIRECTORY_HELP = "A directory on the storage to measure."
Directory = Annotated[Path, typer.Argument(metavar="DIR", help=DIRECTORY_HELP)]
RunReference = Annotated[
    str, typer.Argument(metavar="RUN", help="A run: its folder, its id, a prefix of it, or 'last'.")
]
