"""The ask/tell optimiser for trainings of several lengths: which graph, at which fidelity.

At each step two graphs are found exactly, by the acquisition function of the search: the best of
all graphs that were never evaluated, and the best of those that were, but not at the full fidelity.
What is done next, a short training of the first or a longer one of the second, is decided by value
for its cost.

Before that, ``initial`` random graphs are evaluated at the lowest fidelity, and the ``FIRST`` best
of each fidelity at the next one, so that something is known of how fidelities hang together.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from nasgoat.acquisition import Proposal
from nasgoat.acquisition.candidates import find_best_of
from nasgoat.bayesopt.evidence import Voice, choose_speaker
from nasgoat.bayesopt.known_results import Known
from nasgoat.bayesopt.learner import LearnerOptions
from nasgoat.bayesopt.optimizer import REPEAT_EVERY, Optimizer
from nasgoat.errors import SettingError
from nasgoat.evaluation import Fidelities, Fidelity
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import GraphGP, Source, SourcedGP

_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)  # a mean over a normal distribution
_CERTAIN = 1e-12  # deviation below which a graph is certain
FIRST = 3  # graphs that each fidelity gets before the price decides
_ROUNDING = 1e-9  # of sums of costs


@dataclass(frozen=True)
class NextStep:
    """A graph to evaluate next, as a proposal, and the place of its fidelity."""

    proposal: Proposal
    level: int


def choose_step(
    model: GraphGP, steps: Sequence[NextStep], last: NextStep, fidelities: Fidelities
) -> NextStep:
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


class FidelityOptimizer(Optimizer):
    """Proposes graphs and the fidelities to evaluate them at, and learns from all of them.

    Args:
        space: The space to search, or its name as for :func:`~nasgoat.load_space`.
        fidelities: As for :meth:`nasgoat.evaluation.Fidelities.of`.
        budget: What may be spent, in full evaluations.
        options: Anything else that :class:`~nasgoat.Optimizer` takes; its ``initial`` random graphs
            are evaluated at the lowest fidelity.

    Example:
        >>> optimizer = FidelityOptimizer("nb201", "epochs=12,200", initial=5, seed=0)
        >>> for step in range(3):
        ...     for proposal in optimizer.ask(5):
        ...         error = 10.0 + len(proposal.graph.edges) + 12 / proposal.fidelity.value
        ...         optimizer.tell(proposal.graph, error, proposal.fidelity)
        >>> [len(source.graphs) for source in optimizer.sources], round(optimizer.spent, 2)
        ([3, 12], 3.72)
    """

    has_short_trainings = True

    def __init__(
        self,
        space: SearchSpace | str,
        fidelities: Fidelities | str | Mapping[str, Any],
        budget: float = 160,
        **options: Unpack[LearnerOptions],
    ) -> None:
        known = options.pop("known", ())
        super().__init__(space, **options)
        if not self.objectives.plain:
            raise SettingError(
                "fidelities must come with one error to minimise and no measured limit, "
                "got several values"
            )
        self.fidelities = Fidelities.of(fidelities)
        if budget < (least := 1 + self.fidelities[0].cost):
            raise SettingError(
                f"the budget must be at least {least:g} full evaluations with these fidelities, "
                f"got {budget:g}"
            )
        self.budget = float(budget)
        #: What was spent, evaluations under way included, in full ones.
        self.spent = 0.0
        self._told: list[dict[bytes, list[float]]] = [{} for _ in self.fidelities]
        self._seen: dict[bytes, LabeledGraph] = {}
        self._levels: dict[bytes, int] = {}  # of what is under way
        self._broken: dict[bytes, int] = {}  # the fidelity at which each graph failed
        self.tell_known(known)

    @property
    def sources(self) -> list[Source]:
        """What was observed at each fidelity that has been used, the highest first."""
        return [
            Source(
                str(self.fidelities[level]),
                [self._seen[key] for key, errors in told.items() for _ in errors],
                [error for errors in told.values() for error in errors],
            )
            for level, told in reversed(list(enumerate(self._told)))
            if told
        ]

    def ask(self, k: int = 1) -> list[Proposal]:
        """Up to k graphs to evaluate next, each with its fidelity; fewer if the budget ends."""
        self._check_count(k)
        steps = [NextStep(p, 0) for p in self._propose_initial(k)]
        taken = [self._take(step) for step in steps if self._affords(0)]
        if len(taken) < k and any(self._told):
            taken += self._propose(k - len(taken))
        elif len(taken) < k:
            more = self._propose_random(k - len(taken), taken)
            taken += [self._take(NextStep(p, 0)) for p in more if self._affords(0)]
        return taken

    def tell(
        self,
        graph: LabeledGraph,
        error: float | Mapping[str, Any],
        fidelity: float | Fidelity | None = None,
    ) -> None:
        """Learn the error of a graph at a fidelity; at the full one if none is given."""
        level = self.fidelities.find(fidelity)
        super().tell(graph, error)
        key, number = self._end(graph, level), self._errors[-1]
        if level < len(self.fidelities) - 1:  # no observation of what the search is about
            del self._graphs[-1], self._errors[-1]
        self._seen.setdefault(key, graph)
        self._told[level].setdefault(key, []).append(number)

    def tell_known(self, known: Known) -> None:
        """Learn results of full evaluations made before the search; they cost nothing."""
        spent = getattr(self, "spent", 0.0)
        super().tell_known(known)
        self.spent = spent

    def tell_failed(self, graph: LabeledGraph, fidelity: float | Fidelity | None = None) -> None:
        """Note that an evaluation failed: the graph is left alone, and what it cost is spent."""
        level = self.fidelities.find(fidelity)
        self._broken[self._end(graph, level)] = level
        super().tell_failed(graph)

    def expect(self, graph: LabeledGraph, fidelity: float | Fidelity | None = None) -> None:
        """Note that a graph is being evaluated at a fidelity."""
        super().expect(graph)
        self._begin(graph, self.fidelities.find(fidelity))

    def _begin(self, graph: LabeledGraph, level: int) -> None:
        key = self.space.key(graph)
        self._pending[key] = graph
        if key not in self._levels:
            self.spent += self.fidelities[level].cost
        self._levels[key] = level

    def _end(self, graph: LabeledGraph, level: int) -> bytes:
        key = self._check_and_key(graph)
        if self._levels.pop(key, None) is None:
            self.spent += self.fidelities[level].cost
        return key

    def _take(self, step: NextStep) -> Proposal:
        """A step as a proposal with its fidelity, which is under way from now on."""
        self._begin(step.proposal.graph, step.level)
        return replace(step.proposal, fidelity=self.fidelities[step.level])

    def _affords(self, level: int) -> bool:
        """Whether an evaluation is within the budget; a cheap one must leave room for a full."""
        cost = self.fidelities[level].cost
        needed = cost if level == len(self.fidelities) - 1 else cost + 1.0
        return self.spent + needed <= self.budget + _ROUNDING

    def _fit_candidate(
        self, options: dict[str, Any], graphs: Sequence[LabeledGraph], values: Sequence[float]
    ) -> GraphGP:
        target, *others = self.sources
        others += self.transfer
        fitted = SourcedGP(self.space, **options)
        return fitted.fit(target.graphs, target.errors, others, target.name)

    def _count_proposed(self) -> int:
        return sum(map(len, self._told)) + len(self._broken) + len(self._pending)

    def _propose(self, k: int) -> list[Proposal]:
        self.surrogate = choose_speaker(
            self.candidates, self._fit(self._graphs, self._errors, self.settings.target)
        )
        if self._gain_margin is not None and self._graphs:
            self.gain = self._measure_gain(self._gain_margin)
        model = self.surrogate
        for key, level in self._levels.items():
            model = self._believe(model, self._pending[key], level)
        taken: list[Proposal] = []
        for place in range(self._count_proposed(), self._count_proposed() + k):
            step = self._choose(model, place)
            if step is None:
                break
            step = self._choose_repeat() or step if step.level == len(self.fidelities) - 1 else step
            taken.append(self._take(step))
            if len(taken) < k:
                model = self._believe(model, step.proposal.graph, step.level)
        return taken

    def _believe(self, model: GraphGP, graph: LabeledGraph, level: int) -> GraphGP:
        """The model as if an evaluation had come out as predicted."""
        name = str(self.fidelities[level])
        known = isinstance(model, SourcedGP) and name in {s.name for s in model.sources_}
        return model.assume_predicted([graph], name) if known else model  # type: ignore[call-arg]

    def _choose(self, model: GraphGP, place: int) -> NextStep | None:
        """The next step; None if nothing is left, or nothing that the budget affords."""
        full, betas = len(self.fidelities) - 1, self.settings.list_sqrt_betas()
        function = self._make_acquisition([Voice(model)], place, betas[place % len(betas)])
        known, level = self._list_promotable(), self._find_unused_level()
        if level is not None and self._affords(level):
            seen = [self._seen[key] for key in known if self._find_level(key) == level - 1]
            if seen:
                return NextStep(find_best_of(function, seen), level)
        seen = [self._seen[key] for key in known]
        promoted = find_best_of(function, seen) if seen and self._affords(full) else None
        lowest = 0 if self._affords(0) else full
        if promoted is not None and lowest == full:
            return NextStep(promoted, full)
        found = self._minimize(function, 1, self._list_taken()) if self._affords(lowest) else []
        if promoted is None:
            return NextStep(found[0], lowest) if found else None
        steps = [NextStep(found[0], 0)] if found else []
        reached = self._find_level(self.space.key(promoted.graph))
        steps += [NextStep(promoted, i) for i in range(reached + 1, full) if self._affords(i)]
        return choose_step(model, steps, NextStep(promoted, full), self.fidelities)

    def _choose_repeat(self) -> NextStep | None:
        """A full evaluation again, of what is promising: one in five of them may be one."""
        full = len(self.fidelities) - 1
        made = sum(map(len, self._told[full].values())) + [*self._levels.values()].count(full)
        again = self._propose_repeats(int(made % REPEAT_EVERY == REPEAT_EVERY - 1))
        return NextStep(again[0], full) if again else None

    def _count_times(self, key: bytes) -> int:
        """How often a graph was evaluated in full."""
        return super()._count_times(key) - sum(len(told.get(key, ())) for told in self._told[:-1])

    def _find_level(self, key: bytes) -> int:
        """The highest fidelity at which a graph was evaluated."""
        return max(level for level, told in enumerate(self._told) if key in told)

    def _list_promotable(self) -> list[bytes]:
        """Graphs that may be evaluated at a higher fidelity."""
        taken = self._broken.keys() | self._levels.keys() | self._told[-1].keys()
        return [key for key in self._seen if key not in taken]

    def _find_unused_level(self) -> int | None:
        """The lowest fidelity that has not had its first graphs, failures there included."""
        begun = [*self._levels.values(), *self._broken.values()]
        for level in range(1, len(self.fidelities)):
            higher = {key for told in self._told[level:] for key in told}
            if len(higher) + sum(i >= level for i in begun) < FIRST:
                return level
        return None
