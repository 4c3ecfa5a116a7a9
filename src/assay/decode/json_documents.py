"""A document of JSON within a text that another tool printed."""

import json
from typing import Any


def document_at(text: str, begin: int) -> tuple[Any, int]:
    """Read the document that begins there; gives also where it ends.

    Raises:
        ValueError: it is none, or has half a pair of surrogates (RFC 8259, 8.2), which nothing can be written with.
        RecursionError: it is nested too deep.
    """
    document, end = json.JSONDecoder().raw_decode(text, begin)
    if "\\u" in text[begin:end]:
        json.dumps(document, ensure_ascii=False).encode()
    return document, end
