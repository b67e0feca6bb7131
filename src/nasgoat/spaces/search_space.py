"""What every search space can do; the optimisers know nothing more of it."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from nasgoat.errors import GraphError, SettingError, SpaceError
from nasgoat.graphs import GraphBatch, LabeledGraph

_REPEATS = 100  # draws in a row that bring nothing new before a listable space is listed
_LISTABLE = 200_000
_HOPELESS = 300  # such draws before a space too large to list is taken for used up
_NAMES = 2**7 - 2  # codes are signed bytes, -1 is taken


class SearchSpace(ABC):
    """A finite set of labelled graphs.

    A subclass declares itself in a few fields and provides membership, moves and enumeration.
    """

    #: Whether nodes are told apart by their index, so that isomorphism is equality.
    indexed: ClassVar[bool]

    @property
    @abstractmethod
    def sizes(self) -> range:
        """The numbers of nodes that graphs of the space have."""

    @property
    @abstractmethod
    def node_vocabulary(self) -> tuple[str, ...]:
        """Node labels in code order; empty if nodes have none."""

    @property
    @abstractmethod
    def edge_vocabulary(self) -> tuple[str, ...]:
        """Edge labels in code order; empty if edges have none."""

    @abstractmethod
    def path_types(self) -> list[tuple[int, int, int]]:
        """The (s, l1, l2) for which some graph has a node pair at distance s with these codes.

        The code of a node is the place of its label in the vocabulary; where nodes are indexed and
        have no label, it is the index (docs/decisions/0003-paths-of-indexed-nodes.md).
        """

    @abstractmethod
    def check(self, graph: LabeledGraph) -> None:
        """Raise :class:`GraphError`, saying why, unless the graph is in the space."""

    @abstractmethod
    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        """One random graph of the space."""

    @abstractmethod
    def mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        """A random graph of the space near this one and, unless it is the only one, different."""

    @abstractmethod
    def neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        """Every graph of the space one small change away, each once up to isomorphism."""

    @abstractmethod
    def count(self) -> int:
        """The exact number of graphs, isomorphic ones counted once."""

    @abstractmethod
    def size_bound(self) -> int:
        """A cheap upper bound on :meth:`count`."""

    @abstractmethod
    def enumerate(self) -> Iterator[GraphBatch]:
        """Every graph once up to isomorphism, in batches, smallest graphs first.

        All graphs of one batch have the same number of nodes; the order never changes.
        """

    @abstractmethod
    def with_nodes(self, n: int) -> SearchSpace:
        """The part of the space with exactly n nodes."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The declaration as plain values, enough to rebuild the space."""

    @abstractmethod
    def describe(self) -> str:
        """The space in a sentence."""

    def __contains__(self, graph: object) -> bool:
        if not isinstance(graph, LabeledGraph):
            return False
        try:
            self.check(graph)
        except GraphError:
            return False
        return True

    def key(self, graph: LabeledGraph) -> bytes:
        """What two graphs share exactly if the space holds them for the same."""
        return graph.to_json().encode() if self.indexed else graph.canonical_key()

    def sample(
        self, count: int, rng: np.random.Generator, exclude: set[bytes] | None = None
    ) -> list[LabeledGraph]:
        """Draw distinct random graphs.

        Args:
            count: How many; fewer come back if the space has no more.
            rng: Source of randomness.
            exclude: Keys (:meth:`key`) of graphs that must not be drawn.

        Example:
            >>> from nasgoat import nasbench201
            >>> cells = nasbench201().sample(3, np.random.default_rng(0))
            >>> len(set(cells)), cells[0] in nasbench201()
            (3, True)
        """
        if count < 0:
            raise SettingError(f"the number of samples must be at least 0, got {count}")
        seen = set(exclude or ())
        drawn: list[LabeledGraph] = []
        tries = 0
        while len(drawn) < count:
            graph = self._draw(rng)
            key = self.key(graph)
            if key not in seen:
                seen.add(key)
                drawn.append(graph)
                tries = 0
                continue
            tries += 1
            if tries >= _REPEATS and self.size_bound() <= _LISTABLE:
                return drawn + self._sample_from_all(count - len(drawn), rng, seen)
            if tries >= _HOPELESS:
                return drawn
        return drawn

    def variants(
        self, graph: LabeledGraph, count: int, rng: np.random.Generator, edits: int = 1
    ) -> list[LabeledGraph]:
        """Random graphs about so many changes away, faster than one :meth:`mutate` after another.

        Args:
            graph: The graph to change.
            count: How many; some may be the same.
            rng: Source of randomness.
            edits: How many changes to expect; here, as many mutations in turn.
        """
        found = []
        for _ in range(count):
            changed = graph
            for _ in range(edits):
                changed = self.mutate(changed, rng)
            found.append(changed)
        return found

    def batch(self, graphs: Sequence[LabeledGraph]) -> GraphBatch:
        """Pack graphs of the space as arrays with the space's vocabularies."""
        n = self.sizes[-1]
        return GraphBatch.from_graphs(graphs, self.node_vocabulary, self.edge_vocabulary, n)

    def fingerprint(self) -> str:
        """A short name that changes whenever the declaration does."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _sample_from_all(
        self, count: int, rng: np.random.Generator, seen: set[bytes]
    ) -> list[LabeledGraph]:
        """When random draws keep repeating, the few graphs left are listed instead."""
        left = [g for batch in self.enumerate() for g in batch if self.key(g) not in seen]
        return [left[i] for i in rng.permutation(len(left))[:count]]


def checked_sizes(nodes: int | tuple[int, int]) -> tuple[int, int]:
    """A range of sizes from a number or a pair, or :class:`SpaceError`."""
    pair = tuple(nodes) if isinstance(nodes, tuple | list) else (nodes, nodes)
    if len(pair) != 2 or not all(isinstance(n, int) and not isinstance(n, bool) for n in pair):
        raise SpaceError(f"nodes must be an integer or a pair of integers, got {nodes!r}")
    low, high = pair
    if not 2 <= low <= high <= _NAMES:
        raise SpaceError(f"nodes must be from 2 to {_NAMES}, smallest first, got {nodes!r}")
    return low, high


def checked_ops(ops: Sequence[str], reserved: Sequence[str] = ()) -> tuple[str, ...]:
    """Distinct, non-empty operation names, or :class:`SpaceError`."""
    if isinstance(ops, str) or not all(isinstance(op, str) and op for op in ops):
        raise SpaceError(f"ops must be a list of names, got {ops!r}")
    for op in ops:
        if op in reserved:
            raise SpaceError(f"ops must not be {' or '.join(map(repr, reserved))}, got {op!r}")
        if list(ops).count(op) > 1:
            raise SpaceError(f"ops must be distinct, got {op!r} twice")
    if len(ops) > _NAMES - len(reserved):
        raise SpaceError(f"ops must be at most {_NAMES - len(reserved)}, got {len(ops)}")
    return tuple(ops)
