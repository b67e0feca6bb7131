"""A space as a list of categorical parameters, for optimisers that know nothing of graphs.

Where edges carry the labels, each pair u < v has one parameter: no edge, or an operation. Where
nodes carry them, each pair has a parameter (edge or not) and each inner node one (its operation);
nodes on no path from first to last are dropped. Not every choice is a graph of the space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from nasgoat.acquisition import Proposal
from nasgoat.baselines.encodings import arrange
from nasgoat.baselines.method import Method, Setup, heuristic
from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.shortest_paths import nodes_on_paths
from nasgoat.spaces import GraphSpace, SearchSpace

NOTHING = "none"
_EDGE = "edge"

Choice = dict[str, str]
Question = tuple[Choice, Callable[[float | None], None]]


@dataclass(frozen=True)
class CategoricalSpace:
    """The parameters of a space, and the way to graphs and back.

    Example:
        >>> from nasgoat import nasbench201
        >>> encoded = CategoricalSpace(nasbench201())
        >>> len(encoded.parameters), encoded.parameters["0>1"][:3]
        (6, ('none', 'skip_connect', 'nor_conv_1x1'))
        >>> cell = nasbench201().from_digits([1, 2, 3, 4, 0, 1])
        >>> encoded.decode(encoded.encode(cell)) == cell
        True
    """

    space: SearchSpace

    def __post_init__(self) -> None:
        if isinstance(self.space, GraphSpace):
            raise SettingError(
                "methods on categorical parameters must have a space of cells, got "
                f"{self.space.describe()}; use another method"
            )

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The pairs that may carry an edge."""
        n = self.space.sizes[-1]
        return tuple((u, v) for u in range(n) for v in range(u + 1, n))

    @cached_property
    def parameters(self) -> dict[str, tuple[str, ...]]:
        """Each parameter's choices by its name."""
        labels = self.space.edge_vocabulary or (_EDGE,)
        found = {f"{u}>{v}": (NOTHING, *labels) for u, v in self.places}
        if self.space.node_vocabulary:
            inner = self.space.node_vocabulary[1:-1]
            n = self.space.sizes[-1]
            found |= {f"node {v}": inner for v in range(1, n - 1) if inner}
        return found

    def encode(self, graph: LabeledGraph) -> Choice:
        """The choices that decode to the graph; idle nodes take the first operation."""
        batch = arrange(self.space, [graph])
        choice = {name: choices[0] for name, choices in self.parameters.items()}
        for u, v in self.places:
            if batch.adjacency[0, u, v]:
                code = batch.edge_codes[0, u, v] if batch.edge_codes is not None else 0
                choice[f"{u}>{v}"] = self.parameters[f"{u}>{v}"][int(code) + 1]
        if batch.node_codes is not None:
            for v in range(1, batch.n - 1):
                if (code := int(batch.node_codes[0, v])) >= 0:
                    choice[f"node {v}"] = self.space.node_vocabulary[code]
        return choice

    def decode(self, choice: Mapping[str, str]) -> LabeledGraph | None:
        """The graph of some choices, or None if the space has no such graph."""
        n = self.space.sizes[-1]
        edges = {p: choice[f"{p[0]}>{p[1]}"] for p in self.places}
        edges = {place: str(label) for place, label in edges.items() if label != NOTHING}
        if not self.space.node_vocabulary:
            graph = LabeledGraph.from_edges(n, list(edges), edge_labels=edges)
        else:
            graph = self._pruned(list(edges), choice)
        return graph if graph in self.space else None

    def _pruned(self, edges: Sequence[tuple[int, int]], choice: Mapping[str, str]) -> LabeledGraph:
        n, vocabulary = self.space.sizes[-1], self.space.node_vocabulary
        adjacency = np.zeros((n, n), dtype=bool)
        for u, v in edges:
            adjacency[u, v] = True
        on_path = nodes_on_paths(adjacency[None])[0]
        on_path[[0, -1]] = True
        kept = np.flatnonzero(on_path).tolist()
        inner = [str(choice[f"node {v}"]) for v in kept[1:-1]]
        labels = (vocabulary[0], *inner, vocabulary[-1])
        return LabeledGraph(adjacency[np.ix_(kept, kept)], labels)


class CategoricalSearch(Method):
    """Another package's optimiser over the categorical encoding.

    A choice that is no graph of the space is told as infeasible, one that was evaluated before is
    told its known error, and the optimiser is asked again: nothing is evaluated twice. After
    ``tries`` such choices a new graph one change from the last of them is taken.
    """

    batch: ClassVar[int] = 1
    #: Choices for each wanted graph before one is repaired; few where each takes a new fit.
    tries: ClassVar[int] = 2

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        # Now, not at the first proposal: a space without an encoding is refused before anything
        # is evaluated.
        self.encoded = CategoricalSpace(self.space)

    def _collect(
        self, k: int, taken: set[bytes], rng: np.random.Generator, ask: Callable[[], Question]
    ) -> list[Proposal]:
        """Up to k new graphs; each question of the optimiser comes with a way to answer it."""
        graphs, errors = self._data()
        known = {self.space.key(g): float(e) for g, e in zip(graphs, errors, strict=True)}
        taken = set(taken)
        found: list[Proposal] = []
        for _ in range(k):
            graph = self._next(taken, known, rng, ask)
            if graph is None:
                break  # random graphs fill what is left
            taken.add(self.space.key(graph))
            found.append(heuristic(graph))
        return found

    def _next(
        self,
        taken: set[bytes],
        known: dict[bytes, float],
        rng: np.random.Generator,
        ask: Callable[[], Question],
    ) -> LabeledGraph | None:
        """The next new graph, or None if there is none even near the optimiser's last choice."""
        choice: Choice = {}
        for _ in range(self.tries):
            choice, answer = ask()
            graph = self.encoded.decode(choice)
            key = None if graph is None else self.space.key(graph)
            if key is None:
                answer(None)
            elif key not in taken:
                return graph
            elif key in known:
                answer(known[key])
        return self._repaired(choice, taken, rng)

    def _repaired(
        self, choice: Choice, taken: set[bytes], rng: np.random.Generator
    ) -> LabeledGraph | None:
        """A random new graph one change from a choice."""
        near = [
            self.encoded.decode({**choice, name: value})
            for name, values in self.encoded.parameters.items()
            for value in values
            if value != choice[name]
        ]
        new = [graph for graph in near if graph is not None and self.space.key(graph) not in taken]
        return new[rng.integers(len(new))] if new else None
