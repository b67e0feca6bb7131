"""Acquisition functions and the optimisers that minimise them over a space."""

from nasgoat.acquisition.ask_tell import AskTell, draw_initial_design, require_satisfiable
from nasgoat.acquisition.averaging import AveragedBound
from nasgoat.acquisition.candidates import (
    Mutation,
    Sampling,
    draw_mutations,
    mutate_in_turn,
)
from nasgoat.acquisition.catalogue import Catalogue
from nasgoat.acquisition.choice import Choice, choose, forecast_seconds, make_optimizer
from nasgoat.acquisition.functions import ExpectedImprovement, ThompsonSampling
from nasgoat.acquisition.hypervolume import HypervolumeImprovement, find_front
from nasgoat.acquisition.lower_confidence_bound import (
    Acquisition,
    AcquisitionProblem,
    LinearAcquisition,
    LowerConfidenceBound,
    PartPosterior,
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
    Effort,
    find_acquisition,
    list_acquisitions,
    list_optimizers,
    list_several_acquisitions,
    register_acquisition,
    register_optimizer,
)
from nasgoat.acquisition.scalarisations import Chebyshev, Constrained
from nasgoat.acquisition.several_objectives import KnownCost, SeveralAcquisition

__all__ = [
    "Acquisition",
    "AcquisitionOptimizer",
    "AcquisitionProblem",
    "AskTell",
    "AveragedBound",
    "Catalogue",
    "Certificate",
    "Chebyshev",
    "Choice",
    "Constrained",
    "Cost",
    "Effort",
    "ExpectedImprovement",
    "HypervolumeImprovement",
    "KnownCost",
    "LinearAcquisition",
    "LowerConfidenceBound",
    "Mutation",
    "PartPosterior",
    "Pool",
    "Proposal",
    "Reason",
    "Sampling",
    "SeveralAcquisition",
    "Status",
    "ThompsonSampling",
    "Turn",
    "choose",
    "draw_initial_design",
    "draw_mutations",
    "find_acquisition",
    "find_front",
    "forecast_seconds",
    "list_acquisitions",
    "list_optimizers",
    "list_several_acquisitions",
    "make_optimizer",
    "mutate_in_turn",
    "random_problem",
    "register_acquisition",
    "register_optimizer",
    "require_satisfiable",
]
