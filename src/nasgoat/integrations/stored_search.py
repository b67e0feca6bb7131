"""Stored searches: opening one to go on with it, reading one without disturbing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState

from nasgoat.bayesopt import Objectives, Ticket
from nasgoat.bayesopt.front import find_best, list_front
from nasgoat.bayesopt.spending import SourceUse, Spending
from nasgoat.errors import StudyError
from nasgoat.graphs import LabeledGraph
from nasgoat.integrations.locks import make_study_lock
from nasgoat.integrations.storages import StorageAddress, check_study_file, open_storage
from nasgoat.integrations.study_format import (
    DECLARATION,
    EVALUATED,
    ORPHANED,
    PLAN,
    pick_counting_trials,
    read_ticket,
    read_ticket_number,
)
from nasgoat.integrations.study_ledger import StudyLedger
from nasgoat.integrations.trial_graphs import GraphParameters
from nasgoat.spaces import SearchSpace, declared_space


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
        best: Number, error and graph of the best evaluation; None before the first.
        declaration: What the search was declared to be.
        command: The command that ran it last.
        front: Of several objectives, the evaluations that no other dominates, with their metrics.
        cost: What was spent, in full evaluations, where there are fidelities.
        sources: What each source cost and is worth, where there are several.
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

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        if self.cost is not None:  # what is left is less than a full evaluation
            return self.budget is not None and self.cost > self.budget - 1 + 1e-9
        return self.budget is not None and self.complete + self.failed >= self.budget


@dataclass(frozen=True)
class StoredSearch:
    """A stored search.

    Args:
        status: How it stands.
        space: The space that is searched.
        tickets: Its proposals by number, with their outcomes.
        orphans: Evaluations that a dead driver left behind.
        started: When its first evaluation began; None before that.
        ended: When its last evaluation ended; None before that.
        version: Of nasgoat when it was called last; None if that was not kept.
    """

    status: StudyStatus
    space: SearchSpace
    tickets: tuple[Ticket, ...]
    orphans: int
    started: datetime | None
    ended: datetime | None
    version: str | None


def open_study(
    storage: str | Path,
    name: str,
    space: SearchSpace,
    declaration: Mapping[str, Any],
    evaluations: int,
) -> StudyLedger:
    """The ledger of a search that begins or goes on in a storage.

    Raises:
        StudyError: If the study is damaged, was declared differently, or has a living driver.
        StorageError: If it can't be reached or written.
    """
    ledger = StudyLedger(StorageAddress.of(storage), name, space, declaration)
    try:
        ledger.tickets()  # a damaged study is refused before anything is written
        ledger.note({"evaluations": evaluations, "command": None, "version": version("nasgoat")})
    except BaseException:
        ledger.close()
        raise
    return ledger


def list_studies(address: StorageAddress) -> list[str]:
    """The names of the searches in a storage."""
    with _open_storage(address, f"the storage {address}") as storage:
        studies = storage.get_all_studies()
        return [s.study_name for s in studies if DECLARATION in s.user_attrs]


def read_status(address: StorageAddress, name: str) -> StudyStatus:
    """How a study stands.

    Raises:
        StudyError: If there is no such study, or it is damaged.
    """
    with _open_study(address, name) as (attributes, trials):
        return describe_status(address, name, attributes, trials)


@contextmanager
def _open_study(
    address: StorageAddress, name: str
) -> Iterator[tuple[dict[str, Any], list[FrozenTrial]]]:
    """The attributes and trials of a study; what fails while they are read is damage."""
    with _open_storage(address, f"the study {name!r} in {address}") as storage:
        try:
            study = storage.get_study_id_from_name(name)
        except KeyError:
            raise StudyError(f"the study must be in {address}, got {name!r}") from None
        yield storage.get_study_user_attrs(study), storage.get_all_trials(study, deepcopy=False)


@contextmanager
def _open_storage(address: StorageAddress, what: str) -> Iterator[RDBStorage]:
    """A storage to read from; whatever goes wrong in it is damage, and a :class:`StudyError`."""
    if address.is_file:
        check_study_file(address.path)
    storage = open_storage(address)
    try:
        yield storage
    except StudyError:
        raise
    except Exception as problem:  # a damaged row can fail anywhere in Optuna or here
        raise StudyError(f"{what} must be sound, got {problem!r}") from None
    finally:
        storage.engine.dispose()


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
    spending = Spending.of(_read_tickets(mine, declaration)) if _has_sources(declaration) else None
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
    )


def _has_sources(declaration: Mapping[str, Any]) -> bool:
    return "fidelities" in declaration or "transfer" in declaration


def _read_tickets(trials: list[FrozenTrial], declaration: Mapping[str, Any]) -> list[Ticket]:
    """The tickets of trials, in the order of their numbers."""
    parameters = GraphParameters(declared_space(declaration["space"]))
    return [read_ticket(t, parameters) for t in pick_counting_trials(trials).values()]


def read_run(
    file: Path, names: Sequence[str] = ("error",)
) -> list[tuple[LabeledGraph, dict[str, float]]]:
    """Graphs of every full evaluation in the one study of a file, with some of their metrics.

    Raises:
        StudyError: If the file holds no study or several, or is damaged.
    """
    address = StorageAddress.of(file)
    studies = list_studies(address)
    if len(studies) != 1:
        shown = ", ".join(studies) or "none"
        raise StudyError(f"{file} must hold one study to learn from, got {shown}")
    tickets = read_stored_search(address, studies[0]).tickets
    evaluated = [(t.graph, t.metrics) for t in tickets if t.metrics and t.full]
    if missing := [name for name in names if any(name not in told for _, told in evaluated)]:
        raise StudyError(f"every evaluation in {file} must have {missing[0]}, got some without")
    return [(graph, {name: float(told[name]) for name in names}) for graph, told in evaluated]


def _find_best(
    objectives: Objectives, complete: list[FrozenTrial]
) -> tuple[dict[str, Any] | None, list[dict[str, Any]] | None]:
    """The best of complete trials, and of several objectives the front."""
    if not complete:
        return None, [] if objectives.several else None
    if objectives.plain:
        return _describe_trial(min(complete, key=lambda trial: trial.value or 0.0)), None
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


def read_stored_search(address: StorageAddress, name: str) -> StoredSearch:
    """The search in a storage.

    Raises:
        StudyError: If there is no such study, or it is damaged.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from nasgoat import nasbench201
        >>> from nasgoat.integrations import StudyLedger
        >>> address = StorageAddress.of(Path(tempfile.mkdtemp()) / "study.db")
        >>> StudyLedger(address, "demo", nasbench201(), {"seed": 0}).close()
        >>> read_stored_search(address, "demo").tickets
        ()
    """
    with _open_study(address, name) as (attributes, trials):
        status = describe_status(address, name, attributes, trials)
        space = declared_space(status.declaration["space"])
        kept = pick_counting_trials(trials)
        if list(kept) != list(range(len(kept))):
            raise StudyError(f"the study {name!r} must hold every proposal, got a gap")
        parameters = GraphParameters(space)
        names = Objectives.declared(status.declaration).names
        ends = [trial.datetime_complete for trial in kept.values()]
        return StoredSearch(
            status=status,
            space=space,
            tickets=tuple(read_ticket(trial, parameters, names) for trial in kept.values()),
            orphans=sum(ORPHANED in trial.user_attrs for trial in trials),
            started=min((t.datetime_start for t in trials if t.datetime_start), default=None),
            ended=max((end for end in ends if end), default=None),
            version=(attributes.get(PLAN) or {}).get("version"),
        )
