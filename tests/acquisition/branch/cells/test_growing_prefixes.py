"""Bounds of stems against graphs that begin like them, and the terms that they are made of."""

from __future__ import annotations

from itertools import permutations, product
from typing import NamedTuple

import numpy as np
import pytest

from nasgoat import LabeledGraph, NodeLabeledSpace
from nasgoat.acquisition import random_problem
from nasgoat.acquisition.branch.cells.classes import measure_distances
from nasgoat.acquisition.branch.cells.domains import make_limit_rows
from nasgoat.acquisition.branch.cells.records import Tables
from nasgoat.acquisition.branch.cells.reference import make_no_changes
from nasgoat.acquisition.branch.cells.search import LinearRun
from nasgoat.acquisition.branch.cells.stem_tables import (
    _bound_products,
    _bound_pulls,
    know_all_labels,
    list_interactions,
    make_floating_block,
    make_floating_tables,
    split_vectors,
    turn_tables,
)
from nasgoat.acquisition.branch.cells.structures import CellBlock
from nasgoat.acquisition.lower_confidence_bound import LowerConfidenceBound
from nasgoat.spaces.structures import list_rows, unpack_matrices
from nasgoat.surrogate.posterior import LinearPosterior
from tests.acquisition.branch.problems import bound_shapes

ROUNDING = 1e-9  # of values of size 1
Key = tuple[tuple[int, ...], int]  # rows of a stem, label of the last inner node


class Prefix(NamedTuple):
    """What is left of a graph without its sink and its last inner node."""

    rows: tuple[int, ...]  # the least ones of all orders
    last_label: int
    states: list[tuple[int, int, int]]  # label, distance to the last inner node and to the sink


def find_prefix(graph: LabeledGraph, ops: list[str]) -> Prefix:
    adjacency, named = np.asarray(graph.adjacency, dtype=bool), graph.node_labels or ()
    n = len(named)
    (sink,) = np.flatnonzero(~adjacency.any(axis=1)).tolist()
    (source,) = np.flatnonzero(~adjacency.any(axis=0)).tolist()
    codes = {v: ops.index(named[v]) for v in range(n) if v not in (source, sink)}
    ends = [v for v in codes if np.flatnonzero(adjacency[v]).tolist() == [sink]]
    last = max(ends, key=lambda v: codes[v])
    codes[source] = len(ops)
    distance, found = measure_distances(adjacency[None])[0], []
    for order in permutations(set(codes) - {last, source}):
        nodes = [source, *order]
        matrix = adjacency[np.ix_(nodes, nodes)]
        if not np.tril(matrix).any():
            rows = tuple((matrix * (1 << np.arange(n - 2))[:, None]).sum(axis=0).tolist())
            states = [(codes[v], int(distance[v, last]), int(distance[v, sink])) for v in nodes]
            found.append(Prefix(rows, codes[last], states))
    return min(found)


def make_problem(
    seed: int, n: int, labels: int, labelled: bool = False
) -> tuple[NodeLabeledSpace, LowerConfidenceBound, Tables]:
    space = NodeLabeledSpace(n, ["a", "b", "c"][:labels])
    acquisition = random_problem(space, 5 + 7 * (seed % 6), seed=seed).acquisition
    posterior = acquisition.gp.posterior_
    assert isinstance(posterior, LinearPosterior)
    asked = space, posterior, acquisition.sqrt_beta, n
    return space, acquisition, make_floating_tables(*asked, labelled)


