"""What is left to gain: how much better than the best graph any other can be.

Notation
    y*      error of the recommended graph; under noise plus two of its standard errors
    z       logarithms of the errors, standardised; the errors themselves if one is not positive
    μ, σ    posterior of a process of its own on z: ranks, which the search learns by default, say
            nothing of what lies below the best of them
    c       how much too sure that process is of itself: root mean square of its leave-one-out
            residuals in units of their standard deviations, but at least 1
    ν       variance of what is particular to a graph: what the fit calls noise, less the noise that
            repeated evaluations show. Where none was repeated, all of it: a table without noise
            whose errors the kernel cannot explain has a large one, and the band of σ alone is
            narrow there
    L       min of μ - 2.5 c σ over all graphs that were not evaluated, or a proven bound below it,
            less 2.5 c √ν: σ + √ν is at least √(σ² + ν), the deviation of a graph's own error

    bound    = y* - error(L), but at least 0: no graph is better than the best by more than that;
               how often this holds is measured by benchmarks/stopping.py
    expected = Σ_x Φ((z(y* - ε) - μ(x)) / c √(σ(x)² + ν)): how many graphs among those that were
               not evaluated are to be expected below y* - ε; only where all graphs are listed
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from nasgoat.acquisition import AcquisitionOptimizer, LowerConfidenceBound, Status
from nasgoat.bayesopt.recommendation import CAUTION, estimate_errors, recommend
from nasgoat.errors import SettingError
from nasgoat.figures.wording import format_count
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import GraphGP
from nasgoat.surrogate.target import find_possible_target

SQRT_BETA = 2.5  # how often it holds, benchmarks/stopping.py says
LEAST_OBSERVATIONS = 10  # below, a fit is far too sure of itself
_SMALLEST_SD = 1e-12  # below this a graph is certain
_RULE = re.compile(r"\s*gain\s*<=?\s*([0-9.eE+-]+)\s*")


@dataclass(frozen=True)
class Gain:
    """How much better than the best any graph can be that was not evaluated.

    Args:
        bound: In units of the error; None if the process has learnt nothing, or the optimiser could
            not bound it.
        expected: How many such graphs are expected to be better by more than ``margin``; None where
            the graphs are not listed.
        margin: ε of ``expected``: what the search is to stop at, or 0.
        calibration: c, by which standard deviations were stretched.
    """

    bound: float | None
    expected: float | None = None
    margin: float = 0.0
    calibration: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Gain:
        """What :meth:`to_dict` wrote."""
        return cls(**stored)


@dataclass(frozen=True)
class StopRule:
    """When a search has found enough: what is left to gain is small, several times in a row.

    Args:
        gain: ε: the search stops when no graph can be better than the best by more than that.
        patience: This many iterations in a row.
        least: Evaluations before it may stop.

    Example:
        >>> rule = StopRule.parse("gain <= 0.3", patience=1)
        >>> rule.is_met([Gain(0.8), Gain(0.2)], evaluations=40)
        True
        >>> rule.is_met([Gain(0.2), Gain(None)], evaluations=40)
        False
    """

    gain: float
    patience: int = 2
    least: int = 30

    def __post_init__(self) -> None:
        if not 0 <= self.gain < np.inf:
            raise SettingError(f"the gain to stop at must be a number from 0, got {self.gain!r}")
        for name in ("patience", "least"):
            if (value := getattr(self, name)) < 1:
                raise SettingError(f"{name} must be at least 1, got {value!r}")

    @classmethod
    def parse(cls, text: str, patience: int = 2, least: int = 30) -> StopRule:
        """The rule that ``"gain <= 0.3"`` says."""
        try:
            found = _RULE.fullmatch(text)
            epsilon = float(found[1]) if found else None
        except ValueError:
            epsilon = None
        if epsilon is None:
            raise SettingError(f"stop-when must read 'gain <= NUMBER', got {text!r}")
        return cls(epsilon, patience, least)

    def is_met(self, gains: Sequence[Gain | None], evaluations: int) -> bool:
        """Whether to stop, given what was left to gain at each fit so far."""
        last = gains[-self.patience :]
        return (
            evaluations >= self.least
            and len(last) == self.patience
            and all(g is not None and g.bound is not None and g.bound <= self.gain for g in last)
        )


@dataclass(frozen=True)
class Convergence:
    """Why a search ended before its budget: little was left to gain.

    Args:
        gain: What was left; no graph was proposed after it was measured.
        rule: What the search was to stop at.
        proposed: How many graphs the search had proposed by then.

    Example:
        >>> print(Convergence(Gain(0.2817, margin=0.3), StopRule(0.3), proposed=40))
        gain 0.2817 <= 0.3, 2 iterations in a row
    """

    gain: Gain
    rule: StopRule
    proposed: int

    def __str__(self) -> str:
        times = format_count(self.rule.patience, "iteration")
        times += " in a row" * (self.rule.patience > 1)
        return f"gain {self.gain.bound or 0.0:.4g} <= {self.rule.gain:g}, {times}"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Convergence:
        """What :meth:`to_dict` wrote."""
        gain, rule = Gain.from_dict(stored["gain"]), StopRule(**stored["rule"])
        return cls(gain, rule, int(stored["proposed"]))


def measure_gain(
    space: SearchSpace,
    optimizer: AcquisitionOptimizer,
    observations: Sequence[tuple[LabeledGraph, float]],
    exclude: Collection[bytes] = (),
    kernel: str = "exponential",
    margin: float = 0.0,
) -> Gain | None:
    """What is left to gain after these observations; None after too few of them.

    Args:
        space: The space.
        optimizer: Minimises over all graphs; the bound is as exact as its own.
        observations: Graphs and their errors.
        exclude: Keys of graphs that don't count: evaluated, failed or under way.
        kernel: Of the process.
        margin: ε of the expected number of better graphs.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import make_optimizer
        >>> space = nasbench201()
        >>> told = [(g, 5.0 + len(g.edges)) for g in space.sample(40, np.random.default_rng(0))]
        >>> catalogue = make_optimizer("catalogue", space)
        >>> gain = measure_gain(space, catalogue, told, {space.key(g) for g, _ in told})
        >>> gain.bound >= 0, gain.expected >= 0
        (True, True)
    """
    graphs, errors = [graph for graph, _ in observations], [error for _, error in observations]
    if len({space.key(graph) for graph in graphs}) < LEAST_OBSERVATIONS:
        return None
    target = find_possible_target("log", errors)
    process = GraphGP(space, kernel, target=target).fit(graphs, errors)
    if not process.check_.learnt:  # its band is that of a constant, and may be as narrow as can be
        return Gain(None, None, margin)
    stretch = max(1.0, process.check_.spread or 1.0)
    best = recommend([space.key(graph) for graph in graphs], errors)
    reached = best.shift(CAUTION)
    particular = _find_particular(process, graphs, errors)
    acquisition = LowerConfidenceBound(SQRT_BETA * stretch, process)
    pool = optimizer.optimize(acquisition, 1, exclude)
    if pool.certificate.status is Status.EXHAUSTED:
        return Gain(0.0, 0.0, margin, stretch)
    bound, least = None, pool.certificate.bound
    if least is not None:
        least -= SQRT_BETA * stretch * np.sqrt(particular)
        bound = max(reached - float(process.to_error(np.array([least]))[0]), 0.0)
    expected = _count_better(process, optimizer, reached - margin, stretch, particular)
    return Gain(bound, expected, margin, stretch)


def _find_particular(
    process: GraphGP, graphs: Sequence[LabeledGraph], errors: Sequence[float]
) -> float:
    """ν: the fitted noise variance, less that of repeated evaluations about their means."""
    targets = process.scale_.to_target(np.asarray(errors, dtype=float))
    estimate = estimate_errors([process.space.key(graph) for graph in graphs], targets.tolist())[0]
    shown = estimate.times * (estimate.uncertainty or 0.0) ** 2
    return max(process.noise_ - shown, 0.0)


def _count_better(
    process: GraphGP,
    optimizer: AcquisitionOptimizer,
    error: float,
    stretch: float,
    particular: float,
) -> float | None:
    """How many unobserved graphs are expected below an error, if all are listed."""
    score = getattr(optimizer, "score", None)
    if score is None:
        return None
    if process.scale_.kind == "log":
        error = max(error, np.finfo(float).tiny)
    z = process.scale_.to_target(np.array([error]))
    every, observed = score(process.posterior_), process.predict(process.graphs_)
    below = []
    for mean, std in (every, observed):
        own = np.maximum(stretch * np.sqrt(std**2 + particular), _SMALLEST_SD)
        below.append(norm.cdf((z - mean) / own).sum())
    return max(float(below[0] - below[1]), 0.0)
