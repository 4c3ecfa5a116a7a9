"""PostMark's random numbers, drawn in a set order: the same seed gives the same job everywhere.

The generator is MT19937 (Matsumoto and Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed uniform
pseudorandom number generator", 1998) with 32-bit tempered output, seeded as its authors did until 2002: each word of the
state is put together from the upper halves of two numbers of the sequence s = 69069 s + 1.
"""

import itertools
from collections.abc import Iterator

WORDS = 624
_AT_ONCE = 1 << 12


class RandomNumbers:
    """Whole numbers below a bound, one after another."""

    def __init__(self, seed: int) -> None:
        """Begin the sequence of a seed."""
        import numpy as np  # noqa: PLC0415 - only now: words that are refused need none of it

        self._generator = np.random.MT19937()
        key = np.array(_state(seed), dtype=np.uint32)
        self._generator.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": WORDS}}
        self.draw = self._draws().__next__
        """The next number of 32 bits."""

    def skip(self, count: int) -> None:
        """Draw and discard numbers; only before the first that is used."""
        for begin in range(0, count, _AT_ONCE):
            self._generator.random_raw(min(_AT_ONCE, count - begin))

    def below(self, bound: int) -> int:
        """Draw a number below a bound; a bound of 0 or less gives 0 and draws nothing."""
        return self.draw() % bound if bound > 0 else 0

    def _draws(self) -> Iterator[int]:
        return itertools.chain.from_iterable(self._generator.random_raw(_AT_ONCE).tolist() for _ in itertools.count())


def _state(seed: int) -> list[int]:
    words, number = [], seed & 0xFFFFFFFF
    for _ in range(WORDS):
        high = number & 0xFFFF0000
        number = (69069 * number + 1) & 0xFFFFFFFF
        words.append(high | number >> 16)
        number = (69069 * number + 1) & 0xFFFFFFFF
    return words
