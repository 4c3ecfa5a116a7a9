"""Noise of known correlation."""

import itertools

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def correlated(seed: int, n: int, correlation: float) -> FloatArray:
    """AR(1) noise of deviation 1 about 0."""
    white = np.random.default_rng(seed).normal(0, 1, n)
    fresh = np.sqrt(1 - correlation**2)
    steps = itertools.accumulate(white, lambda z, e: correlation * z + fresh * e)
    return np.array(list(steps))
