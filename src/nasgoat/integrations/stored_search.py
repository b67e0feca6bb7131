"""Everything a stored search holds, for reports: read without disturbing it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from optuna.trial import FrozenTrial

from nasgoat.bayesopt import Ticket
from nasgoat.errors import StudyError
from nasgoat.integrations.addresses import StorageAddress
from nasgoat.integrations.declarations import PLAN
from nasgoat.integrations.graph_parameters import GraphParameters
from nasgoat.integrations.study_status import StudyStatus, read_study, status_of
from nasgoat.integrations.trials import ORPHANED, counting, ticket_of
from nasgoat.spaces import SearchSpace, declared_space


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


def stored_search(address: StorageAddress, name: str) -> StoredSearch:
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
        >>> stored_search(address, "demo").tickets
        ()
    """

    def read(attributes: dict[str, Any], trials: list[FrozenTrial]) -> StoredSearch:
        status = status_of(address, name, attributes, trials)
        space = declared_space(status.declaration["space"])
        kept = counting(trials)
        if list(kept) != list(range(len(kept))):
            raise StudyError(f"the study {name!r} must hold every proposal, got a gap")
        parameters = GraphParameters(space)
        ends = [trial.datetime_complete for trial in kept.values()]
        return StoredSearch(
            status=status,
            space=space,
            tickets=tuple(ticket_of(trial, parameters) for trial in kept.values()),
            orphans=sum(ORPHANED in trial.user_attrs for trial in trials),
            started=min((t.datetime_start for t in trials if t.datetime_start), default=None),
            ended=max((end for end in ends if end), default=None),
            version=(attributes.get(PLAN) or {}).get("version"),
        )

    return read_study(address, name, read)
