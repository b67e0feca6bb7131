"""Spaces in which every operation may stand on every place of a structure.

Limits then see a structure by its :class:`~nasgoat.spaces.label_counts.Profile` and its labels by
how often each occurs, so that draws and counts under limits are exact and cheap.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces import limited_moves
from nasgoat.spaces.label_counts import Profile, allowed, draw_counts, label_counts
from nasgoat.spaces.limits import Limit, depths
from nasgoat.spaces.search_space import SearchSpace

_DRAWS = 12  # random structures before all of them are looked at


class FreeLabelSpace(SearchSpace):
    """A space of structures with free labels, on nodes or on edges.

    A subclass says how many places a structure has for labels and how they are put there.
    """

    ops: Sequence[str]

    @abstractmethod
    def _label_coefficients(self, limit: Limit) -> NDArray[np.float64]:
        """A limit's coefficient on each operation."""

    @abstractmethod
    def _places(self, profile: Profile) -> int:
        """How many places for labels a structure with this profile has."""

    @abstractmethod
    def _with_labels(self, graph: LabeledGraph, codes: NDArray[np.intp]) -> LabeledGraph:
        """The graph with the operations of these places in ``ops`` instead of its own."""

    @abstractmethod
    def _blank_structures(self) -> Iterator[GraphBatch]:
        """All structures, with any labels; nothing if there are too many to list."""

    def _profiles(self, batch: GraphBatch) -> list[Profile]:
        """The profile of each structure of a batch."""
        deep = depths(batch, *self.ends(batch)).tolist()
        edges = batch.edge_counts.tolist()
        return [Profile(*row) for row in zip(batch.sizes.tolist(), edges, deep, strict=True)]

    def _draw_within(self, rng: np.random.Generator) -> LabeledGraph:
        for _ in range(_DRAWS):
            graph = self._draw(rng)
            labelled = self._labelled_within(graph, self._profiles(self.batch([graph]))[0], rng)
            if labelled is not None:
                return labelled
        if self._fitting is None:
            return limited_moves.draw(self, rng)
        if not self._fitting:
            raise limited_moves.no_graph(self)
        batch, i, profile = self._fitting[int(rng.integers(len(self._fitting)))]
        found = self._labelled_within(batch[i], profile, rng)
        if found is None:
            raise AssertionError(f"a structure with {profile} must have labels within its limits")
        return found

    @cached_property
    def _fitting(self) -> list[tuple[GraphBatch, int, Profile]] | None:
        """The structures that have labels within all limits; None if there are too many to list."""
        batches = list(self._blank_structures())
        known: dict[Profile, int] = {}
        fitting = []
        for batch in batches:
            for i, profile in enumerate(self._profiles(batch)):
                if profile not in known:
                    known[profile] = self._labellings_within(profile)
                if known[profile]:
                    fitting.append((batch, i, profile))
        return fitting if batches else None

    def _labelled_within(
        self, graph: LabeledGraph, profile: Profile, rng: np.random.Generator
    ) -> LabeledGraph | None:
        """A random labelling of the graph's structure that satisfies every limit."""
        counts, times = label_counts((1,) * self._places(profile), len(self.ops))
        drawn = draw_counts(counts, times, self._fits(profile, counts), rng)
        if drawn is None:
            return None
        codes = np.repeat(np.arange(len(self.ops)), drawn)
        return self._with_labels(graph, rng.permutation(codes))

    def _labellings_within(self, profile: Profile, cycles: tuple[int, ...] | None = None) -> int:
        """How many labellings satisfy every limit; constant on cycles, if they are given."""
        places = (1,) * self._places(profile) if cycles is None else cycles
        counts, times = label_counts(places, len(self.ops))
        fits = self._fits(profile, counts)
        return sum(t for t, fit in zip(times, fits, strict=True) if fit)

    def _fits(self, profile: Profile, counts: NDArray[np.intp]) -> NDArray[np.bool_]:
        coefficients = [self._label_coefficients(limit) for limit in self.limits]
        return allowed(self.limits, coefficients, profile, counts)
