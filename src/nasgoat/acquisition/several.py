"""Acquisition functions of several objectives, each with a model of its own or a known cost.

Notation (docs/acquisition-functions.md, "Several objectives")
    v_i   value of part i at a graph: μ_i - √β σ_i of its own Gaussian process, or a known cost
    h     the acquisition function of all parts: it does not fall where a v_i rises
    λ, r  weights and reference point;  ρ the augmentation;  c_j limits

Because h does not fall where a value rises, h of lower bounds of the values is a lower bound of h:
that is all an optimiser with bounds needs to know. :class:`SeveralAcquisition` says what it is, and
a function of one's own is a subclass with :meth:`~SeveralAcquisition.join`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

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
from nasgoat.spaces.limits import TOLERANCE, Limit, depths, totals
from nasgoat.surrogate import GraphGP


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

    def measure(self, batch: GraphBatch) -> Array:
        """The cost of each graph of a batch."""
        deep = depths(batch, *self.space.ends(batch)) if self.total.depth else None
        return np.asarray(totals([self.total], batch, deep)[0] - self.total.bound)

    def predict(self, graphs: Sequence[LabeledGraph]) -> tuple[Array, Array]:
        """The cost of each graph, and a deviation of 0."""
        cost = self.measure(self.space.batch(graphs)) if graphs else np.zeros(0)
        return cost, np.zeros(len(cost))

    def combine(self, mean: Array, std: Array) -> Array:
        """The cost itself."""
        return mean


#: What one objective contributes: a lower confidence bound (or a draw) of its own Gaussian process
#: on the scale of its target, or a known cost.
Part = LinearAcquisition | KnownCost


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

    @classmethod
    def explain_unbounded(cls, kernel: str) -> str | None:
        """Bounds of several parts at a time are not known to them."""
        return "it is a function of several objectives"

    @abstractmethod
    def join(self, values: Array) -> Array:
        """The function h of the values of all parts, shape (parts, B); may be infinite."""

    def combine(self, mean: Array, std: Array) -> Array:
        """The value h for means and deviations of all parts, both of shape (parts, B)."""
        rows = zip(self.parts, mean, std, strict=True)
        return self.join(np.stack([part.combine(m, s) for part, m, s in rows]))

    def gather(self, measure: Measure) -> Array:
        """The value h at every graph, given a function that measures a part at every graph."""
        mean, std = zip(*(measure(part) for part in self.parts), strict=True)
        return self.combine(np.stack(mean), np.stack(std))

    @cached_property
    def modelled(self) -> tuple[LinearAcquisition, ...]:
        """The parts with a Gaussian process."""
        return tuple(part for part in self.parts if isinstance(part, LinearAcquisition))

    @property
    def surrogate(self) -> GraphGP | None:  # type: ignore[override]
        """The Gaussian process of the first part that has one."""
        return self.modelled[0].surrogate if self.modelled else None

    @property
    def informed(self) -> bool | None:
        """Whether all surrogates have learnt something; None if one was not checked."""
        known = [part.informed for part in self.modelled]
        return None if None in known else all(known)

    def assess(self, graphs: Sequence[LabeledGraph]) -> tuple[Array, Array, Array]:
        """The acquisition value of each graph, and μ and σ of the first surrogate."""
        return self.gather(lambda part: _measure(part, graphs)), *self.predict(graphs)

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

    def believing(self, graphs: Sequence[LabeledGraph]) -> Self:
        """The same function as if these graphs had come out as every surrogate predicts."""
        if not graphs:
            return self
        parts = tuple(
            part.given(part.gp.believing(graphs)) if isinstance(part, LinearAcquisition) else part
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


def _measure(part: Part, graphs: Sequence[LabeledGraph]) -> tuple[Array, Array]:
    """Mean and deviation of a part's own posterior at some graphs."""
    if isinstance(part, KnownCost):
        return part.predict(graphs)
    return part.posterior.mean_std(part.features.rows(graphs))


