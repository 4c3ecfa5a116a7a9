"""A survey as JSON, for other programs and to go on with: fields are added, never renamed; what is not known is null."""

from pathlib import Path
from typing import Any

import msgspec

from assay.errors import InputError
from assay.input_text import read_text
from assay.outward import json_text
from assay.surveys.content_found import ContentEstimate
from assay.surveys.tree_survey import NO_STATE, TreeSurvey

SCHEMA = "assay.survey/1"
_MOST_BYTES = 1 << 30


class EarlierSurvey(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of a survey that is gone on with."""

    schema: str
    crosses_mounts: bool
    is_whole: bool
    state: msgspec.Raw = NO_STATE


def to_json(
    survey: TreeSurvey,
    directory: Path,
    content: ContentEstimate | None = None,
    *,
    crosses_mounts: bool,
    has_state: bool,
) -> str:
    """Write a survey, with what another one needs to go on if that is wanted."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "directory": str(directory),
        "crosses_mounts": crosses_mounts,
        "is_whole": survey.is_whole,
        "directories_left": survey.directories_left,
        "wall_s": survey.wall_s,
        "now_s": survey.now_s,
        **msgspec.to_builtins(survey.summary),
        "content": None if content is None else msgspec.to_builtins(content),
    }
    text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    if has_state and survey.state != NO_STATE:
        text = f'{text.removesuffix("}").rstrip()},\n  "state": {bytes(survey.state).decode()}\n}}'
    return json_text(text)


def read_earlier(path: str) -> EarlierSurvey:
    """Read a survey to go on with; raises InputError if it is none, or is whole."""
    try:
        text = read_text(path, "survey", _MOST_BYTES)
    except FileNotFoundError:
        raise InputError(f"--resume {path}: there is no such file") from None
    try:
        earlier = msgspec.json.decode(text, type=EarlierSurvey)
    except (msgspec.DecodeError, UnicodeError) as error:
        cure = "'assay survey DIR -o FILE.json' writes one"
        raise InputError(f"--resume {path}: this is no survey ({error}); {cure}") from error
    if earlier.schema != SCHEMA:
        raise InputError(f"--resume {path}: its schema is '{earlier.schema[:40]}', not '{SCHEMA}'")
    if earlier.state == NO_STATE:
        reason = "it is whole" if earlier.is_whole else "it has no list of what is left"
        raise InputError(f"--resume {path}: there is nothing to go on with: {reason}")
    return earlier
