"""What is proposed where several values are minimised, or limits are measured.

Every value has a Gaussian process of its own, unless it is a cost that the space knows. A batch
covers the front: each of its graphs minimises the acquisition function with other weights or limits
and another √β, and takes the graphs before it to come out as predicted.

Notation
    z_i    value i on the scale of its target;  [a_i, b_i] the range of those observed
    λ, √β  weights and width of a bound: the next of a sequence for every proposal
    c_j    limit j on the scale of its target
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from nasgoat.acquisition import (
    Chebyshev,
    Constrained,
    KnownCost,
    Proposal,
    SeveralAcquisition,
)
from nasgoat.acquisition.several_objectives import Part
from nasgoat.bayesopt.evidence import Voice, make_bound
from nasgoat.bayesopt.front_functions import Limited, make_front_function, weigh
from nasgoat.bayesopt.objectives import Objectives
from nasgoat.bayesopt.settings import Settings
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import GraphGP

Array = NDArray[np.float64]
#: What a failure is called among the surrogates.
FAILURE = "failure"
_LIKELY = 0.5  # a graph whose predicted share of failures is larger is left out
# Of the √β of a proposal, for the bounds of limited values: optimistic, but wasting little
# (docs/decisions/0117-bounds-of-measured-limits.md has the figures).
_LIMIT_SHARE = 0.2
#: Fits surrogates to graphs and values, with a target; last the name of what they predict.
Fit = Callable[[Sequence[LabeledGraph], Sequence[float], str, str], list[Voice]]
#: Minimises an acquisition function: the k best graphs but those with some keys.
Minimise = Callable[[SeveralAcquisition, int, set[bytes]], list[Proposal]]


@dataclass(frozen=True)
class Told:
    """What a search knows: graphs with their metrics, and graphs that failed."""

    graphs: Sequence[LabeledGraph]
    metrics: Sequence[Mapping[str, float]]
    failed: Sequence[LabeledGraph] = ()


class SeveralProposer:
    """Proposes a batch from surrogates of every value that is minimised or limited.

    Args:
        space: The space.
        objectives: What is minimised and limited.
        settings: Those of the search, adapted to its objectives.
        told: What is known.
        fit: Fits a surrogate.
    """

    def __init__(
        self,
        space: SearchSpace,
        objectives: Objectives,
        settings: Settings,
        told: Told,
        fit: Fit,
    ) -> None:
        self._space, self._told = space, told
        self.objectives, self._settings = objectives, settings
        self._costs = self._list_costs()
        #: The surrogates by what they predict: a value, a limit, or failures.
        self.voices = self._fit_all(fit)
        self._ranges = self._scale_observed()

    @property
    def surrogates(self) -> dict[str, GraphGP]:
        """Of each of them the surrogate of largest weight, the first of equals."""
        return {
            name: max(voices, key=lambda voice: voice.weight).surrogate
            for name, voices in self.voices.items()
        }

    def _list_costs(self) -> dict[str, KnownCost]:
        """The values that need no surrogate."""
        return {name: KnownCost.of(self._space, f"sum({name})") for name in self.objectives.known}

    def _fit_all(self, fit: Fit) -> dict[str, list[Voice]]:
        told, objectives = self._told, self.objectives
        # Ranks, or whatever the settings say, suit errors; a cost counts as it is.
        found: dict[str, list[Voice]] = {}
        for name in objectives.measured:
            values = [metrics[name] for metrics in told.metrics]
            target = self._settings.target if name == objectives.main else "plain"
            found[name] = fit(told.graphs, values, target, name)
        for limit in objectives.limits:
            values = [limit.sign * metrics[limit.name] for metrics in told.metrics]
            same = found.get(limit.name)
            if same is not None and same[0].surrogate.target == "plain" and limit.sign > 0:
                found[limit.text] = same
            else:
                found[limit.text] = fit(told.graphs, values, "plain", limit.text)
        if objectives.learn_failures and told.failed:
            outcomes = [0.0] * len(told.graphs) + [1.0] * len(told.failed)
            found[FAILURE] = fit([*told.graphs, *told.failed], outcomes, "plain", FAILURE)
        return found

    def _scale_observed(self) -> Array:
        """The observed values on their scales, of graphs that keep every limit if there are any."""
        told, objectives = self._told, self.objectives
        kept = [m for m in told.metrics if objectives.is_feasible(m)] or told.metrics
        columns = []
        for name in objectives.names:
            values = np.array([metrics[name] for metrics in kept])
            known = name in objectives.known
            columns.append(values if known else self.surrogates[name].scale_.to_target(values))
        return np.column_stack(columns)

    def believe(self, graphs: Sequence[LabeledGraph]) -> None:
        """Take these graphs to come out as predicted."""
        if graphs:
            means = np.column_stack([part.predict(graphs)[0] for part in self.list_parts(0.0)])
            self._ranges = np.concatenate([self._ranges, means])
            self.voices = {
                name: [replace(v, surrogate=v.surrogate.assume_predicted(graphs)) for v in voices]
                for name, voices in self.voices.items()
            }

    def propose(
        self, k: int, start: int, exclude: set[bytes], minimise: Minimise
    ) -> list[Proposal]:
        """Up to k graphs, one after the other; fewer if the space is used up.

        Args:
            k: How many.
            start: How many graphs the search proposed before.
            exclude: Keys of graphs that must not be proposed.
            minimise: Minimises an acquisition function.
        """
        proposals: list[Proposal] = []
        for place in range(start, start + k):
            found = self._propose_one(place, exclude, minimise)
            if not found:
                break
            exclude = exclude | {self._space.key(p.graph) for p in found}
            proposals += found
            if len(proposals) < k:
                self.believe([p.graph for p in found])
        return proposals

    def _propose_one(self, place: int, exclude: set[bytes], minimise: Minimise) -> list[Proposal]:
        """The graph whose turn it is, with the probability that it keeps the limits."""
        found = minimise(self._make_function(place), 1, exclude)
        if not found:  # no graph is left within the limits, or none at all
            found = minimise(self._make_relaxed(place), 1, exclude)
        return [replace(p, probability=self._find_probability(p.graph)) for p in found]

    def list_parts(self, sqrt_beta: float) -> list[Part]:
        """A lower bound of every value that is minimised, or the cost that is known."""
        return [
            self._costs[name] if name in self._costs else make_bound(self.voices[name], sqrt_beta)
            for name in self.objectives.names
        ]

    def _list_limits(self, sqrt_beta: float) -> list[tuple[Part, float]]:
        """What limits are on, as parts, and the limits on their scales.

        Args:
            sqrt_beta: That of the proposal; the bounds of limited values take a share of it.
        """
        found: list[tuple[Part, float]] = []
        for limit in self.objectives.limits:
            part = make_bound(self.voices[limit.text], _LIMIT_SHARE * sqrt_beta)
            bound = part.gp.scale_.to_target(np.array([limit.sign * limit.bound]))[0]
            found.append((part, float(bound)))
        if FAILURE in self.voices:
            part = make_bound(self.voices[FAILURE], 0.0)
            found.append((part, float(part.gp.scale_.to_target(np.array([_LIKELY]))[0])))
        return found

    def _make_function(self, place: int) -> SeveralAcquisition:
        betas = self._settings.sqrt_betas
        sqrt_beta = betas[place % len(betas)]
        parts, limits = self.list_parts(sqrt_beta), self._list_limits(sqrt_beta)
        limited, bounds = [part for part, _ in limits], [bound for _, bound in limits]
        if not self.objectives.several:
            return Constrained([*parts, *limited], bounds)
        function = make_front_function(self._settings.acquisition, parts, place, self._ranges)
        return Limited([*function.parts, *limited], function, bounds) if limits else function

    def _make_relaxed(self, place: int) -> SeveralAcquisition:
        """For where no graph is left within the limits: how much one breaks them.

        Without measured limits it is the weighted maximum of the values.
        """
        betas = self._settings.sqrt_betas
        sqrt_beta = betas[place % len(betas)]
        if limits := self._list_limits(sqrt_beta):
            bounds = [bound for _, bound in limits]
            return Chebyshev([part for part, _ in limits], [1.0] * len(limits), bounds)
        return weigh(self.list_parts(sqrt_beta), place, self._ranges)

    def _find_probability(self, graph: LabeledGraph) -> float | None:
        """The probability that a graph keeps all measured limits; None without any."""
        limits = self._list_limits(0.0)
        if not limits:
            return None
        share = 1.0
        for part, bound in limits:
            (mean,), (std,) = part.predict([graph])
            noise = 0.0 if isinstance(part, KnownCost) else part.gp.noise_
            share *= float(ndtr((bound - mean) / max(np.sqrt(std**2 + noise), 1e-12)))
        return share
