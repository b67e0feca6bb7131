"""Acquisition functions of several objectives, each with a model of its own or a known cost.

Notation (docs/acquisition-functions.md, "Several objectives")
    v_i   value of part i at a graph: μ_i - √β σ_i of its own Gaussian process, or a known cost
    h     the acquisition function of all parts: it does not fall where a v_i rises
    λ, r  weights and reference point;  ρ the augmentation;  c_j limits

Because h does not fall where a value rises, h of lower bounds of the values is a lower bound of h
(docs/acquisition-functions.md, Lemma 2): that is all an optimiser with bounds needs to know.
:class:`SeveralAcquisition` says what it is, and a function of one's own is a subclass with
:meth:`~SeveralAcquisition.join`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from nasgoat.acquisition.averaging import AveragedBound
from nasgoat.acquisition.lower_confidence_bound import (
    Acquisition,
    Array,
    LinearAcquisition,
    Measure,
    PartPosterior,
)
from nasgoat.errors import SettingError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.limits import Limit
from nasgoat.surrogate import GraphGP

_ENDLESS = 1e12  # values of a part beyond which none is looked for
_HALVINGS = 60


@dataclass(frozen=True, eq=False)
class KnownCost:
    """A cost that needs no model: a sum over operations, edges and nodes, in its own unit.

    Args:
        space: The space whose graphs have the cost.
        total: Its coefficients; what stands on the right-hand side is subtracted.

    Example:
        >>> from nasgoat import nasbench201
        >>> space = nasbench201()
        >>> cost = KnownCost.of(space, "sum(params) + 1", {"params": {"nor_conv_3x3": 9.0}})
        >>> cells = space.sample(3, np.random.default_rng(0))
        >>> convolutions = [list(cell.edge_labels.values()).count("nor_conv_3x3") for cell in cells]
        >>> cost.predict(cells)[0].tolist() == [1 + 9.0 * count for count in convolutions]
        True
    """

    space: SearchSpace
    total: Limit

    @classmethod
    def of(
        cls, space: SearchSpace, text: str, costs: Mapping[str, Mapping[str, Any]] | None = None
    ) -> KnownCost:
        """The cost of a text such as ``sum(params)`` or ``2*conv + edges``, as limits have it.

        Args:
            space: The space whose graphs have the cost.
            text: The left-hand side of a limit.
            costs: For each name in ``sum(...)`` what each operation costs.
        """
        whole = space.with_limits(())
        (total,) = whole.constrain(f"{text} <= 0", costs=costs).limits
        return cls(space, replace(total, name=text))

    def restrict_to_cell(self, name: str) -> KnownCost:
        """What one of several cells costs; a constant is shared by all of them."""
        own = self.total.cells.get(name, Limit(self.total.name, "<=", 0.0))
        shared = replace(own, bound=self.total.bound / len(self.space.cells))
        return KnownCost(self.space.cells[name], shared)

    def measure(self, batch: GraphBatch) -> Array:
        """The cost of each graph of a batch."""
        return np.asarray(self.space.add_up([self.total], batch)[0] - self.total.bound)

    def predict(self, graphs: Sequence[LabeledGraph]) -> tuple[Array, Array]:
        """The cost of each graph, and a deviation of 0."""
        cost = self.measure(self.space.batch(graphs)) if graphs else np.zeros(0)
        return cost, np.zeros(len(cost))

    def combine(self, mean: Array, std: Array) -> Array:
        """The cost itself."""
        return mean

    def find_moments(self, measure: Measure) -> tuple[Array, Array]:
        """The cost and a deviation of 0, given a function that measures costs."""
        return measure(self)


#: What one objective contributes: a lower confidence bound (or a draw) of its own Gaussian process
#: on the scale of its target, that of several together, or a known cost.
Part = LinearAcquisition | AveragedBound | KnownCost


class SeveralAcquisition(Acquisition):
    """A function h of several parts that does not fall where the value of a part rises.

    A subclass is a frozen dataclass with a field ``parts`` and has :meth:`join`. Its values may be
    infinite: such graphs are never proposed.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import random_problem
        >>> @dataclass(frozen=True, eq=False)
        ... class Sum(SeveralAcquisition):
        ...     parts: tuple
        ...     def join(self, values):
        ...         return values.sum(axis=0)
        >>> lcb = random_problem(nasbench201(), observations=5).acquisition
        >>> cells = nasbench201().sample(3, np.random.default_rng(0))
        >>> both = Sum((lcb, KnownCost.of(nasbench201(), "nor_conv_3x3")))
        >>> added = lcb.score(cells) + both.parts[1].predict(cells)[0]
        >>> bool(np.allclose(both.score(cells), added))
        True
    """

    parts: Sequence[Part]
    searches: ClassVar[int] = 3
    #: Whether values from means and deviations take long: a microsecond each, or more.
    slow: ClassVar[bool] = False

    @classmethod
    def explain_unbounded(cls, kernel: str) -> str | None:
        """None: bounds of the parts bound every such function."""
        return None

    @abstractmethod
    def join(self, values: Array) -> Array:
        """The function h of the values of all parts, shape (parts, B); may be infinite."""

    @property
    def known_limits(self) -> dict[int, Limit]:
        """Parts whose only use is a linear limit on a known cost, by their places."""
        return {}

    @property
    def excess(self) -> SeveralAcquisition | None:
        """A function that is above 0 exactly where this one is infinite; None if nowhere."""
        return None

    def relax(self, find_widest: Callable[[LinearAcquisition], float]) -> SeveralAcquisition:
        """A function of the values of its parts that is never above this one.

        It is the function itself, unless more counts of a part than its value.

        Args:
            find_widest: The largest deviation of a part over the graphs that may be proposed.
        """
        return self

    def split(self, value: float, floor: Array) -> Sequence[SeveralAcquisition]:
        """Split into functions with sharper bounds; one of them covers each graph below ``value``.

        Each knows a piece of the values that are below (:meth:`cap_sum`), all of them everything.
        It is the function itself, unless its sums leave much between its values and their bounds.

        Args:
            value: What the function is below.
            floor: What the values of its parts are at least.
        """
        return (self,)

    def list_sums(self, group: Sequence[int], spread: Array) -> Array:
        """Weights of sums of parts that :meth:`cap_sum` knows, shape (sums, parts).

        Args:
            group: The parts that may have a weight.
            spread: What the values of each part vary by.
        """
        return np.eye(len(self.parts))[list(group)]

    def cap_sum(self, weights: Array, value: float, floor: Array) -> float:
        """An upper limit on Σ_i g_i v_i over all graphs whose value h is below ``value``.

        Of one part it is found by halving: the values of the others are at least their floors.

        Args:
            weights: g, one of :meth:`list_sums`.
            value: What h is below.
            floor: What v is at least.
        """
        (i,) = np.flatnonzero(weights)
        point, step = np.array(floor, dtype=float), 1.0
        if not np.isfinite(floor[i]):
            return np.inf
        while point[i] + step < _ENDLESS:  # the least step at which h is not below the value
            point[i] = floor[i] + step
            if self.join(point[:, None])[0] >= value:
                break
            step *= 2.0
        else:
            return np.inf
        low, high = 0.0, step
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            point[i] = floor[i] + middle
            low, high = (low, middle) if self.join(point[:, None])[0] >= value else (middle, high)
        return float(weights[i] * (floor[i] + high))

    def combine(self, mean: Array, std: Array) -> Array:
        """The value h for means and deviations of all parts, both of shape (parts, B).

        It does not fall where a mean rises, nor rise where a deviation rises (Lemma 7
        of docs/acquisition-functions.md).
        """
        rows = zip(self.parts, mean, std, strict=True)
        return self.join(np.stack([part.combine(m, s) for part, m, s in rows]))

    def gather(self, measure: Measure) -> Array:
        """The function's value at every graph; ``measure`` gives each part's moments there."""
        mean, std = zip(*(part.find_moments(measure) for part in self.parts), strict=True)
        return self.combine(np.stack(mean), np.stack(std))

    @cached_property
    def modelled(self) -> tuple[LinearAcquisition | AveragedBound, ...]:
        """The parts with a Gaussian process."""
        return tuple(part for part in self.parts if not isinstance(part, KnownCost))

    @property
    def surrogate(self) -> GraphGP | None:  # type: ignore[override]
        """The Gaussian process of the first part that has one."""
        return self.modelled[0].surrogate if self.modelled else None

    @property
    def informed(self) -> bool | None:
        """Whether all surrogates have learnt something; None if one was not checked."""
        known = [part.informed for part in self.modelled]
        return None if None in known else all(known)

    def predict(self, graphs: Sequence[LabeledGraph]) -> tuple[Array, Array]:
        """μ and σ of the first part with a surrogate."""
        return self.modelled[0].predict(graphs)

    def assess(self, graphs: Sequence[LabeledGraph]) -> tuple[Array, Array, Array]:
        """The acquisition value of each graph, and μ and σ of the first part with a surrogate."""
        return self.score(graphs), *self.predict(graphs)

    def score(self, graphs: Sequence[LabeledGraph]) -> Array:
        """The acquisition value of each graph."""
        rows: dict[tuple[int, tuple[str, ...]], Array] = {}  # objectives often have the same

        def measure(part: Part) -> tuple[Array, Array]:
            if isinstance(part, KnownCost | AveragedBound):
                return part.predict(graphs)
            key = id(part.features.space), part.features.blocks
            if key not in rows:
                rows[key] = part.features.rows(graphs)
            return part.posterior.mean_std(rows[key])

        return self.gather(measure)

    def list_observed(self) -> list[LabeledGraph]:
        """The observed graphs of the first surrogate, those of lowest acquisition value first."""
        graphs = self.gp.graphs_
        return [graphs[i] for i in np.argsort(self.score(graphs), kind="stable")]

    def predict_parts(self, graphs: Sequence[LabeledGraph]) -> list[tuple[PartPosterior, ...]]:
        """For each graph the mean and deviation of each part."""
        if not graphs:
            return []
        columns = [np.column_stack(part.predict(graphs)).tolist() for part in self.parts]
        return [tuple(PartPosterior(*pair) for pair in row) for row in zip(*columns, strict=True)]

    def given(self, surrogate: GraphGP) -> Self:
        """Refused: every part has a surrogate of its own."""
        raise SettingError(
            "an acquisition of several parts must be given a surrogate for each part, got one; "
            "give each part its own"
        )

    def assume_predicted(self, graphs: Sequence[LabeledGraph]) -> Self:
        """A copy of the function, as if these graphs had come out as every surrogate predicts."""
        if not graphs:
            return self
        parts = tuple(
            part if isinstance(part, KnownCost) else part.assume_predicted(graphs)
            for part in self.parts
        )
        return replace(self, parts=parts)  # type: ignore[type-var]

    def _check_parts(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.modelled:
            raise SettingError(
                "an acquisition of several parts must have one with a surrogate, got none; what "
                "is known of every graph needs no search"
            )


def measure_part(part: Part, graphs: Sequence[LabeledGraph]) -> tuple[Array, Array]:
    """Mean and deviation of a part's own posterior at some graphs."""
    if isinstance(part, KnownCost | AveragedBound):
        return part.predict(graphs)
    return part.posterior.mean_std(part.features.rows(graphs))
