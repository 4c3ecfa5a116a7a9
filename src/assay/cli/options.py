"""Options that several commands share, so that they read the same everywhere."""

import enum
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.errors import InputError

if TYPE_CHECKING:
    from assay.analysis.record import RunRecord
    from assay.bundle import RunBundle
    from assay.host.facts import Fact
    from assay.plan import Plan

Runs = Annotated[
    Path | None,
    typer.Option(
        "--runs",
        metavar="DIR",
        help="Where runs are kept [default: $ASSAY_RUNS, else `runs` of the configuration file, else the XDG data folder].",
    ),
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
Scale = Annotated[
    float | None,
    typer.Option(
        "--scale",
        metavar="F",
        help="Multiply by F the sizes, counts and times that the load says scale, each down to a least; --set, --size and "
        "--time come first.",
    ),
]
Repeat = Annotated[int, typer.Option("--repeat", min=1, metavar="N", help="Run the whole sequence N times.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a parameter of the load file; may be given again."),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target", metavar="NAME=DIR", help="Put a further target of the load into this directory; may be given again."
    ),
]
AllowCommands = Annotated[
    bool, typer.Option("--allow-commands", help="Let the load run programs (op 'spawn'): only one that you trust.")
]
User = Annotated[
    str | None,
    typer.Option("--user", metavar="NAME", help="Work as this user (NAME, NAME:GROUP or numbers); only root can."),
]
Link = Annotated[
    str | None,
    typer.Option("--link", metavar="RATE", help="What the link to the storage carries, such as 1Gbit."),
]
Device = Annotated[
    str | None,
    typer.Option("--device", metavar="RATE", help="What the devices move at most, such as 640MB/s."),
]
Energy = Annotated[
    Path | None,
    typer.Option(
        "--energy", metavar="FILE", help="What a power meter read beside the run: CSV, time and watts or joules."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table: the answer in a few lines.")]


class TrustAsked(enum.StrEnum):
    """Least trust that `--require-trust` accepts."""

    WEAK = "weak"
    YES = "yes"


RequireTrust = Annotated[
    TrustAsked | None,
    typer.Option(
        "--require-trust",
        metavar="LEVEL",
        help="Exit with 1 unless all results are trusted: 'yes'; or, with 'weak', at least weak.",
    ),
]
Expect = Annotated[
    list[str] | None,
    typer.Option(
        "--expect",
        metavar="LIMITS",
        help="Exit with 1 unless the results meet them: '100kiops,read:p99<2ms'; may be given again.",
    ),
]
WaitQuiet = Annotated[
    str | None,
    typer.Option(
        "--wait-quiet",
        metavar="TIME",
        help="Wait until CPUs and devices are at rest, at most so long: 90s, 5min.",
    ),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not write the HTML report.")]
Name = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Call the run this; a run that was called so before is not any more."),
]
Tag = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Give it this tag; may be given again.")]
Note = Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Say this of it, in up to 1000 characters.")]
LiveJson = Annotated[
    str | None,
    typer.Option(
        "--live-json",
        metavar="FILE",
        help="Write a line of JSON for each interval while it runs, to a file or FIFO; with '-' to standard output, and the "
        "answer to standard error.",
    ),
]
OneClient = Annotated[
    str | None,
    typer.Option("--client", metavar="NAME", help="Of a run of several clients what this one did, by its own record."),
]
DIRECTORY_HELP = "A directory on the storage to measure."
Directory = Annotated[str, typer.Argument(metavar="DIR", help=DIRECTORY_HELP)]
RunReference = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run: its folder, id, any part of one id alone, its name, 'last', or 'last~1' for the one before.",
    ),
]


def refuse_foreign(command: str, bundle: "RunBundle") -> None:
    """Raise InputError where a command needs what only a run that Assay measured has."""
    if bundle.is_foreign:
        raise InputError(
            f"{command}: {bundle.run_id} is foreign: another tool measured it, and told nothing over time. 'assay show' has"
            " its numbers, 'assay compare' holds them against others"
        )


def metered(run: "RunRecord", energy: Path | None) -> "RunRecord":
    """Give a run with the readings of the file that `--energy` names."""
    if energy is None:
        return run
    from assay.analysis.energy import with_meter
    from assay.power_meter import read_power_meter

    return with_meter(run, read_power_meter(str(energy)))


def given(link: str | None, device: str | None) -> "tuple[Fact, ...]":
    """Give what the user says of the storage and the way to it as facts of the run."""
    from assay.host.facts import DEVICE_FACT, LINK_FACT, Fact
    from assay.units import parse_link, parse_transfer_rate

    said = (("--link", LINK_FACT, link, parse_link), ("--device", DEVICE_FACT, device, parse_transfer_rate))
    facts = []
    for option, key, text, parse in said:
        if text is None:
            continue
        try:
            facts.append(Fact(key=key, value=parse(text), source=option))
        except InputError as error:
            raise InputError(f"{option}: {error}") from error
    return tuple(facts)


def expected(texts: list[str] | None, plan: "Plan") -> "tuple[Fact, ...]":
    """Give the limits of `--expect` as a fact of the run; raises InputError for one that a Plan cannot meet or miss."""
    if not texts:
        return ()
    from assay.claims.expected_limit import check_names, read_expected
    from assay.host.facts import EXPECT_FACT, Fact

    limits = read_expected(texts)
    check_names(limits, plan)
    return (Fact(key=EXPECT_FACT, value=tuple(limit.text for limit in limits), source="--expect"),)


def argv() -> tuple[str, ...]:
    """Give the command line as it is recorded."""
    return ("assay", *sys.argv[1:])


def check_commands(plan: "Plan", *, are_allowed: bool) -> None:
    """Raise InputError where a Plan from a file runs programs and nobody said that it may."""
    from assay.plan.walk import commands

    programs = tuple(dict.fromkeys(" ".join(words) for words in commands(plan.phases)))
    if programs and not are_allowed:
        raise InputError(
            f"this load runs programs: {'; '.join(programs)}\n"
            "A file is not allowed to by itself. If you trust it, add --allow-commands"
        )
