"""The Gaussian-process surrogate on graphs."""

from nasgoat.surrogate.graph_gp import GraphGP
from nasgoat.surrogate.posterior import (
    ExponentialPosterior,
    KernelPosterior,
    LinearPosterior,
    Posterior,
)
from nasgoat.surrogate.target import TargetScale

__all__ = [
    "ExponentialPosterior",
    "GraphGP",
    "KernelPosterior",
    "LinearPosterior",
    "Posterior",
    "TargetScale",
]
