"""Limits from text such as ``conv3x3 + 2*conv1x1 <= 3``: read by a small grammar, never evaluated.

    limit  = sum ("<=" | ">=" | "==") sum
    sum    = ["+" | "-"] term (("+" | "-") term)*
    term   = number ["*" item] | item ["*" number]
    item   = operation | "node:" operation | "edge:" operation | "nodes" | "edges" | "depth"
           | "sum(" cost ")"

An operation that is no plain word, or is called like one of the words above, stands in quotes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nasgoat.errors import SpaceError, UnknownNameError
from nasgoat.spaces.limits import Limit, quoted

Costs = Mapping[str, Mapping[str, float]]
_LONGEST = 2000  # characters of a limit
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<sense><=|>=|==)
      | (?P<cost>sum\s*\(\s*(?P<costname>[^()'"]*?)\s*\))
      | (?P<kind>node:|edge:)
      | (?P<quoted>'[^']*'|"[^"]*")
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])
      | (?P<word>\w+)
      | (?P<sign>[-+*])
    )""",
    re.VERBOSE,
)
_COUNTED = ("nodes", "edges", "depth")


@dataclass(frozen=True)
class Vocabulary:
    """What a limit may speak of: the operations of a space and the user's costs.

    Args:
        node_ops: Operations on nodes.
        edge_ops: Operations on edges.
        costs: For each cost the number that each operation adds; a missing operation adds 0.
    """

    node_ops: Sequence[str]
    edge_ops: Sequence[str]
    costs: Costs

    def __post_init__(self) -> None:
        for name, table in self.costs.items():
            for op, cost in table.items():
                if op not in (*self.node_ops, *self.edge_ops):
                    known = (*self.node_ops, *self.edge_ops)
                    raise UnknownNameError(f"an operation of costs.{name}", op, known)
                if isinstance(cost, bool) or not isinstance(cost, int | float):
                    raise SpaceError(f"costs.{name}.{op} must be a number, got {cost!r}")
                if not math.isfinite(_as_float(cost)):
                    raise SpaceError(f"costs.{name}.{op} must be finite, got {cost!r}")


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
_Part = tuple[str, str, float]  # "node", "edge" or "count", the name, the coefficient


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
        kind = "cost" if match.group("cost") else str(match.lastgroup)
        yield kind, match.group("costname" if kind == "cost" else kind)
        place = match.end()


class _Reader:
    """Reads tokens from left to right, adding up coefficients."""

    def __init__(self, text: str, words: Vocabulary, tokens: list[_Token]) -> None:
        self.text = text
        self.words = words
        self.tokens = tokens
        self.place = 0
        self.parts: dict[str, dict[str, float]] = {"node": {}, "edge": {}, "count": {}}
        self.constant = 0.0

    def limit(self, name: str) -> Limit:
        self._sum(1.0)
        sense = self._next("sense", "<=, >= or ==")
        self._sum(-1.0)
        if self.place < len(self.tokens):
            raise self._wrong("one <=, >= or ==")
        counts = self.parts["count"]
        if not any(c for part in self.parts.values() for c in part.values()):
            raise SpaceError(f"a limit must name an operation or a count, got {self.text!r}")
        return Limit(
            name,
            sense,
            -self.constant + 0.0,  # no negative zero
            self.parts["node"],
            self.parts["edge"],
            **{word: counts.get(word, 0.0) for word in _COUNTED},
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
            found = self.parts[kind]
            found[name] = found.get(name, 0.0) + factor * coefficient

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
            return self._operation(name.strip("'\""), value[:-1])
        if kind == "word" and value in _COUNTED:
            return [("count", value, 1.0)]
        return self._operation(value.strip("'\""))

    def _cost(self, name: str) -> list[_Part]:
        if name not in self.words.costs:
            raise UnknownNameError("the cost of a limit", name, self.words.costs or ["(none)"])
        return [
            (kind, op, _as_float(cost))
            for op, cost in self.words.costs[name].items()
            for kind, ops in (("node", self.words.node_ops), ("edge", self.words.edge_ops))
            if op in ops
        ]

    def _operation(self, op: str, kind: str | None = None) -> list[_Part]:
        words = {"node": self.words.node_ops, "edge": self.words.edge_ops}
        kinds = [k for k in words if op in words[k] and kind in (None, k)]
        if not kinds:
            known = [*words["node"], *words["edge"]] if kind is None else words[kind]
            raise UnknownNameError("an operation in a limit", op, [*known, *_COUNTED])
        if len(kinds) > 1:
            raise SpaceError(
                f"an operation of nodes and of edges must be told apart in a limit, got {op!r}; "
                f"write node:{quoted(op)} or edge:{quoted(op)}"
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


def _as_float(number: str | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf
