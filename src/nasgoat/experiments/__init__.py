"""Experiments: the paper's tables and figures, from records that a killed session leaves whole."""

from nasgoat.experiments.records import ExperimentRecords, is_experiment, read_experiment
from nasgoat.experiments.results import Table, captions_of, charts_of, figures_of, tables_of

__all__ = [
    "ExperimentRecords",
    "Table",
    "captions_of",
    "charts_of",
    "figures_of",
    "is_experiment",
    "read_experiment",
    "tables_of",
]
