"""How a search is written into an Optuna study: its declaration, and its tickets as trials."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from nasgoat.acquisition import Certificate, PartPosterior, Proposal, Status
from nasgoat.bayesopt import Gain, Ticket
from nasgoat.errors import NasgoatError, StudyError
from nasgoat.evaluation import Failure, Fidelity, Outcome
from nasgoat.evaluation.objectives import ERROR
from nasgoat.figures.wording import cut
from nasgoat.graphs import LabeledGraph
from nasgoat.integrations.trial_graphs import GraphParameters
from nasgoat.surrogate import ModelCheck

DECLARATION = "nasgoat"  # study attribute: what the search was declared to be
PLAN = "plan"  # study attribute: how it was called last
CONVERGED = "converged"  # study attribute: what it stopped at, if it ended early
TICKET = "ticket"  # trial attribute: its place in the search
ORPHANED = "orphaned"  # trial attribute: its driver died
#: Evaluations at a lower fidelity are pruned trials, so that none of them is Optuna's best.
EVALUATED = (TrialState.COMPLETE, TrialState.PRUNED)
_RANK = dict.fromkeys(EVALUATED, 3) | {TrialState.FAIL: 2, TrialState.RUNNING: 1}


def list_differences(
    stored: Mapping[str, Any], asked: Mapping[str, Any], path: str = ""
) -> list[str]:
    """What differs between two declarations, one line each.

    Example:
        >>> stored = {"seed": 0, "settings": {"kernel": "linear"}}
        >>> list_differences(stored, {"seed": 1, "settings": {}})
        ['seed was 0, asked 1', "settings.kernel was 'linear', asked None"]
    """
    changes: list[str] = []
    for name in sorted({*stored, *asked}):
        old, new = stored.get(name), asked.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            changes += list_differences(old, new, f"{path}{name}.")
        elif old != new:
            changes.append(f"{path}{name} was {cut(repr(old), 120)}, asked {cut(repr(new), 120)}")
    return changes


def check_declaration(name: str, stored: Any, asked: Mapping[str, Any]) -> None:
    """Raise :class:`StudyError` unless a stored search was declared as it is asked for now."""
    if not isinstance(stored, dict):
        raise StudyError(f"the study {name!r} must be one of nasgoat search, got another")
    if changes := list_differences(stored, asked):
        raise StudyError(
            f"the study {name!r} must be resumed as it was begun, got other values: "
            f"{'; '.join(changes)}; give these again, or another --study or --report"
        )


@contextmanager
def refuse_damage(what: str) -> Iterator[None]:
    """Whatever goes wrong while a study is read is damage, and a :class:`StudyError`."""
    try:
        yield
    except NasgoatError:
        raise
    except Exception as problem:  # a damaged row can fail anywhere in Optuna or here
        raise StudyError(f"{what} must be sound, got {problem!r}") from None


def make_trial(ticket: Ticket, parameters: GraphParameters, artifact: str) -> FrozenTrial:
    """A running trial that holds a ticket; the artefact is the picture of its graph."""
    proposal = ticket.proposal
    picture = {
        "artifact_id": artifact,
        "filename": f"cell-{ticket.number}.png",
        "mimetype": "image/png",
        "encoding": None,
    }
    at = {} if ticket.fidelity is None else {"fidelity": ticket.fidelity.to_dict()}
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
            "model": ticket.model and ticket.model.to_dict(),
            "gain": ticket.gain and ticket.gain.to_dict(),
            "informed": proposal.informed,
            **at,
            **_describe_parts(proposal),
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


def _describe_parts(proposal: Proposal) -> dict[str, Any]:
    """What was believed of each of several objectives, and of measured limits."""
    found: dict[str, Any] = {}
    if proposal.parts:
        found["parts"] = [list(part) for part in proposal.parts]
    if proposal.probability is not None:
        found["probability"] = proposal.probability
    return found


def read_ticket(
    trial: FrozenTrial, parameters: GraphParameters, names: Sequence[str] = ERROR
) -> Ticket:
    """The ticket that a trial holds.

    Args:
        trial: The trial.
        parameters: Turns its parameters into a graph.
        names: What the search minimises: the trial's values.

    Raises:
        ValueError: If what the trial says does not agree with itself.
    """
    said, own = trial.user_attrs, trial.user_attrs[TICKET]
    # Studies of earlier versions know nothing of models and gains.
    ticket = Ticket(
        int(own["number"]),
        int(own["iteration"]),
        _read_proposal(trial, parameters),
        own["hyperparameters"],
        model=ModelCheck.from_dict(own["model"]) if own.get("model") else None,
        gain=Gain.from_dict(own["gain"]) if own.get("gain") else None,
    )
    if not trial.state.is_finished() or ORPHANED in said:
        return ticket
    outcome = _read_outcome(trial, names)
    return replace(ticket, outcome=outcome, elapsed=float(said["result"]["elapsed"]))


def _read_proposal(trial: FrozenTrial, parameters: GraphParameters) -> Proposal:
    graph = LabeledGraph.from_json(trial.user_attrs["graph"])
    if parameters.encode(graph) != trial.params:
        raise ValueError(f"trial {trial.number} has another graph than its parameters say")
    proof, own = trial.user_attrs["certificate"], trial.user_attrs[TICKET]
    numbers = (proof["value"], proof["bound"], proof["seconds"])
    return Proposal(
        graph,
        Certificate(Status(proof["status"]), *numbers),
        own["mean"],
        own["std"],
        own.get("informed"),
        parts=tuple(PartPosterior(*part) for part in own.get("parts", ())),
        probability=own.get("probability"),
        fidelity=Fidelity(**own["fidelity"]) if own.get("fidelity") else None,
    )


def _read_outcome(trial: FrozenTrial, names: Sequence[str]) -> Outcome:
    result = trial.user_attrs["result"]
    failure = result["failure"] and Failure.from_dict(result["failure"])
    checked = Outcome.of(result["metrics"], names) if not failure else Outcome(None, failure)
    if trial.state is TrialState.COMPLETE and (
        checked.metrics is None or [checked.metrics[name] for name in names] != trial.values
    ):
        raise ValueError(f"trial {trial.number} has another value than its metrics say")
    return Outcome(checked.metrics, checked.failure, int(result["attempts"]))


def describe_result(ticket: Ticket, outcome: Outcome) -> dict[str, Any]:
    """How the evaluation of a ticket ended, as its trial keeps it."""
    return {
        "metrics": outcome.metrics and dict(outcome.metrics),
        "failure": outcome.failure and outcome.failure.to_dict(),
        "attempts": outcome.attempts,
        "elapsed": ticket.elapsed,
    }


def read_ticket_number(trial: FrozenTrial) -> int | None:
    """The place of a trial in its search; None of a trial that somebody else added."""
    number: int | None = trial.user_attrs.get(TICKET, {}).get("number")
    return number


def _rank(trial: FrozenTrial) -> int:
    """Which of several trials of one ticket counts: the highest."""
    return 0 if ORPHANED in trial.user_attrs else _RANK.get(trial.state, 0)


def pick_counting_trials(trials: Iterable[FrozenTrial]) -> dict[int, FrozenTrial]:
    """The trial that counts for each ticket, in the order of their numbers."""
    best: dict[int, FrozenTrial] = {}
    for trial in trials:
        number = read_ticket_number(trial)
        if number is not None and (number not in best or _rank(trial) > _rank(best[number])):
            best[number] = trial
    return dict(sorted(best.items()))
