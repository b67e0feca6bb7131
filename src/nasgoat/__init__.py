"""Globally optimal Bayesian optimisation over labelled graphs, neural architectures first."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nasgoat.upper_layers import connect

if TYPE_CHECKING:
    from nasgoat.acquisition import Catalogue, Certificate, LowerConfidenceBound, Pool, Proposal
    from nasgoat.acquisition.branch import BranchAndBound
    from nasgoat.bayesopt import Optimizer, SearchResult, Settings, run, search
    from nasgoat.benchmarks import benchmark
    from nasgoat.graphs import (
        GraphBatch,
        LabeledGraph,
        NamedGraphs,
        from_smiles,
        to_smiles,
    )
    from nasgoat.integrations import GoatSampler, suggest_graph
    from nasgoat.kernels import FeatureMap, ShortestPathKernel
    from nasgoat.search_methods import make_method, methods, register_method
    from nasgoat.spaces import (
        Cells,
        CellSpace,
        ChainSpace,
        DartsSpace,
        EdgeLabeledSpace,
        GraphSpace,
        Limit,
        NodeLabeledSpace,
        SearchSpace,
        darts,
        load_space,
        molecules,
        nasbench101,
        nasbench201,
        nasbench_graph,
    )
    from nasgoat.surrogate import GraphGP

    __version__: str

# Names are imported when they are first used, so that `nasgoat --help` stays fast.
_HOME = {
    "BranchAndBound": "acquisition.branch",
    "Catalogue": "acquisition",
    "Certificate": "acquisition",
    "LowerConfidenceBound": "acquisition",
    "Pool": "acquisition",
    "Proposal": "acquisition",
    "GraphBatch": "graphs",
    "LabeledGraph": "graphs",
    "from_smiles": "graphs",
    "to_smiles": "graphs",
    "NamedGraphs": "graphs",
    "FeatureMap": "kernels",
    "ShortestPathKernel": "kernels",
    "CellSpace": "spaces",
    "Cells": "spaces",
    "ChainSpace": "spaces",
    "DartsSpace": "spaces",
    "EdgeLabeledSpace": "spaces",
    "GraphSpace": "spaces",
    "Limit": "spaces",
    "SearchSpace": "spaces",
    "load_space": "spaces",
    "molecules": "spaces",
    "nasbench_graph": "spaces",
    "NodeLabeledSpace": "spaces",
    "darts": "spaces",
    "nasbench101": "spaces",
    "nasbench201": "spaces",
    "GraphGP": "surrogate",
    "Optimizer": "bayesopt",
    "SearchResult": "bayesopt",
    "Settings": "bayesopt",
    "make_method": "search_methods",
    "methods": "search_methods",
    "register_method": "search_methods",
    "run": "bayesopt",
    "search": "bayesopt",
    "benchmark": "benchmarks",
    "GoatSampler": "integrations",
    "suggest_graph": "integrations",
}
connect(
    {
        "draw a graph": "nasgoat.report.notebook:draw_graph",
        "open a study": "nasgoat.integrations.stored_search:open_study",
        "read a run": "nasgoat.integrations.stored_search:read_run",
        "write as HTML": "nasgoat.report.notebook:write_html",
    }
)
__all__ = [
    "BranchAndBound",
    "Catalogue",
    "CellSpace",
    "Cells",
    "Certificate",
    "ChainSpace",
    "DartsSpace",
    "EdgeLabeledSpace",
    "FeatureMap",
    "GoatSampler",
    "GraphBatch",
    "GraphGP",
    "GraphSpace",
    "LabeledGraph",
    "Limit",
    "LowerConfidenceBound",
    "NamedGraphs",
    "NodeLabeledSpace",
    "Optimizer",
    "Pool",
    "Proposal",
    "SearchResult",
    "SearchSpace",
    "Settings",
    "ShortestPathKernel",
    "benchmark",
    "darts",
    "from_smiles",
    "load_space",
    "make_method",
    "methods",
    "molecules",
    "nasbench101",
    "nasbench201",
    "nasbench_graph",
    "register_method",
    "run",
    "search",
    "suggest_graph",
    "to_smiles",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("nasgoat")
    if name in _HOME:
        return getattr(import_module(f"nasgoat.{_HOME[name]}"), name)
    raise AttributeError(f"module 'nasgoat' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What completion offers: the names that are imported when they are first used as well."""
    return sorted([*globals(), *__all__, "__version__"])
