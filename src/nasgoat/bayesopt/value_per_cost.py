"""What an evaluation at a fidelity is worth for its cost.

Notation
    μ, σ    posterior mean and deviation of the full fidelity at a graph, given all observations
    b       the lowest posterior mean of what was observed
    c       cost of an evaluation at a lower fidelity, in full ones
    τ       deviation of μ once that evaluation is made; √(σ² - τ²) is what remains of σ
    EI      expected improvement E[max(b - f, 0)] = σ (φ(z) + z Φ(z)) with z = (b - μ) / σ

A graph that was evaluated before could be evaluated in full now. What that is worth for its cost,
which is 1, is the price λ = EI. A cheaper evaluation, of this graph or another, is worth what it
may lead to: a full evaluation that pays more than the price. With Z standard normal, its value for
its cost is

    E[max(EI(μ + τ Z, √(σ² - τ²)) - λ, 0)] / c,

and it is made if that is above λ. This is Weitzman's rule for boxes that cost something to open
(Optimal search for the best alternative, 1979), one step ahead. So short trainings go on as long as
they are likely to turn up something better than what is already known to be promising.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from nasgoat.acquisition import Proposal
from nasgoat.evaluation import Fidelities
from nasgoat.surrogate import GraphGP, SourcedGP

_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)  # a mean over a normal distribution
_CERTAIN = 1e-12  # deviation below which a graph is certain


@dataclass(frozen=True)
class Step:
    """A graph to evaluate next, as a proposal, and the place of its fidelity."""

    proposal: Proposal
    level: int


def choose_step(model: GraphGP, steps: Sequence[Step], last: Step, fidelities: Fidelities) -> Step:
    """The step of most value for its cost.

    Args:
        model: The fitted process, whose sources have the names of the fidelities.
        steps: Evaluations at lower fidelities; those that nothing was observed at are passed over.
        last: An evaluation at the full fidelity.
        fidelities: All of them.
    """
    best = model.lowest_mean
    mean, std = model.predict([last.proposal.graph])
    most = price = float(expect_improvement(mean, std, best)[0])
    chosen = last
    known = {s.name for s in model.sources_} if isinstance(model, SourcedGP) else set()
    for step in steps:
        fidelity, graphs = fidelities[step.level], [step.proposal.graph]
        if not isinstance(model, SourcedGP) or str(fidelity) not in known:
            continue
        mean, _ = model.predict(graphs)
        std, told = model.foresee(graphs, str(fidelity))
        value = value_cheap_evaluation(float(mean[0]), float(std[0]), float(told[0]), best, price)
        if value / fidelity.cost > most:
            most, chosen = value / fidelity.cost, step
    return chosen


def expect_improvement(
    mean: NDArray[np.float64], std: NDArray[np.float64], best: float
) -> NDArray[np.float64]:
    """E[max(best - f, 0)] of f ~ N(mean, std²).

    Example:
        >>> expect_improvement(np.array([0.0, -1.0]), np.array([1.0, 0.0]), 0.0).round(4).tolist()
        [0.3989, 1.0]
    """
    std = np.maximum(std, _CERTAIN)
    z = (best - mean) / std
    improvement: NDArray[np.float64] = std * (norm.pdf(z) + z * norm.cdf(z))
    return improvement


def value_cheap_evaluation(
    mean: float, std: float, told: float, best: float, price: float
) -> float:
    """E[max(EI(μ + τ Z, √(σ² - τ²)) - λ, 0)]: what a cheap evaluation may lead to.

    Args:
        mean: μ.
        std: σ.
        told: τ, at most σ.
        best: b.
        price: λ.

    Example:
        >>> value = value_cheap_evaluation
        >>> round(value(0.0, 1.0, 0.0, 0.0, 0.1), 4)  # nothing is learnt: EI less the price
        0.2989
        >>> value(0.0, 1.0, 0.9, 0.0, 0.1) > value(0.0, 1.0, 0.1, 0.0, 0.1)
        True
    """
    left = np.full(len(_POINTS), np.sqrt(max(std**2 - told**2, 0.0)))
    after = expect_improvement(mean + told * _POINTS, left, best)
    return float(_WEIGHTS @ np.maximum(after - price, 0.0) / _WEIGHTS.sum())
