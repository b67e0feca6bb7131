"""Claims: which graph a running trial has, so that no two trials get the same."""

from __future__ import annotations

from optuna.storages import BaseStorage, RDBStorage
from optuna.trial import FrozenTrial

from nasgoat.acquisition import Proposal
from nasgoat.integrations.addresses import StorageAddress
from nasgoat.integrations.locks import Lock, study_lock

CLAIM = "graph"  # trial attribute: the graph it was given, before Optuna knows the parameter


def write_claim(storage: BaseStorage, trial: FrozenTrial, proposal: Proposal) -> None:
    """Keep in a running trial which graph it will have, and its certificate."""
    storage.set_trial_user_attr(trial._trial_id, CLAIM, proposal.graph.to_json())
    certificate = proposal.certificate.to_dict()
    storage.set_trial_user_attr(trial._trial_id, "certificate", certificate)


def claim_lock(storage: BaseStorage, study: str) -> Lock | None:
    """The lock between processes that share a database; None for a storage in memory."""
    backend = getattr(storage, "_backend", storage)
    if not isinstance(backend, RDBStorage):
        return None
    address = StorageAddress(backend.engine.url)
    if address.is_file and address.url.database in (None, "", ":memory:"):
        return None
    return study_lock(address, study, "claim")