@dataclass(frozen=True, eq=False)
class Chebyshev(SeveralAcquisition):
    """max_i λ_i (v_i - r_i) + ρ Σ_i λ_i (v_i - r_i): one point of the front for each weighting.

    The sum, a small share of the maximum, prefers among graphs with the same maximum one that no
    other dominates.

    Args:
        parts: What each objective contributes.
        weights: λ, from 0 up, one for each part.
        reference: r, the value of each part that counts as 0, for example the best that is known.
        augmentation: ρ.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import random_problem
        >>> parts = [random_problem(nasbench201(), 5, seed=seed).acquisition for seed in (0, 1)]
        >>> both = Chebyshev(parts, weights=[0.5, 1.0], reference=[0.0, 1.0], augmentation=0.1)
        >>> both.join(np.array([[2.0], [4.0]])).round(3).tolist()  # max(1, 3) + 0.1 (1 + 3)
        [3.4]
    """

    parts: Sequence[Part]
    weights: Sequence[float]
    reference: Sequence[float]
    augmentation: float = 0.05

    def __post_init__(self) -> None:
        self._check_parts()
        for name in ("weights", "reference"):
            numbers = tuple(float(number) for number in getattr(self, name))
            if len(numbers) != len(self.parts) or not np.isfinite(numbers).all():
                raise SettingError(
                    f"{name} must be {len(self.parts)} finite numbers, one for each part, got "
                    f"{numbers!r}"
                )
            object.__setattr__(self, name, numbers)
        if min(self.weights) < 0 or max(self.weights) == 0:
            raise SettingError(f"weights must be from 0 up, not all 0, got {self.weights!r}")
        if not 0 <= self.augmentation < np.inf:
            raise SettingError(f"augmentation must be from 0 up, got {self.augmentation!r}")

    def join(self, values: Array) -> Array:
        """max_i λ_i (v_i - r_i) + ρ Σ_i λ_i (v_i - r_i)."""
        weights, reference = np.array(self.weights), np.array(self.reference)
        scaled = weights[:, None] * (values - reference[:, None])
        return np.asarray(scaled.max(axis=0) + self.augmentation * scaled.sum(axis=0))


@dataclass(frozen=True, eq=False)
class Constrained(SeveralAcquisition):
    """v_0 where v_j ≤ c_j for every other part, infinite elsewhere.

    With lower bounds as values this is optimistic: a graph is left out only where even the lower
    bound of a limited objective is above its limit. With a known cost it is a hard limit.

    Args:
        parts: What is minimised, and then what each limit is on.
        limits: c_j, one for each part but the first.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import random_problem
        >>> parts = [random_problem(nasbench201(), 5, seed=seed).acquisition for seed in (0, 1)]
        >>> Constrained(parts, limits=[0.5]).join(np.array([[2.0, 1.0], [0.5, 0.6]])).tolist()
        [2.0, inf]
    """

    parts: Sequence[Part]
    limits: Sequence[float]

    def __post_init__(self) -> None:
        self._check_parts()
        limits = tuple(float(limit) for limit in self.limits)
        if len(limits) != len(self.parts) - 1 or np.isnan(limits).any():
            raise SettingError(
                f"limits must be {len(self.parts) - 1} numbers, one for each part but the first, "
                f"got {limits!r}"
            )
        object.__setattr__(self, "limits", limits)

    @property
    def allowed(self) -> Array:
        """What the limited parts may be worth: c_j and a little, for rounding."""
        limits = np.array(self.limits)
        slack = TOLERANCE * np.maximum(1.0, np.abs(limits))
        return np.where(np.isfinite(limits), limits + slack, limits)

    def join(self, values: Array) -> Array:
        """v_0, or infinity."""
        within = (values[1:] <= self.allowed[:, None]).all(axis=0)
        return np.where(within, values[0], np.inf)
