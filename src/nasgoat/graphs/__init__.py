"""Labelled graphs, their shortest paths and canonical forms."""

from nasgoat.graphs.batch import GraphBatch
from nasgoat.graphs.labeled_graph import Edge, LabeledGraph

__all__ = ["Edge", "GraphBatch", "LabeledGraph"]
