"""Acquisition functions and the optimisers that minimise them over a space."""

from nasgoat.acquisition.ask_tell import AskTell, initial_design, require_satisfiable
from nasgoat.acquisition.candidates import (
    Mutation,
    Sampling,
    mutation_candidates,
    mutations_of,
)
from nasgoat.acquisition.catalogue import Catalogue
from nasgoat.acquisition.functions import (
    ExpectedImprovement,
    ThompsonSampling,
    acquisition_names,
    find_acquisition,
    register_acquisition,
)
from nasgoat.acquisition.lower_confidence_bound import (
    Acquisition,
    AcquisitionProblem,
    LinearAcquisition,
    LowerConfidenceBound,
    Turn,
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
    "Acquisition",
    "AcquisitionOptimizer",
    "AcquisitionProblem",
    "AskTell",
    "Catalogue",
    "Certificate",
    "Choice",
    "Cost",
    "Effort",
    "ExpectedImprovement",
    "LinearAcquisition",
    "LowerConfidenceBound",
    "Mutation",
    "Pool",
    "Proposal",
    "Reason",
    "Sampling",
    "Status",
    "ThompsonSampling",
    "Turn",
    "acquisition_names",
    "choose",
    "find_acquisition",
    "initial_design",
    "make_optimizer",
    "mutation_candidates",
    "mutations_of",
    "optimizer_names",
    "random_problem",
    "register_acquisition",
    "register_optimizer",
    "require_satisfiable",
]
