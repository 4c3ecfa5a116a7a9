"""What does each level of each factor do to a rate, and each pair of levels beyond that, when all are measured with all?

The unit is the run. Factors multiply rates, so all is done with logarithms (Jain, "The Art of Computer Systems Performance
Analysis", 1991, chapters 21 to 23):

    log y = cell + block + error        least squares; a block is a round over all cells
    main effect of a level              mean of the cells that have it, less the mean of all cells
    interaction of two levels           mean of the cells with both, less both effects and the mean of all
    interval                            Student's t, with the variance that is left within cells after blocks

Each cell weighs the same however often it was measured. In a balanced design these are the means of the closed form; with
runs left out they are those of least squares. The variance is taken to be the same in all cells: `uneven_cell` says where
that is not so. tests/unit/test_factorial.py holds the closed form and the coverage.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.analysis import thresholds
from assay.analysis.statistics.beta import beta_quantile, beta_share, student_quantile

FloatArray = npt.NDArray[np.float64]

_NOTHING = 1e-18
"""Variance of logarithms that is that of rounding."""


@dataclass(frozen=True)
class Observation:
    """One run."""

    cell: tuple[int, ...]
    """Its level of each factor, from 0."""
    block: int
    value: float
    """Above 0."""


@dataclass(frozen=True)
class Effect:
    """What a level does, or two levels of two factors beyond what each does."""

    factors: tuple[int, ...]
    levels: tuple[int, ...]
    ratio: float
    """To the mean of all cells; of two levels to what their effects alone would give."""
    low: float | None
    """Ends of the 95 % interval; None: no cell was measured again."""
    high: float | None


@dataclass(frozen=True)
class Term:
    """One factor, or two together."""

    factors: tuple[int, ...]
    share: float | None
    """Of the variance between the means of cells; None: they are all alike."""
    p: float | None
    """Of the hypothesis that it does nothing (F); None: no cell was measured again."""


@dataclass(frozen=True)
class Factorial:
    """What came of it."""

    effects: tuple[Effect, ...]
    terms: tuple[Term, ...]
    spread: float | None
    """Standard deviation of the logarithms within cells; None: no cell was measured again."""
    freedom: int
    """Degrees of freedom of it."""
    uneven_cell: tuple[int, ...] | None
    """The cell whose runs vary more than those of the others can (Cochran's C at 5 %)."""


def factorial(levels: Sequence[int], observations: Sequence[Observation]) -> Factorial:
    """Take the effects of a full factorial design apart.

    Args:
        levels: How many each factor has; two or more of each.
        observations: Runs; of each cell one at least.

    Raises:
        ValueError: a cell has no run, or a value is not above 0.
    """
    cells = list(itertools.product(*(range(count) for count in levels)))
    place = {cell: i for i, cell in enumerate(cells)}
    missing = set(cells) - {each.cell for each in observations}
    if missing or min(each.value for each in observations) <= 0:
        raise ValueError("every cell has a run, and every value is above 0")
    of_cell = np.array([place[each.cell] for each in observations])
    logs = np.log([each.value for each in observations])
    means, covariance, rest, freedom = _cell_means(of_cell, [each.block for each in observations], logs, len(cells))
    variance = float(rest @ rest) / freedom if freedom else None
    errors = student_quantile(0.5 + thresholds.CONFIDENCE / 2, freedom) if freedom else math.inf
    fit = _Fit(np.array(cells), tuple(levels), means, covariance, variance, freedom, errors)
    chosen = [
        factors
        for order in (1, 2)
        for factors in itertools.combinations(range(len(levels)), order)
        if order == 1 or len(levels) > 1
    ]
    return Factorial(
        effects=tuple(effect for factors in chosen for effect in fit.effects(factors)),
        terms=tuple(fit.term(factors) for factors in chosen),
        spread=None if variance is None else math.sqrt(variance),
        freedom=freedom,
        uneven_cell=_uneven(cells, of_cell, rest),
    )


def _cell_means(
    of_cell: npt.NDArray[np.int64], blocks: Sequence[int], logs: FloatArray, cells: int
) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    """Fit cells and blocks.

    Returns:
        Means of cells, shape `(cells,)`; their covariance for a variance of 1; what is left of each run; its degrees of
        freedom.
    """
    rows = np.arange(len(logs))
    design = np.zeros((len(logs), cells))
    design[rows, of_cell] = 1.0
    names = sorted(set(blocks))
    # Effects of blocks sum to nothing, so that a cell's mean is that of an average block.
    coded = np.zeros((len(logs), max(len(names) - 1, 0)))
    for row, block in enumerate(blocks):
        number = names.index(block)
        coded[row] = -1.0 if number == len(names) - 1 else np.arange(len(names) - 1) == number
    with_blocks = np.hstack([design, coded])
    # Where cells and blocks cannot be distinguished, as with a single round, there are no blocks.
    if np.linalg.matrix_rank(with_blocks) == with_blocks.shape[1] and len(logs) > cells:
        design = with_blocks
    fit: FloatArray = np.linalg.lstsq(design, logs, rcond=None)[0].astype(np.float64)
    covariance: FloatArray = np.linalg.inv(design.T @ design)[:cells, :cells].astype(np.float64)
    return fit[:cells], covariance, logs - design @ fit, len(logs) - design.shape[1]


@dataclass(frozen=True)
class _Fit:
    cells: npt.NDArray[np.int64]
    """Levels, shape `(cells, factors)`."""
    levels: tuple[int, ...]
    means: FloatArray
    covariance: FloatArray
    variance: float | None
    freedom: int
    errors: float
    """Half of an interval, in standard errors."""

    def contrast(self, factors: Sequence[int], levels: Sequence[int]) -> FloatArray:
        """Weights of the cells of an effect: of one factor, or of two beyond each."""
        weights = np.ones(len(self.cells)) / len(self.cells)
        for factor, level in zip(factors, levels, strict=True):
            weights = weights * (self.levels[factor] * (self.cells[:, factor] == level) - 1.0)
        return weights

    def effects(self, factors: Sequence[int]) -> list[Effect]:
        found = []
        for levels in itertools.product(*(range(self.levels[factor]) for factor in factors)):
            weights = self.contrast(factors, levels)
            size = float(weights @ self.means)
            half = None
            if self.variance is not None:
                half = self.errors * math.sqrt(self.variance * float(weights @ self.covariance @ weights))
            low, high = (None, None) if half is None else (math.exp(size - half), math.exp(size + half))
            found.append(Effect(tuple(factors), levels, math.exp(size), low, high))
        return found

    def term(self, factors: Sequence[int]) -> Term:
        between = self.means - self.means.mean()
        whole = float(between @ between)
        # Levels but the last: those of the last follow from the others.
        chosen = itertools.product(*(range(self.levels[factor] - 1) for factor in factors))
        weights = np.array([self.contrast(factors, levels) for levels in chosen])
        sizes = weights @ self.means
        # By how much the term moves each cell: the mean of the cells that share its levels, as far as it is this term's.
        moved = np.array([self.contrast(factors, cell[list(factors)]) @ self.means for cell in self.cells])
        return Term(
            factors=tuple(factors),
            share=float(moved @ moved) / whole if whole > _NOTHING else None,
            p=self._p(sizes, weights),
        )

    def _p(self, sizes: FloatArray, weights: FloatArray) -> float | None:
        """Share of F's distribution beyond that of a term (Wald's, which is that of the sums of squares when balanced)."""
        if self.variance is None or self.variance <= _NOTHING:
            return None
        inner = weights @ self.covariance @ weights.T
        ratio = float(sizes @ np.linalg.solve(inner, sizes)) / len(sizes) / self.variance
        # I_x(b, a) at x = b / (b + a F) is the upper tail of F with 2a, 2b degrees of freedom (DLMF 8.17).
        a, b = len(sizes) / 2, self.freedom / 2
        return beta_share(b / (b + a * ratio), b, a)


def _uneven(
    cells: Sequence[tuple[int, ...]], of_cell: npt.NDArray[np.int64], rest: FloatArray
) -> tuple[int, ...] | None:
    """Find the cell whose share of all squares is beyond that of Cochran's C; None: there is none, or too few runs.

    The share of one cell of K with f degrees of freedom each is beta(f/2, (K - 1) f/2); the bound is Bonferroni's.
    """
    counts = np.bincount(of_cell, minlength=len(cells))
    squares = np.bincount(of_cell, weights=rest**2, minlength=len(cells))
    free = float(counts.mean()) - 1
    if counts.min() < LEAST_RUNS or squares.sum() <= _NOTHING:
        return None
    shares = squares / squares.sum()
    bound = beta_quantile(1 - (1 - thresholds.CONFIDENCE) / len(cells), free / 2, (len(cells) - 1) * free / 2)
    worst = int(shares.argmax())
    return cells[worst] if shares[worst] > bound else None


LEAST_RUNS = 3
"""Of a cell, from where on its own variance, and with it an interval of its own, is worth anything."""


def middle_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Give the 95 % interval of the geometric mean of one cell's runs: Student's t of its own logarithms.

    None below `LEAST_RUNS` runs. Raises ValueError where a value is not above 0.
    """
    if values and min(values) <= 0:
        raise ValueError("every value is above 0")
    if len(values) < LEAST_RUNS:
        return None
    logs = np.log(values)
    half = (
        student_quantile(0.5 + thresholds.CONFIDENCE / 2, len(logs) - 1)
        * float(logs.std(ddof=1))
        / math.sqrt(len(logs))
    )
    return math.exp(float(logs.mean()) - half), math.exp(float(logs.mean()) + half)
