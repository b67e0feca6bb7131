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
from optuna.trial import FrozenTrial

from nasgoat.bayesopt import Objectives, Ticket
from nasgoat.errors import StudyError
from nasgoat.graphs import LabeledGraph
from nasgoat.integrations.storages import StorageAddress, check_study_file, open_storage
from nasgoat.integrations.study_format import (
    DECLARATION,
    ORPHANED,
    PLAN,
    pick_counting_trials,
    read_ticket,
    refuse_damage,
)
from nasgoat.integrations.study_ledger import StudyLedger
from nasgoat.integrations.study_status import StudyStatus, describe_status
from nasgoat.integrations.trial_graphs import GraphParameters
from nasgoat.spaces import SearchSpace, read_declared_space


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
    """Open a storage for reading; damage in it is raised as a :class:`StudyError`."""
    if address.is_file:
        check_study_file(address.path)
    storage = open_storage(address)
    try:
        with refuse_damage(what):
            yield storage
    finally:
        storage.engine.dispose()


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
        space = read_declared_space(status.declaration["space"])
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
