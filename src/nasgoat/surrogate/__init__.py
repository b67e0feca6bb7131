"""The Gaussian-process surrogate on graphs."""

from nasgoat.surrogate.graph_gp import GraphGP
from nasgoat.surrogate.model_check import ModelCheck
from nasgoat.surrogate.posterior import (
    ExponentialPosterior,
    KernelPosterior,
    LinearPosterior,
    Posterior,
)
from nasgoat.surrogate.sources import SourcedGP
from nasgoat.surrogate.target import Source, SourceWorth, TargetScale

__all__ = [
    "ExponentialPosterior",
    "GraphGP",
    "KernelPosterior",
    "LinearPosterior",
    "ModelCheck",
    "Posterior",
    "Source",
    "SourceWorth",
    "SourcedGP",
    "TargetScale",
]
