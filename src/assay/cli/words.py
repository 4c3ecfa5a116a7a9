"""Check that the command line, and the environment variables that Assay reads, are UTF-8.

Linux accepts any bytes as an argument or a name; the record of a run, JSON and terminals need UTF-8. Other bytes are
refused at the start.
"""

import os
from collections.abc import Sequence

from assay.errors import InputError
from assay.input_text import check_count

VARIABLES = ("ASSAY_RUNS", "ASSAY_ENGINE", "HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "TMPDIR")
"""Variables that Assay reads."""


def check_words(words: Sequence[str]) -> None:
    """Raise InputError for too many arguments, and for the first argument or variable that is not UTF-8."""
    check_count(words, "the command line")
    named = [(f"word {number} of the command line", word) for number, word in enumerate(words, start=1)]
    named += [(f"${name}", os.environ.get(name, "")) for name in VARIABLES]
    for what, word in named:
        try:
            word.encode()
        except UnicodeEncodeError:
            shown = ascii(os.fsencode(word))[2:-1]
            raise InputError(
                f"{what} is '{shown}', which is not UTF-8 here; rename what it names, or set LC_ALL=C.UTF-8 if it is"
            ) from None
