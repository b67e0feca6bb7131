"""Costs that are known before anything is evaluated: linear in a graph's operations and counts.

A cost is declared by a table, or by the text of a sum:

    [costs.latency]
    conv = 1.5                # wherever the operation stands
    pool = [0.2, 0.4, 0.4]    # by layer, in a chain
    "0>3" = 0.1               # an edge between this pair of nodes, whatever its operation
    edges = 0.05              # for every edge; nodes and depth likewise
    constant = 0.3            # of every graph
    [costs.latency."0>1"]     # one edge and operation, beside what the operation costs everywhere
    conv = 0.5

    [costs]
    energy = "2*conv + 0.5*conv[0>1] + 3"

Places are those of spaces that tell their nodes apart. What a graph costs is the sum of all that
applies to it, so that a cost can be limited, and minimised, as a row of coefficients.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nasgoat.errors import SpaceError, UnknownNameError
from nasgoat.spaces.limits import Limit, Pair

CostPart = tuple[str, Any, float]  # where it applies, to what there, the coefficient
#: What counts in every graph; a cost may charge for it as it does for an operation.
COUNTED = ("nodes", "edges", "depth")
CONSTANT = "constant"
CELL = "cell"  # the kind of a part of one of several cells: its name, then kind and what


@dataclass(frozen=True)
class Cost:
    """What a graph costs, by coefficients: the total of ``terms`` plus a constant.

    Args:
        name: Its name, as in ``sum(name)``.
        terms: The coefficients, those of a limit; its sense and bound mean nothing here.
        constant: What every graph costs.

    Example:
        >>> from nasgoat import EdgeLabeledSpace
        >>> table = {"conv": 2, "0>2": 0.5, "constant": 1}
        >>> space = EdgeLabeledSpace(3, ["conv", "skip"]).constrain(costs={"latency": table})
        >>> cost = space.cost("latency")
        >>> cost.text
        '2*conv + 0.5*conv[0>2] + 0.5*skip[0>2] + 1'
        >>> cost.at_most(4).text
        '2*conv + 0.5*conv[0>2] + 0.5*skip[0>2] <= 3'
        >>> space.price([space.from_digits([1, 2, 1])], "latency").tolist()
        [5.5]
    """

    name: str
    terms: Limit
    constant: float = 0.0

    def __repr__(self) -> str:
        return f"<Cost {self.name!r}: {self.text}>"

    @property
    def text(self) -> str:
        """The cost as text that can be read again."""
        left, _, constant = replace(self.terms, bound=self.constant).text.rpartition(" <= ")
        if not self.constant:
            return left
        return constant if left == "0" else f"{left} + {constant}".replace("+ -", "- ")

    def at_most(self, bound: float) -> Limit:
        """The limit that the cost is at most ``bound``."""
        return replace(self.terms, sense="<=", bound=bound - self.constant)


#: For each cost its table (what an operation costs, in each layer of a chain, at one place; see
#: above), its text, or the cost itself.
Costs = Mapping[str, Mapping[str, Any] | str | Cost]


def read_table(
    name: str,
    table: Mapping[str, Any],
    node_ops: Sequence[str],
    edge_ops: Sequence[str],
    find_place: Callable[[str], Pair],
    layers: int,
) -> Iterator[CostPart]:
    """What a table adds to a cost, part by part.

    Args:
        name: The cost's name, for messages.
        table: Its table.
        node_ops: Operations on nodes.
        edge_ops: Operations on edges.
        find_place: Turns the text of a place into an edge, or raises :class:`SpaceError`.
        layers: Number of layers if the graphs are chains, else 0.

    Raises:
        SpaceError: If a cost is no finite number, or a place is none.
        UnknownNameError: If an operation is not declared.
    """
    ops = (*node_ops, *edge_ops)
    for key, cost in table.items():
        path = f"costs.{name}.{key}"
        if isinstance(cost, Mapping):
            yield from _read_place(path, find_place(key), cost, edge_ops)
        elif key in ops and isinstance(cost, list | tuple):
            if len(cost) != layers:
                must = f"have {layers} numbers, one a layer" if layers else "be a number"
                raise SpaceError(f"{path} must {must}, got {len(cost)} numbers")
            for i, number in enumerate(cost):
                yield "place", ((i, i + 1), key), read_number(f"{path}[{i}]", number)
        elif key in ops:
            number = read_number(path, cost)
            places = (("node", node_ops), ("edge", edge_ops))
            yield from ((where, key, number) for where, on in places if key in on)
        elif key in COUNTED:
            yield "count", key, read_number(path, cost)
        elif key == CONSTANT:
            yield CONSTANT, "", read_number(path, cost)
        elif key[:1].isdigit():
            number, pair = read_number(path, cost), find_place(key)
            yield from (("place", (pair, op), number) for op in edge_ops)
        else:
            raise UnknownNameError(f"an operation of costs.{name}", key, ops)


def add_parts(name: str, parts: Iterable[CostPart]) -> tuple[Limit, float]:
    """Parts as coefficients of a limit ``<= 0``, and their constant."""
    found: dict[str, dict[Any, float]] = defaultdict(lambda: defaultdict(float))
    in_cells: dict[str, list[CostPart]] = {}
    for kind, what, coefficient in parts:
        if kind == CELL:
            in_cells.setdefault(what[0], []).append((*what[1:], coefficient))
        else:
            found[kind][what] += coefficient
    cells = {cell: add_parts(name, own) for cell, own in in_cells.items()}
    placed: dict[Pair, dict[str, float]] = {}
    for (pair, op), coefficient in found["place"].items():
        placed.setdefault(pair, {})[op] = coefficient
    nodes, edges, depth = (found["count"].get(word, 0.0) for word in COUNTED)
    terms = {cell: own for cell, (own, _) in cells.items()}
    constant = found[CONSTANT].get("", 0.0) + sum(own for _, own in cells.values())
    limit = Limit(
        name,
        "<=",
        0.0,
        node_ops=found["node"],
        edge_ops=found["edge"],
        nodes=nodes,
        edges=edges,
        depth=depth,
        edge_places=placed,
        cells=terms,
    )
    return limit, constant


def list_parts(terms: Limit, constant: float = 0.0) -> list[CostPart]:
    """The other way round: coefficients as parts."""
    found: list[CostPart] = [("node", op, c) for op, c in terms.node_ops.items()]
    found += [("edge", op, c) for op, c in terms.edge_ops.items()]
    for pair, table in terms.edge_places.items():
        found += [("place", (pair, op), c) for op, c in table.items()]
    found += [("count", word, getattr(terms, word)) for word in COUNTED]
    for cell, own in terms.cells.items():
        found += [place_in_cell(cell, part) for part in list_parts(own)]
    return [*found, (CONSTANT, "", constant)]


def place_in_cell(cell: str, part: CostPart) -> CostPart:
    """What a part of one cell adds in a space of several.

    Example:
        >>> place_in_cell("normal", ("edge", "conv", 2.0))
        ('cell', ('normal', 'edge', 'conv'), 2.0)
    """
    kind, what, coefficient = part
    return (CELL, (cell, kind, what), coefficient) if kind != CONSTANT else part


def _read_place(
    path: str, pair: Pair, table: Mapping[str, Any], edge_ops: Sequence[str]
) -> Iterator[CostPart]:
    for op, number in table.items():
        if op not in edge_ops:
            raise UnknownNameError(f"an operation of {path}", op, edge_ops)
        yield "place", (pair, op), read_number(f"{path}.{op}", number)


def read_number(name: str, cost: Any) -> float:
    """A finite number of a cost, or :class:`SpaceError`."""
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        raise SpaceError(f"{name} must be a number, got {cost!r}")
    if not abs(cost) <= sys.float_info.max:  # NaN is not, nor is an integer too large for a float
        raise SpaceError(f"{name} must be finite, got {cost!r}")
    return float(cost)
