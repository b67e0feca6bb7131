"""Acquisition functions and the optimisers that minimise them over a space."""

from nasgoat.acquisition.ask_tell import AskTell, initial_design
from nasgoat.acquisition.candidates import (
    Mutation,
    Sampling,
    mutation_candidates,
    mutations_of,
)
from nasgoat.acquisition.catalogue import Catalogue
from nasgoat.acquisition.choice import Choice, choose
from nasgoat.acquisition.effort import Effort
from nasgoat.acquisition.lower_confidence_bound import (
    AcquisitionProblem,
    LowerConfidenceBound,
    random_problem,
)
from nasgoat.acquisition.proposals import (
    AcquisitionOptimizer,
    Certificate,
    Pool,
    Proposal,
    Status,
)
from nasgoat.acquisition.registry import (
    chosen_optimizer,
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
    "Effort",
    "LowerConfidenceBound",
    "Mutation",
    "Pool",
    "Proposal",
    "Sampling",
    "Status",
    "choose",
    "chosen_optimizer",
    "initial_design",
    "make_optimizer",
    "mutation_candidates",
    "mutations_of",
    "optimizer_names",
    "random_problem",
    "register_optimizer",
]
