"""Where cells carry their labels: on their inner nodes, or on their edges.

A family of cells says one of the two (``labels_on``); what depends on it is written here, once for
each, and nowhere else in the package.

Notation
    variable  an inner node, or an edge; it carries the code of one operation
    k         number of operations
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, TooLargeError
from nasgoat.graphs import GraphBatch, LabeledGraph, canonical
from nasgoat.spaces.limits import Limit

if TYPE_CHECKING:
    from nasgoat.spaces.cell_space import CellSpace

#: Label of the node where a cell with operations on nodes begins.
INPUT = "input"
#: Label of the node where such a cell ends.
OUTPUT = "output"
Matrices = NDArray[np.bool_]
Codes = NDArray[np.int_]
PathTypes = list[tuple[int, int, int]]
KeptCodes = list[int | None]
_LARGEST = 10**7  # cells that can be listed in reasonable time and memory
_BLOCK = 2**15  # cells enumerated at a time


@dataclass(frozen=True)
class NodeSites:
    """Labels on nodes: between a source and a sink; isomorphic cells are the same."""

    space: CellSpace
    said = "inner node"  # what a description calls a variable

    def count_variables(self, nodes: int, edges: int) -> int:
        """How many variables a structure with this many nodes and edges has."""
        return nodes - 2

    def assemble(self, matrix: Matrices, names: Sequence[str]) -> LabeledGraph:
        """A structure with these operations on its variables."""
        return LabeledGraph(matrix, (INPUT, *names, OUTPUT))

    def take_apart(self, graph: LabeledGraph) -> tuple[Matrices, list[int]]:
        """The structure of a cell and the codes of its variables."""
        cell = graph.sorted_topologically()
        return cell.adjacency, _find_codes(self.space, (cell.node_labels or ())[1:-1])

    def check(self, graph: LabeledGraph) -> None:
        """Raise :class:`GraphError` unless direction and labels are those of a cell."""
        if graph.node_labels is None or graph.edge_labels is not None:
            raise GraphError("the graph must have labels on its nodes and none on its edges")
        for label in (INPUT, OUTPUT):
            if (times := graph.node_labels.count(label)) != 1:
                raise GraphError(f"exactly one node must be labelled {label!r}, got {times}")
        if not graph.is_acyclic():
            raise GraphError("the graph must be directed and acyclic, got a cycle")
        for label in graph.node_labels:
            if label not in self.space.node_vocabulary:
                known = ", ".join(self.space.ops)
                raise GraphError(f"node labels must be among {known}, got {label!r}")

    def make_structure_key(self, graph: LabeledGraph) -> bytes:
        """A key that two cells have in common exactly if their structures are the same."""
        ends = [label if label in (INPUT, OUTPUT) else "" for label in graph.node_labels or ()]
        return canonical.make_key(graph.adjacency, ends)

    def find_automorphisms(self, matrix: Matrices) -> NDArray[np.intp]:
        """The symmetries under which labellings of a structure are the same, (G, n)."""
        last = len(matrix) - 1
        return canonical.list_automorphisms(matrix, [{0}, set(range(1, last)), {last}])

    def list_cycles(self, symmetry: NDArray[np.intp], edges: int) -> tuple[int, ...]:
        """Sizes of the cycles in which a symmetry permutes the variables."""
        return canonical.measure_inner_cycles(symmetry)

    def pack(self, n: int, blocks: Sequence[tuple[Matrices, Codes]]) -> GraphBatch:
        """Cells of n nodes from structures and codes of variables, padded to the space."""
        words = self.space.node_vocabulary
        rows = ((matrix, self._add_ends(codes)) for matrix, codes in blocks)
        return GraphBatch.from_labellings(rows, n, words, (), self.space.sizes[-1])

    def _add_ends(self, codes: Codes) -> Codes:
        rows = np.zeros((len(codes), codes.shape[1] + 2), dtype=int)
        rows[:, 1:-1], rows[:, -1] = codes + 1, self._sink
        return rows

    @property
    def _sink(self) -> int:
        return len(self.space.ops) + 1

    def enumerate(self) -> Iterator[GraphBatch]:
        """Every cell once, limits aside."""
        for n, found in self.space.listed.items():
            words = np.array(list(product(range(len(self.space.ops)), repeat=n - 2)), dtype=int)
            pairs = zip(found.adjacency, found.automorphisms, strict=True)
            orders = ((matrix, group[:, 1:-1] - 1) for matrix, group in pairs)
            kept = [(a, canonical.keep_smallest_in_orbit(words, order)) for a, order in orders]
            yield self.pack(n, kept)

    def path_types(self) -> PathTypes:
        """The (s, l1, l2) that can occur; see :meth:`~nasgoat.SearchSpace.path_types`."""
        inner, first, last = range(1, self._sink), 0, self._sink
        longest = self.space.sizes[-1] - 1
        types = [(0, label, label) for label in (first, *inner, last)]
        for s in range(1, longest + 1):
            types.append((s, first, last))
            if s <= longest - 1:
                types += [(s, first, label) for label in inner]
                types += [(s, label, last) for label in inner]
            if s <= longest - 2:
                types += [(s, a, b) for a, b in product(inner, inner)]
        return types

    def ends(self, batch: GraphBatch) -> tuple[Matrices, Matrices]:
        """Which nodes are sources and which are sinks, each of shape (B, n)."""
        return batch.find_ends_by_label()

    def embed(self, matrix: Matrices, m: int) -> Matrices:
        """A structure with nodes removed or added until it has m; the sink stays last."""
        n = len(matrix)
        if n == m:
            return matrix
        wide, k = np.zeros((m, m), dtype=bool), min(n, m) - 1
        wide[:k, :k], wide[:k, m - 1] = matrix[:k, :k], matrix[:k, n - 1]
        return wide

    def carry_over(self, matrix: Matrices, codes: Sequence[int], other: Matrices) -> KeptCodes:
        """The codes that another structure's variables keep; None for those that are new."""
        return [codes[i] if i < len(codes) else None for i in range(len(other) - 2)]

    def list_costs(self, limit: Limit) -> NDArray[np.float64]:
        """What each operation adds to a limit wherever it stands, (k,)."""
        return limit.node_coefficients(self.space.ops)

    def price_by_variable(self, limit: Limit, graph: LabeledGraph) -> NDArray[np.float64]:
        """What each operation adds to a limit on each variable of a cell, (variables, k)."""
        return np.tile(self.list_costs(limit), (graph.n - 2, 1))


