"""Limits from text such as ``conv3x3 + 2*conv1x1 <= 3``: read by a small grammar, never evaluated.

    limit  = sum ("<=" | ">=" | "==") sum
    sum    = ["+" | "-"] term (("+" | "-") term)*
    term   = number ["*" item] | item ["*" number]
    item   = operation [place] | "node:" operation | "edge:" operation [place]
           | "nodes" | "edges" | "depth" | "sum(" cost ")"
    place  = "[" u ">" v "]", one edge of a space that tells its nodes apart;
             "[" layer "]" in a chain, whose layer i is the edge i>i+1

An operation that is no plain word, or is called like one of the words above, stands in quotes.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nasgoat.errors import SpaceError, UnknownNameError
from nasgoat.spaces.limits import Limit, Pair, quote

#: For each cost: what an operation costs (a number), what it costs in each layer of a chain (a
#: list), or a table of operations for one place ("0>3", or a layer's number in a chain).
Costs = Mapping[str, Mapping[str, Any]]
_LONGEST = 20_000  # characters of a limit: a term for each layer and operation fits
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<sense><=|>=|==)
      | (?P<cost>sum\s*\(\s*(?P<costname>[^()'"]*?)\s*\))
      | (?P<kind>node:|edge:)
      | (?P<place>\[\s*(?P<placename>\d+(?:\s*>\s*\d+)?)\s*\])
      | (?P<quoted>'[^']*'|"[^"]*")
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])
      | (?P<word>\w+)
      | (?P<sign>[-+*])
    )""",
    re.VERBOSE,
)
_PLACE = re.compile(r"\s*\d{1,4}\s*(>\s*\d{1,4}\s*)?$")
_COUNTED = ("nodes", "edges", "depth")


@dataclass(frozen=True)
class Vocabulary:
    """What a limit may speak of: the operations of a space and the user's costs.

    Args:
        node_ops: Operations on nodes.
        edge_ops: Operations on edges.
        costs: What each operation adds to each cost, everywhere or by place; a missing one adds 0.
        places: The edges that a limit may name one by one: those of indexed nodes.
        layers: Number of layers if the graphs are chains, else 0.
    """

    node_ops: Sequence[str]
    edge_ops: Sequence[str]
    costs: Costs
    places: Collection[Pair] = ()
    layers: int = 0

    def __post_init__(self) -> None:
        for name, table in self.costs.items():
            for key, cost in table.items():
                self._check_cost(f"costs.{name}", key, cost)

    def _check_cost(self, name: str, key: str, cost: Any) -> None:
        if isinstance(cost, Mapping):
            self.place(key)
            for op, number in cost.items():
                if op not in self.edge_ops:
                    raise UnknownNameError(f"an operation of {name}.{key}", op, self.edge_ops)
                _check_number(f"{name}.{key}.{op}", number)
            return
        if key not in (*self.node_ops, *self.edge_ops):
            known = (*self.node_ops, *self.edge_ops)
            raise UnknownNameError(f"an operation of {name}", key, known)
        if isinstance(cost, list | tuple):
            if len(cost) != self.layers:
                must = f"have {self.layers} numbers, one a layer" if self.layers else "be a number"
                raise SpaceError(f"{name}.{key} must {must}, got {len(cost)} numbers")
            for layer, number in enumerate(cost):
                _check_number(f"{name}.{key}[{layer}]", number)
            return
        _check_number(f"{name}.{key}", cost)

    def place(self, text: str) -> Pair:
        """The edge that a place such as ``0>3``, or a layer of a chain, stands for."""
        numbers = [int(part) for part in re.findall(r"\d+", text)[:2]] if _PLACE.match(text) else []
        if len(numbers) == 1 and self.layers:
            numbers.append(numbers[0] + 1)
        if len(numbers) != 2 or (numbers[0], numbers[1]) not in self.places:
            layers = f"a layer from 0 to {self.layers - 1}" if self.layers else ""
            known = layers or ("an edge such as 0>1" if self.places else "nothing in this space")
            raise SpaceError(f"the place of a cost must be {known}, got {text!r}")
        return numbers[0], numbers[1]


