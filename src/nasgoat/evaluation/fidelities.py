"""Fidelities: how long a graph is trained, what that costs, and how an objective is told.

An objective with fidelities is called as ``train(graph, 12)``; the second argument is the value of
the fidelity. If it takes a third one, ``checkpoint``, it gets a folder that belongs to the graph:
what it keeps there after 12 epochs it finds there again when it is called for 200. A command finds
both in its environment, as ``NASGOAT_FIDELITY`` and ``NASGOAT_CHECKPOINT``.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph

#: Where a command finds the value of the fidelity, and the folder of the graph.
FIDELITY, CHECKPOINT = "NASGOAT_FIDELITY", "NASGOAT_CHECKPOINT"


@dataclass(frozen=True)
class Fidelity:
    """One way to evaluate a graph.

    Args:
        name: What is varied: ``"epochs"``.
        value: How much of it.
        cost: What an evaluation costs, in full ones: 1 is the full fidelity.

    Example:
        >>> str(Fidelity("epochs", 12, 0.06)), Fidelity("epochs", 12, 0.06).full
        ('epochs 12', False)
    """

    name: str
    value: float
    cost: float

    @property
    def full(self) -> bool:
        """Whether it is the full fidelity, whose error a search minimises."""
        return self.cost >= 1.0

    def __str__(self) -> str:
        return f"{self.name} {self.value:g}"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return asdict(self)


@dataclass(frozen=True)
class Fidelities:
    """The ways in which graphs are evaluated, from the cheapest to the full one.

    Args:
        levels: At least two, in ascending order of value and cost; the last costs 1.

    Example:
        >>> [level.cost for level in Fidelities.parse("epochs=12,50,200")]
        [0.06, 0.25, 1.0]
        >>> [level.cost for level in Fidelities.parse("epochs=12:1,200:10")]
        [0.1, 1.0]
    """

    levels: tuple[Fidelity, ...]

    def __getitem__(self, i: int) -> Fidelity:
        return self.levels[i]

    def __iter__(self) -> Iterator[Fidelity]:
        return iter(self.levels)

    def __len__(self) -> int:
        return len(self.levels)

    @classmethod
    def of(cls, given: Fidelities | str | Mapping[str, Any]) -> Fidelities:
        """What ``search(fidelities=...)`` takes.

        Args:
            given: ``"epochs=12,50,200"``; ``{"epochs": [12, 50, 200]}``, with costs in proportion;
                or ``{"epochs": {12: 1, 200: 10}}``, with costs.

        Example:
            >>> Fidelities.of({"epochs": {12: 1, 200: 10}})[0]
            Fidelity(name='epochs', value=12, cost=0.1)
        """
        if isinstance(given, Fidelities):
            return given
        if isinstance(given, str):
            return cls.parse(given)
        if not isinstance(given, Mapping) or len(given) != 1:
            raise SettingError(
                f"fidelities must be one name with its values, got {given!r}; for example "
                "{'epochs': [12, 200]}"
            )
        ((name, values),) = given.items()
        costs = list(values.values()) if isinstance(values, Mapping) else None
        return cls.make(str(name), list(values), costs)

    @classmethod
    def parse(cls, text: str) -> Fidelities:
        """The fidelities that ``"epochs=12,50,200"`` or ``"epochs=12:1,200:10"`` says."""
        name, _, rest = text.partition("=")
        pairs = [part.partition(":") for part in rest.split(",")]
        try:
            values = [_read_number(value) for value, _, _ in pairs]
            costs = [_read_number(cost) for _, _, cost in pairs if cost]
        except ValueError:
            values, costs = [], []
        if not name.strip() or not values or len(costs) not in (0, len(values)):
            raise SettingError(
                f"a fidelity must read NAME=VALUE,VALUE,... or NAME=VALUE:COST,..., got {text!r}"
            )
        return cls.make(name.strip(), values, costs or None)

    @classmethod
    def make(
        cls, name: str, values: Sequence[float], costs: Sequence[float] | None = None
    ) -> Fidelities:
        """Fidelities of values; what each costs in any unit, or in proportion to the values."""
        for what, numbers in (("value", values), ("cost", values if costs is None else costs)):
            for number in numbers:
                if isinstance(number, bool) or not isinstance(number, int | float):
                    raise SettingError(f"the {what} of a fidelity must be a number, got {number!r}")
                if not 0 < number < math.inf:
                    raise SettingError(f"the {what} of a fidelity must be positive, got {number:g}")
        if len(values) < 2:
            raise SettingError(f"there must be at least two fidelities, got {len(values)}")
        given = values if costs is None else costs
        for what, numbers in (("values", values), ("costs", given)):
            if any(b <= a for a, b in itertools.pairwise(numbers)):
                shown = ", ".join(f"{number:g}" for number in numbers)
                raise SettingError(f"the {what} of fidelities must increase, got {shown}")
        pairs = zip(values, given, strict=True)
        return cls(tuple(Fidelity(name, value, cost / given[-1]) for value, cost in pairs))

    def find(self, value: float | Fidelity | None) -> int:
        """The place of a fidelity, given its value; None is the full one.

        Raises:
            SettingError: If there is none of this value.
        """
        if value is None:
            return len(self) - 1
        number = value.value if isinstance(value, Fidelity) else value
        known = [level.value for level in self]
        if number not in known:
            shown = ", ".join(f"{each:g}" for each in known)
            raise SettingError(f"{self[0].name} must be one of {shown}, got {number!r}")
        return known.index(number)

    def declare(self) -> dict[str, Any]:
        """What must be the same when a search is resumed."""
        return {"name": self[0].name, "levels": [[level.value, level.cost] for level in self]}


def _read_number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number


def make_checkpoint(folder: str | None, graph: LabeledGraph) -> Path | None:
    """The folder of a graph, which is there then; None if there is none to keep them in."""
    if folder is None:
        return None
    name = hashlib.sha256(graph.to_json().encode()).hexdigest()[:16]
    path = Path(folder) / name
    path.mkdir(parents=True, exist_ok=True)
    return path


def open_checkpoints(
    fidelities: Fidelities | None,
    checkpoints: str | Path | None,
    storage: str | Path | None,
    study: str | None,
) -> AbstractContextManager[str | None]:
    """The folder of checkpoints: the one that is named, one beside the storage, or a passing one.

    Example:
        >>> epochs = Fidelities.parse("epochs=1,2")
        >>> with open_checkpoints(epochs, None, "runs/a.db", None) as folder:
        ...     Path(folder).name
        'a-checkpoints'
    """
    if fidelities is None:
        if checkpoints is not None:
            raise SettingError("checkpoints must come with fidelities, got none")
        return nullcontext()
    if checkpoints is not None:
        return nullcontext(str(Path(checkpoints).absolute()))
    if storage is None:
        return tempfile.TemporaryDirectory(
            prefix="nasgoat-checkpoints-", ignore_cleanup_errors=True
        )
    text = str(storage).removeprefix("sqlite:///")
    file = Path("checkpoints.db") if "://" in text else Path(text)
    ending = f"-{study}" if study else ""
    return nullcontext(str(file.with_name(f"{file.stem}{ending}-checkpoints").absolute()))


def call_objective(
    function: Callable[..., Any],
    graph: LabeledGraph,
    value: float | None = None,
    checkpoint: Path | None = None,
) -> Any:
    """Call an objective with what it takes of fidelity and checkpoint.

    Example:
        >>> cell = LabeledGraph.from_edges(2, [(0, 1)])
        >>> call_objective(lambda graph, epochs: 1.0 / epochs, cell, 50)
        0.02
    """
    if value is None:
        return function(graph)
    if checkpoint is not None and _takes_checkpoint(function):
        return function(graph, value, checkpoint=checkpoint)
    return function(graph, value)


def _takes_checkpoint(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a function that was not written in Python
        return False
    return any(p.name == "checkpoint" or p.kind is p.VAR_KEYWORD for p in parameters)
