"""Whether the Gaussian process has learnt anything: every observation predicted from all others.

Notation
    C    (m, m)  kernel matrix of the observations plus their noise (noise / m_i) on the diagonal
    a            C⁻¹ y, and d_i = [C⁻¹]_ii
    μ_i, σ_i²    mean and variance of y_i given all other observations, at fixed hyperparameters:
                 μ_i = y_i - a_i / d_i,  σ_i² = 1 / d_i   (Rasmussen and Williams, Eq. 5.12)

No fit is repeated: one factor of C gives all m predictions. A graph that was observed several times
is left out whole, and σ_i² holds the noise of its mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

Array = NDArray[np.float64]

#: Leave-one-out rank correlation below which a model is said to have learnt nothing. A model that
#: knows nothing has about -1 to 0 (each left-out mean moves away from its own observation). Of
#: fits to pure noise on NAS-Bench-201 about one in eight passes by chance (10, 20 or 60 cells); of
#: fits to real errors 9 of 20 pass with 10 random cells, 19 with 20 and all with 60.
LEAST_CORRELATION = 0.2
#: Share of the observations within two standard deviations below which a model is too sure of
#: itself; 95 % is right.
LEAST_COVERAGE = 0.8
#: Central intervals of a calibration plot, by the share that they should hold.
LEVELS = tuple(round(0.1 * i, 1) for i in range(1, 10))
#: Rank correlation below which predictions are little more than the mean of the others.
_MEAN_ALONE = -0.5
_LEAST_OBSERVATIONS = 3  # below, no rank correlation means anything
_OUTLIER = 30.0  # interquartile ranges from the median; 2.5 of them are four standard deviations


@dataclass(frozen=True)
class ModelCheck:
    """How well a fitted process predicts each observation from all others.

    Args:
        rank_correlation: Spearman's, between predictions and observations; None if there are fewer
            than three observations or one of both is constant.
        coverage: Share of the observations within two standard deviations; about 0.95 is right.
        gain: Mean logarithm of the predictive density, less that of a constant with noise, left
            out in the same way; None where every observation is the same.
        at_bounds: Hyperparameters that the fit left at a bound.
        calibration: Share of the observations within the central intervals of ``LEVELS``.
        spread: Root mean square of the residuals in units of their standard deviations; about 1 is
            right, more is too sure. None in studies of earlier versions.
        objective: What it predicts, where a search has several models.
        response: What the search does about it, in words, where it has learnt nothing, or where it
            proposes without proofs instead of a kernel that has them.

    Example:
        >>> from nasgoat import GraphGP, nasbench201
        >>> cells = nasbench201().sample(40, np.random.default_rng(0))
        >>> check = GraphGP(nasbench201()).fit(cells, [len(cell.edges) for cell in cells]).check_
        >>> check.learnt, check.rank_correlation > 0.8, check.gain > 0
        (True, True, True)
    """

    rank_correlation: float | None
    coverage: float
    gain: float | None
    at_bounds: tuple[str, ...] = ()
    calibration: tuple[float, ...] = ()
    spread: float | None = None
    objective: str | None = None
    response: str | None = None

    @classmethod
    def of(
        cls, targets: Array, dual: Array, diagonal: Array, at_bounds: Sequence[str]
    ) -> ModelCheck:
        """The check of targets y, given a = C⁻¹ y and the diagonal d of C⁻¹."""
        mean, std = leave_one_out(targets, dual, diagonal)
        z = (targets - mean) / std
        ranked = gain = None
        if len(targets) >= _LEAST_OBSERVATIONS and np.ptp(targets) > 0:
            ranked = correlate_ranks(mean, targets)
            density = norm.logpdf(z) - np.log(std)
            gain = float(density.mean() - _score_constant(targets))
        within = tuple(float(np.mean(abs(z) <= norm.ppf(0.5 + level / 2))) for level in LEVELS)
        coverage = float(np.mean(abs(z) <= 2.0))
        spread = float(np.sqrt(np.mean(z**2)))
        return cls(ranked, coverage, gain, tuple(at_bounds), within, spread)

    @property
    def learnt(self) -> bool:
        """Whether it ranks graphs that it has not seen, and knows more than a constant does."""
        return (
            self.rank_correlation is not None
            and self.rank_correlation >= LEAST_CORRELATION
            and self.gain is not None
            and self.gain > 0
        )

    @property
    def too_sure(self) -> bool:
        """Whether far fewer errors than 95 % lie within two standard deviations."""
        return self.coverage < LEAST_COVERAGE

    def describe(self) -> str:
        """What the numbers mean, in plain words."""
        ranked = self.rank_correlation
        shown = f"{ranked or 0.0:.2f}"
        model = f"the model{f' of {self.objective}' if self.objective else ''}"
        if ranked is None:
            text = (
                f"whether {model} has learnt anything can't be told yet (rank correlation not "
                "defined): that takes three errors of full evaluations, and not all the same"
            )
        elif not self.learnt:
            text = (
                f"{model} has learnt nothing yet (rank correlation {shown}"
                f"{_explain_correlation(ranked)}): expect no more of its proposals than of random "
                "graphs, proven or not"
            )
        else:
            text = f"{model} ranks graphs that it has not seen (rank correlation {shown})"
        if self.too_sure:
            text += (
                f"; it is too sure of itself: {self.coverage:.0%} of the errors lie within two "
                "standard deviations, 95 % should"
            )
        if self.at_bounds:
            text += f"; at a bound of the fit: {', '.join(self.at_bounds)}"
        return text

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {name: _list(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> ModelCheck:
        """The check that :meth:`to_dict` wrote.

        Example:
            >>> check = ModelCheck(0.8, 0.95, 0.4, ("noise",))
            >>> ModelCheck.from_dict(check.to_dict()) == check
            True
        """
        lists = {name: tuple(stored[name]) for name in ("at_bounds", "calibration")}
        return cls(**{**stored, **lists})


def leave_one_out(targets: Array, dual: Array, diagonal: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each target given all others, its noise included.

    Example:
        >>> C = np.array([[2.0, 1.0], [1.0, 2.0]])
        >>> y, inverse = np.array([1.0, 3.0]), np.linalg.inv(C)
        >>> mean, std = leave_one_out(y, inverse @ y, np.diag(inverse))
        >>> mean.round(6).tolist(), (std**2).round(6).tolist()
        ([1.5, 0.5], [1.5, 1.5])
    """
    return targets - dual / diagonal, 1.0 / np.sqrt(diagonal)


def log_density(targets: Array, dual: Array, diagonal: Array) -> float:
    """Mean logarithm of the density of each target given all others.

    Example:
        >>> round(log_density(np.array([0.0]), np.array([0.0]), np.array([1.0])), 3)
        -0.919
    """
    mean, std = leave_one_out(targets, dual, diagonal)
    return float(norm.logpdf(targets, mean, std).mean())


def find_weak_points(errors: Sequence[float], kind: str, free: Sequence[str]) -> dict[str, str]:
    """What a fit to these errors can't support: a line each, by a name.

    Args:
        errors: What was observed.
        kind: What is learnt of them: ``"rank"``, ``"log"`` or ``"plain"``.
        free: Names of the hyperparameters that are fitted.

    Example:
        >>> list(find_weak_points([5.0, 5.0], "rank", ["alpha"]))
        ['equal']
    """
    found: dict[str, str] = {}
    values = np.asarray(errors, dtype=float)
    if not len(values):
        return found
    if len(values) > 1 and np.ptp(values) == 0:
        found["equal"] = (
            f"all {len(values)} errors are equal ({values[0]:g}): nothing can be learnt from them"
        )
    if len(values) < len(free):
        found["few"] = (
            f"{len(values)} observations are fewer than the hyperparameters of the fit "
            f"({', '.join(free)}): begin with a larger initial design"
        )
    low, middle, high = np.percentile(values, [25, 50, 75])
    worst = values[np.argmax(abs(values - middle))]
    if kind != "rank" and high > low and abs(worst - middle) > _OUTLIER * (high - low):
        found["outlier"] = (
            f"the error {worst:g} lies {abs(worst - middle) / (high - low):.0f} interquartile "
            f"ranges from the median {middle:g} and stretches the scale of the target {kind!r}; "
            "the target 'rank' does not mind"
        )
    return found


def _score_constant(targets: Array) -> float:
    """Mean log density of each target under the mean of the others, with the variance of all.

    With s² the sample variance, the left-out residuals have the mean square s² m / (m - 1), which
    is also the variance of a prediction by the mean of m - 1 others.
    """
    m = len(targets)
    variance = targets.var(ddof=1) * m / (m - 1)
    return float(-0.5 * np.log(2 * np.pi * np.e * variance))


def correlate_ranks(predicted: Array, targets: Array) -> float | None:
    """Spearman's rank correlation; None where all values of one are equal.

    Example:
        >>> correlate_ranks(np.array([1.0, 2.0, 9.0]), np.array([4.0, 3.0, 1.0]))
        -1.0
    """
    if np.ptp(predicted) == 0 or np.ptp(targets) == 0:
        return None
    return float(np.corrcoef(rankdata(predicted), rankdata(targets))[0, 1])


def _explain_correlation(ranked: float) -> str:
    """Where the correlation of a model that has learnt nothing comes from."""
    if ranked <= _MEAN_ALONE:
        return ", as of the mean of the others: it falls when a high error is left out"
    beaten = " but no better than a constant" if ranked >= LEAST_CORRELATION else ""
    return f"{beaten}, each graph predicted from the others"


def _list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
