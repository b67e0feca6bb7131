"""Several cells at once: every combination of the graphs of some spaces.

A graph of such a space is a value with a graph for each cell
(:class:`~nasgoat.graphs.NamedGraphs`). Each cell is a space of any family, with limits and costs
of its own; further limits may span cells. What can be asked of a space is answered by its cells:
numbers multiply, moves change one cell, limits and costs add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError, UnknownNameError
from nasgoat.graphs import GraphBatch, LabeledGraph, NamedBatches, NamedGraphs
from nasgoat.graphs.named_graphs import join_keys, join_vocabularies
from nasgoat.spaces.costs import COUNTED, Cost, Costs
from nasgoat.spaces.limit_text import Vocabulary
from nasgoat.spaces.limits import Limit
from nasgoat.spaces.moves import LISTABLE, list_others
from nasgoat.spaces.search_space import SearchSpace

_PORTION = 20_000  # combinations listed at a time
_NOTHING = Limit("nothing", "<=", 0.0)
#: Words that mean something else in limits, files, or of a graph.
_TAKEN = (*COUNTED, "sum", "cells", "limits", "costs", "adjacency", "node_labels", "edge_labels")


@dataclass(frozen=True, repr=False, init=False)
class Cells(SearchSpace):
    """All combinations of the graphs of several spaces, each under its name.

    Args:
        cells: The space of each cell, by its name.
        limits: Linear limits; see :meth:`~nasgoat.SearchSpace.constrain`. Those of one cell may
            also be limits of its own space.
        named: Spaces of cells as keywords.

    Raises:
        SpaceError: If there are fewer than two cells, or one has no good name or no space.

    Example:
        >>> from nasgoat import ChainSpace, EdgeLabeledSpace
        >>> chains = ChainSpace(2, ["conv", "pool"])
        >>> space = Cells(normal=EdgeLabeledSpace(3, ["conv", "skip"]), reduction=chains)
        >>> space.count()  # 12 x 4
        48
        >>> graph = space.sample(1, np.random.default_rng(0))[0]
        >>> graph.normal.n, graph.reduction.n
        (3, 3)
        >>> few = space.constrain("normal.conv + reduction.conv <= 1", "normal.edges <= 2")
        >>> few.count()
        5
    """

    cells: Mapping[str, SearchSpace] = field(hash=False)
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    costs: tuple[Cost, ...] = field(default=(), kw_only=True, compare=False)
    kind: ClassVar[str] = "cells"
    layout: ClassVar[Literal["cell", "graph", "cells", "list"]] = "cells"

    def __init__(
        self,
        cells: Mapping[str, SearchSpace] | None = None,
        *,
        limits: Sequence[Limit] = (),
        costs: Sequence[Cost] = (),
        **named: SearchSpace,
    ) -> None:
        if cells is not None and not isinstance(cells, Mapping):
            raise SpaceError(f"cells must be spaces by their names, got {cells!r:.80}")
        found = {**(cells or {}), **named}
        _check_cells(found)
        object.__setattr__(self, "cells", MappingProxyType(found))
        object.__setattr__(self, "limits", tuple(limits))
        object.__setattr__(self, "costs", _add_costs(found, costs))

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (dict(self.cells), self.limits, self.costs)

    @property
    def indexed(self) -> bool:  # type: ignore[override]
        """Whether the nodes of all cells are told apart by their index."""
        return all(cell.indexed for cell in self.cells.values())

    # What all cells say together

    @property
    def sizes(self) -> range:
        """The numbers of nodes of all cells together."""
        every = [cell.sizes for cell in self.cells.values()]
        return range(sum(sizes[0] for sizes in every), sum(sizes[-1] for sizes in every) + 1)

    @property
    def node_vocabulary(self) -> tuple[str, ...]:
        """Node labels of the unions."""
        return join_vocabularies([cell.node_vocabulary for cell in self.cells.values()])

    @property
    def edge_vocabulary(self) -> tuple[str, ...]:
        """Edge labels of the unions."""
        return join_vocabularies([cell.edge_vocabulary for cell in self.cells.values()])

    @property
    def node_ops(self) -> Sequence[str]:
        """The operations on nodes, of all cells."""
        return tuple(dict.fromkeys(op for cell in self.cells.values() for op in cell.node_ops))

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label of any cell."""
        return tuple(dict.fromkeys(x for cell in self.cells.values() for x in cell.labels))

    def path_types(self) -> list[tuple[int, int, int]]:
        """Those of every cell, which have features of their own."""
        return [kind for cell in self.cells.values() for kind in cell.path_types()]

    @property
    def directed(self) -> bool:
        """Whether a cell has directed edges: its union with others then has, too."""
        return any(cell.directed for cell in self.cells.values())

    @property
    def acyclic(self) -> bool:
        """Whether no cell has a cycle."""
        return all(cell.acyclic for cell in self.cells.values())

    def most_edges(self, n: int) -> int:
        """The most edges of all cells together, whatever the number of nodes."""
        return sum(cell.most_edges(cell.sizes[-1]) for cell in self.cells.values())

    def with_nodes(self, n: int) -> SearchSpace:
        """The space itself if every graph has n nodes; otherwise an error: resize single cells."""
        if list(self.sizes) != [n]:
            raise SpaceError(
                f"several cells must be cut to a number of nodes one by one, got {n} for all"
            )
        return self

    def size_bound(self) -> int:
        """The product of the bounds of all cells."""
        return prod(cell.size_bound() for cell in self.cells.values())

    def ends(self, batch: GraphBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Sources and sinks of every cell, in the unions."""
        found = np.zeros((2, len(batch), batch.n), dtype=bool)
        start = np.zeros(len(batch), dtype=np.intp)
        for cell, part in zip(self.cells.values(), batch.cells, strict=True):
            for whole, own in zip(found, cell.ends(part), strict=True):
                graph, v = np.nonzero(own & part.exists)
                whole[graph, start[graph] + v] = True
            start += part.sizes
        return found[0], found[1]

    def key(self, graph: LabeledGraph) -> bytes:
        """The keys of all cells."""
        named = self._require_cells(graph)
        return join_keys(cell.key(named[name]) for name, cell in self.cells.items())

    def batch(self, graphs: Sequence[LabeledGraph]) -> NamedBatches:
        """Pack graphs of the space: a batch for each cell."""
        named = [self._require_cells(graph) for graph in graphs]
        return NamedBatches(
            {
                name: cell.batch([graph[name] for graph in named])
                for name, cell in self.cells.items()
            }
        )

    def unpack(
        self, bits: NDArray[np.uint8], codes: NDArray[np.int8], sizes: NDArray[np.int8]
    ) -> NamedBatches:
        """The graphs that were packed cell by cell."""
        found = {}
        for place, (name, cell) in enumerate(self.cells.items()):
            n = cell.sizes[-1]
            wide = (n * n + 7) // 8
            labels = n * bool(cell.node_vocabulary) + n * n * bool(cell.edge_vocabulary)
            parts = bits[:, :wide], codes[:, :labels], sizes[:, place : place + 1]
            found[name] = cell.unpack(*parts)
            bits, codes = bits[:, wide:], codes[:, labels:]
        return NamedBatches(found)

    # Limits and costs

    def vocabulary(self, costs: Costs | None = None) -> Vocabulary:
        """The names that a limit may use: those of each cell, and costs of all of them."""
        known: Costs = {**{cost.name: cost for cost in self.costs}, **(costs or {})}
        own = {name: cell.vocabulary() for name, cell in self.cells.items()}
        words = Vocabulary((), (), known, cells=own)
        made = [words.make_cost(name) for name in known]
        shared = {
            name: {
                cost.name: Cost(cost.name, cost.terms.cells.get(name, _NOTHING)) for cost in made
            }
            for name in self.cells
        }
        cells = {name: cell.vocabulary(shared[name]) for name, cell in self.cells.items()}
        return Vocabulary((), (), {cost.name: cost for cost in made}, cells=cells)

    def add_up(
        self, limits: Sequence[Limit], graphs: Sequence[LabeledGraph] | GraphBatch
    ) -> NDArray[np.float64]:
        """What the terms of each limit add up to over all cells, shape (limits, graphs)."""
        batch = graphs if isinstance(graphs, GraphBatch) else self.batch(graphs)
        found = np.zeros((len(limits), len(batch)))
        for (name, cell), part in zip(self.cells.items(), batch.cells, strict=True):
            found += cell.add_up([limit.cells.get(name, _NOTHING) for limit in limits], part)
        return found

    # Membership and moves

    def _require_cells(self, graph: LabeledGraph) -> NamedGraphs:
        """The graph, if it has the cells of this space, in their order."""
        names = list(graph.cells) if isinstance(graph, NamedGraphs) else []
        if not isinstance(graph, NamedGraphs) or names != list(self.cells):
            got = ", ".join(names) or "one graph"
            raise GraphError(f"the graph must have the cells {', '.join(self.cells)}, got {got}")
        return graph

    def _check(self, graph: LabeledGraph) -> None:
        named = self._require_cells(graph)
        for name, cell in self.cells.items():
            try:
                cell.check(named[name])
            except GraphError as problem:
                raise GraphError(f"the cell {name}: {problem}") from None

    def _draw(self, rng: np.random.Generator) -> NamedGraphs:
        return NamedGraphs({name: _draw_one(cell, rng) for name, cell in self.cells.items()})

    def _mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        named = self._require_cells(graph)
        names = list(self.cells)
        for place in rng.permutation(len(names)):
            name, cell = names[place], self.cells[names[place]]
            changed = cell.mutate(named[name], rng)
            if cell.key(changed) != cell.key(named[name]):
                return NamedGraphs({**named.cells, name: changed})
        return graph

    def _neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        named = self._require_cells(graph)
        found = (
            NamedGraphs({**named.cells, name: other})
            for name, cell in self.cells.items()
            for other in cell.neighbours(named[name])
        )
        return list_others(self, graph, found)

    # All combinations

    def _count(self) -> int:
        return prod(cell.count() for cell in self.cells.values())

    def _is_quickly_counted(self) -> bool:
        if self.limits:
            return self.size_bound() <= LISTABLE
        return all(cell._is_quickly_counted() for cell in self.cells.values())

    def _enumerate(self) -> Iterator[GraphBatch]:
        every = [_list_by_size(cell) for cell in self.cells.values()]
        kinds = sorted(product(*every), key=sum)
        for sizes in kinds:
            lists = [listed[size] for listed, size in zip(every, sizes, strict=True)]
            numbers = [len(batch) for batch in lists]
            for start in range(0, prod(numbers), _PORTION):
                places = np.arange(start, min(start + _PORTION, prod(numbers)))
                chosen = np.unravel_index(places, numbers)
                yield NamedBatches(
                    {
                        name: batch.take(index)
                        for name, batch, index in zip(self.cells, lists, chosen, strict=True)
                    }
                )

    def _declaration(self) -> dict[str, Any]:
        cells = [{"name": name, **cell.to_dict()} for name, cell in self.cells.items()]
        return {"kind": self.kind, "cells": cells}

    def _describe(self) -> str:
        said = "; ".join(f"{name}: {cell.describe()}" for name, cell in self.cells.items())
        return f"{len(self.cells)} cells at once; {said}"


def _make(cells: Any, limits: Any, costs: Any) -> Cells:
    """A space from what it was pickled as."""
    return Cells(cells, limits=limits, costs=costs)


def _check_cells(cells: Mapping[str, SearchSpace]) -> None:
    """Refuse what can't be the cells of a space."""
    for name, cell in cells.items():
        plain = isinstance(name, str) and name.isidentifier() and not name.startswith("_")
        if not plain or name in _TAKEN or hasattr(NamedGraphs, name):
            raise SpaceError(
                f"a cell must be named by a plain word that means nothing else, got {name!r}"
            )
        if not isinstance(cell, SearchSpace):
            raise SpaceError(f"the cell {name} must be a space, got {cell!r:.80}")
        if cell.cells:
            raise SpaceError(
                f"the cell {name} must not have cells itself, got {', '.join(cell.cells)}"
            )
    if len(cells) < 2:
        said = ", ".join(cells) or "none"
        raise SpaceError(f"a space must have at least two cells, got {said}; use a space itself")


def _add_costs(cells: Mapping[str, SearchSpace], given: Sequence[Cost]) -> tuple[Cost, ...]:
    """The costs given, and those that cells have for themselves, added up."""
    found = {cost.name: cost for cost in given}
    names = dict.fromkeys(cost.name for cell in cells.values() for cost in cell.costs)
    for name in names:
        own: dict[str, Cost] = {}
        for cell, space in cells.items():
            try:
                own[cell] = space.cost(name)
            except UnknownNameError:
                continue
        terms = Limit(name, "<=", 0.0, cells={cell: cost.terms for cell, cost in own.items()})
        found.setdefault(name, Cost(name, terms, sum(cost.constant for cost in own.values())))
    return tuple(found.values())


def _draw_one(cell: SearchSpace, rng: np.random.Generator) -> LabeledGraph:
    """A random graph of a cell, within its own limits."""
    return cell._draw_within(rng) if cell.all_limits else cell._draw(rng)


def _list_by_size(cell: SearchSpace) -> dict[int, GraphBatch]:
    """All graphs of a cell by their number of nodes, as one batch each."""
    found: dict[int, list[GraphBatch]] = {}
    for batch in cell.enumerate():
        if len(batch):
            found.setdefault(int(batch.sizes[0]), []).append(batch)
    return {size: GraphBatch.join(batches) for size, batches in found.items()}
