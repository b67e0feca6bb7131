"""What every search space promises, and what families of cells promise beyond that."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations, product
from math import prod
from statistics import median_low
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat.errors import GraphError, SpaceError
from nasgoat.graphs import LabeledGraph, NamedGraphs
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import (
    CellSpace,
    EdgeRow,
    SearchSpace,
    parse_space,
    read_declared_space,
    to_toml,
)
from nasgoat.testing.agreement import AgreementContract
from nasgoat.testing.contract import (
    count_word,
    label_graphs,
    list_graphs,
    list_node_labels,
    reorder,
)

_COUNTED = ("nodes", "edges")
_MOST_MATRICES = 2**12  # adjacency matrices that are tried one by one


class SpaceContract(AgreementContract):
    """What a search space must keep; every test takes one space.

    The tests list the whole space, so give a small instance of a family: some tens to some
    thousands of graphs.

    Example:
        >>> from nasgoat import EdgeLabeledSpace
        >>> class TestTriangles(SpaceContract):
        ...     space = EdgeLabeledSpace(3, ["conv", "skip"])
        >>> "test_mutation_stays_inside_and_moves" in TestTriangles.verify()
        True
    """

    #: The spaces by name; or set ``space`` for a single one.
    spaces: ClassVar[Mapping[str, SearchSpace]]
    seeds = range(3)
    #: Whether TOML text and :meth:`SearchSpace.to_dict` can be read back.
    declared: ClassVar[bool] = True
    #: Whether a neighbour with no fewer nodes always has the graph among its own neighbours.
    mutual_neighbours: ClassVar[bool] = True
    #: Whether nodes without index may be reordered; not so where a declaration fixes single nodes.
    interchangeable: ClassVar[bool] = True
    #: How many graphs per size are tried one by one against the enumeration.
    most_candidates: ClassVar[int] = 5000

    def candidates(self, space: SearchSpace, n: int) -> Iterator[LabeledGraph] | None:
        """Graphs of n nodes with every graph of the space among them; None if they are too many.

        The default is every graph with the space's labels, edges ascending where it has cells.
        """
        if space.cells:
            return self._combine_candidates(space, n)
        ascending = space.layout == "cell" or not space.directed
        pairs = list(combinations(range(n), 2) if ascending else permutations(range(n), 2))
        edges = (None, *(space.edge_vocabulary or ("",)))
        labellings = prod(len(labels) for labels in list_node_labels(space, n))
        if len(edges) ** len(pairs) * labellings > self.most_candidates:
            return None
        return label_graphs(space, n, pairs, edges)

    def _combine_candidates(self, space: SearchSpace, n: int) -> Iterator[LabeledGraph] | None:
        """Candidates of several cells: every combination of those of each."""
        every: list[list[tuple[str, LabeledGraph]]] = []
        for name, cell in space.cells.items():
            tried = [self.candidates(cell, m) for m in cell.sizes]
            if any(graphs is None for graphs in tried):
                return None
            every.append([(name, graph) for graphs in tried for graph in graphs or ()])
        if prod(map(len, every)) > self.most_candidates:
            return None
        graphs = (NamedGraphs(dict(chosen)) for chosen in product(*every))
        return (graph for graph in graphs if graph.n == n)

    # Listing and counting

    def test_every_graph_is_listed_once_and_counted(self, space: SearchSpace) -> None:
        graphs = list_graphs(space)
        assert len({space.key(graph) for graph in graphs}) == len(graphs) == space.count()
        assert space.count() <= space.size_bound()
        number, exact = space.size()
        assert number == space.count() if exact else number >= space.count()

    def test_every_listed_graph_is_a_member(self, space: SearchSpace) -> None:
        for graph in list_graphs(space):
            space.check(graph)
            assert graph in space

    def test_a_batch_has_graphs_of_one_size_and_the_order_never_changes(
        self, space: SearchSpace
    ) -> None:
        batches = list(space.enumerate())
        assert all(len(set(batch.sizes.tolist())) <= 1 for batch in batches)
        assert tuple(graph for batch in batches for graph in batch) == list_graphs(space)

    def test_nothing_is_missing_from_the_list(self, space: SearchSpace) -> None:
        tried = {n: self.candidates(space, n) for n in space.sizes}
        if all(graphs is None for graphs in tried.values()):
            pytest.skip("there are too many candidates to try them one by one")
        for n, graphs in tried.items():
            if graphs is not None:
                accepted = {space.key(graph) for graph in graphs if graph in space}
                assert accepted == {space.key(g) for g in list_graphs(space) if g.n == n}

    def test_the_parts_of_one_size_make_up_the_space(self, space: SearchSpace) -> None:
        if space.cells:
            pytest.skip("several cells are cut to a number of nodes one by one")
        for n in space.sizes:
            part = sorted(space.key(graph) for graph in list_graphs(space.with_nodes(n)))
            own = sorted(space.key(graph) for graph in list_graphs(space) if graph.n == n)
            assert part == own, f"with_nodes({n}) must hold the graphs with {n} nodes, no others"

    # Membership

    def test_what_is_no_graph_of_the_space_is_refused(self, space: SearchSpace) -> None:
        assert "no graph" not in space
        large = LabeledGraph.from_edges(space.sizes[-1] + 1, [], directed=space.directed)
        assert large not in space
        with pytest.raises(GraphError, match="must"):
            space.check(large)
        with pytest.raises(GraphError):
            space.mutate(large, np.random.default_rng(0))

    def test_the_space_outlives_files_and_processes(self, space: SearchSpace) -> None:
        again = pickle.loads(pickle.dumps(space))  # noqa: S301
        for graph in list_graphs(space)[:20]:
            read = LabeledGraph.from_json(graph.to_json())
            assert read == graph
            assert read in again
            assert again.key(read) == space.key(graph)

    def test_nodes_in_another_order_make_the_same_graph(
        self, space: SearchSpace, seed: int
    ) -> None:
        if space.indexed or not self.interchangeable:
            pytest.skip("the space tells nodes apart")
        rng, features = np.random.default_rng(seed), FeatureMap(space)
        for graph in space.sample(5, rng):
            other = reorder(space, graph, rng)
            assert other in space
            assert space.key(other) == space.key(graph)
            assert np.array_equal(features.rows([other]), features.rows([graph]))

    # Random graphs

    def test_samples_are_distinct_members(self, space: SearchSpace, seed: int) -> None:
        rng = np.random.default_rng(seed)
        for count in (0, 1, 5):
            graphs = space.sample(count, rng)
            assert len(graphs) == min(count, space.count())
            assert len({space.key(graph) for graph in graphs}) == len(graphs)
            assert all(graph in space for graph in graphs)

    def test_the_same_seed_draws_the_same_graphs(self, space: SearchSpace, seed: int) -> None:
        first, second = (space.sample(4, np.random.default_rng(seed)) for _ in range(2))
        assert first == second

    def test_sampling_ends_when_the_space_is_used_up(self, space: SearchSpace, seed: int) -> None:
        rng = np.random.default_rng(seed)
        keys = {space.key(graph) for graph in list_graphs(space)}
        assert {space.key(graph) for graph in space.sample(len(keys) + 5, rng)} == keys
        assert space.sample(3, rng, exclude=keys) == []
        last = min(keys)
        assert [space.key(g) for g in space.sample(3, rng, exclude=keys - {last})] == [last]

    def test_mutation_stays_inside_and_moves(self, space: SearchSpace, seed: int) -> None:
        rng = np.random.default_rng(seed)
        for graph in space.sample(5, rng):
            mutated = space.mutate(graph, rng)
            assert mutated in space
            assert (space.key(mutated) == space.key(graph)) == (space.count() == 1)

    def test_variants_are_members(self, space: SearchSpace, seed: int) -> None:
        rng = np.random.default_rng(seed)
        graph = space.sample(1, rng)[0]
        found = space.variants(graph, 6, rng, edits=2)
        assert len(found) == 6
        assert all(other in space for other in found)

    def test_neighbours_are_distinct_members(self, space: SearchSpace, seed: int) -> None:
        rng = np.random.default_rng(seed)
        graph = space.sample(1, rng)[0]
        neighbours = space.neighbours(graph)
        keys = {space.key(other) for other in neighbours}
        assert len(keys) == len(neighbours)
        assert space.key(graph) not in keys
        assert all(other in space for other in neighbours)

    def test_neighbours_are_mutual(self, space: SearchSpace, seed: int) -> None:
        if not self.mutual_neighbours:
            pytest.skip("the space does not promise it")
        graph = space.sample(1, np.random.default_rng(seed))[0]
        # A removed edge may take a node with several edges along: no single step brings it back.
        near = [other for other in space.neighbours(graph) if other.n >= graph.n]
        for other in near[:5]:
            assert space.key(graph) in {space.key(g) for g in space.neighbours(other)}

    # Features

    def test_path_types_cover_every_pair_of_every_graph(self, space: SearchSpace) -> None:
        if space.cells:
            for cell in space.cells.values():
                self.test_path_types_cover_every_pair_of_every_graph(cell)
            return
        types = set(space.path_types())
        assert len(types) == len(space.path_types())
        for batch in space.enumerate():
            for i in range(0, len(batch), max(1, len(batch) // 50)):
                distances, n = batch.distances[i], int(batch.sizes[i])
                codes = list(range(n)) if space.indexed else [0] * n
                if batch.node_codes is not None:
                    codes = batch.node_codes[i].tolist()
                pairs = [pair for pair in product(range(n), repeat=2) if distances[pair] < batch.n]
                assert {(int(distances[u, v]), codes[u], codes[v]) for u, v in pairs} <= types

    def test_a_batch_holds_its_graphs_and_has_their_features(self, space: SearchSpace) -> None:
        graphs = list_graphs(space)[:50]
        batch = space.batch(graphs)
        assert list(batch) == list(graphs)
        features = FeatureMap(space)
        rows = features.rows(batch)
        assert rows.shape == (len(graphs), sum(features.widths))
        assert np.isfinite(rows).all()
        assert np.array_equal(rows, np.vstack([features.rows([graph]) for graph in graphs]))

    # Limits

    def test_a_limit_leaves_the_graphs_that_satisfy_it(self, space: SearchSpace) -> None:
        graphs = list_graphs(space)
        for word in (*space.vocabulary().ops, *_COUNTED):
            most = median_low(count_word(graph, word) for graph in graphs)
            text = word if word in _COUNTED else f"'{word}'"
            limited = space.constrain(f"{text} <= {most}")
            wanted = {space.key(graph) for graph in graphs if count_word(graph, word) <= most}
            listed = list_graphs(limited)
            assert {space.key(graph) for graph in listed} == wanted
            assert limited.count() == len(listed) == len(wanted)
            assert all((g in limited) == (space.key(g) in wanted) for g in graphs)
            drawn = limited.sample(4, np.random.default_rng(0))
            assert len(drawn) == min(4, len(wanted))
            assert {space.key(graph) for graph in drawn} <= wanted
            assert all(other in limited for other in limited.neighbours(drawn[0]))
            if len(wanted) > 1:
                assert limited.mutate(drawn[0], np.random.default_rng(0)) in limited

    # In words

    def test_the_fingerprint_follows_the_declaration(self, space: SearchSpace) -> None:
        assert space.fingerprint() == pickle.loads(pickle.dumps(space)).fingerprint()  # noqa: S301
        assert space.constrain("edges <= 10000").fingerprint() != space.fingerprint()
        assert space.describe()
        assert json.loads(json.dumps(space.to_dict()))

    def test_the_declaration_is_read_back(self, space: SearchSpace) -> None:
        if not self.declared:
            with pytest.raises(SpaceError, match="must have a declaration"):
                to_toml(space)
            pytest.skip("the family has no declaration")
        for read in (
            parse_space(to_toml(space)),
            read_declared_space(json.loads(json.dumps(space.to_dict()))),
        ):
            assert read.fingerprint() == space.fingerprint()
            assert read.count() == space.count()


class CellContract(SpaceContract):
    """What a family of cells must keep, so that every optimiser can work on its description.

    Catalogue, branch and bound and the mixed-integer program must find the same best graphs.

    Example:
        >>> from nasgoat import EdgeLabeledSpace
        >>> class TestTriangles(CellContract):
        ...     space = EdgeLabeledSpace(3, ["conv", "skip"])
        ...     exact_optimizers = ("catalogue", "branch")
        >>> "test_structures_and_labels_make_up_the_list" in TestTriangles.verify()
        True
    """

    exact_optimizers: ClassVar[Sequence[str]] = ("catalogue", "branch", "scip")

    def test_structures_ascend_and_are_distinct(self, space: CellSpace) -> None:
        for n in space.sizes:
            matrices = list_structures(space, n)
            assert len(matrices) <= space.structure_bound(n)
            keys = {make_structure_key(space, matrix) for matrix in matrices}
            assert len(keys) == len(matrices), f"structures({n}) must list each of them once"
            places = set(space.edge_places(n))
            for matrix in matrices:
                assert not np.tril(matrix).any(), f"edges must ascend in structures({n})"
                assert set(list_edges(matrix)) <= places
                assert matrix.sum() <= space.edge_limit
                if space.on_paths:
                    assert every_node_is_on_a_path(matrix), "on_paths must be False here"

    def test_structures_and_labels_make_up_the_list(self, space: CellSpace) -> None:
        for n in space.sizes:
            made = {
                space.key(graph)
                for matrix in list_structures(space, n)
                for graph in label_graphs(
                    space, n, list_edges(matrix), space.edge_vocabulary or ("",)
                )
                if space.within_limits([graph])[0]
            }
            assert made == {space.key(graph) for graph in list_graphs(space) if graph.n == n}

    def test_rows_hold_for_structures_and_for_nothing_else(self, space: CellSpace) -> None:
        tried = {
            n: rows
            for n in space.sizes
            if (rows := space.structure_rows(n)) is not None
            and 2 ** len(space.edge_places(n)) <= _MOST_MATRICES
        }
        if not tried:
            pytest.skip("the family has no rows, or too many matrices to try them one by one")
        for n, rows in tried.items():
            held = {
                make_structure_key(space, matrix)
                for matrix in list_matrices(n, space.edge_places(n))
                if all(holds(row, matrix) for row in rows)
                and (not space.on_paths or every_node_is_on_a_path(matrix))
            }
            assert held == {
                make_structure_key(space, matrix) for matrix in list_structures(space, n)
            }


def list_structures(space: CellSpace, n: int) -> list[NDArray[np.bool_]]:
    """Every structure of n nodes."""
    return [matrix for chunk in space.structures(n) for matrix in chunk]


def list_edges(matrix: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The pairs of nodes with an edge."""
    return [(int(u), int(v)) for u, v in np.argwhere(matrix)]


