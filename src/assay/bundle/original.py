"""Keep what another tool printed, in a run that Assay did not measure.

The run has no tables: whoever asks for its numbers reads them from the text again. That it is foreign is recorded in its
Plan, which has nothing to do and whose front end is `import`: each reader of a run sees that.
"""

import hashlib
from pathlib import Path

import msgspec

from assay.bundle.files import write_durably
from assay.bundle.strict_json import decode

FOREIGN = "import"
"""Name of the front end."""
ABOUT = "foreign.json"
ORIGINAL = "original.txt"
_SCHEMA = "assay.foreign/1"


class Original(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's output, and which part of it the run is of."""

    tool: str
    """Name of the reader that takes it to pieces."""
    machine: str | None
    """Only what the text has of it; None: what names no machine."""
    file_name: str
    """As it was called."""
    text: str
    timezone: str | None = None
    """Of times that the text gives without one, as the user states; None: not given, and UTC is assumed."""


class _About(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`foreign.json`."""

    schema: str
    tool: str
    machine: str | None
    file_name: str
    sha256: str
    """Of the text."""
    timezone: str | None = None


def write_original(folder: Path, original: Original) -> None:
    """Write both files; raises RunError."""
    text = original.text.encode()
    about = _About(
        schema=_SCHEMA,
        tool=original.tool,
        machine=original.machine,
        file_name=original.file_name,
        sha256=hashlib.sha256(text).hexdigest(),
        timezone=original.timezone,
    )
    write_durably(folder / ORIGINAL, text)
    write_durably(folder / ABOUT, msgspec.json.format(msgspec.json.encode(about), indent=2))


def original_of(about: bytes, text: bytes) -> Original:
    """Put what both files hold together; raises ValueError where they do not belong together."""
    words = decode(about, _About)
    if words.schema != _SCHEMA:
        raise ValueError(f"the schema of {ABOUT} is {words.schema!r}, and this Assay reads {_SCHEMA}")
    if hashlib.sha256(text).hexdigest() != words.sha256:
        raise ValueError(f"{ORIGINAL} has another hash than in {ABOUT}")
    return Original(
        tool=words.tool,
        machine=words.machine,
        file_name=words.file_name,
        text=text.decode(),
        timezone=words.timezone,
    )
