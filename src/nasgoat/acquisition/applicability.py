"""Which exact optimisers apply to a space, and roughly what one question to each costs.

Seconds are of one core. Those of the catalogue and of branch and bound are the cost model of
:mod:`~nasgoat.acquisition.choice`; those of the MIP grow by about the factor that was measured from
one number of nodes to the next (docs/compact-formulation.md, docs/spaces.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from nasgoat.acquisition.catalogue_file import LARGEST as LARGEST_CATALOGUE
from nasgoat.acquisition.choice import branch_start, graphs_at_most
from nasgoat.acquisition.shape_costs import LARGEST_BRANCH
from nasgoat.spaces import (
    DartsSpace,
    EdgeLabeledSpace,
    GraphSpace,
    NodeLabeledSpace,
    SearchSpace,
)

_LONG = 3600.0  # seconds from which on nobody waits for the end
_LISTED_PER_SECOND = 50_000  # graphs that enter a catalogue when it is built
#: Seconds of SCIP at a number of nodes, and the factor for each further node.
_MIP_SECONDS = {
    NodeLabeledSpace: (7, 5.0, 6.0),
    EdgeLabeledSpace: (4, 2.0, 8.0),
    DartsSpace: (6, 3.0, 10.0),
    GraphSpace: (4, 20.0, 6.0),
}


@dataclass(frozen=True)
class Applicability:
    """Whether an optimiser applies to a space, and what it costs or why it does not.

    Args:
        name: The optimiser.
        applies: Whether it can be used.
        said: The cost, or the reason.
        seconds: Of one question; None if it does not apply.
    """

    name: str
    applies: bool
    said: str
    seconds: float | None = None


def applicability(space: SearchSpace) -> list[Applicability]:
    """The exact optimisers, each with its cost or the reason why it does not apply.

    Example:
        >>> from nasgoat import darts
        >>> [(entry.name, entry.applies) for entry in applicability(darts())]
        [('catalogue', False), ('branch', True), ('scip', True)]
    """
    return [_catalogue(space), _branch(space), _mip(space)]


def _catalogue(space: SearchSpace) -> Applicability:
    graphs = graphs_at_most(space.with_limits(()))
    if graphs > LARGEST_CATALOGUE:
        said = f"does not apply: up to {short(graphs)} graphs, {LARGEST_CATALOGUE:,} can be listed"
        return Applicability("catalogue", False, said)
    seconds = 2e-7 * graphs
    built = graphs / _LISTED_PER_SECOND
    said = f"about {_about(seconds)} a question, {_about(built)} once to list {graphs:,} at most"
    return Applicability("catalogue", True, said, seconds)


def _branch(space: SearchSpace) -> Applicability:
    start = branch_start(space, "linear")
    if start is None:
        reason = "such graphs"
        if isinstance(space, GraphSpace):
            reason = "graphs in which labels and edges depend on each other"
        return Applicability("branch", False, f"does not apply: it does not know {reason}")
    if not start.applies:
        said = f"does not apply: {short(start.shapes)} structures, {LARGEST_BRANCH:,} fit in memory"
        return Applicability("branch", False, said)
    lasting = f"about {_about(start.seconds)}"
    if start.growing and start.seconds > _LONG:
        lasting = "hours, but with a bound at any time"
    said = f"{lasting} a question, {start} at most"
    return Applicability("branch", True, said, start.seconds)


def _mip(space: SearchSpace) -> Applicability:
    known = next((v for kind, v in _MIP_SECONDS.items() if isinstance(space, kind)), None)
    if known is None:
        return Applicability("scip", False, "does not apply: cells given as a list")
    nodes, seconds, factor = known
    n = space.sizes[-1]
    cost = seconds * factor ** min(n - nodes, 30)
    lasting = f"about {_about(cost)}" if cost < 1e5 else "days, but with a bound at any time"
    said = f"{lasting} a question at {n} nodes, one program for each of {len(space.sizes)} sizes"
    return Applicability("scip", True, said, cost)


def _about(seconds: float) -> str:
    """Seconds to one digit: 0.03 s, 20 s."""
    return f"{float(f'{seconds:.0e}'):g} s"


def short(number: int) -> str:
    """A number in full, or by its power of ten if it is very large.

    Example:
        >>> short(423624), short(10**30)
        ('423,624', 'about 10^30')
    """
    digits = number.bit_length() * 0.30103  # log10 of 2
    return f"{number:,}" if digits < 16 else f"about 10^{int(digits)}"
