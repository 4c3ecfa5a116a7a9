"""Estimate what a tree's files hold, from the files that a survey chose.

Extents are of files chosen evenly by number. How far content can be compressed is of files chosen by their bytes (priority
sampling): a file stands for its size, or for the threshold where that is more, and the weighted mean is an estimate over all
bytes. Intervals are by bootstrap over the files: 95 %.
"""

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np

from assay.surveys.content_found import ContentEstimate, EstimateOfFiles
from assay.surveys.sampled_file import compressed_share, count_extents, opened
from assay.surveys.tree_survey import TreeSurvey

RESAMPLES = 1000
LEAST_FILES = 10
"""An interval from fewer would be too narrow."""
_SEED = 1


def estimate_content(
    survey: TreeSurvey, directory: Path, shows: Callable[[int], None], is_stopped: Callable[[], bool]
) -> ContentEstimate | None:
    """Look into the chosen files.

    Args:
        survey: With the chosen files.
        directory: What was surveyed.
        shows: Is given how many were looked into.
        is_stopped: Whether to end; then there is no estimate.
    """
    random, extents, shares, weights, not_read = Random(_SEED), [], [], [], 0  # noqa: S311 - a choice, and no secret
    root = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        number = 0
        for number, chosen in enumerate(survey.sampled_by_number, 1):
            if is_stopped():
                return None
            shows(number)
            with opened(root, chosen) as file:
                count = None if file is None else count_extents(file)
            not_read += file is None
            if count is not None:
                extents.append(float(count))
        for further, chosen in enumerate(survey.sampled_by_bytes, number + 1):
            if is_stopped():
                return None
            shows(further)
            with opened(root, chosen) as file:
                share = None if file is None else compressed_share(file, chosen.bytes, random)
            not_read += file is None
            if share is not None:
                shares.append(share)
                weights.append(max(float(chosen.bytes), survey.sample_threshold_bytes))
    finally:
        os.close(root)
    even = [1.0] * len(extents)
    return ContentEstimate(
        _estimate(extents, even),
        _estimate([float(count > 1) for count in extents], even),
        _inverse(_estimate(shares, weights)),
        not_read,
    )


def _estimate(values: list[float], weights: list[float]) -> EstimateOfFiles | None:
    """Give the weighted mean of some files, with its interval."""
    if not values:
        return None
    value, weight = np.asarray(values), np.asarray(weights)
    mean = float((value * weight).sum() / weight.sum())
    if len(values) < LEAST_FILES:
        return EstimateOfFiles(mean, None, len(values))
    drawn = np.random.default_rng(_SEED).integers(0, len(values), (RESAMPLES, len(values)))
    means = (value * weight)[drawn].sum(axis=1) / weight[drawn].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return EstimateOfFiles(mean, (float(low), float(high)), len(values))


def _inverse(share: EstimateOfFiles | None) -> EstimateOfFiles | None:
    if share is None or share.value == 0:
        return None
    interval = None if share.interval is None else (1 / share.interval[1], 1 / share.interval[0])
    return EstimateOfFiles(1 / share.value, interval, share.files)
