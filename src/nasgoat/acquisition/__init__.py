"""Acquisition functions and the optimisers that minimise them over a space."""

from nasgoat.acquisition.ask_tell import AskTell, initial_design, require_satisfiable
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
    acquisition_names,
    find_acquisition,
    optimizer_names,
    register_acquisition,
    register_optimizer,
    several_names,
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
    "acquisition_names",
    "choose",
    "draw_mutations",
    "find_acquisition",
    "find_front",
    "forecast_seconds",
    "initial_design",
    "make_optimizer",
    "mutate_in_turn",
    "optimizer_names",
    "random_problem",
    "register_acquisition",
    "register_optimizer",
    "require_satisfiable",
    "several_names",
]
