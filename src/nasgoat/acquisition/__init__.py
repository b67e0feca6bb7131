"""Acquisition functions and the optimisers that minimise them over a space."""

from nasgoat.acquisition.ask_tell import AskTell, initial_design, require_satisfiable
from nasgoat.acquisition.candidates import (
    Mutation,
    Sampling,
    mutation_candidates,
    mutations_of,
)
from nasgoat.acquisition.catalogue import Catalogue
from nasgoat.acquisition.lower_confidence_bound import (
    AcquisitionProblem,
    LowerConfidenceBound,
    random_problem,
)
from nasgoat.acquisition.proposals import (
    AcquisitionOptimizer,
    Certificate,
    Cost,
    Pool,
    Proposal,
    Reason,
    Status,
)
from nasgoat.acquisition.registry import (
    Choice,
    Effort,
    choose,
    make_optimizer,
    optimizer_names,
    register_optimizer,
)

__all__ = [
    "AcquisitionOptimizer",
    "AcquisitionProblem",
    "AskTell",
    "Catalogue",
    "Certificate",
    "Choice",
    "Cost",
    "Effort",
    "LowerConfidenceBound",
    "Mutation",
    "Pool",
    "Proposal",
    "Reason",
    "Sampling",
    "Status",
    "choose",
    "initial_design",
    "make_optimizer",
    "mutation_candidates",
    "mutations_of",
    "optimizer_names",
    "random_problem",
    "register_optimizer",
    "require_satisfiable",
]
