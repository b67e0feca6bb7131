"""A search's ledger as an Optuna study: every ticket is a trial, kept before it is acknowledged.

A trial is written when its graph is proposed (running) and when it ended (complete or failed). What
a dead driver left running is marked failed as an orphan and written again under the same ticket
number, so the budget counts it once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage
from optuna.study import StudyDirection
from optuna.trial import TrialState
from sqlalchemy.exc import DBAPIError

from nasgoat.bayesopt import Convergence, Objectives, Ticket
from nasgoat.errors import StorageError, StudyError
from nasgoat.integrations.locks import make_study_lock, take_lock
from nasgoat.integrations.storages import (
    StorageAddress,
    check_study_file,
    create_study_file,
    explain_briefly,
    open_storage,
    write_persistently,
)
from nasgoat.integrations.study_format import (
    CONVERGED,
    DECLARATION,
    ORPHANED,
    PLAN,
    check_declaration,
    describe_result,
    make_trial,
    pick_counting_trials,
    read_ticket,
    read_ticket_number,
    refuse_damage,
)
from nasgoat.integrations.trial_graphs import GraphParameters
from nasgoat.progress import quieten_optuna
from nasgoat.spaces import SearchSpace

#: Where Optuna looks for the names of a study's values, and for the limits of a trial.
METRIC_NAMES, CONSTRAINTS = "study:metric_names", "constraints"


class StudyLedger:
    """Keeps the tickets of a search in an Optuna study, one driver at a time.

    Args:
        address: Where the study is stored.
        name: Its name.
        space: The space that is searched.
        declaration: What must be the same when the search is resumed, JSON-ready.

    Raises:
        StudyError: If the study is damaged, was declared differently, or has a living driver.
        StorageError: If it can't be reached or written.

    Example:
        >>> import tempfile
        >>> from nasgoat import nasbench201
        >>> address = StorageAddress.of(Path(tempfile.mkdtemp()) / "study.db")
        >>> with StudyLedger(address, "demo", nasbench201(), {"seed": 0}) as ledger:
        ...     ledger.tickets()
        []
    """

    def __init__(
        self, address: StorageAddress, name: str, space: SearchSpace, declaration: Mapping[str, Any]
    ) -> None:
        self.address = address
        self.name = name
        self.parameters = GraphParameters(space)
        self._declaration = json.loads(json.dumps({**declaration, "space": space.to_dict()}))
        self._objectives = Objectives.declared(self._declaration, space)
        self._lock = make_study_lock(address, name)
        self._trials: dict[int, int] = {}  # ticket number -> trial id
        try:
            take_lock(self._lock, name)
            self._storage = self._open()
            self._study = self._find()
        except (DBAPIError, StorageInternalError) as problem:
            self._lock.release()
            raise StorageError(
                f"the storage {address} must answer, got {explain_briefly(problem)}"
            ) from None
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> StudyLedger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another driver have the study."""
        self._storage.remove_session()
        self._storage.engine.dispose()
        self._lock.release()

    def tickets(self) -> list[Ticket]:
        """Every ticket by number; without an outcome if its evaluation never ended."""
        with refuse_damage(f"the study {self.name!r} in {self.address}"):
            best = pick_counting_trials(self._storage.get_all_trials(self._study, deepcopy=False))
            names = self._objectives.names
            tickets = [read_ticket(best[i], self.parameters, names) for i in range(len(best))]
        self._trials = {
            number: trial._trial_id
            for number, trial in best.items()
            if trial.state is TrialState.RUNNING
        }
        return tickets

    def propose(self, tickets: Sequence[Ticket]) -> None:
        """Keep each ticket as a running trial."""
        for ticket in tickets:
            write_persistently(partial(self._create, ticket, []))

    def requeue(self, tickets: Sequence[Ticket]) -> None:
        """Mark what a dead driver left running as failed, and run it again."""
        for ticket in tickets:
            orphan = self._trials.pop(ticket.number, None)
            if orphan is not None:
                write_persistently(partial(self._abandon, orphan))
            write_persistently(partial(self._create, ticket, []))

    def finish(self, ticket: Ticket) -> None:
        """Keep the outcome; safe to repeat."""
        write_persistently(lambda: self._finish(ticket))
        self._trials.pop(ticket.number, None)

    def converge(self, converged: Convergence) -> None:
        """Keep what the search stopped at; it counts as long as no other graph is proposed."""
        said = converged.to_dict()
        write_persistently(lambda: self._storage.set_study_user_attr(self._study, CONVERGED, said))

    def note(self, plan: Mapping[str, Any]) -> None:
        """Keep how the search was called last, for ``nasgoat status``."""
        write_persistently(lambda: self._storage.set_study_user_attr(self._study, PLAN, dict(plan)))

    def find_artifact(self, number: int) -> str:
        """The id of the picture of a ticket's graph in the artefact store."""
        return str(uuid5(NAMESPACE_URL, f"nasgoat/{self.name}/{number}"))

    def _open(self) -> RDBStorage:
        if self.address.is_file:
            path = self.address.path
            if path.exists():
                check_study_file(path)
            else:
                create_study_file(path, self._fill)
        return open_storage(self.address)

    def _fill(self, path: Path) -> None:
        """A new study file with the study in it."""
        storage = open_storage(StorageAddress.of(path), self.address)
        study = self._create_study(storage)
        storage.set_study_user_attr(study, DECLARATION, self._declaration)
        storage.remove_session()
        storage.engine.dispose()

    def _create_study(self, storage: RDBStorage) -> int:
        """A new study that minimises every objective, under the names that Optuna shows."""
        names = self._objectives.names
        with quieten_optuna():
            study: int = storage.create_new_study([StudyDirection.MINIMIZE] * len(names), self.name)
        if not self._objectives.plain:
            storage.set_study_system_attr(study, METRIC_NAMES, list(names))
        return study

    def _find(self) -> int:
        """The id of the study, which is created in a database that lacks it."""
        named = f"the study {self.name!r}"
        with refuse_damage(named):
            try:
                study = self._storage.get_study_id_from_name(self.name)
            except KeyError:
                study = None
        if study is None:
            study = write_persistently(lambda: self._create_study(self._storage))
        with refuse_damage(named):
            stored = self._storage.get_study_user_attrs(study).get(DECLARATION)
            direction = self._storage.get_study_directions(study)
            empty = not self._storage.get_n_trials(study)
        if stored is None and empty:  # new, or its driver was killed between two writes
            write_persistently(
                lambda: self._storage.set_study_user_attr(study, DECLARATION, self._declaration)
            )
            stored = self._declaration
        if isinstance(stored, dict):  # what differs says more than a number of directions
            check_declaration(self.name, stored, self._declaration)
        if direction != [StudyDirection.MINIMIZE] * len(self._objectives.names):
            shown, count = ", ".join(d.name.lower() for d in direction), len(self._objectives.names)
            many = "one value" if count == 1 else f"{count} values"
            raise StudyError(f"{named} must minimise {many}, got: {shown}")
        check_declaration(self.name, stored, self._declaration)
        return study

    def _create(self, ticket: Ticket, tries: list[int]) -> None:
        self._hold_lock()
        # An earlier try may have been kept although its acknowledgement was lost.
        kept = self._find_running_trial(ticket.number) if tries else None
        tries.append(ticket.number)
        if kept is None:
            template = make_trial(ticket, self.parameters, self.find_artifact(ticket.number))
            kept = self._storage.create_new_trial(self._study, template)
        self._trials[ticket.number] = kept

    def _find_running_trial(self, number: int) -> int | None:
        running = self._storage.get_all_trials(
            self._study, deepcopy=False, states=(TrialState.RUNNING,)
        )
        ids = [trial._trial_id for trial in running if read_ticket_number(trial) == number]
        return ids[0] if ids else None

    def _abandon(self, trial_id: int) -> None:
        trial = self._storage.get_trial(trial_id)
        if trial.state.is_finished():
            return
        self._storage.set_trial_user_attr(trial_id, ORPHANED, True)
        self._storage.set_trial_state_values(trial_id, TrialState.FAIL)

    def _finish(self, ticket: Ticket) -> None:
        """Write a ticket's outcome to its trial, unless that has ended already."""
        self._hold_lock()
        trial_id, outcome = self._trials[ticket.number], ticket.outcome
        if outcome is None or self._storage.get_trial(trial_id).state.is_finished():
            return
        self._storage.set_trial_user_attr(trial_id, "result", describe_result(ticket, outcome))
        if outcome.metrics is not None:
            values = list(self._objectives.pick(outcome.metrics))
            if limits := self._objectives.limits:  # as Optuna has them: at most 0 where they hold
                broken = [x.sign * (outcome.metrics[x.name] - x.bound) for x in limits]
                self._storage.set_trial_system_attr(trial_id, CONSTRAINTS, broken)
            if ticket.fidelity is not None:
                step = round(ticket.fidelity.value)
                self._storage.set_trial_intermediate_value(trial_id, step, values[0])
            state = TrialState.COMPLETE if ticket.full else TrialState.PRUNED
            self._storage.set_trial_state_values(trial_id, state, values)
        else:
            self._storage.set_trial_state_values(trial_id, TrialState.FAIL)

    def _hold_lock(self) -> None:
        """After an outage the lock is taken again; if another driver was faster, stop."""
        if not self._lock.is_held():
            take_lock(self._lock, self.name)