@dataclass(frozen=True)
class EdgeSites:
    """Labels on edges, nodes told apart by their index: the same methods as :class:`NodeSites`."""

    space: CellSpace
    said = "edge"

    def count_variables(self, nodes: int, edges: int) -> int:
        return edges

    def assemble(self, matrix: Matrices, names: Sequence[str]) -> LabeledGraph:
        edges = ((u, v) for u, v in np.argwhere(matrix).tolist())
        return LabeledGraph(matrix, None, dict(zip(edges, names, strict=True)))

    def take_apart(self, graph: LabeledGraph) -> tuple[Matrices, list[int]]:
        labels = graph.edge_labels or {}
        return graph.adjacency, _find_codes(self.space, [labels[edge] for edge in sorted(labels)])

    def check(self, graph: LabeledGraph) -> None:
        if graph.node_labels is not None:
            raise GraphError("the graph must have labels on its edges and none on its nodes")
        if not graph.directed or np.tril(graph.adjacency).any():
            raise GraphError("edges must go from smaller to larger nodes, so without a cycle")
        if graph.edge_labels is None and graph.edges:
            raise GraphError("every edge must have a label, got none")
        for (u, v), label in (graph.edge_labels or {}).items():
            if label not in self.space.ops:
                known = ", ".join(self.space.ops)
                raise GraphError(f"edge labels must be among {known}, got {label!r} on {u} -> {v}")

    def make_structure_key(self, graph: LabeledGraph) -> bytes:
        return bytes([graph.n]) + graph.adjacency.tobytes()

    def find_automorphisms(self, matrix: Matrices) -> NDArray[np.intp]:
        return np.arange(len(matrix))[None]

    def list_cycles(self, symmetry: NDArray[np.intp], edges: int) -> tuple[int, ...]:
        return (1,) * edges

    def pack(self, n: int, blocks: Sequence[tuple[Matrices, Codes]]) -> GraphBatch:
        words = self.space.edge_vocabulary
        return GraphBatch.from_labellings(blocks, n, (), words, self.space.sizes[-1])

    def enumerate(self) -> Iterator[GraphBatch]:
        if (total := self.space._count()) > _LARGEST:
            raise TooLargeError(
                f"a space must have at most {_LARGEST:,} graphs to be listed, this one has "
                f"{total:,}; use an optimiser that does not list it"
            )
        for n, found in self.space.listed.items():
            for structure in found.adjacency:
                choices = self.space.choices(structure)
                total = prod(map(len, choices))
                for start in range(0, total, _BLOCK):
                    numbers = np.arange(start, min(start + _BLOCK, total))
                    yield self.pack(n, [(structure, _spell(numbers, structure, choices))])

    def path_types(self) -> PathTypes:
        nodes = range(self.space.sizes[-1])
        climbs = [(s, u, v) for u in nodes for v in nodes[u + 1 :] for s in range(1, v - u + 1)]
        return [(0, v, v) for v in nodes] + climbs

    def ends(self, batch: GraphBatch) -> tuple[Matrices, Matrices]:
        nodes, last = np.arange(batch.n), batch.sizes[:, None] - 1
        return np.broadcast_to(nodes == 0, (len(batch), batch.n)), nodes == last

    def embed(self, matrix: Matrices, m: int) -> Matrices:
        wide, k = np.zeros((m, m), dtype=bool), min(len(matrix), m)
        wide[:k, :k] = matrix[:k, :k]
        return wide

    def carry_over(self, matrix: Matrices, codes: Sequence[int], other: Matrices) -> KeptCodes:
        known = dict(zip(map(tuple, np.argwhere(matrix).tolist()), codes, strict=True))
        return [known.get(tuple(edge)) for edge in np.argwhere(other).tolist()]

    def list_costs(self, limit: Limit) -> NDArray[np.float64]:
        return limit.edge_coefficients(self.space.ops)

    def price_by_variable(self, limit: Limit, graph: LabeledGraph) -> NDArray[np.float64]:
        costs = [limit.edge_cost(u, v, self.space.ops) for u, v in graph.edges]
        return np.array(costs).reshape(-1, len(self.space.ops))


def _spell(numbers: Codes, matrix: Matrices, choices: Sequence[Sequence[int]]) -> Codes:
    """The labellings with these numbers, (numbers, edges), in the order of their digits."""
    codes = np.zeros((len(numbers), len(choices)), dtype=int)
    by_tail = [(int(u), int(v)) for u, v in np.argwhere(matrix)]
    # Words go by head, as digits do, the last of them first here; rows of codes by tail.
    for place in sorted(range(len(choices)), key=lambda e: by_tail[e][::-1], reverse=True):
        numbers, digits = np.divmod(numbers, len(choices[place]))
        codes[:, place] = np.asarray(choices[place])[digits]
    return codes


LabelSites = NodeSites | EdgeSites
SITES: dict[str, type[LabelSites]] = {"nodes": NodeSites, "edges": EdgeSites}


def _find_codes(space: CellSpace, labels: Sequence[str]) -> list[int]:
    place = {op: code for code, op in enumerate(space.ops)}
    return [place[label] for label in labels]
