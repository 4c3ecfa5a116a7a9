"""Something that takes what others wrote, and what it is given to take."""

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

from fuzzing.mutator import Mutator


class Made(Sequence[bytes]):
    """Samples that take time to make: made when they are first looked at, once."""

    def __init__(self, *makers: Callable[[], bytes]) -> None:
        """Make nothing yet."""
        self._makers = makers

    @overload
    def __getitem__(self, at: int) -> bytes: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[bytes]: ...
    def __getitem__(self, at: int | slice) -> bytes | Sequence[bytes]:
        """Give a sample."""
        return self._samples[at]

    def __len__(self) -> int:
        """Count them."""
        return len(self._makers)

    @functools.cached_property
    def _samples(self) -> Sequence[bytes]:
        return [make() for make in self._makers]


@dataclass(frozen=True)
class Reader:
    """Takes an input, or refuses it by an error of Assay's own (`AssayError`); anything else is a fault."""

    name: str
    samples: Sequence[bytes]
    """What it takes."""
    read: Callable[[bytes], object]
    words: Sequence[bytes] = ()
    """Of its language, beside those in the samples."""
    share: float = 1.0
    """Of the cases: readers that take long get fewer."""

    def case(self, number: int, seed: int) -> bytes:
        """Give an input by its number; the same again for the same seed."""
        return self._mutator.changed(random.Random(f"{self.name} {seed} {number}"))  # noqa: S311 - the same cases again

    @functools.cached_property
    def _mutator(self) -> Mutator:
        return Mutator(self.samples, self.words)
