"""Stored searches for the tests of reports, written without searching."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nasgoat.acquisition import Certificate, Proposal, Status
from nasgoat.bayesopt import Ticket
from nasgoat.evaluation import FailureKind, Outcome
from nasgoat.integrations import StorageAddress, StudyLedger
from nasgoat.integrations.stored_search import StoredSearch, read_stored_search
from nasgoat.integrations.study_status import StudyStatus
from nasgoat.report import ReportedSearch
from nasgoat.spaces import NodeLabeledSpace, SearchSpace
from nasgoat.surrogate import ModelCheck

HOSTILE = (
    "<script>alert(1)</script>",
    '" onload="alert(2)',
    "]]><svg/onload=alert(3)>",
    "עברית",
    "a\x00b\u202ec",
    "x" * 300,
)
OURS = {
    "objective": {"objective": "demo:train"},
    "method": "goat",
    "settings": {"kernel": "linear", "target": "rank", "sqrt_betas": [1.0, 3.0]},
    "optimizer": "auto",
    "initial": 4,
    "batch": 2,
    "asynchronous": False,
    "seed": 0,
}
RANDOM = {**OURS, "method": "random", "settings": None, "optimizer": None}


def hostile_space() -> SearchSpace:
    return NodeLabeledSpace(nodes=(2, 5), ops=HOSTILE, max_edges=7)


def made(
    space: SearchSpace,
    count: int,
    declaration: Mapping[str, Any] = OURS,
    failed: Mapping[int, str] | None = None,
    unfinished: int = 0,
    gap: float = 0.0,
    command: str = "nasgoat search --seed 0",
    folder: Path | None = None,
) -> ReportedSearch:
    """A search of so many proposals; some failed for a reason, the last ones never ended."""
    tickets = [
        _ended(ticket, failed or {}) if ticket.number < count - unfinished else ticket
        for ticket in _tickets(space, count, declaration, gap)
    ]
    bad = sum(i < count - unfinished for i in failed or {})
    status = StudyStatus(
        study="demo",
        storage="sqlite:///study.db",
        running=False,
        budget=max(count, 1),
        complete=count - unfinished - bad,
        failed=bad,
        open=unfinished,
        best=None,
        declaration={**declaration, "space": space.to_dict()},
        command=command,
    )
    stored = StoredSearch(status, space, tuple(tickets), 0, None, None, "0.1.0")
    return ReportedSearch(stored, folder)


def store(
    folder: Path,
    space: SearchSpace,
    count: int,
    failed: Mapping[int, str] | None = None,
    unfinished: int = 0,
) -> ReportedSearch:
    """The same, kept in a study and read again."""
    address = StorageAddress.of(folder / "study.db")
    with StudyLedger(address, "demo", space, OURS) as ledger:
        plan = {"evaluations": count, "command": "nasgoat search --seed 0", "version": "0.1.0"}
        ledger.note(plan)
        tickets = _tickets(space, count, OURS, 0.0)
        ledger.propose(tickets)
        for ticket in tickets[: count - unfinished]:
            ledger.finish(_ended(ticket, failed or {}))
    return ReportedSearch(read_stored_search(address, "demo"), folder)


def _tickets(
    space: SearchSpace, count: int, declaration: Mapping[str, Any], gap: float
) -> list[Ticket]:
    graphs = space.sample(count, np.random.default_rng(0)) if count else []
    return [_ticket(i, graph, declaration, gap) for i, graph in enumerate(graphs)]


def _ended(ticket: Ticket, failed: Mapping[int, str]) -> Ticket:
    outcome = Outcome.of({"error": 5.0 + ticket.number % 7, "test_error": 6.0})
    if ticket.number in failed:
        reason = failed[ticket.number]
        outcome = Outcome.failed(FailureKind.EXCEPTION, reason, f"Traceback\n  {reason}")
    return replace(ticket, outcome=outcome, elapsed=1.0 + ticket.number)


def _ticket(i: int, graph: Any, declaration: Mapping[str, Any], gap: float) -> Ticket:
    initial = i < declaration["initial"]
    iteration = 0 if initial else 1 + (i - declaration["initial"]) // 2
    if initial:
        return Ticket(i, 0, Proposal(graph, Certificate(Status.INITIAL)))
    if declaration["method"] != "goat":
        return Ticket(i, iteration, Proposal(graph, Certificate(Status.HEURISTIC)))
    status = Status.FEASIBLE if gap else Status.OPTIMAL
    certificate = Certificate(status, -1.5, -1.5 - gap, 0.02)
    fitted = {"alpha": 1.0 + i, "beta": 0.5, "noise": 1e-4}
    model = ModelCheck(0.1 * iteration, 0.9, 0.3, ("noise",), tuple(0.1 * j for j in range(1, 10)))
    proposal = Proposal(graph, certificate, 0.0, 0.5, model.learnt)
    return Ticket(i, iteration, proposal, fitted, model=model)
