"""`assay survey DIR`: what files does a tree have?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Json

if TYPE_CHECKING:
    from assay.surveys.content_found import ContentEstimate
    from assay.surveys.surveyor import SurveyAsked
    from assay.surveys.tree_survey import SurveyProgress, TreeSurvey

_ENDINGS = (".json", ".html", ".toml")


def survey(
    directory: Annotated[str, typer.Argument(metavar="DIR", help="The directory to survey.")],
    cross_mounts: Annotated[
        bool, typer.Option("--cross-mounts", help="Survey the file systems below DIR, too.")
    ] = False,
    threads: Annotated[
        int, typer.Option("--threads", min=1, max=256, metavar="N", help="Directories to read at a time.")
    ] = 8,
    no_samples: Annotated[
        bool, typer.Option("--no-samples", help="Open no file; no compressibility, no extents.")
    ] = False,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="FILE", help="Go on with a survey that was stopped (.json).")
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write a .json, .html or load file .toml. Repeatable."),
    ] = None,
    json: Json = False,
) -> None:
    """Count the files of a tree: sizes, ages, depth, entries per directory, compressibility.

    Nothing is written into the tree, no link is followed and no mount crossed. Up to 2,000 files are read in part; with
    --no-samples none is opened. Ctrl-C ends a survey with what was counted so far; with -o FILE.json it can be resumed.
    """
    from assay.errors import INTERRUPTED, InputError
    from assay.report.output import check_file
    from assay.surveys.survey_json import read_earlier
    from assay.surveys.surveyor import SurveyAsked
    from assay.surveys.tree_survey import NO_STATE
    from assay.targets import check_directory

    outputs = tuple(map(Path, output or ()))
    for path in outputs:
        if path.suffix not in _ENDINGS:
            raise InputError(f"--output {path}: write a name that ends with {', '.join(_ENDINGS)}")
        check_file(path)
    place = check_directory(directory)
    earlier = None if resume is None else read_earlier(resume)
    if earlier is not None and earlier.crosses_mounts != cross_mounts:
        with_or_without = "with" if earlier.crosses_mounts else "without"
        raise InputError(f"--resume {resume}: that survey was made {with_or_without} --cross-mounts")
    keeps = any(path.suffix == ".json" for path in outputs)
    asked = SurveyAsked(
        place, cross_mounts, threads, not no_samples, keeps, bytes(NO_STATE if earlier is None else earlier.state)
    )
    found, content, is_stopped = _surveyed(asked, outputs)
    _write(found, content, asked, outputs)
    _print(found, content, asked, json=json)
    raise typer.Exit(INTERRUPTED if is_stopped else int(not found.is_whole))


def _surveyed(asked: "SurveyAsked", outputs: tuple[Path, ...]) -> "tuple[TreeSurvey, ContentEstimate | None, bool]":
    import sys

    from assay.live.progress_line import ProgressLine
    from assay.running.stopping import Stops
    from assay.surveys.content_estimate import estimate_content
    from assay.surveys.surveyor import survey_tree

    line = ProgressLine(sys.stderr)
    states = tuple(path for path in outputs if path.suffix == ".json")
    with Stops() as stops:
        try:
            found = survey_tree(
                asked, lambda now: line.show(_words(now)), lambda now: _write(now, None, asked, states), stops
            )
            content = None
            if asked.has_samples and not stops.count:
                content = estimate_content(
                    found,
                    asked.directory,
                    lambda number: line.show(f"looks into file {number:,}"),
                    lambda: stops.count > 0,
                )
        finally:
            line.clear()
        is_complete = found.is_whole and (content is not None or not asked.has_samples)
        return found, content, stops.count > 0 and not is_complete


def _words(now: "SurveyProgress") -> str:
    from assay.units import format_bytes

    return (
        f"{now.files:,} files, {format_bytes(now.bytes)}, in {now.directories:,} directories; "
        f"{now.waiting:,} more are known; {now.wall_s:.0f} s"
    )


def _write(
    found: "TreeSurvey", content: "ContentEstimate | None", asked: "SurveyAsked", outputs: tuple[Path, ...]
) -> None:
    from assay.report.output import write_whole

    for path in outputs:
        if path.suffix == ".json":
            from assay.surveys.survey_json import to_json

            text = to_json(found, asked.directory, content, crosses_mounts=asked.crosses_mounts, has_state=True)
            write_whole(path, text.encode())
        elif path.suffix == ".toml":
            from assay.surveys.survey_load import load_text

            write_whole(path, load_text(found, asked.directory).encode())
        else:
            from assay.report.survey_page import write_survey

            write_survey(found, content, asked.directory, path)


def _print(found: "TreeSurvey", content: "ContentEstimate | None", asked: "SurveyAsked", *, json: bool) -> None:
    if json:
        from assay.cli.pipes import echo
        from assay.surveys.survey_json import to_json

        echo(to_json(found, asked.directory, content, crosses_mounts=asked.crosses_mounts, has_state=False))
        return
    from assay.console import console
    from assay.report.survey_text import render_survey

    render_survey(found, content, console(), is_resumable=asked.keeps_state)
