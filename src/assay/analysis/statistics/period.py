"""Does a series repeat itself? Flushes, commits of a journal and groups of transactions come every few seconds.

The lag L >= 3 with the highest autocorrelation, where that is a local maximum of at least 0.3 and beyond what noise of so
many values has, comes after a lag of less than nothing (else it is the slope of a slow change), and comes back at 2 L.
A multiple of a lag that is nearly as good is that lag again.
"""

import math

import numpy as np

from assay.analysis import thresholds
from assay.analysis.arrays import FloatArray, dot

_PEAK, _RETURN, _NEARLY = 0.3, 0.2, 0.9
"""Autocorrelation that a lag needs, and at twice the lag; a shorter lag with this part of the highest peak is the period."""

_SHORTEST = 3


def find_period(rest: FloatArray) -> int | None:
    """Give the period of a series, shape `(n,)`, whose changes of level were taken out; None: it has none.

    At least three periods have to be in the series.
    """
    n = len(rest)
    acf = _autocorrelations(rest - rest.mean(), 2 * n // 3 + 2)
    if acf is None:
        return None
    peaks = [lag for lag in range(_SHORTEST, n // 3 + 1) if _is_peak(acf, lag, n)]
    highest = max((acf[lag] for lag in peaks), default=0.0)
    return next((lag for lag in peaks if acf[lag] >= _NEARLY * highest), None)


def without_period(z: FloatArray, rest: FloatArray, period: int) -> FloatArray:
    """Take the pattern of a period, as it is in `rest`, out of a series; its mean stays as it is."""
    at = np.arange(len(z)) % period
    pattern = np.bincount(at, rest) / np.bincount(at)
    shifts = pattern[at]
    adjusted: FloatArray = z - (shifts - shifts.mean())
    return adjusted


def _autocorrelations(rest: FloatArray, lags: int) -> FloatArray | None:
    """Autocorrelations by lag, each as if of a whole series; None for a series that never varies."""
    n = len(rest)
    power = dot(rest, rest)
    if power <= 0 or lags >= n:
        return None
    # By a transform: a product for each lag would take minutes of a run of hours.
    spectrum = np.fft.rfft(rest, 2 * n)
    products = np.fft.irfft(np.abs(spectrum) ** 2)[:lags]
    acf: FloatArray = products / power * n / (n - np.arange(lags))
    return acf


def _is_peak(acf: FloatArray, lag: int, n: int) -> bool:
    least = max(_PEAK, thresholds.CHANCE_ERRORS / math.sqrt(n - lag))
    return bool(
        acf[lag] >= max(least, acf[lag - 1], acf[lag + 1])
        and acf[1:lag].min() < 0
        and acf[2 * lag - 1 : 2 * lag + 2].max() >= _RETURN
    )
