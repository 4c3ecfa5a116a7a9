"""Compute the parameters of a load file from `--set`, `--time`, `--size` and `--scale`."""

from collections.abc import Sequence

from assay.errors import InputError
from assay.loads import native
from assay.loads.parameters import PHASE_SECONDS, format_phase_seconds
from assay.units import parse_seconds


def settings(
    text: str,
    source: str,
    pairs: Sequence[str],
    *,
    time: str | None,
    size: str | None,
    repeat: int,
    scale: float | None = None,
) -> dict[str, str]:
    """Values by the parameter's name, as text.

    Args:
        text: The load file.
        source: Its name, for messages.
        pairs: `KEY=VALUE` each.
        time: Measuring time of the whole run; each phase that uses `${phase_seconds}` gets an equal part in each repeat.
        size: Value of the parameter `size`.
        repeat: Times that the whole sequence of phases is measured.
        scale: What the parameters of the table `[scale]` are multiplied by, but those that are given otherwise.

    Raises:
        InputError: what is given cannot be read.
        FrontEndError: a time is given, and no phase goes by it, or a scale, and nothing scales.
    """
    values: dict[str, str] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator:
            raise InputError(f"--set {pair}: write it as KEY=VALUE")
        values[key.strip()] = value.strip()
    if time is not None:
        phases = native.phase_count(text, source) * repeat
        values[PHASE_SECONDS] = format_phase_seconds(parse_seconds(time) / phases)
    if size is not None:
        values["size"] = size
    if scale is not None:
        values |= native.scaled_parameters(text, source, scale, given=values)
    return values
