"""Tickets as trials of an Optuna study, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from optuna.trial import FrozenTrial, TrialState

from nasgoat.acquisition import Certificate, Proposal, Status
from nasgoat.bayesopt import Ticket
from nasgoat.evaluation import Failure, Outcome
from nasgoat.graphs import LabeledGraph
from nasgoat.integrations.graph_parameters import GraphParameters

TICKET = "ticket"  # trial attribute: its place in the search
ORPHANED = "orphaned"  # trial attribute: its driver died
_RANK = {TrialState.COMPLETE: 3, TrialState.FAIL: 2, TrialState.RUNNING: 1}


def trial_of(ticket: Ticket, parameters: GraphParameters, artifact: str) -> FrozenTrial:
    """A running trial that holds a ticket; the artefact is the picture of its graph."""
    proposal = ticket.proposal
    picture = {
        "artifact_id": artifact,
        "filename": f"cell-{ticket.number}.png",
        "mimetype": "image/png",
        "encoding": None,
    }
    attributes = {
        "graph": ticket.graph.to_json(),
        "certificate": proposal.certificate.to_dict(),
        # One attribute for the rest: each costs a query and a row.
        TICKET: {
            "number": ticket.number,
            "iteration": ticket.iteration,
            "mean": proposal.mean,
            "std": proposal.std,
            "hyperparameters": ticket.hyperparameters and dict(ticket.hyperparameters),
        },
    }
    return FrozenTrial(
        number=-1,  # given by the storage
        trial_id=-1,
        state=TrialState.RUNNING,
        value=None,
        values=None,
        datetime_start=datetime.now(),
        datetime_complete=None,
        params=parameters.encode(ticket.graph),
        distributions=parameters.distributions,
        user_attrs=attributes,
        system_attrs={f"artifacts:{artifact}": json.dumps(picture)},
        intermediate_values={},
    )


def ticket_of(trial: FrozenTrial, parameters: GraphParameters) -> Ticket:
    """The ticket that a trial holds.

    Raises:
        ValueError: If what the trial says does not agree with itself.
    """
    a = trial.user_attrs
    graph = LabeledGraph.from_json(a["graph"])
    if parameters.encode(graph) != trial.params:
        raise ValueError(f"trial {trial.number} has another graph than its parameters say")
    c = a["certificate"]
    certificate = Certificate(Status(c["status"]), c["value"], c["bound"], c["seconds"])
    own = a[TICKET]
    proposal = Proposal(graph, certificate, own["mean"], own["std"])
    ticket = Ticket(int(own["number"]), int(own["iteration"]), proposal, own["hyperparameters"])
    if not trial.state.is_finished() or ORPHANED in a:
        return ticket
    result = a["result"]
    failure = result["failure"] and Failure.from_dict(result["failure"])
    checked = Outcome.of(result["metrics"]) if not failure else Outcome(None, failure)
    if trial.state is TrialState.COMPLETE and (
        checked.metrics is None or checked.metrics["error"] != trial.value
    ):
        raise ValueError(f"trial {trial.number} has another value than its metrics say")
    outcome = Outcome(checked.metrics, checked.failure, int(result["attempts"]))
    return replace(ticket, outcome=outcome, elapsed=float(result["elapsed"]))


def ticket_number(trial: FrozenTrial) -> int | None:
    """The place of a trial in its search; None of a trial that somebody else added."""
    number: int | None = trial.user_attrs.get(TICKET, {}).get("number")
    return number


def rank(trial: FrozenTrial) -> int:
    """Which of several trials of one ticket counts: the highest."""
    return 0 if ORPHANED in trial.user_attrs else _RANK.get(trial.state, 0)


def counting(trials: Iterable[FrozenTrial]) -> dict[int, FrozenTrial]:
    """The trial that counts for each ticket, in the order of their numbers."""
    best: dict[int, FrozenTrial] = {}
    for trial in trials:
        number = ticket_number(trial)
        if number is not None and (number not in best or rank(trial) > rank(best[number])):
            best[number] = trial
    return dict(sorted(best.items()))
