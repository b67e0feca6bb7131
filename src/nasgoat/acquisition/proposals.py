"""The answers of acquisition optimisers: proposals, each with a proof of its quality.

Before that it answers what it is forecast to take, or why it does not apply.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from nasgoat.acquisition.lower_confidence_bound import Acquisition, PartPosterior
from nasgoat.evaluation import Fidelity
from nasgoat.graphs import LabeledGraph
from nasgoat.upper_layers import ShownAsHtml

#: Seconds to get ready, and for all questions, below which nothing is worth comparing: loading
#: compiled code or a solver takes longer.
_QUICK = 0.4
_DAYS = 1e5  # seconds from which on their number says nothing
#: By how many times a question may take less or more than is forecast, without a word about it.
USUAL_SPREAD = 3.0


class Status(enum.StrEnum):
    """How an acquisition problem ended."""

    OPTIMAL = "optimal"  # no graph of the space, excluded ones aside, is better
    FEASIBLE = "feasible"  # stopped early; the bound says how much better one might be
    HEURISTIC = "heuristic"  # found without a bound
    EXHAUSTED = "exhausted"  # every graph of the space is excluded
    INITIAL = "initial"  # drawn at random for the initial design
    REPEAT = "repeat"  # evaluated again, because errors are noisy

    @property
    def optimized(self) -> bool:
        """Whether an acquisition function was minimised: all but the design and repeats."""
        return self not in (Status.INITIAL, Status.REPEAT)


@dataclass(frozen=True)
class Certificate:
    """Proof of quality of a proposal (minimisation: bound ≤ optimum ≤ value).

    Args:
        status: How the problem ended.
        value: Acquisition value of the proposal.
        bound: Proven lower bound on the acquisition of every graph that was not excluded and is
            not among the better proposals of the same pool; None if nothing is proven.
        seconds: Time the optimiser took.

    Example:
        >>> Certificate(Status.FEASIBLE, value=-2.0, bound=-2.5, seconds=1.0).gap
        0.25
    """

    status: Status
    value: float | None = None
    bound: float | None = None
    seconds: float = 0.0

    @property
    def gap(self) -> float | None:
        """(value - bound) / max(|value|, 1e-9); None if nothing is proven."""
        if self.value is None or self.bound is None:
            return None
        return max(self.value - self.bound, 0.0) / max(abs(self.value), 1e-9)

    @property
    def certified(self) -> bool:
        """Whether the proposal is proven optimal."""
        return self.status is Status.OPTIMAL

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "status": str(self.status),
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Proposal(ShownAsHtml):
    """A graph to evaluate next, with its posterior and its certificate.

    Args:
        graph: The graph.
        certificate: What is proven about its acquisition value.
        mean: Its posterior mean on the scale of the target; None without a surrogate.
        std: Its posterior standard deviation.
        informed: Whether the surrogate behind it has learnt anything
            (:class:`nasgoat.surrogate.ModelCheck`); a certificate says nothing about that. None
            without a surrogate.
        parts: Of an acquisition function of several objectives, mean and deviation of each.
        probability: That it keeps the limits that are measured; None where there are none.
        fidelity: How to evaluate it; None in a search without fidelities.

    Example:
        >>> cell = LabeledGraph.from_edges(2, [(0, 1)], edge_labels=["conv"])
        >>> Proposal(cell, Certificate(Status.OPTIMAL, value=-2.0, bound=-2.0), 1.0, 1.0).lcb
        -2.0
    """

    graph: LabeledGraph
    certificate: Certificate
    mean: float | None = None
    std: float | None = None
    informed: bool | None = None
    parts: tuple[PartPosterior, ...] = ()
    probability: float | None = None
    fidelity: Fidelity | None = None

    @property
    def lcb(self) -> float | None:
        """The acquisition value."""
        return self.certificate.value

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        said = {
            "graph": self.graph.to_dict(),
            "lcb": self.lcb,
            "mean": self.mean,
            "std": self.std,
            "informed": self.informed,
            "certificate": self.certificate.to_dict(),
        }
        if self.probability is not None:
            said["probability"] = self.probability
        if self.fidelity is not None:
            said["fidelity"] = self.fidelity.to_dict()
        return said | ({"parts": [part._asdict() for part in self.parts]} if self.parts else {})


@dataclass(frozen=True)
class Pool(ShownAsHtml):
    """The k best proposals, best first, with the certificate of the first.

    Example:
        >>> from nasgoat import EdgeLabeledSpace
        >>> from nasgoat.acquisition import make_optimizer, random_problem
        >>> space = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])
        >>> acquisition = random_problem(space, observations=4).acquisition
        >>> pool = make_optimizer("catalogue", space).optimize(acquisition, k=3)
        >>> len(pool), pool[0].lcb == pool.certificate.value == min(p.lcb for p in pool)
        (3, True)
    """

    proposals: tuple[Proposal, ...]
    certificate: Certificate

    def __repr__(self) -> str:
        best = self.certificate
        return f"<Pool: {len(self)} proposals, {best.status}, lcb {best.value}, bound {best.bound}>"

    def __len__(self) -> int:
        return len(self.proposals)

    def __iter__(self) -> Iterator[Proposal]:
        return iter(self.proposals)

    def __getitem__(self, i: int) -> Proposal:
        return self.proposals[i]


@dataclass(frozen=True)
class Cost:
    """The time that an optimiser is forecast to take.

    Args:
        seconds: For all questions to one fitted surrogate together.
        once: Seconds before the first question: for listing, compiling or loading.
        said: What it works through, in words.
        exact: Whether its proposals are proven best; ``auto`` takes others only where no exact
            optimiser applies.
        stops: Whether a time limit ends a question early, with a bound.
        local: Whether it goes from graph to graph, and so finds better ones than by chance.
        spread: By how many times a single question may take less or more, for the surrogate that
            it is put to.
    """

    seconds: float
    once: float = 0.0
    said: str = ""
    exact: bool = True
    stops: bool = False
    local: bool = False
    spread: float = USUAL_SPREAD

    def rank(self, questions: int, time_limit: float) -> tuple[bool, bool, bool, bool, float]:
        """Sort key: exact, within the time limit, ready at once, local search, fewest seconds."""
        quick = self.once <= _QUICK and self.seconds <= _QUICK
        late = max(self.once, self.seconds / questions) > time_limit
        return not self.exact, late, self.exact and not quick, not self.local, self.seconds

    def describe(self, questions: int = 1) -> str:
        """Seconds of one question, and what they are spent on.

        Example:
            >>> Cost(0.5, 2.0, "60,252 graphs at most").describe(questions=5)
            'about 0.1 s a question, 2 s once; 60,252 graphs at most'
        """
        before = f", {describe_seconds(self.once)} once" if self.once else ""
        return f"{self.describe_question(questions)}{before}{self.said and '; ' + self.said}"

    def describe_question(self, questions: int = 1) -> str:
        """Seconds of one of the questions; from which to which, where surrogates differ much.

        Example:
            >>> Cost(5.0).describe_question(), Cost(5.0, spread=10.0).describe_question()
            ('about 5 s a question', '0.5 s to 50 s a question')
        """
        each = self.seconds / questions
        if self.stops and each >= _DAYS:
            return "days a question, but with a bound at any time"
        if self.spread > USUAL_SPREAD:
            least, most = (describe_seconds(x) for x in (each / self.spread, each * self.spread))
            return f"{least} to {most} a question"
        return f"about {describe_seconds(each)} a question"


@dataclass(frozen=True)
class Reason:
    """Why an optimiser does not apply to a space or a kernel.

    Args:
        said: The reason, in words.
        stops: Whether it answers all the same within a time limit, with a bound but no proof.
    """

    said: str
    stops: bool = False


def describe_seconds(seconds: float) -> str:
    """Seconds to one digit.

    Example:
        >>> describe_seconds(0.0312), describe_seconds(17.0)
        ('0.03 s', '20 s')
    """
    return f"{float(f'{seconds:.0e}'):g} s"


class AcquisitionOptimizer(Protocol):
    """Finds the graphs of lowest acquisition value in a space."""

    name: str

    def optimize(
        self, acquisition: Acquisition, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The k best graphs, distinct up to isomorphism.

        Args:
            acquisition: The function to minimise, given its surrogate.
            k: How many; fewer come back if the space has no more.
            exclude: Keys (``space.key(graph)``) of graphs that must not be proposed.
        """
        ...
