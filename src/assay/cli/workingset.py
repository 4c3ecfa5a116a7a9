"""`assay workingset`: how large must a cache be?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Json

if TYPE_CHECKING:
    from assay.workingset.cache_sizes import WorkingSet
    from assay.workingset.trace_question import CachePolicy, TraceQuestion


def workingset(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE...", help="Traces: fio, blktrace, vscsi, SNIA, ...; - is stdin.")
    ],
    block: Annotated[str, typer.Option("--block", metavar="S", help="What the cache holds at once.")] = "4KiB",
    size: Annotated[
        list[str] | None, typer.Option("--size", metavar="S", help="Size of a cache to list. Repeatable.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", metavar="NAME", help="Also lfu, fifo, arc, s3-fifo, two-q or all. Repeatable."),
    ] = None,
    reads_only: Annotated[bool, typer.Option("--reads-only", help="Leave writes out.")] = False,
    tier: Annotated[
        float | None,
        typer.Option("--tier", min=0.0001, max=1, metavar="SHARE", help="Also assess fast storage of this share: 0.1."),
    ] = None,
    period: Annotated[str, typer.Option("--period", metavar="T", help="Time after which a tier moves data.")] = "24h",
    extent: Annotated[str, typer.Option("--extent", metavar="S", help="What a tier moves at once.")] = "1GiB",
    exact: Annotated[bool, typer.Option("--exact", help="Look at all blocks, however many.")] = False,
    rate: Annotated[
        float | None,
        typer.Option("--rate", min=0.000001, max=1, metavar="SHARE", help="Look at this share of the blocks: 0.01."),
    ] = None,
    sample: Annotated[
        int,
        typer.Option("--sample", min=64, max=1 << 26, metavar="N", help="Blocks to look at if over 100,000."),
    ] = 8192,
    format_: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="Format of the traces [default: detected].")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="MAP", help="Columns of a CSV: time=ts:ms,offset=lba:512,length=4."),
    ] = None,
    at_issue: Annotated[
        bool, typer.Option("--at-issue", help="blktrace: count requests at the device, not queued.")
    ] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write a page (.html).")] = None,
    json: Json = False,
) -> None:
    """Work out from traces of requests which share of the accesses a cache of each size serves.

    Reads and writes of all traces are put in the order of their times and divided into blocks. The answer is for an LRU
    cache: all blocks are looked at up to 100,000 different ones, a sample of them beyond, with 95 % intervals.
    """
    from assay.errors import InputError
    from assay.units import parse_bytes
    from assay.workingset.trace_files import STDIN, check_traces
    from assay.workingset.trace_question import TraceFormat, TraceQuestion, parse_block, parse_columns, parse_tier

    if output is not None:
        _check_output(output)
    if format_ is not None and format_ not in list(TraceFormat):
        raise InputError(f"--format '{format_[:20]}': write {', '.join(TraceFormat)}")
    if exact and rate is not None:
        raise InputError("--exact looks at all blocks and --rate at a share of them: give one of the two")
    policies = _policies(policy or [])
    if policies and STDIN in traces:
        raise InputError("--policy reads the traces twice, which standard input cannot be: write them to a file")
    block_bytes = parse_block(block)
    sizes = tuple(sorted({parse_bytes(one) // block_bytes for one in size or []}))
    if 0 in sizes:
        raise InputError(f"--size: a cache has at least one block of {block}")
    question = TraceQuestion(
        block_bytes=block_bytes,
        format=None if format_ is None else TraceFormat(format_),
        columns=None if columns is None else parse_columns(columns),
        at_issue=at_issue,
        reads_only=reads_only,
        rate=rate,
        exact=exact,
        sampled_keys=sample,
        sizes=sizes,
        tier=None if tier is None else parse_tier(tier, period, extent, block_bytes),
    )
    check_traces(traces)
    answer = _answer(traces, question, policies)
    _give(answer, output, json=json)


def _check_output(path: Path) -> None:
    from assay.errors import InputError
    from assay.report.output import check_file

    if path.suffix != ".html":
        raise InputError(f"--output {path}: write a name that ends with .html")
    check_file(path)


def _policies(names: list[str]) -> "list[CachePolicy]":
    """Give the policies asked for, with LRU to compare them with."""
    from assay.errors import InputError
    from assay.workingset.trace_question import CachePolicy

    for name in names:
        if name not in {*CachePolicy, "all"}:
            raise InputError(f"--policy '{name[:20]}': write {', '.join(CachePolicy)} or all")
    if not names:
        return []
    return [one for one in CachePolicy if one is CachePolicy.LRU or one in names or "all" in names]


def _answer(traces: list[str], question: "TraceQuestion", policies: "list[CachePolicy]") -> "WorkingSet":
    from assay.errors import InputError, RunError
    from assay.live.trace_progress import TraceProgress
    from assay.workingset.cache_sizes import LEAST_SAMPLED, PolicyTable, WorkingSet, policy_rate
    from assay.workingset.engine_answer import ask_engine
    from assay.workingset.trace_files import TraceFiles

    with TraceFiles(traces) as files, TraceProgress("reading", files.size_bytes) as progress:
        found = ask_engine(question.encoded(files.places), files, progress.update)
    if found.curve is None or not found.curve.served:
        raise RunError("assay-engine gave no curve; is it the assay-engine of this assay?")
    if found.curve.rate < 1 and found.curve.sampled_keys < LEAST_SAMPLED:
        raise InputError(
            f"--rate {question.rate}: the sample has {found.curve.sampled_keys} blocks, fewer than {LEAST_SAMPLED}, which is"
            " no answer; take a larger share"
        )
    answer = WorkingSet(question, found, found.curve, None)
    if not policies:
        return answer
    listed = tuple(one.blocks for one in answer.table)
    rate = policy_rate(found.curve)
    asked = {"names": list(policies), "sizes": list(listed), "rate": rate}
    with TraceFiles(traces) as files, TraceProgress("simulating", files.size_bytes) as progress:
        words = {**question.encoded(files.places), "policies": asked, "tier": None}
        simulated = ask_engine(words, files, progress.update).policies
    table = PolicyTable(listed, rate, tuple(simulated or ()))
    return WorkingSet(question, found, found.curve, table)


def _give(answer: "WorkingSet", output: Path | None, *, json: bool) -> None:
    notes = tuple(answer.found.notes)
    if output is not None:
        from assay.report.workingset_page import write_working_set

        write_working_set(answer, notes, output)
    if json:
        from assay.cli.pipes import echo
        from assay.workingset.workingset_json import to_json

        echo(to_json(answer, notes))
    else:
        from assay.console import console
        from assay.report.workingset_text import render_working_set

        render_working_set(answer, notes, console())
