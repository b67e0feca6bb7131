"""Random graphs and small changes: distinct ones, ones within limits, and those of any cells.

Within limits a draw is repeated until they hold; where that keeps failing, a graph walks towards
them, each step to the neighbour that is least beyond its limits; a space that is small enough is
listed. Cells move to another label or to a structure with few other edges.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import EmptySpaceError, SpaceError
from nasgoat.graphs import LabeledGraph

if TYPE_CHECKING:
    from nasgoat.spaces.cell_space import CellSpace
    from nasgoat.spaces.search_space import SearchSpace

Matrices = NDArray[np.bool_]
LISTABLE = 200_000  # graphs of a space that is listed where random draws keep failing
_MANY = 5_000  # graphs asked for, before which a space is asked whether it has more
_FEW_REPEATS = 10  # draws in a row that bring nothing new before it is asked otherwise
_REPEATS = 100  # such draws before a listable space is listed, whether or not it has more
_HOPELESS = 300  # such draws before a space too large to list is taken for used up
_DRAWS = 30
_WALKS = 8
_PATIENCE = 5  # steps without progress before a walk ends
_ROUNDS = 4  # of mutations, each a wider step than the last
_MOVES = 2_000_000  # entries of matrices in all moves from one graph that are listed
_NEAR = 12  # structures that a cell moves to, those with the fewest other edges first


def draw_distinct(
    space: SearchSpace,
    count: int,
    rng: np.random.Generator,
    exclude: set[bytes],
    deadline: float = inf,
) -> list[LabeledGraph]:
    """Distinct random graphs whose keys are not excluded, or all there are if these are fewer."""
    seen, wanted = set(exclude), count + len(exclude)
    drawn: list[LabeledGraph] = []
    tries, asks_at = 0, 0 if wanted >= _MANY else _FEW_REPEATS
    while len(drawn) < count:
        if drawn and time.perf_counter() > deadline:
            break
        if tries == asks_at:
            asks_at = -1
            if space._is_used_up_by(wanted):
                return drawn + _draw_from_all(space, count - len(drawn), rng, seen)
        graph = space._draw_within(rng) if space.all_limits else space._draw(rng)
        key = space.key(graph)
        if key not in seen:
            seen.add(key)
            drawn.append(graph)
            tries = 0
            continue
        tries += 1
        if tries >= _REPEATS and space.size_bound() <= LISTABLE:
            return drawn + _draw_from_all(space, count - len(drawn), rng, seen)
        if tries >= _HOPELESS:
            break
    return drawn


def _draw_from_all(
    space: SearchSpace, count: int, rng: np.random.Generator, seen: set[bytes]
) -> list[LabeledGraph]:
    left = [g for batch in space.enumerate() for g in batch if space.key(g) not in seen]
    return [left[i] for i in rng.permutation(len(left))[:count]]


def draw_within_limits(space: SearchSpace, rng: np.random.Generator) -> LabeledGraph:
    """One random graph that satisfies every limit.

    Raises:
        SpaceError: If limits leave no graph, or so few that none was found.
    """
    for _ in range(_DRAWS):
        graph = space._draw(rng)
        if space.within_limits([graph])[0]:
            return graph
    for _ in range(_WALKS):
        walked = _walk(space, space._draw(rng), rng)
        if walked is not None:
            return walked
    if space.size_bound() > LISTABLE:
        raise SpaceError(
            "the limits must leave a graph that can be found, got none by random search; "
            "nasgoat space check decides whether there is one"
        )
    graphs = [graph for batch in space.enumerate() for graph in batch]
    if not graphs:
        raise make_empty_error(space)
    return graphs[int(rng.integers(len(graphs)))]


def make_empty_error(space: SearchSpace) -> EmptySpaceError:
    """The error of limits that nothing satisfies."""
    said = ", ".join(limit.text for limit in space.all_limits)
    return EmptySpaceError(f"the limits must leave at least one graph, got none under {said}")


def vary_within_limits(
    space: SearchSpace, graph: LabeledGraph, count: int, rng: np.random.Generator, edits: int = 1
) -> list[LabeledGraph]:
    """Mutations that satisfy every limit; random graphs where too few of them do."""
    key = space.key(graph)
    found: list[LabeledGraph] = []
    for wider in range(_ROUNDS):
        tried = space._variants(graph, 3 * count + 4, rng, edits + wider)
        fits = space.within_limits(tried)
        found += [g for g, fit in zip(tried, fits, strict=True) if fit and space.key(g) != key]
        if len(found) >= count:
            return found[:count]
    if near := space.neighbours(graph):
        return fill_up(found, count, near, rng)
    found += space.sample(count - len(found), rng, {key})
    # Hardly any other graph may be in the space.
    return found + [found[0] if found else graph] * (count - len(found))


def fill_up(
    found: list[LabeledGraph],
    count: int,
    others: Sequence[LabeledGraph],
    rng: np.random.Generator,
) -> list[LabeledGraph]:
    """Add random graphs to those found until there are ``count``."""
    return found + [others[i] for i in rng.integers(len(others), size=count - len(found))]


def list_others(
    space: SearchSpace, graph: LabeledGraph, candidates: Iterable[LabeledGraph]
) -> list[LabeledGraph]:
    """The candidates other than the graph itself, each once up to isomorphism."""
    found = {space.key(graph): graph}
    for other in candidates:
        found.setdefault(space.key(other), other)
    return list(found.values())[1:]


def bound_moves(n: int) -> int:
    """How many moves from a graph of n nodes are listed: more would take seconds.

    Example:
        >>> bound_moves(7), bound_moves(100)
        (40816, 200)
    """
    return _MOVES // n**2


def _walk(space: SearchSpace, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph | None:
    """Steps to the neighbour least beyond its limits, ties at random, until none is exceeded."""
    best, since = np.inf, 0
    while since < _PATIENCE:
        near = space._neighbours(graph)
        if not near:
            return None
        beyond = _sum_excess(space, near)
        since = 0 if beyond.min() < best else since + 1
        best = min(best, float(beyond.min()))
        least = np.flatnonzero(beyond <= beyond.min() + 1e-12)
        graph = near[int(rng.choice(least))]
        if space.within_limits([graph])[0]:
            return graph
    return None


def _sum_excess(space: SearchSpace, graphs: list[LabeledGraph]) -> NDArray[np.float64]:
    """By how much each graph is beyond its limits in all, each limit in units of its bound."""
    found = np.zeros(len(graphs))
    for limit, total in zip(space.all_limits, space.limit_totals(graphs), strict=True):
        found += np.maximum(limit.excess(total), 0.0) / max(1.0, abs(limit.bound))
    return found


def draw_cell(space: CellSpace, rng: np.random.Generator) -> LabeledGraph:
    """A random label on every variable of a random structure."""
    total = sum(len(found.adjacency) for found in space.listed.values())
    if not total:
        raise SpaceError(f"the space must have a structure, got none: {space._describe()}")
    i = int(rng.integers(total))
    for found in space.listed.values():
        if i < len(found.adjacency):
            matrix = found.adjacency[i]
            return space.assemble(matrix, _draw_codes(space.choices(matrix), rng))
        i -= len(found.adjacency)
    raise AssertionError("the place of a structure must be less than their number")


def change_one_part(
    space: CellSpace, graph: LabeledGraph, rng: np.random.Generator
) -> LabeledGraph:
    """A cell with one operation changed or, about as often as any one of these, its structure."""
    matrix, codes = space.sites.take_apart(graph)
    near = _list_near_structures(space, matrix)
    choices = space.choices(matrix)
    places = [place for place, own in enumerate(choices) if len(own) > 1]
    if not places and not near:
        return graph
    part = int(rng.integers(len(places) + bool(near)))
    if part < len(places):
        changed, own = list(codes), choices[places[part]]
        step = own.index(changed[places[part]]) + int(rng.integers(1, len(own)))
        changed[places[part]] = own[step % len(own)]
        return space.assemble(matrix, changed)
    other = near[int(rng.integers(len(near)))]
    kept = zip(space.sites.carry_over(matrix, codes, other), space.choices(other), strict=True)
    labels = [own[int(rng.integers(len(own)))] if code is None else code for code, own in kept]
    return space.assemble(other, labels)


def _draw_codes(choices: Sequence[Sequence[int]], rng: np.random.Generator) -> list[int]:
    places = rng.integers([len(own) for own in choices]).tolist() if choices else []
    return [own[place] for own, place in zip(choices, places, strict=True)]


def list_changes(space: CellSpace, graph: LabeledGraph) -> Iterator[LabeledGraph]:
    """Every cell with one other operation, and cells of near structures; some more than once."""
    matrix, codes = space.sites.take_apart(graph)
    for place, (code, own) in enumerate(zip(codes, space.choices(matrix), strict=True)):
        for other in own:
            if other != code:
                yield space.assemble(matrix, [*codes[:place], other, *codes[place + 1 :]])
    for structure in _list_near_structures(space, matrix):
        kept = space.sites.carry_over(matrix, codes, structure)
        new_choices = zip(kept, space.choices(structure), strict=True)
        fitting = [set(own) for code, own in new_choices if code is None]
        for new in sorted(set.intersection(*fitting)) if fitting else [0]:
            yield space.assemble(structure, [new if code is None else code for code in kept])


def _list_near_structures(space: CellSpace, matrix: Matrices) -> list[Matrices]:
    """The structures of this or a neighbouring size with the fewest other edges."""
    n = len(matrix)
    found: list[tuple[int, Matrices]] = []
    for m in (n - 1, n, n + 1):
        listed = space.listed[m].adjacency if m in space.sizes else None
        if listed is None or not len(listed):
            continue
        differs = (space.sites.embed(matrix, m) != listed).sum(axis=(1, 2))
        chosen = np.argsort(differs, kind="stable")[: _NEAR + 1]
        found += [(int(differs[i]), listed[i]) for i in chosen if m != n or differs[i]]
    found.sort(key=lambda pair: pair[0])
    least = found[0][0] if found else 0
    return [other for differs, other in found[:_NEAR] if differs <= least + 1]
