"""Limits from text such as ``conv3x3 + 2*conv1x1 <= 3``: read by a small grammar, never evaluated.

    limit  = sum ("<=" | ">=" | "==") sum
    sum    = ["+" | "-"] term (("+" | "-") term)*
    term   = number ["*" item] | item ["*" number]
    item   = operation [place] | "node:" operation | "edge:" operation [place]
           | "nodes" | "edges" | "depth" | "sum(" cost ")" | cost
           | cell "." item, in one of several cells; without it, in all cells that know the item
    place  = "[" u ">" v "]", one edge of a space that tells its nodes apart;
             "[" layer "]" in a chain, whose layer i is the edge i>i+1

An operation that is no plain word, or is called like one of the words above, stands in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nasgoat.errors import NasgoatError, SpaceError, UnknownNameError
from nasgoat.spaces.costs import (
    CELL,
    CONSTANT,
    COUNTED,
    Cost,
    CostPart,
    Costs,
    add_parts,
    list_parts,
    place_in_cell,
    read_number,
    read_table,
)
from nasgoat.spaces.limits import Limit, Pair, quote

_Token = tuple[str, str]  # its kind and its text
_LONGEST = 20_000  # characters of a limit: a term for each layer and operation fits
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<sense><=|>=|==)
      | (?P<cell>[^\W\d]\w*)\s*\.(?!\d)
      | sum\s*\(\s*(?P<cost>[^()'"]*?)\s*\)
      | (?P<kind>node:|edge:)
      | \[\s*(?P<place>\d+(?:\s*>\s*\d+)?)\s*\]
      | (?P<quoted>'[^']*'|"[^"]*")
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])
      | (?P<word>\w+)
      | (?P<sign>[-+*])
    )""",
    re.VERBOSE,
)
_PLACE = re.compile(r"\s*\d{1,4}\s*(>\s*\d{1,4}\s*)?$")


@dataclass(frozen=True)
class Vocabulary:
    """The names that a limit may use: the operations of a space and the user's costs.

    Args:
        node_ops: Operations on nodes.
        edge_ops: Operations on edges.
        costs: What each operation adds to each cost, everywhere or by place; a missing one adds 0.
        places: The edges that a limit may name one by one: those of indexed nodes.
        layers: Number of layers if the graphs are chains, else 0.
        cells: The names that each of several cells has for itself; then there are no others.
    """

    node_ops: Sequence[str]
    edge_ops: Sequence[str]
    costs: Costs
    places: Collection[Pair] = ()
    layers: int = 0
    cells: Mapping[str, Vocabulary] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.costs:
            self.list_cost(name)  # for its checks

    def list_cost(self, name: str) -> list[CostPart]:
        """What each operation adds to a cost: everywhere, or at one place."""
        if name not in self.costs:
            raise UnknownNameError("the cost of a limit", name, self.costs or ["(none)"])
        cost = self.costs[name]
        if isinstance(cost, Cost):
            return list_parts(cost.terms, cost.constant)
        if isinstance(cost, str):
            plain = {cell: replace(words, costs={}) for cell, words in self.cells.items()}
            return _Reader(cost, replace(self, costs={}, cells=plain), "a cost").read_cost(name)
        if self.cells:
            return self._list_cost_of_cells(name, cost)
        return list(read_table(name, cost, self.node_ops, self.edge_ops, self.place, self.layers))

    def _list_cost_of_cells(self, name: str, table: Mapping[str, Any]) -> list[CostPart]:
        """A table for all cells: in each cell what it says of the operations that are there."""
        found: list[CostPart] = []
        known = {op for words in self.cells.values() for op in words.ops}
        for key in table:
            if key not in (*known, *COUNTED, CONSTANT):
                raise UnknownNameError(f"an operation of costs.{name}", key, sorted(known))
        found += [(CONSTANT, "", read_number(f"costs.{name}.{CONSTANT}", table.get(CONSTANT, 0.0)))]
        for cell, words in self.cells.items():
            own = {key: cost for key, cost in table.items() if key in (*words.ops, *COUNTED)}
            listed = replace(words, costs={name: own}).list_cost(name)
            found += [place_in_cell(cell, part) for part in listed]
        return found

    @property
    def ops(self) -> tuple[str, ...]:
        """All operations, on nodes and on edges, of all cells."""
        inner = [op for words in self.cells.values() for op in words.ops]
        return tuple(dict.fromkeys((*self.node_ops, *self.edge_ops, *inner)))

    def is_cost(self, word: str) -> bool:
        """Whether a word can only mean a cost: it is no operation's name, and no count's."""
        return word in self.costs and word not in (*self.ops, *COUNTED)

    def make_cost(self, name: str) -> Cost:
        """A declared cost as a value."""
        return Cost(name, *add_parts(name, self.list_cost(name)))

    def place(self, text: str) -> Pair:
        """The edge that a place such as ``0>3``, or a layer of a chain, stands for."""
        numbers = [int(part) for part in re.findall(r"\d+", text)[:2]] if _PLACE.match(text) else []
        if len(numbers) == 1 and self.layers:
            numbers.append(numbers[0] + 1)
        if len(numbers) != 2 or (numbers[0], numbers[1]) not in self.places:
            if not self.places:
                raise SpaceError(
                    "a cost or a limit must name no place where nodes are not told apart, got "
                    f"{text!r}; leave the place out, an operation counts the same everywhere"
                )
            layers = f"a layer from 0 to {self.layers - 1}" if self.layers else ""
            known = layers or "an edge such as 0>1"
            raise SpaceError(f"the place of a cost must be {known}, got {text!r}")
        return numbers[0], numbers[1]


