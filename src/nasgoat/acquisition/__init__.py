"""Acquisition functions and the optimisers that minimise them over a space."""

from nasgoat.acquisition.catalogue import Catalogue
from nasgoat.acquisition.lower_confidence_bound import LowerConfidenceBound
from nasgoat.acquisition.problems import AcquisitionProblem, random_problem
from nasgoat.acquisition.proposals import (
    AcquisitionOptimizer,
    Certificate,
    Pool,
    Proposal,
    Status,
)
from nasgoat.acquisition.registry import make_optimizer, optimizer_names

__all__ = [
    "AcquisitionOptimizer",
    "AcquisitionProblem",
    "Catalogue",
    "Certificate",
    "LowerConfidenceBound",
    "Pool",
    "Proposal",
    "Status",
    "make_optimizer",
    "optimizer_names",
    "random_problem",
]
