"""Labelled graphs, their shortest paths and canonical forms."""

from nasgoat.graphs.batch import GraphBatch
from nasgoat.graphs.labeled_graph import Edge, LabeledGraph
from nasgoat.graphs.named_graphs import NamedBatches, NamedGraphs

__all__ = ["Edge", "GraphBatch", "LabeledGraph", "NamedBatches", "NamedGraphs"]