def parse_limit(text: str, words: Vocabulary, name: str | None = None) -> Limit:
    """A limit from its text.

    Args:
        text: See the grammar above.
        words: The names it may use.
        name: The limit's name; the text itself if None.

    Raises:
        SpaceError: If the text is no limit, or names an operation or a cost that is not declared.

    Example:
        >>> words = Vocabulary(["conv", "pool"], [], {"params": {"conv": 1e6, "pool": 0}})
        >>> parse_limit("conv + 1 <= edges", words).text
        'conv - edges <= -1'
        >>> parse_limit("sum(params) <= 2.5e6", words).node_ops["conv"]
        1000000.0
    """
    if not isinstance(text, str):
        raise SpaceError(f"a limit must be text, got {text!r}")
    return _Reader(text, words).read_limit(name or " ".join(text.split()))


def _list_tokens(text: str, said: str) -> Iterator[_Token]:
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            rest = text[place:].strip()
            hint = "; write <= or >=" if rest[0] in "<>=" else ""
            like = "'conv + 2*pool <= 3'" if said == "a limit" else "'2*conv + 0.5'"
            raise SpaceError(f"{said} must be like {like}, got {rest[:20]!r} in {text!r}{hint}")
        kind = str(match.lastgroup)
        yield kind, match[kind]
        place = match.end()


