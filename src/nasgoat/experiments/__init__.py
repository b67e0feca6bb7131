"""Experiments: the paper's tables and figures, from records that a killed session leaves whole."""

from nasgoat.experiments.records import ExperimentRecords, is_experiment, read_experiment
from nasgoat.experiments.results import (
    Table,
    captions_of,
    charts_of,
    figures_of,
    summary_of,
    tables_of,
)
from nasgoat.experiments.runner import FinishedRun, Runner, Tally, local_processes

__all__ = [
    "ExperimentRecords",
    "FinishedRun",
    "Runner",
    "Table",
    "Tally",
    "captions_of",
    "charts_of",
    "figures_of",
    "is_experiment",
    "local_processes",
    "read_experiment",
    "summary_of",
    "tables_of",
]