def parse_limit(text: str, words: Vocabulary, name: str | None = None) -> Limit:
    """A limit from its text.

    Args:
        text: See the grammar above.
        words: What it may speak of.
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
    if len(text) > _LONGEST:
        raise SpaceError(f"a limit must have at most {_LONGEST} characters, got {len(text)}")
    reader = _Reader(text, words, list(_tokens(text)))
    return reader.limit(name or " ".join(text.split()))


_Token = tuple[str, str]
_Part = tuple[str, str | tuple[Pair, str], float]  # where, what of it, the coefficient
_INSIDE = {"cost": "costname", "place": "placename"}  # what is between a token's brackets


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            rest = text[place:].strip()
            hint = "; write <= or >=" if rest[0] in "<>=" else ""
            raise SpaceError(
                f"a limit must be like 'conv + 2*pool <= 3', got {rest[:20]!r} in {text!r}{hint}"
            )
        kind = next(k for k in ("cost", "place", str(match.lastgroup)) if match.group(k))
        yield kind, match.group(_INSIDE.get(kind, kind))
        place = match.end()


class _Reader:
    """Reads tokens from left to right, adding up coefficients."""

    def __init__(self, text: str, words: Vocabulary, tokens: list[_Token]) -> None:
        self.text, self.words, self.tokens = text, words, tokens
        self.place = 0
        self.parts: dict[str, dict[Any, float]] = defaultdict(lambda: defaultdict(float))
        self.constant = 0.0

    def limit(self, name: str) -> Limit:
        self._sum(1.0)
        sense = self._next("sense", "<=, >= or ==")
        self._sum(-1.0)
        if self.place < len(self.tokens):
            raise self._wrong("one <=, >= or ==")
        counts = self.parts["count"]
        placed: dict[Pair, dict[str, float]] = {}
        for (pair, op), c in self.parts["place"].items():
            placed.setdefault(pair, {})[op] = c
        if not any(c for part in self.parts.values() for c in part.values()):
            raise SpaceError(f"a limit must name an operation or a count, got {self.text!r}")
        return Limit(
            name,
            sense,
            -self.constant + 0.0,  # no negative zero
            self.parts["node"],
            self.parts["edge"],
            **{word: counts.get(word, 0.0) for word in _COUNTED},
            edge_places=placed,
        )

    def _sum(self, factor: float) -> None:
        sign = self._sign() or "+"
        while True:
            self._term(factor if sign == "+" else -factor)
            sign = self._sign()
            if not sign:
                return

    def _sign(self) -> str:
        if self._peek() in (("sign", "+"), ("sign", "-")):
            return self._next("sign", "+ or -")
        return ""

    def _term(self, factor: float) -> None:
        if self._peek()[0] == "number":
            factor *= self._number()
            if self._peek() != ("sign", "*"):
                self.constant += factor
                return
            self.place += 1
            parts = self._item()
        else:
            parts = self._item()
            if self._peek() == ("sign", "*"):
                self.place += 1
                factor *= self._number()
        for kind, name, coefficient in parts:
            self.parts[kind][name] += factor * coefficient

    def _number(self) -> float:
        return _as_float(self._next("number", "a number"))

    def _item(self) -> list[_Part]:
        """An operation, a count or a cost, as coefficients."""
        kind, value = self._peek()
        if kind not in ("cost", "kind", "word", "quoted"):
            raise self._wrong("an operation, a count or a number")
        self.place += 1
        if kind == "cost":
            return self._cost(value)
        if kind == "kind":
            follows = self._peek()[0]
            name = self._next(follows if follows == "quoted" else "word", "an operation")
            return self._read_place(self._operation(name.strip("'\""), value[:-1]))
        if kind == "word" and value in _COUNTED:
            return [("count", value, 1.0)]
        return self._read_place(self._operation(value.strip("'\"")))

    def _read_place(self, parts: list[_Part]) -> list[_Part]:
        """An operation, on one edge alone if a place follows it."""
        if self._peek()[0] != "place":
            return parts
        where, op, c = parts[0]
        if where != "edge":
            raise SpaceError(f"only operations on edges must have a place, got {op!r} of nodes")
        pair = self.words.place(self._next("place", "a place"))
        return [("place", (pair, str(op)), c)]

    def _cost(self, name: str) -> list[_Part]:
        if name not in self.words.costs:
            raise UnknownNameError("the cost of a limit", name, self.words.costs or ["(none)"])
        found: list[_Part] = []
        for key, cost in self.words.costs[name].items():
            if isinstance(cost, Mapping):
                pair = self.words.place(key)
                found += [("place", (pair, op), _as_float(c)) for op, c in cost.items()]
            elif isinstance(cost, list | tuple):
                layers = enumerate(cost)
                found += [("place", ((i, i + 1), key), _as_float(c)) for i, c in layers]
            else:
                places = (("node", self.words.node_ops), ("edge", self.words.edge_ops))
                found += [(where, key, _as_float(cost)) for where, ops in places if key in ops]
        return found

    def _operation(self, op: str, kind: str | None = None) -> list[_Part]:
        words = {"node": self.words.node_ops, "edge": self.words.edge_ops}
        kinds = [k for k in words if op in words[k] and kind in (None, k)]
        if not kinds:
            known = [*words["node"], *words["edge"]] if kind is None else words[kind]
            raise UnknownNameError("an operation in a limit", op, [*known, *_COUNTED])
        if len(kinds) > 1:
            raise SpaceError(
                f"an operation of nodes and of edges must be told apart in a limit, got {op!r}; "
                f"write node:{quote(op)} or edge:{quote(op)}"
            )
        return [(kinds[0], op, 1.0)]

    def _peek(self) -> _Token:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "the end")

    def _next(self, kind: str, expected: str) -> str:
        if self._peek()[0] != kind:
            raise self._wrong(expected)
        self.place += 1
        return self.tokens[self.place - 1][1]

    def _wrong(self, expected: str) -> SpaceError:
        found = self._peek()[1]
        return SpaceError(f"a limit must have {expected} here, got {found!r} in {self.text!r}")


def _check_number(name: str, cost: Any) -> None:
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        raise SpaceError(f"{name} must be a number, got {cost!r}")
    if not math.isfinite(_as_float(cost)):
        raise SpaceError(f"{name} must be finite, got {cost!r}")


def _as_float(number: str | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf
