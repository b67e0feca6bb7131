"""Claims: which graph a running trial has, so that no two trials get the same."""

from __future__ import annotations

from optuna.storages import BaseStorage, RDBStorage
from optuna.trial import FrozenTrial, TrialState

from nasgoat.acquisition import Proposal
from nasgoat.graphs import LabeledGraph
from nasgoat.integrations.addresses import StorageAddress
from nasgoat.integrations.locks import Lock, study_lock

CLAIM = "proposal"  # trial attribute: the graph it was given, before Optuna knows the parameter


def write_claim(storage: BaseStorage, trial: FrozenTrial, proposal: Proposal) -> None:
    """Keep in a running trial which graph it will have, and its certificate.

    One attribute for both: each costs a commit.
    """
    claim = {"graph": proposal.graph.to_json(), "certificate": proposal.certificate.to_dict()}
    storage.set_trial_user_attr(trial._trial_id, CLAIM, claim)


def claimed_graph(trial: FrozenTrial) -> LabeledGraph | None:
    """The graph that a running trial will have; None if it has claimed none."""
    if trial.state is not TrialState.RUNNING or CLAIM not in trial.user_attrs:
        return None
    return LabeledGraph.from_json(trial.user_attrs[CLAIM]["graph"])


def claim_lock(storage: BaseStorage, study: str) -> Lock | None:
    """The lock between processes that share a database; None for a storage in memory."""
    backend = getattr(storage, "_backend", storage)
    if not isinstance(backend, RDBStorage):
        return None
    address = StorageAddress(backend.engine.url)
    if address.is_file and address.url.database in (None, "", ":memory:"):
        return None
    return study_lock(address, study, "claim")
