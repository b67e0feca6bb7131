"""What a family of graphs says of itself: all that optimisers, kernels and drawings know of it."""

from __future__ import annotations

import hashlib
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import SpaceError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.graphs.conversions import Slots
from nasgoat.spaces.costs import Cost, Costs
from nasgoat.spaces.limit_text import Vocabulary
from nasgoat.spaces.limits import Limit, Pair
from nasgoat.spaces.names import Names
from nasgoat.toml_reader import Value

if TYPE_CHECKING:
    from nasgoat.spaces.graph_rules import GraphRules
    from nasgoat.spaces.search_space import SearchSpace

#: What operations that pass their input on are usually called, without hyphens and underscores.
IDENTITIES = ("identity", "skip", "skipconnect", "skipconnection")
_LONGEST = 200  # characters of a field in the representation of a space


class SpaceDescription(ABC):
    """The description of a set of labelled graphs.

    - graphs: :attr:`sizes`, the vocabularies, :attr:`indexed`, :attr:`directed`, :attr:`acyclic`;
    - features of the kernels: :meth:`path_types` and the vocabularies;
    - edges: :meth:`edge_places`, :attr:`edge_limit`, :meth:`most_edges`;
    - structures: :meth:`structure_bound`, :attr:`on_paths`, :attr:`ordered`, :meth:`end_pairs`;
    - declared roles and degrees: :attr:`sources`, :attr:`sinks`, :attr:`rules`;
    - limits as linear rows: :attr:`all_limits`;
    - variables of a mathematical program and back: :meth:`names`;
    - structures with free labels: :class:`~nasgoat.spaces.CellSpace`, where :attr:`layout` is
      ``"cell"``.

    Whatever is not abstract has a default, so that every space can be asked.
    """

    #: What a declaration calls the family.
    kind: ClassVar[str] = ""
    #: What the keys of a declaration may hold, by the name of the dataclass's field; a key that is
    #: missing here takes any value.
    file_keys: ClassVar[Mapping[str, Value]] = MappingProxyType({})
    #: Whether nodes are told apart by their index, so that isomorphism is equality.
    indexed: ClassVar[bool]
    #: How optimisers see the space: as cells, structures with free labels
    #: (:class:`~nasgoat.spaces.CellSpace`); as declared graphs; as several cells at once
    #: (:class:`~nasgoat.Cells`); or as a list, which a catalogue scores and nothing else knows
    #: more about.
    layout: ClassVar[Literal["cell", "graph", "cells", "list"]] = "list"
    #: Where cells have their free labels.
    labels_on: ClassVar[Literal["nodes", "edges"] | None] = None
    #: Whether studies keep a digit for the pairs u < v alone.
    stores_forward_edges: ClassVar[bool] = False
    #: The spaces of several cells by their names, where a graph has more than one.
    cells: Mapping[str, SearchSpace] = MappingProxyType({})
    #: How many nodes are declared to be sources, and how many to be sinks.
    sources: int = 0
    sinks: int = 0
    #: Linear limits that every graph satisfies.
    limits: tuple[Limit, ...] = ()
    #: Costs that are known of every graph, for limits and objectives; no part of the set.
    costs: tuple[Cost, ...] = ()

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

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label of its nodes and edges."""
        return (*self.node_vocabulary, *self.edge_vocabulary)

    @abstractmethod
    def path_types(self) -> list[tuple[int, int, int]]:
        """The (s, l1, l2) for which some graph has a node pair at distance s with these codes.

        The code of a node is the place of its label in the vocabulary; where nodes are indexed and
        have no label, it is the index (docs/decisions/0003-paths-of-indexed-nodes.md).
        """

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return True

    @property
    def acyclic(self) -> bool:
        """Whether no graph of the space has a cycle: cells never have, others say so."""
        return self.layout == "cell"

    def most_edges(self, n: int) -> int:
        """The largest number of edges of a graph with n nodes, without regard to limits."""
        return n * (n - 1) // 2

    @property
    def edge_limit(self) -> int:
        """Largest number of edges that a graph of any size can have."""
        return self.most_edges(self.sizes[-1])

    def edge_places(self, n: int) -> list[Pair]:
        """The pairs (u, v) of n nodes that may carry an edge; each once if it has no direction."""
        order = product(range(n), range(n))
        return [(u, v) for u, v in order if (u != v if self.directed else u < v)]

    def structure_bound(self, n: int) -> float:
        """At most, or about, how many structures have n nodes; infinite where nothing is known."""
        return math.inf

    @property
    def on_paths(self) -> bool:
        """Whether every node is known to be on a path from the first node to the last."""
        return False

    @property
    def ordered(self) -> bool:
        """Whether a program numbers the nodes of declared graphs so that edges ascend."""
        return False

    def end_pairs(self, n: int) -> list[Pair]:
        """The pairs (source, sink) between which depth is measured; none if graphs differ in it."""
        return []

    @property
    def rules(self) -> GraphRules | None:
        """Degrees, weights of edges and fixed parts as arrays, where they are declared."""
        return None

    @property
    def node_ops(self) -> Sequence[str]:
        """The node labels that limits and costs may name."""
        return self.node_vocabulary

    @property
    def identities(self) -> tuple[str, ...]:
        """The operations that pass their input on unchanged, recognised by their usual names.

        Upper and lower case, hyphens and underscores make no difference.
        """
        named = dict.fromkeys((*self.node_ops, *self.edge_vocabulary))
        return tuple(op for op in named if re.sub("[-_ ]", "", op).lower() in IDENTITIES)

    @abstractmethod
    def ends(self, batch: GraphBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which nodes are sources and which are sinks, each of shape (B, n)."""

    @property
    def family_limits(self) -> tuple[Limit, ...]:
        """Linear limits that belong to the family itself."""
        return ()

    @property
    def all_limits(self) -> tuple[Limit, ...]:
        """All limits that graphs must satisfy: those of the family, then those that were added."""
        return (*self.family_limits, *self.limits)

    @property
    def limit_places(self) -> Sequence[Pair]:
        """The edges that a limit may name one by one."""
        return ()

    @property
    def limit_layers(self) -> int:
        """How many layers a limit may name by their number; 0 where graphs have none."""
        return 0

    def names(self, n: int) -> Names:
        """Translates between graphs of n nodes and the variables of a mathematical program."""
        raise SpaceError(
            f"the space must be of cells or declared graphs to be formulated, got "
            f"{self._describe()}; use another optimizer"
        )

    def slots(self, pairs: Sequence[Pair]) -> Slots:
        """Turns graphs with edges on these pairs into digits and back."""
        return Slots(pairs, self.node_vocabulary, self.edge_vocabulary, self.directed)

    def vocabulary(self, costs: Costs | None = None) -> Vocabulary:
        """The names that a limit may use in this space, given these costs besides its own."""
        ops = (self.node_ops, self.edge_vocabulary)
        known: Costs = {**{cost.name: cost for cost in self.costs}, **(costs or {})}
        return Vocabulary(*ops, known, self.limit_places, self.limit_layers)

    def to_dict(self) -> dict[str, Any]:
        """The declaration as plain values, enough to rebuild the space."""
        found = self._declaration()
        if self.limits:
            found["limits"] = [limit.to_dict() for limit in self.limits]
        return found

    def describe(self) -> str:
        """The space in a sentence."""
        if not self.limits:
            return self._describe()
        return f"{self._describe()}; limits: {', '.join(limit.summary for limit in self.limits)}"

    def _declaration(self) -> dict[str, Any]:
        """The fields, limits aside."""
        found: dict[str, Any] = {"kind": self.kind}
        for declared in fields(cast(Any, self)):
            if declared.name not in ("limits", "costs"):
                value = getattr(self, declared.name)
                found[declared.name] = list(value) if isinstance(value, tuple) else value
        return found

    @abstractmethod
    def _describe(self) -> str:
        """The space in a sentence, limits aside."""

    def key(self, graph: LabeledGraph) -> bytes:
        """A key that is equal for two graphs exactly if the space regards them as the same."""
        return graph.to_json().encode() if self.indexed else graph.canonical_key()

    def batch(self, graphs: Sequence[LabeledGraph]) -> GraphBatch:
        """Pack graphs of the space as arrays with the space's vocabularies."""
        n = self.sizes[-1]
        return GraphBatch.from_graphs(graphs, self.node_vocabulary, self.edge_vocabulary, n)

    def unpack(
        self, bits: NDArray[np.uint8], codes: NDArray[np.int8], sizes: NDArray[np.int8]
    ) -> GraphBatch:
        """The graphs that :meth:`GraphBatch.pack` wrote as rows, with their sizes (B, cells)."""
        n = self.sizes[-1]
        on_nodes = n if self.node_vocabulary else 0
        matrices = np.unpackbits(bits, axis=1, count=n * n).astype(bool)
        return GraphBatch(
            adjacency=matrices.reshape(-1, n, n),
            sizes=sizes[:, 0],
            node_codes=codes[:, :n] if on_nodes else None,
            edge_codes=codes[:, on_nodes:].reshape(-1, n, n) if self.edge_vocabulary else None,
            node_vocabulary=self.node_vocabulary,
            edge_vocabulary=self.edge_vocabulary,
            directed=self.directed,
        )

    def fingerprint(self) -> str:
        """A short name that changes whenever the declaration does."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        """The fields that differ from their defaults; long ones are cut."""
        shown = []
        for declared in fields(cast(Any, self)):
            value, make = getattr(self, declared.name), declared.default_factory
            default = declared.default if make is MISSING else make()
            if default is MISSING or value != default:
                text = repr(value)
                text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
                shown.append(f"{declared.name}={text}")
        return f"{type(self).__name__}({', '.join(shown)})"
