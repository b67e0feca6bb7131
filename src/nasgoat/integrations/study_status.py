"""How a stored search stands: what is done, what runs, the best so far, what was spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from nasgoat.bayesopt import Convergence, Objectives, Ticket
from nasgoat.bayesopt.front import find_best, list_front
from nasgoat.bayesopt.recommendation import recommend
from nasgoat.bayesopt.spending import SourceUse, Spending
from nasgoat.errors import StudyError
from nasgoat.integrations.locks import make_study_lock
from nasgoat.integrations.storages import StorageAddress
from nasgoat.integrations.study_format import (
    CONVERGED,
    DECLARATION,
    EVALUATED,
    ORPHANED,
    PLAN,
    pick_counting_trials,
    read_ticket,
    read_ticket_number,
)
from nasgoat.integrations.trial_graphs import GraphParameters
from nasgoat.spaces import read_declared_space


@dataclass(frozen=True)
class StudyStatus:
    """How a stored search stands.

    Args:
        study: Its name.
        storage: Its address, without a password.
        running: Whether a driver works on it now.
        budget: Evaluations that were asked for last.
        complete: Evaluations with an error.
        failed: Evaluations that failed.
        open: Evaluations that run, or that a dead driver left behind.
        best: Number, error and graph of the recommended evaluation; None before the first. Where
            evaluations were repeated, the error is a mean, with its ``uncertainty``.
        declaration: What the search was declared to be.
        command: The command that ran it last.
        front: Of several objectives, the evaluations that no other dominates, with their metrics.
        cost: What was spent, in full evaluations, where there are fidelities.
        sources: What each source cost and is worth, where there are several.
        converged: What the search stopped at, if it ended before its budget was spent.
    """

    study: str
    storage: str
    running: bool
    budget: int | None
    complete: int
    failed: int
    open: int
    best: dict[str, Any] | None
    declaration: dict[str, Any]
    command: str | None
    front: list[dict[str, Any]] | None = None
    cost: float | None = None
    sources: tuple[SourceUse, ...] = ()
    converged: Convergence | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do: the budget is spent, or little was left to gain."""
        return self.converged is not None or self._spent

    @property
    def _spent(self) -> bool:
        if self.cost is not None:  # what is left is less than a full evaluation
            return self.budget is not None and self.cost > self.budget - 1 + 1e-9
        return self.budget is not None and self.complete + self.failed >= self.budget


def has_driver(address: StorageAddress, name: str) -> bool:
    """Whether a driver holds the study now."""
    lock = make_study_lock(address, name)
    if not lock.acquire():
        return True
    lock.release()
    return False


def describe_status(
    address: StorageAddress, name: str, attributes: dict[str, Any], trials: list[FrozenTrial]
) -> StudyStatus:
    """How the study with these attributes and trials stands."""
    declaration = attributes.get(DECLARATION)
    if not isinstance(declaration, dict):
        raise StudyError(f"the study {name!r} must be one of nasgoat search, got another")
    mine = [t for t in trials if read_ticket_number(t) is not None and ORPHANED not in t.user_attrs]
    evaluated = [t for t in mine if t.state in EVALUATED]
    complete = [t for t in evaluated if t.state is TrialState.COMPLETE]
    failed = {read_ticket_number(t) for t in mine if t.state is TrialState.FAIL}
    numbers = {read_ticket_number(t) for t in trials if read_ticket_number(t) is not None}
    complete.sort(key=lambda trial: read_ticket_number(trial) or 0)
    objectives = Objectives.declared(declaration)
    best, front = _find_best(objectives, complete)
    plan = attributes.get(PLAN) or {}
    sourced = "fidelities" in declaration or "transfer" in declaration
    spending = Spending.of(_read_tickets(mine, declaration)) if sourced else None
    return StudyStatus(
        study=name,
        storage=str(address),
        running=has_driver(address, name),
        budget=plan.get("evaluations"),
        complete=len(evaluated),
        failed=len(failed),
        open=len(numbers) - len(evaluated) - len(failed),
        best=best,
        declaration=declaration,
        command=plan.get("command"),
        front=front,
        cost=spending.cost if spending and "fidelities" in declaration else None,
        sources=spending.sources if spending else (),
        converged=_read_convergence(attributes, len(numbers)),
    )


def _read_convergence(attributes: Mapping[str, Any], proposed: int) -> Convergence | None:
    """What a search stopped at; None if it never did, or proposed graphs since."""
    stored = attributes.get(CONVERGED)
    if stored is None or stored["proposed"] != proposed:
        return None
    return Convergence.from_dict(stored)


def _read_tickets(trials: list[FrozenTrial], declaration: Mapping[str, Any]) -> list[Ticket]:
    """The tickets of trials, in the order of their numbers."""
    parameters = GraphParameters(read_declared_space(declaration["space"]))
    return [read_ticket(t, parameters) for t in pick_counting_trials(trials).values()]


def _find_best(
    objectives: Objectives, complete: list[FrozenTrial]
) -> tuple[dict[str, Any] | None, list[dict[str, Any]] | None]:
    """The best of complete trials, and of several objectives the front."""
    if not complete:
        return None, [] if objectives.several else None
    if objectives.plain:
        graphs = [trial.user_attrs["graph"] for trial in complete]
        found = recommend(graphs, [trial.values[0] for trial in complete])
        said = {"error": found.error, "uncertainty": found.uncertainty, "evaluations": found.times}
        return {**_describe_trial(complete[found.place]), **said}, None
    evaluated = [trial.user_attrs["result"]["metrics"] for trial in complete]
    best = _describe_trial(complete[find_best(objectives, evaluated)], full=True)
    if not objectives.several:
        return best, None
    places = list_front(objectives, evaluated)
    return best, [_describe_trial(complete[i], full=True) for i in places]


def _describe_trial(trial: FrozenTrial, full: bool = False) -> dict[str, Any]:
    """Number, error and graph of an evaluation; all its metrics too where asked for."""
    found = {
        "number": read_ticket_number(trial),
        "error": trial.values[0],
        "graph": trial.user_attrs["graph"],
    }
    return {**found, "metrics": trial.user_attrs["result"]["metrics"]} if full else found
