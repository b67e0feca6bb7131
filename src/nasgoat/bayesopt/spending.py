"""What a search spent on each source, what each source was worth, and what that saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nasgoat.bayesopt.history import Ticket
from nasgoat.figures.wording import format_count


@dataclass(frozen=True)
class SourceUse:
    """One source of a search: a fidelity, or what it learnt from besides its own evaluations.

    Args:
        name: The source: ``"epochs 12"``, or the name of another run.
        evaluations: Those of this search that ended, failed ones included.
        cost: What they cost, in full evaluations.
        correlation: With what the search is about, by the last fit, from 0 to 1; None before.
        contribution: How much better it made predictions of full evaluations, each from all others,
            in nats; None before.
    """

    name: str
    evaluations: int = 0
    cost: float = 0.0
    correlation: float | None = None
    contribution: float | None = None

    def describe(self) -> str:
        """The source in a line.

        Example:
            >>> SourceUse("epochs 12", 93, 5.58, 0.953, 0.61).describe()
            'epochs 12: 93 evaluations, cost 5.58, correlation 0.95, contribution 0.61'
        """
        said = []
        if self.evaluations:
            said += [format_count(self.evaluations, "evaluation"), f"cost {self.cost:.4g}"]
        if self.correlation is not None:
            said.append(f"correlation {self.correlation:.2f}")
        if self.contribution is not None:
            said.append(f"contribution {self.contribution:.2f}")
        return f"{self.name}: {', '.join(said) or 'nothing yet'}"


@dataclass(frozen=True)
class Spending:
    """What a search spent, by source.

    Args:
        sources: Each source; the full fidelity first.
        cost: What was spent in all, in full evaluations.
        cost_to_best: What was spent until the best graph had its full evaluation; None before.
        graphs: Distinct graphs that were evaluated at any fidelity.
    """

    sources: tuple[SourceUse, ...] = ()
    cost: float = 0.0
    cost_to_best: float | None = None
    graphs: int = 0

    @property
    def saved(self) -> float:
        """Full evaluations less than if every graph had had one."""
        return self.graphs - self.cost

    @classmethod
    def of(cls, tickets: Sequence[Ticket], best: int | None = None) -> Spending:
        """What finished tickets cost; ``best`` is the number of the best one."""
        ended = [ticket for ticket in tickets if ticket.finished]
        fits = [t.hyperparameters for t in ended if t.hyperparameters is not None]
        last = fits[-1] if fits else {}
        levels = {str(t.fidelity): t.fidelity for t in ended if t.fidelity is not None}
        order = sorted(levels, key=lambda name: -levels[name].cost)
        marked = "correlation "
        order += [
            name
            for name in (key.removeprefix(marked) for key in last if key.startswith(marked))
            if name not in levels
        ]
        costs = {name: [t.cost for t in ended if str(t.fidelity) == name] for name in order}
        uses = [
            SourceUse(
                name,
                len(costs[name]),
                sum(costs[name]),
                last.get(f"correlation {name}"),
                last.get(f"contribution {name}"),
            )
            for name in order
        ]
        until = None if best is None else sum(t.cost for t in ended if t.number <= best)
        graphs = len({ticket.graph for ticket in ended})
        return cls(tuple(uses), sum(t.cost for t in ended), until, graphs)

    def summarise(self) -> list[str]:
        """Lines for a person: the cost and the saving, and each source."""
        lines = []
        if any(use.cost for use in self.sources):
            until = "" if self.cost_to_best is None else f", the best after {self.cost_to_best:.4g}"
            lines.append(
                f"cost: {self.cost:.4g} full evaluations{until}; "
                f"{max(self.saved, 0.0):.4g} saved on {format_count(self.graphs, 'graph')}"
            )
        return lines + [f"source {use.describe()}" for use in self.sources]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "cost": self.cost,
            "cost_to_best": self.cost_to_best,
            "graphs": self.graphs,
            "saved": self.saved,
            "sources": [asdict(use) for use in self.sources],
        }
