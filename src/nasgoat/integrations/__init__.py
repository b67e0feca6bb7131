"""Integrations: Optuna (storage, sampler) and Dask. Owns both, and SQLAlchemy."""

from nasgoat.integrations.addresses import StorageAddress, masked
from nasgoat.integrations.graph_parameters import GraphParameters, suggest_graph
from nasgoat.integrations.sampler import GoatSampler
from nasgoat.integrations.study_ledger import StudyLedger

__all__ = [
    "GoatSampler",
    "GraphParameters",
    "StorageAddress",
    "StudyLedger",
    "masked",
    "suggest_graph",
]