def make_structure_key(space: CellSpace, matrix: NDArray[np.bool_]) -> bytes:
    """A key that two structures share exactly if the space treats them as the same."""
    if space.indexed:
        return np.packbits(matrix).tobytes()
    inner = ["inner"] * (len(matrix) - 2)
    return LabeledGraph(matrix, ("first", *inner, "last")).canonical_key()


def list_matrices(n: int, places: Sequence[tuple[int, int]]) -> Iterator[NDArray[np.bool_]]:
    """Every adjacency matrix with edges at these places only."""
    for bits in product((False, True), repeat=len(places)):
        matrix = np.zeros((n, n), dtype=bool)
        matrix[tuple(np.transpose(places))] = bits
        yield matrix


def every_node_is_on_a_path(matrix: NDArray[np.bool_]) -> bool:
    """Whether every node is on a path from the first node to the last; edges ascend."""
    return bool(matrix[:, 1:].any(axis=0).all() and matrix[:-1].any(axis=1).all())


def holds(row: EdgeRow, matrix: NDArray[np.bool_]) -> bool:
    """Whether the matrix satisfies a row."""
    total = sum(c * matrix[u, v] for (u, v), c in row.terms.items())
    return bool(
        {"<=": total <= row.bound, ">=": total >= row.bound, "==": total == row.bound}[row.sense]
    )