def make_stems(space: NodeLabeledSpace, n: int, k: int) -> tuple[list[Key], CellBlock]:
    """All stems of k known nodes, once for each label of the last inner node."""
    labels = len(space.ops)
    rows = np.repeat(np.concatenate(list(list_rows(k, 99, whole=False))), labels, axis=0)
    last = np.tile(np.arange(labels), len(rows) // labels)
    keys = [(tuple(row), label) for row, label in zip(rows.tolist(), last.tolist(), strict=True)]
    return keys, make_floating_block(space, n, unpack_matrices(rows), last)


def bound_stems(
    block: CellBlock, tables: Tables, whole: bool, best: float = np.inf
) -> tuple[LinearRun, np.ndarray]:
    """Bounds of all stems; the states that are left are noted in the run."""
    shapes = block.shapes.distance.shape
    assert block.prefix_states is not None
    allowed = np.ones((shapes[0], shapes[1], len(block.prefix_states.label)), dtype=np.uint8)
    limits = make_limit_rows(block, floating=not whole)
    run = LinearRun(block, tables, limits, lambda: -np.inf, scout=False, allowed=allowed)
    return run, np.array(bound_shapes(run, best))


def bound_named_stems(
    space: NodeLabeledSpace,
    homes: list[Prefix],
    known_labels: np.ndarray,
    tables: Tables,
    known: int,
    best: float,
    way: str,
    rng: np.random.Generator,
) -> tuple[LinearRun, np.ndarray]:
    """Bounds of the stems of some graphs, of whose nodes these labels are known (-1: not)."""
    n = known_labels.shape[1] + 2
    rows = np.array([home.rows[:known] for home in homes])
    last = np.array([home.last_label for home in homes])
    block = make_floating_block(space, n, unpack_matrices(rows), last)
    assert block.prefix_states is not None
    turned = turn(tables, block, way, rng)
    allowed = (known_labels[..., None] < 0) | (known_labels[..., None] == block.prefix_states.label)
    run = LinearRun(
        block,
        turned,
        make_limit_rows(block, floating=known < n - 2),
        lambda: -np.inf,
        scout=False,
        allowed=allowed.astype(np.uint8),
        known_labels=known_labels,
        changes=make_no_changes(turned) if know_all_labels(turned) else None,
    )
    return run, np.array(bound_shapes(run, best))


def turn(tables: Tables, block: CellBlock, way: str, rng: np.random.Generator) -> Tables:
    """The tables in the basis of their own choice, in a random one, or with one part alone."""
    width = tables.option.shape[-1] - 1
    if way == "chosen":
        return split_vectors(tables, block)
    if way == "random":
        basis = np.linalg.qr(rng.normal(size=(width, width)))[0]
        return turn_tables(tables, basis, int(rng.integers(0, width + 1)))
    return turn_tables(tables, np.eye(width), 0)


def check_stems(seed: int, way: str) -> None:
    """No graph is below the bound of its stem, at any size; nor are states of good graphs lost."""
    rng = np.random.default_rng(seed)
    n, labels = int(rng.integers(5, 7)), int(rng.integers(1, 4))
    space, acquisition, tables = make_problem(seed, n, labels)
    graphs = space.sample(60, rng)
    values = np.asarray(acquisition.score(graphs))
    order = np.argsort(values)
    homes = [find_prefix(graph, list(space.ops)) for graph in graphs]
    for k in range(2, n - 1):
        keys, block = make_stems(space, n, k)
        place = {key: s for s, key in enumerate(keys)}
        turned = turn(tables, block, way, rng)
        _, bounds = bound_stems(block, turned, k == n - 2)
        at = [place[home.rows[:k], home.last_label] for home in homes]
        assert (bounds[at] <= values + ROUNDING).all()
        assert np.isfinite(bounds).any()
        best = float(values[order[5]])  # states of better graphs stay: their stems are not closed
        run, bounds = bound_stems(block, turned, k == n - 2, best)
        assert run.states is not None
        numbers = {tuple(x): i for i, x in enumerate(np.array(run.states[:3]).T.tolist())}
        for g in order[:5].tolist():
            assert bounds[at[g]] <= values[g] + ROUNDING
            states = [numbers[state] for state in homes[g].states]
            assert run.states.allowed[at[g], np.arange(n - 2), states].all()


def check_named_stems(seed: int, way: str, share: float) -> float:
    """The same with some labels known, or all; returns the mean bound of stems of three nodes."""
    rng = np.random.default_rng(seed)
    n, labels, found = int(rng.integers(5, 8)), int(rng.integers(1, 4)), 0.0
    space, acquisition, tables = make_problem(seed, n, labels, labelled=share == 1.0)
    graphs = space.sample(40, rng)
    values = np.asarray(acquisition.score(graphs))
    homes = [find_prefix(graph, list(space.ops)) for graph in graphs]
    state_labels = np.array([[state[0] for state in home.states] for home in homes])
    known_labels = np.where(rng.random(state_labels.shape) < share, state_labels, -1)
    known_labels[:, 0] = -1
    named = 0
    for k in range(2, n - 1):
        asked = space, homes, known_labels, tables, k
        _, bounds = bound_named_stems(*asked, np.inf, way, rng)
        assert (bounds <= values + ROUNDING).all()
        found = float(bounds.mean()) if k == 3 else found
        best = float(np.median(values))
        run, bounds = bound_named_stems(*asked, best, way, rng)
        assert run.states is not None
        numbers = {tuple(x): i for i, x in enumerate(np.array(run.states[:3]).T.tolist())}
        for g in np.flatnonzero(values < best).tolist():
            assert bounds[g] <= values[g] + ROUNDING
            states = [numbers[state] for state in homes[g].states]
            if k < n - 2:  # whole prefixes drop equal labellings of twins
                assert run.states.allowed[g, np.arange(n - 2), states].all()
                node = run.states.next_variable[g]
                if node >= 0:
                    named += 1
                    assert run.states.label_bound[g, state_labels[g, node]] <= values[g]
    assert (named > 0) == (share < 1.0)  # else no label is left to be named next
    return found


@pytest.mark.parametrize("way", ["chosen", "random", "one part"])
@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("seed", range(2))
def test_nor_below_the_bound_of_a_stem_some_of_whose_labels_are_known(
    seed: int, way: str, share: float
) -> None:
    check_named_stems(seed, way, share)


def test_known_labels_raise_bounds() -> None:
    assert check_named_stems(5, "chosen", 1.0) > check_named_stems(5, "chosen", 0.0)


@pytest.mark.slow
def test_so_it_is_in_two_hundred_problems_with_known_labels() -> None:
    for seed in range(300, 500):
        check_named_stems(seed, ("chosen", "random", "one part")[seed % 3], (0.5, 1.0)[seed % 2])


@pytest.mark.parametrize("way", ["chosen", "random", "one part"])
@pytest.mark.parametrize("seed", range(4))
def test_no_graph_is_below_the_bound_of_its_stem(seed: int, way: str) -> None:
    check_stems(seed, way)


@pytest.mark.slow
def test_so_it_is_in_two_hundred_problems() -> None:
    for seed in range(100, 300):
        check_stems(seed, ("chosen", "random", "one part")[seed % 3])


@pytest.mark.parametrize("part", [slice(0, 7), slice(7, None), slice(None)])
def test_products_of_interactions_are_below_their_terms_by_tails_and_by_heads(part: slice) -> None:
    _, _, tables = make_problem(3, 6, 3)
    vectors, terms = list_interactions(tables), _bound_products(tables, part)
    codes, compared = len(tables.option) // 3, 0
    source = range(len(vectors) - 2 * codes, len(vectors) - codes)
    for c, d in product(range(1, len(vectors)), repeat=2):
        products = np.tensordot(vectors[c][..., part], vectors[d][..., part], axes=(3, 3))
        tails = terms[0, c, d][:, None, None, :, None, None]
        if c in source or d in source:  # the source has no label
            assert not tails.any()
            tails = 0.0
        heads = terms[1, c, d][None, :, None, None, :, None]
        assert (products <= tails + heads + ROUNDING).all()
        compared += products.size
    assert compared > 10_000


def test_options_of_two_pairs_are_below_the_pull_of_one_on_the_other() -> None:
    _, _, tables = make_problem(3, 6, 2, labelled=True)
    part, codes, labels = slice(2, None), len(tables.option) // 2, 2
    pulls, vectors = _bound_pulls(tables, part), list_interactions(tables)[-2 * codes :]
    kinds = [vectors[c][a, b] for c in range(codes) for a, b in product(range(labels), repeat=2)]
    kinds += [vectors[c][0, b] for c in range(codes, 2 * codes) for b in range(labels)]
    assert pulls.shape[0] == len(kinds)
    for i, first in enumerate(kinds):
        for j, second in enumerate(kinds):
            largest = (first[:, part] @ second[:, part].T).max(axis=1)
            np.testing.assert_allclose(pulls[i, : len(first), j], largest, atol=ROUNDING)
        squares = (first[:, part] ** 2).sum(axis=1)
        np.testing.assert_allclose(pulls[i, : len(first), -1], squares, atol=ROUNDING)


def test_another_basis_changes_no_product() -> None:
    space, _, tables = make_problem(1, 6, 2)
    turned = split_vectors(tables, make_stems(space, 6, 3)[1])
    assert 0 < turned.split < tables.option.shape[-1] - 1
    for before, after in zip(list_interactions(tables), list_interactions(turned), strict=True):
        first, second = (v.reshape(-1, v.shape[-1]) for v in (before, after))
        np.testing.assert_allclose(first @ first.T, second @ second.T, atol=ROUNDING)
