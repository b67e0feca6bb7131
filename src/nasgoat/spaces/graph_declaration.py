"""The declaration of a graph space: checked, described in words, and read into arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import SpaceError, UnknownNameError
from nasgoat.spaces.declared_values import count_subsets, read_range, say_range
from nasgoat.spaces.graph_rules import UNBOUNDED, DegreeBounds, FixedParts, GraphRules
from nasgoat.spaces.label_sites import INPUT, OUTPUT

if TYPE_CHECKING:
    from nasgoat.spaces.graph_space import GraphSpace

PARTS = ("edges", "not_edges", "labels", "not_labels")
_ANY = -2
_CONNECTED = {
    "connected": "connected",
    "strong": "every node reaches every other",
    "paths": "every node on a path between source and sink",
}


def check_numbers(space: GraphSpace) -> None:
    """Raise :class:`SpaceError` unless numbers and degrees fit each other and the direction."""
    for name in ("sources", "sinks", "min_edges"):
        value = getattr(space, name)
        if not _is_count(value):
            raise SpaceError(f"{name} must be a number of at least 0, got {value!r}")
    if space.sources + space.sinks > space.sizes[0]:
        raise SpaceError(
            f"sources and sinks must be at most the {space.sizes[0]} nodes, "
            f"got {space.sources} and {space.sinks}"
        )
    most = space.max_edges
    if most is not None and not _is_count(most):
        raise SpaceError(f"max_edges must be a number of at least 0, got {most!r}")
    if space.min_edges > space.edge_limit:
        raise SpaceError(
            f"min_edges must be at most {space.edge_limit}, the largest number of edges, "
            f"got {space.min_edges}"
        )
    if space.direction == "undirected" and (space.sources or space.sinks):
        raise SpaceError("sources and sinks must be 0 where edges have no direction")
    if space.connectivity == "paths" and not (space.sources or space.sinks):
        raise SpaceError("connectivity 'paths' must come with sources or sinks, got neither")
    used = ("in_degree", "out_degree") if space.direction == "undirected" else ("degree",)
    for name in used:
        if getattr(space, name):
            raise SpaceError(
                f"{name} must not be given for {space.direction} graphs, "
                f"got {dict(getattr(space, name))}"
            )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def describe(space: GraphSpace) -> str:
    """The declaration in a sentence, limits aside."""
    parts = [f"{space.direction} graphs of {say_range(space.sizes)} nodes"]
    if space.sources or space.sinks:
        parts.append(f"{space.sources} sources and {space.sinks} sinks among them")
    if space.connectivity != "none":
        parts.append(_CONNECTED[space.connectivity])
    parts.append(f"{space.min_edges} to {space.edge_limit} edges")
    if space.node_ops:
        parts.append(f"nodes: {', '.join(space.node_ops)}")
    if space.edge_ops:
        parts.append(f"edges: {', '.join(space.edge_ops)}")
    for name in ("degree", "in_degree", "out_degree"):
        if bounds := getattr(space, name):
            pairs = {x: read_range(b, name, 0) for x, b in bounds.items()}
            said = ", ".join(f"{x} {say_range(range(a, b + 1))}" for x, (a, b) in pairs.items())
            parts.append(f"{name.replace('_', '-')}s: {said}")
    if space.fixed:
        parts.append(f"the first {space.rules.fixed.pinned} nodes with fixed parts")
    return "; ".join(parts)


def put_tables_last(declared: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as plain values in the order of a TOML file: tables last, empty ones left out."""
    values = {name: x for name, x in declared.items() if not isinstance(x, Mapping)}
    return values | {n: _plain(x) for n, x in declared.items() if isinstance(x, Mapping) and x}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def count_choices(space: GraphSpace) -> int:
    """How many ways there are to put labels and edges on nodes: at least the number of graphs."""
    labels, ops = len(space.node_vocabulary) or 1, len(space.edge_ops) or 1
    high = space.rules.degree_in.high.max()
    total = 0
    for n in space.sizes:
        # An acyclic graph has an order of its nodes in which edges ascend.
        pairs = space.most_edges(n)
        most = min(space.edge_limit, pairs)
        if high < UNBOUNDED:
            most = min(most, n * int(high) // (1 if space.directed else 2))
        total += labels**n * count_subsets(pairs, space.min_edges, most, ops)
    return total


def read_rules(space: GraphSpace) -> GraphRules:
    """What the declaration demands of a graph, as arrays."""
    labels = space.node_vocabulary or ("",)
    kinds = ("in_degree", "out_degree") if space.directed else ("degree", "degree")
    into, out = (
        DegreeBounds.of(getattr(space, kind), labels, kind, end)
        for kind, end in zip(kinds, (INPUT, OUTPUT), strict=True)
    )
    return GraphRules(
        space.direction,
        space.connectivity,
        space.sources,
        space.sinks,
        space.min_edges,
        space.edge_limit,
        into,
        out,
        _read_weights(space.edge_weights, space.edge_ops),
        read_fixed_parts(space),
    )


def _read_weights(weights: Mapping[str, int], ops: Sequence[str]) -> NDArray[np.int64]:
    """What an edge of each operation adds to a degree, in code order."""
    for op, weight in weights.items():
        if op not in ops:
            raise UnknownNameError("an operation of edge_weights", op, ops or ["(none)"])
        if not _is_count(weight) or not 0 < weight < UNBOUNDED:
            raise SpaceError(f"edge_weights.{op} must be a positive number, got {weight!r}")
    return np.array([weights.get(op, 1) for op in ops], dtype=np.int64)


def read_fixed_parts(space: GraphSpace) -> FixedParts:
    """The fixed parts of a space.

    The declaration is a mapping with some of these keys; nodes are named by index, and those up to
    the largest named one are told apart.

    - ``edges``: edges that must be there, ``[u, v]`` or ``[u, v, operation]``;
    - ``not_edges``: edges that must not be there, with this operation or with any;
    - ``labels``: for a node its label, or a list of those it may have;
    - ``not_labels``: for a node a label, or a list of those it must not have.

    Raises:
        SpaceError: If a part is malformed or names a node that does not always exist.

    Example:
        >>> from nasgoat.spaces import GraphSpace
        >>> fixed = {"edges": [[0, 1]], "labels": {"0": "C"}}
        >>> GraphSpace(3, ["C", "O"], direction="undirected", fixed=fixed).rules.fixed.pinned
        2
    """
    given = space.fixed
    for name in given:
        if name not in PARTS:
            raise UnknownNameError("a part of fixed", name, PARTS)
    edges = dict(_read_edges(space, "edges"))
    barred: dict[tuple[int, int], frozenset[int]] = {}
    every = frozenset(range(max(len(space.edge_ops), 1)))
    for pair, code in _read_edges(space, "not_edges"):
        barred[pair] = barred.get(pair, frozenset()) | (every if code == _ANY else {code})
    for pair, codes in barred.items():
        if pair in edges and (edges[pair] in codes or codes == every):
            raise SpaceError(f"fixed must not demand and forbid the edge {list(pair)}")
    labels = {v: frozenset(codes) for v, codes in _read_labels(space, "labels")}
    everything = frozenset(range(len(space.node_vocabulary)))
    for v, without in _read_labels(space, "not_labels"):
        labels[v] = labels.get(v, everything) - set(without)
        if not labels[v]:
            raise SpaceError(f"fixed must leave node {v} a label, got none")
    return FixedParts(edges, barred, labels)


def _read_edges(space: GraphSpace, name: str) -> list[tuple[tuple[int, int], int]]:
    found = []
    for part in _read_sequence(space.fixed.get(name, ()), f"fixed.{name}"):
        entry = list(_read_sequence(part, f"an edge of fixed.{name}"))
        if len(entry) not in (2, 3):
            raise SpaceError(f"an edge of fixed.{name} must be [u, v] or [u, v, op], got {part!r}")
        u, v = (_read_node(space, x, name) for x in entry[:2])
        if u == v:
            raise SpaceError(f"an edge of fixed.{name} must join two nodes, got {part!r}")
        code = _ANY
        if len(entry) == 3:
            if entry[2] not in space.edge_ops:
                known = space.edge_ops or ["(none)"]
                raise UnknownNameError(f"an operation of fixed.{name}", entry[2], known)
            code = list(space.edge_ops).index(entry[2])
        found.append(((u, v) if space.directed or u < v else (v, u), code))
    return found


def _read_labels(space: GraphSpace, name: str) -> list[tuple[int, list[int]]]:
    given = space.fixed.get(name, {})
    if not isinstance(given, Mapping):
        raise SpaceError(f"fixed.{name} must be a table of nodes, got {given!r}")
    vocabulary = space.node_vocabulary
    found = []
    for node, value in given.items():
        labels = (
            [value] if isinstance(value, str) else _read_sequence(value, f"fixed.{name}.{node}")
        )
        for label in labels:
            if label not in vocabulary:
                raise UnknownNameError(f"a label of fixed.{name}", label, vocabulary or ["(none)"])
        v = _read_node(space, int(node) if str(node).isdigit() else node, name)
        found.append((v, [vocabulary.index(label) for label in labels]))
    return found


def _read_sequence(value: Any, name: str) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise SpaceError(f"{name} must be a list, got {value!r}")
    return value


def _read_node(space: GraphSpace, v: Any, name: str) -> int:
    smallest = space.sizes[0]
    if not isinstance(v, int) or isinstance(v, bool) or not 0 <= v < smallest:
        raise SpaceError(
            f"fixed.{name} must name nodes that always exist, 0 to {smallest - 1}, got {v!r}"
        )
    return v
