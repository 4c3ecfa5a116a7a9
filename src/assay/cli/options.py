"""Define options that several commands share."""

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
        help="Keep runs in this directory [default: $ASSAY_RUNS, else `runs` of the configuration file, "
        "else the XDG data folder].",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of text.")]
Time = Annotated[
    str | None,
    typer.Option("--time", metavar="T", help="Measure for this time in total, such as 30s or 2min."),
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
        help="Multiply the load's sizes, counts and times by F.",
    ),
]
Repeat = Annotated[int, typer.Option("--repeat", min=1, metavar="N", help="Run the whole sequence N times.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a parameter of the load file. Repeatable."),
]
Targets = Annotated[
    list[str] | None,
    typer.Option("--target", metavar="NAME=DIR", help="Directory of a further target of the load. Repeatable."),
]
AllowCommands = Annotated[
    bool, typer.Option("--allow-commands", help="Let the load run programs (op 'spawn') if you trust it.")
]
User = Annotated[
    str | None,
    typer.Option("--user", metavar="NAME", help="Work as this user: NAME, NAME:GROUP or numbers. Needs root."),
]
Link = Annotated[
    str | None,
    typer.Option("--link", metavar="RATE", help="Bandwidth of the link to the storage, such as 1Gbit."),
]
Device = Annotated[
    str | None,
    typer.Option("--device", metavar="RATE", help="Maximum throughput of the devices, such as 640MB/s."),
]
Energy = Annotated[
    Path | None,
    typer.Option("--energy", metavar="FILE", help="Readings of a power meter: CSV of time and watts or joules."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the answer: no progress and no table.")]


class TrustAsked(enum.StrEnum):
    """Least trust that `--require-trust` accepts."""

    WEAK = "weak"
    YES = "yes"


DestroyData = Annotated[
    list[str] | None,
    typer.Option(
        "--destroy-data",
        metavar="DEVICE",
        help="Overwrite this block device: its data is lost. Repeatable.",
    ),
]
Over = Annotated[
    list[str] | None,
    typer.Option(
        "--over",
        metavar="TYPE",
        help="Signature that may be overwritten: ext4, gpt. Repeatable.",
    ),
]
RequireTrust = Annotated[
    TrustAsked | None,
    typer.Option(
        "--require-trust",
        metavar="LEVEL",
        help="Exit with 1 if a result is trusted less: yes or weak.",
    ),
]
Expect = Annotated[
    list[str] | None,
    typer.Option(
        "--expect",
        metavar="LIMITS",
        help="Exit with 1 unless met: '100kiops,read:p99<2ms'; repeatable.",
    ),
]
WaitQuiet = Annotated[
    str | None,
    typer.Option(
        "--wait-quiet",
        metavar="TIME",
        help="Wait up to TIME for idle CPUs and devices: 90s, 5min.",
    ),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not write the HTML report.")]
Name = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Name the run. An earlier run of this name loses it."),
]
Tag = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Add a tag to the run. Repeatable.")]
Note = Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Attach a note of up to 1000 characters.")]
LiveJson = Annotated[
    str | None,
    typer.Option(
        "--live-json",
        metavar="FILE",
        help="Write a JSON line per interval to FILE; '-' is stdout.",
    ),
]
OneClient = Annotated[
    str | None,
    typer.Option("--client", metavar="NAME", help="Show this client alone, from its own record."),
]
DIRECTORY_HELP = "A directory on the storage to measure."
Directory = Annotated[str, typer.Argument(metavar="DIR", help=DIRECTORY_HELP)]
RunReference = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run: directory, id (or part), name, 'last' or 'last~1'.",
    ),
]


def refuse_foreign(command: str, bundle: "RunBundle") -> None:
    """Raise InputError if a command needs a run that Assay measured, and this is a foreign one."""
    if bundle.is_foreign:
        raise InputError(
            f"{command}: {bundle.run_id} is a foreign run: another tool measured it, and it has no data over time. Use"
            " 'assay show' or 'assay compare'"
        )


def metered(run: "RunRecord", energy: Path | None) -> "RunRecord":
    """Give a run with the readings of the file that `--energy` names."""
    if energy is None:
        return run
    from assay.analysis.energy import with_meter
    from assay.power_meter import read_power_meter

    return with_meter(run, read_power_meter(str(energy)))


def given(link: str | None, device: str | None) -> "tuple[Fact, ...]":
    """Convert the user's statements about storage and link to facts of the run."""
    from assay.host.facts import DEVICE_FACT, LINK_FACT, Fact
    from assay.units import parse_link, parse_transfer_rate

    options = (("--link", LINK_FACT, link, parse_link), ("--device", DEVICE_FACT, device, parse_transfer_rate))
    facts = []
    for option, key, text, parse in options:
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
    """Raise InputError if a Plan from a file runs programs and that is not allowed."""
    from assay.plan.walk import commands

    programs = tuple(dict.fromkeys(" ".join(words) for words in commands(plan.phases)))
    if programs and not are_allowed:
        raise InputError(
            f"this load runs programs: {'; '.join(programs)}\n"
            "A load file may not run programs by itself. If you trust it, add --allow-commands"
        )
