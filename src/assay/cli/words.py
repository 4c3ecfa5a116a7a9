"""Are the words of a command line, and of the environment that Assay goes by, texts?

Linux takes any bytes for a word or a name; the record of a run, JSON and terminals take UTF-8. What is none is refused at
the door, before anything can stumble over it half way.
"""

import os
from collections.abc import Sequence

from assay.errors import InputError
from assay.input_text import check_count

VARIABLES = ("ASSAY_RUNS", "ASSAY_ENGINE", "HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "TMPDIR")
"""What Assay looks up."""


def check_words(words: Sequence[str]) -> None:
    """Raise InputError for too many words, and for the first word or variable of the environment that is no UTF-8."""
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
