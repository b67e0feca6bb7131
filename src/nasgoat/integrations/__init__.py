"""Integrations: Optuna (storage, sampler) and Dask. Owns both, and SQLAlchemy."""

from nasgoat.integrations.graph_parameters import GraphParameters, suggest_graph
from nasgoat.integrations.sampler import GoatSampler
from nasgoat.integrations.storages import StorageAddress, mask_passwords
from nasgoat.integrations.study_ledger import StudyLedger

__all__ = [
    "GoatSampler",
    "GraphParameters",
    "StorageAddress",
    "StudyLedger",
    "mask_passwords",
    "suggest_graph",
]