class _Reader:
    """Reads tokens from left to right, adding up coefficients."""

    def __init__(self, text: str, words: Vocabulary, said: str = "a limit") -> None:
        if len(text) > _LONGEST:
            raise SpaceError(f"{said} must have at most {_LONGEST} characters, got {len(text)}")
        self.text, self.words, self.said = text, words, said
        self.tokens = list(_list_tokens(text, said))
        self.place = 0
        self.parts: list[CostPart] = []

    def read_limit(self, name: str) -> Limit:
        self._read_sum(1.0)
        sense = self._take("sense", "<=, >= or ==")
        self._read_sum(-1.0)
        if self.place < len(self.tokens):
            raise self._refuse("one <=, >= or ==")
        terms, constant = add_parts(name, self.parts)
        if not any(coefficient for kind, _, coefficient in list_parts(terms)):
            raise SpaceError(f"a limit must name an operation or a count, got {self.text!r}")
        return replace(terms, sense=sense, bound=0.0 - constant)

    def read_cost(self, name: str) -> list[CostPart]:
        self._read_sum(1.0)
        if self.place < len(self.tokens):
            raise self._refuse(f"+, - or the end of costs.{name}")
        return self.parts

    def _read_sum(self, factor: float) -> None:
        signs = {("sign", "+"): factor, ("sign", "-"): -factor}
        if self._peek() not in signs:
            self._read_term(factor)
        while self._peek() in signs:
            self.place += 1
            self._read_term(signs[self.tokens[self.place - 1]])

    def _read_term(self, factor: float) -> None:
        if self._peek()[0] == "number":
            factor *= float(self._take("number", "a number"))
            if self._peek() != ("sign", "*"):
                self.parts.append(("constant", "", factor))
                return
            self.place += 1
            parts = self._read_item()
        else:
            parts = self._read_item()
            if self._peek() == ("sign", "*"):
                self.place += 1
                factor *= float(self._take("number", "a number"))
        self.parts += [(kind, name, factor * coefficient) for kind, name, coefficient in parts]

    def _read_item(self) -> list[CostPart]:
        """An operation, a count or a cost, as coefficients."""
        kind, value = self._peek()
        if kind == CELL:
            return self._read_item_of_cell()
        if self.words.cells and not self._is_cost_of_all():
            return self._read_item_of_all_cells()
        if kind not in ("cost", "kind", "word", "quoted"):
            raise self._refuse("an operation, a count or a number")
        self.place += 1
        if kind == "cost" or (kind == "word" and self.words.is_cost(value)):
            return self.words.list_cost(value)
        if kind == "kind":
            quoted = self._peek()[0] == "quoted"
            name = self._take("quoted" if quoted else "word", "an operation")
            return [self._find_operation(name.strip("'\""), value[:-1])]
        if kind == "word" and value in COUNTED:
            return [("count", value, 1.0)]
        return [self._find_operation(value.strip("'\""))]

    def _read_item_of_cell(self) -> list[CostPart]:
        """An item of the one cell that is named before it."""
        name = self._take(CELL, "a cell")
        if name not in self.words.cells:
            raise UnknownNameError(f"a cell in {self.said}", name, self.words.cells or ["(none)"])
        said, self.said = self.said, f"{self.said} of the cell {name}"
        parts = self._read_with(self.words.cells[name])
        self.said = said
        return [place_in_cell(name, part) for part in parts]

    def _is_cost_of_all(self) -> bool:
        kind, value = self._peek()
        known = value in self.words.costs
        return known and (kind == "cost" or (kind == "word" and self.words.is_cost(value)))

    def _read_item_of_all_cells(self) -> list[CostPart]:
        """An item that no cell is named for: that of every cell which knows it."""
        place, found, problems = self.place, [], []
        for name, words in self.words.cells.items():
            self.place = place
            try:
                found += [place_in_cell(name, part) for part in self._read_with(words)]
                end = self.place
            except NasgoatError as problem:
                problems.append(problem)
        if not found:
            raise problems[0]
        self.place = end
        return found

    def _read_with(self, words: Vocabulary) -> list[CostPart]:
        """An item, by the names that these words have."""
        own, self.words = self.words, words
        try:
            return self._read_item()
        finally:
            self.words = own

    def _find_operation(self, op: str, kind: str | None = None) -> CostPart:
        """An operation, on one edge alone if a place follows it."""
        words = {"node": self.words.node_ops, "edge": self.words.edge_ops}
        kinds = [k for k in words if op in words[k] and kind in (None, k)]
        if not kinds:
            known = [*words["node"], *words["edge"]] if kind is None else words[kind]
            raise UnknownNameError(f"an operation in {self.said}", op, [*known, *COUNTED])
        if len(kinds) > 1:
            raise SpaceError(
                f"an operation of nodes and of edges must be told apart in {self.said}, "
                f"got {op!r}; write node:{quote(op)} or edge:{quote(op)}"
            )
        if self._peek()[0] != "place":
            return kinds[0], op, 1.0
        if kinds[0] != "edge":
            raise SpaceError(f"only operations on edges must have a place, got {op!r} of nodes")
        return "place", (self.words.place(self._take("place", "a place")), op), 1.0

    def _peek(self) -> _Token:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "the end")

    def _take(self, kind: str, expected: str) -> str:
        if self._peek()[0] != kind:
            raise self._refuse(expected)
        self.place += 1
        return self.tokens[self.place - 1][1]

    def _refuse(self, expected: str) -> SpaceError:
        said = f"got {self._peek()[1]!r} in {self.text!r}"
        return SpaceError(f"{self.said} must have {expected} here, {said}")
