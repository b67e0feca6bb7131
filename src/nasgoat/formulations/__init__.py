"""The paper's mixed-integer formulations, in Pyomo."""

from nasgoat.formulations.acquisition_model import (
    LAYOUTS,
    AcquisitionModel,
    ProgramWriter,
    build_domain,
    formulate,
)
from nasgoat.formulations.graph_encoding import graph_encoding
from nasgoat.formulations.graph_point import GraphPoint
from nasgoat.formulations.posterior_rows import AcquisitionTerms
from nasgoat.formulations.tagged_model import TaggedModel, Violation, name_entry
from nasgoat.upper_layers import FORMULATIONS

__all__ = [
    "FORMULATIONS",
    "LAYOUTS",
    "AcquisitionModel",
    "AcquisitionTerms",
    "GraphPoint",
    "ProgramWriter",
    "TaggedModel",
    "Violation",
    "build_domain",
    "formulate",
    "graph_encoding",
    "name_entry",
]
