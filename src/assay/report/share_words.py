"""Describe the share of its rate that a job keeps while others run."""

from assay.results import SoloShare
from assay.units import ABSENT
from assay.verdicts import TrustLevel

_FROM = {
    "windows": "from both windows",
    "range": "range of two repeats",
    "welch": "from the repeats",
    "ranks": "from the repeats",
}
COLUMNS = ("With others", "Alone", "Share of alone", "95 % interval", "Others", "Trust")


def row(share: SoloShare) -> tuple[str, ...]:
    """Give the cells of one share."""
    return (
        share.result,
        share.solo,
        f"{_percent(share.share)} %",
        ends_words(share),
        concurrent_words(share),
        share.trust.value,
    )


def ends_words(share: SoloShare) -> str:
    """Write the interval of a share, and what it is from."""
    if share.interval is None:
        return ABSENT
    low, high = (_percent(end) for end in share.interval)
    return f"{low} to {high} %, {_FROM.get(share.method, share.method)}"


def line(share: SoloShare) -> str:
    """Write one share in a line."""
    doubt = "" if share.trust is TrustLevel.YES else f"; trust: {share.trust.value}"
    ends = ends_words(share)
    return f"{share.result}: {_percent(share.share)} % of {share.solo} ({ends}), {concurrent_words(share)}{doubt}"


def concurrent_words(share: SoloShare) -> str:
    """Describe the concurrent job, and what both share."""
    return f"with {share.beside}, {share.shared.words}" if share.beside else share.shared.words


def _percent(share: float) -> str:
    return f"{100 * share:.3g}"
