"""How a stored search stands, without disturbing it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState

from nasgoat.errors import StudyError
from nasgoat.integrations.addresses import StorageAddress
from nasgoat.integrations.declarations import DECLARATION, PLAN
from nasgoat.integrations.locks import study_lock
from nasgoat.integrations.storages import open_storage
from nasgoat.integrations.study_file import check_study_file
from nasgoat.integrations.trials import ORPHANED, ticket_number

T = TypeVar("T")


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

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.budget is not None and self.complete + self.failed >= self.budget


def study_names(address: StorageAddress) -> list[str]:
    """The names of the searches in a storage."""
    if address.is_file:
        check_study_file(address.path)
    storage = open_storage(address)
    try:
        studies = storage.get_all_studies()
        return [s.study_name for s in studies if DECLARATION in s.user_attrs]
    except Exception as problem:
        raise StudyError(f"the storage {address} must be sound, got {problem!r}") from None
    finally:
        storage.engine.dispose()


def study_status(address: StorageAddress, name: str) -> StudyStatus:
    """How a study stands.

    Raises:
        StudyError: If there is no such study, or it is damaged.
    """
    return read_study(address, name, partial(status_of, address, name))


def read_study(
    address: StorageAddress, name: str, read: Callable[[dict[str, Any], list[FrozenTrial]], T]
) -> T:
    """What a function makes of the attributes and trials of a study.

    Raises:
        StudyError: If there is no such study, or it is damaged.
    """
    if address.is_file:
        check_study_file(address.path)
    storage = open_storage(address)
    try:
        study = _identity(storage, address, name)
        attributes = storage.get_study_user_attrs(study)
        return read(attributes, storage.get_all_trials(study, deepcopy=False))
    except StudyError:
        raise
    except Exception as problem:
        raise StudyError(
            f"the study {name!r} in {address} must be sound, got {problem!r}"
        ) from None
    finally:
        storage.engine.dispose()


def _identity(storage: RDBStorage, address: StorageAddress, name: str) -> int:
    try:
        return storage.get_study_id_from_name(name)
    except KeyError:
        raise StudyError(f"the study must be in {address}, got {name!r}") from None


def has_driver(address: StorageAddress, name: str) -> bool:
    """Whether a driver holds the study now."""
    lock = study_lock(address, name)
    if not lock.acquire():
        return True
    lock.release()
    return False


def status_of(
    address: StorageAddress, name: str, attributes: dict[str, Any], trials: list[FrozenTrial]
) -> StudyStatus:
    """How the study with these attributes and trials stands."""
    declaration = attributes.get(DECLARATION)
    if not isinstance(declaration, dict):
        raise StudyError(f"the study {name!r} must be one of nasgoat search, got another")
    mine = [t for t in trials if ticket_number(t) is not None and ORPHANED not in t.user_attrs]
    complete = [t for t in mine if t.state is TrialState.COMPLETE]
    failed = {ticket_number(t) for t in mine if t.state is TrialState.FAIL}
    numbers = {ticket_number(t) for t in trials if ticket_number(t) is not None}
    best = min(complete, key=lambda t: (t.value, ticket_number(t)), default=None)
    plan = attributes.get(PLAN) or {}
    return StudyStatus(
        study=name,
        storage=str(address),
        running=has_driver(address, name),
        budget=plan.get("evaluations"),
        complete=len(complete),
        failed=len(failed),
        open=len(numbers) - len(complete) - len(failed),
        best=None
        if best is None
        else {
            "number": ticket_number(best),
            "error": best.value,
            "graph": best.user_attrs["graph"],
        },
        declaration=declaration,
        command=plan.get("command"),
    )
