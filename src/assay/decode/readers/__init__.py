"""Which tool printed this? A reader is a module with `NAME` and `read(text)`: a new one is a file here and its line below.

`read` gives the figures, or None where the text is not that tool's; it raises ValueError with words for people where the
text is the tool's but cannot be used.
"""

from collections.abc import Callable, Sequence

from assay.decode.claim import Claim
from assay.decode.readers import bonnie, dd, elbencho, fio, io500, iozone, phoronix, postmark, result_table, vdbench
from assay.errors import InputError

READERS: tuple[tuple[str, Callable[[str], Sequence[Claim] | None]], ...] = (
    (fio.NAME, fio.read),
    (elbencho.NAME, elbencho.read),
    (iozone.NAME, iozone.read),
    (bonnie.NAME, bonnie.read),
    (postmark.NAME, postmark.read),
    (vdbench.NAME, vdbench.read),
    (phoronix.NAME, phoronix.read),
    (io500.NAME, io500.read),
    (result_table.NAME, result_table.read),
    (dd.NAME, dd.read),
)
"""In the order in which they are asked: those that cannot be mistaken first."""


def read(text: str, source: str, tool: str | None = None) -> tuple[str, tuple[Claim, ...]]:
    """Find the tool that printed a text, and its figures; raises InputError.

    Args:
        text: What it printed.
        source: Its file, for messages.
        tool: Name of its reader; None: it is found out.
    """
    names = [name for name, _ in READERS]
    if tool is not None and tool not in names:
        raise InputError(f"there is no format '{tool[:40]}'; there are {', '.join(names)}")
    for name, reader in READERS:
        if tool not in {None, name}:
            continue
        try:
            figures = reader(text)
        except ValueError as error:
            raise InputError(f"{source}: is an output of {name}, but {error}") from error
        if figures is not None:
            if not figures:
                raise InputError(f"{source}: is an output of {name} without a figure")
            return name, tuple(figures)
    if tool is not None:
        raise InputError(
            f"{source}: is no output of {tool}, as far as Assay knows it. Give it the whole of what the tool printed"
        )
    known = ", ".join(names)
    raise InputError(f"{source}: is no output that Assay knows: {known}. Give it the whole of what the tool printed")
