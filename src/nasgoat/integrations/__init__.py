"""Integrations: Optuna (storage, sampler) and Dask. Owns both, and SQLAlchemy."""

import warnings

with warnings.catch_warnings():
    # In a notebook without ipywidgets, about bars of Optuna's that nasgoat never shows.
    warnings.filterwarnings("ignore", message="IProgress not found")
    import optuna as _optuna  # noqa: F401

from nasgoat.integrations.sampler import GoatSampler
from nasgoat.integrations.storages import StorageAddress, mask_passwords
from nasgoat.integrations.study_ledger import StudyLedger
from nasgoat.integrations.terminator import ExactGainEvaluator
from nasgoat.integrations.trial_graphs import GraphParameters, suggest_graph

__all__ = [
    "ExactGainEvaluator",
    "GoatSampler",
    "GraphParameters",
    "StorageAddress",
    "StudyLedger",
    "mask_passwords",
    "suggest_graph",
]
