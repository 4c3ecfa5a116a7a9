"""May a result's number be used? One answer for words, tables and figures."""

from assay.results import Result


def stands(result: Result) -> bool:
    """Whether a number is to be trusted.

    METHOD 1.3: only a steady run yields a headline number. Where steadiness was not judged, trust alone decides.
    """
    return result.trusted and (result.steady is None or result.steady.verdict == "steady")


def trust_words(result: Result) -> str:
    """Say it: `trusted` or `not to be trusted`."""
    return "trusted" if stands(result) else "not to be trusted"
