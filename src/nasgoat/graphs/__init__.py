"""Labelled graphs, their shortest paths and canonical forms."""

from nasgoat.graphs.batch import GraphBatch
from nasgoat.graphs.labeled_graph import Edge, LabeledGraph
from nasgoat.graphs.molecules import from_smiles, to_smiles
from nasgoat.graphs.named_graphs import NamedBatches, NamedGraphs

__all__ = [
    "Edge",
    "GraphBatch",
    "LabeledGraph",
    "NamedBatches",
    "NamedGraphs",
    "from_smiles",
    "to_smiles",
]
