"""What a search minimises, and what must hold: one error, or several measured values.

An objective function returns a mapping of metrics. Some of them are minimised, others limited; what
the space declares as a cost is known before and need not be returned. A limit on what the space
knows (counts of operations, declared costs) is a limit of the space itself and never broken; a
limit on anything else is *measured*: whether a graph keeps it is known once it is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nasgoat.bayesopt.measured_limits import (
    MeasuredLimit,
    find_misspelt,
    name_words,
    refuse_contradictions,
)
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.evaluation import Outcome, check_metrics
from nasgoat.evaluation.objectives import ERROR
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

MOST_OBJECTIVES = 3


@dataclass(frozen=True)
class Objectives:
    """What a search minimises, and which measured limits it must keep.

    Args:
        names: The metrics to minimise, one to three.
        limits: Limits on metrics.
        known: Which of the names are costs that the space declares.
        learn_failures: Whether evaluations that failed count as a broken limit.

    Example:
        >>> objectives = Objectives.of(["error", "latency"], ["energy <= 20"])
        >>> objectives.names, objectives.needed, objectives.plain
        (('error', 'latency'), ('error', 'latency', 'energy'), False)
        >>> Objectives().plain
        True
    """

    names: tuple[str, ...] = ERROR
    limits: tuple[MeasuredLimit, ...] = ()
    known: tuple[str, ...] = ()
    learn_failures: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.names) <= MOST_OBJECTIVES:
            raise SettingError(
                f"one to {MOST_OBJECTIVES} values must be minimised, got {len(self.names)}"
            )
        for name in self.names:
            if not isinstance(name, str):
                raise SettingError(f"a value to minimise must be named by a text, got {name!r}")
        if len({*self.names}) < len(self.names):
            raise SettingError(f"each value must be minimised once, got {', '.join(self.names)}")
        if {*self.names} <= {*self.known}:
            raise SettingError(
                "at least one value must be measured, got costs of the space alone: "
                f"{', '.join(self.names)}; what is known of every graph needs no search"
            )
        refuse_contradictions(self.limits)

    @classmethod
    def of(
        cls,
        minimise: Sequence[str] | str | None = None,
        limits: Sequence[str | MeasuredLimit] | str = (),
        learn_failures: bool = False,
        space: SearchSpace | None = None,
    ) -> Objectives:
        """The objectives of a search, as its user writes them.

        Args:
            minimise: Names of metrics, or of costs that the space declares; by default the error.
            limits: Such as ``"latency <= 5"``.
            learn_failures: Whether to avoid graphs that will probably fail.
            space: The space, which knows its costs.
        """
        names = (minimise,) if isinstance(minimise, str) else tuple(minimise or ERROR)
        given = (limits,) if isinstance(limits, str) else limits
        found = [MeasuredLimit.of(each) for each in given]
        costs = {cost.name for cost in (() if space is None else space.costs)}
        known = tuple(name for name in names if name in costs)
        return cls(names, tuple(found), known, learn_failures)

    @property
    def plain(self) -> bool:
        """Whether one error is minimised and nothing else counts."""
        return self == PLAIN

    @property
    def several(self) -> bool:
        """Whether more than one value is minimised, so that the result is a front."""
        return len(self.names) > 1

    @property
    def pair(self) -> bool:
        """Whether two values are minimised."""
        return len(self.names) == 2

    @property
    def measured(self) -> tuple[str, ...]:
        """The names of what is minimised and not known before."""
        return tuple(name for name in self.names if name not in self.known)

    @property
    def main(self) -> str:
        """What the settings of an error are for: the error, or the first value that is measured."""
        return ERROR[0] if ERROR[0] in self.measured else self.measured[0]

    @property
    def needed(self) -> tuple[str, ...]:
        """The metrics that an objective function must return."""
        return tuple(dict.fromkeys((*self.measured, *(limit.name for limit in self.limits))))

    def is_feasible(self, metrics: Mapping[str, Any]) -> bool:
        """Whether measured metrics keep every limit."""
        return all(limit.holds(metrics) for limit in self.limits)

    def pick(self, metrics: Mapping[str, Any]) -> tuple[float, ...]:
        """The values that are minimised."""
        return tuple(float(metrics[name]) for name in self.names)

    def complete(self, space: SearchSpace, graph: LabeledGraph, outcome: Outcome) -> Outcome:
        """An outcome with the costs that are minimised and that the space knows of its graph."""
        if outcome.metrics is None or not self.known:
            return outcome
        both = {**outcome.metrics, **self._price(space, graph)}
        first = {name: both[name] for name in self.names}
        return Outcome({**first, **both}, None, outcome.attempts)

    def check(self, space: SearchSpace, graph: LabeledGraph, told: object) -> dict[str, float]:
        """What is minimised or limited, as numbers, given what was told of a graph.

        Raises:
            ObservationError: If a value is missing or no finite number.
        """
        found = check_metrics(told, self.needed)
        return {**{name: found[name] for name in self.needed}, **self._price(space, graph)}

    def _price(self, space: SearchSpace, graph: LabeledGraph) -> dict[str, float]:
        return {name: float(space.price([graph], name)[0]) for name in self.known}

    def declare(self) -> dict[str, Any]:
        """What must be the same when a search is resumed; nothing for a plain error."""
        if self.plain:
            return {}
        declared: dict[str, Any] = {"minimise": list(self.names)}
        if self.limits:
            declared["limits"] = [limit.text for limit in self.limits]
        if self.learn_failures:
            declared["learn_failures"] = True
        return declared

    @classmethod
    def declared(
        cls, declaration: Mapping[str, Any], space: SearchSpace | None = None
    ) -> Objectives:
        """The objectives of a stored search; without its space, costs count as measured."""
        minimise, limits = declaration.get("minimise"), declaration.get("limits") or ()
        return cls.of(minimise, limits, bool(declaration.get("learn_failures")), space)

    def check_names(self, metrics: Sequence[str], space: SearchSpace | None = None) -> None:
        """Refuse names that are neither among the metrics of a benchmark nor costs of the space.

        Args:
            metrics: What the benchmark's table has.
            space: The space: a wrong name may be near to one that it knows.

        Example:
            >>> Objectives.of(["error", "latncy"]).check_names(["error", "latency"])
            Traceback (most recent call last):
            nasgoat.errors.UnknownNameError: a value to minimise must be one of error, latency, got
            'latncy'; did you mean latency?
        """
        words = {} if space is None else name_words(space)
        costs = () if space is None else (cost.name for cost in space.costs)
        for kind, names, others in (
            ("a value to minimise", self.measured, {*costs, *self.known}),
            ("what is limited", [limit.name for limit in self.limits], {*words, *self.known}),
        ):
            for name in names:
                if name not in metrics:
                    raise UnknownNameError(kind, name, {*metrics, *others})

    def refuse_misspelt(self, space: SearchSpace) -> None:
        """Refuse names that look like one that the space knows, misspelt.

        What an objective function returns is known only once a graph is evaluated, which may take
        hours; a name of the space that is not quite one would be taken for a metric until then.

        Example:
            >>> from nasgoat import nasbench201
            >>> space = nasbench201().constrain(costs={"latency": {"nor_conv_3x3": 2.0}})
            >>> Objectives.of(["error", "latncy"], space=space).refuse_misspelt(space)
            Traceback (most recent call last):
            nasgoat.errors.SettingError: a value to minimise must be a metric that the objective
            returns or a cost of the space, got 'latncy'; did you mean latency (a cost of the
            space)?
        """
        words = name_words(space)
        costs = [cost.name for cost in space.costs]
        known = "a metric that the objective returns or"
        for said, names, others in (
            (f"a value to minimise must be {known} a cost of the space", self.measured, costs),
            (
                f"what is limited must be {known} a name that the space knows",
                [limit.name for limit in self.limits],
                [*words],
            ),
        ):
            for name in names:
                if "," in name:
                    raise SettingError(f"{said}, got {name!r}; name each of several on its own")
                near = None if name in ERROR else find_misspelt(name, others)
                if near is not None:
                    raise SettingError(
                        f"{said}, got {name!r}; did you mean {near} ({words[near]})?"
                    )


#: One error to minimise, and nothing else: what is sought unless somebody says otherwise.
PLAIN = Objectives()
